//! What an API would refuse in a request: a finding about the client.

use serde::Serialize;

use super::request::ApiRequest;

/// Something in a request that the API would refuse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequestFinding {
    /// A JSON pointer into the body; empty for the request as a whole.
    pub pointer: String,
    pub message: String,
}

/// More findings than anybody reads are not kept.
pub(crate) const MOST_FINDINGS: usize = 8;

/// What the API would refuse in a request, in a fixed order.
pub(super) fn check_request(request: &ApiRequest) -> Vec<RequestFinding> {
    if request.method == "POST" { request.dialect.check_request(request) } else { Vec::new() }
}

pub(crate) fn finding(pointer: &str, message: impl Into<String>) -> RequestFinding {
    RequestFinding { pointer: pointer.to_owned(), message: message.into() }
}

/// A finding about ourselves, so that nobody takes it for the client's.
pub(super) fn harness_finding(message: &str) -> RequestFinding {
    finding("", format!("the mock failed: {message}"))
}
