//! How the answer to a prompt ended: the result message and the exit code.

use std::time::Instant;

use serde_json::{Value, json};

use super::super::answer::Usage;
use super::super::api::Failure;
use super::error_text::describe;
use super::session::Session;
use super::user_text;
use crate::time;

/// How the answer to a prompt ended.
pub(super) enum End {
    Answered {
        text: String,
        stop_reason: Option<String>,
        structured: Option<Value>,
    },
    Failed(Failure),
    /// The user wanted no more of it.
    Interrupted,
    Limit {
        subtype: &'static str,
        message: String,
        stop_reason: Option<String>,
    },
}

impl End {
    /// Said without asking the model.
    pub(super) fn said(text: impl Into<String>) -> Self {
        Self::Answered { text: text.into(), stop_reason: None, structured: None }
    }
}

impl Session<'_> {
    /// Prints the result; the exit code.
    pub(super) fn end(&mut self, started: Instant, turns: u64, end: End) -> u8 {
        let duration = whole_millis(started);
        if matches!(end, End::Interrupted) {
            let mut result = interrupted(turns + 1, started);
            result["permission_denials"] = self.denials.clone().into();
            self.output.message(interruption());
            self.output.result(result);
            return 1;
        }
        let mut result = json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": duration,
            "duration_api_ms": duration, "num_turns": turns, "stop_reason": null, "total_cost_usd": cost(self.total),
            "usage": usage_json(self.present), "modelUsage": model_usage(self.model(), self.total),
            "permission_denials": self.denials, "fast_mode_state": "off",
        });
        if self.is_notified {
            result["origin"] = json!({"kind": "task-notification"});
        }
        let code = match end {
            End::Answered { text, stop_reason, structured } => {
                result["result"] = text.into();
                result["stop_reason"] = stop_reason.into();
                if turns > 0 {
                    result["api_error_status"] = Value::Null;
                    result["terminal_reason"] = "completed".into();
                }
                if let Some(structured) = structured {
                    result["structured_output"] = structured;
                }
                0
            }
            End::Failed(failure) => {
                let is_hidden = self.world.is_wrong("failure-hidden");
                let is_masked = is_hidden || self.world.is_wrong("error-masked");
                let is_refusal = failure.kind == "refusal";
                let (mut text, class) = describe(&failure, self.model());
                if is_hidden {
                    text = "Done.".into();
                }
                let request = failure.request_id.as_deref();
                let stop_reason = if is_refusal { "refusal" } else { "stop_sequence" };
                self.output.failure(&text, stop_reason, (!is_masked).then_some(class), request);
                result["is_error"] = (!is_masked).into();
                result["api_error_status"] = failure.status.filter(|_| !is_hidden).into();
                result["result"] = text.into();
                result["stop_reason"] = stop_reason.into();
                result["terminal_reason"] = "completed".into();
                u8::from(!is_masked)
            }
            // Told above.
            End::Interrupted => 1,
            End::Limit { subtype, message, stop_reason } => {
                result["subtype"] = subtype.into();
                result["is_error"] = true.into();
                result["stop_reason"] = stop_reason.into();
                result["errors"] = json!([message]);
                if subtype == "error_max_turns" {
                    result["terminal_reason"] = "max_turns".into();
                }
                1
            }
        };
        self.output.result(result);
        if self.world.is_wrong("talks-after-result") {
            self.output.synthetic("One more thing.");
        }
        if self.world.is_wrong("asks-after-result") {
            let call = json!({"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "toolu_late", "input": {"command": "true"}});
            self.output.control(&json!({"type": "control_request", "request_id": "late", "request": call}));
        }
        code
    }
}

/// The milliseconds since then, the one that has begun included: nothing takes no time.
pub(super) fn whole_millis(started: Instant) -> u64 {
    started.elapsed().as_millis() as u64 + 1
}

/// The result of a conversation that came to nothing, but for its `errors`.
pub(super) fn broken_off(turns: u64) -> Value {
    json!({
        "type": "result", "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0,
        "is_error": true, "num_turns": turns, "stop_reason": null, "total_cost_usd": 0,
        "usage": usage_json(Usage::default()), "modelUsage": {}, "permission_denials": [],
    })
}

/// What the model is told when the user interrupts.
pub(super) const INTERRUPTED: &str = "[Request interrupted by user]";

/// What is printed where the user interrupts.
pub(super) fn interruption() -> Value {
    json!({
        "type": "user", "message": user_text(INTERRUPTED), "parent_tool_use_id": null,
        "timestamp": time::rfc3339(time::now()),
    })
}

/// The result of an answer that the user interrupted.
pub(super) fn interrupted(turns: u64, started: Instant) -> Value {
    let error = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null";
    let mut result = broken_off(turns);
    result["duration_ms"] = whole_millis(started).into();
    result["terminal_reason"] = "aborted_streaming".into();
    result["fast_mode_state"] = "off".into();
    result["errors"] = json!([error]);
    result
}

/// What it costs: a dollar for a million tokens in, five for as many out.
pub(super) fn cost(usage: Usage) -> f64 {
    (usage.input + usage.cache_read + usage.cache_creation) as f64 * 1e-6 + usage.output as f64 * 5e-6
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_creation,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": usage.output,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    })
}

fn model_usage(model: &str, usage: Usage) -> Value {
    if usage.input + usage.output == 0 {
        return json!({});
    }
    json!({model: {
        "inputTokens": usage.input, "outputTokens": usage.output, "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_creation, "webSearchRequests": 0, "costUSD": cost(usage),
        "contextWindow": 200_000, "maxOutputTokens": 32_000,
    }})
}
