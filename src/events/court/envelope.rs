//! The universal envelope.

use crate::json::Node;

use super::super::breach::{Grade, Observer};
use super::super::record::{Envelope, Record, SERVER_SCHEMA, Wrapped};
use super::super::topic::{Fact, Topic};
use super::super::uuid::Uuid;
use super::super::{Profile, Rule};
use super::{Court, SERVER, shown};
use crate::time::{self, Zone};

/// A worker's clock may be this far off before it is worth a note.
const SKEW: i64 = 5_000;
/// A message may be this much older than its own publishing.
const AHEAD: i64 = 1_000;

impl Court {
    /// Judges the envelope; answers whether there is data to judge.
    pub(super) fn envelope(
        &mut self,
        record: &Record<'_>,
        topic: Topic<'_>,
        out: &mut impl Observer,
    ) -> bool {
        if !record.has_server_time
            && record.envelope.is_none_or(|envelope| envelope.ts_server.is_none())
            && !self.session.no_server_time
        {
            self.session.no_server_time = true;
            self.blame(out, Rule::ServerTime, Grade::Full, record, "/ts_server", None, || {
                "no server time on this record, so that timings rest on the publisher's clock".into()
            });
        }
        let Some(envelope) = record.envelope else {
            self.bare(record, topic, out);
            return record.data.is_some();
        };
        let data_is_object = record.data.is_some();
        if record.wrapped == Wrapped::Bare {
            self.blame(
                out,
                Rule::SchemaName,
                if self.profile == Profile::Origin { Grade::Note } else { Grade::Should },
                record,
                &at(record, "schema"),
                envelope.schema,
                || "published without an envelope; the server wrapped it".into(),
            );
        } else {
            self.envelope_fields(record, topic, &envelope, out);
        }
        if !data_is_object {
            self.blame(
                out,
                Rule::DataObject,
                Grade::Full,
                record,
                &at(record, "data"),
                envelope.data,
                || "data is no object".into(),
            );
        }
        data_is_object
    }

    fn bare(&self, record: &Record<'_>, topic: Topic<'_>, out: &mut impl Observer) {
        let is_boot = matches!(topic, Topic::Worker { fact: Some(Fact::Boot), .. });
        let needs_one = matches!(topic, Topic::Worker { .. } | Topic::Task { .. })
            && record.from.as_deref() != Some(SERVER);
        if needs_one {
            let grade = if is_boot { Grade::Full } else { Grade::Should };
            self.blame(out, Rule::EnvelopePresent, grade, record, record.envelope_at, record.payload, || {
                "the payload comes without the envelope".into()
            });
        }
        let says_something = matches!(
            topic,
            Topic::Worker { .. } | Topic::Task { .. } | Topic::Command { .. } | Topic::Role { .. }
        );
        if says_something && record.data.is_none() {
            self.blame(
                out,
                Rule::DataObject,
                Grade::Full,
                record,
                record.envelope_at,
                record.payload,
                || "the payload is no object, so that there is no data".into(),
            );
        }
    }

