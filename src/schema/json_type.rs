//! The types that conditions can ask for.

use crate::json::{JsonView, Shape};

/// The types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl JsonType {
    const ALL: [Self; 7] =
        [Self::Null, Self::Boolean, Self::Integer, Self::Number, Self::String, Self::Array, Self::Object];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn holds(self, value: JsonView<'_>) -> bool {
        match self {
            Self::Null => value.shape() == Shape::Null,
            Self::Boolean => value.shape() == Shape::Boolean,
            Self::Integer => value.is_integer(),
            Self::Number => value.shape() == Shape::Number,
            Self::String => value.shape() == Shape::String,
            Self::Array => value.shape() == Shape::Array,
            Self::Object => value.shape() == Shape::Object,
        }
    }
}
