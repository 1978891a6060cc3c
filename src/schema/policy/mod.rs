//! What a change of a program's output does to its readers, by the versioning policy of its contract.
//!
//! The default stands in `schemas/policy.toml`; a contract's `[policy]` says where it differs, and which version a
//! change of the contract itself demands.

mod promise;
mod vocabulary;

pub(crate) use vocabulary::{Effect, Kind};

use std::collections::BTreeMap;

use crate::document::{Document, FileError, Item, Table};
use crate::json::pointer::fits;
use crate::text::did_you_mean;

const STANDARD: &str = include_str!("../../../schemas/policy.toml");

/// What a change of a program's output does to its readers, as a contract or the default says it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Policy {
    /// The document that says so; none when it is the default.
    pub source: Option<String>,
    /// Where a message names the version, as a JSON pointer.
    pub version_at: Option<String>,
    /// The bump that a breaking change of the contract demands: `major`, `minor` or `none`.
    pub breaking: Option<String>,
    /// The bump that an additive change of the contract demands.
    pub additive: Option<String>,
    /// What each kind of change does.
    pub effects: BTreeMap<Kind, Effect>,
    /// Fields that readers branch on: a name, wherever it stands, or a pointer in which `*` is any element.
    pub deciding: Vec<String>,
    /// Whether readers branch on every field that is true or false.
    pub booleans_decide: bool,
    /// Fields whose words are a closed set.
    pub closed: Vec<String>,
    /// What it means when a field is lost that no schema of the contract promises.
    pub unpromised: Effect,
}

impl Policy {
    /// The policy of contracts that say nothing else.
    pub fn standard() -> Result<Self, FileError> {
        let nothing = Self {
            source: None,
            version_at: None,
            breaking: None,
            additive: None,
            effects: BTreeMap::new(),
            deciding: Vec::new(),
            booleans_decide: false,
            closed: Vec::new(),
            unpromised: Effect::Breaking,
        };
        nothing.overlaid(&Document::parse("schemas/policy.toml", STANDARD)?)
    }

    /// The default, with what a contract's `[policy]` says about it.
    pub(crate) fn load(node: Option<Item<'_>>) -> Result<Self, FileError> {
        let standard = Self::standard()?;
        match node {
            Some(node) => standard.overlaid(&node.table()?),
            None => Ok(standard),
        }
    }

    fn overlaid(mut self, fields: &Table<'_>) -> Result<Self, FileError> {
        let bump = |key| {
            fields.get(key).map(|node: Item<'_>| match node.str()? {
                bump @ ("major" | "minor" | "none") => Ok(bump.to_string()),
                other => Err(node.complain(format_args!("`{other}` is none of major, minor, none"))),
            })
        };
        let text = |key| fields.get(key).map(|node: Item<'_>| node.text()).transpose();
        (self.source, self.version_at) = (text("source")?, text("version-at")?);
        (self.breaking, self.additive) = (bump("breaking").transpose()?, bump("additive").transpose()?);
        for (key, list) in [("deciding", &mut self.deciding), ("closed", &mut self.closed)] {
            if let Some(node) = fields.get(key) {
                *list = field_names(&node)?;
            }
        }
        if let Some(node) = fields.get("booleans-decide") {
            self.booleans_decide = node.bool()?;
        }
        if let Some(node) = fields.get("unpromised") {
            self.unpromised = effect(&node)?;
        }
        if let Some(node) = fields.get("effects") {
            for (name, node) in node.table()?.into_entries() {
                let kind = Kind::from_name(&name).ok_or_else(|| {
                    let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                    node.complain(format_args!(
                        "`{name}` is no kind of change{}",
                        did_you_mean(&name, &known)
                    ))
                })?;
                self.effects.insert(kind, effect(&node)?);
            }
        }
        fields.finish()?;
        Ok(self)
    }

    /// What a change does. `pointer` says where it is, and `is_promised` whether a schema of the contract promises what is
    /// lost there; it is asked only when that matters.
    pub fn effect(
        &self,
        kind: Kind,
        pointer: &str,
        is_boolean: bool,
        is_promised: impl FnOnce() -> bool,
    ) -> Effect {
        let is_lost =
            matches!(kind, Kind::FieldRemoved | Kind::FieldOptional | Kind::FieldNull | Kind::FieldRetyped);
        match kind {
            Kind::ValueChanged if is_boolean && self.booleans_decide => Effect::Breaking,
            Kind::ValueChanged if names(&self.deciding, pointer) => Effect::Breaking,
            Kind::EnumValueAdded if names(&self.closed, pointer) => Effect::Breaking,
            // A list may be shorter today; a kind of block that no run has any more, such as thoughts, is lost.
            Kind::ElementRemoved if has_named_kind(pointer) => Effect::Breaking,
            _ if is_lost && self.unpromised != Effect::Breaking && !is_promised() => self.unpromised,
            // The default names them all.
            _ => self.effects.get(&kind).copied().unwrap_or(Effect::Breaking),
        }
    }

