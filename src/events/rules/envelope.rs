//! The universal envelope.

use crate::json::Node;

use super::super::record::{Envelope, SERVER_SCHEMA, Shape, Wrapped};
use super::super::topic::{self, Fact, Topic};
use super::super::uuid::Uuid;
use super::super::violation::Grade;
use super::super::{Profile, Rule};
use super::report::{Report, shown};
use super::session::{SERVER, Session};
use crate::time::{self, Millis};

/// A worker's clock may be this far off before it is worth a note.
const SKEW: i64 = 5_000;
/// The server stamps an envelope when it stamps the record.
const APART: i64 = 1_000;
/// A message may be this much older than its own publishing.
const AHEAD: i64 = 1_000;

fn is_number_one(node: Option<Node<'_>>) -> bool {
    node.and_then(Node::integer) == Some(1)
}

fn is_name(node: Option<Node<'_>>) -> bool {
    node.and_then(Node::text).is_some_and(|text| !text.is_empty())
}

fn is_name_or_null(node: Option<Node<'_>>) -> bool {
    node.is_none_or(Node::is_null) || is_name(node)
}

fn is_text_or_null(node: Option<Node<'_>>) -> bool {
    node.is_none_or(|node| node.is_null() || node.text().is_some())
}

fn is_count_or_absent(node: Option<Node<'_>>) -> bool {
    let is_count = |number: f64| number >= 0.0 && number.fract() == 0.0;
    node.is_none_or(|node| node.float().is_some_and(is_count))
}

