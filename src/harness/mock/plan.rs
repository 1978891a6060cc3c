//! How a reply goes over the wire: a pure function from reply and fault to the bytes, pauses and the end.

use std::time::Duration;

use super::fault::{CutPoint, Ending, FaultKind};
use super::pace::{Pace, Random};
use super::reply::Reply;

/// One thing that the transport does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Send(Part),
    Pause(Duration),
    /// Writes the same bytes at this interval until the client leaves.
    Repeat(Vec<u8>, Duration),
    /// Sends nothing more on the open connection until the client leaves.
    Silence,
    /// FIN after the whole answer.
    Close,
    /// FIN because of a fault.
    Cut,
    Reset,
}

/// Bytes that are written at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) bytes: Vec<u8>,
    /// How many of them are of the body of the reply, rather than of its head and frames.
    pub(super) of_body: usize,
}

/// What the request says about its answer, apart from what it asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResponseMode {
    /// HEAD: no body, whatever the reply has.
    pub(super) head_only: bool,
    /// The connection serves another request afterwards.
    pub(super) keep_alive: bool,
}

/// How a reply is to be delivered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery<'d> {
    pub(super) fault: Option<&'d FaultKind>,
    pub(super) pace: &'d Pace,
    /// What keeps a stream alive and says nothing.
    pub(super) ping: &'static [u8],
    pub(super) mode: ResponseMode,
}

pub(super) fn plan(reply: &Reply, delivery: Delivery<'_>, random: &mut Random) -> Vec<Step> {
    let Delivery { fault, pace, ping, mode } = delivery;
    let mut writer = Writer { pace, ping, random, steps: Vec::new() };
    let wait = writer.pace.pause(pace.first_byte_ms, writer.random);
    writer.pause(wait);
    let complete = writer.reply(reply, fault, mode);
    if complete && !mode.keep_alive {
        writer.steps.push(if fault.is_none() { Step::Close } else { Step::Cut });
    }
    writer.steps
}

struct Writer<'p> {
    pace: &'p Pace,
    ping: &'static [u8],
    random: &'p mut Random,
    steps: Vec<Step>,
}

