//! Values from a log, short enough to be shown.

use serde_json::Value;

use crate::json::{Kind, Node};
use crate::text::head;

/// How many bytes of a value are kept as evidence.
const KEPT: usize = 400;

/// The value, or the start of its text where it is long.
pub(crate) fn excerpt(node: &Node<'_>) -> Value {
    let raw = node.raw();
    if raw.len() <= KEPT {
        return node.to_value();
    }
    let start = usize::from(node.kind() == Kind::String);
    Value::String(format!("{}…", &head(raw, KEPT)[start..]))
}
