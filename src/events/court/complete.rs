//! A worker's complete.

use crate::json::Node;

use super::super::breach::{Breach, Grade, Happening, Observer};
use super::super::peer::PeerId;
use super::super::phase::Phase;
use super::super::record::Record;
use super::super::{Profile, Rule};
use super::fields::{bad_artifact, be, count, is_one_of, list, missing};
use super::{Court, breach};

const REQUIRED: [&str; 4] = ["result", "summary", "artifacts", "phases_completed"];
const RESULTS: [&str; 3] = ["ok", "failed", "cancelled"];

impl Court {
    pub(super) fn complete(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        if let Some(line) = self.peers.get(id).life.complete_line {
            self.blame(out, Rule::CompleteOnce, Grade::Full, record, "/topic", None, || {
                format!("the worker already completed on line {line}")
            });
            return;
        }
        let required = if self.profile == Profile::Origin { &REQUIRED[..1] } else { &REQUIRED[..] };
        let missing = missing(record, required);
        if !missing.is_empty() {
            self.blame(out, Rule::CompleteFields, Grade::Full, record, "", record.data, || {
                format!("{} {} missing from the complete", list(&missing), be(&missing))
            });
        }
        let result = record.field("result");
        if let Some(result) = result {
            if !is_one_of(result, &RESULTS) {
                self.blame(out, Rule::CompleteResult, Grade::Full, record, "result", Some(result), || {
                    "result is none of ok, failed, cancelled".into()
                });
            } else if !result.is_text("ok") && self.profile == Profile::Strict {
                self.blame(out, Rule::CompleteSuccess, Grade::Full, record, "result", Some(result), || {
                    "a complete means success, and this one tells of none".into()
                });
            }
        }
        if let Some(artifacts) = record.field("artifacts")
            && let Some(wrong) = bad_artifact(artifacts)
        {
            self.blame(
                out,
                Rule::CompleteArtifacts,
                Grade::Full,
                record,
                "artifacts",
                Some(artifacts),
                || wrong,
            );
        }
        self.complete_state(record, id, out);
        self.complete_totals(record, id, out);
        let life = &mut self.peers.get_mut(id).life;
        life.complete_line = Some(record.line);
        life.requests.clear();
        life.abort = None;
        life.forced = None;
        self.settle(id);
        let result = result.and_then(Node::text).unwrap_or_default();
        let name = &self.peers.get(id).name;
        out.happening(name, record.time, record.line, Happening::Completed(&result));
    }

    fn complete_state(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let sure = self.sure(id);
        let held = self.peers.get_mut(id).life.after_fatal.take();
        let life = &self.peers.get(id).life;
        if let Some(fatal) = life.fatal_line {
            let mut consequences = Vec::new();
            if let Some(held) = held {
                consequences.push((held.rule, held.line));
            }
            self.push(out, Rule::CompleteOrFatal, || Breach {
                consequences,
                ..breach(Rule::CompleteOrFatal, Grade::Full, record, "/topic", None, {
                    format!("a complete after the fatal ERROR on line {fatal}")
                })
            });
        }
        if life.phase_unsure {
            return;
        }
        let ended = life.visited.has(Phase::Reflect) || life.visited.has(Phase::Failed);
        if !ended {
            let recovering = life.phase == Some(Phase::Recover);
            self.push(out, Rule::CompleteTerminal, || Breach {
                consequences: if recovering { vec![(Rule::RecoverExit, record.line)] } else { Vec::new() },
                ..breach(Rule::CompleteTerminal, sure, record, "/topic", None, {
                    let phase = life.phase.map_or("any phase", Phase::name);
                    format!("the worker completes in {phase}, before REFLECT or FAILED")
                })
            });
        }
        if life.phase == Some(Phase::Failed)
            && record.field("result").is_some_and(|result| result.is_text("ok"))
        {
            self.blame(out, Rule::CompleteFailed, Grade::Full, record, "result", None, || {
                "the result is ok, and the worker is in FAILED".into()
            });
        }
        if let Some(current) = life.phase
            && ended
            && !life.phases_tainted
        {
            self.completed_list(record, id, current, Rule::CompletePhases, out);
        }
    }

    fn complete_totals(&self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let life = &self.peers.get(id).life;
        for (key, before) in
            [("total_tokens", life.tokens), ("total_cost_usd", life.cost), ("duration_ms", None)]
        {
            let Some(node) = record.field(key) else { continue };
            let total = count(Some(node));
            let wrong = match (total, before) {
                (None, _) => Some(format!("{key} is no number from 0 up")),
                (Some(total), Some(before)) if total < before => {
                    Some(format!("{key} is less than in the last heartbeat"))
                }
                _ => None,
            };
            if let Some(wrong) = wrong {
                self.blame(out, Rule::CompleteTotals, Grade::Full, record, key, Some(node), || wrong);
                return;
            }
        }
    }
}
