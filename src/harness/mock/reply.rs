//! An HTTP answer before it goes to the wire, and the faults that change what it says.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::answer::{Answer, AnswerSeed};
use super::error_body::{RATE_LIMITS, error_body, status_of_error};
use super::fault::FaultKind;
use super::sse::Events;

/// A header; most of them are always the same.
pub(super) type Header = (Cow<'static, str>, Cow<'static, str>);

/// An HTTP answer: what, not how it is delivered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<Header>,
    pub(super) body: Vec<u8>,
    /// Where each event ends; empty when the body is no stream.
    pub(super) ends: Vec<usize>,
}

const STREAM: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";

impl Reply {
    pub(super) fn json(status: u16, body: &Value, seed: AnswerSeed) -> Self {
        Reply::new(status, JSON, body.to_string().into_bytes(), Vec::new(), seed)
    }

    pub(super) fn error(status: u16, error_type: &str, message: &str, seed: AnswerSeed) -> Self {
        let body = error_body(error_type, message, &seed.request_id());
        Reply::json(status, &body, seed)
    }

    pub(super) fn stream(events: Events, seed: AnswerSeed) -> Self {
        let (body, ends) = events.into_parts();
        let mut reply = Reply::new(200, STREAM, body, ends, seed);
        reply.headers.push(("cache-control".into(), "no-cache".into()));
        reply
    }

    fn new(status: u16, kind: &'static str, body: Vec<u8>, ends: Vec<usize>, seed: AnswerSeed) -> Self {
        let mut headers: Vec<Header> = Vec::with_capacity(RATE_LIMITS.len() + 3);
        headers.push(("content-type".into(), kind.into()));
        headers.push(("request-id".into(), seed.request_id().into()));
        headers.extend(RATE_LIMITS.map(|(name, value)| (name.into(), value.into())));
        Reply { status, headers, body, ends }
    }

    pub(super) fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned().into(), value.to_owned().into()));
    }

    /// The reply to a request, with the faults that change its content. Those of the transport are left to the plan.
    pub(super) fn of_answer(
        answer: Answer,
        stream: bool,
        fault: Option<&FaultKind>,
        seed: AnswerSeed,
    ) -> Self {
        let answer = match fault {
            Some(FaultKind::HugeText(megabytes)) => answer.with_huge_text(*megabytes as usize * 1_000_000),
            _ => answer,
        };
        let healthy = |answer: &Answer| {
            if stream {
                Reply::stream(answer.events(), seed)
            } else {
                Reply::json(200, &answer.message(), seed)
            }
        };
        // One event of a stream, or the whole of another body.
        let damaged = |event: usize, damage: fn(&[u8]) -> Vec<u8>| {
            let mut reply = healthy(&answer);
            if stream {
                let events = answer.events();
                let broken = damage(events.event(event).unwrap_or_default());
                (reply.body, reply.ends) = events.replace(event, &broken).into_parts();
            } else {
                reply.body = damage(&reply.body);
            }
            reply
        };
        match fault {
            Some(FaultKind::Http(http)) => {
                let mut reply = Reply::json(http.status, &http.body(&seed.request_id()), seed);
                for (name, value) in http.headers() {
                    reply.set_header(&name, &value);
                }
                reply
            }
            Some(FaultKind::ErrorEvent { error_type, message, after_event }) if stream => {
                let mut events = answer.events();
                events.truncate(*after_event);
                events.push(
                    "error",
                    &json!({"type": "error", "error": {"type": error_type, "message": message}}),
                );
                Reply::stream(events, seed)
            }
            Some(FaultKind::ErrorEvent { error_type, message, .. }) => {
                Reply::error(status_of_error(error_type), error_type, message, seed)
            }
            Some(FaultKind::ContentType(value)) => {
                let mut reply = healthy(&answer);
                reply.set_header("content-type", value);
                reply
            }
            Some(FaultKind::Html(status)) => {
                let page = format!(
                    "<!DOCTYPE html>\n<html><head><title>{status}</title></head>\
                     <body><h1>Please sign in to continue</h1></body></html>\n"
                );
                Reply::new(*status, "text/html; charset=utf-8", page.into_bytes(), Vec::new(), seed)
            }
            Some(FaultKind::Empty(status)) => {
                let kind = if stream { STREAM } else { JSON };
                Reply::new(*status, kind, Vec::new(), Vec::new(), seed)
            }
            Some(FaultKind::MalformedSse(event)) if stream => damaged(*event, without_colons),
            Some(FaultKind::MalformedJson(event)) => damaged(*event, cut_json),
            Some(FaultKind::InvalidUtf8(event)) => damaged(*event, with_bad_byte),
            _ => healthy(&answer),
        }
    }
}

/// The lines of an event without the colon that makes them fields.
fn without_colons(event: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(event);
    text.replacen("event: ", "event ", 1).replacen("data: ", "data ", 1).into_bytes()
}

/// JSON cut in the middle of its data, the event still properly ended.
fn cut_json(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let mut middle = start + (bytes.len() - start) / 2;
    // Not inside a character: that is another fault.
    while bytes.get(middle).is_some_and(|byte| byte & 0xC0 == 0x80) {
        middle -= 1;
    }
    let mut cut = bytes[..middle].to_vec();
    if bytes.ends_with(b"\n\n") {
        cut.extend_from_slice(b"\n\n");
    }
    cut
}

/// The same with a byte before the last quote that no UTF-8 text has.
fn with_bad_byte(bytes: &[u8]) -> Vec<u8> {
    let at = bytes.iter().rposition(|byte| *byte == b'"').unwrap_or(bytes.len());
    let mut damaged = bytes.to_vec();
    damaged.insert(at, 0xFF);
    damaged
}
