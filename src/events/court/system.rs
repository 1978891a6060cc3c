//! What the server says: who came, who left, who is stale, and what it refused.

use crate::json::{Kind, Node};

use super::super::breach::{Breach, Grade, Happening, Observer};
use super::super::peer::{PeerId, Role, Told};
use super::super::phase::Phase;
use super::super::record::Record;
use super::super::topic::{self, System, Topic};
use super::super::{Profile, Rule};
use super::fields::{be, count, is_one_of, list, missing, said};
use super::{Court, SERVER, Timer, breach, shown};
use crate::time;

impl Court {
    /// Whoever publishes has joined and has not left.
    pub(super) fn presence(&mut self, record: &Record<'_>, topic: Topic<'_>, out: &mut impl Observer) {
        let Some(from) = record.publisher().filter(|from| from != SERVER) else { return };
        if matches!(topic, Topic::System { .. }) && record.from.is_none() {
            // The dialogue's notation names the peer that a server event is about.
            return;
        }
        let Some(id) = self.peers.meet(&from) else { return };
        let peer = self.peers.get(id);
        if peer.left {
            if !peer.told.after_left {
                self.blame(out, Rule::LeftLast, Grade::Full, record, "/from", None, || {
                    format!("{} publishes after it left", shown(&from))
                });
                self.peers.get_mut(id).told.after_left = true;
            }
        } else if !peer.joined && self.session.joined && !peer.told.not_joined && !self.is_suffix {
            let unsure = self.lost > 0 || self.peers.forgotten > 0;
            let grade = if unsure { Grade::Indeterminate } else { Grade::Full };
            self.blame(out, Rule::JoinedFirst, grade, record, "/from", None, || {
                format!("{} publishes and never joined", shown(&from))
            });
            self.peers.get_mut(id).told.not_joined = true;
        }
    }

    pub(super) fn system(
        &mut self,
        record: &Record<'_>,
        event: Option<System>,
        rest: &str,
        out: &mut impl Observer,
    ) {
        if let Some(from) = &record.from
            && from != SERVER
        {
            if self.profile != Profile::Origin {
                self.blame(out, Rule::ServerTopics, Grade::Full, record, "/from", None, || {
                    format!("{} publishes on system.{}, which is the server's", shown(from), shown(rest))
                });
            }
            // Whatever it says, the server did not say it.
            return;
        }
        let Some(event) = event else {
            if rest == "broadcast" {
                self.injected(record, record.field("text"), out);
            } else if !matches!(rest, "heartbeat" | "metrics")
                && let Some(known) = topic::near_miss(rest, topic::SYSTEM.map(|(name, _)| name))
            {
                self.blame(out, Rule::SystemTopic, Grade::Full, record, "/topic", None, || {
                    format!("`system.{}` nearly spells `system.{known}`", shown(rest))
                });
            }
            return;
        };
        self.system_fields(record, event, out);
        match event {
            System::Joined => self.joined(record, out),
            System::Left => self.left(record, out),
            System::Stale => self.stale(record, out),
            System::Gate => {}
            System::Budget => {
                let amount = |key| record.field(key).and_then(Node::float);
                if let (Some(current), Some(threshold)) = (amount("current_usd"), amount("threshold_usd"))
                    && current <= threshold
                {
                    self.blame(out, Rule::BudgetExceeded, Grade::Full, record, "current_usd", None, || {
                        format!("{current} does not exceed the threshold of {threshold}")
                    });
                }
            }
            System::Malformed => {
                let known = said(record.field("from")).is_some_and(|from| self.peers.find(&from).is_some());
                if !known && self.session.joined && record.field("from").is_some() {
                    self.blame(
                        out,
                        Rule::MalformedNames,
                        Grade::Full,
                        record,
                        "from",
                        record.field("from"),
                        || "the event is said to come from a peer that never joined".into(),
                    );
                }
            }
        }
    }