impl Writer<'_> {
    fn pause(&mut self, duration: Duration) {
        if !duration.is_zero() {
            self.steps.push(Step::Pause(duration));
        }
    }

    /// Adds bytes; without a pace everything between two pauses is one write.
    fn send(&mut self, bytes: &[u8], of_body: usize, separately: bool) {
        if bytes.is_empty() {
            return;
        }
        match self.steps.last_mut() {
            Some(Step::Send(last)) if !separately => {
                last.bytes.extend_from_slice(bytes);
                last.of_body += of_body;
            }
            _ => self.steps.push(Step::Send(Part { bytes: bytes.to_vec(), of_body })),
        }
    }

    /// Ends as the fault wants it. Whether the rest follows.
    fn end(&mut self, ending: Ending) -> bool {
        self.steps.push(match ending {
            Ending::Close | Ending::End => Step::Cut,
            Ending::Reset => Step::Reset,
            Ending::Stall { for_ms: None } => Step::Silence,
            Ending::Stall { for_ms: Some(for_ms) } => {
                self.pause(Duration::from_millis(for_ms));
                return true;
            }
        });
        false
    }

    /// Whether the reply was sent in full and the connection can go on.
    fn reply(&mut self, reply: &Reply, fault: Option<&FaultKind>, mode: ResponseMode) -> bool {
        let streamed = !reply.ends.is_empty() && !mode.head_only;
        let cut = match fault {
            Some(FaultKind::Cut { ending, at }) => Some((*ending, *at)),
            _ => None,
        };
        let offset = cut.and_then(|(_, at)| cut_offset(reply, at));
        let framing = match (fault, cut) {
            (Some(FaultKind::ContentLength(delta)), _) => {
                Framing::Length(reply.body.len().saturating_add_signed(*delta as isize))
            }
            _ if streamed => Framing::Chunked,
            (_, Some((Ending::End, _))) => Framing::Length(offset.unwrap_or(reply.body.len())),
            _ => Framing::Length(reply.body.len()),
        };
        let keep_alive = mode.keep_alive && !matches!(fault, Some(FaultKind::ContentLength(_)));
        let head = head(reply, framing, keep_alive);
        match cut {
            Some((ending, CutPoint::BeforeHeaders)) => {
                if !self.end(ending) {
                    return false;
                }
                self.send(&head, 0, true);
            }
            Some((ending, CutPoint::InHeaders)) => {
                let (first, second) = head.split_at(head.len() / 2);
                self.send(first, 0, true);
                if !self.end(ending) {
                    return false;
                }
                self.send(second, 0, true);
            }
            _ => self.send(&head, 0, true),
        }
        if mode.head_only {
            return true;
        }
        let cut = cut.zip(offset).map(|((ending, _), offset)| (ending, offset));
        if let Some(FaultKind::EndlessPings { after_event, every_ms }) = fault.filter(|_| streamed) {
            let end = event_end(reply, *after_event).unwrap_or(reply.body.len());
            self.body(reply, end, Framing::Chunked, None);
            self.steps.push(Step::Repeat(chunk(self.ping), Duration::from_millis(*every_ms)));
            return false;
        }
        let complete = self.body(reply, reply.body.len(), framing, cut);
        if complete && framing == Framing::Chunked {
            // With the last event, as every server does it that knows that it is the last.
            self.send(b"0\r\n\r\n", 0, false);
        }
        if complete && matches!(fault, Some(FaultKind::ContentLength(_))) {
            self.steps.push(Step::Cut);
            return false;
        }
        complete
    }

    /// Sends the body up to `end`, event by event. Whether it went on to there.
    fn body(&mut self, reply: &Reply, end: usize, framing: Framing, cut: Option<(Ending, usize)>) -> bool {
        let mut start = 0;
        let ends = if reply.ends.is_empty() { vec![reply.body.len()] } else { reply.ends.clone() };
        // An end at the very start of the body comes before its first event.
        if let Some((ending, 0)) = cut {
            if ending == Ending::End {
                return true;
            }
            if !self.end(ending) {
                return false;
            }
        }
        for unit_end in ends {
            if unit_end > end {
                break;
            }
            let unit = &reply.body[start..unit_end];
            let inside = cut.filter(|(_, offset)| *offset > start && *offset <= unit_end);
            // The first event goes out with the head.
            let is_first = start == 0;
            if !is_first {
                let wait = self.pace.event_ms.map(|ms| self.pace.pause(ms, self.random));
                self.pause(wait.unwrap_or_default());
            }
            let separately = !self.pace.is_instant() && !is_first;
            let Some((ending, offset)) = inside else {
                self.unit(unit, framing, separately);
                start = unit_end;
                continue;
            };
            let (first, second) = unit.split_at(offset - start);
            if ending == Ending::End {
                self.unit(first, framing, separately);
                return true;
            }
            // The frame promises the whole event: what follows is visibly missing.
            let (before, after) = if second.is_empty() { (first, second) } else { (unit, second) };
            let framed = framing.frame(before);
            let shown = framed.len() - after.len() - if after.is_empty() { 0 } else { framing.tail() };
            let (shown, rest) = framed.split_at(shown);
            self.send(shown, first.len(), separately);
            if !self.end(ending) {
                return false;
            }
            self.send(rest, second.len(), true);
            start = unit_end;
        }
        true
    }

    /// Sends one event, in small writes when the rate is limited.
    fn unit(&mut self, unit: &[u8], framing: Framing, separately: bool) {
        let Some(rate) = self.pace.bytes_per_second else {
            let framed = framing.frame(unit);
            return self.send(&framed, unit.len(), separately);
        };
        // About fifty writes a second, or single bytes when that is slower.
        let size = (rate / 50).max(1) as usize;
        for slice in unit.chunks(size) {
            let framed = framing.frame(slice);
            self.send(&framed, slice.len(), true);
            let wait = self.pace.pause(slice.len() as u64 * 1000 / rate, self.random);
            self.pause(wait);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Chunked,
    Length(usize),
}

impl Framing {
    fn frame(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Framing::Chunked => chunk(bytes),
            Framing::Length(_) => bytes.to_vec(),
        }
    }

    /// How many bytes of the frame follow the content.
    fn tail(self) -> usize {
        match self {
            Framing::Chunked => 2,
            Framing::Length(_) => 0,
        }
    }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        // An empty chunk would end the body.
        return Vec::new();
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    framed
}

fn head(reply: &Reply, framing: Framing, keep_alive: bool) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} {}\r\n", reply.status, reason(reply.status)).into_bytes();
    head.reserve(1024);
    for (name, value) in &reply.headers {
        for part in [name.as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    match framing {
        Framing::Chunked => head.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Framing::Length(length) => head.extend_from_slice(format!("content-length: {length}\r\n").as_bytes()),
    }
    let connection = if keep_alive { "keep-alive" } else { "close" };
    head.extend_from_slice(format!("connection: {connection}\r\n\r\n").as_bytes());
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Scripted",
    }
}

fn event_end(reply: &Reply, count: usize) -> Option<usize> {
    if count == 0 { Some(0) } else { reply.ends.get(count - 1).copied() }
}

