//! UUIDs: telling one from a label, and its version.

/// A UUID as a number, with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uuid {
    pub(crate) number: u128,
}

impl Uuid {
    /// Reads the usual form of 8-4-4-4-12 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes: &[u8; 36] = text.as_bytes().try_into().ok()?;
        let mut number: u128 = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return None;
                }
                continue;
            }
            let digit = HEX[*byte as usize];
            if digit > 15 {
                return None;
            }
            number = number << 4 | u128::from(digit);
        }
        Some(Self { number })
    }

    /// Whether it is a random one, with the variant that RFC 9562 gives it.
    pub(crate) fn is_v4(self) -> bool {
        self.number >> 76 & 0xf == 4 && self.number >> 62 & 0b11 == 0b10
    }
}

/// The value of each hexadecimal digit; 255 for what is none.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut at = 0;
    while at < 10 {
        table[b'0' as usize + at] = at as u8;
        at += 1;
    }
    at = 0;
    while at < 6 {
        table[b'a' as usize + at] = 10 + at as u8;
        table[b'A' as usize + at] = 10 + at as u8;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        assert!(Uuid::parse("05d2d18f-72de-4812-a4b2-9c0873fc49df").unwrap().is_v4());
        assert!(!Uuid::parse("6ba7b810-9dad-11d1-80b4-00c04fd430c8").unwrap().is_v4());
        assert_eq!(Uuid::parse("req-abc"), None);
        assert_eq!(Uuid::parse("05d2d18f-72de-4812-a4b2-9c0873fc49dg"), None);
        assert_eq!(Uuid::parse("05d2d18f072de04812-a4b2-9c0873fc49df"), None);
    }
}
