//! The built-in rules: what a clause can ask beyond a schema. One file a family; each is data that makes a [`Watch`],
//! which sees the messages of one run in order and keeps no more of them than it must.

mod channel;
mod collector;
mod conforms;
mod cost;
mod count;
mod during;
mod equals;
mod flushed;
mod framing;
mod hash;
mod identity;
mod implies;
mod integers;
mod known;
mod length;
mod limit;
mod order;
mod pairs;
mod picked;
mod reading;
mod schema;
mod select;
mod spool;
mod sum;
mod told;
mod totals;
mod unjudged;
mod value;
mod values;
mod within;

use std::fmt;
use std::sync::Arc;

use order::When;
use select::{Pick, Source};
pub(crate) use select::{Selector, Selectors};

use super::condition::{Condition, Subject, Test, pointer};
use super::facts::{Fact, Facts};
use super::finding::{Evidence, Sink, excerpt, shorten};
use super::frame::FramingProblem;
use super::question::{Answers, Questions};
use super::quick::QuickSchema;
use super::schemas::Schemas;
use crate::document::{FileError, Item, Table};
use crate::json::{JsonView, Pointer};
use crate::text::did_you_mean;

/// A message as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'m> {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) value: JsonView<'m>,
    /// When it came, in milliseconds; only records of an event log say so.
    pub(crate) time: Option<i64>,
    /// Index of its kind in the contract.
    pub(crate) kind: Option<usize>,
    /// What selectors have asked of it.
    pub(crate) answers: &'m Answers,
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

    /// What the message is, for people.
    fn title(&self) -> String {
        let field = |key| self.value.get(key)?.text();
        titled(field("type").as_deref(), field("subtype").as_deref())
    }
}

fn titled(kind: Option<&str>, subtype: Option<&str>) -> String {
    let article = |kind: &str| if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    match (kind, subtype) {
        (Some(kind), Some(subtype)) => format!("{} {kind}/{subtype} message", article(kind)),
        (Some(kind), None) => format!("{} {kind} message", article(kind)),
        _ => "a message without a type".into(),
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

    /// Whether it compares the output with what was recorded besides it; of a bare output nothing can be said then.
    fn needs_recording(&self) -> bool {
        false
    }

    /// The schema that is all it asks, of every message of this kind.
    fn schema_of(&self, kind: Option<usize>) -> Option<&QuickSchema> {
        let _ = kind;
        None
    }

    /// The selectors of which one has to take a message for it to matter; none when every message may.
    fn selectors(&self) -> Option<Vec<&Selector>> {
        None
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

    /// How much of the messages it keeps, where another message like one that it has seen, and of which it kept nothing,
    /// changes nothing; none where every message does.
    fn kept(&self) -> Option<u64> {
        None
    }

    /// Sees something odd about the bytes.
    fn oddity(&mut self, oddity: &FramingProblem, sink: &mut Sink) {
        let _ = (oddity, sink);
    }

    /// Sees that time has passed, as far as an event log tells.
    fn passed(&mut self, now: i64, sink: &mut Sink) {
        let _ = (now, sink);
    }

    /// When it has to be told that time has passed.
    fn deadline(&self) -> Option<i64> {
        None
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
    /// For each kind the schema that has its fields.
    pub(crate) kind_schemas: &'n [Option<String>],
    pub(crate) schemas: &'n Arc<Schemas>,
    pub(crate) questions: &'n Questions,
    pub(crate) selectors: Selectors,
    /// Whether the messages are the records of an event log.
    pub(crate) is_log: bool,
}

/// A rule that was read, or what is wrong with how the contract writes it.
type Loaded = Result<Box<dyn Rule>, FileError>;
type Loader = fn(&Table<'_>, &Names<'_>) -> Loaded;

/// What the one of a few words means that a contract chose.
pub(crate) fn choice<T: Copy>(node: &Item<'_>, words: &[(&str, T)]) -> Result<T, FileError> {
    let text = node.str()?;
    words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        node.complain(format_args!("`{text}` is none of {}", known.join(", ")))
    })
}

const RULES: [(&str, Loader); 29] = [
    ("implies", implies::load),
    ("equals", equals::load),
    ("one-of", value::load_one_of),
    ("matches", value::load_matches),
    ("length", length::load),
    ("sum", sum::load),
    ("first", |fields, names| order::load(fields, names, When::First)),
    ("last", |fields, names| order::load(fields, names, When::Last)),
    ("before", |fields, names| order::load(fields, names, When::Before)),
    ("never-after", |fields, names| order::load(fields, names, When::NeverAfter)),
    ("nothing-after", |fields, names| order::load(fields, names, When::NothingAfter)),
    ("exactly-one", |fields, names| count::load(fields, names, true)),
    ("at-least-one", |fields, names| count::load(fields, names, false)),
    ("at-most", count::load_at_most),
    ("pairs", pairs::load),
    ("unique", identity::load_unique),
    ("same", identity::load_same),
    ("known-kinds", known::load_kinds),
    ("known-fields", known::load_fields),
    ("framing", framing::load),
    ("channel", channel::load),
    ("within", within::load),
    ("totals", totals::load),
    ("limit", limit::load),
    ("conforms", conforms::load),
    ("flushed", flushed::load),
    ("integers", integers::load),
    ("cost", cost::load),
    ("during", during::load),
];

/// The names of the built-in rules.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// A check with the name of its rule.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) rule: Box<dyn Rule>,
    /// In an event log: the rule holds for the messages with each value of this place alone.
    pub(crate) for_each: Option<Pointer>,
}

