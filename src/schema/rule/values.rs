//! Values picked out of what a run printed, or out of what was recorded of it, each under the key of what it belongs to.
//!
//! ```toml
//! { on = "assistant", each = "/message/content", where = { "/type" = "text" }, at = "/text", key = "/message/id" }
//! { from = "served", on = { "/status" = 200 }, each = "/content", where = { "/type" = "text" }, at = "/text", key = "/id" }
//! ```

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use regex::Regex;
use serde_json::Value;

use super::super::condition::{Condition, Scope, pointer, regex};
use super::select::{Elements, Selector};
use super::{Fact, Facts, FileError, Item, JsonView, Message, Names, Pointer, Table, choice, excerpt};
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
    split: Option<Split>,
    /// What is left out of a text before it is compared.
    without: Option<Regex>,
    /// Of a text only what follows its first word.
    rest: bool,
    /// Nobody knows what belongs to this key, so that anything may.
    open: bool,
    pick: Which,
}

/// How a text is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Split {
    /// Into words, with commas or spaces between them.
    Words,
    /// Into lines, without the space around them.
    Lines,
}

/// Which of the messages or entries that are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Every,
    First,
    Last,
    ButLast,
}

/// Where values come from.
#[derive(Debug)]
enum Origin {
    Printed(Selector),
    Recorded(Fact, Condition),
    /// The contract itself says them.
    Literal(Value),
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
    /// A place in the element, not in the message or entry around it.
    Element(Pointer),
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
    /// Which message or entry of its part it comes from.
    entry: u64,
    /// The place of that entry in the list that was recorded.
    pub(super) index: usize,
    pub(super) key: Option<u64>,
    pub(super) hash: u64,
    /// The value, shortened unless texts are kept.
    pub(super) value: Value,
    /// What it adds to a total; none when it is no number.
    pub(super) amount: Option<f64>,
    /// It stands for any value.
    pub(super) is_open: bool,
    pub(super) place: Place,
}

/// All values of one run.
pub(super) struct Collected {
    pub(super) values: Vec<Picked>,
    /// Values that were too many to be followed.
    pub(super) lost: u64,
    /// The places in recorded lists of the entries that values were looked for in, whether there were any or not.
    pub(super) entries: BTreeSet<usize>,
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
            Some(Origin::Literal(_)) => ("is promised", "is not what is promised"),
            _ => ("is printed", "is not printed"),
        }
    }
}

impl Part {
    fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let fields = node.table()?;
        if let Some(literal) = fields.get("literal") {
            let part = Self::literal(literal.json()?);
            fields.finish()?;
            return Ok(part);
        }
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
            key: match fields.get("id") {
                Some(node) => Some(Key::Element(pointer(&node)?)),
                None => fields.get("key").map(|node| Key::load(&node, names)).transpose()?,
            },
            join: fields.get("join").as_ref().map(pointer).transpose()?,
            trim: switch("trim")?,
            parse: switch("parse")?,
            count: switch("count")?,
            split: fields.get("split").map(|node| choice(&node, &SPLITS)).transpose()?,
            without: fields.get("without").as_ref().map(regex).transpose()?,
            rest: switch("rest")?,
            open: switch("open")?,
            pick: fields.get("pick").map_or(Ok(Which::Every), |node| choice(&node, &WHICH))?,
            origin,
        };
        fields.finish()?;
        Ok(part)
    }

    fn literal(values: Value) -> Self {
        Self {
            origin: Origin::Literal(values),
            elements: Elements::all(),
            at: Vec::new(),
            key: None,
            join: None,
            trim: false,
            parse: false,
            count: false,
            split: None,
            without: None,
            rest: false,
            open: false,
            pick: Which::Every,
        }
    }

    /// The key that the element itself has.
    fn key_in(&self, element: JsonView<'_>) -> Option<u64> {
        match &self.key {
            Some(Key::Element(at)) => Some(hash_at(Some(at), element)),
            _ => None,
        }
    }

    /// Shows the values at an element, each with its place in it.
    fn visit(&self, element: JsonView<'_>, name: Option<&str>, show: &mut dyn FnMut(Value, String)) {
        let one = |at: &At| match at {
            At::Name => name.map(Value::from),
            At::Value(pointer) => pointer.get(element).map(|value| value.to_value().into_owned()),
        };
        match self.at.as_slice() {
            [At::Value(pointer)] => {
                pointer.visit(element, &mut |value, place| {
                    self.parts_of(value.to_value().into_owned(), &mut |value| show(value, place.render()));
                    true
                });
            }
            [At::Name] => {
                if let Some(name) = name {
                    show(name.into(), String::new());
                }
            }
            several => {
                let all: Vec<_> = several.iter().map(|at| one(at).unwrap_or_default()).collect();
                if all.iter().any(|value| !value.is_null()) {
                    show(Value::Array(all), String::new());
                }
            }
        }
    }

    /// The words of a text, or what follows its first one, if that is what is looked at.
    fn parts_of(&self, value: Value, show: &mut dyn FnMut(Value)) {
        match &value {
            Value::String(text) if self.split == Some(Split::Words) => {
                text.split([',', ' ']).filter(|word| !word.is_empty()).for_each(|word| show(word.into()));
            }
            Value::String(text) if self.split == Some(Split::Lines) => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                lines.for_each(|line| show(line.into()));
            }
            Value::String(text) if self.rest => {
                let rest = text.trim().split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim());
                if !rest.is_empty() {
                    show(rest.into());
                }
            }
            _ => show(value),
        }
    }
}

