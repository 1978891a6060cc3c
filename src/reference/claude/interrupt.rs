//! Ctrl-C in the middle of an answer: the conversation is said to be over, and the exit code is 0.

use std::time::Instant;

use serde_json::json;

use super::super::{World, interrupt};
use super::ending::{broken_off, whole_millis};
use super::flags::Flags;
use super::output::Output;
use crate::time;

/// Ends the conversation on Ctrl-C from now on.
pub(super) fn listen(world: &World, flags: &Flags) {
    let mut output = Output::new(world, flags).aside();
    let started = Instant::now();
    interrupt::on_interrupt(move || {
        output.message(json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]},
            "parent_tool_use_id": null, "timestamp": time::rfc3339(time::now()),
        }));
        let error = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null";
        let mut result = broken_off(2);
        result["duration_ms"] = whole_millis(started).into();
        result["terminal_reason"] = "aborted_streaming".into();
        result["fast_mode_state"] = "off".into();
        result["errors"] = json!([error]);
        output.result(result);
        output.finish();
        0
    });
}
