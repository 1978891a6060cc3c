//! Ctrl-C in the middle of an answer: the conversation is said to be over, and the exit code is 0.

use serde_json::json;

use super::super::{World, interrupt};
use super::flags::Flags;
use super::output::Output;
use crate::time;

/// Listens for it.
pub(super) fn listen(world: &World, flags: &Flags) {
    let mut output = Output::new(world, flags).aside();
    interrupt::on_interrupt(move || {
        end(&mut output);
        0
    });
}

fn end(output: &mut Output) {
    output.message(
        "user",
        json!({
            "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]},
            "parent_tool_use_id": null, "timestamp": time::rfc3339(time::now()),
        }),
    );
    output.result(json!({
        "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0, "is_error": true, "num_turns": 2,
        "stop_reason": null, "total_cost_usd": 0,
        "usage": {
            "input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0,
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        },
        "modelUsage": {}, "permission_denials": [], "terminal_reason": "aborted_streaming", "fast_mode_state": "off",
        "errors": ["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"],
    }));
    output.finish();
}