/// Reports a field of the envelope that is not what it should be.
fn check(
    report: &mut Report<'_>,
    rule: Rule,
    key: &str,
    node: Option<Node<'_>>,
    is_sound: fn(Option<Node<'_>>) -> bool,
    otherwise: &str,
) {
    if !is_sound(node) {
        let otherwise = if node.is_some() { otherwise } else { "is missing" };
        report.envelope(rule, key, node, format_args!("{key} {otherwise}"));
    }
}

impl Session {
    /// Checks the envelope; answers whether there is data to check.
    pub(super) fn envelope(&mut self, report: &mut Report<'_>, topic: Topic<'_>) -> bool {
        let record = report.record;
        if !record.has_server_time
            && record.envelope.is_none_or(|envelope| envelope.ts_server.is_none())
            && !self.no_server_time_reported
        {
            self.no_server_time_reported = true;
            let message = "no server time on this record, so that timings rest on the publisher's clock";
            report.at(Rule::ServerTime, "/ts_server", None, message);
        }
        let Some(envelope) = record.envelope else {
            no_envelope(report, topic);
            return record.data.is_some();
        };
        if record.wrapped == Wrapped::Bare {
            let grade = if self.profile == Profile::Origin { Grade::Note } else { Grade::Should };
            let message = "published without an envelope; the server wrapped it";
            report.envelope((Rule::SchemaName, grade), "schema", envelope.schema, message);
        } else {
            self.envelope_fields(report, topic, &envelope);
        }
        if record.data.is_none() {
            let what = if envelope.data.is_some() { "no object" } else { "missing" };
            report.envelope(Rule::DataObject, "data", envelope.data, format_args!("data is {what}"));
            report.is_broken = true;
        }
        record.data.is_some()
    }

    fn envelope_fields(&mut self, report: &mut Report<'_>, topic: Topic<'_>, envelope: &Envelope<'_>) {
        check(report, Rule::EnvelopeVersion, "v", envelope.v, is_number_one, "is not 1");
        self.id(report, envelope);
        self.correlation(report, envelope);
        // The published server takes any text.
        let is_parent = if self.profile == Profile::Origin { is_text_or_null } else { is_name_or_null };
        check(report, Rule::ParentType, "parent_id", envelope.parent_id, is_parent, "is no peer id");
        check(report, Rule::FromPeer, "from_peer", envelope.from_peer, is_name, "is no peer id");
        check(report, Rule::FromName, "from_name", envelope.from_name, is_name, "is no name");
        check(
            report,
            Rule::TerminalType,
            "terminal_id",
            envelope.terminal_id,
            is_text_or_null,
            "is no string",
        );
        if self.profile == Profile::Origin && report.record.shape != Shape::Flat {
            let otherwise = "is no whole number from 0 up";
            check(
                report,
                Rule::SequenceIncreases,
                "sequence",
                envelope.sequence,
                is_count_or_absent,
                otherwise,
            );
        }
        self.published(report, envelope);
        self.server_time(report, envelope);
        schema(report, topic, envelope, self.profile);
        let from = report.record.from.as_deref();
        let foreign = matches!(topic, Topic::Worker { peer, .. } if from != Some(peer));
        let claimed = envelope.from_peer.and_then(Node::text);
        if let (Some(from), Some(claimed)) = (from, claimed.as_deref())
            && from != claimed
            && !foreign
            && self.profile != Profile::Origin
        {
            let (from, claimed) = (shown(from), shown(claimed));
            let message = format_args!("{from} published this and from_peer names {claimed}");
            report.envelope(Rule::FromMatches, "from_peer", envelope.from_peer, message);
        }
    }

    fn id(&mut self, report: &mut Report<'_>, envelope: &Envelope<'_>) {
        let node = envelope.id;
        let Some(uuid) = node.and_then(Node::text).as_deref().and_then(Uuid::parse) else {
            let message = if node.is_some() { "id is no UUID" } else { "id is missing" };
            report.envelope(Rule::EnvelopeId, "id", node, message);
            return;
        };
        if !uuid.is_v4() && self.profile != Profile::Origin {
            let message = "id is a UUID, but none of version 4";
            report.envelope((Rule::EnvelopeId, Grade::Should), "id", node, message);
        }
        if let Some(before) = self.ids.see(uuid.number, report.record.line)
            && !report.record.replayed
        {
            let message = format_args!("id is that of the message on line {before}");
            report.envelope(Rule::IdUnique, "id", node, message);
        }
    }

    fn correlation(&self, report: &mut Report<'_>, envelope: &Envelope<'_>) {
        let Some(node) = envelope.correlation_id.filter(|node| !node.is_null()) else { return };
        let (grade, message) = match (node.text(), self.profile) {
            (None, _) => (Grade::Full, "correlation_id is no string"),
            (Some(text), _) if Uuid::parse(&text).is_some() => return,
            (Some(_), Profile::Lenient) => return,
            (Some(_), Profile::Origin) => (Grade::Full, "correlation_id is no UUID"),
            (Some(_), Profile::Strict) => (Grade::Note, "correlation_id is no UUID"),
        };
        report.envelope((Rule::CorrelationType, grade), "correlation_id", Some(node), message);
    }

    /// The time that the server put into the envelope is that on the record.
    fn server_time(&self, report: &mut Report<'_>, envelope: &Envelope<'_>) {
        let (key, node) = ("ts_server", envelope.ts_server);
        let Some(stated) = node else { return };
        let is_origin = self.profile == Profile::Origin;
        let Some(time) = stated.text().and_then(|text| self.read_time(&text)) else {
            let message = format_args!("ts_server is no {}", self.kind_of_time());
            report.envelope(Rule::EnvelopeServerTime, key, node, message);
            return;
        };
        let record = report.record;
        // In the flat notation both are one field.
        let own = record.stamped.filter(|_| record.has_server_time && record.shape != Shape::Flat);
        if let Some(by) = own.map(|own| own.saturating_sub(time).saturating_abs()).filter(|by| *by > APART) {
            // The published server leaves what it finds there.
            let grade = if is_origin { Grade::Note } else { Grade::Should };
            let by = time::span(by);
            let message = format_args!("ts_server is {by} away from the server time of the record");
            report.envelope((Rule::EnvelopeServerTime, grade), key, node, message);
        }
    }

    /// A time as the profile reads it.
    fn read_time(&self, text: &str) -> Option<Millis> {
        match self.profile {
            Profile::Origin => time::parse_utc(text),
            Profile::Strict | Profile::Lenient => time::parse(text).map(|(time, _)| time),
        }
    }

    fn kind_of_time(&self) -> &'static str {
        if self.profile == Profile::Origin { "time in UTC" } else { "RFC 3339 time" }
    }

    fn published(&self, report: &mut Report<'_>, envelope: &Envelope<'_>) {
        let (key, node) = ("ts_published", envelope.ts_published);
        let Some(time) = node.and_then(Node::text).and_then(|text| self.read_time(&text)) else {
            let kind = self.kind_of_time();
            match node {
                Some(_) => {
                    report.envelope(
                        Rule::PublishedTime,
                        key,
                        node,
                        format_args!("ts_published is no {kind}"),
                    );
                }
                None => report.envelope(Rule::PublishedTime, key, node, "ts_published is missing"),
            }
            return;
        };
        if let Some(server) = report.record.stamped.filter(|_| report.record.has_server_time) {
            let late = server.saturating_sub(time);
            if !(-AHEAD..=SKEW).contains(&late) {
                let by = time::span(late.saturating_abs());
                let way = if late > 0 { "behind" } else { "ahead of" };
                let message = format_args!("the publisher's clock is {by} {way} the server's");
                report.envelope(Rule::ClockSkew, key, node, message);
            }
        }
    }
}

