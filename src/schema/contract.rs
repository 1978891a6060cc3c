//! A contract in memory: what it is, its message kinds and its clauses.

use std::sync::{Arc, OnceLock};

use super::pattern::Pattern;
use serde_json::Value;

use super::condition::{Condition, Truth};
use super::facts::{End, Facts, Run};
use super::finding::Level;
use super::frame::Root;
use super::invocation::Invocation;
use super::policy::Policy;
use super::program::Program;
use super::rule::Check;
use super::schemas::Schemas;
use crate::document::{FileError, LateJson, VolatileEntry};
use crate::events::Profile;
use crate::json::{JsonView, Name, Pointer};
use crate::outcome::Table;
use crate::recording::Exit;
use crate::version::VersionRange;

/// A named set of clauses with the schemas they use.
#[derive(Debug)]
pub struct Contract {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) protocol: Protocol,
    /// Whose dialect it describes, where the contract says so itself.
    pub(crate) family: Option<Family>,
    pub(crate) sources: Vec<String>,
    pub(crate) extends: Vec<String>,
    /// The file and the line that say so.
    pub(crate) extends_at: FileError,
    pub(crate) version_at: Option<Pointer>,
    /// The versions that were ever released; none where the contract does not say.
    pub(crate) releases: Vec<VersionRange>,
    pub(crate) root: Root,
    pub(crate) policy: Policy,
    /// What differs from run to run, for those who compare runs.
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "read in any case, so that a mistake in it is told")
    )]
    pub(crate) volatile: Vec<VolatileEntry>,
    pub(crate) invocation: Invocation,
    /// What it says of the outcome of a run, for whoever makes the verdict.
    pub(crate) outcome: Option<Table>,
    pub(crate) kinds: Kinds,
    pub(crate) clauses: Vec<Clause>,
    pub(crate) schemas: Arc<Schemas>,
    /// For each kind, and last for messages of no kind, the clauses that look at them.
    pub(crate) by_kind: Vec<Vec<usize>>,
    /// For each of these the schemas that they are held against, made when the first such message comes.
    pub(crate) programs: Vec<OnceLock<Program>>,
    /// How many different questions its selectors ask of messages.
    pub(crate) questions: usize,
}

/// What a contract says that stdout holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// One JSON document, and nothing else.
    Document,
    /// NDJSON: one message a line.
    Stream,
    /// A log of the claws event protocol: one record a line, of many peers.
    Events,
    /// Text for people, which rules see as one string.
    Text,
}

impl Protocol {
    pub(crate) const NAMES: [(&str, Self); 4] = [
        ("document", Self::Document),
        ("stream", Self::Stream),
        ("events", Self::Events),
        ("text", Self::Text),
    ];

    /// The name in contract files.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// Whose dialect a contract describes, which decides how a run is read and what its verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// The Claude CLI and what speaks like it.
    Claude,
    /// The envelopes of `claw`, one document a run.
    Claw,
    /// The event protocol of claws: a log, not a run.
    EventLog,
    /// Another agent that prints a message a line.
    Stream,
    /// Another agent that prints one document.
    Document,
}

impl Family {
    pub(crate) const NAMES: [(&str, Self); 5] = [
        ("claude", Self::Claude),
        ("claw", Self::Claw),
        ("event-log", Self::EventLog),
        ("stream", Self::Stream),
        ("document", Self::Document),
    ];

    /// The family that contract files call so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, family)| *family)
    }

    /// The name in contract files.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// What a contract is taken for that names no family.
    pub(crate) fn of_protocol(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Document | Protocol::Text => Self::Document,
            Protocol::Stream => Self::Stream,
            Protocol::Events => Self::EventLog,
        }
    }
}

/// How a contract is recognised: by the shape of its messages, or by a command that only it describes.
#[derive(Debug)]
pub(crate) struct Detect {
    pub(crate) priority: i64,
    pub(crate) when: Condition,
    pub(crate) commands: Vec<String>,
    /// Flags that ask for it, each with its value.
    pub(crate) flags: Vec<(String, String)>,
    /// What the program says on standard error, where it prints nothing else.
    pub(crate) stderr: Option<Pattern>,
    pub(crate) invocation: Invocation,
}

