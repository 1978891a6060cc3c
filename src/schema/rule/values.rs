//! Values picked out of what a run printed, or out of what was recorded of it, each under the key of what it belongs to.
//!
//! ```toml
//! { on = "assistant", each = "/message/content", where = { "/type" = "text" }, at = "/text", key = "/message/id" }
//! { from = "served", on = { "/status" = 200 }, each = "/content", where = { "/type" = "text" }, at = "/text", key = "/id" }
//! ```

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use super::super::condition::{Condition, Scope, pointer};
use super::select::{Elements, Selector};
use super::{Fact, Facts, FileError, Item, JsonView, Message, Names, Pointer, Table, excerpt};
use crate::json::Kind;
use crate::text::did_you_mean;

/// Values that are followed in one run, and the bytes of their texts; what is beyond is said, and fails.
const MOST: usize = 1 << 17;
const MOST_BYTES: usize = 64 << 20;

/// Which values: those of each part, one part after the other.
#[derive(Debug)]
pub(super) struct Values {
    parts: Vec<Part>,
    /// Whether whole texts are kept, because they are searched or joined.
    keeps_text: bool,
}

#[derive(Debug)]
struct Part {
    origin: Origin,
    elements: Elements,
    at: Vec<At>,
    key: Option<Key>,
    /// Texts with the same key and the same value here are one text.
    join: Option<Pointer>,
    /// White space around a text means nothing.
    trim: bool,
    /// A text is read as the JSON that it holds.
    parse: bool,
    /// Each value counts as one.
    count: bool,
}

/// Where values come from.
#[derive(Debug)]
enum Origin {
    Printed(Selector),
    Recorded(Fact, Condition),
}

#[derive(Debug)]
enum At {
    Value(Pointer),
    /// The name of the member that the element is.
    Name,
}

/// What a value belongs to.
#[derive(Debug)]
enum Key {
    Here(Pointer),
    /// What an earlier message named: the latest one with the same value at `per`.
    Latest {
        on: Selector,
        at: Pointer,
        per: Option<Pointer>,
    },
}

/// One value.
#[derive(Debug)]
pub(super) struct Picked {
    part: usize,
    pub(super) key: Option<u64>,
    pub(super) hash: u64,
    /// The value, shortened unless texts are kept.
    pub(super) value: Value,
    /// What it adds to a total; none when it is no number.
    pub(super) amount: Option<f64>,
    pub(super) place: Place,
}

/// Where a value stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) line: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) pointer: Option<String>,
}

impl Values {
    /// Reads one part, or a list of them.
    pub(super) fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let nodes = if node.is_list() { node.list()? } else { vec![node.clone()] };
        let parts = nodes.iter().map(|node| Part::load(node, names)).collect::<Result<Vec<_>, _>>()?;
        if parts.is_empty() {
            return Err(node.complain("names no values"));
        }
        Ok(Self { parts, keeps_text: false })
    }

    /// Keeps whole texts, for a rule that searches them.
    pub(super) fn keeping_text(self) -> Self {
        Self { keeps_text: true, ..self }
    }

    pub(super) fn may_take(&self, kind: Option<usize>) -> bool {
        self.parts.iter().any(|part| {
            let from = matches!(&part.origin, Origin::Printed(on) if on.may_take(kind));
            from || matches!(&part.key, Some(Key::Latest { on, .. }) if on.may_take(kind))
        })
    }

    /// Whether a recording is needed to know them.
    pub(super) fn is_recorded(&self) -> bool {
        self.parts.iter().any(|part| matches!(&part.origin, Origin::Recorded(fact, _) if fact.is_recorded()))
    }

    /// The values in a sentence: what is true of them, and what is true of a value that is none of them.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        match self.parts.first().map(|part| &part.origin) {
            Some(Origin::Recorded(Fact::Served, _)) => ("was served", "was not served"),
            Some(Origin::Recorded(Fact::Requests, _)) => ("was sent to the API", "is in no request"),
            Some(Origin::Recorded(Fact::Prompt, _)) => ("is the prompt", "is not the prompt"),
            Some(Origin::Recorded(Fact::Stdin, _)) => ("stood on standard input", "is not on standard input"),
            Some(Origin::Recorded(Fact::Flags, _)) => ("is what a flag says", "is not what a flag says"),
            Some(Origin::Recorded(..)) => ("was recorded", "was not recorded"),
            _ => ("is printed", "is not printed"),
        }
    }
}

