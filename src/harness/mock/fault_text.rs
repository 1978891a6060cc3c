//! The text form of faults: the catalogue that `--help` prints, and the reader of `name:key=value,key`.

use std::fmt::{Display, Write as _};
use std::str::FromStr;

use crate::harness::document::nearest;

/// One fault as a person learns it.
#[derive(Debug, Clone, Copy)]
pub struct CatalogueEntry {
    /// The name before the colon.
    pub name: &'static str,
    /// The keys after it.
    pub keys: &'static str,
    /// What happens, in a sentence.
    pub what: &'static str,
    /// A fault that parses.
    pub example: &'static str,
}

const PLACES: &str = "before-headers | in-headers | after-headers | after-event=N | in-event=N[,byte=N] | in-char=N | after-byte=N";

/// Every fault there is.
pub const CATALOGUE: &[CatalogueEntry] = &[
    CatalogueEntry {
        name: "http",
        keys: "status=N [retry-after=S] [should-retry=BOOL] [type=T] [message=M] [unified=STATUS] [resets-at=EPOCH]",
        what: "an HTTP error with the API's error body and the headers that steer a retry",
        example: "http:status=429,retry-after=1",
    },
    CatalogueEntry {
        name: "error-event",
        keys: "[type=T] [message=M] [after-event=N]",
        what: "an `error` event in the stream, the first one unless after-event says otherwise",
        example: "error-event:type=overloaded_error,after-event=2",
    },
    CatalogueEntry {
        name: "close",
        keys: PLACES,
        what: "FIN: the connection is closed there",
        example: "close:in-event=2,byte=9",
    },
    CatalogueEntry {
        name: "rst",
        keys: PLACES,
        what: "RST: the connection is reset there",
        example: "rst:before-headers",
    },
    CatalogueEntry {
        name: "stall",
        keys: "PLACE [for-ms=N]",
        what: "silence there, until the client leaves or for a time (places as for close)",
        example: "stall:after-event=3",
    },
    CatalogueEntry {
        name: "end",
        keys: "PLACE in the body",
        what: "the body ends there, properly framed, as if it were complete",
        example: "end:in-char",
    },
    CatalogueEntry {
        name: "slow",
        keys: "[first-byte-ms=N] [event-ms=N] [jitter-ms=N] [bytes-per-second=N]",
        what: "the healthy answer, slowly; goes together with any other fault",
        example: "slow:first-byte-ms=5,event-ms=2,jitter-ms=1",
    },
    CatalogueEntry {
        name: "content-type",
        keys: "[value=TYPE]",
        what: "the healthy body under a wrong content type",
        example: "content-type:value=text/html",
    },
    CatalogueEntry {
        name: "html",
        keys: "[status=N]",
        what: "a page of HTML, as a proxy in the way would send it",
        example: "html:status=502",
    },
    CatalogueEntry { name: "empty", keys: "[status=N]", what: "no body at all", example: "empty:status=200" },
    CatalogueEntry {
        name: "content-length",
        keys: "[delta=N]",
        what: "a content-length that is N too large (or too small), and no chunks",
        example: "content-length:delta=-7",
    },
    CatalogueEntry {
        name: "malformed-sse",
        keys: "[event=N]",
        what: "event N is not in the form of server-sent events",
        example: "malformed-sse:event=2",
    },
    CatalogueEntry {
        name: "malformed-json",
        keys: "[event=N]",
        what: "the data of event N is cut JSON",
        example: "malformed-json:event=2",
    },
    CatalogueEntry {
        name: "invalid-utf8",
        keys: "[event=N]",
        what: "event N holds a byte that is no UTF-8",
        example: "invalid-utf8:event=2",
    },
    CatalogueEntry {
        name: "endless-pings",
        keys: "[after-event=N] [every-ms=N]",
        what: "pings and nothing else, until the client leaves",
        example: "endless-pings:after-event=1,every-ms=5",
    },
    CatalogueEntry {
        name: "huge-text",
        keys: "[megabytes=N]",
        what: "the healthy answer after a text of N megabytes (50 unless said)",
        example: "huge-text:megabytes=50",
    },
    CatalogueEntry {
        name: "refuse",
        keys: "[after-requests=N] [for-ms=N]",
        what: "nothing listens: connections are refused, from the start or after N requests, for ever or for a time",
        example: "refuse:after-requests=1",
    },
];

