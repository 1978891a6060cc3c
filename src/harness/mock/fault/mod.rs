//! The ways in which the scripted API misbehaves, and their one text form: `name:key=value,key`.
//!
//! The same text stands in a scenario, on the command line and in the id of a sweep case:
//!
//! ```
//! use clawgate::harness::mock::fault::Fault;
//!
//! let fault: Fault = "rst:after-event=3,times=2".parse()?;
//! assert_eq!(fault.to_string(), "rst:after-event=3,times=2");
//! assert!("rst:after-evnt=3".parse::<Fault>().unwrap_err().to_string().contains("did you mean `after-event`?"));
//! # Ok::<(), clawgate::harness::mock::fault::FaultError>(())
//! ```

pub(crate) mod catalogue;
pub(super) mod choice;
pub(super) mod reader;

use std::fmt;

use crate::harness::mock::fault::catalogue::parameter;
use crate::harness::mock::pace::Pace;

/// One planned misbehaviour: what, in which turn, and how often.
///
/// ```
/// use clawgate::harness::mock::Fault;
///
/// let fault: Fault = "http:status=429,times=2".parse()?;
/// assert_eq!(fault.times, Some(2));
/// assert!("htpp:status=429".parse::<Fault>().unwrap_err().to_string().contains("did you mean"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happens.
    pub kind: FaultKind,
    /// Only in the turn of this name or position; in every turn without it.
    pub turn: Option<String>,
    /// In how many attempts of a turn, after which it is healthy; in all of them without it.
    pub times: Option<u32>,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An HTTP error with the API's error body.
    Http(HttpFault),
    /// An `error` event in the stream, after which it ends.
    ErrorEvent {
        /// The API's error type, such as `overloaded_error`.
        error_type: String,
        /// The API's message.
        message: String,
        /// How many healthy events come first.
        after_event: usize,
    },
    /// The connection ends, is reset or falls silent.
    Cut {
        /// How it ends.
        ending: Ending,
        /// Where.
        at: CutPoint,
    },
    /// The healthy answer, slowly.
    Slow(Pace),
    /// The healthy body under a wrong content type.
    ContentType(String),
    /// A page of HTML, as a proxy in the way would send it.
    Html {
        /// The HTTP status.
        status: u16,
    },
    /// No body at all.
    Empty {
        /// The HTTP status.
        status: u16,
    },
    /// A content-length that is wrong by `delta`; the connection is closed after the body.
    ContentLength {
        /// Claimed minus real length.
        delta: i64,
    },
    /// One event whose lines are not server-sent events.
    MalformedSse {
        /// Which event, counted from 1.
        event: usize,
    },
    /// One event whose data is cut JSON; without a stream, the whole body.
    MalformedJson {
        /// Which event, counted from 1.
        event: usize,
    },
    /// One event with a byte that is no UTF-8; without a stream, the whole body.
    InvalidUtf8 {
        /// Which event, counted from 1.
        event: usize,
    },
    /// Pings and nothing else, for ever.
    EndlessPings {
        /// How many healthy events come first.
        after_event: usize,
        /// Milliseconds between two pings.
        every_ms: u64,
    },
    /// The healthy answer with a text of this size in front.
    HugeText {
        /// Size of the text in megabytes (10^6 bytes).
        megabytes: u64,
    },
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
    /// The `retry-after` header.
    pub retry_after: Option<String>,
    /// The `x-should-retry` header.
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
        /// Which event.
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
    /// A fault of this kind in every attempt of every turn.
    pub fn always(kind: FaultKind) -> Self {
        Fault { kind, turn: None, times: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parameters = self.kind.parameters();
        parameters.extend(self.turn.iter().map(|turn| parameter("turn", turn)));
        parameters.extend(self.times.iter().map(|times| parameter("times", times)));
        f.write_str(self.kind.name())?;
        for (index, parameter) in parameters.iter().enumerate() {
            f.write_str(if index == 0 { ":" } else { "," })?;
            f.write_str(parameter)?;
        }
        Ok(())
    }
}

