//! `known-kinds` and `known-fields`: what the target sends and the contract does not know.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use super::super::fields::{FieldTree, Reported};
use super::super::schemas::Schemas;
use super::{Loaded, Message, Names, Rule, Selector, Sink, Table, Watch};

#[derive(Debug)]
struct KnownKinds;

#[derive(Debug)]
struct KnownFields {
    on: Selector,
    schemas: Arc<Schemas>,
    /// For each kind its schema, and the tree of its fields, made when the first message of it comes.
    trees: Vec<Option<(String, OnceLock<FieldTree>)>>,
}

#[expect(clippy::unnecessary_wraps, reason = "every rule is loaded through the same type")]
pub(super) fn load_kinds(_: &Table<'_>, _: &Names<'_>) -> Loaded {
    Ok(Box::new(KnownKinds))
}

pub(super) fn load_fields(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let tree = |schema: &Option<String>| schema.clone().map(|schema| (schema, OnceLock::new()));
    let trees = names.kind_schemas.iter().map(tree).collect();
    let on = Selector::load(fields, "on", names)?;
    Ok(Box::new(KnownFields { on, schemas: Arc::clone(names.schemas), trees }))
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

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
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
        let title = message.title();
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
        let rule = self.rule;
        let Some((schema, tree)) = message.kind.and_then(|kind| rule.trees[kind].as_ref()) else { return };
        if !rule.on.takes(message) {
            return;
        }
        let tree = tree.get_or_init(|| FieldTree::of(&rule.schemas, schema));
        let reported = &mut self.reported;
        tree.unknown(message.value, &mut |trail, value| {
            if reported.is_new(message.kind, trail) {
                let pointer = trail.render();
                let text = format!("{pointer} is a field this contract does not know");
                sink.push(message.evidence_at(&pointer, Some(value), text));
            }
        });
    }

    fn kept(&self) -> Option<u64> {
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn what_the_contract_does_not_know_is_told_once() {
        check_table(&[
            (
                r#"{ rule = "known-kinds" }"#,
                "{\"type\":\"a\"}\n",
                "{\"type\":\"z\"}\n{\"type\":\"z\"}\n",
                &["1/type: a z message is of no kind this contract knows"],
            ),
            (
                r#"{ rule = "known-fields", on = "a" }"#,
                "{\"type\":\"a\",\"n\":1}\n{\"type\":\"b\",\"z\":1}\n",
                "{\"type\":\"a\",\"z\":1}\n{\"type\":\"a\",\"z\":2}\n",
                &["1/z: /z is a field this contract does not know"],
            ),
        ]);
    }
}