impl Part {
    fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let fields = node.table()?;
        let origin = match fields.get("from") {
            None => Origin::Printed(Selector::load(&fields, "on", names)?),
            Some(from) => {
                let name = from.str()?;
                let fact = Fact::from_name(name).ok_or_else(|| {
                    from.complain(format_args!("no fact `{name}`{}", did_you_mean(name, &Fact::names())))
                })?;
                let on = fields.get("on");
                let on = on.map_or(Ok(Condition::always()), |node| Condition::load(&node, Scope::Message))?;
                Origin::Recorded(fact, on)
            }
        };
        let at = |node: &Item<'_>| match node.str()? {
            "name" => Ok(At::Name),
            _ => pointer(node).map(At::Value),
        };
        let place = fields.need("at")?;
        let switch = |key| fields.get(key).map_or(Ok(false), |node| node.bool());
        let part = Self {
            elements: Elements::load(&fields)?,
            at: if place.is_list() {
                place.list()?.iter().map(at).collect::<Result<_, _>>()?
            } else {
                vec![at(&place)?]
            },
            key: fields.get("key").map(|node| Key::load(&node, names)).transpose()?,
            join: fields.get("join").as_ref().map(pointer).transpose()?,
            trim: switch("trim")?,
            parse: switch("parse")?,
            count: switch("count")?,
            origin,
        };
        // Which of them a rule looks at is its own business.
        _ = fields.get("pick");
        fields.finish()?;
        Ok(part)
    }

    /// The value at an element, if it has one.
    fn value<'v>(&self, element: JsonView<'v>, name: Option<&str>) -> Option<Value> {
        let one = |at: &At| match at {
            At::Name => name.map(Value::from),
            At::Value(pointer) => pointer.get(element).map(|value| value.to_value().into_owned()),
        };
        if let [at] = self.at.as_slice() {
            return one(at);
        }
        let all: Vec<_> = self.at.iter().map(|at| one(at).unwrap_or_default()).collect();
        all.iter().any(|value| !value.is_null()).then_some(Value::Array(all))
    }
}

impl Key {
    fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        if !node.is_table() {
            return pointer(node).map(Self::Here);
        }
        let fields: Table<'_> = node.table()?;
        let on = Selector::need(&fields, "on", names)?;
        let at = pointer(&fields.need("at")?)?;
        let per = fields.get("per").as_ref().map(pointer).transpose()?;
        fields.finish()?;
        Ok(Self::Latest { on, at, per })
    }
}

/// Collects the values of one run.
pub(super) struct Collector<'v> {
    values: &'v Values,
    picked: Vec<Picked>,
    /// For each part the keys that messages named, by what `per` says.
    named: Vec<HashMap<u64, u64>>,
    /// Texts that are still joined, by part, key and place.
    joined: HashMap<(usize, u64, u64), usize>,
    bytes: usize,
    /// Values that were too many to be followed.
    pub(super) lost: u64,
}

