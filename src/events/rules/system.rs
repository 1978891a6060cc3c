//! What the server says: who came, who left, who is stale, and what it refused.

use std::sync::Arc;

use crate::json::Node;

use super::super::peers::{PeerId, Reported, Role, key_of};
use super::super::phase::Phase;
use super::super::timers::Timer;
use super::super::topic::{self, System, Topic};
use super::super::violation::{Grade, Occurrence, Violation};
use super::super::worker::Boot;
use super::super::{Profile, Rule};
use super::command::{header_id, injected};
use super::fields::{amount, nonblank};
use super::report::{Report, shown};
use super::session::{SERVER, Session, is_later_version};
use super::shape::Shape;
use crate::time;

impl Session {
    /// Whoever publishes has joined and has not left.
    pub(super) fn presence(&mut self, report: &mut Report<'_>, topic: Topic<'_>) {
        let Some(from) = report.record.publisher().filter(|from| from != SERVER) else { return };
        if matches!(topic, Topic::System { .. }) && report.record.from.is_none() {
            // The dialogue's notation names the peer that a server event is about.
            return;
        }
        // A connection of which nothing else is known need not be remembered: the published tooling opens one a call.
        let known = self.peers.find(&from);
        if known.is_none() && (!self.has_joins || self.start_is_missing) {
            return;
        }
        let Some(id) = self.peers.meet(&from) else { return };
        if !matches!(topic, Topic::Worker { .. } | Topic::Task { .. }) && self.peers[id].is_worker() {
            self.after_complete(report, id);
        }
        let unsure = self.lost_line > 0 || self.peers.forgotten > 0;
        let peer = &mut self.peers[id];
        if peer.left {
            if !std::mem::replace(&mut peer.reported.after_left, true) {
                report.publisher(Rule::LeftLast, format_args!("{} publishes after it left", shown(&from)));
            }
        } else if !peer.joined && self.has_joins && !peer.reported.not_joined && !self.start_is_missing {
            peer.reported.not_joined = true;
            let grade = if unsure { Grade::Indeterminate } else { Grade::Full };
            let message = format_args!("{} publishes and never joined", shown(&from));
            report.publisher((Rule::JoinedFirst, grade), message);
        }
    }

    pub(super) fn system(&mut self, report: &mut Report<'_>, event: Option<System>, rest: &str) {
        if let Some(from) = &report.record.from
            && from != SERVER
        {
            if self.profile != Profile::Origin {
                let (from, rest) = (shown(from), shown(rest));
                let message = format_args!("{from} publishes on system.{rest}, which is the server's");
                report.publisher(Rule::ServerTopics, message);
            }
            // Whatever it says, the server did not say it.
            report.is_refused = true;
            return;
        }
        let Some(event) = event else {
            if rest == "broadcast" {
                injected(report);
                self.broadcast_answers(report);
            } else if !matches!(rest, "heartbeat" | "metrics")
                && let Some(known) = topic::near_miss(rest, System::NAMES)
            {
                let message = format_args!("`system.{}` nearly spells `system.{known}`", shown(rest));
                report.topic(Rule::SystemTopic, message);
            }
            return;
        };
        if is_later_version(report.record) {
            return;
        }
        report.is_broken |= !Shape::of_system(event).check(report, self.profile, &[]);
        match event {
            System::Joined => self.joined(report),
            System::Left => self.left(report),
            System::Stale => self.stale(report),
            System::Gate => {
                if let Some(name) = nonblank(report.value("peerId")) {
                    self.gate_fired(&name);
                    self.names_known(report);
                }
            }
            System::Budget => {
                let amount = |key| report.value(key).and_then(Node::float);
                if let (Some(current), Some(threshold)) = (amount("current_usd"), amount("threshold_usd"))
                    && current <= threshold
                {
                    let message = format_args!("{current} does not exceed the threshold of {threshold}");
                    report.at(Rule::BudgetExceeded, "current_usd", None, message);
                }
                self.budget(report);
            }
            System::Malformed => {
                let is_known = self.named_peer(report, "from").is_some();
                if !is_known && self.has_joins && report.value("from").is_some() {
                    let message = "the event is said to come from a peer that never joined";
                    report.field(Rule::MalformedNames, "from", message);
                } else {
                    self.complaint(report);
                }
            }
        }
    }

