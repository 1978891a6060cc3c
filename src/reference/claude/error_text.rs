//! How the Claude CLI words the failures of the API.

use super::super::api::Failure;

/// The text of the result, and the class in `assistant.error`.
pub(super) fn describe(failure: &Failure, model: &str) -> (String, &'static str) {
    let message = &failure.message;
    match failure.status {
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
