//! What the server says: who came, who left, who is stale, and what it refused.

use crate::json::{Kind, Node};

use super::super::peers::{PeerId, Reported, Role};
use super::super::phase::Phase;
use super::super::timers::Timer;
use super::super::topic::{self, System, Topic};
use super::super::violation::{Grade, Occurrence, Violation};
use super::super::worker::Boot;
use super::super::{Profile, Rule};
use super::command::injected;
use super::fields::{amount, is_one_of, missing, nonblank};
use super::report::{Report, shown};
use super::session::{SERVER, Session};
use crate::time;

impl Session {
    /// Whoever publishes has joined and has not left.
    pub(super) fn presence(&mut self, report: &mut Report<'_>, topic: Topic<'_>) {
        let Some(from) = report.record.publisher().filter(|from| from != SERVER) else { return };
        if matches!(topic, Topic::System { .. }) && report.record.from.is_none() {
            // The dialogue's notation names the peer that a server event is about.
            return;
        }
        let Some(id) = self.peers.meet(&from) else { return };
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
            return;
        }
        let Some(event) = event else {
            if rest == "broadcast" {
                injected(report);
            } else if !matches!(rest, "heartbeat" | "metrics")
                && let Some(known) = topic::near_miss(rest, System::NAMES)
            {
                let message = format_args!("`system.{}` nearly spells `system.{known}`", shown(rest));
                report.topic(Rule::SystemTopic, message);
            }
            return;
        };
        system_fields(report, event);
        match event {
            System::Joined => self.joined(report),
            System::Left => self.left(report),
            System::Stale => self.stale(report),
            System::Gate => {}
            System::Budget => {
                let amount = |key| report.value(key).and_then(Node::float);
                if let (Some(current), Some(threshold)) = (amount("current_usd"), amount("threshold_usd"))
                    && current <= threshold
                {
                    let message = format_args!("{current} does not exceed the threshold of {threshold}");
                    report.at(Rule::BudgetExceeded, "current_usd", None, message);
                }
            }
            System::Malformed => {
                let is_known = self.named_peer(report, "from").is_some();
                if !is_known && self.has_joins && report.value("from").is_some() {
                    let message = "the event is said to come from a peer that never joined";
                    report.field(Rule::MalformedNames, "from", message);
                }
            }
        }
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
        let role_name = nonblank(report.value("role")).unwrap_or_default();
        let role = Role::from_name(&role_name);
        let peer = &mut self.peers[id];
        peer.joined = true;
        peer.joined_at = report.record.time;
        peer.role = role;
        peer.last_line = report.record.line;
        if role == Some(Role::Orchestrator) && self.root.is_none() {
            self.root = Some(id);
        }
        if role == Some(Role::Worker) {
            self.watch_silence(id);
        }
        let name = nonblank(report.value("peerName")).unwrap_or_default();
        report.occurred(&self.peers[id].name, Occurrence::Joined { role: &role_name, name: &name });
    }

    fn left(&mut self, report: &mut Report<'_>) {
        self.log.leaves = true;
        let Some(id) = self.named_peer(report, "peerId") else { return };
        let peer = &mut self.peers[id];
        if peer.left {
            return;
        }
        let reason = nonblank(report.value("reason")).unwrap_or_default();
        peer.role = peer.role.or(Role::of(report.value("role")));
        if peer.is_worker() {
            self.worker_left(report, id, reason == "clean");
        } else if peer.role == Some(Role::Orchestrator) && self.running > 0 {
            let grade = if self.lost_line > 0 { Grade::Indeterminate } else { Grade::Full };
            let running = self.running;
            let workers = if running == 1 { "worker still runs" } else { "workers still run" };
            let message = format_args!("the orchestrator leaves while {running} {workers}");
            report.at((Rule::Shutdown, grade), "peerId", None, message);
        }
        self.end_worker(id, report.out);
        report.occurred(&self.peers[id].name, Occurrence::Left(&reason));
        self.peers.leave(id);
    }

    fn worker_left(&mut self, report: &mut Report<'_>, id: PeerId, clean: bool) {
        let line = report.record.line;
        let grade = if clean { self.certainty(id) } else { Grade::Note };
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

fn system_fields(report: &mut Report<'_>, event: System) {
    let required: &[&str] = match event {
        System::Joined => &["peerId", "role", "peerName", "ts"],
        System::Left => &["peerId", "role", "reason"],
        System::Stale => &["peerId", "last_seen", "missed_heartbeats"],
        System::Gate => &["tool", "reason", "peerId"],
        System::Budget => &["current_usd", "threshold_usd"],
        System::Malformed => &["from", "topic", "error"],
    };
    report.missing(Rule::SystemFields, &missing(report.record, required), "event");
    let is_sound = |key: &str, node: Node<'_>| match (event, key) {
        (System::Joined | System::Left, "role") => Role::of(Some(node)).is_some(),
        (System::Left, "reason") => is_one_of(node, &["clean", "crash", "timeout"]),
        (System::Joined, "ts") => node.text().is_some_and(|time| time::parse(&time).is_some()),
        (_, "last_seen" | "missed_heartbeats" | "current_usd" | "threshold_usd") => {
            amount(Some(node)).is_some()
        }
        // The published server sends the list of a validator's complaints.
        (System::Malformed, "error") => matches!(node.kind(), Kind::String | Kind::Array | Kind::Object),
        _ => nonblank(Some(node)).is_some(),
    };
    let is_wrong = |key: &&&str| report.value(key).is_some_and(|node| !is_sound(key, node));
    if let Some(key) = required.iter().find(is_wrong) {
        report.field(Rule::SystemTypes, key, format_args!("{key} has the wrong type or value"));
    }
}