    /// A broadcast text with the header of a command answers whoever waits for it.
    fn broadcast_answers(&mut self, report: &mut Report<'_>) {
        let Some(text) = report.value("text").and_then(Node::text) else { return };
        let Some(request) = header_id(&text) else { return };
        let key = key_of(request);
        let waits = |id: &PeerId| self.peers[*id].worker.requests.open().iter().any(|open| open.key == key);
        // A broadcast to more than this is looked through for nobody in particular.
        if (1..=4096).contains(&self.running)
            && let Some(id) = self.peers.ids().into_iter().find(waits)
        {
            self.peers[id].worker.requests.answer(key);
        }
    }

    /// What a budget warning says against what the heartbeats say: the cost of those that run, or of all.
    fn budget(&self, report: &mut Report<'_>) {
        let Some(current) = amount(report.value("current_usd")) else { return };
        let slack = |cost: f64| 0.01 + cost.abs() * 0.01;
        let (least, most) = (self.costs.running, self.costs.all);
        let is_right = current + slack(current) >= least && current - slack(current) <= most;
        let is_unsure = self.start_is_missing || self.lost_line > 0 || self.peers.forgotten > 0;
        if !is_right && self.log.workers {
            let grade = if is_unsure { Grade::Indeterminate } else { Grade::Full };
            let message = format_args!("the heartbeats tell of a cost of {most:.2}, and this of {current}");
            report.field((Rule::BudgetCost, grade), "current_usd", message);
        }
    }

    /// A server event names a peer that joined.
    fn names_known(&self, report: &mut Report<'_>) {
        let Some(name) = nonblank(report.value("peerId")) else { return };
        if self.has_joins && self.peers.find(&name).is_none() {
            let message = format_args!("{} never joined", shown(&name));
            report.field((Rule::NamesKnown, self.certainty_of_strangers()), "peerId", message);
        }
    }

    /// How sure it is that a peer that is not known was never there.
    fn certainty_of_strangers(&self) -> Grade {
        let unsure = self.start_is_missing || self.lost_line > 0 || self.peers.forgotten > 0;
        if unsure { Grade::Indeterminate } else { Grade::Full }
    }

    /// The known peer that a field names.
    fn named_peer(&self, report: &Report<'_>, key: &str) -> Option<PeerId> {
        nonblank(report.value(key)).and_then(|name| self.peers.find(&name))
    }

    fn joined(&mut self, report: &mut Report<'_>) {
        self.has_joins = true;
        self.log.joins = true;
        let Some(name) = nonblank(report.value("peerId")) else { return };
        let Some(id) = self.peers.meet(&name) else { return };
        if self.peers[id].left {
            self.end_worker(id, report.out);
            let peer = &mut self.peers[id];
            peer.renew();
            peer.reported = Reported::default();
            peer.tasks.clear();
        } else if self.peers[id].joined {
            let message = format_args!("{} joins again without having left", shown(&name));
            report.field(Rule::JoinedOnce, "peerId", message);
            return;
        }
        let peer = &mut self.peers[id];
        if peer.last_line > 0 && !peer.left && !std::mem::replace(&mut peer.reported.not_joined, true) {
            let grade = if self.lost_line > 0 { Grade::Indeterminate } else { self.certainty(id) };
            let message = format_args!("{} joins after it has published", shown(&name));
            report.field((Rule::JoinedFirst, grade), "peerId", message);
        }
        let role_name = nonblank(report.value("role")).unwrap_or_default();
        let role = Role::from_name(&role_name);
        let peer = &mut self.peers[id];
        peer.joined = true;
        peer.joined_at = report.record.time;
        peer.since = report.record.time;
        peer.role = role;
        peer.last_line = report.record.line;
        if role == Some(Role::Orchestrator) {
            self.orchestrators = self.orchestrators.saturating_add(1);
            self.root = self.root.or(Some(id));
        }
        if role == Some(Role::Worker) {
            self.watch_silence(id);
        }
        let name = nonblank(report.value("peerName")).unwrap_or_default();
        report.occurred(&self.peers[id].name, Occurrence::Joined { role: &role_name, name: &name });
    }

