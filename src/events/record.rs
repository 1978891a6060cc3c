//! One record of a log, whichever of its shapes it has.

use std::borrow::Cow;

use crate::json::{Node, members};

use super::rules::nonblank;
use crate::time::{self, Millis};

/// The shapes in which the same message is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The server's own log: `topic`, `from`, `ts_server`, `payload`, `sequence`.
    Server,
    /// A delivered or acknowledged command in the server's log: `peerId` instead of `from`.
    Delivery,
    /// The output of a sidecar: `type`, `push`, `sentAt`, `recvTs`.
    Sidecar,
    /// A push on the wire: as a sidecar's, without `type` and `recvTs`.
    Wire,
    /// The notation of the document's dialogue: the envelope beside `topic`.
    Flat,
}

/// What a line of a log is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is a record, and it is never stored")]
pub(crate) enum Entry<'a> {
    /// A message that somebody published.
    Record(Record<'a>),
    /// A sidecar has connected, which begins a session.
    Connected,
    /// A line about the connection, or an answer on the wire.
    Control,
    /// A line about a visit to a live server.
    Probe,
    /// An object without a topic.
    NoTopic,
}

/// One published message, whichever shape the log gave it.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) shape: Shape,
    pub(crate) topic: Cow<'a, str>,
    /// The connection that published it, which cannot be forged.
    pub(crate) from: Option<Cow<'a, str>>,
    pub(crate) sequence: Option<u64>,
    /// Whether there is something in the place of a sequence number that is none.
    pub(crate) odd_sequence: bool,
    /// The time on the record: the server's, else the best other clock.
    pub(crate) stamped: Option<Millis>,
    /// The same on a clock that does not run back; what a session goes by.
    pub(crate) time: Option<Millis>,
    /// Whether the time is the server's.
    pub(crate) has_server_time: bool,
    pub(crate) replayed: bool,
    pub(crate) payload: Option<Node<'a>>,
    pub(crate) envelope: Option<Envelope<'a>>,
    /// Whether the server wrapped what was published.
    pub(crate) wrapped: Wrapped,
    /// What the topic's schema is about, if it is an object.
    pub(crate) data: Option<Node<'a>>,
    /// The object that is the envelope.
    envelope_node: Option<Node<'a>>,
    /// Where the envelope stands.
    pub(crate) envelope_at: &'static str,
    /// Where the data stands.
    pub(crate) data_at: &'static str,
}

/// How a payload came to have its envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapped {
    /// The publisher's own, or none.
    No,
    /// A bare payload that the server put into an envelope.
    Bare,
    /// A broken envelope that the server put into another.
    Twice,
}

members! {
    /// The fields of the universal envelope.
    pub(crate) struct Envelope {
        pub(crate) v "v",
        pub(crate) id "id",
        pub(crate) correlation_id "correlation_id",
        pub(crate) parent_id "parent_id",
        pub(crate) from_peer "from_peer",
        pub(crate) from_name "from_name",
        pub(crate) terminal_id "terminal_id",
        pub(crate) ts_published "ts_published",
        pub(crate) ts_server "ts_server",
        pub(crate) sequence "sequence",
        pub(crate) schema "schema",
        pub(crate) data "data",
    }
}

members! {
    /// The fields of a line, in whichever shape.
    struct Outer {
        topic "topic",
        from "from",
        ts_server "ts_server",
        payload "payload",
        sequence "sequence",
        kind "type",
        push "push",
        sent_at "sentAt",
        recv_ts "recvTs",
        replayed "replayed",
        peer_id "peerId",
        rid "rid",
    }
}

/// The schema name that the server gives to what it wraps.
pub(crate) const SERVER_SCHEMA: &str = "claws/2";

impl Envelope<'_> {
    /// Whether it is one: `data` beside a field that only an envelope has, or so much of the rest that only `data` can
    /// have been left out.
    fn is_one(&self) -> bool {
        let own = [self.v, self.id, self.schema];
        let rest = [self.from_peer, self.from_name, self.ts_published];
        let count = |nodes: &[Option<Node<'_>>]| nodes.iter().flatten().count();
        let own = count(&own);
        own > 0 && (self.data.is_some() || own + count(&rest) >= 4)
    }

    /// The version of the data's schema where it is a later one than this protocol's: `2` of `worker-boot-v2`.
    pub(crate) fn later_version(&self) -> Option<u32> {
        let name = self.schema?.text()?;
        let (_, version) = name.rsplit_once("-v")?;
        version.parse().ok().filter(|version| *version > 1)
    }
}