/// One testable statement of a contract.
#[derive(Debug)]
#[non_exhaustive]
pub struct Clause {
    /// The id without the contract's name.
    pub id: String,
    /// How much it weighs.
    pub level: Level,
    /// The document and section that say so.
    pub source: String,
    /// When the promise began: a date or a version.
    pub since: String,
    /// The statement, in one sentence.
    pub text: String,
    /// Why a reader of the output needs it.
    pub why: String,
    /// How to keep it.
    pub fix: String,
    /// The line of `contract.toml` where it stands.
    pub line: usize,
    /// Where the clause weighs differently under a profile; none is not at all.
    pub(crate) profiles: Vec<(Profile, Option<Level>)>,
    pub(crate) applies: Condition,
    pub(crate) applies_value: Option<LateJson>,
    pub(crate) check: Check,
    pub(crate) check_value: LateJson,
}

impl Clause {
    /// The name of the rule that checks it; `schema` for a schema.
    pub fn rule(&self) -> &'static str {
        self.check.name
    }

    /// How much it weighs under a profile; none when it is not judged there.
    pub fn level_in(&self, profile: Profile) -> Option<Level> {
        self.profiles
            .iter()
            .find(|(known, _)| *known == profile)
            .map_or(Some(self.level), |(_, level)| *level)
    }

    /// Where it weighs differently than `level` says; none is not at all.
    pub fn profiles(&self) -> &[(Profile, Option<Level>)] {
        &self.profiles
    }

    /// Whether a recording or a log can show that it is broken. Some clauses are only about a live system, and some
    /// have no finding of their own.
    pub fn is_judged(&self) -> bool {
        !matches!(self.check.name, "live" | "unjudged")
    }

    /// The check as the contract writes it.
    pub fn check(&self) -> &Value {
        self.check_value.get()
    }

    /// When the clause applies, as the contract writes it; none when it always does.
    pub fn applies(&self) -> Option<&Value> {
        self.applies_value.as_ref().map(LateJson::get)
    }
}

impl Contract {
    /// The name that users and findings know it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a line.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The command that a message says it answers, where the message of a fixture of this name should say the name: none
    /// when the name is no command or the message says none.
    #[cfg(feature = "cli")]
    pub(crate) fn command_in(&self, message: &Value, named_after: &str) -> Option<String> {
        let is_command = self.invocation.verbs().iter().any(|verb| verb == named_after);
        let (command, _) = self.invocation.named_by(message.into()).filter(|_| is_command)?;
        Some(command)
    }

    /// What the contract says that stdout holds.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The documents it comes from.
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// The contracts that are judged with it.
    pub fn extends(&self) -> &[String] {
        &self.extends
    }

    /// What is wrong with one of the contracts that it extends, at the line that names it.
    pub(crate) fn blames(&self, parent: &str, error: &FileError) -> FileError {
        self.extends_at.saying(format_args!("extends `{parent}`: {}", error.message))
    }

    /// What a change of its messages does to their readers.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What differs from run to run, for those who compare runs.
    #[cfg(feature = "testing")]
    pub(crate) fn volatile(&self) -> &[VolatileEntry] {
        &self.volatile
    }

    /// What it says of the outcome of a run.
    pub(crate) fn outcome(&self) -> Option<&Table> {
        self.outcome.as_ref()
    }

