//! Errors as the API words them: type and message by status, and the headers that steer a retry.

use serde_json::{Value, json};

use super::fault::HttpFault;

/// The error type and message that the API sends with a status.
pub(crate) fn error_of_status(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "invalid x-api-key"),
        402 => ("billing_error", "Your account has an issue with billing."),
        403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
        404 => ("not_found_error", "The requested resource could not be found."),
        405 => ("invalid_request_error", "Method Not Allowed"),
        408 => ("timeout_error", "Request timed out."),
        409 => ("conflict_error", "The request conflicts with another one."),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => ("rate_limit_error", "This request would exceed your organization's rate limit."),
        502 => ("api_error", "Bad gateway"),
        503 => ("api_error", "Service unavailable"),
        504 => ("timeout_error", "The request timed out while processing."),
        529 => ("overloaded_error", "Overloaded"),
        500..=599 => ("api_error", "Internal server error"),
        _ => ("invalid_request_error", "The request is invalid."),
    }
}

/// The status that the API sends for an error type.
pub(super) fn status_of_error(error_type: &str) -> u16 {
    match error_type {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// The body of an error.
pub(super) fn error_body(error_type: &str, message: &str, request_id: &str) -> Value {
    json!({"type": "error", "error": {"type": error_type, "message": message}, "request_id": request_id})
}

impl HttpFault {
    /// The body of this error.
    pub(super) fn body(&self, request_id: &str) -> Value {
        let (error_type, message) = error_of_status(self.status);
        error_body(
            self.error_type.as_deref().unwrap_or(error_type),
            self.message.as_deref().unwrap_or(message),
            request_id,
        )
    }

    /// The headers that steer a retry.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        if let Some(seconds) = &self.retry_after {
            add("retry-after", seconds.clone());
        }
        if let Some(should_retry) = self.should_retry {
            add("x-should-retry", should_retry.to_string());
        }
        if let Some(status) = &self.unified {
            let reset = self.resets_at.unwrap_or(UNIFIED_RESET).to_string();
            add("anthropic-ratelimit-unified-status", status.clone());
            add("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned());
            add("anthropic-ratelimit-unified-reset", reset.clone());
            add("anthropic-ratelimit-unified-5h-status", status.clone());
            add("anthropic-ratelimit-unified-5h-reset", reset);
            add("anthropic-ratelimit-unified-5h-utilization", "1.0".to_owned());
            add("anthropic-ratelimit-unified-overage-status", "rejected".to_owned());
        }
        headers
    }
}

/// A fixed time far ahead, so that recordings do not depend on the day.
const UNIFIED_RESET: u64 = 4_102_444_800;

/// The rate-limit headers of every answer: ample, and the same in every run.
pub(super) const RATE_LIMITS: [(&str, &str); 6] = [
    ("anthropic-ratelimit-requests-limit", "4000"),
    ("anthropic-ratelimit-requests-remaining", "3999"),
    ("anthropic-ratelimit-requests-reset", "2100-01-01T00:00:00Z"),
    ("anthropic-ratelimit-tokens-limit", "4000000"),
    ("anthropic-ratelimit-tokens-remaining", "3999000"),
    ("anthropic-ratelimit-tokens-reset", "2100-01-01T00:00:00Z"),
];