impl<'a> Entry<'a> {
    pub(crate) fn of(root: Node<'a>, line: u64, offset: u64) -> Self {
        let outer = Outer::of(root);
        let Outer { topic, from, payload, sequence, kind, push, recv_ts, .. } = outer;
        if let Some(kind) = kind.and_then(Node::text)
            && kind.starts_with("sidecar.")
        {
            return if kind == "sidecar.connected" { Self::Connected } else { Self::Control };
        }
        if topic.is_none() && kind.and_then(Node::text).is_some_and(|kind| is_of_probe(&kind)) {
            return Self::Probe;
        }
        if outer.rid.is_some() || push.is_some_and(|push| !push.is_text("message")) {
            return Self::Control;
        }
        let Some(topic) = topic.and_then(Node::text) else { return Self::NoTopic };
        let shape = match payload {
            None => Shape::Flat,
            Some(_) if recv_ts.is_some() || kind.is_some_and(|kind| kind.is_text("event")) => Shape::Sidecar,
            Some(_) if push.is_some() => Shape::Wire,
            Some(_) if from.is_none() && outer.peer_id.is_some() => Shape::Delivery,
            Some(_) => Shape::Server,
        };
        let parse = |node: Option<Node<'a>>| {
            node.and_then(Node::text).and_then(|text| time::parse(&text)).map(|(time, _)| time)
        };
        let server_time = parse(outer.ts_server).or_else(|| outer.sent_at.and_then(Node::integer));
        let number = sequence.and_then(Node::whole).and_then(|number| u64::try_from(number).ok());
        let at = if payload.is_some() { "/payload" } else { "" };
        let mut record = Record {
            line,
            offset,
            shape,
            topic,
            from: from.and_then(Node::text),
            sequence: number,
            odd_sequence: sequence.is_some() && number.is_none(),
            stamped: server_time,
            time: server_time,
            has_server_time: server_time.is_some(),
            replayed: outer.replayed.and_then(Node::boolean) == Some(true),
            payload: Some(payload.unwrap_or(root)),
            envelope: None,
            wrapped: Wrapped::No,
            data: None,
            envelope_node: None,
            envelope_at: at,
            data_at: at,
        };
        // On the wire a delivered command carries the number of the command, not of the record.
        if matches!(shape, Shape::Sidecar | Shape::Wire) && record.topic.starts_with("cmd.") {
            record.sequence = None;
        }
        record.unwrap(payload.is_none());
        if record.stamped.is_none() {
            let published = record.envelope.and_then(|envelope| envelope.ts_published);
            record.stamped = parse(recv_ts).or_else(|| parse(published));
            record.time = record.stamped;
        }
        Self::Record(record)
    }
}

/// Whether a line of this type is about a visit to a live server.
fn is_of_probe(kind: &str) -> bool {
    kind == "probe" || kind.starts_with("probe.")
}

impl<'a> Record<'a> {
    /// Finds the publisher's envelope and data: bare, wrapped once, or wrapped again by the server.
    fn unwrap(&mut self, flat: bool) {
        let Some(payload) = self.payload.filter(|payload| payload.is_object()) else { return };
        let outer = Envelope::of(payload);
        if !outer.is_one() {
            // The document's dialogue writes `{topic, data}`; elsewhere a bare payload is the data itself.
            let data = outer.data.filter(|data| flat && data.is_object());
            if data.is_some() {
                self.data_at = "/data";
            }
            self.data = data.or(Some(payload));
            return;
        }
        self.envelope = Some(outer);
        self.envelope_node = Some(payload);
        self.data = outer.data.filter(|data| data.is_object());
        self.data_at = if flat { "/data" } else { "/payload/data" };
        if !outer.schema.is_some_and(|schema| schema.is_text(SERVER_SCHEMA)) {
            return;
        }
        self.wrapped = Wrapped::Bare;
        if let Some(data) = self.data {
            let inner = Envelope::of(data);
            let looks_like_one = inner.is_one() || (inner.v.is_some() && inner.id.is_some());
            if looks_like_one {
                self.wrapped = Wrapped::Twice;
                self.envelope = Some(inner);
                self.envelope_node = Some(data);
                self.envelope_at = self.data_at;
                self.data = inner.data.filter(|data| data.is_object());
                self.data_at = if flat { "/data/data" } else { "/payload/data/data" };
            }
        }
    }

