//! Naming a failed API request: rate limit, credentials, or another error of the provider.

use serde_json::Value;

use crate::stream_json::{ResultFacts, Session};

use super::api_words::{
    AUTH, BILLING, CONNECTION, CONTENT_FILTER, CONTEXT_WINDOW, DISABLED, INVALID, MAX_OUTPUT, MISCONFIGURED,
    MODEL, NO_CREDIT, OVERLOADED, RATE_LIMIT, REFUSAL, SERVER, UNREACHABLE,
};
use super::run_facts::RequestFailure;
use super::{Basis, Blame, Class, Evidence, Verdict};

/// Names the failure of one result; `None` if the result is no failure.
pub(super) fn name(result: &ResultFacts, session: &Session) -> Option<Verdict> {
    is_failure(result).then(|| by_structure(result, session).unwrap_or_else(|| by_keywords(result, session)))
}

/// As [`name`], by fields alone.
pub(super) fn name_by_fields(result: &ResultFacts, session: &Session) -> Option<Verdict> {
    by_structure(result, session).filter(|_| is_failure(result))
}

fn is_failure(result: &ResultFacts) -> bool {
    let status_says_error = result.api_error_status.is_some_and(|status| status >= 400);
    let ends_in_error = result.assistant_error.as_ref().is_some_and(|error| !error.recovered);
    result.is_failure() || status_says_error || ends_in_error
}

/// Names the failure that a text tells of, when there is nothing but text.
pub(super) fn by_words(text: &str) -> Verdict {
    let result = ResultFacts::failure_with_text(text);
    let mut verdict = by_keywords(&result, &Session::default());
    for evidence in &mut verdict.evidence {
        (evidence.line, evidence.pointer) = (None, None);
    }
    verdict
}

/// Names the failure of which the last retry tells, when no model has answered since; a result that a timer brought about
/// (`late`) is no answer.
pub(super) fn of_retries(session: &Session, late: Option<&ResultFacts>) -> Option<Verdict> {
    let retries = &session.retries;
    if !retries.pending && late.is_none_or(|late| late.retried.is_none()) {
        return None;
    }
    let error = retries.last_error.as_deref().filter(|error| !matches!(*error, "unknown" | ""));
    let evidence = match (error, retries.last_status) {
        (Some(error), _) => Evidence::field("api-retry", error).at(retries.line, "/error"),
        (None, status) => Evidence::field("api-retry", status).at(retries.line, "/error_status"),
    };
    Some(match (error.unwrap_or_default(), retries.last_status) {
        ("rate_limit", _) | (_, Some(429)) => rate_limit(session, evidence),
        (error, _) if is_auth(error) => Verdict::by(Class::Auth, None, evidence),
        (_, Some(401 | 403 | 407)) => Verdict::by(Class::Auth, None, evidence),
        ("overloaded", _) => api("overloaded", evidence),
        ("billing_error", _) => api("billing", evidence),
        (_, Some(status)) => api(status_detail(status).unwrap_or("unknown"), evidence),
        // Without a status nothing came back.
        (_, None) => api("connection", evidence),
    })
}

/// Names the failure of a request that the scripted API tells of.
pub(super) fn of_request(failure: &RequestFailure) -> Verdict {
    let (RequestFailure { status, kind, message, .. }, number) = (failure, failure.request);
    let seen = |what: &str, value: Value| {
        Evidence::field("request-failed", value)
            .in_document(&format!("recording.json/served/{number}/{what}"))
    };
    let evidence = match (status, kind) {
        (Some(status), _) => seen("status", (*status).into()),
        (None, Some(kind)) => seen("error/type", kind.as_str().into()),
        (None, None) => seen("complete", false.into()),
    };
    let told = ResultFacts {
        is_error: Some(true),
        api_error_status: *status,
        api_error_type: kind.clone(),
        text: message.clone(),
        ..ResultFacts::default()
    };
    let none = &Session::default();
    let mut verdict = match (status, kind) {
        (None, None) => api("connection", evidence.clone()),
        _ => by_structure(&told, none).unwrap_or_else(|| by_keywords(&told, none)),
    };
    verdict.evidence = vec![evidence];
    verdict
}

