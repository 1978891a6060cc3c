//! Loading a contract from its files, with every complaint at its line.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::condition::{Condition, Scope, pointer};
use super::contract::{Clause, Contract, Detect, Family, Kinds, Protocol};
use super::finding::Level;
use super::frame::Root;
use super::include::{self, Sections, Texts};
use super::invocation::Invocation;
use super::outcome;
use super::pattern::Pattern;
use super::policy::Policy;
use super::question::Questions;
use super::rule::choice;
use super::rule::{Check, Names, Selectors};
use super::schemas::Schemas;
use crate::document::{self, FileError, Item, Packed, Table, VolatileEntry};
use crate::events::Profile;
use crate::text::trouble;
use crate::version::VersionRange;

/// The file that makes a directory a contract.
pub(crate) const CONTRACT_FILE: &str = "contract.toml";

/// No file of a contract is larger than this.
const MAX_FILE: u64 = 8 << 20;

/// The files of a contract, wherever they come from.
#[derive(Debug, Clone, Default)]
pub struct Bundle {
    /// How the user knows the directory.
    label: String,
    /// The name of the directory, where it is the contract's too.
    directory: Option<String>,
    files: BTreeMap<Cow<'static, str>, Cow<'static, [u8]>>,
    /// The files of the contract that this one includes: what is not here is there.
    included: Option<Box<Bundle>>,
    /// The tree of the contract's file, where it is a part of this binary.
    packed: Option<Packed>,
}

impl Bundle {
    /// Files that are already in memory, by their path inside the contract's directory.
    pub fn new(label: impl Into<String>, files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let files = files.into_iter().map(|(name, bytes)| (name.into(), bytes.into()));
        Self { label: label.into(), files: files.collect(), ..Self::default() }
    }

    /// Files that are part of this binary, with the tree of the contract's own. Our tests have compiled every schema of
    /// theirs, so that a schema is compiled only when somebody asks for it.
    pub(super) fn built_in(
        label: String,
        packed: Packed,
        files: impl Iterator<Item = (&'static str, &'static [u8])>,
    ) -> Self {
        let files = files.map(|(name, bytes)| (name.into(), bytes.into()));
        Self { label, files: files.collect(), packed: Some(packed), ..Self::default() }
    }

    /// The same as if they were a user's: they are read from their texts, and every schema is compiled at once.
    #[cfg(test)]
    pub(super) fn unchecked(self) -> Self {
        let included = self.included.map(|included| Box::new(included.unchecked()));
        Self { packed: None, included, ..self }
    }

    /// The same files in a directory of whatever name, such as an old version that stands aside to be compared.
    #[must_use]
    pub fn aside(self) -> Self {
        Self { directory: None, ..self }
    }

