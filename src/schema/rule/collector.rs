//! Collects the values of one run: what is printed as it comes, and what was recorded at the end.

use std::collections::BTreeSet;

use serde_json::Value;

use super::hash::{ByHash, TextHash, combined, hash, hash_at, hash_text};
use super::values::{Key, Origin, Part, Until, Values, Which};
use super::{Facts, JsonView, Message, excerpt, shorten};
use crate::text::head;

/// Values that are followed in one run, and the bytes of their texts; what is beyond is said, and fails.
const MOST: usize = 1 << 17;
const MOST_BYTES: usize = 64 << 20;
/// Of a text that is compared by its hash so many bytes are kept: more characters than anybody is shown.
const BEGINNING: usize = 1 << 10;

/// A value, with what it belongs to and where it stands.
#[derive(Debug)]
pub(super) struct Picked {
    part: usize,
    /// Which message or entry of its part it comes from.
    entry: u64,
    /// The place of that entry in the list that was recorded.
    pub(super) index: usize,
    pub(super) key: Option<u64>,
    /// The hash of the value; none while the value can still change.
    hash: Option<u64>,
    /// The hash of a text that may go on, of which only the beginning is kept.
    joining: Option<Box<TextHash>>,
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

/// Collects the values of one run.
pub(super) struct Collector<'v> {
    values: &'v Values,
    picked: Vec<Picked>,
    /// For each part the keys that messages named, by what `per` says.
    named: Vec<ByHash<u64>>,
    /// Texts that are still joined, by part, key and place.
    joined: ByHash<usize>,
    /// How many joined texts were ended, by part.
    ended: Vec<u64>,
    bytes: usize,
    /// Its values are only compared with: nobody is told where they stand.
    is_other: bool,
    /// How many messages and entries each part took.
    taken: Vec<u64>,
    /// The place of the recorded entry that is looked at, and of all that were.
    index: usize,
    entries: BTreeSet<usize>,
    /// Values that were too many to be followed.
    pub(super) lost: u64,
}

