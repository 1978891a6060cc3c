//! The types of JSON values.

use serde_json::Value;

/// The type of a value, in the words of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The literal `null`.
    Null,
    /// The literal `true` or `false`.
    Boolean,
    /// A number without a fraction. This can be asked for; what a value itself says is [`Number`](Self::Number).
    Integer,
    /// Any number, also one of the literals `NaN`, `Infinity` and `-Infinity`.
    Number,
    /// A string, with or without escapes.
    String,
    /// An array; see [`Node::items`](super::Node::items).
    Array,
    /// An object; see [`Node::members`](super::Node::members).
    Object,
}

impl Kind {
    #[cfg(feature = "contracts")]
    pub(crate) const ALL: [Self; 7] =
        [Self::Null, Self::Boolean, Self::Integer, Self::Number, Self::String, Self::Array, Self::Object];

    /// The type's name in JSON Schema.
    pub fn name(self) -> &'static str {
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

    /// The type as it stands in a sentence: `a string`, `an object`, `null`.
    #[cfg(feature = "contracts")]
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }

    #[cfg(feature = "contracts")]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl From<&Value> for Kind {
    #[inline]
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}