    fn system_fields(&self, record: &Record<'_>, event: System, out: &mut impl Observer) {
        let required: &[&str] = match event {
            System::Joined => &["peerId", "role", "peerName", "ts"],
            System::Left => &["peerId", "role", "reason"],
            System::Stale => &["peerId", "last_seen", "missed_heartbeats"],
            System::Gate => &["tool", "reason", "peerId"],
            System::Budget => &["current_usd", "threshold_usd"],
            System::Malformed => &["from", "topic", "error"],
        };
        let missing = missing(record, required);
        if !missing.is_empty() {
            self.blame(out, Rule::SystemFields, Grade::Full, record, "", record.data, || {
                format!("{} {} missing from the event", list(&missing), be(&missing))
            });
        }
        let sound = |key: &str, node: Node<'_>| match (event, key) {
            (System::Joined | System::Left, "role") => {
                node.text().is_some_and(|role| Role::from_name(&role).is_some())
            }
            (System::Left, "reason") => is_one_of(node, &["clean", "crash", "timeout"]),
            (System::Joined, "ts") => node.text().is_some_and(|time| time::parse(&time).is_some()),
            (_, "last_seen" | "missed_heartbeats" | "current_usd" | "threshold_usd") => {
                count(Some(node)).is_some()
            }
            // The published server sends the list of a validator's complaints.
            (System::Malformed, "error") => matches!(node.kind(), Kind::String | Kind::Array | Kind::Object),
            _ => said(Some(node)).is_some(),
        };
        let wrong = required.iter().find(|key| record.field(key).is_some_and(|node| !sound(key, node)));
        if let Some(key) = wrong {
            self.blame(out, Rule::SystemTypes, Grade::Full, record, key, record.field(key), || {
                format!("{key} has the wrong type or value")
            });
        }
    }

    fn joined(&mut self, record: &Record<'_>, out: &mut impl Observer) {
        self.session.joined = true;
        self.log.joined = true;
        let Some(name) = said(record.field("peerId")) else { return };
        let Some(id) = self.peers.meet(&name) else { return };
        let peer = self.peers.get(id);
        if peer.left {
            self.end_life(id, out);
            let peer = self.peers.get_mut(id);
            peer.renew();
            peer.told = Told::default();
            peer.parent = None;
            peer.tasks.clear();
        } else if peer.joined {
            self.blame(out, Rule::JoinedOnce, Grade::Full, record, "peerId", record.field("peerId"), || {
                format!("{} joins again without having left", shown(&name))
            });
            return;
        }
        let role_name = said(record.field("role")).unwrap_or_default();
        let role = Role::from_name(&role_name).unwrap_or_default();
        let peer = self.peers.get_mut(id);
        peer.joined = true;
        peer.left = false;
        peer.joined_at = record.time;
        peer.role = role;
        peer.last_line = record.line;
        if role == Role::Orchestrator && self.root.is_none() {
            self.root = Some(id);
        }
        if role == Role::Worker {
            self.watch_silence(id);
        }
        let shown_name = said(record.field("peerName")).unwrap_or_default();
        let what = Happening::Joined { role: &role_name, name: &shown_name };
        out.happening(&self.peers.get(id).name, record.time, record.line, what);
    }

    fn left(&mut self, record: &Record<'_>, out: &mut impl Observer) {
        self.session.left = true;
        self.log.left = true;
        let Some(id) = said(record.field("peerId")).and_then(|name| self.peers.find(&name)) else { return };
        if self.peers.get(id).left {
            return;
        }
        let reason = said(record.field("reason")).unwrap_or_default();
        let said_role = said(record.field("role")).and_then(|role| Role::from_name(&role));
        let peer = self.peers.get_mut(id);
        if peer.role == Role::Unknown {
            peer.role = said_role.unwrap_or_default();
        }
        if peer.is_worker() {
            self.worker_left(record, id, reason == "clean", out);
        } else if peer.role == Role::Orchestrator && self.running > 0 {
            let running = self.running;
            let grade = if self.lost > 0 { Grade::Indeterminate } else { Grade::Full };
            self.blame(out, Rule::Shutdown, grade, record, "peerId", None, || {
                let workers = if running == 1 { "1 worker".into() } else { format!("{running} workers") };
                format!("the orchestrator leaves while {workers} still run")
            });
        }
        self.end_life(id, out);
        out.happening(&self.peers.get(id).name, record.time, record.line, Happening::Left(&reason));
        self.peers.leave(id);
    }

    fn worker_left(&mut self, record: &Record<'_>, id: PeerId, clean: bool, out: &mut impl Observer) {
        let sure = self.sure(id);
        let grade = if clean { sure } else { Grade::Note };
        let profile = self.profile;
        let life = &self.peers.get(id).life;
        let willed = life.fatal_line.is_some() || (profile == Profile::Lenient && life.last_will);
        let name = &self.peers.get(id).name;
        if !life.booted && !life.early {
            self.push(out, Rule::BootMissing, || Breach {
                consequences: vec![(Rule::LeftUnfinished, record.line)],
                peer: Some((**name).into()),
                ..breach(Rule::BootMissing, grade, record, "peerId", None, {
                    format!("{} leaves and never booted", shown(name))
                })
            });
        } else if life.complete_line.is_none() && !willed {
            self.push(out, Rule::LeftUnfinished, || Breach {
                peer: Some((**name).into()),
                ..breach(Rule::LeftUnfinished, grade, record, "reason", record.field("reason"), {
                    format!("{} leaves with neither a complete nor a fatal ERROR", shown(name))
                })
            });
        } else if life.complete_line.is_some() && !clean {
            self.blame(out, Rule::LeftReason, Grade::Full, record, "reason", record.field("reason"), || {
                format!("{} completed, and its leave is called no clean one", shown(name))
            });
        } else if life.phase == Some(Phase::Recover) && clean {
            self.blame(out, Rule::RecoverExit, Grade::Full, record, "peerId", None, || {
                format!("{} leaves in RECOVER, so that its recovery has no end", shown(name))
            });
        }
    }

    fn stale(&mut self, record: &Record<'_>, out: &mut impl Observer) {
        let Some(id) = said(record.field("peerId")).and_then(|name| self.peers.find(&name)) else { return };
        let peer = self.peers.get(id);
        let silence = record.time.zip(peer.last_seen).map(|(now, seen)| now.saturating_sub(seen));
        if let Some(silence) = silence.filter(|silence| *silence <= self.limits.heartbeat) {
            let grade = self.sure(id);
            self.blame(out, Rule::StaleTrue, grade, record, "peerId", record.field("peerId"), || {
                format!("{} was heard {} ago", shown(&peer.name), time::span(silence))
            });
            return;
        }
        self.peers.get_mut(id).life.stale = Some(record.line);
        if let Some(now) = record.time {
            self.arm(id, now.saturating_add(self.limits.reaction), Timer::Stale(record.line));
        }
    }
}
