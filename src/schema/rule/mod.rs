//! The built-in rules: what a clause can ask beyond a schema. One file a family; each is data that makes a [`Watch`],
//! which sees the messages of one run in order and keeps no more of them than it must.

mod channel;
mod count;
mod elsewhere;
mod equals;
mod framing;
mod identity;
mod implies;
mod known;
mod length;
mod order;
mod pairs;
mod schema;
mod select;
mod sum;
mod value;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

pub(crate) use select::{Pick, Selector, Source};

use super::condition::Condition;
use super::facts::Facts;
use super::fields::FieldTree;
use super::finding::{Evidence, Sink, excerpt};
use super::frame::FrameOddity;
use super::instance::Validator;
use super::schemas::Schemas;
use super::tree::{Fields, FileError, suggestion};
use super::view::JsonView;

/// A message as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'m> {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) value: JsonView<'m>,
    /// Index of its kind in the contract.
    pub(crate) kind: Option<usize>,
}

impl Message<'_> {
    /// Evidence that points at this message.
    pub(crate) fn evidence(&self, message: String) -> Evidence {
        Evidence { message, line: Some(self.line), offset: Some(self.offset), ..Evidence::default() }
    }

    /// Evidence that points at a value in this message.
    pub(crate) fn evidence_at(&self, pointer: &str, seen: Option<JsonView<'_>>, message: String) -> Evidence {
        Evidence { pointer: Some(pointer.to_string()), seen: seen.map(excerpt), ..self.evidence(message) }
    }
}

/// A check of a clause, loaded and ready.
pub(crate) trait Rule: fmt::Debug + Send + Sync {
    /// Starts watching one run.
    fn watch(&self) -> Box<dyn Watch + '_>;

    /// Whether the rule looks at the bytes around the messages.
    fn speaks_of_bytes(&self) -> bool {
        false
    }

    /// Whether the end of a run matters even if no message did.
    fn speaks_at_end(&self) -> bool {
        false
    }

    /// Whether messages of this kind matter. Most rules ignore most kinds, and need not be asked again.
    fn wants(&self, kind: Option<usize>) -> bool {
        let _ = kind;
        true
    }
}

/// The state of a rule during one run.
pub(crate) trait Watch {
    /// Sees the next message.
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        let _ = (message, sink);
    }

    /// Sees something odd about the bytes.
    fn oddity(&mut self, oddity: &FrameOddity, sink: &mut Sink) {
        let _ = (oddity, sink);
    }

    /// Whether there was something that could have been wrong; asked before the end is seen.
    fn looked(&self, facts: &Facts) -> bool {
        let _ = facts;
        true
    }

    /// Sees the end of the run.
    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let _ = (facts, sink);
    }
}

/// What rules refer to while they are loaded.
pub(crate) struct Names<'n> {
    pub(crate) kinds: &'n [String],
    pub(crate) conditions: &'n [Condition],
    pub(crate) trees: &'n [Option<Arc<FieldTree>>],
    pub(crate) schemas: &'n Schemas,
    pub(crate) validators: &'n HashMap<String, Arc<Validator>>,
}

type Loader = fn(&Fields<'_>, &Names<'_>) -> Result<Box<dyn Rule>, FileError>;

const RULES: [(&str, Loader); 22] = [
    ("implies", implies::load),
    ("equals", equals::load),
    ("one-of", value::load_one_of),
    ("matches", value::load_matches),
    ("length", length::load),
    ("sum", sum::load),
    ("first", order::load_first),
    ("last", order::load_last),
    ("before", order::load_before),
    ("never-after", order::load_never_after),
    ("nothing-after", order::load_nothing_after),
    ("exactly-one", count::load_exactly_one),
    ("at-least-one", count::load_at_least_one),
    ("at-most", count::load_at_most),
    ("pairs", pairs::load),
    ("unique", identity::load_unique),
    ("same", identity::load_same),
    ("known-kinds", known::load_kinds),
    ("known-fields", known::load_fields),
    ("framing", framing::load),
    ("channel", channel::load),
    ("schema", schema::load),
];

/// The names of the built-in rules.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name).filter(|name| *name != "schema")
}

/// A check with the name of its rule.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) rule: Box<dyn Rule>,
}

impl Check {
    /// Loads the value of `check`.
    pub(crate) fn load(fields: &Fields<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        if let Some((name, rule)) = elsewhere::load(fields)? {
            fields.done()?;
            return Ok(Self { name, rule });
        }
        let wanted = match (fields.get("rule"), fields.get("schema")) {
            (Some(rule), None) => rule,
            (None, Some(_)) => {
                let rule = schema::load(fields, names)?;
                fields.done()?;
                return Ok(Self { name: "schema", rule });
            }
            _ => return Err(fields.error("a check has either a `rule` or a `schema`")),
        };
        let found = RULES.iter().find(|(name, _)| *name != "schema" && wanted.str() == Ok(name));
        let Some((name, load)) = found else {
            let known: Vec<_> = self::names().collect();
            let wrong = wanted.str()?;
            return Err(wanted.error(format_args!("unknown rule `{wrong}`{}", suggestion(wrong, &known))));
        };
        let rule = load(fields, names)?;
        fields.done()?;
        Ok(Self { name, rule })
    }
}