/// Says whose fault a failed connection is: `text` tells why it failed, `requests` how many requests the API saw.
pub(super) fn blame_connection(verdict: Verdict, text: &str, requests: Option<usize>) -> Verdict {
    if verdict.class != Class::Api || verdict.detail.as_deref() != Some("connection") {
        return verdict;
    }
    let blamed = |mut verdict: Verdict, rule, basis, value: String, retryable| {
        verdict.blame = Blame::Environment;
        verdict.evidence.push(Evidence::new(rule, basis, value));
        verdict.retry(retryable)
    };
    if let Some(word) = MISCONFIGURED.find(text) {
        return blamed(verdict, "wrong-address", Basis::Keyword, word, false);
    }
    if let Some(word) = UNREACHABLE.find(text) {
        return blamed(verdict, "unreachable", Basis::Keyword, word, true);
    }
    if requests == Some(0) {
        let words = "no request reached the API".to_owned();
        return blamed(verdict, "no-request", Basis::Structured, words, true);
    }
    verdict
}

fn api(detail: &str, evidence: Evidence) -> Verdict {
    Verdict::of(Class::Api, Some(detail), vec![evidence]).retry(may_pass(detail))
}

/// Whether a failure of the API with this detail may be gone when it is asked again.
pub(super) fn may_pass(detail: &str) -> bool {
    matches!(detail, "overloaded" | "server_error" | "connection")
}

fn rate_limit(session: &Session, evidence: Evidence) -> Verdict {
    let mut verdict = Verdict::of(Class::RateLimit, None, vec![evidence]);
    if let Some(limit) = &session.rate_limit {
        verdict.resets_at = limit.resets_at;
        let event = Evidence::field("rate-limit-event", "rejected");
        verdict.evidence.push(event.at(limit.line, "/rate_limit_info/status"));
    }
    verdict
}

fn is_auth(error_kind: &str) -> bool {
    matches!(
        error_kind,
        "authentication_failed" | "oauth_org_not_allowed" | "account_on_hold" | "verification_required"
    )
}

/// What the fields of the result, its assistant error and the session's events say.
fn by_structure(result: &ResultFacts, session: &Session) -> Option<Verdict> {
    let status = result.api_error_status;
    let status_evidence = || {
        Evidence::field("api-error-status", status.unwrap_or_default()).at(result.line, "/api_error_status")
    };
    let error =
        result.assistant_error.as_ref().filter(|error| !matches!(error.kind.as_str(), "unknown" | ""));
    let error_kind = error.map_or("", |error| error.kind.as_str());
    let error_evidence = || {
        let line = error.map_or(result.line, |error| error.line);
        Evidence::field("assistant-error", error_kind).at(line, "/error")
    };
    let kind = result.api_error_type.as_deref().filter(|kind| *kind != "unknown").unwrap_or_default();
    let kind_evidence = || Evidence::field("api-error-type", kind).at(result.line, "/api_error_type");

    if status == Some(429) {
        return Some(rate_limit(session, status_evidence()));
    }
    if error_kind == "rate_limit" {
        return Some(rate_limit(session, error_evidence()));
    }
    if kind == "rate_limit_error" || kind == "rate_limit" {
        return Some(rate_limit(session, kind_evidence()));
    }
    if matches!(status, Some(401 | 403 | 407)) {
        return Some(Verdict::by(Class::Auth, None, status_evidence()));
    }
    if is_auth(error_kind) {
        return Some(Verdict::by(Class::Auth, None, error_evidence()));
    }
    if matches!(kind, "authentication_error" | "permission_error") {
        return Some(Verdict::by(Class::Auth, None, kind_evidence()));
    }
    let text = failure_text(result);
    if status == Some(413) {
        return Some(api("invalid_request", status_evidence()));
    }
    if kind == "request_too_large" {
        return Some(api("invalid_request", kind_evidence()));
    }
    if result.terminal_reason.as_deref() == Some("prompt_too_long") {
        let evidence = Evidence::field("terminal-reason", "prompt_too_long");
        return Some(api("context_window", evidence.at(result.line, "/terminal_reason")));
    }
    let detail = match error_kind {
        "billing_error" => Some("billing"),
        "model_not_found" => Some("model_not_found"),
        "max_output_tokens" => Some("max_output_tokens"),
        "overloaded" => Some("overloaded"),
        "invalid_request" => return Some(refused(result, &text, error_evidence())),
        _ => None,
    };
    if let Some(detail) = detail {
        return Some(api(detail, error_evidence()));
    }
    match status.and_then(status_detail) {
        Some("invalid_request") => return Some(refused(result, &text, status_evidence())),
        Some(detail) => return Some(api(detail, status_evidence())),
        None => {}
    }
    let detail = match kind {
        "overloaded_error" | "overloaded" => Some("overloaded"),
        "invalid_request_error" => return Some(refused(result, &text, kind_evidence())),
        "not_found_error" => Some("model_not_found"),
        "billing_error" => Some("billing"),
        "api_error" | "server_error" => Some("server_error"),
        "timeout_error" => Some("connection"),
        _ => None,
    };
    if let Some(detail) = detail {
        return Some(api(detail, kind_evidence()));
    }
    if error_kind == "server_error" {
        // The last of several overloaded attempts is reported as a plain server error.
        if session.retries.last_error.as_deref() == Some("overloaded") {
            let retry = Evidence::field("api-retry", "overloaded").at(session.retries.line, "/error");
            return Some(api("overloaded", retry));
        }
        return Some(api(server_detail(&text), error_evidence()));
    }
    if error.is_some() {
        return Some(api("unknown", error_evidence()));
    }
    session.rate_limit.as_ref().map(|limit| {
        let event = Evidence::field("rate-limit-event", "rejected");
        rate_limit(session, event.at(limit.line, "/rate_limit_info/status"))
    })
}

