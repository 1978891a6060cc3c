//! What the error kinds of `claw` mean. The set is open: kinds that nobody wrote down are read by their form.

use super::Class;

/// What an error kind says about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(super) struct KindMeaning {
    /// The class of the outcome.
    pub class: Class,
    /// Which API failure or which timer it was, where the class alone does not say.
    pub detail: Option<&'static str>,
    /// Whether running again may help, where the envelope does not say.
    pub retryable: bool,
}

/// The meaning of an error kind.
pub(super) fn meaning_of(kind: &str) -> KindMeaning {
    let meaning = |class: Class| KindMeaning { class, detail: None, retryable: class.retryable() };
    let api = |detail, retryable| KindMeaning { class: Class::Api, detail: Some(detail), retryable };
    match kind {
        // The names that the documents list.
        "parse" | "usage" | "cli_parse" | "config_error" => meaning(Class::Usage),
        "auth" | "auth_error" | "api_auth_error" | "missing_credentials" => meaning(Class::Auth),
        "api_rate_limit_error" | "rate_limit" | "rate_limit_error" => meaning(Class::RateLimit),
        "api_connection_error" | "connection_error" => api("connection", true),
        "api_http_error" | "model_error" | "api_error" => api("unknown", false),
        "permission_denied" | "policy" => meaning(Class::Permission),
        "timeout" => KindMeaning { class: Class::Timeout, detail: Some("engine"), retryable: true },
        "filesystem" | "filesystem_io_error" => KindMeaning { retryable: true, ..meaning(Class::Error) },
        "session" | "runtime" | "mcp" | "delivery" | "unknown" => meaning(Class::Error),
        // Kinds by their form.
        "model_not_found" | "api_model_not_found" => api("model_not_found", false),
        _ if kind.ends_with("not_found") => meaning(Class::NotFound),
        _ if is_refused_argument(kind) => meaning(Class::Usage),
        _ if kind.starts_with("api_") || kind.starts_with("model_") => api_meaning(kind),
        _ => meaning(Class::Error),
    }
}

/// The meaning of a kind of the API that nobody wrote down, by the words in its name.
fn api_meaning(kind: &str) -> KindMeaning {
    let of_class = |class: Class| KindMeaning { class, detail: None, retryable: class.retryable() };
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let (detail, retryable) = if has(&["rate_limit"]) {
        return of_class(Class::RateLimit);
    } else if has(&["auth", "permission", "credential"]) {
        return of_class(Class::Auth);
    } else if has(&["overloaded"]) {
        ("overloaded", true)
    } else if has(&["connect", "network", "timeout", "timed_out"]) {
        ("connection", true)
    } else if has(&["server"]) {
        ("server_error", true)
    } else if has(&["billing", "credit"]) {
        ("billing", false)
    } else if has(&["context"]) {
        ("context_window", false)
    } else if has(&["invalid_request", "request_too_large"]) {
        ("invalid_request", false)
    } else {
        ("unknown", false)
    };
    KindMeaning { class: Class::Api, detail: Some(detail), retryable }
}

fn is_refused_argument(kind: &str) -> bool {
    const EXACT: [&str; 8] = [
        "empty_prompt",
        "interactive_only",
        "slash_command_requires_repl",
        "removed_subcommand",
        "unexpected_extra_args",
        "config_parse_error",
        "broad_cwd",
        "not_yet_implemented",
    ];
    const MISSING: [&str; 4] =
        ["missing_argument", "missing_flag_value", "missing_prompt", "missing_option_value"];
    EXACT.contains(&kind)
        || MISSING.contains(&kind)
        || ["invalid_", "unknown_", "unsupported_"].iter().any(|prefix| kind.starts_with(prefix))
}
