//! A contract that includes another one: what it does not say itself, the other says for it, under its name.
//!
//! ```toml
//! [include]
//! contract = "claw-1.0"                                # beside it, or a built-in one
//! without = ["schema-version"]                         # clauses that it does not take over
//! clauses = ["line-is-json"]                           # or: the clauses that it takes over, and none of the fixtures
//! edit = [{ set = "/schema_version", to = "2.0" }]     # what the fixtures of the other have to be changed in
//! ```
//!
//! With `only = ["volatile"]` it takes over these sections and nothing else: two contracts of one program say once what
//! they have in common.

use super::load::{Bundle, CONTRACT_FILE};
use crate::document::{Document, FileError, Item, Packed, Table};

/// The sections that can be taken over without the rest.
const SHARED: [&str; 4] = ["invocation", "outcome", "policy", "volatile"];

/// The text of a contract's file, and that of the contract which it includes.
pub(super) struct Texts<'b> {
    own: Text<'b>,
    other: Option<Text<'b>>,
}

/// The text of a file, and how the user knows it.
struct Text<'b> {
    label: String,
    content: &'b str,
    packed: Option<Packed>,
}

impl<'b> Text<'b> {
    fn of(bundle: &'b Bundle) -> Result<Self, FileError> {
        let (label, content) = (bundle.label(CONTRACT_FILE), bundle.text(CONTRACT_FILE)?);
        Ok(Self { label, content, packed: bundle.packed() })
    }

    fn read(&self) -> Result<Table<'_>, FileError> {
        Document { packed: self.packed, ..Document::new(&self.label, self.content) }.read()
    }
}

/// What a contract says, and what the one says that it includes.
pub(super) struct Sections<'t> {
    pub(super) own: Table<'t>,
    other: Option<Other<'t>>,
}

/// The contract that is included.
struct Other<'t> {
    top: Table<'t>,
    /// The clauses that are not taken over.
    without: Vec<Item<'t>>,
    /// The clauses that are taken over, where the contract is a part of the other.
    clauses: Option<Vec<Item<'t>>>,
    /// What its fixtures have to be changed in to be good ones of the contract that includes it.
    edits: Vec<Item<'t>>,
    /// The sections that are taken over, where that is not everything.
    only: Option<Vec<String>>,
    /// The line that includes it.
    line: usize,
}

/// The name of the contract that another one includes, where it says so, and whether it takes over its files too.
pub(super) fn included(bundle: &Bundle) -> Result<Option<(String, FileError, bool)>, FileError> {
    let text = Text::of(bundle)?;
    // To read a file takes far longer than to see that it has no such section.
    let is_named = |line: &str| line.trim_start_matches(['[', ' ', '\t', '"', '\'']).starts_with("include");
    if text.packed.is_none() && !text.content.lines().any(is_named) {
        return Ok(None);
    }
    let Some(node) = text.read()?.get("include") else { return Ok(None) };
    let fields = node.table()?;
    let name = fields.need("contract")?;
    Ok(Some((name.text()?, name.complain(""), fields.get("only").is_none())))
}

impl<'b> Texts<'b> {
    pub(super) fn of(bundle: &'b Bundle) -> Result<Self, FileError> {
        Ok(Self { own: Text::of(bundle)?, other: bundle.included().map(Text::of).transpose()? })
    }

    pub(super) fn sections(&self) -> Result<Sections<'_>, FileError> {
        let own = self.own.read()?;
        let node = own.get("include");
        let other = match (node, &self.other) {
            (Some(node), Some(other)) => Some(Other::load(&node, other.read()?)?),
            (Some(node), None) => return Err(node.complain("the contract that it includes is not here")),
            (None, _) => None,
        };
        Ok(Sections { own, other })
    }
}

