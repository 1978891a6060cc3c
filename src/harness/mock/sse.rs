//! Server-sent events in their wire form.

use serde_json::Value;

/// Events in their wire form, with the offset at which each ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Events {
    /// The content type, where it is not that of server-sent events.
    pub(crate) content_type: Option<&'static str>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Events {
    pub(crate) fn push(&mut self, name: &str, data: &Value) {
        self.bytes.extend_from_slice(b"event: ");
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\ndata: ");
        // Writing a value to a vector cannot fail: its keys are strings and vectors grow.
        _ = serde_json::to_writer(&mut self.bytes, data);
        self.push_raw(b"\n\n");
    }

    /// Adds an event that has no name.
    pub(crate) fn push_data(&mut self, data: &Value, end: &[u8]) {
        self.bytes.extend_from_slice(b"data: ");
        // As above: this cannot fail.
        _ = serde_json::to_writer(&mut self.bytes, data);
        self.push_raw(end);
    }

    /// Adds an event of which all but one text is at hand, without building a value of it.
    pub(crate) fn push_text(&mut self, head: &str, text: &str, tail: &[u8]) {
        self.bytes.extend_from_slice(head.as_bytes());
        // As above: this cannot fail.
        _ = serde_json::to_writer(&mut self.bytes, text);
        self.push_raw(tail);
    }

    /// Adds bytes as one event, whatever they are.
    pub(crate) fn push_raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of an event, counted from 1.
    pub(crate) fn event(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number.checked_sub(1)?)?;
        let start = if number == 1 { 0 } else { self.ends[number - 2] };
        Some(&self.bytes[start..end])
    }

    /// The first `count` events.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// The same events with one of them, counted from 1, replaced.
    pub(crate) fn replace(&self, number: usize, bytes: &[u8]) -> Events {
        let mut events = Events { content_type: self.content_type, ..Events::default() };
        for at in 1..=self.len() {
            events.push_raw(if at == number { bytes } else { self.event(at).unwrap_or_default() });
        }
        events
    }

    pub(crate) fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.bytes, self.ends)
    }

    /// Name and data of each event; what is broken on purpose is left out.
    pub(crate) fn parse(&self) -> Vec<(String, Value)> {
        (1..=self.len()).filter_map(|number| parse_event(self.event(number)?)).collect()
    }
}

/// Where each event of a body ends that somebody else has written; its last one may lack the empty line.
pub(crate) fn event_ends(body: &[u8]) -> Vec<usize> {
    let mut ends: Vec<usize> = memchr::memmem::find_iter(body, b"\n\n").map(|at| at + 2).collect();
    if ends.last().copied().unwrap_or(0) < body.len() {
        ends.push(body.len());
    }
    ends
}

fn parse_event(bytes: &[u8]) -> Option<(String, Value)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.lines();
    let name = lines.next()?.strip_prefix("event: ")?.to_owned();
    let data = serde_json::from_str(lines.next()?.strip_prefix("data: ")?).ok()?;
    Some((name, data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_can_be_cut_and_replaced_by_number() {
        let mut events = Events::default();
        events.push("a", &json!(1));
        events.push_raw(b": ping\n\n");
        events.push("b", &json!(2));
        assert_eq!(events.event(1), Some(&b"event: a\ndata: 1\n\n"[..]));
        assert_eq!(events.event(2), Some(&b": ping\n\n"[..]));
        assert_eq!((events.event(0), events.event(4)), (None, None));
        let replaced = events.replace(2, b"x");
        assert_eq!(replaced.event(2), Some(&b"x"[..]));
        assert_eq!(replaced.event(3), events.event(3));
        events.truncate(1);
        assert_eq!((events.len(), events.into_parts().0.len()), (1, 18));
    }
}
