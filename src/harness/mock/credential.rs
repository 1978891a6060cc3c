//! Whether a client uses the credential that it was given.

use serde::Serialize;

use super::request::ApiRequest;

/// Which credential a request carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Credential {
    /// Exactly one that the client was given.
    AsGiven,
    /// A credential that the harness did not give.
    Other,
    None,
}

impl Credential {
    /// Compares what a request carries with what the client was given; neither is kept.
    pub(super) fn of(request: &ApiRequest, given: &[String]) -> Self {
        let bearer =
            request.header("authorization").map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        let target = request.target();
        let key = target.parameter("key");
        let carried = [request.header("x-api-key"), request.header("x-goog-api-key"), bearer, key];
        let mut carried = carried.into_iter().flatten().filter(|value| !value.is_empty()).peekable();
        if carried.peek().is_none() {
            return Self::None;
        }
        if carried.all(|value| given.iter().any(|known| known == value)) {
            Self::AsGiven
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_the_given_one_another_or_none() {
        let of = |headers: &[(&str, &str)]| {
            let headers =
                headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let request = ApiRequest::new("POST", "/v1/messages", headers, b"");
            Credential::of(&request, &["given-key".to_owned(), "given-token".to_owned()])
        };
        assert_eq!(of(&[("x-api-key", "given-key")]), Credential::AsGiven);
        assert_eq!(of(&[("authorization", "Bearer given-token")]), Credential::AsGiven);
        assert_eq!(of(&[("x-api-key", "given-key2")]), Credential::Other);
        assert_eq!(of(&[("x-api-key", "given-key"), ("authorization", "Bearer x")]), Credential::Other);
        assert_eq!(of(&[("x-api-key", ""), ("user-agent", "given-key")]), Credential::None);
    }
}