/// Where in the body a cut lies; none when the body has no such place. A body that is no stream has no events, and is
/// cut in its middle where one is meant.
pub(super) fn cut_offset(reply: &Reply, at: CutPoint) -> Option<usize> {
    let whole = reply.ends.is_empty();
    match at {
        CutPoint::BeforeHeaders | CutPoint::InHeaders | CutPoint::AfterHeaders | CutPoint::AfterEvent(0) => {
            Some(0)
        }
        CutPoint::AfterEvent(_) | CutPoint::InEvent { .. } if whole => Some(reply.body.len() / 2),
        CutPoint::AfterEvent(count) => event_end(reply, count),
        CutPoint::InEvent { event, byte } => {
            let (start, end) = (event_end(reply, event - 1)?, event_end(reply, event)?);
            let inside = byte.unwrap_or((end - start) / 2);
            (inside > 0 && inside < end - start).then_some(start + inside)
        }
        CutPoint::InChar(nth) => {
            let leads = reply.body.iter().enumerate().filter(|(_, byte)| **byte >= 0xC0);
            leads.map(|(at, _)| at + 1).nth(nth - 1)
        }
        CutPoint::AfterByte(count) => (count <= reply.body.len()).then_some(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> Reply {
        let body = "event: a\n\nevent: é\n\nevent: c\n\n".as_bytes().to_vec();
        Reply { status: 200, headers: Vec::new(), body, ends: vec![10, 21, 31] }
    }

    fn steps(fault: Option<&FaultKind>, pace: &Pace, seed: u64) -> Vec<Step> {
        let mode = ResponseMode { head_only: false, keep_alive: true };
        plan(&reply(), Delivery { fault, pace, ping: b": ping\n\n", mode }, &mut Random::new(seed, &[]))
    }

    fn sent(steps: &[Step]) -> Vec<u8> {
        let sent = steps
            .iter()
            .filter_map(|step| if let Step::Send(part) = step { Some(&part.bytes[..]) } else { None });
        sent.collect::<Vec<_>>().concat()
    }

    #[test]
    fn without_a_pace_everything_is_one_write() {
        assert_eq!(steps(None, &Pace::default(), 1).len(), 1);
    }

    #[test]
    fn a_pace_of_nothing_is_a_write_for_each_event() {
        let pace = Pace { event_ms: Some(0), ..Pace::default() };
        let steps = steps(None, &pace, 1);
        // The head goes with the first event, the end of the body with the last.
        assert_eq!(steps.len(), 3);
        assert!(steps.iter().all(|step| matches!(step, Step::Send(_))));
    }

    #[test]
    fn pauses_follow_from_the_seed() {
        let pace = Pace { first_byte_ms: 5, event_ms: Some(7), jitter_ms: 100, ..Pace::default() };
        assert_eq!(steps(None, &pace, 1), steps(None, &pace, 1));
        assert_ne!(steps(None, &pace, 1), steps(None, &pace, 2));
        assert_eq!(steps(None, &pace, 1).iter().filter(|step| matches!(step, Step::Pause(_))).count(), 3);
    }

    #[test]
    fn no_pace_changes_a_byte() {
        let once = sent(&steps(None, &Pace::default(), 1));
        let paced = Pace { first_byte_ms: 3, event_ms: Some(7), jitter_ms: 9, bytes_per_second: None };
        assert_eq!(sent(&steps(None, &paced, 1)), once);
    }

    #[test]
    fn every_byte_of_the_body_can_be_cut() {
        let whole = sent(&steps(None, &Pace::default(), 1));
        for count in 0..=reply().body.len() {
            let cut = FaultKind::Cut { ending: Ending::Close, at: CutPoint::AfterByte(count) };
            let steps = steps(Some(&cut), &Pace::default(), 1);
            assert_eq!(steps.last(), Some(&Step::Cut));
            let seen = sent(&steps);
            let of_body = |step: &Step| if let Step::Send(part) = step { part.of_body } else { 0 };
            assert_eq!(steps.iter().map(of_body).sum::<usize>(), count);
            assert!(whole.starts_with(&seen) && seen.len() < whole.len(), "after {count} bytes");
        }
    }

    #[test]
    fn places_that_are_not_there_are_told() {
        assert_eq!(cut_offset(&reply(), CutPoint::AfterEvent(3)), Some(31));
        assert_eq!(cut_offset(&reply(), CutPoint::AfterEvent(4)), None);
        assert_eq!(cut_offset(&reply(), CutPoint::InEvent { event: 2, byte: Some(11) }), None);
        assert_eq!(cut_offset(&reply(), CutPoint::InChar(1)), Some(18));
        assert_eq!(cut_offset(&reply(), CutPoint::InChar(2)), None);
        assert_eq!(cut_offset(&reply(), CutPoint::AfterByte(32)), None);
    }
}
