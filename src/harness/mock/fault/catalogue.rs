//! Every fault as a person learns it: the list that `--help` prints.

use std::fmt::{Display, Write as _};

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
        keys: "PLACE",
        what: "FIN: the connection is closed there",
        example: "close:in-event=2,byte=9",
    },
    CatalogueEntry {
        name: "rst",
        keys: "PLACE",
        what: "RST: the connection is reset there",
        example: "rst:before-headers",
    },
    CatalogueEntry {
        name: "stall",
        keys: "PLACE [for-ms=N]",
        what: "silence there, until the client leaves or for a time",
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
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Faults, as name:key=value,key:\n\n\
         \x20 All but refuse also take turn=NAME|N and times=N. Events are counted from 1, and pings count.\n\
         \x20 A value with a comma is quoted. PLACE is one of before-headers, in-headers, after-headers,\n\
         \x20 after-event=N, in-event=N[,byte=N], in-char=N, after-byte=N.\n",
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
pub(in crate::harness::mock) fn parameter(key: &str, value: impl Display) -> String {
    let value = value.to_string();
    if value.is_empty() || value.contains([',', '"', '\\']) {
        format!("{key}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("{key}={value}")
    }
}