    /// Reads a contract's directory, fixtures and all. The path of its `contract.toml` will do as well.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let bundle = Self::read_alone(path)?;
        let beside = Path::new(&bundle.label).parent().map(Path::to_owned);
        bundle.with_included(beside.as_deref())
    }

    /// Reads a contract's directory without the contract that it may include.
    fn read_alone(path: &Path) -> Result<Self, FileError> {
        let directory = if path.file_name().is_some_and(|name| name == CONTRACT_FILE) {
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
        } else {
            path
        };
        let own_name = || Some(directory.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned());
        let mut bundle =
            Self { label: directory.display().to_string(), directory: own_name(), ..Self::default() };
        if !directory.join(CONTRACT_FILE).is_file() {
            let why = if directory.is_file() {
                format!("is a file, and a contract is a directory with a {CONTRACT_FILE}")
            } else {
                format!("no {CONTRACT_FILE} in this directory")
            };
            return Err(FileError::whole(&bundle.label, why));
        }
        bundle.add(directory, "", 0)?;
        Ok(bundle)
    }

    /// The same files with those of the contract that this one includes: a directory `beside` it, else a built-in one.
    pub(crate) fn with_included(self, beside: Option<&Path>) -> Result<Self, FileError> {
        let Some((name, place, takes_files)) = include::included(&self)? else { return Ok(self) };
        let beside =
            beside.map(|folder| folder.join(&name)).filter(|path| path.join(CONTRACT_FILE).is_file());
        let found = match beside {
            Some(path) => Self::read_alone(&path),
            None => super::library::built_in_files(&name),
        };
        let mut found =
            found.map_err(|error| place.saying(format_args!("includes `{name}`: {}", error.message)))?;
        if !takes_files {
            found.files.retain(|name, _| name == CONTRACT_FILE);
        }
        if include::included(&found)?.is_some() {
            let reason = format!("`{name}` itself includes another contract: include that one");
            return Err(place.saying(reason));
        }
        if include::part_of(&self)?.is_some() {
            // They show much that a part does not ask for, and would prove nothing of it.
            found.files.retain(|name, _| !name.starts_with("fixtures/"));
        }
        Ok(Self { included: Some(Box::new(found)), ..self })
    }

    /// The tree of the contract's file, where it is a part of this binary.
    pub(super) fn packed(&self) -> Option<Packed> {
        self.packed
    }

    /// The files of the contract that this one includes.
    pub(crate) fn included(&self) -> Option<&Self> {
        self.included.as_deref()
    }

    /// Whether a file is one of the contract that this one includes.
    pub(crate) fn is_included(&self, name: &str) -> bool {
        !self.files.contains_key(name) && self.included.is_some()
    }

    fn add(&mut self, directory: &Path, prefix: &str, depth: usize) -> Result<(), FileError> {
        let trouble = |error: std::io::Error| {
            FileError::whole(directory.display().to_string(), trouble(directory, &error))
        };
        for entry in fs::read_dir(directory).map_err(trouble)? {
            let entry = entry.map_err(trouble)?;
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if path.is_dir() {
                // fixtures/base/<recording>/stdout is as deep as a contract goes.
                if depth < 4 {
                    self.add(&path, &format!("{name}/"), depth + 1)?;
                }
                continue;
            }
            let wanted = depth > 0 || name == CONTRACT_FILE || name.ends_with(".schema.json");
            if !wanted {
                continue;
            }
            let label = path.display().to_string();
            let size = fs::metadata(&path).map_err(|error| FileError::whole(&label, error))?.len();
            if size > MAX_FILE {
                return Err(FileError::whole(label, "larger than 8 MiB, which no contract needs"));
            }
            let bytes = document::read(&path).map_err(|error| FileError::whole(&label, error))?;
            self.files.insert(name.into(), bytes.into());
        }
        Ok(())
    }

    /// How the user knows a file of the bundle.
    pub(crate) fn label(&self, name: &str) -> String {
        match &self.included {
            Some(included) if self.is_included(name) => included.label(name),
            _ => format!("{}/{name}", self.label),
        }
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        let included = || self.included.as_ref()?.bytes(name);
        self.files.get(name).map(|bytes| &**bytes).or_else(included)
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, FileError> {
        let bytes = self.bytes(name).ok_or_else(|| FileError::whole(self.label(name), "no such file"))?;
        simdutf8::basic::from_utf8(bytes).map_err(|_| FileError::whole(self.label(name), "not UTF-8"))
    }

    /// The names of the files, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let included = self.included.iter().flat_map(|included| included.files.keys());
        let names: BTreeSet<&str> = self.files.keys().chain(included).map(|name| &**name).collect();
        names.into_iter()
    }
}

