//! What a broken clause looks like to everybody else.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::JsonView;
use crate::text::clip;

/// How much a clause weighs. Only `must` fails a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Left open by the documents; worth knowing.
    Note,
    /// An event log cannot tell.
    Indeterminate,
    /// Promised by one document and contradicted by another.
    Ambiguous,
    /// Expected by readers; a broken one warns.
    Should,
    /// Promised; fails the gate.
    Must,
}

impl Level {
    /// The level of a name in a contract file.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "must" => Self::Must,
            "should" => Self::Should,
            "note" => Self::Note,
            "ambiguous" => Self::Ambiguous,
            _ => return None,
        })
    }

    /// The name as contract files and machine output spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Note => "note",
            Self::Indeterminate => "indeterminate",
            Self::Ambiguous => "ambiguous",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A clause that was broken, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The id of the clause, as `<contract>/<clause>`.
    pub clause: String,
    /// How much it weighs.
    pub level: Level,
    /// What happened, in one sentence.
    pub message: String,
    /// The line of stdout, counted from 1.
    pub line: Option<u64>,
    /// The byte of stdout, counted from 0.
    pub offset: Option<u64>,
    /// Where in the message, as a JSON pointer.
    pub pointer: Option<String>,
    /// The value that was found there, shortened.
    pub seen: Option<Value>,
    /// What the clause asks for.
    pub expected: Option<String>,
    /// What else is broken only because of this: clauses with their lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub consequences: Vec<String>,
    /// Why the finding is accepted for now, if it is listed as a known failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

impl Finding {
    /// Whether a gate fails on it.
    pub fn fails(&self) -> bool {
        self.level == Level::Must && self.known.is_none()
    }
}

/// A place in stdout and what is wrong there; becomes a [`Finding`] once the clause is known to apply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) message: String,
    pub(crate) line: Option<u64>,
    pub(crate) offset: Option<u64>,
    pub(crate) pointer: Option<String>,
    pub(crate) seen: Option<Value>,
    pub(crate) expected: Option<String>,
}

impl Evidence {
    /// The finding that this is evidence of.
    pub(crate) fn finding(self, clause: String, level: Level) -> Finding {
        let Self { message, line, offset, pointer, seen, expected } = self;
        let consequences = Vec::new();
        Finding { clause, level, message, line, offset, pointer, seen, expected, consequences, known: None }
    }
}

/// How many findings of one clause are kept; the rest are counted.
pub(crate) const KEPT: usize = 20;

/// The evidence against one clause, bounded however much of it there is.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    kept: Vec<Evidence>,
    more: u64,
}

impl Sink {
    pub(crate) fn push(&mut self, evidence: Evidence) {
        if self.kept.len() < KEPT {
            self.kept.push(evidence);
        } else {
            self.more += 1;
        }
    }

    /// Adds evidence that is only worked out if it will be kept.
    pub(crate) fn add(&mut self, evidence: impl FnOnce() -> Evidence) {
        if self.is_full() { self.more += 1 } else { self.kept.push(evidence()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// How much evidence there is in all.
    pub(crate) fn amount(&self) -> u64 {
        self.kept.len() as u64 + self.more
    }

    /// Whether further evidence would only be counted.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= KEPT
    }

    /// Counts evidence that was not worked out.
    pub(crate) fn count(&mut self, more: u64) {
        self.more += more;
    }

    /// Takes over the evidence of another sink.
    pub(crate) fn append(&mut self, other: Self) {
        other.kept.into_iter().for_each(|evidence| self.push(evidence));
        self.more += other.more;
    }

    pub(crate) fn findings(mut self, clause: &str, level: Level) -> Vec<Finding> {
        self.kept.sort_by_key(|evidence| evidence.offset);
        if self.more > 0 {
            let message = format!("and {} more of the same", self.more);
            self.kept.push(Evidence { message, ..Evidence::default() });
        }
        self.kept.into_iter().map(|evidence| evidence.finding(clause.to_string(), level)).collect()
    }
}

/// How much of a value a finding shows.
const SHOWN: usize = 160;

/// The value, shortened to what a reader can take in.
pub(crate) fn excerpt<'v>(value: impl Into<JsonView<'v>>) -> Value {
    let value = value.into().to_value();
    match &*value {
        Value::String(text) => Value::String(shorten(text)),
        Value::Array(_) | Value::Object(_) => {
            let text = Bounded::render(&value);
            if text.len() <= SHOWN { value.into_owned() } else { Value::String(shorten(&text)) }
        }
        _ => value.into_owned(),
    }
}

/// The first characters of a text, with an ellipsis when there are more.
pub(crate) fn shorten(text: &str) -> String {
    clip(text, SHOWN).into_owned()
}

/// Serialises a value but stops soon after the part that is shown: a value may be a gigabyte.
struct Bounded(Vec<u8>);

impl Bounded {
    fn render(value: &Value) -> String {
        let mut out = Self(Vec::new());
        let _ = serde_json::to_writer(&mut out, value);
        String::from_utf8_lossy(&out.0).into_owned()
    }
}

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() > 4 * SHOWN {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
