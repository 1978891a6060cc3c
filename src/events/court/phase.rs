//! The phase machine.

use crate::json::{Kind, Node};

use super::super::breach::{Breach, Grade, Happening, Observer};
use super::super::peer::PeerId;
use super::super::phase::{Legality, Phase, legality};
use super::super::record::Record;
use super::super::{Profile, Rule};
use super::fields::{be, list, missing, said};
use super::{Court, breach, shown};

const REQUIRED: [&str; 4] = ["phase", "prev", "transition_reason", "phases_completed"];

impl Court {
    pub(super) fn phase(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        if self.after_complete(record, id, out) {
            return;
        }
        let phase = self.phase_fields(record, id, out);
        let life = &self.peers.get(id).life;
        if life.phase.is_some_and(Phase::is_terminal) {
            let last = life.phase.map_or("", Phase::name);
            self.blame(out, Rule::AfterTerminal, Grade::Full, record, "phase", record.field("phase"), || {
                format!("a phase after {last}, which is terminal")
            });
            return;
        }
        let Some(phase) = phase else {
            let life = &mut self.peers.get_mut(id).life;
            life.phase_unsure = true;
            life.phases_tainted = true;
            return;
        };
        if life.fatal_line.is_some() && phase != Phase::Failed {
            self.after_fatal(record, id);
        }
        let sound = self.step(record, id, phase, out);
        let life = &self.peers.get(id).life;
        if sound && !life.phases_tainted {
            self.completed_list(record, id, phase, Rule::PhasesCompleted, out);
        }
        self.enter(record, id, phase, out);
    }

    /// Judges the fields; answers with the phase if it is one.
    fn phase_fields(&self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) -> Option<Phase> {
        let first = self.peers.get(id).life.phase.is_none();
        let mut missing = missing(record, &REQUIRED);
        if self.profile == Profile::Lenient && first {
            missing.retain(|key| *key != "prev");
        }
        if !missing.is_empty() {
            self.blame(out, Rule::PhaseFields, Grade::Full, record, "", record.data, || {
                format!("{} {} missing from the phase", list(&missing), be(&missing))
            });
        }
        let name = record.field("phase");
        let phase = name.and_then(Node::text).and_then(|name| Phase::from_name(&name));
        if name.is_some() && phase.is_none() {
            self.blame(out, Rule::PhaseName, Grade::Full, record, "phase", name, || {
                "phase is none of the nine of the protocol".into()
            });
        }
        let prev = record.field("prev").filter(|prev| !prev.is_null());
        if let Some(prev) = prev
            && prev.text().is_none_or(|name| Phase::from_name(&name).is_none())
        {
            self.blame(out, Rule::PrevName, Grade::Full, record, "prev", Some(prev), || {
                "prev is neither a phase nor null".into()
            });
        }
        let reason = record.field("transition_reason");
        if reason.is_some() && said(reason).is_none() {
            self.blame(out, Rule::TransitionReason, Grade::Full, record, "transition_reason", reason, || {
                "transition_reason says nothing".into()
            });
        }
        phase
    }

    /// Judges the step from the last phase to this one; answers whether it is sound.
    fn step(&mut self, record: &Record<'_>, id: PeerId, phase: Phase, out: &mut impl Observer) -> bool {
        let sure = self.sure(id);
        let life = &self.peers.get(id).life;
        let forced = life.forced.is_some_and(|(forced, _)| forced == phase);
        let prev = record.field("prev");
        let said_prev = prev.and_then(Node::text).and_then(|name| Phase::from_name(&name));
        let Some(last) = life.phase else {
            if life.phase_unsure {
                return false;
            }
            if phase != Phase::Plan {
                self.peers.get_mut(id).life.phases_tainted = true;
                if !forced {
                    self.blame(out, Rule::PhaseEntry, sure, record, "phase", record.field("phase"), || {
                        format!("the first phase is {}, not PLAN", phase.name())
                    });
                }
                return false;
            }
            if said_prev.is_some() {
                self.blame(out, Rule::PrevMatches, sure, record, "prev", prev, || {
                    "prev names a phase, and none came before".into()
                });
                return false;
            }
            return true;
        };
        if last == phase {
            self.blame(out, Rule::SelfTransition, sure, record, "phase", record.field("phase"), || {
                format!("{} is entered from itself", phase.name())
            });
            return false;
        }
        if life.phase_unsure {
            return false;
        }
        let mut sound = true;
        if prev.is_some()
            && said_prev != Some(last)
            && (said_prev.is_some() || prev.is_some_and(Node::is_null))
        {
            self.blame(out, Rule::PrevMatches, sure, record, "prev", prev, || {
                format!("prev is not {}, the phase last published", last.name())
            });
            sound = false;
        }
        let grade = match legality(last, phase, life.recovering_from, self.profile) {
            _ if forced => return sound,
            Legality::Legal => return sound,
            Legality::Contested => sure.min(Grade::Should),
            Legality::Illegal => sure,
        };
        self.blame(out, Rule::Transition, grade, record, "phase", record.field("phase"), || {
            format!("{} → {} is not in the table of transitions", last.name(), phase.name())
        });
        sound
    }