    /// The field of the data with this name.
    pub(crate) fn field(&self, key: &str) -> Option<Node<'a>> {
        self.data.and_then(|data| data.get(key))
    }

    /// The object that is the envelope.
    pub(crate) fn envelope_node(&self) -> Option<Node<'a>> {
        self.envelope_node
    }

    /// The peer that the envelope claims to come from.
    pub(crate) fn claimed_publisher(&self) -> Option<Cow<'a, str>> {
        self.envelope.and_then(|envelope| envelope.from_peer).and_then(Node::text)
    }

    /// The parent that the envelope names.
    pub(crate) fn parent(&self) -> Option<Cow<'a, str>> {
        self.envelope.and_then(|envelope| nonblank(envelope.parent_id))
    }

    /// Whoever published it, as far as the record tells.
    pub(crate) fn publisher(&self) -> Option<Cow<'a, str>> {
        self.from.clone().or_else(|| self.claimed_publisher())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Scanner;

    fn read(text: &str, check: impl FnOnce(Entry<'_>)) {
        let mut scanner = Scanner::default();
        let document = scanner.scan(text).unwrap();
        check(Entry::of(document.root(), 1, 0));
    }

    fn record(text: &str, check: impl FnOnce(Record<'_>)) {
        read(text, |entry| match entry {
            Entry::Record(record) => check(record),
            other => panic!("{other:?}"),
        });
    }

    #[test]
    fn the_shapes_are_told_apart() {
        for (text, shape) in [
            (r#"{"topic":"t","from":"p","ts_server":"x","payload":{},"sequence":1}"#, Shape::Server),
            (r#"{"schema":"cmd-ack-v1","topic":"cmd.p.ack","peerId":"p","payload":{}}"#, Shape::Delivery),
            (r#"{"type":"event","push":"message","topic":"t","payload":{},"recvTs":"x"}"#, Shape::Sidecar),
            (r#"{"push":"message","topic":"t","payload":{},"sentAt":5}"#, Shape::Wire),
            (r#"{"topic":"t","data":{}}"#, Shape::Flat),
        ] {
            record(text, |record| assert_eq!(record.shape, shape, "{text}"));
        }
        read(r#"{"type":"sidecar.connected"}"#, |entry| assert!(matches!(entry, Entry::Connected)));
        read(r#"{"type":"sidecar.closed"}"#, |entry| assert!(matches!(entry, Entry::Control)));
        read(r#"{"push":"caught-up"}"#, |entry| assert!(matches!(entry, Entry::Control)));
        read(r#"{"rid":1,"ok":true}"#, |entry| assert!(matches!(entry, Entry::Control)));
        read(r#"{"topic":7}"#, |entry| assert!(matches!(entry, Entry::NoTopic)));
    }

    #[test]
    fn data_is_found_in_every_wrapping() {
        let bare = r#"{"topic":"t","from":"p","payload":{"kind":"LOG"}}"#;
        let own =
            r#"{"topic":"t","from":"p","payload":{"v":1,"id":"i","schema":"s-v1","data":{"kind":"LOG"}}}"#;
        let server =
            r#"{"topic":"t","from":"p","payload":{"v":1,"id":"i","schema":"claws/2","data":{"kind":"LOG"}}}"#;
        let twice = r#"{"topic":"t","from":"p","payload":{"v":1,"id":"i","schema":"claws/2","data":{"v":2,"id":"j","schema":"s-v1","data":{"kind":"LOG"}}}}"#;
        let flat = r#"{"topic":"t","data":{"kind":"LOG"}}"#;
        for (text, wrapped, at) in [
            (bare, Wrapped::No, "/payload"),
            (own, Wrapped::No, "/payload/data"),
            (server, Wrapped::Bare, "/payload/data"),
            (twice, Wrapped::Twice, "/payload/data/data"),
            (flat, Wrapped::No, "/data"),
        ] {
            record(text, |record| {
                assert!(record.field("kind").unwrap().is_text("LOG"), "{text}");
                assert_eq!((record.wrapped, record.data_at), (wrapped, at), "{text}");
            });
        }
    }

    #[test]
    fn the_clock_is_the_servers_where_there_is_one() {
        record(r#"{"topic":"t","payload":{},"sentAt":5,"recvTs":"1970-01-01T00:00:01Z"}"#, |record| {
            assert_eq!((record.time, record.has_server_time), (Some(5), true));
        });
        record(r#"{"topic":"t","payload":{},"recvTs":"1970-01-01T00:00:01Z"}"#, |record| {
            assert_eq!((record.time, record.has_server_time), (Some(1000), false));
        });
    }
}