/// The catalogue as the last section of `--help`.
pub fn help() -> String {
    let mut text = String::from(
        "Faults (name:key=value,key…; every one also takes turn=NAME|N and times=N; a value with a comma is quoted;\n\
         events are counted from 1 and pings count):\n",
    );
    for entry in CATALOGUE {
        _ = write!(
            text,
            "\n  {} {}\n      {}\n      e.g. --fault {}\n",
            entry.name, entry.keys, entry.what, entry.example
        );
    }
    text
}

/// One parameter of a fault in its canonical form.
pub(super) fn parameter(key: &str, value: impl Display) -> String {
    let value = value.to_string();
    if value.is_empty() || value.contains([',', '"', '\\']) {
        format!("{key}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("{key}={value}")
    }
}

/// What was typed, taken apart; like a table of a document it remembers what it was asked for.
pub(super) struct Parameters<'t> {
    name: &'t str,
    given: Vec<(String, Option<String>)>,
    asked: Vec<&'static str>,
}

/// A key as it was typed.
enum Given {
    Not,
    Bare,
    Value(String),
}

impl<'t> Parameters<'t> {
    pub(super) fn parse(text: &'t str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut given: Vec<(String, Option<String>)> = Vec::new();
        for part in split(rest)? {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key, Some(unquote(value))),
                None => (part.as_str(), None),
            };
            let key = key.trim();
            if given.iter().any(|(known, _)| known == key) {
                return Err(format!("`{key}` is given twice"));
            }
            given.push((key.to_owned(), value));
        }
        Ok(Parameters { name: name.trim(), given, asked: Vec::new() })
    }

    pub(super) fn name(&self) -> &'t str {
        self.name
    }

    pub(super) fn unknown_name(name: &str) -> String {
        let known = || CATALOGUE.iter().map(|entry| entry.name);
        match nearest(name, known()) {
            Some(meant) => format!("unknown fault `{name}`, did you mean `{meant}`?"),
            None => {
                format!("unknown fault `{name}`, expected one of: {}", known().collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Given {
        self.asked.push(key);
        match self.given.iter().position(|(known, _)| known == key) {
            None => Given::Not,
            Some(at) => self.given.remove(at).1.map_or(Given::Bare, Given::Value),
        }
    }

    pub(super) fn value(&mut self, key: &'static str) -> Result<Option<String>, String> {
        match self.take(key) {
            Given::Not => Ok(None),
            Given::Value(value) => Ok(Some(value)),
            Given::Bare => Err(format!("`{key}` needs a value, as in `{key}=…`")),
        }
    }

    pub(super) fn number<T: FromStr>(&mut self, key: &'static str) -> Result<Option<T>, String> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        value.parse().map(Some).map_err(|_| format!("`{key}` is a number, not `{value}`"))
    }

    pub(super) fn positive<T: FromStr + PartialOrd + From<u8>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, String> {
        match self.number::<T>(key)? {
            Some(number) if number < T::from(1) => Err(format!("`{key}` is 1 or more")),
            other => Ok(other),
        }
    }

    /// `key=N`, or the bare key for 1.
    pub(super) fn positive_or_flag(&mut self, key: &'static str) -> Result<Option<usize>, String> {
        match self.given.iter().find(|(known, _)| known == key) {
            Some((_, None)) => {
                self.take(key);
                Ok(Some(1))
            }
            _ => self.positive(key),
        }
    }

    pub(super) fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, String> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        value.parse().map(Some).map_err(|_| format!("`{key}` is true or false, not `{value}`"))
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<bool, String> {
        match self.take(key) {
            Given::Not => Ok(false),
            Given::Bare => Ok(true),
            Given::Value(_) => Err(format!("`{key}` takes no value")),
        }
    }

    /// Refuses keys that nobody asked for. Also asked before a complaint that something is missing, which is
    /// usually there under a wrong name.
    pub(super) fn finish(&self) -> Result<(), String> {
        let Some((key, _)) = self.given.first() else { return Ok(()) };
        Err(match nearest(key, self.asked.iter().copied()) {
            Some(meant) => format!("unknown key `{key}`, did you mean `{meant}`?"),
            None => format!("unknown key `{key}`, expected one of: {}", self.asked.join(", ")),
        })
    }
}

/// Splits at commas outside quotes.
fn split(text: &str) -> Result<Vec<String>, String> {
    let (mut parts, mut part, mut quoted, mut escaped) = (Vec::new(), String::new(), false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    if quoted {
        return Err("a quote is not closed".to_owned());
    }
    parts.push(part);
    parts.retain(|part| !part.trim().is_empty());
    Ok(parts)
}

fn unquote(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return value.to_owned();
    };
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        text.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    text
}
