//! Changes of many cases, put together: the same change is one row.

use std::collections::BTreeMap;

use serde_json::Value;

use super::change::{Change, Evidence};
use crate::schema::policy::{Effect, Kind, Policy};

/// What one case shows.
#[derive(Debug, Clone)]
pub(super) struct Sighting {
    pub(super) kind: Kind,
    pub(super) effect: Effect,
    /// What it does if a kind of message turns out to have come once at most until now.
    pub(super) if_repeated: Effect,
    pub(super) message: Option<String>,
    pub(super) pointer: Option<String>,
    /// What tells it from other changes of the same place.
    pub(super) identity: String,
    pub(super) summary: String,
    pub(super) old: Value,
    pub(super) new: Value,
    pub(super) evidence: Evidence,
}

/// Everything that changed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Drift {
    /// The changes, the gravest first.
    pub changes: Vec<Change>,
    /// How many cases both sides have.
    pub compared: usize,
    /// Cases that only the old side has.
    pub only_old: Vec<String>,
    /// Cases that only the new side has.
    pub only_new: Vec<String>,
    /// The contracts whose policies counted, each with the number of its cases; where none is known, `default`.
    pub policies: BTreeMap<String, usize>,
}

impl Drift {
    /// How many changes have this effect.
    pub fn count(&self, effect: Effect) -> usize {
        self.changes.iter().filter(|change| change.effect == effect).count()
    }
}

type Key = (Kind, Option<String>, Option<String>, String);

/// Gathers the changes of one case after the other.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    changes: BTreeMap<Key, (Change, Effect)>,
    policies: BTreeMap<String, usize>,
    /// The most messages of each kind that one old run had.
    most: BTreeMap<String, usize>,
    compared: usize,
    only_old: Vec<String>,
    only_new: Vec<String>,
}

impl Rows {
    pub(super) fn only_old(&mut self, case: &str) {
        self.only_old.push(case.to_owned());
    }

    pub(super) fn only_new(&mut self, case: &str) {
        self.only_new.push(case.to_owned());
    }

    /// Notes a case that is compared by the policy of a contract.
    pub(super) fn compared(&mut self, contract: &str) {
        self.compared += 1;
        match self.policies.get_mut(contract) {
            Some(cases) => *cases += 1,
            None => _ = self.policies.insert(contract.to_owned(), 1),
        }
    }

    /// Notes how many messages of a kind an old run had.
    pub(super) fn note_count(&mut self, kind: &str, count: usize) {
        match self.most.get_mut(kind) {
            Some(most) => *most = (*most).max(count),
            None => _ = self.most.insert(kind.to_owned(), count),
        }
    }

    /// Adds what a case shows.
    pub(super) fn add(&mut self, case: &str, seen: Sighting) {
        let key = (seen.kind, seen.message.clone(), seen.pointer.clone(), seen.identity);
        let (row, if_repeated) = self.changes.entry(key).or_insert_with(|| {
            let change = Change {
                kind: seen.kind,
                effect: seen.effect,
                message: seen.message,
                pointer: seen.pointer,
                summary: seen.summary,
                cases: Vec::new(),
                old: seen.old,
                new: seen.new,
                evidence: seen.evidence,
                known: None,
            };
            (change, seen.if_repeated)
        });
        // Contracts may see it differently; the gravest counts.
        row.effect = row.effect.min(seen.effect);
        *if_repeated = (*if_repeated).min(seen.if_repeated);
        if row.cases.last().is_none_or(|last| last != case) {
            row.cases.push(case.to_owned());
        }
    }

    /// All of them. About what is no contract's matter `standard` decides.
    pub(crate) fn finish(self, standard: &Policy) -> Drift {
        let Self { changes, policies, most, compared, only_old, only_new } = self;
        let mut told = Vec::with_capacity(changes.len());
        for (mut change, if_repeated) in changes.into_values() {
            let came_once = change.message.as_ref().is_some_and(|kind| most.get(kind) == Some(&1));
            // Only now is it known that no old run had two of them.
            if change.kind == Kind::MessageCount && came_once && change.new.as_u64() > Some(1) {
                change.kind = Kind::MessageRepeated;
                change.effect = if_repeated;
                let kind = change.message.as_deref().unwrap_or_default();
                change.summary =
                    format!("`{kind}` came once at most in every old run, and now comes several times");
            }
            told.push(change);
        }
        let mut changes = told;
        let sides = [(Kind::CaseRemoved, &only_old, "old"), (Kind::CaseAdded, &only_new, "new")];
        for (kind, cases, side) in sides.into_iter().filter(|(_, cases, _)| !cases.is_empty()) {
            changes.push(Change {
                kind,
                effect: standard.effect(kind, "", false, || true),
                message: None,
                pointer: None,
                summary: format!("only the {side} side has them, so they were not compared"),
                cases: cases.clone(),
                old: Value::Null,
                new: Value::Null,
                evidence: Evidence::default(),
                known: None,
            });
        }
        changes.sort_by(|a, b| {
            (a.effect, a.kind, &a.message, &a.pointer).cmp(&(b.effect, b.kind, &b.message, &b.pointer))
        });
        Drift { changes, compared, only_old, only_new, policies }
    }
}