    fn envelope_fields(
        &mut self,
        record: &Record<'_>,
        topic: Topic<'_>,
        envelope: &Envelope<'_>,
        out: &mut impl Observer,
    ) {
        let wrong = |this: &Self, out: &mut _, rule, key: &str, seen: Option<Node<'_>>, what: &str| {
            this.blame(out, rule, Grade::Full, record, &at(record, key), seen, || match seen {
                Some(_) => format!("{key} {what}"),
                None => format!("{key} is missing"),
            });
        };
        if envelope.v.and_then(Node::integer) != Some(1) {
            wrong(self, out, Rule::EnvelopeVersion, "v", envelope.v, "is not 1");
        }
        self.id(record, envelope, out);
        self.correlation(record, envelope, out);
        let absent = |node: Option<Node<'_>>| node.is_none_or(Node::is_null);
        let named = |node: Option<Node<'_>>| node.and_then(Node::text).is_some_and(|text| !text.is_empty());
        if !absent(envelope.parent_id) && !named(envelope.parent_id) {
            wrong(self, out, Rule::ParentType, "parent_id", envelope.parent_id, "is no peer id");
        }
        if !named(envelope.from_peer) {
            wrong(self, out, Rule::FromPeer, "from_peer", envelope.from_peer, "is no peer id");
        }
        if !named(envelope.from_name) {
            wrong(self, out, Rule::FromName, "from_name", envelope.from_name, "is no name");
        }
        if envelope.terminal_id.is_some_and(|id| !id.is_null() && id.text().is_none()) {
            wrong(self, out, Rule::TerminalType, "terminal_id", envelope.terminal_id, "is no string");
        }
        self.published(record, envelope, out);
        self.schema(record, topic, envelope, out);
        let claimed = envelope.from_peer.and_then(Node::text);
        let foreign = matches!(topic, Topic::Worker { peer, .. } if record.from.as_deref() != Some(peer));
        if let (Some(from), Some(claimed)) = (&record.from, &claimed)
            && from != claimed
            && !foreign
            && self.profile != Profile::Origin
        {
            self.blame(
                out,
                Rule::FromMatches,
                Grade::Full,
                record,
                &at(record, "from_peer"),
                envelope.from_peer,
                || {
                    let (from, claimed) = (shown(from), shown(claimed));
                    format!("{from} published this and from_peer names {claimed}")
                },
            );
        }
    }

    fn id(&mut self, record: &Record<'_>, envelope: &Envelope<'_>, out: &mut impl Observer) {
        let pointer = || at(record, "id");
        let text = envelope.id.and_then(Node::text);
        let Some(uuid) = text.as_deref().and_then(Uuid::parse) else {
            self.blame(out, Rule::EnvelopeId, Grade::Full, record, &pointer(), envelope.id, || {
                if envelope.id.is_some() { "id is no UUID".into() } else { "id is missing".into() }
            });
            return;
        };
        if !uuid.is_v4() && self.profile != Profile::Origin {
            self.blame(out, Rule::EnvelopeId, Grade::Should, record, &pointer(), envelope.id, || {
                "id is a UUID, but none of version 4".into()
            });
        }
        if let Some(before) = self.ids.see(uuid.number, record.line)
            && !record.replayed
        {
            self.blame(out, Rule::IdUnique, Grade::Full, record, &pointer(), envelope.id, || {
                format!("id is that of the message on line {before}")
            });
        }
    }

    fn correlation(&self, record: &Record<'_>, envelope: &Envelope<'_>, out: &mut impl Observer) {
        let Some(node) = envelope.correlation_id.filter(|node| !node.is_null()) else { return };
        let text = node.text();
        let grade = match &text {
            None => Grade::Full,
            Some(text) if Uuid::parse(text).is_some() => return,
            Some(_) if self.profile == Profile::Lenient => return,
            Some(_) if self.profile == Profile::Origin => Grade::Full,
            Some(_) => Grade::Note,
        };
        let pointer = at(record, "correlation_id");
        self.blame(out, Rule::CorrelationType, grade, record, &pointer, Some(node), || {
            if text.is_some() {
                "correlation_id is no UUID".into()
            } else {
                "correlation_id is no string".into()
            }
        });
    }

    fn published(&self, record: &Record<'_>, envelope: &Envelope<'_>, out: &mut impl Observer) {
        let pointer = || at(record, "ts_published");
        let time = envelope.ts_published.and_then(Node::text).and_then(|text| time::parse(&text));
        let Some((time, zone)) = time else {
            self.blame(
                out,
                Rule::PublishedTime,
                Grade::Full,
                record,
                &pointer(),
                envelope.ts_published,
                || match envelope.ts_published {
                    Some(_) => "ts_published is no RFC 3339 time".into(),
                    None => "ts_published is missing".into(),
                },
            );
            return;
        };
        if zone == Zone::Offset && self.profile == Profile::Origin {
            self.blame(
                out,
                Rule::PublishedTime,
                Grade::Full,
                record,
                &pointer(),
                envelope.ts_published,
                || "ts_published has an offset, which the published server refuses".into(),
            );
        }
        if let Some(server) = record.time.filter(|_| record.has_server_time) {
            let late = server.saturating_sub(time);
            if !(-AHEAD..=SKEW).contains(&late) {
                self.blame(
                    out,
                    Rule::ClockSkew,
                    Grade::Full,
                    record,
                    &pointer(),
                    envelope.ts_published,
                    || {
                        let by = time::span(late.saturating_abs());
                        let way = if late > 0 { "behind" } else { "ahead of" };
                        format!("the publisher's clock is {by} {way} the server's")
                    },
                );
            }
        }
    }

    fn schema(
        &self,
        record: &Record<'_>,
        topic: Topic<'_>,
        envelope: &Envelope<'_>,
        out: &mut impl Observer,
    ) {
        let pointer = || at(record, "schema");
        let Some(name) = envelope.schema.and_then(Node::text) else {
            self.blame(out, Rule::SchemaName, Grade::Full, record, &pointer(), envelope.schema, || {
                "schema is missing".into()
            });
            return;
        };
        // A topic that the document does not know has a schema that it does not know.
        let Some(expected) = topic.schema() else { return };
        let version = name.strip_prefix(expected).and_then(|rest| rest.strip_prefix("-v"));
        let grade = match version {
            Some("1") => return,
            Some(version) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => {
                Grade::Note
            }
            _ if name == SERVER_SCHEMA => Grade::Should,
            _ => Grade::Full,
        };
        self.blame(out, Rule::SchemaName, grade, record, &pointer(), envelope.schema, || {
            format!("schema is `{}`; the topic's is `{expected}-v1`", shown(&name))
        });
    }
}

/// A pointer to a field of the envelope.
fn at(record: &Record<'_>, key: &str) -> String {
    format!("{}/{key}", record.envelope_at)
}
