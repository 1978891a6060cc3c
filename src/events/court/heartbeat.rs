//! Heartbeats: what they hold. Their pace is watched in `silence`.

use crate::json::{Key, Kind, Node};

use super::super::breach::{Grade, Happening, Observer};
use super::super::peer::{PeerId, key_of};
use super::super::phase::Phase;
use super::super::record::Record;
use super::super::{Profile, Rule};
use super::fields::{be, count, list};
use super::{Court, shown};
use crate::time;

const REQUIRED: [&str; 4] = ["current_phase", "time_in_phase_ms", "tokens_used", "cost_usd"];
/// How far `time_in_phase_ms` may be off.
const PHASE_TIME_SLACK: f64 = 2_000.0;

/// The fields of a heartbeat, looked up once: most records of a log are heartbeats.
#[derive(Clone, Copy)]
struct Beat<'a> {
    required: [Option<Node<'a>>; 4],
    last_event_id: Option<Node<'a>>,
    active_sub_workers: Option<Node<'a>>,
    severity: Option<Node<'a>>,
}

impl<'a> Beat<'a> {
    fn of(data: Option<Node<'a>>) -> Self {
        const KEYS: [Key; 7] = [
            Key::new("current_phase"),
            Key::new("time_in_phase_ms"),
            Key::new("tokens_used"),
            Key::new("cost_usd"),
            Key::new("last_event_id"),
            Key::new("active_sub_workers"),
            Key::new("severity"),
        ];
        let [phase, time, tokens, cost, last_event_id, active_sub_workers, severity] =
            data.map(|data| data.pick(KEYS)).unwrap_or_default();
        Self { required: [phase, time, tokens, cost], last_event_id, active_sub_workers, severity }
    }

    fn phase(&self) -> Option<Node<'a>> {
        self.required[0]
    }
}

impl Court {
    pub(super) fn heartbeat(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let beat = Beat::of(record.data);
        let missing: Vec<_> = if self.profile == Profile::Origin {
            Vec::new()
        } else {
            REQUIRED
                .iter()
                .zip(beat.required)
                .filter(|(_, node)| node.is_none())
                .map(|(key, _)| *key)
                .collect()
        };
        if !missing.is_empty() {
            self.blame(out, Rule::HeartbeatFields, Grade::Full, record, "", record.data, || {
                format!("{} {} missing from the heartbeat", list(&missing), be(&missing))
            });
        }
        self.heartbeat_types(record, &beat, out);
        if beat.severity.is_some_and(|severity| severity.is_text("fatal")) {
            self.peers.get_mut(id).life.last_will = true;
            if self.profile != Profile::Lenient {
                self.blame(out, Rule::HeartbeatFatal, Grade::Full, record, "severity", None, || {
                    "a heartbeat with severity fatal; the last will is a fatal ERROR event".into()
                });
            }
        }
        let life = &self.peers.get(id).life;
        if life.is_over() {
            let when = if life.complete_line.is_some() { "after complete" } else { "in a terminal phase" };
            self.blame(out, Rule::HeartbeatAfterEnd, Grade::Full, record, "/topic", None, || {
                format!("a heartbeat {when}")
            });
        } else {
            self.after_fatal(record, id);
            self.heartbeat_phase(record, &beat, id, out);
            self.heartbeat_facts(record, &beat, id, out);
            self.children(record, &beat, id, out);
        }
        self.pace(record, id, out);
    }

    fn heartbeat_types(&self, record: &Record<'_>, beat: &Beat<'_>, out: &mut impl Observer) {
        let mut wrong = Vec::new();
        for (key, node) in REQUIRED.iter().zip(beat.required).skip(1) {
            if node.is_some() && count(node).is_none() {
                wrong.push(*key);
            }
        }
        let phase = beat.phase();
        if phase.is_some_and(|phase| phase.text().is_none_or(|name| Phase::from_name(&name).is_none())) {
            wrong.push("current_phase");
        }
        if let Some(first) = wrong.first() {
            self.blame(out, Rule::HeartbeatTypes, Grade::Full, record, first, record.field(first), || {
                format!("{} {} of the wrong type or value", list(&wrong), be(&wrong))
            });
        }
    }

