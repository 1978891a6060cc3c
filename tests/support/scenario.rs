//! Scenarios for more than one binary of tests.

/// A scenario that cannot pass.
pub(crate) const WRONG: &str = r#"
[scenario]
name = "mine/wrong"
description = "Expects what does not happen."
contract = "claude-stream-json"
api = "plain"
[run]
prompt = "Say hello."
[expect]
verdict = "rate_limit"
"#;
