//! `known-kinds` and `known-fields`: what the target sends and the contract does not know.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::fields::{FieldTree, Reported};
use super::super::finding::Sink;
use super::super::tree::{Fields, FileError};
use super::order::title;
use super::{Message, Names, Rule, Selector, Watch};

#[derive(Debug)]
struct KnownKinds;

#[derive(Debug)]
struct KnownFields {
    on: Selector,
    trees: Vec<Option<Arc<FieldTree>>>,
}

#[expect(clippy::unnecessary_wraps, reason = "every rule is loaded through the same type")]
pub(super) fn load_kinds(_: &Fields<'_>, _: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    Ok(Box::new(KnownKinds))
}

pub(super) fn load_fields(fields: &Fields<'_>, names: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    Ok(Box::new(KnownFields { on: Selector::load(fields, "on", names)?, trees: names.trees.to_vec() }))
}

impl Rule for KnownKinds {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(KindsWatching(HashSet::new()))
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        kind.is_none()
    }
}

impl Rule for KnownFields {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(FieldsWatching { rule: self, reported: Reported::default() })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        kind.is_some_and(|kind| self.trees[kind].is_some()) && self.on.may_take(kind)
    }
}

/// How many different unknown kinds are told apart.
const MOST: usize = 1000;

struct KindsWatching(HashSet<String>);

impl Watch for KindsWatching {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        if message.kind.is_some() || self.0.len() >= MOST {
            return;
        }
        let title = title(message);
        if !self.0.contains(&title) {
            let text = format!("{title} is of no kind this contract knows");
            sink.push(message.evidence_at("/type", message.value.get("type"), text));
            self.0.insert(title);
        }
    }
}

struct FieldsWatching<'r> {
    rule: &'r KnownFields,
    reported: Reported,
}

impl Watch for FieldsWatching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let Some(tree) = message.kind.and_then(|kind| self.rule.trees[kind].as_ref()) else { return };
        if !self.rule.on.takes(message) {
            return;
        }
        let reported = &mut self.reported;
        tree.unknown(message.value, &mut |trail, value| {
            if reported.is_new(message.kind, trail) {
                let pointer = trail.render();
                let text = format!("{pointer} is a field this contract does not know");
                sink.push(message.evidence_at(&pointer, Some(value), text));
            }
        });
    }
}
