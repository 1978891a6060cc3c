//! A value of a run, with what it belongs to and where it stands, and how it is put away until the end of the run.

use serde_json::Value;

use super::spool::{Fields, put_number};
use super::{Evidence, Message};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Picked {
    /// Its number among all values, by which they are in their order.
    pub(super) number: u64,
    pub(super) part: usize,
    /// Which message or entry of its part it comes from.
    pub(super) entry: u64,
    /// The place of that entry in the list that was recorded.
    pub(super) index: usize,
    pub(super) key: Option<u64>,
    /// The hash of the value; nothing where it is a piece of one.
    pub(super) hash: u64,
    /// The text that it is a piece of.
    pub(super) joined: Option<u64>,
    /// The value, shortened unless texts are kept.
    pub(super) value: Value,
    /// What it adds to a total; none when it is no number.
    pub(super) amount: Option<f64>,
    /// It stands for any value.
    pub(super) is_open: bool,
    pub(super) place: Place,
}

/// Where a value stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Place {
    pub(super) line: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) pointer: Option<String>,
}

// What a record has.
const KEY: u8 = 1;
const JOINED: u8 = 2;
const AMOUNT: u8 = 4;
const OPEN: u8 = 8;
const PLACE: u8 = 16;
const TEXT: u8 = 32;
/// The value is a number with a fraction, which has to be the same again to the last bit.
const FLOAT: u8 = 64;

impl Place {
    pub(super) fn evidence(&self) -> Evidence {
        Evidence { line: self.line, offset: self.offset, ..Evidence::default() }
    }
}

impl Picked {
    /// A value that a message says.
    pub(super) fn of_message(message: &Message<'_>, value: Value) -> Self {
        let place = Place { line: Some(message.line), offset: Some(message.offset), pointer: None };
        Self { value, place, ..Self::default() }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
        let float = self.value.as_f64().filter(|_| self.value.is_f64());
        out.push(
            flag(KEY, self.key.is_some())
                | flag(JOINED, self.joined.is_some())
                | flag(AMOUNT, self.amount.is_some())
                | flag(OPEN, self.is_open)
                | flag(PLACE, self.place.line.is_some())
                | flag(TEXT, self.value.is_string())
                | flag(FLOAT, float.is_some()),
        );
        for number in [self.number, self.part as u64, self.entry, self.index as u64] {
            put_number(out, number);
        }
        let hash = (self.joined.is_none()).then_some(self.hash);
        let words = [self.key, self.joined, hash, self.amount.map(f64::to_bits), float.map(f64::to_bits)];
        for word in words.into_iter().flatten() {
            out.extend_from_slice(&word.to_le_bytes());
        }
        if let Place { line: Some(line), offset, pointer } = &self.place {
            let pointer = pointer.as_deref().unwrap_or_default();
            for number in [*line, offset.unwrap_or_default(), pointer.len() as u64] {
                put_number(out, number);
            }
            out.extend_from_slice(pointer.as_bytes());
        }
        match &self.value {
            Value::String(text) => out.extend_from_slice(text.as_bytes()),
            _ if float.is_some() => {}
            // Nothing in a value fails to be written, and nothing fails to be written to memory.
            other => drop(serde_json::to_writer(out, other)),
        }
    }

    pub(super) fn read(record: &[u8]) -> Option<Self> {
        let (flags, rest) = record.split_first()?;
        let has = |flag: u8| flags & flag != 0;
        let mut fields = Fields(rest);
        let [number, part, entry, index] =
            [fields.number()?, fields.number()?, fields.number()?, fields.number()?];
        let mut word = |is_there: bool| if is_there { fields.word().map(Some) } else { Some(None) };
        let (key, joined, hash) = (word(has(KEY))?, word(has(JOINED))?, word(!has(JOINED))?);
        let (amount, float) = (word(has(AMOUNT))?.map(f64::from_bits), word(has(FLOAT))?.map(f64::from_bits));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut place = Place::default();
        if has(PLACE) {
            (place.line, place.offset) = (Some(fields.number()?), Some(fields.number()?));
            let length = fields.number()? as usize;
            place.pointer = Some(text(fields.bytes(length)?));
        }
        let value = match float {
            Some(float) => float.into(),
            None if has(TEXT) => Value::String(text(fields.0)),
            None => serde_json::from_slice(fields.0).ok()?,
        };
        let (part, index, hash, is_open) =
            (part as usize, index as usize, hash.unwrap_or_default(), has(OPEN));
        Some(Self { number, part, entry, index, key, hash, joined, value, amount, is_open, place })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_comes_back_as_it_was() {
        let place = Place { line: Some(300), offset: Some(1 << 40), pointer: Some("/a/ä~1".into()) };
        for value in [json!("ä\n\"x\""), json!(""), json!(null), json!([1, "x"]), json!(7), json!(0.1 + 0.2)]
        {
            for (key, joined, amount) in
                [(None, None, None), (Some(0), None, Some(0.1)), (None, Some(7), None)]
            {
                for place in [&place, &Place::default()] {
                    let picked = Picked {
                        number: 1000,
                        part: 2,
                        entry: 3,
                        index: 4,
                        key,
                        hash: if joined.is_some() { 0 } else { u64::MAX },
                        joined,
                        value: value.clone(),
                        amount,
                        is_open: key.is_some(),
                        place: place.clone(),
                    };
                    let mut record = Vec::new();
                    picked.write(&mut record);
                    assert_eq!(Picked::read(&record), Some(picked));
                }
            }
        }
    }
}