    fn left(&mut self, report: &mut Report<'_>) {
        self.log.leaves = true;
        let Some(id) = self.named_peer(report, "peerId") else {
            if self.has_joins
                && let Some(name) = nonblank(report.value("peerId"))
            {
                let message = format_args!("{} leaves and never joined", shown(&name));
                report.field((Rule::LeftKnown, self.certainty_of_strangers()), "peerId", message);
            }
            return;
        };
        let peer = &mut self.peers[id];
        if peer.left {
            if !std::mem::replace(&mut peer.reported.left_twice, true) {
                let message = format_args!("{} leaves a second time", shown(&peer.name));
                report.field(Rule::LeftKnown, "peerId", message);
            }
            return;
        }
        let role = Role::of(report.value("role"));
        if peer.joined && role.is_some() && peer.role.is_some() && role != peer.role {
            let joined = peer.role.map_or("", Role::name);
            let message = format_args!("{} joined as {joined} and leaves in another role", shown(&peer.name));
            report.field(Rule::LeftKnown, "role", message);
        }
        let reason = nonblank(report.value("reason")).unwrap_or_default();
        let peer = &mut self.peers[id];
        peer.role = peer.role.or(role);
        if peer.is_worker() {
            self.worker_left(report, id, reason == "clean");
        } else if peer.role == Some(Role::Orchestrator) {
            self.orchestrator_left(report, id, reason == "clean");
        }
        self.end_worker(id, report.out);
        if self.root == Some(id) {
            self.root = None;
        }
        report.occurred(&self.peers[id].name, Occurrence::Left(&reason));
        report.ends = Some(Arc::clone(&self.peers[id].name));
        self.peers.leave(id);
    }

    fn worker_left(&mut self, report: &mut Report<'_>, id: PeerId, clean: bool) {
        let line = report.record.line;
        // Who could still say that it failed could say why.
        let spoke = self.peers[id].worker.phases.has_ended();
        let grade = if clean || spoke { self.certainty(id) } else { Grade::Note };
        let peer = &self.peers[id];
        let (name, worker) = (shown(&peer.name), &peer.worker);
        let completed = worker.end.complete.is_some();
        let has_last_will =
            worker.end.fatal.is_some() || (self.profile == Profile::Lenient && worker.end.last_will);
        if worker.boot == Boot::Missing {
            let message = format_args!("{name} leaves and never booted");
            report.push(Violation {
                consequences: vec![(Rule::LeftUnfinished, line)],
                peer: Some((*peer.name).into()),
                ..report.violation((Rule::BootMissing, grade), "peerId", None, message)
            });
        } else if !completed && !has_last_will {
            let message = format_args!("{name} leaves with neither a complete nor a fatal ERROR");
            let reason = report.value("reason");
            report.push(Violation {
                peer: Some((*peer.name).into()),
                ..report.violation((Rule::LeftUnfinished, grade), "reason", reason, message)
            });
        } else if completed && !clean {
            let message = format_args!("{name} completed, and its leave is called no clean one");
            report.field(Rule::LeftReason, "reason", message);
        } else if worker.phases.current == Some(Phase::Recover) && clean {
            let message = format_args!("{name} leaves in RECOVER, so that its recovery has no end");
            report.at(Rule::RecoverExit, "peerId", None, message);
        }
    }

    fn stale(&mut self, report: &mut Report<'_>) {
        self.names_known(report);
        let Some(id) = self.named_peer(report, "peerId") else { return };
        let (now, line) = (report.record.time, report.record.line);
        let peer = &mut self.peers[id];
        let silence = now.zip(peer.last_seen).map(|(now, seen)| now.saturating_sub(seen));
        if let Some(silence) = silence.filter(|silence| *silence <= self.limits.heartbeat) {
            let (name, silence) = (shown(&self.peers[id].name), time::span(silence));
            let message = format_args!("{name} was heard {silence} ago");
            report.field((Rule::StaleTrue, self.certainty(id)), "peerId", message);
            return;
        }
        peer.worker.stale = Some(line);
        if let Some(now) = now {
            self.arm(id, now.saturating_add(self.limits.reaction), Timer::Stale(line));
        }
    }
}
