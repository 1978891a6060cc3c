//! Collects the values of one run: what is printed as it comes, and what was recorded at the end.

use std::collections::BTreeSet;
use std::io;

use serde_json::Value;

use super::hash::{ByHash, combined, hash, hash_at, hash_text};
use super::picked::{Picked, Place};
use super::spool::Spool;
use super::values::{Key, Origin, Part, Until, Values, Which};
use super::{Facts, JsonView, Message, excerpt, shorten};

/// What is compared at once has so many bytes at most; what is beyond is said, and fails.
const MOST_BYTES: u64 = 64 << 20;
/// A text that is put together is kept in pieces of about so many bytes.
const PIECE: usize = 16 << 10;
/// So many totals are added up before they are put away; those of one key are added up again at the end.
const TOTALS: usize = 1 << 12;

/// All values of one run.
pub(super) struct Collected<'v> {
    values: &'v Values,
    picked: Spool,
    /// How many messages and entries each part took.
    taken: Vec<u64>,
    /// The places in recorded lists of the entries that values were looked for in, whether there were any or not.
    pub(super) entries: BTreeSet<usize>,
}

/// Collects the values of one run.
pub(super) struct Collector<'v> {
    values: &'v Values,
    picked: Spool,
    /// What a value is written into before it is put away.
    scratch: Vec<u8>,
    /// The number of the next value.
    next: u64,
    /// For each part the keys that messages named, by what `per` says.
    named: Vec<ByHash<u64>>,
    /// The latest piece of a text that is put together.
    piece: Option<Picked>,
    /// How many joined texts were ended, by part.
    ended: Vec<u64>,
    /// Totals, and which is that of a part, key and entry.
    totals: Vec<Picked>,
    groups: ByHash<usize>,
    shown: Shown,
    /// How many messages and entries each part took.
    taken: Vec<u64>,
    /// The place of the recorded entry that is looked at, and of all that were.
    index: usize,
    entries: BTreeSet<usize>,
}

/// What is kept of values for those who read findings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Where they stand and what they are.
    Places,
    /// What they are.
    Values,
    /// What the first one is.
    First,
}

