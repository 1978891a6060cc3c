//! The phase machine.

use crate::json::{Kind, Node};

use super::super::peers::PeerId;
use super::super::phase::{Legality, Phase, Visited, legality};
use super::super::topic::Fact;
use super::super::violation::{Grade, Occurrence, Violation};
use super::super::worker::Phases;
use super::super::{Profile, Rule};
use super::report::{Report, shown};
use super::session::Session;
use super::shape::Shape;

impl Session {
    pub(super) fn phase(&mut self, report: &mut Report<'_>, id: PeerId) {
        if self.after_complete(report, id) {
            return;
        }
        let phase = self.phase_fields(report, id);
        let worker = &mut self.peers[id].worker;
        if std::mem::take(&mut worker.rebooted) && phase == Some(Phase::Plan) {
            // The second boot began another life, and that was said.
            worker.phases = Phases::default();
            worker.end.fatal = None;
        }
        if let Some(last) = worker.phases.current.filter(|last| last.is_terminal()) {
            // One worker that does not stop is one mistake, however long it goes on.
            if !std::mem::replace(&mut worker.phases.goes_on, true) {
                let message = format_args!("a phase after {last}, which is terminal");
                report.field(Rule::AfterTerminal, "phase", message);
            }
            return;
        }
        let Some(phase) = phase else {
            worker.phases.lose_track();
            return;
        };
        if phase != Phase::Failed {
            self.after_fatal(report, id);
        }
        self.advances(report, id, phase);
        let sound = self.transition(report, id, phase);
        if sound && !self.peers[id].worker.phases.tainted {
            self.completed_list(report, id, phase, Rule::PhasesCompleted);
        }
        self.enter(report, id, phase);
    }

    /// Checks the fields; answers with the phase if it is one.
    fn phase_fields(&self, report: &mut Report<'_>, id: PeerId) -> Option<Phase> {
        let is_first = self.peers[id].worker.phases.current.is_none();
        let excused: &[&str] = if self.profile == Profile::Lenient && is_first { &["prev"] } else { &[] };
        report.is_broken |= !Shape::of_fact(Fact::Phase).check(report, self.profile, excused);
        Phase::of(report.value("phase"))
    }

    /// A worker that is blocked or paused stays where it is, unless it recovers, fails or is told to go on.
    fn advances(&mut self, report: &mut Report<'_>, id: PeerId, phase: Phase) {
        let certainty = self.certainty(id);
        let worker = &mut self.peers[id].worker;
        let may = matches!(phase, Phase::Failed | Phase::Recover) || worker.orders.force(phase);
        if may || worker.phases.advance_reported || worker.phases.current == Some(phase) {
            return;
        }
        if let Some(pause) = worker.orders.paused {
            worker.phases.advance_reported = true;
            let message = format_args!("the worker enters {phase} although it was paused on line {pause}");
            report.field((Rule::PausedAdvance, certainty), "phase", message);
        } else if let Some(request) = worker.requests.blocking() {
            worker.phases.advance_reported = true;
            let message =
                format_args!("the worker enters {phase} although it is blocked since line {}", request.line);
            report.field((Rule::BlockedAdvance, certainty), "phase", message);
        }
    }

    /// Checks the step from the last phase to this one; answers whether it is sound.
    fn transition(&mut self, report: &mut Report<'_>, id: PeerId, phase: Phase) -> bool {
        let (certainty, line) = (self.certainty(id), report.record.line);
        let worker = &mut self.peers[id].worker;
        let forced = worker.orders.force(phase);
        let prev = report.value("prev");
        let stated_prev = Phase::of(prev);
        let Some(last) = worker.phases.current else {
            if worker.phases.unsure {
                return false;
            }
            if phase != Phase::Plan {
                worker.phases.tainted = true;
                worker.phases.strayed = true;
                if !forced {
                    let message = format_args!("the first phase is {phase}, not PLAN");
                    report.field((Rule::PhaseEntry, certainty), "phase", message);
                }
                return false;
            }
            if stated_prev.is_some() {
                let message = "prev names a phase, and none came before";
                report.field((Rule::PrevMatches, certainty), "prev", message);
            }
            return stated_prev.is_none();
        };
        if last == phase {
            let message = format_args!("{phase} is entered from itself");
            report.field((Rule::SelfTransition, certainty), "phase", message);
            return false;
        }
        if worker.phases.unsure {
            return false;
        }
        // What is neither a phase nor null was reported as such.
        let prev_differs =
            stated_prev != Some(last) && (stated_prev.is_some() || prev.is_some_and(Node::is_null));
        let origin = worker.phases.recovering_from;
        let legality_of = |from| legality(from, phase, origin, self.profile);
        let step = if forced { Legality::Legal } else { legality_of(last) };
        let strayed = std::mem::take(&mut worker.phases.strayed);
        if prev_differs {
            worker.phases.tainted = true;
            let fits = stated_prev.is_some_and(|prev| legality_of(prev) == Legality::Legal);
            if fits && strayed {
                // It goes on from where it says that it is; that it is elsewhere by what it published was said.
                return false;
            }
            // The step that it tells is a sound one, so that a phase in between was not published.
            let is_one_cause = fits && step == Legality::Illegal;
            let message = format_args!("prev is not {last}, the phase last published");
            report.push(Violation {
                consequences: if is_one_cause { vec![(Rule::Transition, line)] } else { Vec::new() },
                ..report.violation((Rule::PrevMatches, certainty), "prev", prev, message)
            });
            if is_one_cause {
                return false;
            }
        }
        let grade = match step {
            Legality::Legal => return !prev_differs,
            Legality::Contested => certainty.min(Grade::Should),
            Legality::Illegal => certainty,
        };
        if step == Legality::Illegal {
            worker.phases.tainted = true;
            worker.phases.strayed = true;
        }
        let message = format_args!("{last} → {phase} is not in the table of transitions");
        report.field((Rule::Transition, grade), "phase", message);
        if self.profile != Profile::Origin {
            self.await_gate(report, id);
        }
        false
    }