impl<'v> Collector<'v> {
    pub(super) fn new(values: &'v Values) -> Self {
        let named = values.parts.iter().map(|_| HashMap::new()).collect();
        Self { values, picked: Vec::new(), named, joined: HashMap::new(), bytes: 0, lost: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.picked.is_empty()
    }

    /// Sees the next message.
    pub(super) fn message(&mut self, message: &Message<'_>) {
        let values = self.values;
        for (number, part) in values.parts.iter().enumerate() {
            if let Some(Key::Latest { on, at, per }) = &part.key
                && on.takes(message)
                && let Some(key) = at.get(message.value)
            {
                self.named[number].insert(hash_at(per.as_ref(), message.value), hash(key));
            }
            let Origin::Printed(on) = &part.origin else { continue };
            if !on.takes(message) {
                continue;
            }
            let key = match &part.key {
                None => None,
                Some(Key::Here(at)) => Some(hash_at(Some(at), message.value)),
                Some(Key::Latest { per, .. }) => {
                    let per = hash_at(per.as_ref(), message.value);
                    Some(self.named[number].get(&per).copied().unwrap_or_default())
                }
            };
            part.elements.visit(message.value, &mut |element, name, path| {
                let Some(value) = part.value(element, name) else { return };
                let place = Place {
                    line: Some(message.line),
                    offset: Some(message.offset),
                    pointer: Some(match part.at.as_slice() {
                        [At::Value(at)] => path() + at.text(),
                        _ => path(),
                    }),
                };
                let joined = part.join.as_ref().map(|at| hash_at(Some(at), message.value));
                self.add(number, part, key, value, place, joined);
            });
        }
    }

    /// All values, with those that were recorded; none when a fact that they come from is not known.
    pub(super) fn finish(mut self, facts: &Facts) -> Option<(Vec<Picked>, u64)> {
        let values = self.values;
        for (number, part) in values.parts.iter().enumerate() {
            let Origin::Recorded(fact, on) = &part.origin else { continue };
            let recorded = JsonView::Built(facts.get(*fact)?);
            let mut entry = |entry: JsonView<'_>| {
                if !on.holds(entry) {
                    return;
                }
                let key = match &part.key {
                    Some(Key::Here(at)) => Some(hash_at(Some(at), entry)),
                    _ => None,
                };
                part.elements.visit(entry, &mut |element, name, _| {
                    if let Some(value) = part.value(element, name) {
                        self.add(number, part, key, value, Place::default(), None);
                    }
                });
            };
            if recorded.kind() == Kind::Array {
                recorded.items().for_each(&mut entry);
            } else {
                entry(recorded);
            }
        }
        for picked in &mut self.picked {
            let part = &values.parts[picked.part];
            if let Value::String(text) = &picked.value {
                if part.parse
                    && let Ok(value) = serde_json::from_str(text)
                {
                    picked.value = value;
                } else if part.trim {
                    picked.value = text.trim().into();
                }
            }
            picked.hash = hash((&picked.value).into());
            if !values.keeps_text {
                picked.value = excerpt(&picked.value);
            }
        }
        Some((self.picked, self.lost))
    }

    fn add(
        &mut self,
        number: usize,
        part: &Part,
        key: Option<u64>,
        value: Value,
        place: Place,
        joined: Option<u64>,
    ) {
        self.bytes += value.as_str().map_or(64, str::len);
        if self.picked.len() >= MOST || self.bytes > MOST_BYTES {
            self.lost += 1;
            return;
        }
        if let (Some(joined), Value::String(text)) = (joined, &value) {
            let next = self.picked.len();
            let index = *self.joined.entry((number, key.unwrap_or_default(), joined)).or_insert(next);
            if let Some(Picked { value: Value::String(earlier), .. }) = self.picked.get_mut(index) {
                earlier.push_str(text);
                return;
            }
        }
        let amount = if part.count { Some(1.0) } else { number_of(&value) };
        self.picked.push(Picked { part: number, key, hash: 0, value, amount, place });
    }
}

/// A number, also one that a flag or a header spells out.
pub(super) fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn hash_at(pointer: Option<&Pointer>, value: JsonView<'_>) -> u64 {
    pointer.and_then(|pointer| pointer.get(value)).map_or(0, hash)
}

/// The same for equal values: the order of members does not matter, nor how a number is written.
pub(super) fn hash(value: JsonView<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let kind = value.kind();
    (kind as u8).hash(&mut hasher);
    match kind {
        Kind::String => value.text().unwrap_or_default().hash(&mut hasher),
        Kind::Boolean => value.boolean().hash(&mut hasher),
        Kind::Array => value.items().for_each(|item| hash(item).hash(&mut hasher)),
        Kind::Object => {
            let members = value.members().map(|(name, member)| {
                let mut hasher = DefaultHasher::new();
                (name, hash(member)).hash(&mut hasher);
                hasher.finish()
            });
            members.fold(0u64, u64::wrapping_add).hash(&mut hasher);
        }
        Kind::Null => {}
        _ => (value.float().unwrap_or_default() + 0.0).to_bits().hash(&mut hasher),
    }
    hasher.finish()
}