impl<'v> Collector<'v> {
    pub(super) fn new(values: &'v Values, shown: Shown) -> Self {
        let named = values.parts.iter().map(|_| ByHash::default()).collect();
        let taken = vec![0; values.parts.len()];
        Self {
            values,
            picked: Spool::default(),
            scratch: Vec::new(),
            next: 0,
            named,
            piece: None,
            ended: vec![0; values.parts.len()],
            totals: Vec::new(),
            groups: ByHash::default(),
            shown,
            taken,
            index: 0,
            entries: BTreeSet::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.next == 0
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
                    && self.append(text_of(number, key, joined), &text)
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
    pub(super) fn finish(mut self, facts: &Facts) -> Option<Collected<'v>> {
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
                    part.visit(element, name, &mut |value, _| {
                        self.add(number, part, key, value, Place::default(), joined);
                    });
                });
            }
        }
        Some(self.printed())
    }

    /// All values that were printed.
    pub(super) fn printed(mut self) -> Collected<'v> {
        self.end_piece();
        self.end_totals();
        let Self { values, picked, taken, entries, .. } = self;
        Collected { values, picked, taken, entries }
    }

    /// Appends to the text that came last; false when it is another.
    fn append(&mut self, joined: u64, text: &str) -> bool {
        if let Some(Picked { joined: Some(known), value: Value::String(earlier), .. }) = &mut self.piece
            && *known == joined
            && earlier.len() < PIECE
        {
            earlier.push_str(text);
            return true;
        }
        false
    }

    /// Where a value of a message stands.
    fn place(&self, message: &Message<'_>, pointer: impl Fn() -> String) -> Place {
        if self.shown != Shown::Places {
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
        let shows = self.shown != Shown::First || self.next == 0;
        let (hash, value) = match value.text() {
            Some(text) => (hash_text(&text), if shows { Value::String(shorten(&text)) } else { Value::Null }),
            None => (hash(value), if shows { excerpt(value) } else { Value::Null }),
        };
        let place = self.place(message, pointer);
        let (entry, index, is_open) = (self.taken[number], self.index, self.values.parts[number].open);
        let (part, joined, amount) = (number, None, None);
        let number = self.next_number();
        self.keep(&Picked { number, part, entry, index, key, hash, joined, value, amount, is_open, place });
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
        let mut picked = Picked {
            number: 0,
            part: number,
            entry: self.taken[number],
            index: self.index,
            key,
            hash: 0,
            joined: joined.filter(|_| value.is_string()).map(|joined| text_of(number, key, joined)),
            amount: if part.count { Some(1.0) } else { number_of(&value) },
            value,
            is_open: part.open,
            place,
        };
        if self.values.sums {
            return self.add_up(picked, part.pick);
        }
        if let (Some(joined), Value::String(text)) = (picked.joined, &picked.value)
            && self.append(joined, text)
        {
            return;
        }
        picked.number = self.next_number();
        if picked.joined.is_some() {
            self.end_piece();
            self.piece = Some(picked);
            return;
        }
        settle(self.values, &mut picked);
        if self.shown == Shown::First && picked.number > 0 {
            picked.value = Value::Null;
        }
        self.keep(&picked);
    }

    fn add_up(&mut self, picked: Picked, pick: Which) {
        let group = if pick == Which::Every { 0 } else { picked.entry };
        let group = combined([picked.part as u64, picked.key.unwrap_or_default(), group]);
        if let Some(known) = self.groups.get(&group).and_then(|index| self.totals.get_mut(*index)) {
            let sum = known.amount.zip(picked.amount).map(|(sum, more)| sum + more);
            known.amount = sum.or(known.amount).or(picked.amount);
            known.place = picked.place;
            return;
        }
        if self.totals.len() >= TOTALS {
            self.end_totals();
        }
        self.groups.insert(group, self.totals.len());
        let number = self.next_number();
        self.totals.push(Picked { number, value: Value::Null, joined: None, ..picked });
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn end_piece(&mut self) {
        if let Some(piece) = self.piece.take() {
            self.keep(&piece);
        }
    }

    fn end_totals(&mut self) {
        self.groups.clear();
        for total in std::mem::take(&mut self.totals) {
            self.keep(&total);
        }
    }

    fn keep(&mut self, picked: &Picked) {
        self.scratch.clear();
        picked.write(&mut self.scratch);
        self.picked.push(&self.scratch);
    }
}

impl Collected<'_> {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.picked.is_empty()
    }

    /// How much has to be compared.
    pub(super) fn bytes(&self) -> u64 {
        self.picked.bytes()
    }

    /// All of them in their order; none when they are too many to be compared at once.
    pub(super) fn load(&self) -> Option<Vec<Picked>> {
        if self.bytes() > MOST_BYTES {
            return None;
        }
        let (mut all, mut texts) = (Vec::<Picked>::new(), ByHash::default());
        let read = self.picked.each(&mut |record| {
            let Some(picked) = Picked::read(record).filter(|picked| self.counts(picked)) else { return true };
            if let Some(joined) = picked.joined {
                let index = *texts.entry(joined).or_insert(all.len());
                if let Some(Picked { value: Value::String(earlier), .. }) = all.get_mut(index) {
                    earlier.push_str(picked.value.as_str().unwrap_or_default());
                    return true;
                }
            }
            all.push(picked);
            true
        });
        read.ok()?;
        all.iter_mut().filter(|picked| picked.joined.is_some()).for_each(|text| settle(self.values, text));
        Some(all)
    }

    /// The first of them, if there is one.
    pub(super) fn first(&self) -> io::Result<Option<Picked>> {
        let mut first = None;
        self.picked.each(&mut |record| {
            first = Picked::read(record).filter(|picked| self.counts(picked));
            first.is_none()
        })?;
        Ok(first)
    }

    /// Distributes them among so many, by what is said of each; none when they cannot be read.
    pub(super) fn scatter(self, number: u64, by: impl Fn(&Picked) -> u64) -> Option<Vec<Self>> {
        if number == 1 {
            return Some(vec![self]);
        }
        let part = |record: &[u8]| Picked::read(record).map_or(0, |picked| by(&picked));
        let parts = self.picked.scatter(number, part).ok()?.into_iter();
        let Self { values, taken, entries, .. } = self;
        let part = |picked| Self { values, picked, taken: taken.clone(), entries: entries.clone() };
        Some(parts.map(part).collect())
    }

    /// Whether the message or entry that a value comes from is one of those that are looked at.
    fn counts(&self, picked: &Picked) -> bool {
        let taken = self.taken.get(picked.part).copied().unwrap_or_default();
        match self.values.parts.get(picked.part).map(|part| part.pick) {
            Some(Which::Every) | None => true,
            Some(Which::First) => picked.entry == 1,
            Some(Which::Last) => picked.entry == taken,
            Some(Which::ButLast) => picked.entry < taken,
        }
    }
}

/// Reads a value that is whole, and keeps of it what is needed.
fn settle(values: &Values, picked: &mut Picked) {
    if let Some(value) = values.parts[picked.part].reading.read(&picked.value) {
        picked.value = value;
    }
    picked.hash = hash((&picked.value).into());
    if !values.keeps_text {
        picked.value = excerpt(&picked.value);
    }
}

/// Which text it is of those that are put together.
fn text_of(part: usize, key: Option<u64>, joined: u64) -> u64 {
    combined([part as u64, key.unwrap_or_default(), joined])
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
