//! Hashes of values, by which long texts are told apart without being kept.
//!
//! Whoever makes two texts collide hides that they differ, or that one comes twice; the secrets, others in every process,
//! keep that from being done ahead.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

use super::{JsonView, Pointer};
use crate::json::Kind;

/// What is kept for a value, by its hash.
pub(super) type ByHash<T, H = u64> = HashMap<H, T, BuildHasherDefault<Hashed>>;

/// The hasher of what is a hash already.
#[derive(Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = fold(bytes, self.0);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }
}

static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
/// Odd, so that no bit is lost.
static FACTOR: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(1) | 1);
/// A second pair, for what has to be told apart among very many.
static OTHERS: LazyLock<(u64, u64)> =
    LazyLock::new(|| (RandomState::new().hash_one(2), RandomState::new().hash_one(3) | 1));

/// A hash of a text, at the speed of memory.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    fold(bytes, *SEED)
}

/// A hash that no two of billions of texts share.
pub(super) fn hash_wide(bytes: &[u8]) -> u128 {
    let (seed, factor) = *OTHERS;
    u128::from(hash_bytes(bytes)) << 64 | u128::from(fold_by(factor, bytes, seed))
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    mix_by(*FACTOR, hash, word)
}

/// Both halves of the product: what a high bit changes in the lower one anybody can tell, in the upper one only who knows
/// the factor.
#[inline]
fn mix_by(factor: u64, hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * u128::from(factor);
    product as u64 ^ (product >> 64) as u64
}

fn fold(bytes: &[u8], seed: u64) -> u64 {
    fold_by(*FACTOR, bytes, seed)
}

fn fold_by(factor: u64, bytes: &[u8], seed: u64) -> u64 {
    let word = |word: &[u8]| u64::from_le_bytes(word.try_into().unwrap_or_default());
    // Four lanes at a time, none of which waits for another.
    let mut lanes = [seed, !seed, seed.rotate_left(21), seed.rotate_left(42)];
    let mut rows = bytes.chunks_exact(32);
    for row in &mut rows {
        for (lane, bytes) in lanes.iter_mut().zip(row.chunks_exact(8)) {
            *lane = mix_by(factor, *lane, word(bytes));
        }
    }
    let [first, others @ ..] = lanes;
    let mut words = rows.remainder().chunks_exact(8);
    let mut hash = others.into_iter().fold(first, |hash, lane| mix_by(factor, hash, lane));
    for bytes in &mut words {
        hash = mix_by(factor, hash, word(bytes));
    }
    let rest = words.remainder().iter().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
    mix_by(factor, mix_by(factor, hash, rest), seed ^ bytes.len() as u64)
}

/// One hash of several.
pub(super) fn combined(hashes: [u64; 3]) -> u64 {
    hashes.into_iter().fold(*SEED, mix)
}

pub(super) fn hash_at(pointer: Option<&Pointer>, value: JsonView<'_>) -> u64 {
    pointer.and_then(|pointer| pointer.get(value)).map_or(0, hash)
}

/// The hash of a value that is this text.
pub(super) fn hash_text(text: &str) -> u64 {
    mix(mix(*SEED, Kind::String as u64), hash_bytes(text.as_bytes()))
}

/// The same for equal values: the order of members does not matter, nor how a number is written.
pub(super) fn hash(value: JsonView<'_>) -> u64 {
    let kind = value.kind();
    let inner = match kind {
        Kind::String => return hash_text(&value.text().unwrap_or_default()),
        Kind::Boolean => u64::from(value.boolean() == Some(true)),
        Kind::Array => value.items().fold(*SEED, |sum, item| mix(sum, hash(item))),
        Kind::Object => {
            let members = value.members();
            members
                .map(|(name, member)| mix(hash_bytes(name.as_bytes()), hash(member)))
                .fold(0, u64::wrapping_add)
        }
        Kind::Null => 0,
        _ => (value.float().unwrap_or_default() + 0.0).to_bits(),
    };
    mix(mix(*SEED, kind as u64), inner)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;
    use crate::json::Scanner;

    #[test]
    fn equal_values_have_one_hash_and_others_have_others() {
        let text = r#"{"a":[1,2.0,"x\u0041",null,true],"b":{"c":-0.0}}"#;
        let mut scanner = Scanner::default();
        let document = scanner.scan(text).unwrap();
        let built = json!({"b": {"c": 0}, "a": [1.0, 2, "xA", null, true]});
        assert_eq!(hash(JsonView::Scanned(document.root())), hash((&built).into()));
        let others = json!([
            {"a": 1}, {"a": 2}, {"b": 1}, {"a": "1"}, {"a": 1, "b": 1}, [1, 2], [2, 1], [1], [[1], 2], [], {}, "", "[]",
            null, false, true, 0, 1, "a", "b", {"a": "b"}, {"b": "a"}, "01234567", "012345678", "0123456", [null], [false]
        ]);
        let hashes: HashSet<_> = others.as_array().unwrap().iter().map(|value| hash(value.into())).collect();
        assert_eq!(hashes.len(), others.as_array().unwrap().len());
    }

    #[test]
    fn every_byte_of_a_text_counts() {
        for length in 1..80 {
            let text = vec![b'x'; length];
            for place in 0..length {
                let mut other = text.clone();
                other[place] = b'y';
                assert_ne!(hash_bytes(&text), hash_bytes(&other), "{length} {place}");
                assert_ne!(hash_wide(&text) as u64, hash_wide(&other) as u64, "{length} {place}");
            }
            assert_ne!(hash_bytes(&text), hash_bytes(&text[1..]));
        }
    }

    #[test]
    fn regression_a_change_that_undid_another_could_be_told_without_the_seed() {
        for filler in b'A'..b'z' {
            let mut text = vec![filler; 64];
            (text[7], text[36], text[39]) = (b'!', b'a', b'!');
            let mut other = text.clone();
            (other[7], other[36], other[39]) = (b'a', b'c', b'a');
            assert_ne!(hash_bytes(&text), hash_bytes(&other));
        }
    }
}