    fn heartbeat_phase(&self, record: &Record<'_>, beat: &Beat<'_>, id: PeerId, out: &mut impl Observer) {
        let life = &self.peers.get(id).life;
        if life.phase_unsure {
            return;
        }
        let Some(phase) = life.phase else { return };
        let node = beat.phase();
        let current = node.and_then(Node::text).and_then(|name| Phase::from_name(&name));
        let sure = self.sure(id);
        if current.is_some_and(|current| current != phase) {
            self.blame(out, Rule::HeartbeatPhase, sure, record, "current_phase", node, || {
                format!("current_phase is not {}, the phase last published", phase.name())
            });
            return;
        }
        let stated = count(beat.required[1]);
        let elapsed = record.time.zip(life.entered).map(|(now, entered)| now.saturating_sub(entered) as f64);
        if let (Some(stated), Some(elapsed)) = (stated, elapsed)
            && (stated - elapsed).abs() > PHASE_TIME_SLACK
        {
            let node = beat.required[1];
            self.blame(out, Rule::HeartbeatPhaseTime, sure, record, "time_in_phase_ms", node, || {
                format!("the phase was published {} ago", time::span(elapsed as i64))
            });
        }
    }

    fn heartbeat_facts(&mut self, record: &Record<'_>, beat: &Beat<'_>, id: PeerId, out: &mut impl Observer) {
        let (tokens, cost) = (count(beat.required[2]), count(beat.required[3]));
        let life = &self.peers.get(id).life;
        let fell =
            |now: Option<f64>, before: Option<f64>| now.zip(before).is_some_and(|(now, before)| now < before);
        if fell(tokens, life.tokens) || fell(cost, life.cost) {
            self.blame(out, Rule::HeartbeatTotals, Grade::Full, record, "tokens_used", None, || {
                "tokens_used or cost_usd is less than in the heartbeat before".into()
            });
        }
        let node = beat.last_event_id.filter(|node| !node.is_null());
        if let Some(last) = node.and_then(Node::text)
            && life.last_event.is_some_and(|known| known != key_of(&last))
        {
            self.blame(out, Rule::HeartbeatLastEvent, Grade::Full, record, "last_event_id", node, || {
                "last_event_id is not the id of the worker's latest event".into()
            });
        }
        let life = &mut self.peers.get_mut(id).life;
        life.tokens = tokens.or(life.tokens);
        life.cost = cost.or(life.cost);
    }

    fn children(&self, record: &Record<'_>, beat: &Beat<'_>, id: PeerId, out: &mut impl Observer) {
        let Some(node) = beat.active_sub_workers.filter(|node| node.kind() == Kind::Array) else {
            return;
        };
        let name = &self.peers.get(id).name;
        for child in node.items() {
            let Some(child_name) = child.text() else { continue };
            let found = self.peers.find(&child_name).map(|child| self.peers.get(child));
            let is_child = found.is_some_and(|child| child.parent.as_deref() == Some(&**name));
            // A child that is known but never named a parent may well be one.
            let unknown_parent = found.is_some_and(|child| child.parent.is_none());
            if !is_child && !unknown_parent {
                let grade = if self.peers.forgotten > 0 { Grade::Indeterminate } else { self.sure(id) };
                self.blame(
                    out,
                    Rule::HeartbeatChildren,
                    grade,
                    record,
                    "active_sub_workers",
                    Some(node),
                    || format!("{} is not a known child of {name}", shown(&child_name)),
                );
                return;
            }
        }
    }

    /// How long the last heartbeat was ago.
    fn pace(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let Some(now) = record.time else { return };
        let life = &mut self.peers.get_mut(id).life;
        let gap = life.heartbeat.map(|last| now.saturating_sub(last));
        let told = life.gap_told;
        life.heartbeat = Some(now);
        life.stale = None;
        life.gap_told = false;
        let must_beat = life.must_beat();
        if let Some(gap) = gap
            && must_beat
            && !told
            && gap > self.limits.heartbeat_pace
            && gap <= self.limits.heartbeat
        {
            self.blame(out, Rule::HeartbeatPace, Grade::Full, record, "/topic", None, || {
                format!("{} since the last heartbeat; ten seconds are usual", time::span(gap))
            });
        }
        if must_beat {
            self.watch_heartbeat(id);
        }
        out.happening(&self.peers.get(id).name, record.time, record.line, Happening::Heartbeat(gap));
    }
}
