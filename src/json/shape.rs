//! The shape that samples have in common: the types of the values at one place, their members and elements, and the
//! words among them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Kind;
use crate::text::clip;

/// A place with more words than this holds no enumeration.
const MOST_WORDS: usize = 64;
/// A word is no longer than this.
const LONGEST_WORD: usize = 64;
/// The name of members that are not told apart.
const REST: &str = "…";
/// Of a list so many elements are enough to tell what it is, and of a value so many values in all.
const ELEMENTS: usize = 32;
const VALUES: usize = 4096;
/// Of a value so much is shown as evidence.
const SHOWN: usize = 300;

/// Some of the types of JSON, as bits. Whether a number has a fraction makes no difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NULL: Self = Self(1 << Kind::Null as u8);
    pub(crate) const ALL: Self = Self(0b111_1111 & !(1 << Kind::Integer as u8));

    pub(crate) fn of(value: &Value) -> Self {
        match value {
            // What stands for a number is one.
            Value::String(text) if matches!(text.as_str(), "<ms>" | "<number>") => Kind::Number.into(),
            value => Kind::from(value).into(),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn names(self, separator: &str) -> String {
        let kinds = Kind::ALL.into_iter().filter(|kind| self.has(*kind));
        kinds.map(Kind::name).collect::<Vec<_>>().join(separator)
    }

    pub(crate) fn has(self, kind: Kind) -> bool {
        self.0 & Self::from(kind).0 != 0
    }

    /// Reads one of the names.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Kind::from_name(name).filter(|kind| Self::ALL.has(*kind)).map(Self::from)
    }
}

impl From<Kind> for Types {
    fn from(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }
}

/// The values at one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    /// How many values there are.
    pub(crate) count: usize,
    /// How many of them are objects.
    pub(crate) objects: usize,
    pub(crate) types: Types,
    /// Words, booleans and numbers as they are written; `None` when there are too many, or texts among them.
    pub(crate) scalars: Scalars,
    pub(crate) fields: BTreeMap<String, Shape>,
    /// Elements of lists, by the `type` that they name.
    pub(crate) items: BTreeMap<String, Shape>,
    /// One of the values, cut, and its line.
    pub(crate) example: Value,
    pub(crate) line: usize,
}

/// The scalar values at one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Scalars {
    pub(crate) booleans: BTreeSet<bool>,
    pub(crate) words: BTreeSet<String>,
    pub(crate) numbers: BTreeSet<String>,
    /// Texts, of which the first is kept.
    pub(crate) text: Option<String>,
    /// Whether some were left out.
    pub(crate) overflow: bool,
    /// Whether a number has a fraction.
    pub(crate) fraction: bool,
    /// How many strings there are, and whether placeholders are among them.
    pub(crate) strings: usize,
    pub(crate) placeholder: bool,
}

impl Shape {
    /// Adds a value that was seen on this line.
    pub(crate) fn add(&mut self, value: &Value, line: usize) {
        let mut room = usize::MAX;
        self.add_within(value, line, &mut room);
    }

    /// As [`add`](Self::add), with room for so many places more. Where there is none, members with new names are told as if
    /// all had the name [`REST`], and elements of new types as if they named none.
    pub(crate) fn add_within(&mut self, value: &Value, line: usize, room: &mut usize) {
        if self.count == 0 || (self.example.is_null() && !value.is_null()) {
            self.example = shortened(value);
            self.line = line;
        }
        self.count += 1;
        self.types.add(Types::of(value));
        match value {
            Value::Object(fields) => {
                self.objects += 1;
                for (key, value) in fields {
                    match self.fields.get_mut(key) {
                        Some(shape) => shape.add_within(value, line, room),
                        None => new_place(&mut self.fields, key, REST, room).add_within(value, line, room),
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    let kind = item.get("type").and_then(Value::as_str).filter(|kind| is_word(kind));
                    let kind = kind.unwrap_or_default();
                    match self.items.get_mut(kind) {
                        Some(shape) => shape.add_within(item, line, room),
                        None => new_place(&mut self.items, kind, "", room).add_within(item, line, room),
                    }
                }
            }
            scalar => self.scalars.add(scalar),
        }
    }

    /// Names of its members that are the data's own, such as a model's or a path, rather than the program's.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.fields.keys().filter(|key| is_data(key))
    }

