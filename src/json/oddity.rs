//! What a scan can find wrong: oddities, which leave the text readable, and malformations, which do not.

use std::fmt;

/// A place where a text can be read but is not strict JSON, or is outside what other readers accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oddity {
    /// What is odd about the text there.
    pub kind: OddityKind,
    /// Where, in bytes from the start of the scanned text.
    pub offset: usize,
}

/// The kinds of [`Oddity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OddityKind {
    /// One of the literals `NaN`, `Infinity` and `-Infinity`, which JSON does not have.
    NonFinite,
    /// An escaped UTF-16 surrogate without its other half.
    LoneSurrogate,
    /// A number such as `1e400` that overflows a double.
    NumberOverflow,
    /// An integer of more than 308 digits, beyond any double.
    HugeInteger,
    /// Nesting deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    TooDeep,
    /// A key that its object already has; the last one wins.
    DuplicateKey,
    /// More values than a scan keeps; the largest member is kept as raw text only.
    TooManyValues,
}

impl OddityKind {
    /// The name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Self::NonFinite => "non-finite",
            Self::LoneSurrogate => "lone-surrogate",
            Self::NumberOverflow => "number-overflow",
            Self::HugeInteger => "huge-integer",
            Self::TooDeep => "too-deep",
            Self::DuplicateKey => "duplicate-key",
            Self::TooManyValues => "too-many-values",
        }
    }

    /// The kind in words, as warnings and reports show it.
    pub fn describe(self) -> &'static str {
        match self {
            Self::NonFinite => "NaN or Infinity",
            Self::LoneSurrogate => "lone surrogate",
            Self::NumberOverflow => "number beyond a double",
            Self::HugeInteger => "integer of more than 308 digits",
            Self::TooDeep => "nesting deeper than 128",
            Self::DuplicateKey => "duplicate key",
            Self::TooManyValues => "too many values in one document",
        }
    }
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
