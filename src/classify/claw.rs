//! The verdict on a run of `claw`: the one error handler that its document asks for.

use serde_json::Value;

use crate::envelope::Envelope;

use super::api_error::blame_connection;
use super::api_words::{CONNECTION, MISCONFIGURED, UNREACHABLE};
use super::claw_handler;
use super::claw_kinds::{KindMeaning, meaning_of};
use super::process::{before_output, ended_without_result, failed_after_success};
use super::words::words;
use super::{Advisory, Basis, Class, ClawFields, Evidence, Process, Verdict};

/// The kind of an error that names none.
pub(super) const UNKNOWN: &str = "unknown";

/// Decides the verdict on a run in JSON mode.
pub fn classify_json(envelope: &Envelope, process: &Process<'_>) -> Verdict {
    let mut verdict = decide(envelope, process);
    if envelope.is_one_object()
        && verdict.class != Class::Timeout
        && let Some(late) = process.late_exit()
    {
        verdict.advisories.push(Advisory::LateExit);
        verdict.evidence.push(late);
    }
    verdict.claw = Some(claw_handler::fields(envelope, process, &verdict));
    verdict
}

fn decide(envelope: &Envelope, process: &Process<'_>) -> Verdict {
    if let Some(verdict) = before_output(process) {
        return verdict;
    }
    let object = envelope.value.as_ref().filter(|_| envelope.is_one_object());
    let Some(object) = object else { return no_envelope(envelope, process) };
    let failure = Failure::of(object);
    // What a timer brought about is no success, nor is an envelope without a word.
    let is_empty = failure.is_none() && is_silent(object);
    if process.in_time().is_late(process.output_end, is_empty)
        && let Some(verdict) = ended(process)
    {
        return verdict;
    }
    if process.exits_outside_contract() {
        let code = process.exit.code;
        let crashed =
            process.exit.fatal_signal().is_some() || code.is_some_and(|code| code == 101 || code > 127);
        let crash = failed_after_success(process).filter(|_| crashed && failure.is_none());
        let evidence = process.exit_evidence("exit-code-outside-contract");
        return crash.unwrap_or_else(|| Verdict::by(Class::Protocol, Some("exit-code"), evidence));
    }
    let stops = ["/final_stop_reason", "/stop_reason", "/turn/stop_reason"];
    let stop_at = |place: &str| object.pointer(place).and_then(Value::as_str);
    if let Some(place) = stops.into_iter().find(|place| stop_at(place) == Some("timeout")) {
        let evidence = Evidence::field("final-stop-reason", "timeout").in_document(place);
        return Verdict::by(Class::Timeout, Some("engine"), evidence);
    }
    let names_another_end = stops[..2].iter().any(|place| stop_at(place).is_some());
    match failure {
        Some(failure) => reported(object, &failure, process),
        // Exit 2 is the engine's timeout, unless the envelope names another end.
        None if process.exit.code == Some(2) && !process.was_ended() && !names_another_end => {
            Verdict::by(Class::Timeout, Some("engine"), process.exit_evidence("exit-code"))
        }
        None => failed_after_success(process).unwrap_or_else(|| succeeded(object)),
    }
}

/// An envelope that reports no failure, of a process that reports none either.
fn succeeded(object: &Value) -> Verdict {
    if is_silent(object) {
        let evidence = Evidence::field("nothing-said", "").in_document("/message");
        return Verdict::by(Class::NoOutput, None, evidence);
    }
    Verdict::by(Class::Ok, None, Evidence::field("success-envelope", "no error marker").in_document(""))
}