    /// The kinds of change that have an effect, in their order.
    pub fn kinds(&self, effect: Effect) -> impl Iterator<Item = Kind> + '_ {
        self.effects.iter().filter(move |(_, is)| **is == effect).map(|(kind, _)| *kind)
    }
}

fn effect(node: &Item<'_>) -> Result<Effect, FileError> {
    let name = node.str()?;
    Effect::from_name(name)
        .ok_or_else(|| node.complain(format_args!("`{name}` is none of breaking, additive, info")))
}

fn field_names(node: &Item<'_>) -> Result<Vec<String>, FileError> {
    let name = |node: Item<'_>| match node.text()? {
        name if name.is_empty() || (name.contains('/') && !name.starts_with('/')) => {
            Err(node.complain("expected the name of a field, or a pointer such as `/error/kind`"))
        }
        name => Ok(name),
    };
    node.list()?.into_iter().map(name).collect()
}

/// Whether a pointer ends in elements of a type, as in `/message/content/*:thinking`.
fn has_named_kind(pointer: &str) -> bool {
    pointer.rsplit('/').next().is_some_and(|last| last.starts_with("*:"))
}

/// Whether one of the fields is the one that a pointer points at.
fn names(fields: &[String], pointer: &str) -> bool {
    let is_it = |field: &String| {
        if field.starts_with('/') {
            fits(field, pointer.split('/'))
        } else {
            pointer.rsplit('/').next() == Some(field)
        }
    };
    fields.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> Result<Policy, String> {
        let text = format!("[policy]\n{text}");
        let tree = Document::parse("contract.toml", &text).unwrap();
        Policy::load(tree.get("policy")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_default_names_every_kind_of_change() {
        let standard = Policy::standard().unwrap();
        assert_eq!(standard.effects.len(), Kind::ALL.len());
        let effect = |kind, pointer, is_boolean| standard.effect(kind, pointer, is_boolean, || false);
        assert_eq!(effect(Kind::FieldRemoved, "/a", false), Effect::Breaking);
        assert_eq!(effect(Kind::ValueChanged, "/a", false), Effect::Info);
        assert_eq!(effect(Kind::ValueChanged, "/a", true), Effect::Breaking);
        assert_eq!(effect(Kind::ElementRemoved, "/content/*:thinking", false), Effect::Breaking);
        assert_eq!(effect(Kind::ElementRemoved, "/tools/*", false), Effect::Info);
        assert_eq!(effect(Kind::ValueChanged, "/error/kind", false), Effect::Breaking);
        assert_eq!(effect(Kind::EnumValueAdded, "/error/kind", false), Effect::Additive);
    }

    #[test]
    fn a_contract_says_where_it_differs() {
        let own = policy(
            "source = \"doc\"\ndeciding = [\"/n/*/word\"]\nclosed = [\"kind\"]\nbooleans-decide = false\n\
             unpromised = \"info\"\n[policy.effects]\nmessage-added = \"breaking\"",
        )
        .unwrap();
        let effect = |kind, pointer, promised| own.effect(kind, pointer, true, || promised);
        assert_eq!(effect(Kind::MessageAdded, "", true), Effect::Breaking);
        assert_eq!(effect(Kind::ExitCode, "", true), Effect::Breaking);
        assert_eq!(effect(Kind::ValueChanged, "/n/*:x/word", true), Effect::Breaking);
        assert_eq!(effect(Kind::ValueChanged, "/n/word", true), Effect::Info);
        assert_eq!(effect(Kind::ValueChanged, "/status", true), Effect::Info);
        assert_eq!(effect(Kind::EnumValueAdded, "/error/kind", true), Effect::Breaking);
        assert_eq!(effect(Kind::FieldRemoved, "/a", true), Effect::Breaking);
        assert_eq!(effect(Kind::FieldRemoved, "/a", false), Effect::Info);
        assert_eq!(effect(Kind::FieldRetyped, "/a", false), Effect::Info);
    }

    #[test]
    fn complaints_say_where() {
        let complaint = |text: &str| policy(text).unwrap_err();
        let kind = complaint("[policy.effects]\nfield-remved = \"info\"");
        assert!(kind.starts_with("contract.toml:3:16: ") && kind.contains("field-removed"), "{kind}");
        assert!(complaint("[policy.effects]\nform = \"bad\"").contains("`bad` is none of breaking"));
        assert!(complaint("unpromised = \"no\"").contains("contract.toml:2"));
        assert!(complaint("closed = [\"a/b\"]").contains("a pointer such as `/error/kind`"));
        assert!(complaint("clsoed = []").contains("clsoed"));
    }
}