impl Check {
    /// Loads the value of `check`.
    pub(crate) fn load(fields: &Table<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let (name, rule) = if let Some(unjudged) = unjudged::load(fields)? {
            unjudged
        } else {
            match (fields.get("rule"), fields.get("schema")) {
                (Some(wanted), None) => {
                    let text = wanted.str()?;
                    let (name, load) = RULES.iter().find(|(name, _)| *name == text).ok_or_else(|| {
                        let known: Vec<_> = self::names().collect();
                        wanted.complain(format_args!("unknown rule `{text}`{}", did_you_mean(text, &known)))
                    })?;
                    (*name, load(fields, names)?)
                }
                (None, Some(_)) => ("schema", schema::load(fields, names)?),
                _ => return Err(fields.complain("a check has either a `rule` or a `schema`")),
            }
        };
        let for_each = fields.get("for-each").filter(|_| names.is_log).as_ref().map(pointer).transpose()?;
        if names.is_log {
            of_a_log(fields, name, &*rule)?;
        }
        fields.finish()?;
        Ok(Self { name, rule, for_each })
    }
}

/// The rules that ask nothing beyond the records of a log. Of these, the first ones ask nothing of the order either.
pub(crate) const OF_LOGS: [&str; 21] = [
    "schema",
    "implies",
    "equals",
    "one-of",
    "matches",
    "length",
    "limit",
    "integers",
    "sum",
    "first",
    "last",
    "before",
    "never-after",
    "nothing-after",
    "exactly-one",
    "at-least-one",
    "at-most",
    "pairs",
    "unique",
    "same",
    "known-kinds",
];

/// Refuses a check that a log can never break, because it asks for what only a run has.
fn of_a_log(fields: &Table<'_>, name: &str, rule: &dyn Rule) -> Result<(), FileError> {
    if matches!(name, "events" | "live" | "probe" | "unjudged") {
        return Ok(());
    }
    if !OF_LOGS.contains(&name) || rule.needs_recording() {
        return Err(
            fields.complain(format_args!("`{name}` asks for what only a run has, and this is of a log"))
        );
    }
    for key in ["left", "right", "at", "most", "total"] {
        if let Some(node) = fields.get(key)
            && let Ok(place) = node.str()
            && !place.is_empty()
            && !place.starts_with('/')
        {
            return Err(node.complain(format_args!("`{place}` is a fact of a run, and a log has none")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::contract::Contract;
    use super::super::facts::Run;
    use super::super::finding::Finding;
    use super::super::fixture::Sample;
    use super::super::library::ContractSet;
    use super::super::load::Bundle;
    use super::super::pass::judge_output;
    use crate::recording::Exit;

    /// A contract of three kinds of message, `a`, `b` and `c` by their type, and of one clause with this check.
    fn contract(check: &str) -> Contract {
        let kinds = ["a", "b", "c"]
            .map(|kind| format!("[[kind]]\nname = \"{kind}\"\nwhen = {{ \"/type\" = \"{kind}\" }}\nschema = \"s.schema.json\"\n"));
        let text = format!(
            "[contract]\nname = \"t\"\ntitle = \"t\"\nprotocol = \"stream\"\n\
             [invocation]\nvalue-flags = [\"--model\", \"--schema\"]\n{}[[clause]]\nid = \"x\"\nlevel = \"must\"\n\
             source = \"s\"\nsince = \"1\"\ntext = \"t\"\nwhy = \"w\"\nfix = \"f\"\ncheck = {check}\n",
            kinds.concat()
        );
        let schema = r#"{"properties": {"type": true, "n": {"type": "integer"}, "w": {"enum": ["x", "y"]}, "l": true}}"#;
        let files = [("contract.toml", text.as_str()), ("s.schema.json", schema)];
        Contract::load(&Bundle::new("t", files.map(|(name, text)| (name.into(), text.into())))).unwrap()
    }

    /// What a clause with this check says of a run: each finding with its line and its pointer.
    pub(super) fn findings(check: &str, stdout: &str, code: i32, stderr: &str) -> Vec<String> {
        let set = ContractSet::new(vec![contract(check)]);
        let (exit, stderr) = (Exit::with_code(code), stderr.as_bytes());
        told(judge_output(&set, &Run::default(), Some(exit), stdout.as_bytes(), Some(stderr)))
    }

    /// The same of a run that was recorded; `argv` is without the program, and `--model` and `--schema` have values.
    pub(super) fn recorded(
        check: &str,
        argv: &[&str],
        stdout: &str,
        recorded: &serde_json::Value,
    ) -> Vec<String> {
        let argv = ["x"].iter().chain(argv).map(ToString::to_string).collect();
        let recorded = recorded.as_object().cloned().unwrap_or_default();
        let exit = Some(Exit::with_code(0));
        let stdout = stdout.into();
        let sample = Sample { argv: Some(argv), exit, stdout, recorded, ..Sample::default() };
        told(sample.judge(&ContractSet::new(vec![contract(check)])))
    }

    fn told(found: Vec<Finding>) -> Vec<String> {
        let told = found.into_iter().map(|finding| {
            let line = finding.line.map_or(String::new(), |line| format!("{line}"));
            format!("{line}{}: {}", finding.pointer.unwrap_or_default(), finding.message)
        });
        told.collect()
    }

    /// For each check a stream that keeps it, one that breaks it, and what is said of that one.
    pub(super) fn check_table(table: &[(&str, &str, &str, &[&str])]) {
        for (check, good, bad, expected) in table {
            assert_eq!(findings(check, good, 0, ""), [""; 0], "{check} is kept by {good}");
            assert_eq!(findings(check, bad, 0, ""), *expected, "{check} is broken by {bad}");
        }
    }

    #[test]
    fn each_rule_that_is_known_has_a_name_of_its_own() {
        let mut names: Vec<_> = super::names().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), super::RULES.len());
    }
}
