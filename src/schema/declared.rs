//! What a contract declares, and what of it runs have not shown.

use std::collections::{BTreeMap, BTreeSet};

use super::branches::{Branch, Branches};
use super::contract::{Contract, Protocol};
use super::coverage::Coverage;
use crate::events;

/// What a contract declares.
#[derive(Debug, Default)]
#[non_exhaustive]
pub(crate) struct Declared {
    /// The commands that a run can name.
    pub commands: BTreeSet<String>,
    /// The kinds of message.
    pub kinds: BTreeSet<String>,
    /// The branches of its schemas.
    pub(super) branches: Branches,
    /// For each kind, the fields of its schema.
    pub(super) fields: BTreeMap<String, BTreeSet<String>>,
    /// For each kind, the objects whose fields are not listed.
    pub(super) open: BTreeMap<String, BTreeSet<String>>,
    /// For each kind and field, the texts that its schema lists.
    pub(super) values: BTreeMap<(String, String), BTreeSet<String>>,
}

/// What of a contract was not seen, and what was seen and is not of it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub(crate) struct Gaps {
    /// How many fields are declared, and how many of them were seen.
    pub fields: (usize, usize),
    /// How many listed values are declared, and how many of them were seen.
    pub values: (usize, usize),
    /// How many branches the schemas have, and how many of them a message took.
    pub branches: (usize, usize),
    /// Fields of kinds that were seen, never seen themselves: kind and field.
    pub unseen_fields: Vec<(String, String)>,
    /// Values never seen: kind, field and value.
    pub unseen_values: Vec<(String, String, String)>,
    /// Branches of kinds that were seen, never taken.
    pub unseen_branches: Vec<Branch>,
    /// Fields that were seen and are not declared: kind and field.
    pub undeclared: Vec<(String, String)>,
}

impl Declared {
    /// What a contract declares.
    pub(crate) fn of(contract: &Contract) -> Self {
        let mut declared = Self {
            commands: contract.invocation.verbs().iter().cloned().collect(),
            kinds: contract.kinds().map(str::to_owned).collect(),
            ..Self::default()
        };
        declared.walk_schemas(contract);
        if contract.protocol() == Protocol::Events {
            // The protocol's records are known to the reader of event logs, not described by schemas.
            declared.kinds.extend(events::record_kinds());
            for (kind, field, value) in events::listed_values() {
                let listed = declared.values.entry((kind.to_owned(), field.to_owned())).or_default();
                listed.insert(value.to_owned());
            }
        }
        declared
    }

    /// What runs have not shown of it, and what they have shown beyond it.
    pub(crate) fn gaps(&self, seen: &Coverage) -> Gaps {
        let mut gaps = Gaps::default();
        let none = BTreeSet::new();
        for (kind, fields) in &self.fields {
            let here = seen.fields.get(kind).unwrap_or(&none);
            gaps.fields.0 += fields.len();
            gaps.fields.1 += fields.intersection(here).count();
            // Of a kind that was never seen it is enough to say so.
            if seen.kinds.contains(kind) {
                let missing = fields.difference(here).filter(|field| {
                    // Where the object around it is missing, that is said already.
                    parent(field).is_none_or(|around| around.is_empty() || here.contains(around))
                });
                gaps.unseen_fields.extend(missing.map(|field| (kind.clone(), field.clone())));
            }
            let open = self.open.get(kind).unwrap_or(&none);
            for field in here.difference(fields) {
                let around = parent(field).unwrap_or_default();
                let listed = fields.iter().any(|known| parent(known) == Some(around));
                if listed && !open.contains(around) {
                    gaps.undeclared.push((kind.clone(), field.clone()));
                }
            }
        }
        for ((kind, field), values) in &self.values {
            let here = seen.values.get(&(kind.clone(), field.clone())).unwrap_or(&none);
            gaps.values.0 += values.len();
            gaps.values.1 += values.intersection(here).count();
            if seen.kinds.contains(kind) {
                let missing =
                    values.difference(here).map(|value| (kind.clone(), field.clone(), value.clone()));
                gaps.unseen_values.extend(missing);
            }
        }
        for branch in self.branches.all() {
            gaps.branches.0 += 1;
            if seen.branches.contains(branch) {
                gaps.branches.1 += 1;
            } else if branch.kind == "*" || seen.kinds.contains(&branch.kind) {
                gaps.unseen_branches.push(branch.clone());
            }
        }
        gaps
    }
}

/// The object or array element that holds a field.
fn parent(field: &str) -> Option<&str> {
    field.rsplit_once('/').map(|(around, _)| around)
}
