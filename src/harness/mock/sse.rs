//! Server-sent events: encoding, and the order that the Messages API promises.

use serde_json::Value;

/// Events in their wire form, with the offset at which each ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Events {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Events {
    pub(super) fn push(&mut self, name: &str, data: &Value) {
        self.bytes.extend_from_slice(b"event: ");
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\ndata: ");
        // Writing a value to a vector cannot fail: its keys are strings and vectors grow.
        _ = serde_json::to_writer(&mut self.bytes, data);
        self.push_raw(b"\n\n");
    }

    /// Adds a delta: the same as [`Events::push`] without building a value, since answers consist of these.
    pub(super) fn push_delta(&mut self, index: usize, kind: &str, key: &str, text: &str) {
        let head = format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":\
             {{\"type\":\"{kind}\",\"{key}\":"
        );
        self.bytes.extend_from_slice(head.as_bytes());
        // As above: this cannot fail.
        _ = serde_json::to_writer(&mut self.bytes, text);
        self.push_raw(b"}}\n\n");
    }

    /// Adds bytes as one event, whatever they are.
    pub(super) fn push_raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn ping(&mut self) {
        self.push_raw(PING);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of an event, counted from 1.
    pub(super) fn event(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number.checked_sub(1)?)?;
        let start = if number == 1 { 0 } else { self.ends[number - 2] };
        Some(&self.bytes[start..end])
    }

    /// The first `count` events.
    pub(super) fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// The same events with one of them, counted from 1, replaced.
    pub(super) fn replace(&self, number: usize, bytes: &[u8]) -> Events {
        let mut events = Events::default();
        for at in 1..=self.len() {
            events.push_raw(if at == number { bytes } else { self.event(at).unwrap_or_default() });
        }
        events
    }

    pub(super) fn into_parts(self) -> (Vec<u8>, Vec<usize>) {
        (self.bytes, self.ends)
    }

    /// Name and data of each event; what is broken on purpose is left out.
    pub(super) fn parse(&self) -> Vec<(String, Value)> {
        (1..=self.len()).filter_map(|number| parse_event(self.event(number)?)).collect()
    }
}

/// A ping, with the blank that the API has in it.
pub(super) const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// Where each event of a body ends that somebody else has written; its last one may lack the empty line.
pub(super) fn event_ends(body: &[u8]) -> Vec<usize> {
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

/// What is wrong with the order of a healthy stream, if anything: one `message_start` first, blocks opened and closed
/// one after the other, `message_delta` and `message_stop` last.
pub(super) fn check_order(events: &[(String, Value)]) -> Result<(), String> {
    let mut open: Option<u64> = None;
    let mut next_index = 0;
    let mut stage = "start";
    for (number, (name, data)) in events.iter().enumerate() {
        let wrong = |what: &str| Err(format!("event {} ({name}): {what}", number + 1));
        if data["type"] != name.as_str() {
            return wrong("its name and its type differ");
        }
        let index = data["index"].as_u64();
        match (stage, name.as_str()) {
            (_, "ping") => {}
            ("start", "message_start") => stage = "blocks",
            ("blocks", "content_block_start") if open.is_none() && index == Some(next_index) => open = index,
            ("blocks", "content_block_delta") if open.is_some() && index == open => {}
            ("blocks", "content_block_stop") if open.is_some() && index == open => {
                open = None;
                next_index += 1;
            }
            ("blocks", "message_delta") if open.is_none() => stage = "delta",
            ("delta", "message_stop") => stage = "stop",
            _ => return wrong("out of order"),
        }
    }
    if stage == "stop" { Ok(()) } else { Err("the stream has no message_stop".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_can_be_cut_and_replaced_by_number() {
        let mut events = Events::default();
        events.push("a", &json!(1));
        events.ping();
        events.push("b", &json!(2));
        assert_eq!(events.event(1), Some(&b"event: a\ndata: 1\n\n"[..]));
        assert_eq!(events.event(2), Some(PING));
        assert_eq!((events.event(0), events.event(4)), (None, None));
        let replaced = events.replace(2, b"x");
        assert_eq!(replaced.event(2), Some(&b"x"[..]));
        assert_eq!(replaced.event(3), events.event(3));
        events.truncate(1);
        assert_eq!((events.len(), events.into_parts().0.len()), (1, 18));
    }

    #[test]
    fn a_delta_is_the_event_it_would_be() {
        let (mut quick, mut slow) = (Events::default(), Events::default());
        let text = "a \"quote\", é, 🦀, \u{1} and \n";
        quick.push_delta(3, "text_delta", "text", text);
        let delta = json!({"type": "text_delta", "text": text});
        slow.push("content_block_delta", &json!({"type": "content_block_delta", "index": 3, "delta": delta}));
        assert_eq!(quick, slow);
    }

    #[test]
    fn every_disorder_is_found() {
        let event = |name: &str, index: u64| (name.to_owned(), json!({"type": name, "index": index}));
        let healthy = [
            event("message_start", 0),
            event("content_block_start", 0),
            event("ping", 0),
            event("content_block_delta", 0),
            event("content_block_stop", 0),
            event("message_delta", 0),
            event("message_stop", 0),
        ];
        assert_eq!(check_order(&healthy), Ok(()));
        // Each event but the ping and the delta is needed, and none may stand twice.
        for dropped in [0, 1, 4, 5, 6] {
            let mut broken = healthy.to_vec();
            broken.remove(dropped);
            assert!(check_order(&broken).is_err(), "without event {dropped}");
        }
        for doubled in [0, 1, 4, 5, 6] {
            let mut broken = healthy.to_vec();
            broken.insert(doubled, healthy[doubled].clone());
            assert!(check_order(&broken).is_err(), "event {doubled} twice");
        }
        let mut wrong_index = healthy.to_vec();
        wrong_index[3] = event("content_block_delta", 1);
        assert_eq!(check_order(&wrong_index), Err("event 4 (content_block_delta): out of order".to_owned()));
        let mut wrong_name = healthy.to_vec();
        wrong_name[0].0 = "other".to_owned();
        assert!(check_order(&wrong_name).unwrap_err().contains("its name and its type differ"));
    }
}