impl Picked {
    /// Whether the two values are equal.
    pub(super) fn equals(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl<'v> Collector<'v> {
    pub(super) fn new(values: &'v Values) -> Self {
        let named = values.parts.iter().map(|_| ByHash::default()).collect();
        let taken = vec![0; values.parts.len()];
        Self {
            values,
            picked: Vec::new(),
            named,
            joined: ByHash::default(),
            ended: vec![0; values.parts.len()],
            bytes: 0,
            is_other: false,
            taken,
            index: 0,
            entries: BTreeSet::new(),
            lost: 0,
        }
    }

    /// Collects what others are compared with.
    pub(super) fn of_others(values: &'v Values) -> Self {
        Self { is_other: true, ..Self::new(values) }
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
            if let Some(Until::Printed(on)) = &part.until {
                self.ended[number] += u64::from(on.takes(message));
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
            let plain_place = part.plain_place().filter(|_| !values.sums && !values.keeps_text);
            let ended = self.ended[number];
            let joined = part.join.as_ref().map(|at| combined([hash_at(Some(at), message.value), ended, 0]));
            part.elements.visit(message.value, &mut |element, name, path| {
                let key = part.key_in(element).or(key);
                if let Some(at) = plain_place {
                    at.visit(element, &mut |value, at| {
                        let pointer = || path() + &at.render();
                        self.add_plain(number, key, value, message, pointer);
                        true
                    });
                    return;
                }
                if let (Some(joined), Some(at)) = (joined, part.joined_place())
                    && let Some(text) = at.get(element).and_then(JsonView::text)
                    && self.append(combined([number as u64, key.unwrap_or_default(), joined]), &text)
                {
                    return;
                }
                part.visit(element, name, &mut |value, at| {
                    let place = self.place(message, || path() + &at);
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
            let found = entries(facts.get(*fact)?).into_iter().enumerate();
            for (index, entry) in found.filter(|(_, entry)| on.holds(*entry)) {
                self.taken[number] += 1;
                self.index = index;
                self.entries.insert(index);
                let key = match &part.key {
                    Some(Key::Here(at)) => Some(hash_at(Some(at), entry)),
                    _ => None,
                };
                let joined = part.join.as_ref().map(|at| hash_at(Some(at), entry));
                part.elements.visit(entry, &mut |element, name, _| {
                    let key = part.key_in(element).or(key);
                    if let Some(Until::Element(condition)) = &part.until {
                        self.ended[number] += u64::from(condition.holds(element));
                    }
                    let joined = joined.map(|joined| combined([joined, self.ended[number], 0]));
                    if let (Some(joined), Some(at)) = (joined, part.joined_place())
                        && let Some(text) = at.get(element).and_then(JsonView::text)
                        && self.append(combined([number as u64, key.unwrap_or_default(), joined]), &text)
                    {
                        return;
                    }
                    part.visit(element, name, &mut |value, _| {
                        self.add(number, part, key, value, Place::default(), joined);
                    });
                });
            }
        }
        let taken = &self.taken;
        self.picked.retain(|picked| match values.parts[picked.part].pick {
            Which::Every => true,
            Which::First => picked.entry == 1,
            Which::Last => picked.entry == taken[picked.part],
            Which::ButLast => picked.entry < taken[picked.part],
        });
        for picked in self.picked.iter_mut().filter(|picked| picked.hash.is_none()) {
            if let Some(hash) = picked.joining.take() {
                picked.hash = Some(hash.finish());
                picked.value = excerpt(&picked.value);
                continue;
            }
            let part = &values.parts[picked.part];
            if let Some(value) = part.reading.read(&picked.value) {
                picked.value = value;
            }
            picked.hash = Some(hash((&picked.value).into()));
            if !values.keeps_text {
                picked.value = excerpt(&picked.value);
            }
        }
        Some(Collected { values: self.picked, lost: self.lost, entries: self.entries })
    }

    /// Appends to a text that has begun; false when none has.
    fn append(&mut self, joined: u64, text: &str) -> bool {
        let begun = self.joined.get(&joined).copied().filter(|_| !self.values.sums);
        let is_full = self.picked.len() >= MOST;
        let Some(Picked { value: Value::String(earlier), joining, .. }) =
            begun.and_then(|at| self.picked.get_mut(at))
        else {
            return false;
        };
        if let Some(hash) = joining {
            hash.push(text);
            if earlier.len() < BEGINNING {
                earlier.push_str(head(text, BEGINNING));
            }
            return true;
        }
        self.bytes += text.len();
        if is_full || self.bytes > MOST_BYTES {
            self.lost += 1;
        } else {
            earlier.push_str(text);
        }
        true
    }

    /// Where a value of a message stands.
    fn place(&self, message: &Message<'_>, pointer: impl Fn() -> String) -> Place {
        if self.is_other {
            return Place::default();
        }
        Place { line: Some(message.line), offset: Some(message.offset), pointer: Some(pointer()) }
    }

    /// Adds a value that is compared as it stands: its hash and what can be shown of it are all that is kept.
    fn add_plain(
        &mut self,
        number: usize,
        key: Option<u64>,
        value: JsonView<'_>,
        message: &Message<'_>,
        pointer: impl Fn() -> String,
    ) {
        if self.picked.len() >= MOST {
            self.lost += 1;
            return;
        }
        let (hash, shown) = match value.text() {
            Some(text) => (hash_text(&text), Value::String(shorten(&text))),
            None => (hash(value), excerpt(value)),
        };
        let place = self.place(message, pointer);
        let (entry, index, is_open) = (self.taken[number], self.index, self.values.parts[number].open);
        let (hash, value) = (Some(hash), shown);
        self.picked.push(Picked {
            part: number,
            entry,
            index,
            is_open,
            key,
            hash,
            joining: None,
            value,
            amount: None,
            place,
        });
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
        let entry = self.taken[number];
        let amount = if part.count { Some(1.0) } else { number_of(&value) };
        if self.values.sums {
            let group = if part.pick == Which::Every { 0 } else { entry };
            let next = self.picked.len();
            let group = combined([number as u64, key.unwrap_or_default(), group]);
            let index = *self.joined.entry(group).or_insert(next);
            if let Some(known) = self.picked.get_mut(index) {
                known.amount =
                    known.amount.zip(amount).map(|(sum, more)| sum + more).or(known.amount).or(amount);
                known.place = place;
                return;
            }
        }
        self.bytes += value.as_str().map_or(64, str::len);
        if self.picked.len() >= MOST || self.bytes > MOST_BYTES {
            self.lost += 1;
            return;
        }
        if let (Some(joined), Value::String(text)) = (joined, &value) {
            let next = self.picked.len();
            let joined = combined([number as u64, key.unwrap_or_default(), joined]);
            let index = *self.joined.entry(joined).or_insert(next);
            if let Some(Picked { value: Value::String(earlier), .. }) = self.picked.get_mut(index) {
                earlier.push_str(text);
                return;
            }
        }
        let is_open = part.open;
        let (mut value, mut joining) = (value, None);
        if let Value::String(text) = &mut value
            && joined.is_some()
            && part.joined_place().is_some()
            && part.reading.is_plain()
            && !self.values.keeps_text
        {
            let mut hash = Box::new(TextHash::new());
            hash.push(text);
            text.truncate(head(text, BEGINNING).len());
            joining = Some(hash);
        }
        self.picked.push(Picked {
            part: number,
            entry,
            index: self.index,
            is_open,
            key,
            hash: None,
            joining,
            value,
            amount,
            place,
        });
    }
}

/// What a fact lists, or the fact itself.
pub(super) fn entries(fact: &Value) -> Vec<JsonView<'_>> {
    match fact {
        Value::Array(items) => items.iter().map(JsonView::Built).collect(),
        one => vec![JsonView::Built(one)],
    }
}

/// A number, also one that a flag or a header spells out.
pub(super) fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}