    /// Takes a phase over, legal or not, so that one mistake is one finding.
    fn enter(&mut self, report: &mut Report<'_>, id: PeerId, phase: Phase) {
        let record = report.record;
        let worker = &mut self.peers[id].worker;
        let phases = &mut worker.phases;
        if phases.current != Some(phase) {
            phases.entered = record.time;
            if phase == Phase::Recover {
                phases.recovering_from = phases.current;
            }
        }
        phases.current = Some(phase);
        phases.unsure = false;
        phases.visited.add(phase);
        if worker.orders.force(phase) || phase == Phase::Failed {
            worker.orders.set_phase = None;
        }
        if phase == Phase::Failed {
            phases.failed_at = Some((record.line, record.offset));
        }
        if phase.is_terminal() {
            worker.orders.abort = None;
            self.stops_running(id);
            self.watch_silence(id);
        }
        report.occurred(&self.peers[id].name, Occurrence::Entered(phase));
    }

    /// Checks `phases_completed` against the phases that were visited.
    pub(super) fn completed_list(&self, report: &mut Report<'_>, id: PeerId, current: Phase, rule: Rule) {
        let Some(node) = report.value("phases_completed") else { return };
        let visited = self.peers[id].worker.phases.visited;
        let mut items = node.items().peekable();
        if node.kind() != Kind::Array || node.items().any(|item| item.kind() != Kind::String) {
            // What is no list of texts was reported as such.
            return;
        }
        let wrong = if items.peek().is_none() {
            // Nothing is complete in the first phase, and the published tooling never says more.
            let fine = visited.is_empty() || self.profile == Profile::Origin;
            (!fine).then(|| "is empty".to_owned())
        } else if items.peek().is_some_and(|first| !first.is_text("PLAN")) {
            Some("does not start with PLAN".to_owned())
        } else {
            let mut listed = Visited::default();
            let odd = items.find_map(|item| {
                let name = item.text()?;
                let phase = Phase::from_name(&name);
                if let Some(phase) = phase {
                    listed.add(phase);
                }
                match phase {
                    Some(phase) if phase == current || visited.has(phase) => None,
                    Some(phase) => Some(format!("has {phase}, which was not visited")),
                    None => Some(format!("has `{}`, which is no phase", shown(&name))),
                }
            });
            let left_out = |phase: &Phase| visited.has(*phase) && *phase != current && !listed.has(*phase);
            odd.or_else(|| {
                let phase = Phase::ALL.into_iter().find(left_out)?;
                Some(format!("leaves out {phase}, which was visited"))
            })
        };
        if let Some(wrong) = wrong {
            let message = format_args!("phases_completed {wrong}");
            report.field((rule, self.certainty(id)), "phases_completed", message);
        }
    }

    /// Remembers the first thing that came after a fatal ERROR. It is reported when the worker ends, because a complete
    /// that follows is the graver sign of the same mistake.
    pub(super) fn after_fatal(&mut self, report: &Report<'_>, id: PeerId) {
        let end = &mut self.peers[id].worker.end;
        let Some(fatal) = end.fatal else { return };
        if end.after_fatal.is_none() {
            let message = format_args!("the worker goes on after its fatal ERROR on line {fatal}");
            end.after_fatal = Some(Box::new(report.violation(Rule::AfterFatal, "/topic", None, message)));
        }
    }
}