impl FaultKind {
    /// The name that stands before the colon.
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::Http(_) => "http",
            FaultKind::ErrorEvent { .. } => "error-event",
            FaultKind::Cut { ending: Ending::Close, .. } => "close",
            FaultKind::Cut { ending: Ending::Reset, .. } => "rst",
            FaultKind::Cut { ending: Ending::Stall { .. }, .. } => "stall",
            FaultKind::Cut { ending: Ending::End, .. } => "end",
            FaultKind::Slow(_) => "slow",
            FaultKind::ContentType(_) => "content-type",
            FaultKind::Html { .. } => "html",
            FaultKind::Empty { .. } => "empty",
            FaultKind::ContentLength { .. } => "content-length",
            FaultKind::MalformedSse { .. } => "malformed-sse",
            FaultKind::MalformedJson { .. } => "malformed-json",
            FaultKind::InvalidUtf8 { .. } => "invalid-utf8",
            FaultKind::EndlessPings { .. } => "endless-pings",
            FaultKind::HugeText { .. } => "huge-text",
            FaultKind::Refuse { .. } => "refuse",
        }
    }

    fn parameters(&self) -> Vec<String> {
        fn some<T: fmt::Display>(list: &mut Vec<String>, key: &str, value: Option<&T>) {
            list.extend(value.map(|value| parameter(key, value)));
        }
        let mut list = Vec::new();
        match self {
            FaultKind::Http(http) => {
                list.push(parameter("status", http.status));
                some(&mut list, "retry-after", http.retry_after.as_ref());
                some(&mut list, "should-retry", http.should_retry.as_ref());
                some(&mut list, "type", http.error_type.as_ref());
                some(&mut list, "message", http.message.as_ref());
                some(&mut list, "unified", http.unified.as_ref());
                some(&mut list, "resets-at", http.resets_at.as_ref());
            }
            FaultKind::ErrorEvent { error_type, message, after_event } => {
                list.push(parameter("type", error_type));
                list.push(parameter("message", message));
                list.push(parameter("after-event", after_event));
            }
            FaultKind::Cut { ending, at } => {
                list.extend(at.parameters());
                if let Ending::Stall { for_ms } = ending {
                    some(&mut list, "for-ms", for_ms.as_ref());
                }
            }
            FaultKind::Slow(pace) => {
                list.push(parameter("first-byte-ms", pace.first_byte_ms));
                some(&mut list, "event-ms", pace.event_ms.as_ref());
                list.push(parameter("jitter-ms", pace.jitter_ms));
                some(&mut list, "bytes-per-second", pace.bytes_per_second.as_ref());
            }
            FaultKind::ContentType(value) => list.push(parameter("value", value)),
            FaultKind::Html { status } | FaultKind::Empty { status } => {
                list.push(parameter("status", status));
            }
            FaultKind::ContentLength { delta } => list.push(parameter("delta", delta)),
            FaultKind::MalformedSse { event }
            | FaultKind::MalformedJson { event }
            | FaultKind::InvalidUtf8 { event } => list.push(parameter("event", event)),
            FaultKind::EndlessPings { after_event, every_ms } => {
                list.push(parameter("after-event", after_event));
                list.push(parameter("every-ms", every_ms));
            }
            FaultKind::HugeText { megabytes } => list.push(parameter("megabytes", megabytes)),
            FaultKind::Refuse { after_requests, for_ms } => {
                list.push(parameter("after-requests", after_requests));
                some(&mut list, "for-ms", for_ms.as_ref());
            }
        }
        list
    }
}

impl CutPoint {
    fn parameters(self) -> Vec<String> {
        match self {
            CutPoint::BeforeHeaders => vec!["before-headers".to_owned()],
            CutPoint::InHeaders => vec!["in-headers".to_owned()],
            CutPoint::AfterHeaders => vec!["after-headers".to_owned()],
            CutPoint::AfterEvent(count) => vec![parameter("after-event", count)],
            CutPoint::InEvent { event, byte } => {
                let mut list = vec![parameter("in-event", event)];
                list.extend(byte.map(|byte| parameter("byte", byte)));
                list
            }
            CutPoint::InChar(nth) => vec![parameter("in-char", nth)],
            CutPoint::AfterByte(count) => vec![parameter("after-byte", count)],
        }
    }
}

/// Whether a cut leaves no whole head on the wire, and so no status.
pub(in crate::harness::mock) fn hides_status(ending: Ending, at: CutPoint) -> bool {
    matches!(at, CutPoint::BeforeHeaders | CutPoint::InHeaders)
        && !matches!(ending, Ending::Stall { for_ms: Some(_) })
}
