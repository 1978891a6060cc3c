//! Values of files in this binary that hardly anybody asks for.

use std::sync::OnceLock;

use serde_json::Value;

use super::item::to_json;
use super::node::Node;
use super::packed::Packed;
use super::{FileError, Item};

/// A value as JSON: that of a user's file is made at once, so that a mistake in it is told, any other when it is asked for.
#[derive(Debug, Clone)]
pub(crate) struct LateJson {
    packed: Option<Packed>,
    is_table: bool,
    value: OnceLock<Value>,
}

impl LateJson {
    pub(super) fn of(item: &Item<'_>) -> Result<Self, FileError> {
        let (packed, is_table) = match item.value {
            Node::PackedTable(packed) => (packed, true),
            Node::PackedList(packed) => (packed, false),
            _ => return Ok(Self { packed: None, is_table: false, value: item.json()?.into() }),
        };
        Ok(Self { packed: Some(packed), is_table, value: OnceLock::new() })
    }

    /// The value.
    pub(crate) fn get(&self) -> &Value {
        self.value.get_or_init(|| {
            let made = if self.is_table { Node::PackedTable } else { Node::PackedList };
            self.packed.and_then(|packed| to_json(&made(packed))).unwrap_or_default()
        })
    }
}

impl PartialEq for LateJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
