//! The verdict and the findings of a case as events hold them: those of a newer clawgate too.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::word::Word;
use crate::classify::{self, Advisory, Basis, Blame, Class};
use crate::schema::{self, Level};

/// What became of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    pub class: Word<Class>,
    /// More about it, such as which limit or which API error.
    pub detail: Option<String>,
    /// Who has to act.
    pub blame: Word<Blame>,
    /// Whether running again may help.
    pub retryable: bool,
    /// Whether an evaluation may count the run.
    pub counts: bool,
    /// When a rate limit ends, in seconds since 1970, if that is known.
    pub resets_at: Option<i64>,
    /// What else is worth knowing.
    #[serde(default)]
    pub advisories: Vec<Word<Advisory>>,
    /// What the verdict rests on; the first piece decided.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// What only a verdict about `claw` has, from here on: absent elsewhere, and null where it does not apply.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub message: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub operation: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub target: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub hint: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub cancel_observed: Option<Value>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub safe_to_reuse_session: Option<Value>,
}

/// A field that is there, though it may be null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl From<classify::Verdict> for Verdict {
    fn from(verdict: classify::Verdict) -> Self {
        let evidence = |evidence: classify::Evidence| Evidence {
            rule: evidence.rule.into_owned(),
            basis: evidence.basis.into(),
            line: evidence.line,
            pointer: evidence.pointer,
            value: evidence.value,
        };
        let claw = verdict.claw.as_ref();
        Self {
            class: verdict.class.into(),
            detail: verdict.detail,
            blame: verdict.blame.into(),
            retryable: verdict.retryable,
            counts: verdict.counts,
            resets_at: verdict.resets_at,
            advisories: verdict.advisories.into_iter().map(Word::from).collect(),
            evidence: verdict.evidence.into_iter().map(evidence).collect(),
            kind: claw.map(|claw| claw.kind.clone().into()),
            message: claw.map(|claw| claw.message.clone().into()),
            operation: claw.map(|claw| claw.operation.clone().into()),
            target: claw.map(|claw| claw.target.clone().into()),
            hint: claw.map(|claw| claw.hint.clone().into()),
            session_id: claw.map(|claw| claw.session_id.clone().into()),
            cancel_observed: claw.map(|claw| claw.cancel_observed.into()),
            safe_to_reuse_session: claw.map(|claw| claw.safe_to_reuse_session.into()),
        }
    }
}

/// One observation that a verdict rests on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The rule that used it.
    pub rule: String,
    pub basis: Word<Basis>,
    /// The line of the stream.
    pub line: Option<u64>,
    /// The place in the message or envelope.
    pub pointer: Option<String>,
    /// What was seen there, clipped.
    #[serde(default)]
    pub value: Value,
}

/// A clause that was broken, with the evidence.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    pub clause: String,
    pub level: Word<Level>,
    /// What happened, in one sentence.
    pub message: String,
    /// The line of stdout, from 1.
    pub line: Option<u64>,
    /// The byte of stdout, from 0.
    pub offset: Option<u64>,
    /// Where in the message, as a JSON pointer.
    pub pointer: Option<String>,
    /// The value that was found there.
    pub seen: Option<Value>,
    /// What the clause asks for.
    pub expected: Option<String>,
    /// What else is broken only because of this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consequences: Vec<String>,
    /// Why it is accepted for now, if it is listed as a known failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

impl From<schema::Finding> for Finding {
    fn from(finding: schema::Finding) -> Self {
        Self {
            clause: finding.clause,
            level: finding.level.into(),
            message: finding.message,
            line: finding.line,
            offset: finding.offset,
            pointer: finding.pointer,
            seen: finding.seen,
            expected: finding.expected,
            consequences: finding.consequences,
            known: finding.known,
        }
    }
}
