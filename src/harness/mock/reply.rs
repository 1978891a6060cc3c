//! An HTTP answer before it goes to the wire, and the faults that change what it says.

use std::borrow::Cow;

use serde_json::Value;

use super::answer::{Answer, AnswerSeed};
use super::dialect::{ApiError, Asked, Dialect, fault_headers, request_id};
use super::fault::FaultKind;
use super::sse::Events;

/// The dialect of an answer.
pub(super) type Speaks = &'static dyn Dialect;

/// A header; most of them are always the same.
pub(super) type Header = (Cow<'static, str>, Cow<'static, str>);

/// An HTTP answer: what, not how it is delivered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<Header>,
    pub(super) body: Vec<u8>,
    /// Where each event ends; empty when the body is no stream.
    pub(super) ends: Vec<usize>,
}

impl Reply {
    pub(super) fn json(dialect: Speaks, status: u16, body: &Value, seed: AnswerSeed) -> Self {
        let kind = &dialect.data().json;
        Reply::new(dialect, status, kind, body.to_string().into_bytes(), Vec::new(), seed)
    }

    pub(super) fn error(dialect: Speaks, error: &ApiError, seed: AnswerSeed) -> Self {
        Reply::json(dialect, error.status, &dialect.error_body(error), seed)
    }

    pub(super) fn stream(dialect: Speaks, events: Events, seed: AnswerSeed) -> Self {
        // An answer may be streamed in other ways than by server-sent events.
        let kind = events.content_type.unwrap_or(&dialect.data().stream);
        let (body, ends) = events.into_parts();
        let mut reply = Reply::new(dialect, 200, kind, body, ends, seed);
        reply.headers.push(("cache-control".into(), "no-cache".into()));
        reply
    }

    fn new(
        dialect: Speaks,
        status: u16,
        kind: &'static str,
        body: Vec<u8>,
        ends: Vec<usize>,
        seed: AnswerSeed,
    ) -> Self {
        let known = &dialect.data().headers;
        let mut headers: Vec<Header> = Vec::with_capacity(known.len() + 3);
        headers.push(("content-type".into(), kind.into()));
        headers.extend(known.iter().map(|(name, value)| {
            let value = match value.as_str() {
                "{request_id}" => request_id(dialect, seed).into(),
                value => value.into(),
            };
            (name.as_str().into(), value)
        }));
        Reply { status, headers, body, ends }
    }

    pub(super) fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned().into(), value.to_owned().into()));
    }

    /// The reply to a request, with the faults that change its content. Those of the transport are left to the plan.
    pub(super) fn of_answer(
        answer: Answer,
        dialect: Speaks,
        asked: Asked<'_>,
        stream: bool,
        fault: Option<&FaultKind>,
        seed: AnswerSeed,
    ) -> Self {
        let answer = match fault {
            Some(FaultKind::HugeText(megabytes)) => {
                answer.with_huge_text(*megabytes as usize * 1_000_000 / dialect.repeats())
            }
            _ => answer,
        };
        let healthy = |answer: &Answer| {
            if stream {
                Reply::stream(dialect, dialect.events(answer, asked), seed)
            } else {
                Reply::json(dialect, 200, &dialect.message(answer, asked), seed)
            }
        };
        // One event of a stream, or the whole of another body.
        let damaged = |event: usize, damage: fn(&[u8]) -> Vec<u8>| {
            let mut reply = healthy(&answer);
            if stream {
                let events = dialect.events(&answer, asked);
                let broken = damage(events.event(event).unwrap_or_default());
                (reply.body, reply.ends) = events.replace(event, &broken).into_parts();
            } else {
                reply.body = damage(&reply.body);
            }
            reply
        };
        match fault {
            Some(FaultKind::Http(http)) => {
                let mut reply = Reply::error(dialect, &ApiError::of_fault(dialect, http, seed), seed);
                for (name, value) in fault_headers(dialect, http) {
                    reply.set_header(&name, &value);
                }
                reply
            }
            Some(FaultKind::ErrorEvent { error_type, message, after_event }) if stream => {
                let mut events = dialect.events(&answer, asked);
                events.truncate(*after_event);
                let error = ApiError::of_type(dialect, error_type, seed);
                let error = ApiError { message: message.clone(), ..error };
                dialect.push_error(&mut events, &answer, asked, &error);
                Reply::stream(dialect, events, seed)
            }
            Some(FaultKind::ErrorEvent { error_type, message, .. }) => {
                let error = ApiError::of_type(dialect, error_type, seed);
                Reply::error(dialect, &ApiError { message: message.clone(), ..error }, seed)
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
                Reply::new(dialect, *status, "text/html; charset=utf-8", page.into_bytes(), Vec::new(), seed)
            }
            Some(FaultKind::Empty(status)) => {
                let kind = if stream { &dialect.data().stream } else { &dialect.data().json };
                Reply::new(dialect, *status, kind, Vec::new(), Vec::new(), seed)
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
    let without = text.replacen("event: ", "event ", 1).replacen("data: ", "data ", 1);
    // A list of JSON has no such lines; what breaks it is its braces.
    if without == text { cut_json(event) } else { without.into_bytes() }
}

/// JSON cut in the middle of its data, the event still properly ended.
fn cut_json(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let mut middle = start + (bytes.len() - start) / 2;
    // Not inside a character: that is another fault.
    while bytes.get(middle).is_some_and(|byte| byte & 0xC0 == 0x80) {
        middle -= 1;
    }
    let ends = bytes.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    [&bytes[..middle], &bytes[ends..]].concat()
}

/// The same with a byte before the last quote that no UTF-8 text has.
fn with_bad_byte(bytes: &[u8]) -> Vec<u8> {
    let at = bytes.iter().rposition(|byte| *byte == b'"').unwrap_or(bytes.len());
    let mut damaged = bytes.to_vec();
    damaged.insert(at, 0xFF);
    damaged
}
