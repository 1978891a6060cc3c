//! Attempts at a trial: made until one counts, within limits and budget.

use std::path::Path;
use std::sync::mpsc::Sender;

use super::arm::Arm;
use super::budget::{Refused, Reserved};
use super::observed::Observed;
use super::runner::{ExecuteError, Halt, Progress, Request, Shared, Undone, locked};
use super::spec::Case;
use super::trial::{Attempted, Outcome, Trial};
use crate::classify::Class;
use crate::judge::Contracts;
use crate::recording::Recording;

/// Something that is asked.
pub(super) struct Ask<'a> {
    pub(super) case: &'a Case,
    pub(super) prompt: &'a str,
    pub(super) purpose: Purpose<'a>,
}

/// What it is asked for; what is asked about a trial is answered in a form.
#[derive(Clone, Copy)]
pub(super) enum Purpose<'a> {
    Trial,
    Judge(&'a serde_json::Value),
    Extract(&'a serde_json::Value),
    /// Which of two answers is better; `swapped` when the evaluated arm's stands second.
    Compare {
        form: &'a serde_json::Value,
        swapped: bool,
    },
}

impl<'a> Purpose<'a> {
    /// What its recordings are called.
    fn name(self) -> &'static str {
        match self {
            Self::Trial => "attempt",
            Self::Judge(_) => "judge",
            Self::Extract(_) => "extract",
            Self::Compare { swapped: false, .. } => "compare",
            Self::Compare { swapped: true, .. } => "compare-swapped",
        }
    }

    fn schema(self) -> Option<&'a serde_json::Value> {
        match self {
            Self::Trial => None,
            Self::Judge(form) | Self::Extract(form) | Self::Compare { form, .. } => Some(form),
        }
    }
}

/// Where a worker makes the attempts at a trial.
pub(super) struct Room<'w> {
    /// The folder of the trial.
    pub(super) folder: &'w Path,
    /// How its case is tried.
    pub(super) arm: &'w Arm,
    pub(super) contracts: &'w Contracts,
    pub(super) tell: &'w Sender<Progress>,
}

impl Shared<'_> {
    /// Makes attempts until one counts, none helps, or they are used up. The inner error says why nothing was seen.
    pub(super) fn until_it_counts(
        &self,
        ask: &Ask<'_>,
        room: &mut Room<'_>,
        trial: &mut Trial,
    ) -> Result<Result<Observed, String>, Undone> {
        let most = self.spec.run.retries + 1;
        let id = trial.id.clone();
        let mut number = 1;
        loop {
            let name = format!("{}-{number}", ask.purpose.name());
            let place = room.folder.join(&name);
            let is_old = Recording::is_at(&place);
            let request = Request {
                id: &id,
                case: ask.case,
                arm: room.arm,
                prompt: ask.prompt,
                judge: ask.purpose.schema(),
                number,
                place: &place,
            };
            let mut reserved = None;
            if !is_old {
                reserved = Some(self.admit(room.tell)?);
                match self.executor.execute(&request) {
                    Ok(()) => {}
                    Err(ExecuteError::Stopped) => return Err(Undone),
                    Err(ExecuteError::Harness(reason)) if number < most => {
                        _ = room.tell.send(Progress::Waiting(format!(
                            "{}: harness: {reason}; trying again",
                            trial.id
                        )));
                        number += 1;
                        continue;
                    }
                    Err(ExecuteError::Harness(reason)) => return Ok(Err(format!("harness: {reason}"))),
                    Err(ExecuteError::Unfit(reason)) => return Ok(Err(format!("usage: {reason}"))),
                }
            }
            let observed = match Observed::read(&place, room.contracts, self.spec.run.heuristics) {
                Ok(observed) => observed,
                Err(error) => return Ok(Err(format!("harness: {error}"))),
            };
            trial.script_turns.extend(self.spec.model.used(&request, observed.served.as_ref()));
            trial.spent.add(&observed.usage);
            if !ask.case.kind.is_control() {
                self.budget.learn(&observed.usage);
            }
            match reserved {
                Some(reserved) => reserved.spend(&observed.usage),
                None => self.budget.add(&observed.usage),
            }
            let verdict = Outcome::of(&observed.verdict);
            let is_final = observed.verdict.counts || !observed.verdict.retryable || number >= most;
            if matches!(ask.purpose, Purpose::Trial) {
                trial.attempts.push(Attempted { recording: name, verdict, usage: observed.usage });
            }
            if is_final {
                return Ok(Ok(observed));
            }
            // What was made before has been waited for, unless it says until when.
            if !is_old || observed.verdict.resets_at.is_some() {
                self.note_limit(&observed, number)?;
            }
            number += 1;
        }
    }

    /// Waits until an attempt may begin: no limit holds, and the budget has room for it.
    fn admit(&self, tell: &Sender<Progress>) -> Result<Reserved<'_>, Undone> {
        self.wait_for_limits(tell);
        let reserved = match self.budget.reserve(&|| !self.may_go_on()) {
            Ok(reserved) => reserved,
            Err(Refused::GivenUp) => return Err(Undone),
            Err(Refused::UsedUp(why)) => {
                self.halt(Halt::Budget(why));
                return Err(Undone);
            }
        };
        // Those that were waited for may have met a limit.
        self.wait_for_limits(tell);
        if self.may_go_on() { Ok(reserved) } else { Err(Undone) }
    }

    /// Nobody asks before a limit ends.
    fn wait_for_limits(&self, tell: &Sender<Progress>) {
        let until = *locked(&self.not_before_ms);
        let now = self.clock.now_ms();
        if until > now {
            _ = tell.send(Progress::Waiting(format!(
                "waiting {:.1} s for the provider",
                (until - now) as f64 / 1000.0
            )));
            self.clock.wait_until(until, self.stop);
        }
    }

    fn note_limit(&self, observed: &Observed, number: u32) -> Result<(), Undone> {
        let now = self.clock.now_ms();
        let backoff = self.spec.run.backoff_ms.saturating_mul(1 << (number - 1).min(10));
        let resets_at = observed.verdict.resets_at;
        let until = match resets_at.and_then(|seconds| u64::try_from(seconds).ok()) {
            Some(seconds) => seconds.saturating_mul(1000),
            None if observed.verdict.class == Class::RateLimit || observed.verdict.class == Class::Api => {
                now + backoff
            }
            // What ails one trial does not ail the others.
            None => return Ok(()),
        };
        if until > now.saturating_add(self.options.max_wait_ms) {
            self.halt(Halt::RateLimit(resets_at));
            return Err(Undone);
        }
        let mut not_before = locked(&self.not_before_ms);
        *not_before = until.max(*not_before);
        Ok(())
    }
}
