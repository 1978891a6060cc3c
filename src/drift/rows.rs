//! Changes of many cases, put together: the same change is one row.

use std::collections::BTreeMap;

use serde_json::Value;

use super::change::{Change, Effect, Evidence, Kind};
use super::policy::effect;

/// What one case shows.
#[derive(Debug, Clone)]
pub(super) struct Sighting {
    pub(super) kind: Kind,
    pub(super) effect: Effect,
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
pub struct Rows {
    rows: BTreeMap<Key, Change>,
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

    pub(super) fn compared(&mut self) {
        self.compared += 1;
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
        let row = self.rows.entry(key).or_insert_with(|| Change {
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
        });
        if row.cases.last().is_none_or(|last| last != case) {
            row.cases.push(case.to_owned());
        }
    }

    /// All of them.
    pub fn finish(self) -> Drift {
        let Self { rows, most, compared, only_old, only_new } = self;
        let mut changes: Vec<Change> = rows.into_values().collect();
        for change in &mut changes {
            let came_once = change.message.as_ref().is_some_and(|kind| most.get(kind) == Some(&1));
            // Only now is it known that no old run had two of them.
            if change.kind == Kind::MessageCount && came_once && change.new.as_u64() > Some(1) {
                change.kind = Kind::MessageRepeated;
                change.effect = effect(change.kind, "", false);
                let kind = change.message.as_deref().unwrap_or_default();
                change.summary =
                    format!("`{kind}` came once at most in every old run, and now comes several times");
            }
        }
        let sides = [(Kind::CaseRemoved, &only_old, "old"), (Kind::CaseAdded, &only_new, "new")];
        for (kind, cases, side) in sides.into_iter().filter(|(_, cases, _)| !cases.is_empty()) {
            changes.push(Change {
                kind,
                effect: effect(kind, "", false),
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
        Drift { changes, compared, only_old, only_new }
    }
}
