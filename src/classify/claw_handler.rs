//! What the documented error handler of `claw` raises: one arm for each way in which a run fails.

use serde_json::Value;

use crate::envelope::Envelope;

use super::claw::{Failure, UNKNOWN};
use super::{Class, ClawFields, Process, Verdict};

/// The kind of an output that is no envelope.
const PARSE_FAILURE: &str = "parse_failure";
/// The kind of a run whose caller lost patience; the engine's own timeout is `timeout`.
const SUBPROCESS_TIMEOUT: &str = "subprocess_timeout";
/// The kind of an exit that the contract does not have.
const UNEXPECTED_EXIT_CODE: &str = "unexpected_exit_code";
const CHECK_THE_FLAG: &str = "Check that --output-format json is being passed";

/// The fields beside the class, by the arm of the handler that the verdict stands for.
pub(super) fn fields(envelope: &Envelope, process: &Process<'_>, verdict: &Verdict) -> ClawFields {
    let arm = |kind: &str, message: String| ClawFields {
        kind: Some(kind.to_owned()),
        message: Some(message),
        ..ClawFields::default()
    };
    match (verdict.class, verdict.detail.as_deref()) {
        // Nothing was run that a handler could speak of.
        (Class::Harness | Class::Spawn, _) => return ClawFields::default(),
        (Class::Timeout, detail) if detail != Some("engine") => {
            let timer = detail.unwrap_or("wall");
            return arm(SUBPROCESS_TIMEOUT, format!("Command exceeded its {timer} timeout"));
        }
        _ => {}
    }
    let Some(object) = envelope.value.as_ref().filter(|_| envelope.is_one_object()) else {
        let reason = envelope.flaws.iter().find(|flaw| flaw.kind.is_substantial());
        let reason = reason.map(ToString::to_string).unwrap_or_default();
        let hint = Some(CHECK_THE_FLAG.to_owned());
        return ClawFields {
            hint,
            ..arm(PARSE_FAILURE, format!("Command output is not one JSON object: {reason}"))
        };
    };
    let said = of_envelope(object);
    if process.exits_outside_contract() {
        let exit = process.exit_evidence("exit-code").value;
        let unexpected = arm(UNEXPECTED_EXIT_CODE, format!("Unexpected {}", exit.as_str().unwrap_or("exit")));
        return ClawFields { kind: unexpected.kind, message: unexpected.message, ..said };
    }
    match verdict.class {
        Class::Timeout => timeout(said, object),
        // It failed by its exit code alone.
        Class::Crash => {
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or(UNKNOWN).to_owned();
            ClawFields { kind: Some(kind), message: Some(String::new()), ..said }
        }
        _ => said,
    }
}

/// The engine's own timeout.
fn timeout(said: ClawFields, object: &Value) -> ClawFields {
    // The engine did not see the cancel unless it says so.
    let observed = cancel_observed(object) == Some(true);
    let message = || format!("Turn exceeded timeout (cancel_observed={observed})");
    ClawFields {
        kind: said.kind.or_else(|| Some("timeout".to_owned())),
        message: said.message.or_else(|| Some(message())),
        cancel_observed: Some(observed),
        safe_to_reuse_session: Some(observed),
        ..said
    }
}

/// Whether the engine saw the cancel: said of the loop, of the one turn, or of the last turn.
fn cancel_observed(object: &Value) -> Option<bool> {
    let last_turn = object.get("turns").and_then(Value::as_array).and_then(|turns| turns.last());
    let places = [
        object.get("final_cancel_observed"),
        object.get("cancel_observed"),
        object.pointer("/turn/cancel_observed"),
        last_turn.and_then(|turn| turn.get("cancel_observed")),
    ];
    places.into_iter().flatten().find_map(Value::as_bool)
}

/// What the envelope itself says.
fn of_envelope(object: &Value) -> ClawFields {
    let failure = Failure::of(object);
    let nested = object.get("error");
    let text = |key: &str| {
        let inner = nested.and_then(|error| error.get(key)).and_then(Value::as_str);
        inner.or_else(|| object.get(key).and_then(Value::as_str)).map(str::to_owned)
    };
    let kind = failure.map(|failure| failure.kind.unwrap_or_else(|| UNKNOWN.to_owned()));
    let names_a_session = kind.as_deref() == Some("session_not_found");
    let looked_up = || text("name").or_else(|| text("target")).filter(|_| names_a_session);
    ClawFields {
        message: kind.as_ref().and_then(|_| super::claw::message(object)).map(str::to_owned),
        operation: text("operation"),
        target: text("target"),
        hint: text("hint"),
        session_id: text("session_id").or_else(looked_up),
        kind,
        ..ClawFields::default()
    }
}