/// A request that the API refused as it was: its message says whether the request, the account or the answer is why.
fn refused(result: &ResultFacts, text: &str, evidence: Evidence) -> Verdict {
    let pointer = if result.text.is_some() { "/result" } else { "/errors" };
    let words = |word: String| Evidence::new("refusal-words", Basis::Keyword, word).at(result.line, pointer);
    let by_words = [
        (&DISABLED, None),
        (&NO_CREDIT, Some("billing")),
        (&CONTENT_FILTER, Some("refusal")),
        (&CONTEXT_WINDOW, Some("context_window")),
    ];
    for (pattern, detail) in by_words {
        let Some(word) = pattern.find(text) else { continue };
        let mut verdict = match detail {
            Some(detail) => api(detail, words(word)),
            None => Verdict::by(Class::Auth, None, words(word)),
        };
        verdict.evidence.push(evidence);
        return verdict;
    }
    api("invalid_request", evidence)
}

fn status_detail(status: i64) -> Option<&'static str> {
    Some(match status {
        529 => "overloaded",
        500..=599 => "server_error",
        404 => "model_not_found",
        408 => "connection",
        409 => "unknown",
        402 => "billing",
        400..=499 => "invalid_request",
        _ => return None,
    })
}

fn server_detail(text: &str) -> &'static str {
    if OVERLOADED.are_in(text) {
        "overloaded"
    } else if [&CONNECTION, &UNREACHABLE, &MISCONFIGURED].iter().any(|words| words.are_in(text)) {
        "connection"
    } else {
        "server_error"
    }
}

/// What a result says of its failure.
pub(super) fn failure_text(result: &ResultFacts) -> String {
    match &result.text {
        Some(text) => text.clone(),
        None => result.errors.join("\n"),
    }
}

/// What the words of the error say, when no field names a class.
fn by_keywords(result: &ResultFacts, session: &Session) -> Verdict {
    let text = failure_text(result);
    let pointer = if result.text.is_some() { "/result" } else { "/errors" };
    let evidence = |rule, word: String| Evidence::new(rule, Basis::Keyword, word).at(result.line, pointer);
    if let Some(word) = RATE_LIMIT.find(&text) {
        return rate_limit(session, evidence("rate-limit-words", word));
    }
    // Tokens beyond the context window often come with numbers that look like a status.
    if let Some(word) = CONTEXT_WINDOW.find(&text) {
        return api("context_window", evidence("api-words", word));
    }
    if let Some(word) = DISABLED.find(&text).or_else(|| AUTH.find(&text)) {
        return Verdict::of(Class::Auth, None, vec![evidence("auth-words", word)]);
    }
    for (detail, words) in [
        ("overloaded", &OVERLOADED),
        ("billing", &BILLING),
        ("max_output_tokens", &MAX_OUTPUT),
        ("refusal", &REFUSAL),
        ("connection", &MISCONFIGURED),
        ("connection", &UNREACHABLE),
        ("connection", &CONNECTION),
        ("model_not_found", &MODEL),
        ("invalid_request", &INVALID),
        ("server_error", &SERVER),
    ] {
        if let Some(word) = words.find(&text) {
            return api(detail, evidence("api-words", word));
        }
    }
    let flag = Evidence::field("is-error", result.is_error.unwrap_or(true));
    api("unknown", flag.at(result.line, "/is_error"))
}