/// Decides the verdict on a run in text mode, where only the exit code has a contract. Some errors are enveloped
/// even there, and then the envelope says more than the code; others name their kind, or say what does not exist.
pub fn classify_text(envelope: &Envelope, text: &str, process: &Process<'_>) -> Verdict {
    let object = envelope.value.as_ref().filter(|_| envelope.is_one_object());
    if object.is_some_and(|object| Failure::of(object).is_some()) {
        return classify_json(envelope, process);
    }
    let by_code = |class, detail| Verdict::of(class, detail, vec![process.exit_evidence("exit-code")]);
    let ended = || before_output(process).or_else(|| ended(process));
    let mut verdict =
        ended().or_else(|| told_in_text(text, process)).unwrap_or_else(|| match process.exit.code {
            Some(0) => by_code(Class::Ok, None),
            Some(2) if USAGE.are_in(process.stderr) => by_code(Class::Usage, None),
            Some(2) => by_code(Class::Timeout, Some("engine")),
            _ => by_code(Class::Error, None),
        });
    if process.says_something() && !verdict.is_ok() {
        verdict.evidence.push(process.stderr_evidence("stderr"));
    }
    verdict.claw = Some(ClawFields::default());
    verdict
}

/// A failure that a run in text mode names by its kind, or a session or the like that it says does not exist, whatever
/// the exit code.
fn told_in_text(text: &str, process: &Process<'_>) -> Option<Verdict> {
    let failed = process.exit.code != Some(0);
    if let Some(kind) = ERROR_KIND.find(process.stderr).filter(|_| failed) {
        let meaning = meaning_of(&kind);
        let evidence = vec![Evidence::field("error-kind", kind).in_document("stderr")];
        return Some(Verdict::of(meaning.class, meaning.detail, evidence).retry(meaning.retryable));
    }
    let said = |rule, text, place| {
        let words = NOT_FOUND.find(text)?;
        Some(Evidence::new(rule, Basis::Keyword, words).in_document(place))
    };
    let evidence = said("not-found-words", process.stderr, "stderr")
        .or_else(|| said("not-found-words", text.lines().next().unwrap_or_default(), "stdout"))?;
    Some(Verdict::by(Class::NotFound, None, evidence))
}

/// The verdict on a document that no contract describes, of a run whose command is not known: no success of any.
pub fn unknown_shape() -> Verdict {
    let evidence = Evidence::field("unknown-shape", "--contract NAME says what it is");
    Verdict::of(Class::Protocol, Some("unknown-shape"), vec![evidence.in_document("")])
}

/// The process ended, or was ended, before it said how the run went.
fn ended(process: &Process<'_>) -> Option<Verdict> {
    ended_without_result(process, || process.failing_provider())
}

/// The output is not one JSON object.
fn no_envelope(envelope: &Envelope, process: &Process<'_>) -> Verdict {
    if envelope.documents == 0
        && let Some(verdict) = ended(process)
    {
        return verdict;
    }
    let is_usage = USAGE.are_in(process.stderr);
    if envelope.documents == 0 && process.exit.code != Some(0) && is_usage {
        return Verdict::of(Class::Usage, None, vec![process.stderr_evidence("refused-to-start")]);
    }
    let substantial = envelope.flaws.iter().filter(|flaw| flaw.kind.is_substantial());
    let mut evidence: Vec<_> =
        substantial.take(3).map(|flaw| Evidence::field("not-one-document", flaw.to_string())).collect();
    if process.says_something() {
        evidence.push(process.stderr_evidence("stderr"));
    }
    Verdict::of(Class::Protocol, None, evidence)
}

words! {
    USAGE = r"(?im)^usage:|unrecognized arguments?|unknown (?:option|flag|subcommand)|missing value for|invalid choice|^error: ";
    HTTP_STATUS = r"returned (\d{3})\b";
    ERROR_KIND = r"\[error-kind: (\w+)\]";
    /// What does not exist, at the start of a line that says so.
    NOT_FOUND = r"(?im)^\W*(?:error:\W*|failed\ to\ [\w ]{1,40}:\W*)*((?:session|skill|command|tool|agent|plugin|server)\b[^\n.;]{0,80}?\b(?:not\ found|does\ not\ exist|doesn't\ exist)|(?:no\ such|unknown)\ (?:session|skill|tool|agent|plugin)\b[^\n]{0,60})";
}

/// Whether a model was asked and said nothing.
fn is_silent(object: &Value) -> bool {
    let asked = object.get("model").is_some() && object.get("usage").is_some();
    asked && object.get("message").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty())
}

/// How an envelope says that it reports a failure, and what it calls it.
pub(super) struct Failure {
    pub(super) kind: Option<String>,
    kind_pointer: &'static str,
    marker: Evidence,
}

