//! A JSON value as rules look at it: straight in the text of a message, or built in memory.
//!
//! Building a value for every line would cost more than all that a contract asks of it. So a message is judged where
//! it stands, unless the scanner found something odd in it: then it is built first, and every rule sees the same
//! repaired value.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::{Kind, Name, Node};

#[derive(Debug, Clone, Copy)]
pub(crate) enum JsonView<'v> {
    /// A value in the text of a message that has nothing odd.
    Scanned(Node<'v>),
    /// A value in memory.
    Built(&'v Value),
}

impl<'v> From<&'v Value> for JsonView<'v> {
    fn from(value: &'v Value) -> Self {
        Self::Built(value)
    }
}

impl<'v> JsonView<'v> {
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Scanned(node) => node.kind(),
            Self::Built(value) => value.into(),
        }
    }

    /// Whether this is of a type, also of [`Kind::Integer`].
    pub(crate) fn is(self, kind: Kind) -> bool {
        if kind == Kind::Integer { self.is_integer() } else { self.kind() == kind }
    }

    pub(crate) fn is_container(self) -> bool {
        matches!(self.kind(), Kind::Array | Kind::Object)
    }

    /// The member with this name, if this is an object.
    #[inline]
    pub(crate) fn member(self, name: &Name) -> Option<Self> {
        match self {
            Self::Scanned(node) => node.find(name).map(Self::Scanned),
            Self::Built(value) => value.as_object()?.get(name.as_str()).map(Self::Built),
        }
    }

    /// The member with this name, which is asked for once.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        match self {
            Self::Scanned(node) => node.get(key).map(Self::Scanned),
            Self::Built(value) => value.as_object()?.get(key).map(Self::Built),
        }
    }

    /// The text of a string.
    #[inline]
    pub(crate) fn text(self) -> Option<Cow<'v, str>> {
        match self {
            Self::Scanned(node) => node.text(),
            Self::Built(value) => value.as_str().map(Cow::Borrowed),
        }
    }

    /// Whether this is a string that equals `expected`.
    #[inline]
    pub(crate) fn is_text(self, expected: &str) -> bool {
        match self {
            Self::Scanned(node) => node.is_text(expected),
            Self::Built(value) => value.as_str() == Some(expected),
        }
    }

    /// Whether this is a string without any characters.
    pub(crate) fn is_empty_text(self) -> bool {
        match self {
            Self::Scanned(node) => node.is_text(""),
            Self::Built(value) => value.as_str().is_some_and(str::is_empty),
        }
    }

    #[inline]
    pub(crate) fn boolean(self) -> Option<bool> {
        match self {
            Self::Scanned(node) => node.boolean(),
            Self::Built(value) => value.as_bool(),
        }
    }

    pub(crate) fn number(self) -> Option<Cow<'v, Number>> {
        match self {
            Self::Scanned(node) if node.kind() == Kind::Number => {
                serde_json::from_str(node.raw()).ok().map(Cow::Owned)
            }
            Self::Scanned(_) => None,
            Self::Built(value) => value.as_number().map(Cow::Borrowed),
        }
    }

    pub(crate) fn float(self) -> Option<f64> {
        match self {
            Self::Scanned(node) => node.float(),
            Self::Built(value) => value.as_f64(),
        }
    }

    /// What a test says of this value, which looks at nothing else.
    #[inline]
    pub(crate) fn tested<T: Clone + 'static>(self, with: &T, test: fn(&T, JsonView<'_>) -> bool) -> bool {
        match self {
            Self::Scanned(node) => node.tested(with, test),
            Self::Built(_) => test(with, self),
        }
    }

    /// Whether this is a number without a fraction, however it is written.
    pub(crate) fn is_integer(self) -> bool {
        self.tested(&(), |(), value| value.has_no_fraction())
    }

    fn has_no_fraction(self) -> bool {
        match self {
            Self::Scanned(node)
                if node.kind() == Kind::Number
                    && !node.raw().bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) =>
            {
                true
            }
            _ => self.float().is_some_and(|number| number.fract() == 0.0),
        }
    }

    /// Whether this is a number that is not below zero.
    #[inline]
    pub(crate) fn is_not_negative(self) -> bool {
        self.tested(&(), |(), value| value.has_no_sign())
    }

    fn has_no_sign(self) -> bool {
        match self {
            // Only a number that a double can hold is judged in its text; one below zero has its sign.
            Self::Scanned(node) if !node.raw().starts_with('-') => true,
            _ => self.float().is_some_and(|number| number >= 0.0),
        }
    }

    /// The elements, if this is an array; otherwise nothing.
    #[inline]
    pub(crate) fn items(self) -> Items<'v> {
        match self {
            Self::Scanned(node) => Items::Scanned(node.items()),
            Self::Built(value) => Items::Built(value.as_array().map_or(&[][..], Vec::as_slice).iter()),
        }
    }

    /// The members, if this is an object; otherwise nothing.
    #[inline]
    pub(crate) fn members(self) -> Members<'v> {
        match self {
            Self::Scanned(node) => Members::Scanned(node.members()),
            Self::Built(value) => Members::Built(value.as_object().map(serde_json::Map::iter)),
        }
    }

    /// How many elements, members or characters this has.
    pub(crate) fn size(self) -> Option<usize> {
        match self.kind() {
            Kind::Array => Some(self.items().count()),
            Kind::Object => Some(self.members().count()),
            Kind::String => self.text().map(|text| text.chars().count()),
            _ => None,
        }
    }

    /// Whether this equals `value`; `1` and `1.0` are equal.
    #[inline]
    pub(crate) fn same(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Scanned(node), Value::String(text)) => node.is_text(text),
            (_, Value::String(text)) => self.text().is_some_and(|own| own == *text),
            (_, Value::Null) => self.kind() == Kind::Null,
            (_, Value::Bool(wanted)) => self.boolean() == Some(*wanted),
            (_, Value::Number(wanted)) => self.tested(wanted, |wanted, value| {
                value.number().is_some_and(|own| equal_numbers(&own, wanted))
            }),
            (_, Value::Array(wanted)) => {
                self.kind() == Kind::Array
                    && self.items().count() == wanted.len()
                    && self.items().zip(wanted).all(|(own, wanted)| own.same(wanted))
            }
            (_, Value::Object(wanted)) => {
                self.kind() == Kind::Object
                    && self.members().count() == wanted.len()
                    && self.members().all(|(key, own)| wanted.get(&*key).is_some_and(|value| own.same(value)))
            }
        }
    }

    /// Whether this equals another.
    pub(crate) fn equals(self, other: JsonView<'_>) -> bool {
        match (self, other) {
            (own, JsonView::Built(value)) => own.same(value),
            (Self::Built(value), other) => other.same(value),
            (own, other) => own.same(&other.to_value()),
        }
    }

    pub(crate) fn to_value(self) -> Cow<'v, Value> {
        match self {
            Self::Scanned(node) => Cow::Owned(node.to_value()),
            Self::Built(value) => Cow::Borrowed(value),
        }
    }
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    a == b || a.as_f64() == b.as_f64()
}

/// The elements of an array.
#[derive(Debug, Clone)]
pub(crate) enum Items<'v> {
    Scanned(super::Items<'v>),
    Built(std::slice::Iter<'v, Value>),
}

impl<'v> Iterator for Items<'v> {
    type Item = JsonView<'v>;

    #[inline]
    fn next(&mut self) -> Option<JsonView<'v>> {
        match self {
            Self::Scanned(items) => items.next().map(JsonView::Scanned),
            Self::Built(items) => items.next().map(JsonView::Built),
        }
    }
}

/// The members of an object, with their names.
#[derive(Debug, Clone)]
pub(crate) enum Members<'v> {
    Scanned(super::Members<'v>),
    Built(Option<serde_json::map::Iter<'v>>),
}

impl<'v> Iterator for Members<'v> {
    type Item = (Cow<'v, str>, JsonView<'v>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Scanned(members) => {
                members.next().map(|(key, value)| (key.text().unwrap_or_default(), JsonView::Scanned(value)))
            }
            Self::Built(members) => members
                .as_mut()?
                .next()
                .map(|(key, value)| (Cow::Borrowed(key.as_str()), JsonView::Built(value))),
        }
    }
}
