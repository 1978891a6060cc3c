//! Naming a failed API request: rate limit, credentials, or another error of the provider.

use crate::stream_json::{ResultFacts, Session};

use super::words::words;
use super::{Basis, Class, Evidence, Verdict};

/// Names the failure of one result; `None` if the result is no failure.
pub(super) fn name(result: &ResultFacts, session: &Session) -> Option<Verdict> {
    let stopped_short = stopped_short(result);
    let status_says_error = result.api_error_status.is_some_and(|status| status >= 400);
    let ends_in_error = result.assistant_error.as_ref().is_some_and(|error| !error.recovered);
    if !result.is_failure() && !status_says_error && !ends_in_error {
        return stopped_short;
    }
    match (by_structure(result, session), stopped_short) {
        // A stop reason says more than a general API error, and less than a limit or missing credentials.
        (Some(named), Some(stopped)) if named.class == Class::Api => Some(stopped),
        (Some(named), _) => Some(named),
        (None, Some(stopped)) => Some(stopped),
        (None, None) => Some(by_keywords(result, session)),
    }
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

/// A reply that ended for a reason other than being done.
fn stopped_short(result: &ResultFacts) -> Option<Verdict> {
    let reason = result.stop_reason.as_ref()?.as_deref()?;
    let detail = match reason {
        "refusal" => "refusal",
        "max_tokens" => "max_output_tokens",
        "model_context_window_exceeded" => "context_window",
        _ => return None,
    };
    let evidence = Evidence::field("stop-reason", reason).at(result.line, "/stop_reason");
    Some(api(detail, evidence))
}

fn api(detail: &str, evidence: Evidence) -> Verdict {
    let retryable = matches!(detail, "overloaded" | "server_error" | "connection");
    Verdict::of(Class::Api, Some(detail), vec![evidence]).retry(retryable)
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

/// What the fields of the result, its assistant error and the session's events say.
fn by_structure(result: &ResultFacts, session: &Session) -> Option<Verdict> {
    let status = result.api_error_status;
    let status_evidence =
        |rule| Evidence::field(rule, status.unwrap_or_default()).at(result.line, "/api_error_status");
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
        return Some(rate_limit(session, status_evidence("api-error-status")));
    }
    if error_kind == "rate_limit" {
        return Some(rate_limit(session, error_evidence()));
    }
    if kind == "rate_limit_error" || kind == "rate_limit" {
        return Some(rate_limit(session, kind_evidence()));
    }
    if matches!(status, Some(401 | 403)) {
        return Some(Verdict::by(Class::Auth, None, status_evidence("api-error-status")));
    }
    if matches!(
        error_kind,
        "authentication_failed" | "oauth_org_not_allowed" | "account_on_hold" | "verification_required"
    ) {
        return Some(Verdict::by(Class::Auth, None, error_evidence()));
    }
    if matches!(kind, "authentication_error" | "permission_error") {
        return Some(Verdict::by(Class::Auth, None, kind_evidence()));
    }
    let text = failure_text(result);
    if result.terminal_reason.as_deref() == Some("prompt_too_long") {
        let evidence = Evidence::field("terminal-reason", "prompt_too_long");
        return Some(api("context_window", evidence.at(result.line, "/terminal_reason")));
    }
    let detail = match error_kind {
        "billing_error" => Some("billing"),
        "model_not_found" => Some("model_not_found"),
        "max_output_tokens" => Some("max_output_tokens"),
        "overloaded" => Some("overloaded"),
        "invalid_request" if CONTEXT_WINDOW.are_in(&text) => Some("context_window"),
        "invalid_request" => Some("invalid_request"),
        _ => None,
    };
    if let Some(detail) = detail {
        return Some(api(detail, error_evidence()));
    }
    if let Some(detail) = status.and_then(|status| status_detail(status, &text)) {
        return Some(api(detail, status_evidence("api-error-status")));
    }
    let detail = match kind {
        "overloaded_error" | "overloaded" => Some("overloaded"),
        "invalid_request_error" => Some("invalid_request"),
        "not_found_error" => Some("model_not_found"),
        "billing_error" => Some("billing"),
        "api_error" | "server_error" => Some("server_error"),
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

fn status_detail(status: i64, text: &str) -> Option<&'static str> {
    Some(match status {
        529 => "overloaded",
        500..=599 => "server_error",
        404 => "model_not_found",
        408 => "connection",
        409 => "unknown",
        402 => "billing",
        400..=499 if CONTEXT_WINDOW.are_in(text) => "context_window",
        400..=499 => "invalid_request",
        _ => return None,
    })
}

fn server_detail(text: &str) -> &'static str {
    if OVERLOADED.are_in(text) {
        "overloaded"
    } else if CONNECTION.are_in(text) {
        "connection"
    } else {
        "server_error"
    }
}

fn failure_text(result: &ResultFacts) -> String {
    match &result.text {
        Some(text) => text.clone(),
        None => result.errors.join("\n"),
    }
}

// The document's keywords and the CLI's own phrases. A status may touch letters (`HTTP429`) but no digits, so that
// `4290000` is no 429; it is the group of its pattern.
words! {
    RATE_LIMIT = r"(?i)(?:^|\D)(429)(?:\D|$)|rate[ _-]?limit|\bhit your (?:\w+ )?limit|usage limit reached|too many requests";
    AUTH = r"(?i)(?:^|\D)(40[13])(?:\D|$)|unauthori[sz]ed|authenticat|\bauth\b|auth[ _-]error|anthropic_api_key|invalid api key|not logged in|/login\b|does not have access to claude|disabled claude subscription";
    OVERLOADED = r"(?i)overloaded|(?:^|\D)(529)(?:\D|$)|at capacity";
    CONNECTION = r"(?i)connection|econn|socket|unable to connect|timed? ?out|\bterminated\b|network|dns|getaddrinfo|fetch failed|malformed_http";
    CONTEXT_WINDOW = r"(?i)prompt is too long|context (?:window|length)|too many (?:input )?tokens|exceeds? the context";
    BILLING = r"(?i)credit balance|billing|payment";
    MAX_OUTPUT = r"(?i)output token maximum|max_output_tokens";
    SERVER = r"(?i)(?:^|\D)(5\d\d)(?:\D|$)|server-side|internal server error|api_error";
    INVALID = r"(?i)(?:^|\D)(4(?:00|13|22))(?:\D|$)|invalid_request|bad request|request too large";
    MODEL = r"(?i)selected model|model_not_found|(?:^|\D)(404)(?:\D|$)";
    REFUSAL = r"(?i)unable to respond to this request|usage policy";
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
    if let Some(word) = AUTH.find(&text) {
        return Verdict::of(Class::Auth, None, vec![evidence("auth-words", word)]);
    }
    for (detail, words) in [
        ("overloaded", &OVERLOADED),
        ("billing", &BILLING),
        ("max_output_tokens", &MAX_OUTPUT),
        ("refusal", &REFUSAL),
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
