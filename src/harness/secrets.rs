//! Keeps credentials out of recordings: masked while they are captured, by a mask of the same length, so that every
//! offset into the output holds.

use std::cmp::Reverse;

use memchr::memmem;
use serde_json::Value;

/// Credentials that are recognised by how they begin, whoever printed them.
const PREFIXES: [&[u8]; 6] = [b"sk-ant-", b"ghp_", b"github_pat_", b"xoxb-", b"AKIA", b"npm_"];

const MASK: u8 = b'*';

/// Masks one stream, however it is cut into chunks.
#[derive(Debug, Clone)]
pub(crate) struct Masker {
    /// Values that are known to be secret.
    literals: Vec<Vec<u8>>,
    /// The end of what was seen, which may be the beginning of a secret.
    held: Vec<u8>,
    /// Whether the last byte belonged to a token that is being masked.
    in_token: bool,
    masked: u64,
}

impl Masker {
    /// A masker that also knows these values. Short ones are left alone: they would mask ordinary text.
    pub(crate) fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let literals =
            values.into_iter().filter(|value| value.len() >= 8).map(|value| value.as_bytes().to_vec());
        Self { literals: literals.collect(), held: Vec::new(), in_token: false, masked: 0 }
    }

    /// Takes the next bytes; `out` gets all but those that may still turn out to be secret.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        let end = self.undecided();
        self.release(end, out);
    }

    /// The stream is over: `out` gets the rest.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(self.held.len(), out);
    }

    /// Masks a whole text.
    pub(crate) fn mask(&self, text: &str) -> String {
        // Only whole runs of ASCII and whole values are replaced, so it stays text.
        String::from_utf8_lossy(&self.mask_bytes(text.as_bytes().to_vec())).into_owned()
    }

    /// Masks a whole text, whatever its bytes are.
    pub(crate) fn mask_bytes(&self, text: Vec<u8>) -> Vec<u8> {
        if !self.patterns().any(|pattern| memmem::find(&text, pattern).is_some()) {
            return text;
        }
        let literals = self.literals.clone();
        let mut whole = Self { literals, held: text, in_token: false, masked: 0 };
        let mut out = Vec::with_capacity(whole.held.len());
        whole.finish(&mut out);
        out
    }

    /// Masks every text in a value, and the names of members.
    pub(crate) fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.mask(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(members) => {
                let masked = std::mem::take(members).into_iter().map(|(name, mut value)| {
                    self.mask_value(&mut value);
                    (self.mask(&name), value)
                });
                *members = masked.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// How many secrets were masked.
    pub(crate) fn masked(&self) -> u64 {
        self.masked
    }

    fn patterns(&self) -> impl Iterator<Item = &[u8]> {
        PREFIXES.iter().copied().chain(self.literals.iter().map(Vec::as_slice))
    }

    /// Where the part begins that may be the beginning of a secret.
    fn undecided(&self) -> usize {
        let longest = self.patterns().map(<[u8]>::len).max().unwrap_or(1);
        let from = self.held.len().saturating_sub(longest - 1);
        (from..self.held.len())
            .find(|at| {
                let tail = &self.held[*at..];
                self.patterns().any(|pattern| tail.len() < pattern.len() && pattern.starts_with(tail))
            })
            .unwrap_or(self.held.len())
    }

    fn release(&mut self, end: usize, out: &mut Vec<u8>) {
        let mut found = self.matches().into_iter().peekable();
        let mut at = 0;
        while at < end {
            if self.in_token {
                let length = self.held[at..end].iter().take_while(|byte| is_token(**byte)).count();
                out.extend(std::iter::repeat_n(MASK, length));
                at += length;
                self.in_token = at == end;
                continue;
            }
            while found.next_if(|(start, ..)| *start < at).is_some() {}
            let Some((start, length, is_prefix)) = found.next_if(|(start, ..)| *start < end) else {
                out.extend_from_slice(&self.held[at..end]);
                at = end;
                break;
            };
            out.extend_from_slice(&self.held[at..start]);
            at = start + length;
            if is_prefix {
                out.extend_from_slice(&self.held[start..at]);
            } else {
                out.extend(std::iter::repeat_n(MASK, length));
            }
            self.in_token = is_prefix;
            self.masked += 1;
        }
        self.held.drain(..at);
    }

    /// Where secrets begin, how long what is known of them is, and whether only their beginning is known. Values come
    /// before prefixes that begin at the same place.
    fn matches(&self) -> Vec<(usize, usize, bool)> {
        let mut found = Vec::new();
        for literal in &self.literals {
            found.extend(memmem::find_iter(&self.held, literal).map(|start| (start, literal.len(), false)));
        }
        for prefix in PREFIXES {
            found.extend(memmem::find_iter(&self.held, prefix).map(|start| (start, prefix.len(), true)));
        }
        found.sort_unstable_by_key(|(start, length, is_prefix)| (*start, *is_prefix, Reverse(*length)));
        found
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(masker: &Masker, text: &[u8]) -> Vec<u8> {
        let (mut masker, mut out) = (masker.clone(), Vec::new());
        masker.push(text, &mut out);
        masker.finish(&mut out);
        out
    }

    #[test]
    fn secrets_are_masked_and_nothing_else_moves() {
        let masker = Masker::new(["hunter2-hunter2", "short"]);
        let text = "key=hunter2-hunter2; sk-ant-api03-AbC_9 \"ghp_0123\" short sk-an";
        let masked = "key=***************; sk-ant-*********** \"ghp_****\" short sk-an";
        assert_eq!(masker.mask(text), masked);
        assert_eq!(text.len(), masked.len());
    }

    #[test]
    fn a_value_is_masked_as_its_text_is() {
        let masker = Masker::new(["hunter2-hunter2"]);
        let mut value =
            serde_json::json!({"hunter2-hunter2": ["say sk-ant-api03-x\nend", 7, null, "é hunter2-hunter2"]});
        let text = masker.mask(&value.to_string());
        masker.mask_value(&mut value);
        assert_eq!(value.to_string(), text);
        assert!(!text.contains("api03") && !text.contains("hunter2"), "{text}");
    }

    #[test]
    fn what_cannot_be_a_secret_is_not_held_back() {
        let (mut masker, mut out) = (Masker::new([]), Vec::new());
        masker.push(b"{\"type\":\"result\"}\n", &mut out);
        assert_eq!(out, b"{\"type\":\"result\"}\n");
        masker.push(b"as", &mut out);
        assert_eq!(out, b"{\"type\":\"result\"}\na");
        masker.push(b"k", &mut out);
        masker.push(b"ed", &mut out);
        assert_eq!(out, b"{\"type\":\"result\"}\nasked");
    }

    proptest! {
        #[test]
        fn the_cut_of_the_stream_does_not_matter(
            parts in prop::collection::vec("(sk-ant-[a-z]{0,9}|hunter2-hunter2|hunter2|[ a-z\"-]{0,6}|AKIA)", 0..8),
            cuts in prop::collection::vec(0_usize..60, 0..5),
        ) {
            let text = parts.concat().into_bytes();
            let masker = Masker::new(["hunter2-hunter2"]);
            let (mut split, mut out) = (masker.clone(), Vec::new());
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let mut from = 0;
            for cut in cuts.into_iter().chain([text.len()]) {
                split.push(&text[from..cut], &mut out);
                from = cut;
            }
            split.finish(&mut out);
            prop_assert_eq!(out.len(), text.len());
            prop_assert_eq!(out, whole(&masker, &text));
        }
    }
}