/// A payload without an envelope: a worker's needs one, and whoever says something needs data.
fn no_envelope(report: &mut Report<'_>, topic: Topic<'_>) {
    let record = report.record;
    let is_workers = matches!(topic, Topic::Worker { .. } | Topic::Task { .. });
    if is_workers && record.from.as_deref() != Some(SERVER) {
        let is_boot = matches!(topic, Topic::Worker { fact: Some(Fact::Boot), .. });
        let grade = if is_boot { Grade::Full } else { Grade::Should };
        let message = "the payload comes without the envelope";
        report.at((Rule::EnvelopePresent, grade), record.envelope_at, record.payload, message);
    }
    let says_something = is_workers || matches!(topic, Topic::Command { .. } | Topic::Role { .. });
    if says_something && record.data.is_none() {
        let message = "the payload is no object, so that there is no data";
        report.at(Rule::DataObject, record.envelope_at, record.payload, message);
    }
}

/// The schema's name is the one that goes with the topic.
fn schema(report: &mut Report<'_>, topic: Topic<'_>, envelope: &Envelope<'_>, profile: Profile) {
    let Some(name) = envelope.schema.and_then(Node::text).filter(|name| !name.is_empty()) else {
        report.envelope(Rule::SchemaName, "schema", envelope.schema, "schema is missing");
        return;
    };
    let grade = match topic.after_schema(&name).and_then(|rest| rest.strip_prefix("-v")) {
        Some("1") => return,
        Some(version) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            Grade::Note
        }
        _ if name == SERVER_SCHEMA => Grade::Should,
        // The published server compares no names; that of another topic is wrong all the same.
        _ if profile == Profile::Origin && !topic::is_schema(&name) => Grade::Note,
        _ => Grade::Full,
    };
    // A topic that the document does not know has a schema that it does not know.
    let Some(expected) = topic.schema() else {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let versioned = name.strip_prefix("cmd-").and_then(|rest| rest.rsplit_once("-v"));
        let is_command = || versioned.is_some_and(|(_, version)| is_number(version));
        if matches!(topic, Topic::Role { .. }) && profile != Profile::Origin && !is_command() {
            let message = format_args!("schema is `{}`, which is that of no command", shown(&name));
            report.envelope((Rule::SchemaName, Grade::Should), "schema", envelope.schema, message);
        }
        return;
    };
    let message = format_args!("schema is `{}`; the topic's is `{expected}-v1`", shown(&name));
    report.envelope((Rule::SchemaName, grade), "schema", envelope.schema, message);
}
