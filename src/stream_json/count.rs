//! Integers of any size.

use std::fmt;

use serde::{Serialize, Serializer};

/// An integer as the documented reader keeps it: without bound. Streams contain such numbers, by accident or design.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Count(Digits);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Digits {
    Small(i64),
    /// Decimal digits with a sign, without leading zeros, outside the range of an `i64`.
    Big(Box<str>),
}

impl Count {
    /// Reads decimal digits with an optional sign; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        let signed =
            format!("{}{}", if negative { "-" } else { "" }, if digits.is_empty() { "0" } else { digits });
        Some(Self(signed.parse().map_or_else(|_| Digits::Big(signed.into()), Digits::Small)))
    }

    /// The value, if it fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Digits::Small(value) => Some(value),
            Digits::Big(_) => None,
        }
    }

    /// Whether the number is less than `other`.
    pub fn is_below(&self, other: i64) -> bool {
        match &self.0 {
            Digits::Small(value) => *value < other,
            Digits::Big(digits) => digits.starts_with('-'),
        }
    }
}

impl Default for Count {
    fn default() -> Self {
        Self::from(0)
    }
}

impl From<i64> for Count {
    fn from(value: i64) -> Self {
        Self(Digits::Small(value))
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Digits::Small(value) => value.fmt(f),
            Digits::Big(digits) => f.write_str(digits),
        }
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Digits::Small(value) => serializer.serialize_i64(*value),
            Digits::Big(digits) => serde_json::value::RawValue::from_string(digits.to_string())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_survive() {
        let big = "9".repeat(4300);
        assert_eq!(serde_json::to_string(&Count::parse(&big).unwrap()).unwrap(), big);
        assert_eq!(Count::parse("-007").unwrap().as_i64(), Some(-7));
        assert_eq!(Count::parse("-0").unwrap().to_string(), "0");
        assert_eq!(Count::parse("+5").unwrap().as_i64(), Some(5));
        assert!(Count::parse("1.5").is_none() && Count::parse("").is_none() && Count::parse("-").is_none());
        assert!(Count::parse("-99999999999999999999").unwrap().is_below(0));
        assert!(!Count::parse("99999999999999999999").unwrap().is_below(3));
    }
}