    /// Takes a phase over, legal or not, so that one mistake is one finding.
    fn enter(&mut self, record: &Record<'_>, id: PeerId, phase: Phase, out: &mut impl Observer) {
        let life = &mut self.peers.get_mut(id).life;
        if phase == Phase::Recover && life.phase != Some(Phase::Recover) {
            life.recovering_from = life.phase;
        }
        if life.phase != Some(phase) {
            life.entered = record.time;
        }
        life.phase = Some(phase);
        life.phase_unsure = false;
        life.visited.add(phase);
        if life.forced.is_some_and(|(forced, _)| forced == phase) || phase == Phase::Failed {
            life.forced = None;
        }
        if phase == Phase::Failed {
            life.failed_line = Some((record.line, record.offset));
        }
        if phase.is_terminal() {
            life.abort = None;
            self.settle(id);
            self.watch_silence(id);
        }
        out.happening(&self.peers.get(id).name, record.time, record.line, Happening::Entered(phase));
    }

    /// Judges `phases_completed` against the phases that were visited.
    pub(super) fn completed_list(
        &self,
        record: &Record<'_>,
        id: PeerId,
        current: Phase,
        rule: Rule,
        out: &mut impl Observer,
    ) {
        let Some(node) = record.field("phases_completed") else { return };
        let visited = self.peers.get(id).life.visited;
        let mut items = node.items().peekable();
        let wrong = if node.kind() != Kind::Array {
            Some("phases_completed is no list".to_owned())
        } else if items.peek().is_none() {
            // Nothing is complete in the first phase, and the published tooling never says more.
            let fine = visited.is_empty() || self.profile == Profile::Origin;
            (!fine).then(|| "phases_completed is empty".to_owned())
        } else if items.peek().is_some_and(|first| !first.is_text("PLAN")) {
            Some("phases_completed does not start with PLAN".to_owned())
        } else {
            items.find_map(|item| {
                let name = item.text()?;
                match Phase::from_name(&name) {
                    Some(phase) if phase == current || visited.has(phase) => None,
                    Some(phase) => {
                        Some(format!("phases_completed has {}, which was not visited", phase.name()))
                    }
                    None => Some(format!("phases_completed has `{}`, which is no phase", shown(&name))),
                }
            })
        };
        if let Some(wrong) = wrong {
            let grade = self.sure(id);
            self.blame(out, rule, grade, record, "phases_completed", Some(node), || wrong);
        }
    }

    /// Remembers the first thing that came after a fatal ERROR. It is reported when the life ends, because a complete
    /// that follows is the graver sign of the same mistake.
    pub(super) fn after_fatal(&mut self, record: &Record<'_>, id: PeerId) {
        let life = &mut self.peers.get_mut(id).life;
        let Some(fatal) = life.fatal_line else { return };
        if life.after_fatal.is_none() {
            let message = format!("the worker goes on after its fatal ERROR on line {fatal}");
            let found: Breach = breach(Rule::AfterFatal, Grade::Full, record, "/topic", None, message);
            life.after_fatal = Some(Box::new(found));
        }
    }
}