impl<'t> Other<'t> {
    fn load(node: &Item<'t>, top: Table<'t>) -> Result<Self, FileError> {
        let fields = node.table()?;
        fields.need("contract")?;
        let list = |key| fields.get(key).map_or(Ok(Vec::new()), |node| node.list());
        let (without, edits) = (list("without")?, list("edit")?);
        let clauses = fields.get("clauses").map(|node| node.list()).transpose()?;
        let only =
            fields.get("only").map(|node| node.list()?.iter().map(Item::text).collect()).transpose()?;
        let only: Option<Vec<String>> = only;
        let has = |name: &String| SHARED.iter().any(|known| known == name && top.get(known).is_some());
        if let (Some(node), Some(name)) = (fields.get("only"), only.iter().flatten().find(|name| !has(name)))
        {
            return Err(node.complain(format_args!("the contract that is included has no section `{name}`")));
        }
        if let (Some(_), Some(node)) = (&only, without.first().or(edits.first())) {
            return Err(node.complain("`only` takes over no clauses and no fixtures"));
        }
        if clauses.is_some() && !(without.is_empty() && edits.is_empty() && only.is_none()) {
            return Err(node.complain("either `clauses`, or `without` and `edit`, or `only`"));
        }
        let other = Self { top, without, clauses, edits, only, line: node.line() };
        fields.finish()?;
        Ok(other)
    }
}

impl Other<'_> {
    /// Whether a clause is taken over.
    fn takes(&self, clause: &str) -> bool {
        let names = |list: &[Item<'_>]| list.iter().any(|node| node.str().is_ok_and(|name| name == clause));
        self.clauses.as_deref().map_or_else(|| !names(&self.without), names)
    }
}

/// The contract that this one is a part of: it takes over some clauses of it, and adds nothing that the other does not ask.
pub(super) fn part_of(bundle: &Bundle) -> Result<Option<String>, FileError> {
    let text = Text::of(bundle)?;
    let Some(node) = text.read()?.get("include") else { return Ok(None) };
    let fields = node.table()?;
    Ok(if fields.get("clauses").is_some() { Some(fields.need("contract")?.text()?) } else { None })
}

impl<'t> Sections<'t> {
    /// A section of the contract or, where it has none, of the one that it includes.
    pub(super) fn get(&self, key: &'static str) -> Option<Item<'t>> {
        let takes = |other: &&Other<'t>| match &other.only {
            Some(only) => only.iter().any(|section| section == key),
            None => true,
        };
        self.own.get(key).or_else(|| self.other.as_ref().filter(takes)?.top.get(key))
    }

    /// What the fixtures of the included contract have to be changed in.
    pub(super) fn edits(&self) -> &[Item<'t>] {
        self.other.as_ref().map_or(&[], |other| &other.edits)
    }

    /// The clauses, each with the line of the contract that says so: those of the included contract in their order, of
    /// which a clause with the same id takes the place, then the others.
    pub(super) fn clauses(&self) -> Result<Vec<(Item<'t>, usize)>, FileError> {
        let list = |top: &Table<'t>| top.get("clause").map_or(Ok(Vec::new()), |node| node.list());
        let id = |node: &Item<'t>| node.table()?.need("id")?.text();
        let own = list(&self.own)?;
        let lines = Item::lines(&own);
        let mut own: Vec<_> = own.into_iter().zip(lines).collect();
        let mut clauses = Vec::new();
        if let Some(other) = self.other.as_ref().filter(|other| other.only.is_none()) {
            let theirs = list(&other.top)?;
            let ids = theirs.iter().map(id).collect::<Result<Vec<_>, _>>()?;
            for node in other.without.iter().chain(other.clauses.iter().flatten()) {
                if !ids.contains(&node.text()?) {
                    return Err(node.complain("the contract that is included has no such clause"));
                }
            }
            let mut own_ids = own.iter().map(|(node, _)| id(node)).collect::<Result<Vec<_>, _>>()?;
            for (node, name) in theirs.into_iter().zip(ids) {
                if let Some(place) = own_ids.iter().position(|own| *own == name) {
                    own_ids.remove(place);
                    clauses.push(own.remove(place));
                } else if other.takes(&name) {
                    clauses.push((node, other.line));
                }
            }
        }
        clauses.extend(own);
        if clauses.is_empty() {
            return Err(self.own.complain("a contract needs at least one `[[clause]]`"));
        }
        Ok(clauses)
    }
}