const SPLITS: [(&str, Split); 2] = [("words", Split::Words), ("lines", Split::Lines)];

const WHICH: [(&str, Which); 4] =
    [("every", Which::Every), ("first", Which::First), ("last", Which::Last), ("but-last", Which::ButLast)];

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
    /// How many messages and entries each part took.
    taken: Vec<u64>,
    /// The place of the recorded entry that is looked at, and of all that were.
    index: usize,
    entries: BTreeSet<usize>,
    /// Values that were too many to be followed.
    pub(super) lost: u64,
}

impl<'v> Collector<'v> {
    pub(super) fn new(values: &'v Values) -> Self {
        let named = values.parts.iter().map(|_| HashMap::new()).collect();
        let taken = vec![0; values.parts.len()];
        Self {
            values,
            picked: Vec::new(),
            named,
            joined: HashMap::new(),
            bytes: 0,
            taken,
            index: 0,
            entries: BTreeSet::new(),
            lost: 0,
        }
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
                None | Some(Key::Element(_)) => None,
                Some(Key::Here(at)) => Some(hash_at(Some(at), message.value)),
                Some(Key::Latest { per, .. }) => {
                    let per = hash_at(per.as_ref(), message.value);
                    Some(self.named[number].get(&per).copied().unwrap_or_default())
                }
            };
            self.taken[number] += 1;
            let joined = part.join.as_ref().map(|at| hash_at(Some(at), message.value));
            part.elements.visit(message.value, &mut |element, name, path| {
                let key = part.key_in(element).or(key);
                part.visit(element, name, &mut |value, at| {
                    let place = Place {
                        line: Some(message.line),
                        offset: Some(message.offset),
                        pointer: Some(path() + &at),
                    };
                    self.add(number, part, key, value, place, joined);
                });
            });
        }
    }

    /// All values, with those that were recorded; none when a fact that they come from is not known.
    pub(super) fn finish(mut self, facts: &Facts) -> Option<Collected> {
        let values = self.values;
        for (number, part) in values.parts.iter().enumerate() {
            let (fact, on) = match &part.origin {
                Origin::Printed(_) => continue,
                Origin::Recorded(fact, on) => (fact, on),
                Origin::Literal(values) => {
                    for value in values.as_array().into_iter().flatten() {
                        self.add(number, part, None, value.clone(), Place::default(), None);
                    }
                    continue;
                }
            };
            let recorded = JsonView::Built(facts.get(*fact)?);
            let mut entry = |index: usize, entry: JsonView<'_>| {
                if !on.holds(entry) {
                    return;
                }
                self.taken[number] += 1;
                self.index = index;
                self.entries.insert(index);
                let key = match &part.key {
                    Some(Key::Here(at)) => Some(hash_at(Some(at), entry)),
                    _ => None,
                };
                part.elements.visit(entry, &mut |element, name, _| {
                    let key = part.key_in(element).or(key);
                    part.visit(element, name, &mut |value, _| {
                        self.add(number, part, key, value, Place::default(), None);
                    });
                });
            };
            if recorded.kind() == Kind::Array {
                recorded.items().enumerate().for_each(|(index, item)| entry(index, item));
            } else {
                entry(0, recorded);
            }
        }
        let taken = &self.taken;
        self.picked.retain(|picked| match values.parts[picked.part].pick {
            Which::Every => true,
            Which::First => picked.entry == 1,
            Which::Last => picked.entry == taken[picked.part],
            Which::ButLast => picked.entry < taken[picked.part],
        });
        for picked in &mut self.picked {
            let part = &values.parts[picked.part];
            if let Value::String(text) = &picked.value {
                if part.parse
                    && let Ok(value) = serde_json::from_str(text)
                {
                    picked.value = value;
                } else if let Some(without) = &part.without {
                    let rest = without.replace_all(text, "");
                    picked.value = if part.trim { rest.trim().into() } else { rest.into() };
                } else if part.trim {
                    picked.value = text.trim().into();
                }
            }
            picked.hash = hash((&picked.value).into());
            if !values.keeps_text {
                picked.value = excerpt(&picked.value);
            }
        }
        Some(Collected { values: self.picked, lost: self.lost, entries: self.entries })
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
        let entry = self.taken[number];
        let is_open = part.open;
        let index = self.index;
        self.picked.push(Picked { part: number, entry, index, is_open, key, hash: 0, value, amount, place });
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
