//! Keeps credentials out of recordings: masked while they are captured, by a mask of the same length, so that every
//! offset into the output holds.

/// Credentials that are recognised by how they begin, whoever printed them.
const PREFIXES: [&[u8]; 6] = [b"sk-ant-", b"ghp_", b"github_pat_", b"xoxb-", b"AKIA", b"npm_"];

const MASK: u8 = b'*';

/// Masks one stream, however it is cut into chunks.
#[derive(Debug, Clone)]
pub struct Masker {
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
    pub fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let literals =
            values.into_iter().filter(|value| value.len() >= 8).map(|value| value.as_bytes().to_vec());
        Self { literals: literals.collect(), held: Vec::new(), in_token: false, masked: 0 }
    }

    /// Takes the next bytes; `out` gets all but those that may still turn out to be secret.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        let end = self.undecided();
        self.release(end, out);
    }

    /// The stream is over: `out` gets the rest.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(self.held.len(), out);
    }

    /// Masks a whole text.
    pub fn mask(&self, text: &str) -> String {
        let (mut whole, mut out) = (Self { held: Vec::new(), in_token: false, ..self.clone() }, Vec::new());
        whole.push(text.as_bytes(), &mut out);
        whole.finish(&mut out);
        // Only whole runs of ASCII and whole values are replaced, so it stays text.
        String::from_utf8_lossy(&out).into_owned()
    }

    /// How many secrets were masked.
    pub fn masked(&self) -> u64 {
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
        let mut at = 0;
        while at < end {
            if self.in_token && is_token(self.held[at]) {
                out.push(MASK);
                at += 1;
                continue;
            }
            self.in_token = false;
            if self.may_begin(self.held[at]) {
                let rest = &self.held[at..];
                if let Some(literal) = self.literals.iter().find(|literal| rest.starts_with(literal)) {
                    out.extend(std::iter::repeat_n(MASK, literal.len()));
                    at += literal.len();
                    self.masked += 1;
                    continue;
                }
                if let Some(prefix) = PREFIXES.iter().find(|prefix| rest.starts_with(prefix)) {
                    out.extend_from_slice(prefix);
                    at += prefix.len();
                    self.in_token = true;
                    self.masked += 1;
                    continue;
                }
            }
            out.push(self.held[at]);
            at += 1;
        }
        self.held.drain(..at);
    }

    fn may_begin(&self, byte: u8) -> bool {
        self.patterns().any(|pattern| pattern[0] == byte)
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
        let masked = "key=***************; sk-ant-********** \"ghp_****\" short sk-an";
        assert_eq!(masker.mask(text), masked);
        assert_eq!(text.len(), masked.len());
    }

    #[test]
    fn what_cannot_be_a_secret_is_not_held_back() {
        let (mut masker, mut out) = (Masker::new([]), Vec::new());
        masker.push(b"{\"type\":\"result\"}\n", &mut out);
        assert_eq!(out, b"{\"type\":\"result\"}\n");
        masker.push(b"as", &mut out);
        assert_eq!(out, b"{\"type\":\"result\"}\na");
        masker.push(b"k", &mut out);
        masker.push(b"ing", &mut out);
        assert_eq!(out, b"{\"type\":\"result\"}\nasking");
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