    /// Whether all of its members are objects, as the entries of a map are.
    pub(crate) fn holds_objects(&self) -> bool {
        self.fields.values().all(|shape| shape.objects == shape.count)
    }

    /// The members that `is_entry` names, as if they were one.
    pub(crate) fn entries(&self, is_entry: impl Fn(&str) -> bool) -> Shape {
        let mut all = Shape::default();
        for (_, shape) in self.fields.iter().filter(|(key, _)| is_entry(key)) {
            all.merge(shape);
        }
        all
    }

    /// The elements of lists, whatever type they name, as if they were one.
    pub(crate) fn elements(&self) -> Shape {
        let mut all = Shape::default();
        self.items.values().for_each(|shape| all.merge(shape));
        all
    }

    fn merge(&mut self, other: &Shape) {
        if self.count == 0 || self.example.is_null() {
            (self.example, self.line) = (other.example.clone(), other.line);
        }
        self.count += other.count;
        self.objects += other.objects;
        self.types.add(other.types);
        self.scalars.merge(&other.scalars);
        for (key, shape) in &other.fields {
            self.fields.entry(key.clone()).or_default().merge(shape);
        }
        for (key, shape) in &other.items {
            self.items.entry(key.clone()).or_default().merge(shape);
        }
    }
}

/// The shape for a name that is new, or the one for all names that there is no room for.
fn new_place<'s>(
    shapes: &'s mut BTreeMap<String, Shape>,
    name: &str,
    rest: &str,
    room: &mut usize,
) -> &'s mut Shape {
    let name = if *room > 0 { name } else { rest };
    *room = room.saturating_sub(1);
    shapes.entry(name.to_owned()).or_default()
}

impl Scalars {
    fn add(&mut self, scalar: &Value) {
        self.strings += usize::from(scalar.is_string());
        match scalar {
            Value::Bool(value) => _ = self.booleans.insert(*value),
            Value::Number(number) => {
                self.fraction |= number.is_f64();
                self.note(number.to_string(), |words| &mut words.numbers);
            }
            Value::String(text) if is_word(text) => self.note(text.clone(), |words| &mut words.words),
            Value::String(text) if !text.starts_with('<') || !text.ends_with('>') || text.contains(' ') => {
                self.text.get_or_insert_with(|| text.chars().take(SHOWN).collect());
            }
            Value::String(_) => self.placeholder = true,
            _ => {}
        }
    }

    fn note(&mut self, word: String, set: impl Fn(&mut Self) -> &mut BTreeSet<String>) {
        if set(self).len() < MOST_WORDS {
            set(self).insert(word);
        } else if !set(self).contains(&word) {
            self.overflow = true;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.booleans.extend(&other.booleans);
        other.words.iter().for_each(|word| self.note(word.clone(), |words| &mut words.words));
        other.numbers.iter().for_each(|word| self.note(word.clone(), |words| &mut words.numbers));
        if self.text.is_none() {
            self.text.clone_from(&other.text);
        }
        self.overflow |= other.overflow;
        self.fraction |= other.fraction;
        self.strings += other.strings;
        self.placeholder |= other.placeholder;
    }
}

/// Whether a key names data: `claude-opus-4-8[1m]`, `/etc/passwd`, `<uuid:1>`; and not `cache-hits` or `maxTokens`.
pub(crate) fn is_data(key: &str) -> bool {
    let is_odd = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '$' | '-');
    key.chars().any(is_odd) || (key.contains('-') && key.contains(|c: char| c.is_ascii_digit()))
}

/// A word of a program rather than a text of a person's: one token, and no placeholder.
fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST_WORD
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./:@+[]".contains(&byte))
}

/// A value small enough for a report.
pub(crate) fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => clip(text, SHOWN).into(),
        Value::Array(_) | Value::Object(_) => {
            let mut room = SHOWN;
            shrink(value, &mut room)
        }
        other => other.clone(),
    }
}

