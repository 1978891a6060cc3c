//! Comparing two contracts: what a reader of the old one can no longer rely on.
//!
//! Contracts are about output, so a change is breaking when the new schema lets something through that the old one
//! refused. Structural rules name the change; the set algebra of `jsonschema` confirms or corrects them, and is the last
//! word where they saw nothing. It is experimental and knows no formats, so it never decides alone that all is well.

mod example;
mod structure;

use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use super::contract::{Clause, Contract};
use super::finding::Level;
use super::load::{Bundle, CONTRACT_FILE};
use super::schemas::Schemas;
use crate::document::FileError;

/// What a change does to a reader of the old contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Effect {
    /// Nothing that the old contract promised is lost.
    Additive,
    /// Neither rules nor algebra can tell; a person has to.
    Undecided,
    /// Something that the old contract promised is lost.
    Breaking,
}

/// One difference between two contracts.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub(crate) struct Change {
    /// The rule that names it, such as `required-field-dropped`.
    pub kind: &'static str,
    /// What it does to a reader.
    pub effect: Effect,
    /// The schema file or clause that changed.
    pub place: String,
    /// Where in a message, as a JSON pointer; `*` stands for the elements of an array.
    pub pointer: String,
    /// The change in one sentence.
    pub message: String,
    /// A message that the new contract allows and the old one refuses, as small as possible.
    pub counter_example: Option<Value>,
}

impl Change {
    fn new(kind: &'static str, effect: Effect, place: &str, pointer: &str, message: impl Display) -> Self {
        let (place, pointer, message) = (place.into(), pointer.into(), message.to_string());
        Self { kind, effect, place, pointer, message, counter_example: None }
    }
}

/// Everything that differs between two contracts.
#[derive(Debug, Default)]
#[non_exhaustive]
pub(crate) struct Diff {
    /// The changes, the gravest first.
    pub changes: Vec<Change>,
    /// The version bump that the contract's own policy demands: `major`, `minor` or `none`; none when it has no policy.
    pub bump: Option<String>,
    /// Where a message names the version, by the same policy.
    pub version_at: Option<String>,
}

impl Diff {
    /// Compares two contracts, or two directories of schemas.
    pub(crate) fn between(old: &Bundle, new: &Bundle) -> Result<Self, FileError> {
        let mut diff = Self::default();
        let (old, new) = (Side::load(old)?, Side::load(new)?);
        diff.compare_schemas(old.schemas(), new.schemas())?;
        if let (Side::Contract(old), Side::Contract(new)) = (&old, &new) {
            diff.compare_clauses(old, new);
            diff.version_at.clone_from(&old.policy.version_at);
            let worst = diff.changes.iter().map(|change| change.effect).max();
            diff.bump = match worst {
                Some(Effect::Breaking) => old.policy.breaking.clone(),
                Some(Effect::Additive) => old.policy.additive.clone(),
                Some(Effect::Undecided) => None,
                None => Some("none".into()),
            };
        }
        diff.changes.sort_by_key(|change| std::cmp::Reverse(change.effect));
        Ok(diff)
    }

    fn compare_schemas(&mut self, old: &Schemas, new: &Schemas) -> Result<(), FileError> {
        for (name, _) in old.files() {
            if new.node(name).is_some() {
                self.changes.extend(compare_file(name, old, new)?);
            } else {
                let text = "the schema is gone, and with it what it promised";
                self.note("schema-removed", Effect::Breaking, name, text);
            }
        }
        for (name, _) in new.files().filter(|(name, _)| old.node(name).is_none()) {
            self.note("schema-added", Effect::Additive, name, "the schema is new");
        }
        Ok(())
    }

