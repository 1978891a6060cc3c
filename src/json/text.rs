//! Decoding of JSON string contents.

use std::borrow::Cow;

/// Decodes the inside of a JSON string that the scanner has accepted. A lone surrogate becomes U+FFFD.
pub(super) fn unescape(raw: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', raw.as_bytes()) else { return Cow::Borrowed(raw) };
    let mut out = String::with_capacity(raw.len());
    out.push_str(&raw[..first]);
    let mut rest = &raw[first..];
    while let Some(escape) = rest.strip_prefix('\\') {
        let (decoded, after) = decode_escape(escape);
        out.push(decoded);
        let next = memchr::memchr(b'\\', after.as_bytes()).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    Cow::Owned(out)
}

/// Decodes one escape, given the text after its backslash, and returns what follows it.
fn decode_escape(escape: &str) -> (char, &str) {
    let Some(letter) = escape.chars().next() else { return (char::REPLACEMENT_CHARACTER, "") };
    let after = &escape[letter.len_utf8()..];
    match letter {
        'b' => ('\u{8}', after),
        'f' => ('\u{c}', after),
        'n' => ('\n', after),
        'r' => ('\r', after),
        't' => ('\t', after),
        'u' => decode_unicode(after),
        other => (other, after),
    }
}

fn decode_unicode(digits: &str) -> (char, &str) {
    let Some((unit, after)) = hex4(digits) else { return (char::REPLACEMENT_CHARACTER, digits) };
    if let 0xD800..=0xDBFF = unit
        && let Some((low @ 0xDC00..=0xDFFF, end)) = after.strip_prefix("\\u").and_then(hex4)
    {
        let scalar = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        return (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), end);
    }
    (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), after)
}

fn hex4(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_every_escape() {
        assert_eq!(unescape(r#"a\"\\\/\b\f\n\r\tz"#), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(unescape(r"\u0041\ud83d\ude00!"), "A😀!");
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        assert_eq!(unescape(r"\ud83d"), "\u{fffd}");
        assert_eq!(unescape(r"\ude00x"), "\u{fffd}x");
        assert_eq!(unescape(r"\ud83d\u0041"), "\u{fffd}A");
        assert_eq!(unescape(r"\ud83d\ud83d\ude00"), "\u{fffd}😀");
    }

    #[test]
    fn text_without_escapes_is_borrowed() {
        assert!(matches!(unescape("plain – text"), Cow::Borrowed(_)));
    }
}
