//! Broadcasts to a role, and the shutdown that an orchestrator owes its workers.

use crate::json::Node;

use super::super::peers::{PeerId, Role};
use super::super::record::Shape;
use super::super::violation::{Grade, Observer, Violation};
use super::super::{Profile, Rule};
use super::fields::nonblank;
use super::report::{Report, shown};
use super::session::Session;
use crate::time::{self, Millis};

/// How often it is looked whether workers obey a broadcast; whoever broadcasts without end is not followed for ever.
const LOOKS: u8 = 16;

/// What a line says of the publishing.
const OF_THE_LINE: [&str; 9] =
    ["topic", "from", "ts_server", "sequence", "type", "push", "protocol", "sentAt", "recvTs"];

/// The last broadcast that told workers to stop.
#[derive(Debug, Default)]
pub(super) struct Broadcast {
    /// Its line and offset, and when the workers must have obeyed.
    abort: Option<((u64, u64), Option<Millis>)>,
    looks: u8,
    /// Whether any broadcast told the workers to stop.
    sent: bool,
}

impl Session {
    /// A broadcast to a role.
    pub(super) fn role(&mut self, report: &mut Report<'_>, role: &str, has_data: bool) {
        if Role::from_name(role).is_none() {
            let role = shown(role);
            let message = format_args!("`{role}` is none of the roles orchestrator, worker, observer");
            report.topic(Rule::RoleTopic, message);
        }
        if !self.may_command(report) {
            return;
        }
        self.root_parent(report);
        let data = report.record.data.filter(|_| has_data);
        // Without a payload the line itself is looked at, and what it says of the publishing is nothing that was said.
        let of_the_line = |name: Node<'_>| OF_THE_LINE.iter().any(|known| name.is_text(known));
        let is_told =
            |(name, _): (Node<'_>, Node<'_>)| report.record.shape != Shape::Flat || !of_the_line(name);
        let says_something = data.is_some_and(|data| data.members().any(is_told));
        let schema = report.record.envelope.and_then(|envelope| envelope.schema);
        let is_abort = schema.is_some_and(|name| name.is_text("cmd-abort-v1"));
        if says_something && is_abort && nonblank(report.value("reason")).is_none() {
            report.field(Rule::BroadcastData, "reason", "the abort does not say its reason");
        }
        let is_pause =
            schema.is_some_and(|name| name.is_text("cmd-pause-v1") || name.is_text("cmd-resume-v1"));
        if has_data && !says_something && !is_pause {
            report.data(Rule::BroadcastData, "the broadcast says nothing");
        }
        if role == Role::Worker.name() && says_something && !is_pause {
            self.broadcast.sent = true;
            let due = report.record.time.map(|now| now.saturating_add(self.limits.order));
            let place = (report.record.line, report.record.offset);
            if self.broadcast.abort.is_none() {
                self.broadcast.abort = Some((place, due));
            }
        }
    }

    /// Looks whether the workers obeyed a broadcast once their time has passed.
    pub(super) fn broadcast_due(&mut self, now: Millis, out: &mut dyn Observer) {
        let Some((place, Some(due))) = self.broadcast.abort else { return };
        if due >= now {
            return;
        }
        self.broadcast.abort = None;
        self.broadcast.looks = self.broadcast.looks.saturating_add(1);
        if self.running == 0 || self.broadcast.looks > LOOKS {
            return;
        }
        let goes_on = |id: &PeerId| {
            let peer = &self.peers[*id];
            peer.worker.has_booted()
                && !peer.left
                && !peer.worker.is_over()
                && peer.worker.boot_line < place.0
        };
        let deaf: Vec<_> = self.peers.ids().into_iter().filter(goes_on).collect();
        if let [first, rest @ ..] = &deaf[..] {
            let others = if rest.is_empty() { String::new() } else { format!(" and {} others", rest.len()) };
            let message = format_args!(
                "{}{others} did not end within {} after the broadcast on line {}",
                shown(&self.peers[*first].name),
                time::span(self.limits.order),
                place.0
            );
            self.report(out, (Rule::AbortObeyed, self.certainty(*first)), self.place, Some(*first), message);
        }
    }

    /// An orchestrator leaves: its workers have ended, and it told them to stop.
    pub(super) fn orchestrator_left(&mut self, report: &mut Report<'_>, id: PeerId, clean: bool) {
        let grade = if self.lost_line > 0 { Grade::Indeterminate } else { Grade::Full };
        let children = self.peers[id].children;
        // Whoever names no parent is the only orchestrator's.
        let is_only = self.orchestrators <= 1;
        let running = children.running + if is_only { self.orphans } else { 0 };
        let owes_broadcast = !self.broadcast.sent && children.ever > 0 && clean;
        if running > 0 {
            let workers = if running == 1 { "worker still runs" } else { "workers still run" };
            let message = format_args!("the orchestrator leaves while {running} {workers}");
            let line = report.record.line;
            report.push(Violation {
                consequences: if owes_broadcast { vec![(Rule::ShutdownBroadcast, line)] } else { Vec::new() },
                ..report.violation((Rule::Shutdown, grade), "peerId", None, message)
            });
        } else if owes_broadcast && self.profile != Profile::Origin {
            let message = "the orchestrator leaves and never told its workers to stop";
            report.at((Rule::ShutdownBroadcast, grade), "peerId", None, message);
        }
    }
}