impl Failure {
    /// The failure that an envelope reports, in any of the ways in which claw has ever done so.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let error = object.get("error").filter(|error| !is_empty(error));
        let marker = if let Some(error) = error {
            let shown = error
                .as_str()
                .map_or_else(|| error.get("message").cloned().unwrap_or(Value::Null), Value::from);
            Some(Evidence::field("error-member", shown).in_document("/error"))
        } else if let Some((key, value)) = ["type", "status", "kind"]
            .into_iter()
            .find_map(|key| text(key).filter(|value| *value == "error").map(|value| (key, value)))
        {
            Some(Evidence::field("error-marker", value).in_document(&format!("/{key}")))
        } else if object.get("ok") == Some(&Value::Bool(false)) {
            Some(Evidence::field("error-marker", false).in_document("/ok"))
        } else {
            // The command did not do what it is there for, unless it says that all is well.
            let undone = ["found", "loaded", "deleted", "flushed"];
            let key = undone.into_iter().find(|key| object.get(key) == Some(&Value::Bool(false)));
            key.filter(|_| object.get("status").is_none())
                .map(|key| Evidence::field("error-marker", false).in_document(&format!("/{key}")))
        }?;
        let nested = object.get("error").and_then(|error| error.get("kind")).and_then(Value::as_str);
        let (kind, kind_pointer) = match (nested, text("error_kind"), text("kind")) {
            (Some(kind), ..) => (Some(kind), "/error/kind"),
            (None, Some(kind), _) => (Some(kind), "/error_kind"),
            (None, None, Some(kind)) if kind != "error" => (Some(kind), "/kind"),
            _ if object.get("found") == Some(&Value::Bool(false)) => (Some("not_found"), "/found"),
            _ => (None, "/kind"),
        };
        Some(Self { kind: kind.map(str::to_owned), kind_pointer, marker })
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// A failure that the envelope reports.
fn reported(object: &Value, failure: &Failure, process: &Process<'_>) -> Verdict {
    let kind = failure.kind.as_deref().unwrap_or(UNKNOWN);
    let message = message(object).unwrap_or_default();
    let meaning = if kind == "api_http_error" { http_meaning(message) } else { meaning_of(kind) };
    let says =
        object.get("error").and_then(|error| error.get("retryable")).or_else(|| object.get("retryable"));
    // What was typed wrong or does not exist is so the next time too, whatever the envelope says.
    let is_final = matches!(meaning.class, Class::Usage | Class::NotFound);
    let retryable = says.and_then(Value::as_bool).unwrap_or(meaning.retryable) && !is_final;
    let evidence = Evidence::field("error-kind", kind).in_document(failure.kind_pointer);
    let evidence = vec![evidence, failure.marker.clone()];
    let verdict = blame_connection(
        Verdict::of(meaning.class, meaning.detail, evidence),
        message,
        process.facts.requests,
    );
    verdict.retry(retryable)
}

/// The text of the error, flat or nested; some envelopes that are no error by their type have it as `message`.
pub(super) fn message(object: &Value) -> Option<&str> {
    let error =
        object.get("error").and_then(|error| error.as_str().or_else(|| error.get("message")?.as_str()));
    error.or_else(|| object.get("message")?.as_str())
}

/// What the status says that claw puts into the text of an HTTP error.
fn http_meaning(message: &str) -> KindMeaning {
    let api = |detail, retryable| KindMeaning { class: Class::Api, detail: Some(detail), retryable };
    match HTTP_STATUS.find(message).and_then(|status| status.parse::<u16>().ok()) {
        Some(401 | 403 | 407) => meaning_of("api_auth_error"),
        Some(429) => meaning_of("api_rate_limit_error"),
        Some(529) => api("overloaded", true),
        Some(500..=599) => api("server_error", true),
        Some(404) => api("model_not_found", false),
        Some(400..=499) => api("invalid_request", false),
        _ if [&CONNECTION, &UNREACHABLE, &MISCONFIGURED].iter().any(|words| words.are_in(message)) => {
            api("connection", !MISCONFIGURED.are_in(message))
        }
        _ => api("unknown", false),
    }
}