impl Contract {
    /// Loads a contract from its files.
    pub fn load(bundle: &Bundle) -> Result<Self, FileError> {
        let texts = Texts::of(bundle)?;
        let sections = texts.sections()?;
        let top = &sections.own;
        let head = top.need("contract")?.table()?;
        let protocol = choice(&head.need("protocol")?, &Protocol::NAMES)?;
        let schemas = Arc::new(read_schemas(bundle)?);
        let kinds = load_kinds(sections.get("kind"), protocol, &schemas)?;
        let questions = Questions::default();
        let nodes = sections.clauses()?;
        if bundle.packed.is_none() {
            schemas.compile(&references(&nodes, &schemas)?)?;
        }
        let clauses = load_clauses(nodes, protocol, &kinds, &schemas, &questions)?;
        let strings = |key| head.get(key).map_or(Ok(Vec::new()), |node: Item<'_>| node.strings());
        let invocation = load_invocation(&sections)?;
        let volatile = sections.get("volatile").map_or(Ok(Vec::new()), |node| node.list())?;
        load_detect(top, &invocation)?;
        let contract = Self {
            name: contract_name(&head, bundle.directory.as_deref())?,
            title: head.need("title")?.text()?,
            protocol,
            family: load_family(&head)?,
            sources: strings("sources")?,
            extends: strings("extends")?,
            extends_at: head.get("extends").map_or(head.complain(""), |node| node.complain("")),
            version_at: head.get("version-at").as_ref().map(pointer).transpose()?,
            releases: load_releases(&head)?,
            root: head.get("root").map_or(Ok(Root::default()), |node| choice(&node, &ROOTS))?,
            policy: Policy::load(sections.get("policy"))?,
            volatile: VolatileEntry::read_all(&volatile)?,
            invocation,
            outcome: sections.get("outcome").map(|node| outcome::load(&node, &kinds)).transpose()?,
            by_kind: Self::index(&kinds, &clauses),
            programs: (0..=kinds.names.len()).map(|_| OnceLock::new()).collect(),
            questions: questions.count(),
            kinds,
            clauses,
            schemas,
        };
        head.finish()?;
        top.finish()?;
        Ok(contract)
    }
}

const ROOTS: [(&str, Root); 3] = [("object", Root::Object), ("array", Root::Array), ("any", Root::Any)];

fn load_releases(head: &Table<'_>) -> Result<Vec<VersionRange>, FileError> {
    let nodes = head.get("releases").map_or(Ok(Vec::new()), |node| node.list())?;
    let range = |node: &Item<'_>| VersionRange::parse(node.str()?).map_err(|reason| node.complain(reason));
    nodes.iter().map(range).collect()
}

fn load_family(head: &Table<'_>) -> Result<Option<Family>, FileError> {
    head.get("family").map(|node| choice(&node, &Family::NAMES)).transpose()
}

/// The family of a contract and how it is recognised; the rest of it is not looked at, because most candidates are
/// not the one.
pub(crate) fn detect_of(bundle: &Bundle) -> Result<(Option<Family>, Option<Detect>), FileError> {
    let texts = Texts::of(bundle)?;
    let sections = texts.sections()?;
    let family = load_family(&sections.own.need("contract")?.table()?)?;
    Ok((family, load_detect(&sections.own, &load_invocation(&sections)?)?))
}

fn load_invocation(sections: &Sections<'_>) -> Result<Invocation, FileError> {
    sections.get("invocation").as_ref().map_or(Ok(Invocation::default()), Invocation::load)
}

/// Names are used in ids and paths, so they are plain words.
pub(super) fn is_word(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    !name.is_empty()
        && name.bytes().all(plain)
        && !name.starts_with(['-', '.'])
        && !name.ends_with(['-', '.'])
}

fn contract_name(head: &Table<'_>, directory: Option<&str>) -> Result<String, FileError> {
    let node = head.need("name")?;
    let name = node.text()?;
    if !is_word(&name) {
        return Err(node.complain("a name is lower-case letters, digits, `-` and `.`"));
    }
    match directory.filter(|directory| *directory != name) {
        // Other contracts and targets find it by its directory, and its findings are known by its name.
        Some(directory) => Err(node.complain(format_args!(
            "a contract has the name of its directory, which is `{directory}`: rename either"
        ))),
        None => Ok(name),
    }
}

fn load_detect(top: &Table<'_>, invocation: &Invocation) -> Result<Option<Detect>, FileError> {
    let Some(node) = top.get("detect") else { return Ok(None) };
    let fields = node.table()?;
    let priority = fields.get("priority").map_or(Ok(0), |node| node.integer())?;
    let when = Condition::load(&fields.need("when")?, Scope::Message)?;
    let mut commands = Vec::new();
    if let Some(node) = fields.get("commands") {
        commands = node.strings()?;
        if let Some(unknown) = commands.iter().find(|command| !invocation.verbs().contains(command)) {
            return Err(node.complain(format_args!("`{unknown}` is none of the verbs of [invocation]")));
        }
    }
    let flags = fields.get("flags").map_or(Ok(Vec::new()), |node| {
        node.table()?.into_entries().into_iter().map(|(flag, value)| Ok((flag, value.text()?))).collect()
    })?;
    let stderr = fields.get("stderr").as_ref().map(Pattern::load).transpose()?;
    fields.finish()?;
    Ok(Some(Detect { priority, when, commands, flags, stderr, invocation: invocation.clone() }))
}

pub(crate) fn read_schemas(bundle: &Bundle) -> Result<Schemas, FileError> {
    let mut files = Vec::new();
    for name in bundle.names().filter(|name| name.ends_with(".schema.json") && !name.contains('/')) {
        files.push((name.to_string(), bundle.label(name), bundle.text(name)?.to_string()));
    }
    if bundle.packed.is_some() { Ok(Schemas::built_in(files)) } else { Schemas::read(files) }
}

fn load_kinds(nodes: Option<Item<'_>>, protocol: Protocol, schemas: &Schemas) -> Result<Kinds, FileError> {
    let mut kinds: Vec<(String, Condition, Option<String>)> = Vec::new();
    // A stream's kinds are needed while it runs, before its end is known.
    let scope = match protocol {
        Protocol::Stream => Scope::Early,
        // A log is no run.
        Protocol::Events => Scope::Message,
        Protocol::Document | Protocol::Text => Scope::Both,
    };
    for node in nodes.map_or(Ok(Vec::new()), |node| node.list())? {
        let fields = node.table()?;
        let name_node = fields.need("name")?;
        let name = name_node.text()?;
        if kinds.iter().any(|(known, ..)| *known == name) {
            return Err(name_node.complain(format_args!("there is already a kind `{name}`")));
        }
        let when = Condition::load(&fields.need("when")?, scope)?;
        let schema = fields.get("schema").map(|node| {
            let reference = node.text()?;
            if !node.is_built_in() {
                schemas.part(&reference).map_err(|reason| node.complain(reason))?;
            }
            Ok(reference)
        });
        kinds.push((name, when, schema.transpose()?));
        fields.finish()?;
    }
    Ok(Kinds::new(kinds))
}

/// The schemas that clauses name, which have to be there.
fn references(nodes: &[(Item<'_>, usize)], schemas: &Schemas) -> Result<Vec<String>, FileError> {
    let mut references = Vec::new();
    for (node, _) in nodes {
        if let Some(reference) = node.table()?.need("check")?.table()?.get("schema") {
            let name = reference.text()?;
            schemas.part(&name).map_err(|reason| reference.complain(reason))?;
            references.push(name);
        }
    }
    references.sort_unstable();
    references.dedup();
    Ok(references)
}

fn load_clauses(
    nodes: Vec<(Item<'_>, usize)>,
    protocol: Protocol,
    kinds: &Kinds,
    schemas: &Arc<Schemas>,
    questions: &Questions,
) -> Result<Vec<Clause>, FileError> {
    let names = Names {
        kinds: &kinds.names,
        conditions: &kinds.conditions,
        kind_schemas: &kinds.schemas,
        schemas,
        questions,
        selectors: Selectors::default(),
        is_log: protocol == Protocol::Events,
    };
    let mut clauses: Vec<Clause> = Vec::new();
    for (node, line) in nodes {
        let fields = node.table()?;
        let clause = load_clause(&fields, &names, line)?;
        if let Some(earlier) = clauses.iter().find(|known| known.id == clause.id) {
            let reason = format!("the clause `{}` is already on line {}", clause.id, earlier.line);
            return Err(fields.need("id")?.complain(reason));
        }
        clauses.push(clause);
    }
    Ok(clauses)
}

/// `profiles = { lenient = "off", origin = "note" }`
fn load_profiles(node: &Item<'_>) -> Result<Vec<(Profile, Option<Level>)>, FileError> {
    let one = |(name, value): (String, Item<'_>)| {
        let profile = Profile::from_name(&name)
            .ok_or_else(|| value.complain(format_args!("`{name}` is none of strict, lenient, origin")))?;
        let level = match value.str()? {
            "off" => None,
            level => Some(
                Level::from_name(level)
                    .ok_or_else(|| value.complain("a level is must, should, note, ambiguous or off"))?,
            ),
        };
        Ok((profile, level))
    };
    node.table()?.into_entries().into_iter().map(one).collect()
}

fn load_clause(fields: &Table<'_>, names: &Names<'_>, line: usize) -> Result<Clause, FileError> {
    let id_node = fields.need("id")?;
    let id = id_node.text()?;
    if !is_word(&id) {
        return Err(id_node.complain(format_args!("`{id}` is no id: use lower-case letters, digits and `-`")));
    }
    let level_node = fields.need("level")?;
    let level = Level::from_name(level_node.str()?)
        .ok_or_else(|| level_node.complain("a level is must, should, note or ambiguous"))?;
    let applies = fields.get("applies");
    if let Some(node) = applies.as_ref().filter(|_| names.is_log) {
        return Err(node.complain("a log has no facts of a run: say in `on` what the clause is about"));
    }
    let check = fields.need("check")?;
    let text = |key| fields.need(key)?.text();
    let clause = Clause {
        level,
        source: text("source")?,
        since: fields
            .need("since")?
            .json()?
            .as_str()
            .map(str::to_string)
            .ok_or_else(|| fields.complain("`since` is a string"))?,
        text: text("text")?,
        why: text("why")?,
        fix: text("fix")?,
        line,
        profiles: fields.get("profiles").as_ref().map_or(Ok(Vec::new()), load_profiles)?,
        applies_value: applies.as_ref().map(Item::late_json).transpose()?,
        applies: applies.map_or(Ok(Condition::always()), |node| Condition::load(&node, Scope::Run))?,
        check_value: check.late_json()?,
        check: Check::load(&check.table()?, names)?,
        id,
    };
    fields.finish()?;
    Ok(clause)
}
