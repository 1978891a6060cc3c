//! [`JsonView`] as an instance of the schema validator, so that messages are validated where they stand.

use std::borrow::Cow;

use jsonschema::json::{Array, Json, JsonNumber, Node as Instance, NodeIdentity, Object};
use jsonschema::types::JsonType;
use serde_json::{Number, Value};

use crate::json::view::{Items, Members};
use crate::json::{JsonView, Kind, Name};

/// A validator of messages.
pub(crate) type Validator = jsonschema::Validator<Messages>;

/// The representation that the validator is made for.
#[derive(Debug)]
pub(crate) struct Messages;

impl Json for Messages {
    type Node<'a> = JsonView<'a>;
    type PreparedKey = Name;
    type StringBuffer = Value;

    // A look-up walks the members, so one walk for several names is always the better choice.
    const KEYS_PER_LOOKUP: usize = 1 << 16;

    fn prepare_key(key: &str) -> Name {
        Name::new(key)
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(JsonView<'_>) -> T) -> T {
        *buffer = Value::String(string.to_owned());
        f(JsonView::Built(buffer))
    }
}

impl<'a> Instance<'a, Messages> for JsonView<'a> {
    type Object = Self;
    type Array = Self;
    type Number = Self;

    #[inline]
    fn as_object(&self) -> Option<Self> {
        (self.kind() == Kind::Object).then_some(*self)
    }

    #[inline]
    fn as_array(&self) -> Option<Self> {
        (self.kind() == Kind::Array).then_some(*self)
    }

    #[inline]
    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.text()
    }

    #[inline]
    fn as_number(&self) -> Option<Self> {
        (self.kind() == Kind::Number).then_some(*self)
    }

    #[inline]
    fn as_boolean(&self) -> Option<bool> {
        self.boolean()
    }

    #[inline]
    fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    #[inline]
    fn is_number(&self) -> bool {
        self.kind() == Kind::Number
    }

    #[inline]
    fn json_type(&self) -> JsonType {
        match self.kind() {
            Kind::Null => JsonType::Null,
            Kind::Boolean => JsonType::Boolean,
            Kind::Integer | Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    #[inline]
    fn equals_value(&self, expected: &Value) -> bool {
        self.same(expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Self::to_value(*self)
    }

    #[inline]
    fn identity(&self) -> Option<NodeIdentity> {
        Some(match *self {
            Self::Scanned(node) => {
                let (address, tag) = node.identity();
                NodeIdentity::tagged(address, tag)
            }
            Self::Built(value) => NodeIdentity::new(std::ptr::from_ref(value).addr()),
        })
    }
}

impl<'a> Object<'a, Messages> for JsonView<'a> {
    type Node = Self;
    type MemberName = Cow<'a, str>;
    type MembersIter = Members<'a>;

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Scanned(node) => node.members().count(),
            Self::Built(value) => value.as_object().map_or(0, serde_json::Map::len),
        }
    }

    #[inline]
    fn get(&self, key: &Name) -> Option<Self> {
        self.member(key)
    }

    #[inline]
    fn members(&self) -> Members<'a> {
        Self::members(*self)
    }
}

impl<'a> Array<'a, Messages> for JsonView<'a> {
    type Node = Self;
    type ElementsIter = Items<'a>;

    #[inline]
    fn len(&self) -> usize {
        self.items().count()
    }

    #[inline]
    fn elements(&self) -> Items<'a> {
        self.items()
    }
}

