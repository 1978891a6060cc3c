//! Changes of many cases, put together: the same change is one row.

use std::collections::BTreeMap;

use super::bump::{Announcements, Bump};
use super::change::Change;
use crate::schema::policy::{Effect, Kind, Policy};

/// Everything that changed between two sides.
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
    /// The version bumps that those policies ask for.
    pub bumps: Vec<Bump>,
}

impl Drift {
    /// What it means for somebody who has to decide about it, in one sentence: its gravest change, the version bump that
    /// the policy asks for, and whether that was made. None when no contract promises what changed.
    pub(crate) fn advice(&self) -> Option<String> {
        let worst = self.changes.iter().min_by_key(|change| (change.effect, !change.fails()))?;
        if worst.effect == Effect::Info {
            return None;
        }
        let word = worst.word();
        let bumps = self.bumps.iter().map(ToString::to_string);
        Some(std::iter::once(word.to_owned()).chain(bumps).collect::<Vec<_>>().join("; "))
    }

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
    pub(super) versions: Announcements,
    pub(super) only_old: Vec<String>,
    pub(super) only_new: Vec<String>,
}

impl Rows {
    /// Notes a case that is compared by the policy of a contract.
    pub(super) fn compared(&mut self, contract: &str) {
        self.compared += 1;
        *self.policies.entry(contract.to_owned()).or_default() += 1;
    }

    /// Notes how many messages of a kind an old run had.
    pub(super) fn note_count(&mut self, kind: &str, count: usize) {
        let most = self.most.entry(kind.to_owned()).or_default();
        *most = count.max(*most);
    }

    /// Adds what a case shows. `identity` tells the change from others of the same place, and `if_repeated` is what it does
    /// if a kind of message turns out to have come once at most until now.
    pub(super) fn add(&mut self, case: &str, change: Change, identity: String, if_repeated: Effect) {
        let key = (change.kind, change.message.clone(), change.pointer.clone(), identity);
        let effect = change.effect;
        let (row, repeated) = self.changes.entry(key).or_insert((change, if_repeated));
        // Contracts may see it differently; the gravest counts.
        row.effect = row.effect.min(effect);
        *repeated = (*repeated).min(if_repeated);
        if row.cases.last().is_none_or(|last| last != case) {
            row.cases.push(case.to_owned());
        }
    }

    /// All of them. About what is no contract's matter `standard` decides.
    pub(crate) fn finish(self, standard: &Policy) -> Drift {
        let Self { changes: rows, policies, most, compared, versions, only_old, only_new } = self;
        let mut changes = Vec::with_capacity(rows.len());
        for (mut change, if_repeated) in rows.into_values() {
            let came_once = change.message.as_ref().is_some_and(|kind| most.get(kind) == Some(&1));
            // Only now is it known that no old run had two of them.
            if change.kind == Kind::MessageCount && came_once && change.new.as_u64() > Some(1) {
                change.kind = Kind::MessageRepeated;
                change.effect = if_repeated;
                let kind = change.message.as_deref().unwrap_or_default();
                change.summary =
                    format!("`{kind}` came once at most in every old run, and now comes several times");
            }
            changes.push(change);
        }
        let bumps = versions.apply(&mut changes);
        let sides = [(Kind::CaseRemoved, &only_old, "old"), (Kind::CaseAdded, &only_new, "new")];
        for (kind, cases, side) in sides.into_iter().filter(|(_, cases, _)| !cases.is_empty()) {
            let effect = standard.effect(kind, "", false, || true);
            let summary = format!("only the {side} side has them, so they were not compared");
            changes.push(Change { cases: cases.clone(), ..Change::new(kind, effect, summary) });
        }
        changes.sort_by(|a, b| {
            (a.effect, a.kind, &a.message, &a.pointer).cmp(&(b.effect, b.kind, &b.message, &b.pointer))
        });
        Drift { changes, compared, only_old, only_new, policies, bumps }
    }
}