/// As much of a value as tells of which kind it is: all but the later elements of long lists, and what follows very many
/// values.
pub(crate) fn sample(value: &Value) -> Value {
    fn some(value: &Value, room: &mut usize) -> Value {
        *room = room.saturating_sub(1);
        match value {
            Value::Object(fields) => {
                let kept = fields
                    .iter()
                    .map_while(|(key, value)| (*room > 0).then(|| (key.clone(), some(value, room))));
                Value::Object(kept.collect())
            }
            Value::Array(items) => {
                let kept =
                    items.iter().take(ELEMENTS).map_while(|item| (*room > 0).then(|| some(item, room)));
                Value::Array(kept.collect())
            }
            scalar => scalar.clone(),
        }
    }
    let mut room = VALUES;
    some(value, &mut room)
}

/// As much of a value as there is room for.
fn shrink(value: &Value, room: &mut usize) -> Value {
    *room = room.saturating_sub(8);
    match value {
        Value::Object(fields) => {
            let mut out = serde_json::Map::new();
            for (key, value) in fields {
                if *room == 0 {
                    out.insert("…".into(), Value::Null);
                    break;
                }
                *room = room.saturating_sub(key.len());
                out.insert(key.clone(), shrink(value, room));
            }
            Value::Object(out)
        }
        Value::Array(items) => {
            let mut out = Vec::new();
            for item in items {
                if *room == 0 {
                    out.push("…".into());
                    break;
                }
                out.push(shrink(item, room));
            }
            Value::Array(out)
        }
        Value::String(text) => {
            let shown = clip(text, (*room).min(80));
            *room = room.saturating_sub(shown.trim_end_matches('…').len());
            shown.into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_set_of_types_tells_no_integer_from_a_number() {
        assert_eq!(Types::ALL.names(", "), "null, boolean, number, string, array, object");
        assert_eq!((Types::parse("integer"), Types::parse("number")), (None, Some(Kind::Number.into())));
        assert_eq!(Types::of(&1.into()), Types::of(&1.5.into()));
    }

    #[test]
    fn a_shape_tells_always_from_sometimes_and_maps_from_objects() {
        let mut shape = Shape::default();
        shape.add(&json!({"a": 1, "b": {"claude-x-1": {"n": 1}}, "c": [{"type": "text"}, "x"]}), 1);
        shape.add(&json!({"a": "<ms>", "c": []}), 2);
        assert_eq!((shape.objects, shape.fields["a"].count, shape.fields["b"].count), (2, 2, 1));
        assert_eq!(shape.fields["a"].types.names(" or "), "number");
        assert_eq!((shape.fields["b"].keys().count(), shape.keys().count()), (1, 0));
        assert_eq!(shape.fields["b"].entries(is_data).fields["n"].count, 1);
        assert!(is_data("/etc/passwd") && is_data("gpt-4o") && !is_data("cache-hits") && !is_data("$ref"));
        assert_eq!(shape.fields["c"].items.keys().collect::<Vec<_>>(), ["", "text"]);
    }

    #[test]
    fn places_beyond_the_room_are_told_as_one() {
        let (mut shape, mut room) = (Shape::default(), 3);
        for name in ["a", "b", "c", "d", "e", "a"] {
            shape.add_within(&json!({ name: 1 }), 1, &mut room);
        }
        let counts: Vec<_> = shape.fields.iter().map(|(name, shape)| (name.as_str(), shape.count)).collect();
        assert_eq!(counts, [("a", 2), ("b", 1), ("c", 1), (REST, 2)]);
        let long = json!({"type": "x", "list": (0..1000).collect::<Vec<_>>()});
        assert_eq!(sample(&long)["list"].as_array().unwrap().len(), ELEMENTS);
        assert_eq!(sample(&long)["type"], "x");
    }

    #[test]
    fn evidence_is_bounded() {
        let large: Value = (0..1000).map(|n| json!({"number": n, "text": "x".repeat(500)})).collect();
        assert!(shortened(&large).to_string().len() < 1000);
        assert!(shortened(&json!("é".repeat(5000))).to_string().len() < 1000);
    }
}
