//! Credentials that are known by how they look, whoever printed them.
//!
//! Each begins in a way that ordinary text does not, and is long enough: hashes, identifiers and pictures in base64 are
//! none.

use std::ops::Range;

/// A secret that is longer is masked as it goes by.
const MOST_HELD: usize = 8 << 10;
/// A key of AWS is so long.
const AWS_SECRET: usize = 40;
/// Fewer characters of base64 after the first line of a PEM file are no key.
const LEAST_PEM: usize = 16;

/// How the last line of a PEM file begins.
const PEM_END: &[u8] = b"-----END";

/// Which bytes a secret consists of.
pub(super) type Letters = fn(u8) -> bool;

/// What a credential looks like after its beginning.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// So many letters at least.
    Token {
        least: usize,
        most: usize,
        needs_digit: bool,
        letters: Letters,
    },
    /// Three parts with dots between them.
    Jwt,
    Pem,
    /// The name of a key, beside which the key stands.
    AwsSecret,
    /// A value that is known to be secret.
    Known,
    /// A part of one in base64 or hex: all that is written like it after it belongs to it.
    Part,
}

const fn token(least: usize) -> Shape {
    Shape::Token { least, most: usize::MAX, needs_digit: true, letters: is_word }
}

/// How credentials begin.
pub(super) const SHAPES: &[(&str, Shape)] = &[
    ("sk-ant-", Shape::Token { least: 1, most: usize::MAX, needs_digit: false, letters: is_word }),
    ("sk-proj-", token(10)),
    ("ghp_", token(10)),
    ("gho_", token(10)),
    ("ghu_", token(10)),
    ("ghs_", token(10)),
    ("ghr_", token(10)),
    ("github_pat_", token(10)),
    ("glpat-", token(10)),
    ("xoxa-", token(10)),
    ("xoxb-", token(10)),
    ("xoxe-", token(10)),
    ("xoxp-", token(10)),
    ("xoxr-", token(10)),
    ("xoxs-", token(10)),
    // `npm_config_cache` is a setting.
    ("npm_", Shape::Token { least: 20, most: usize::MAX, needs_digit: true, letters: is_alphanumeric }),
    ("AIza", Shape::Token { least: 30, most: 60, needs_digit: true, letters: is_word }),
    ("AKIA", Shape::Token { least: 16, most: 16, needs_digit: false, letters: is_upper_or_digit }),
    ("ASIA", Shape::Token { least: 16, most: 16, needs_digit: false, letters: is_upper_or_digit }),
    ("Bearer ", Shape::Token { least: 16, most: usize::MAX, needs_digit: true, letters: is_bearer }),
    ("bearer ", Shape::Token { least: 16, most: usize::MAX, needs_digit: true, letters: is_bearer }),
    ("eyJ", Shape::Jwt),
    ("-----BEGIN ", Shape::Pem),
    ("ecret_access_key", Shape::AwsSecret),
    ("ECRET_ACCESS_KEY", Shape::AwsSecret),
    ("ecret-access-key", Shape::AwsSecret),
    ("ecretAccessKey", Shape::AwsSecret),
];

/// What stands at the beginning of a credential.
#[derive(Debug, Clone)]
pub(super) enum Met {
    /// Nothing that has to be masked.
    Nothing,
    /// This has to be masked. With letters, what follows of these belongs to it.
    Secret(Range<usize>, Option<Letters>),
    /// What comes next decides.
    Undecided,
}

impl Shape {
    /// Looks at what follows a beginning, which stands at `begins`. Where the text `is_whole`, nothing comes after it.
    pub(super) fn meet(self, text: &[u8], begins: Range<usize>, is_whole: bool) -> Met {
        match self {
            Self::Known => Met::Secret(begins, None),
            Self::Token { least, most, needs_digit, letters } => {
                let token = begins.end..run(text, begins.end, letters);
                if token.end == text.len() && !is_whole {
                    return unfinished(token, letters);
                }
                let found = &text[token.clone()];
                let is_long = if starts_word(text, begins.start) {
                    found.len() >= least
                } else {
                    most == usize::MAX && found.len() >= least.max(30) && is_mixed(found)
                };
                let has_digit = !needs_digit || found.iter().any(u8::is_ascii_digit);
                if is_long && found.len() <= most && has_digit {
                    Met::Secret(token, None)
                } else {
                    Met::Nothing
                }
            }
            Self::Part => part(text, &begins, is_whole),
            Self::Jwt => jwt(text, &begins, is_whole),
            Self::Pem => pem(text, begins.end, is_whole),
            Self::AwsSecret => aws_secret(text, begins.end, is_whole),
        }
    }
}

/// A secret that goes on where the text ends.
fn unfinished(so_far: Range<usize>, letters: Letters) -> Met {
    if so_far.len() < MOST_HELD { Met::Undecided } else { Met::Secret(so_far, Some(letters)) }
}

/// From a part of a value to the end of the line, or of the word, that holds it.
fn part(text: &[u8], found: &Range<usize>, is_whole: bool) -> Met {
    let letters: Letters = if text[found.clone()].contains(&b' ') { is_spaced_hex } else { is_any_base64 };
    let end = run(text, found.end, letters);
    let is_open = end == text.len() && !is_whole;
    Met::Secret(found.start..end, is_open.then_some(letters))
}