    fn compare_clauses(&mut self, old: &Contract, new: &Contract) {
        for clause in &old.clauses {
            let (id, is_must) = (&clause.id, clause.level == Level::Must);
            match new.clauses.iter().find(|other| other.id == clause.id) {
                None if is_must => {
                    self.note("clause-removed", Effect::Breaking, id, "the promise is no longer made");
                }
                None => self.note("clause-removed", Effect::Additive, id, "the clause is gone"),
                Some(other) if is_must && other.level < clause.level => {
                    let text = format!("the promise becomes {}", other.level);
                    self.note("clause-weakened", Effect::Breaking, id, text);
                }
                Some(other) => {
                    let asks = |clause: &Clause| (clause.check_value.clone(), clause.applies_value.clone());
                    if asks(other) != asks(clause) {
                        let text = "the clause checks something else now";
                        self.note("clause-changed", Effect::Undecided, id, text);
                    }
                }
            }
        }
        let is_new = |clause: &&Clause| old.clauses.iter().all(|known| known.id != clause.id);
        for clause in new.clauses.iter().filter(is_new) {
            self.note("clause-added", Effect::Additive, &clause.id, "the clause is new");
        }
    }

    fn note(&mut self, kind: &'static str, effect: Effect, place: &str, message: impl Display) {
        self.changes.push(Change::new(kind, effect, place, "", message));
    }
}

enum Side {
    Contract(Box<Contract>),
    Schemas(Box<Schemas>),
}

impl Side {
    fn load(bundle: &Bundle) -> Result<Self, FileError> {
        if bundle.bytes(CONTRACT_FILE).is_some() {
            return Contract::load(bundle).map(|contract| Self::Contract(Box::new(contract)));
        }
        super::load::read_schemas(bundle).map(|schemas| Self::Schemas(Box::new(schemas)))
    }

    fn schemas(&self) -> &Schemas {
        match self {
            Self::Contract(contract) => &contract.schemas,
            Self::Schemas(schemas) => schemas,
        }
    }
}

/// Compares one schema file of both sides.
fn compare_file(name: &str, old: &Schemas, new: &Schemas) -> Result<Vec<Change>, FileError> {
    let (Ok(old_schema), Ok(new_schema)) = (old.part(name), new.part(name)) else { return Ok(Vec::new()) };
    if old_schema == new_schema && old.files().eq(new.files()) {
        return Ok(Vec::new());
    }
    let mut changes = structure::changes(name, old, new);
    let reference = [name.to_string()];
    let (old_compiled, new_compiled) = (old.compile(&reference)?, new.compile(&reference)?);
    let (Some(old_valid), Some(new_valid)) = (old_compiled.get(name), new_compiled.get(name)) else {
        return Ok(changes);
    };
    let is_witness = |value: &Value| new_valid.is_valid(value.into()) && !old_valid.is_valid(value.into());
    for change in &mut changes {
        if change.effect != Effect::Additive {
            change.counter_example = example::witness(new, name, change, &is_witness);
        }
    }
    let proven = changes.iter().any(|change| change.counter_example.is_some());
    match covers(old, new, name) {
        // The algebra is sure that nothing new gets through, so a rule that says otherwise is too strict.
        Some(true) if !proven => {
            for change in changes.iter_mut().filter(|change| !change.kind.starts_with("format")) {
                change.effect = Effect::Additive;
            }
        }
        Some(false) if changes.iter().all(|change| change.effect == Effect::Additive) => {
            let text = "the new schema lets something through that the old one refuses";
            changes.push(Change::new("schema-changed", Effect::Breaking, name, "", text));
        }
        None if changes.is_empty() && old_schema != new_schema => {
            let text = "the schemas differ in a way that no rule decides";
            changes.push(Change::new("schema-changed", Effect::Undecided, name, "", text));
        }
        _ => {}
    }
    Ok(changes)
}

/// Whether everything that the new schema allows was allowed by the old one; none when the algebra cannot tell.
fn covers(old: &Schemas, new: &Schemas, name: &str) -> Option<bool> {
    let canonical = |schemas: &Schemas| {
        let schema = schemas.bundled(name)?;
        jsonschema::canonical::options().offline().canonicalize(&schema).ok()
    };
    match canonical(old)?.covers(&canonical(new)?).ok()?.as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}
