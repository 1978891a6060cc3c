//! The ways in which the scripted API misbehaves, and their one text form: `name:key=value,key`.
//!
//! The same text stands in a scenario, on the command line and in the id of a sweep case:
//!
//! ```
//! use clawgate::testing::Fault;
//!
//! let fault: Fault = "rst:after-event=3,times=2".parse()?;
//! assert_eq!(fault.to_string(), "rst:after-event=3,times=2");
//! assert!("rst:after-evnt=3".parse::<Fault>().unwrap_err().to_string().contains("did you mean `after-event`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(super) mod choice;
pub(super) mod reader;

use std::fmt;

use crate::harness::mock::pace::Pace;

/// Every fault as a person learns it: the last section of `--help`.
pub(crate) const HELP: &str = include_str!("faults.txt");

/// Every fault there is, by its name, with an example that parses.
pub fn catalogue() -> Vec<(&'static str, &'static str)> {
    let entries = HELP.split("\n\n").skip(2);
    entries
        .filter_map(|entry| {
            Some((entry.split_whitespace().next()?, entry.split_once("--fault ")?.1.trim_end()))
        })
        .collect()
}

/// One planned misbehaviour: what, in which turn, and how often.
///
/// ```
/// use clawgate::testing::Fault;
///
/// let fault: Fault = "http:status=429,times=2".parse()?;
/// assert_eq!(fault.times, Some(2));
/// assert!("htpp:status=429".parse::<Fault>().unwrap_err().to_string().contains("did you mean"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What goes wrong, with its parameters.
    pub kind: FaultKind,
    /// Only in the turn of this name or position; in every turn without it.
    pub turn: Option<String>,
    /// In how many attempts of a turn, after which it is healthy; in all of them without it.
    pub times: Option<u32>,
    /// All of it as it is written in full: every parameter in a fixed order, defaults included.
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An HTTP error with the API's error body.
    Http(HttpFault),
    /// An `error` event in the stream, after which it ends.
    ErrorEvent {
        /// The API's error type, such as `overloaded_error`.
        error_type: String,
        message: String,
        /// How many healthy events come first.
        after_event: usize,
    },
    /// The connection ends, is reset or falls silent.
    Cut { ending: Ending, at: CutPoint },
    /// The healthy answer, slowly.
    Slow(Pace),
    /// The healthy body under a wrong content type.
    ContentType(String),
    /// A page of HTML with this status, as a proxy in the way would send it.
    Html(u16),
    /// This status and no body at all.
    Empty(u16),
    /// A content-length that is too large by this (or too small); the connection is closed after the body.
    ContentLength(i64),
    /// One event, counted from 1, whose lines are not server-sent events.
    MalformedSse(usize),
    /// One event, counted from 1, whose data is cut JSON; without a stream, the whole body.
    MalformedJson(usize),
    /// One event, counted from 1, with a byte that is no UTF-8; without a stream, the whole body.
    InvalidUtf8(usize),
    /// Pings and nothing else, for ever.
    EndlessPings {
        /// How many healthy events come first.
        after_event: usize,
        /// Milliseconds between two pings.
        every_ms: u64,
    },
    /// The healthy answer with a text of so many megabytes (10^6 bytes) in front.
    HugeText(u64),
    /// Nothing listens: connections are refused.
    Refuse {
        /// How many requests are answered first.
        after_requests: u32,
        /// Milliseconds until the server listens (again); never without it.
        for_ms: Option<u64>,
    },
}

/// An HTTP error and the headers that tell a client what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpFault {
    /// The HTTP status, 400 to 599.
    pub status: u16,
    pub retry_after: Option<String>,
    pub should_retry: Option<bool>,
    /// The API's error type; that of the status without it.
    pub error_type: Option<String>,
    /// The API's message; that of the status without it.
    pub message: Option<String>,
    /// The unified rate-limit status (`rejected`, `allowed_warning`), with its headers.
    pub unified: Option<String>,
    /// When the unified limit resets, in seconds of the epoch.
    pub resets_at: Option<u64>,
}

impl HttpFault {
    /// A 400 after which asking again cannot help.
    pub(crate) fn refusal(message: &str) -> Self {
        HttpFault {
            status: 400,
            retry_after: None,
            should_retry: Some(false),
            error_type: None,
            message: Some(message.to_owned()),
            unified: None,
            resets_at: None,
        }
    }
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// FIN: closed without the rest.
    Close,
    /// RST: reset by the peer.
    Reset,
    /// Silence on an open connection, for ever or for a time, after which the rest follows.
    Stall {
        /// Milliseconds of silence; without it, until the client leaves.
        for_ms: Option<u64>,
    },
    /// The body ends there, properly framed, as if it were complete.
    End,
}

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutPoint {
    /// Before the first byte of the answer.
    BeforeHeaders,
    /// In the middle of the head.
    InHeaders,
    /// After the head, before the body.
    AfterHeaders,
    /// After so many whole events.
    AfterEvent(usize),
    /// Inside an event, counted from 1, after so many of its bytes (the middle without it).
    InEvent {
        event: usize,
        /// After how many of its bytes.
        byte: Option<usize>,
    },
    /// After the first byte of the nth character that has more than one.
    InChar(usize),
    /// After so many bytes of the body.
    AfterByte(usize),
}

/// The text of a fault cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fault `{text}`: {message}")]
pub struct FaultError {
    /// The text as given.
    pub text: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl Fault {
    /// The name before the colon.
    pub(crate) fn name(&self) -> &str {
        self.text.split(':').next().unwrap_or_default()
    }

    /// The same in one turn only.
    pub(crate) fn in_turn(self, name: &str) -> Self {
        let separator = if self.text.contains(':') { ',' } else { ':' };
        let text = format!("{}{separator}{}", self.text, parameter("turn", name));
        Fault { turn: Some(name.to_owned()), text, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One parameter of a fault as it is written.
fn parameter(key: &str, value: impl fmt::Display) -> String {
    let value = value.to_string();
    if value.is_empty() || value.contains([',', '"', '\\']) {
        format!("{key}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("{key}={value}")
    }
}

/// Whether a cut leaves no whole head on the wire, and so no status.
pub(in crate::harness::mock) fn hides_status(ending: Ending, at: CutPoint) -> bool {
    matches!(at, CutPoint::BeforeHeaders | CutPoint::InHeaders)
        && !matches!(ending, Ending::Stall { for_ms: Some(_) })
}
