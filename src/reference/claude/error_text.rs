//! How the Claude CLI words the failures of the API.

use super::super::api::Failure;

/// The text of the result, and the class in `assistant.error`.
pub(super) fn describe(failure: &Failure, model: &str) -> (String, &'static str) {
    let message = &failure.message;
    match failure.status {
        None if failure.kind == "refusal" => {
            ("API Error: the model's safeguards refused this message".into(), "invalid_request")
        }
        None if failure.kind == "login" => {
            ("Not logged in · Please run /login".into(), "authentication_failed")
        }
        Some(400) if message.contains("prompt is too long") => {
            ("Prompt is too long".into(), "invalid_request")
        }
        Some(400) if message.contains("credit balance") => {
            ("Credit balance is too low".into(), "billing_error")
        }
        Some(400) => (format!("API Error: 400 {message}"), "unknown"),
        Some(status @ (401 | 403)) => {
            (format!("Failed to authenticate. API Error: {status} {message}"), "authentication_failed")
        }
        Some(404) => (
            format!(
                "There's an issue with the selected model ({model}). It may not exist or you may not have access to it."
            ),
            "model_not_found",
        ),
        Some(413) => ("Request too large (max 32MB).".into(), "invalid_request"),
        Some(429) => (format!("API Error: Request rejected (429) · {message}"), "rate_limit"),
        Some(status @ 500..) => (
            format!("API Error: {status} {message}. This is a server-side issue, usually temporary"),
            "server_error",
        ),
        Some(status) => (format!("API Error: {status} {message}"), "unknown"),
        None if failure.kind == "connection" => (format!("API Error: {message}"), "server_error"),
        None if failure.kind == "malformed" && message.starts_with("Connection") => {
            (format!("API Error: {message}. The response above may be incomplete."), "server_error")
        }
        None => (format!("API Error: {message}"), "unknown"),
    }
}

/// The word of an `api_retry` message.
pub(super) fn retry_word(failure: &Failure) -> &'static str {
    match failure.status {
        Some(429) => "rate_limit",
        Some(529) => "overloaded",
        Some(401 | 403) => "authentication_failed",
        Some(500..) | None => "server_error",
        Some(_) => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(status: Option<u16>, kind: &str, message: &str) -> &'static str {
        let failure = Failure { status, ..Failure::new(kind, message, None) };
        describe(&failure, "m").1
    }

    #[test]
    fn failures_are_worded_by_status_and_message() {
        assert_eq!(class(Some(400), "", "prompt is too long: 9 tokens"), "invalid_request");
        assert_eq!(class(Some(400), "", "your credit balance is low"), "billing_error");
        assert_eq!(class(Some(400), "", "something else"), "unknown");
        assert_eq!(class(Some(403), "", ""), "authentication_failed");
        assert_eq!(class(Some(404), "", ""), "model_not_found");
        assert_eq!(class(Some(429), "", ""), "rate_limit");
        assert_eq!(class(Some(529), "", ""), "server_error");
        assert_eq!(class(None, "connection", ""), "server_error");
        assert_eq!(class(None, "malformed", "Connection closed mid-response"), "server_error");
        assert_eq!(class(None, "malformed", "the API sent an event that is not JSON"), "unknown");
        assert_eq!(class(None, "refusal", ""), "invalid_request");
        assert_eq!(class(None, "login", ""), "authentication_failed");
    }

    #[test]
    fn only_what_may_pass_is_asked_again() {
        let with = |status, kind| Failure { status, ..Failure::new(kind, "", None) };
        assert!(
            with(Some(529), "overloaded_error").is_transient() && with(None, "connection").is_transient()
        );
        assert!(!with(Some(400), "").is_transient() && !with(None, "refusal").is_transient());
        assert_eq!(retry_word(&with(Some(529), "")), "overloaded");
        assert_eq!(retry_word(&with(Some(418), "")), "unknown");
    }
}