impl JsonNumber for JsonView<'_> {
    fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Scanned(node) => node.raw().parse().ok(),
            Self::Built(value) => value.as_u64(),
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Scanned(node) => node.integer(),
            Self::Built(value) => value.as_i64(),
        }
    }

    fn as_f64(&self) -> Option<f64> {
        self.float()
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self {
            Self::Scanned(node) => Cow::Borrowed(node.raw()),
            Self::Built(value) => Cow::Owned(value.to_string()),
        }
    }

    fn to_number(&self) -> Cow<'_, Number> {
        // The scanner has seen that it is a number that a double can hold.
        self.number().unwrap_or_else(|| Cow::Owned(0.into()))
    }

    #[inline]
    fn is_integer(&self) -> bool {
        Self::is_integer(*self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Scanner;

    const TEXT: &str = r#"{
        "text": "h\u00e9llo", "empty": "", "integer": 42, "whole": 1.0, "big": 18446744073709551615, "tiny": -1e-7,
        "yes": true, "nothing": null, "list": [1, {"a": [2.0]}, {"a": [2]}], "none": [], "a\tb": {"nested": "x"}
    }"#;

    /// Schemas that between them ask for everything a validator can ask of a value, each with the answer.
    fn questions() -> Vec<(Value, bool)> {
        let of = |name: &str, schema: Value| json!({"properties": {name: schema}, "required": [name]});
        vec![
            (of("text", json!({"const": "h\u{e9}llo", "minLength": 5, "maxLength": 5})), true),
            (of("text", json!({"pattern": "^h.llo$"})), true),
            (of("text", json!({"enum": ["hello", 1]})), false),
            (of("empty", json!({"minLength": 1})), false),
            (of("integer", json!({"type": "integer", "minimum": 42, "exclusiveMaximum": 43})), true),
            (of("integer", json!({"const": 42.0})), true),
            (of("integer", json!({"multipleOf": 5})), false),
            (of("whole", json!({"type": "integer", "const": 1})), true),
            (of("big", json!({"const": u64::MAX})), true),
            (of("tiny", json!({"type": "integer"})), false),
            (of("tiny", json!({"type": "number", "maximum": 0})), true),
            (of("yes", json!({"const": true, "type": ["boolean", "null"]})), true),
            (of("nothing", json!({"type": "null"})), true),
            (of("nothing", json!({"type": ["string", "object"]})), false),
            (of("list", json!({"minItems": 3, "maxItems": 3, "contains": {"type": "integer"}})), true),
            (of("list", json!({"uniqueItems": true})), false),
            (of("list", json!({"items": {"type": "object"}})), false),
            (of("list", json!({"prefixItems": [{"const": 1}, {"properties": {"a": {"const": [2]}}}]})), true),
            (of("none", json!({"const": []})), true),
            (
                of("a\tb", json!({"additionalProperties": false, "properties": {"nested": {"const": "x"}}})),
                true,
            ),
            (of("a\tb", json!({"const": {"nested": "x"}})), true),
            (of("a\tb", json!({"const": {"nested": "x", "more": 1}})), false),
            (json!({"minProperties": 11, "maxProperties": 11}), true),
            (json!({"propertyNames": {"maxLength": 7}}), true),
            (json!({"propertyNames": {"pattern": "^[a-z]+$"}}), false),
            (json!({"required": ["missing"]}), false),
            (json!({"dependentRequired": {"text": ["empty", "integer"]}}), true),
            (
                json!({"properties": {"text": true}, "unevaluatedProperties": {"not": {"type": "string"}}}),
                false,
            ),
        ]
    }

    #[test]
    fn a_message_is_valid_in_its_text_exactly_when_it_is_in_memory() {
        let mut scanner = Scanner::default();
        let document = scanner.scan(TEXT).unwrap();
        assert_eq!(document.odd_count(), 0);
        let built = serde_json::from_str::<Value>(TEXT).unwrap();
        assert_eq!(document.root().to_value(), built);
        for (schema, answer) in questions() {
            let validator = jsonschema::options_for::<Messages>().build(&schema).unwrap();
            assert_eq!(
                validator.is_valid(JsonView::Scanned(document.root())),
                answer,
                "in its text: {schema}"
            );
            assert_eq!(validator.is_valid(JsonView::Built(&built)), answer, "in memory: {schema}");
            let complaint = |view| validator.iter_errors(view).next().map(|error| error.to_string());
            let (scanned, memory) =
                (complaint(JsonView::Scanned(document.root())), complaint((&built).into()));
            assert_eq!(scanned.is_none(), answer);
            assert_eq!(scanned, memory, "{schema}");
        }
    }
}