fn jwt(text: &[u8], begins: &Range<usize>, is_whole: bool) -> Met {
    if !starts_word(text, begins.start) {
        return Met::Nothing;
    }
    let mut end = begins.end;
    for part in 0..3 {
        let from = end;
        end = run(text, from, is_word);
        if end == text.len() && !is_whole {
            return unfinished(begins.end..end, is_jwt);
        }
        let goes_on = part == 2 || text.get(end) == Some(&b'.');
        if end - from < 8 || !goes_on || (part == 1 && !text[from..].starts_with(b"eyJ")) {
            return Met::Nothing;
        }
        end += usize::from(part < 2);
    }
    Met::Secret(begins.end..end, None)
}

/// A private key from behind `-----BEGIN ` on. Certificates and public keys are no secrets.
fn pem(text: &[u8], from: usize, is_whole: bool) -> Met {
    let title = run(text, from, |byte| byte.is_ascii_uppercase() || byte == b' ');
    let rest = &text[title..];
    if rest.len() < 5 && !is_whole && b"-----".starts_with(rest) {
        return Met::Undecided;
    }
    if !text[from..title].ends_with(b"PRIVATE KEY") || !rest.starts_with(b"-----") {
        return Met::Nothing;
    }
    pem_body(text, title + 5, is_whole)
}

/// The lines of a private key; newlines may be escaped. It ends where something else begins, not with a line.
fn pem_body(text: &[u8], from: usize, is_whole: bool) -> Met {
    let body = from..run(&text[..pem_end(text, from)], from, is_pem);
    let is_open = body.end == text.len();
    if is_open && !is_whole {
        return unfinished(body, is_pem);
    }
    // Whoever only speaks of a key goes on in the same line.
    let is_line = matches!(text.get(from), Some(b'\n' | b'\r' | b'\\'));
    let is_long = |body: &[u8]| body.split(|byte| !is_base64(*byte)).any(|run| run.len() >= LEAST_PEM);
    if is_line || is_long(&text[body.clone()]) {
        Met::Secret(body, is_open.then_some(is_pem))
    } else {
        Met::Nothing
    }
}

/// Where the last line of a key begins.
fn pem_end(text: &[u8], from: usize) -> usize {
    memchr::memmem::find(&text[from..], PEM_END).map_or(text.len(), |end| from + end)
}

/// How much of a text belongs to a secret that began before it, and whether it may go on.
pub(super) fn goes_on(text: &[u8], letters: Letters, is_whole: bool) -> (usize, bool) {
    if !std::ptr::fn_addr_eq(letters, is_pem as Letters) {
        let end = run(text, 0, letters);
        return (end, end == text.len());
    }
    let end = run(&text[..pem_end(text, 0)], 0, is_pem);
    if end < text.len() || is_whole {
        return (end, end == text.len());
    }
    let last = (1..PEM_END.len()).rev().find(|length| text.ends_with(&PEM_END[..*length]));
    (end - last.unwrap_or_default(), true)
}

fn aws_secret(text: &[u8], from: usize, is_whole: bool) -> Met {
    let between = run(text, from, |byte| b" \t\"'\\:=>,".contains(&byte));
    let key = between..run(text, between, is_base64);
    if between - from > 12 || key.len() > AWS_SECRET {
        Met::Nothing
    } else if key.end == text.len() && !is_whole {
        Met::Undecided
    } else if between > from && key.len() == AWS_SECRET && text.get(key.end) != Some(&b'=') {
        Met::Secret(key, None)
    } else {
        Met::Nothing
    }
}

/// Whether this is a value that stands beside the name of a key of AWS.
#[cfg(feature = "testing")]
pub(super) fn is_aws_secret(name: &str, value: &str) -> bool {
    let is_named =
        SHAPES.iter().any(|(ending, shape)| matches!(shape, Shape::AwsSecret) && name.ends_with(ending));
    is_named && value.len() == AWS_SECRET && value.bytes().all(is_base64)
}

/// Where a run of such letters ends.
pub(super) fn run(text: &[u8], from: usize, letters: impl Fn(u8) -> bool) -> usize {
    from + text[from..].iter().take_while(|byte| letters(**byte)).count()
}

/// Whether no word goes on here. What an escape or a colour ends with is no part of a word.
fn starts_word(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    let Some(last) = before.last().filter(|last| is_alphanumeric(**last) || **last == b'_') else {
        return true;
    };
    let hex_after = |mark: &[u8], digits: usize| {
        let Some((head, tail)) = before.split_at_checked(before.len().wrapping_sub(digits)) else {
            return false;
        };
        head.ends_with(mark) && tail.iter().all(u8::is_ascii_hexdigit)
    };
    let after_escape = b"bfnrt".contains(last) && before[..before.len() - 1].ends_with(b"\\");
    let after_colour = *last == b'm' && {
        let code = &before[..before.len() - 1];
        let digits = code.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        code[..code.len() - digits].ends_with(b"[")
    };
    after_escape || after_colour || hex_after(b"\\u", 4) || hex_after(b"%", 2)
}

fn is_mixed(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_lowercase) && text.iter().any(u8::is_ascii_uppercase)
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn is_jwt(byte: u8) -> bool {
    is_word(byte) || byte == b'.'
}

fn is_bearer(byte: u8) -> bool {
    is_jwt(byte) || matches!(byte, b'~' | b'+' | b'/' | b'=')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

fn is_any_base64(byte: u8) -> bool {
    is_base64(byte) || b"-_=".contains(&byte)
}

fn is_spaced_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b' '
}

fn is_pem(byte: u8) -> bool {
    is_base64(byte) || b"=\\ \r\n:,-".contains(&byte)
}
