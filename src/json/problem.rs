//! What can be wrong with the bytes that hold JSON. Every reader names a problem from this one list.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! problems {
    ($($(#[$doc:meta])* $problem:ident $name:literal $words:literal,)*) => {
        /// A way in which a text, a line of a stream or a whole output is not exactly one strict JSON object.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Problem {
            $($(#[$doc])* $problem,)*
        }

        impl Problem {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$problem,)*];

            /// The name in machine-readable output.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$problem => $name,)*
                }
            }

            /// The problem in words, as warnings and reports show it.
            pub fn describe(self) -> &'static str {
                match self {
                    $(Self::$problem => $words,)*
                }
            }
        }
    };
}

// Reports list problems in this order.
problems! {
    /// A line, or all there is, is not JSON.
    NotJson "malformed" "not JSON",
    /// JSON, but of another type than was promised, which nearly always is an object.
    NotAnObject "not-an-object" "a document that is not an object",
    /// Bytes that are not UTF-8.
    InvalidUtf8 "invalid-utf8" "invalid UTF-8",
    /// A byte order mark stands first.
    ByteOrderMark "byte-order-mark" "a byte order mark",
    /// A NUL byte where a value should be.
    Nul "nul" "NUL byte",
    /// A line of a stream that is longer than the limit.
    LineTooLong "oversized" "line longer than the limit",
    /// A carriage return ends a line where a newline should.
    LoneReturn "lone-return" "line that ends in a carriage return alone",
    /// No newline ends the last line.
    NoFinalNewline "unterminated" "last line without a line end",
    /// One of the literals `NaN`, `Infinity` and `-Infinity`, which JSON does not have.
    NonFinite "non-finite" "NaN or Infinity",
    /// An escaped UTF-16 surrogate without its other half.
    LoneSurrogate "lone-surrogate" "lone surrogate",
    /// A number such as `1e400` that overflows a double.
    NumberOverflow "number-overflow" "number beyond a double",
    /// An integer of more than 308 digits, beyond any double.
    HugeInteger "huge-integer" "integer of more than 308 digits",
    /// Nesting deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    TooDeep "too-deep" "nesting deeper than 128",
    /// A key that its object already has; the last one wins.
    DuplicateKey "duplicate-key" "duplicate key",
    /// More values than a scan keeps; the largest member is kept as raw text only.
    TooManyValues "too-many-values" "too many values in one document",
    /// There is no output at all, or only white space.
    Empty "empty" "no output",
    /// There is no output, but the document stands on stderr.
    OnStderr "envelope-on-stderr" "the document on stderr",
    /// There is output, but no JSON document anywhere in it.
    NoJson "no-json" "no JSON in the output",
    /// Something stands before the document.
    Prefix "prefix" "something before the document",
    /// Something that is not JSON follows the document.
    Suffix "suffix" "something after the document",
    /// White space stands before the document.
    SpaceBefore "space-before" "white space before the document",
    /// White space other than one newline follows the document.
    SpaceAfter "space-after" "white space after the document",
    /// Another document follows the first.
    SecondDocument "second-document" "a second document",
    /// The document breaks off.
    Truncated "truncated" "a document that breaks off",
    /// The output is larger than a document may be.
    TooLarge "too-large" "more output than a document may have",
}

impl Problem {
    /// Whether a lenient reader of one document stumbles over it too.
    pub fn is_substantial(self) -> bool {
        !matches!(
            self,
            Self::SpaceBefore
                | Self::SpaceAfter
                | Self::NoFinalNewline
                | Self::NonFinite
                | Self::LoneSurrogate
                | Self::NumberOverflow
                | Self::HugeInteger
                | Self::TooDeep
                | Self::DuplicateKey
                | Self::TooManyValues
        )
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A problem at its place, in a text that can be read all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oddity {
    /// What is odd about the text there.
    pub kind: Problem,
    /// Where, in bytes from the start of the text.
    pub offset: usize,
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind.describe(), self.offset)
    }
}

/// Why a text cannot be read as JSON, and where that showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct Malformed {
    /// What was wrong, as a lower-case fragment.
    pub reason: &'static str,
    /// Where, in bytes from the start of the scanned text.
    pub offset: usize,
}

impl Malformed {
    /// Whether the text ends in the middle of an object or a list, so that more of it may have followed.
    pub fn breaks_off(&self) -> bool {
        self.offset > 0 && matches!(self.reason, "unexpected end of text" | "unterminated string")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Problem;

    #[test]
    fn no_two_problems_share_a_name_or_words() {
        let names: BTreeSet<_> = Problem::ALL.iter().map(|problem| problem.name()).collect();
        let words: BTreeSet<_> = Problem::ALL.iter().map(|problem| problem.describe()).collect();
        assert_eq!((names.len(), words.len()), (Problem::ALL.len(), Problem::ALL.len()));
    }
}
