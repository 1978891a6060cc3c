//! What a change does to a reader, by the contracts' versioning policy.
//!
//! The documents say: renaming a field is breaking, a new optional field is additive, and readers check fields before
//! they rely on them. From that follows the rest: what a reader may rely on is breaking when it goes (a field, its type,
//! its presence, a kind of message, the order, the exit code, the stream that it stands on), more of anything is
//! additive, and what no contract promises (texts, numbers, what is asked of the API) is told and no more.

use super::change::{Effect, Kind};

/// Fields that readers branch on: another value in the same situation is another meaning.
const DECIDING: [&str; 20] = [
    "type",
    "subtype",
    "kind",
    "error_kind",
    "status",
    "error",
    "error_category",
    "is_error",
    "exit_code",
    "code",
    "stop_reason",
    "terminal_reason",
    "final_stop_reason",
    "retryable",
    "found",
    "handled",
    "ok",
    "success",
    "outcome",
    "schema_version",
];

/// The effect of a change at this place.
pub(super) fn effect(kind: Kind, pointer: &str, is_boolean: bool) -> Effect {
    match kind {
        Kind::ExitCode
        | Kind::Channel
        | Kind::Form
        | Kind::TextAmongMessages
        | Kind::MessageRemoved
        | Kind::MessageRepeated
        | Kind::Order
        | Kind::FieldRemoved
        | Kind::FieldRetyped
        | Kind::FieldOptional
        | Kind::FieldNull => Effect::Breaking,
        Kind::ValueChanged if is_boolean || is_deciding(pointer) => Effect::Breaking,
        Kind::MessageAdded
        | Kind::FieldAdded
        | Kind::FieldFilled
        | Kind::ElementAdded
        | Kind::EnumValueAdded => Effect::Additive,
        Kind::MessageCount
        | Kind::ElementRemoved
        | Kind::EnumValueRemoved
        | Kind::ValueChanged
        | Kind::TextChanged
        | Kind::RequestCount
        | Kind::RequestRemoved
        | Kind::RequestAdded
        | Kind::RequestChanged
        | Kind::FileRemoved
        | Kind::FileAdded
        | Kind::CaseRemoved
        | Kind::CaseAdded => Effect::Info,
    }
}

/// Whether readers branch on the field that a pointer names.
fn is_deciding(pointer: &str) -> bool {
    pointer.rsplit('/').next().is_some_and(|name| DECIDING.contains(&name))
}