    /// Its clauses, in their order.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// Its message kinds, in their order.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.names.iter().map(String::as_str)
    }

    /// Whether there is such a version: one that no release has is taken for the newest, so that it switches nothing off.
    pub(crate) fn has_release(&self, version: &str) -> bool {
        self.releases.is_empty() || self.releases.iter().any(|range| range.holds(Some(version)))
    }

    /// Which clauses look at which kinds.
    pub(crate) fn index(kinds: &Kinds, clauses: &[Clause]) -> Vec<Vec<usize>> {
        let of_kind = |kind: usize| {
            let kind = (kind < kinds.names.len()).then_some(kind);
            let wants = |(index, clause): (usize, &Clause)| clause.check.rule.wants(kind).then_some(index);
            clauses.iter().enumerate().filter_map(wants).collect()
        };
        (0..=kinds.names.len()).map(of_kind).collect()
    }

    /// The schemas that messages of a kind are held against; the last is for messages of no kind.
    pub(crate) fn program(&self, kind: usize) -> &Program {
        self.programs[kind].get_or_init(|| {
            let known = (kind < self.kinds.names.len()).then_some(kind);
            let schema = |place: &usize| Some((*place, self.clauses[*place].check.rule.schema_of(known)?));
            Program::new(self.by_kind[kind].iter().filter_map(schema))
        })
    }

    /// The kind of a message.
    #[cfg(feature = "cli")]
    pub(crate) fn kind(&self, message: &Value, run: &Run, exit: Option<&Exit>) -> Option<&str> {
        self.kind_number(message, run, exit).map(|kind| self.kinds.names[kind].as_str())
    }

    /// The kind of a message and the schema of that kind, if it has both.
    pub(crate) fn kind_schema(
        &self,
        message: &Value,
        run: &Run,
        exit: Option<&Exit>,
    ) -> Option<(&str, &str)> {
        let kind = self.kind_number(message, run, exit)?;
        Some((&self.kinds.names[kind], self.kinds.schemas[kind].as_deref()?))
    }

    fn kind_number(&self, message: &Value, run: &Run, exit: Option<&Exit>) -> Option<usize> {
        let mut facts = Facts::at_start(run, &self.invocation);
        facts.at_end(&End::new(exit.cloned(), None, None));
        self.kinds.of(message.into(), &facts)
    }

    /// Removes a clause, to see whether anything else notices what it notices.
    #[must_use]
    pub fn without(mut self, clause: &str) -> Self {
        self.clauses.retain(|known| known.id != clause);
        self.by_kind = Self::index(&self.kinds, &self.clauses);
        self.programs.iter_mut().for_each(|program| *program = OnceLock::new());
        self
    }
}

/// The message kinds of a contract.
#[derive(Debug)]
pub(crate) struct Kinds {
    pub(crate) names: Vec<String>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) schemas: Vec<Option<String>>,
    /// For each value of `/type` the kinds that can have it, in order; kinds that do not ask for a type are in all.
    by_type: Vec<(String, Vec<usize>)>,
    untyped: Vec<usize>,
    type_name: Name,
}

impl Kinds {
    pub(crate) fn new(kinds: Vec<(String, Condition, Option<String>)>) -> Self {
        let mut all = Self {
            names: Vec::new(),
            conditions: Vec::new(),
            schemas: Vec::new(),
            by_type: Vec::new(),
            untyped: Vec::new(),
            type_name: Name::new("type"),
        };
        for (name, condition, schema) in kinds {
            let index = all.names.len();
            if let Some(wanted) = condition.field_equals("type") {
                let untyped = &all.untyped;
                if let Some((_, kinds)) = all.by_type.iter_mut().find(|(known, _)| known == wanted) {
                    kinds.push(index);
                } else {
                    let kinds = untyped.iter().copied().chain([index]).collect();
                    all.by_type.push((wanted.to_owned(), kinds));
                }
            } else {
                all.untyped.push(index);
                all.by_type.iter_mut().for_each(|(_, list)| list.push(index));
            }
            all.names.push(name);
            all.conditions.push(condition);
            all.schemas.push(schema);
        }
        all
    }

    /// The first kind whose condition a message meets.
    pub(crate) fn of(&self, message: JsonView<'_>, facts: &Facts) -> Option<usize> {
        self.candidates(message).iter().copied().find(|kind| {
            let condition = &self.conditions[*kind];
            let mask = condition.mask(message);
            mask != 0 && condition.decide(mask, facts) == Truth::Holds
        })
    }

    /// The kinds that a message could be, in order.
    fn candidates(&self, message: JsonView<'_>) -> &[usize] {
        let typed = message
            .member(&self.type_name)
            .and_then(JsonView::text)
            .and_then(|name| self.by_type.iter().find(|(known, _)| *known == *name));
        typed.map_or(&self.untyped, |(_, kinds)| kinds)
    }
}
