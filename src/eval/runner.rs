//! Runs trials, several at a time, until each of them is measured or cannot be.
//!
//! Every attempt is on disk before it is looked at, and a trial is finished only when its `trial.json` is there. So a
//! run that was killed goes on where it was: finished trials are left alone, and of an unfinished one the attempts
//! that were made are used.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::Clock;
use super::grade::{grade, wants_judge};
use super::observed::{Observed, Usage};
use super::plan::Series;
use super::rubric;
use super::spec::{Case, Spec};
use super::store::{Iteration, StoreError};
use super::trial::{Attempted, Judged, Outcome, SCHEMA_VERSION, SkillState, Status, Trial, TrialId};
use crate::classify::Class;
use crate::harness::run::Stop;
use crate::judge::Shelf;
use crate::recording::Recording;

/// What makes recordings.
pub trait Executor: Sync {
    /// Makes one attempt; its recording is then at `request.place`.
    fn execute(&self, request: &Request<'_>) -> Result<(), ExecuteError>;
}

/// One attempt that is wanted.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Request<'r> {
    /// The trial.
    pub id: &'r TrialId,
    /// Its case.
    pub case: &'r Case,
    /// What is asked.
    pub prompt: &'r str,
    /// The form of the answer when a judge is asked.
    pub judge: Option<&'r serde_json::Value>,
    /// Which attempt it is, from 1.
    pub number: u32,
    /// Where the recording goes.
    pub place: &'r Path,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The user wants to stop.
    #[error("interrupted")]
    Stopped,
    /// The harness failed.
    #[error("{0}")]
    Harness(String),
    /// The target cannot be asked that way.
    #[error("{0}")]
    Unfit(String),
}

/// How trials are run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// How many at a time.
    pub jobs: usize,
    /// No new trial begins once all together cost this.
    pub max_total_cost_usd: Option<f64>,
    /// No new trial begins once all together used so many tokens.
    pub max_total_tokens: Option<u64>,
    /// A limit that ends later than this is not waited for.
    pub max_wait_ms: u64,
}

impl Default for Options {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self { jobs, max_total_cost_usd: None, max_total_tokens: None, max_wait_ms: 3_600_000 }
    }
}

/// Why trials were left undone. A later run goes on with them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Halt {
    /// The user wanted to stop.
    Interrupted,
    /// The budget is used up.
    Budget(String),
    /// A limit ends later than anybody wants to wait, at this second since 1970.
    RateLimit(Option<i64>),
    /// The disk failed.
    Disk(String),
}

/// What a run is told while it goes on.
pub(super) enum Progress {
    Started(TrialId),
    Waiting(String),
    Finished(Box<Trial>),
}

/// What all workers share.
struct Shared<'r> {
    spec: &'r Spec,
    iteration: &'r Iteration,
    executor: &'r dyn Executor,
    clock: &'r dyn Clock,
    options: &'r Options,
    stop: &'r Stop,
    queue: Mutex<VecDeque<(&'r Series<'r>, TrialId)>>,
    spent: Mutex<Usage>,
    not_before_ms: Mutex<u64>,
    halt: Mutex<Option<Halt>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a run is made with.
#[derive(Clone, Copy)]
pub(super) struct Setup<'r> {
    pub(super) spec: &'r Spec,
    pub(super) iteration: &'r Iteration,
    pub(super) executor: &'r dyn Executor,
    pub(super) clock: &'r dyn Clock,
    pub(super) options: &'r Options,
    pub(super) stop: &'r Stop,
}

/// Runs every trial that is not finished. `hear` is told of everything, on this thread.
pub(super) fn run(setup: Setup<'_>, plan: &[Series<'_>], hear: &mut dyn FnMut(Progress)) -> Option<Halt> {
    let Setup { spec, iteration, executor, clock, options, stop } = setup;
    let mut queue = VecDeque::new();
    let mut spent = Usage::default();
    for series in plan {
        for id in series.ids() {
            match iteration.finished(&id, series.case.kind) {
                Some(trial) => {
                    spent.add(&trial.spent);
                    hear(Progress::Finished(Box::new(trial)));
                }
                None => queue.push_back((series, id)),
            }
        }
    }
    let jobs = options.jobs.clamp(1, queue.len().max(1));
    let shared = Shared {
        spec,
        iteration,
        executor,
        clock,
        options,
        stop,
        queue: Mutex::new(queue),
        spent: Mutex::new(spent),
        not_before_ms: Mutex::new(0),
        halt: Mutex::new(None),
    };
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (tell, shared) = (tell.clone(), &shared);
            scope.spawn(move || shared.work(&tell));
        }
        drop(tell);
        for progress in told {
            hear(progress);
        }
    });
    let halt = locked(&shared.halt).take();
    if stop.is_wanted() { Some(Halt::Interrupted) } else { halt }
}

/// A trial is not to be finished now.
struct Undone;

impl Shared<'_> {
    fn work(&self, tell: &Sender<Progress>) {
        // Contracts are opened once by each worker: they are not made to be shared.
        let shelf = Shelf::built_in();
        while self.may_go_on() {
            let Some((series, id)) = locked(&self.queue).pop_front() else { return };
            _ = tell.send(Progress::Started(id.clone()));
            match self.trial(series, id, &shelf, tell) {
                Ok(trial) => _ = tell.send(Progress::Finished(Box::new(trial))),
                Err(Undone) => return,
            }
        }
    }

    /// Whether another attempt may be made.
    fn may_go_on(&self) -> bool {
        if self.stop.is_wanted() || locked(&self.halt).is_some() {
            return false;
        }
        let spent = *locked(&self.spent);
        let used_up = match (self.options.max_total_cost_usd, self.options.max_total_tokens) {
            (Some(most), _) if spent.cost_usd >= most => {
                format!("${:.4} of ${most} are spent", spent.cost_usd)
            }
            (_, Some(most)) if spent.tokens() >= most => {
                format!("{} of {most} tokens are used", spent.tokens())
            }
            _ => return true,
        };
        self.halt(Halt::Budget(used_up));
        false
    }

    fn halt(&self, halt: Halt) {
        locked(&self.halt).get_or_insert(halt);
    }

    fn trial(
        &self,
        series: &Series<'_>,
        id: TrialId,
        shelf: &Shelf,
        tell: &Sender<Progress>,
    ) -> Result<Trial, Undone> {
        let case = series.case;
        let started_ms = self.clock.now_ms();
        let folder = self.iteration.trial_folder(&id, case.kind);
        let mut trial = Trial {
            schema_version: SCHEMA_VERSION,
            kind: case.kind,
            status: Status::NotMeasured,
            reason: None,
            verdict: None,
            skill: SkillState::Absent,
            assertions: Vec::new(),
            expectations: Vec::new(),
            attempts: Vec::new(),
            usage: Usage::default(),
            spent: Usage::default(),
            tool_calls: 0,
            denied: Vec::new(),
            broken_clauses: 0,
            model: None,
            version: String::new(),
            started_ms,
            finished_ms: started_ms,
            id,
        };
        let request = Ask { trial: trial.id.clone(), case, prompt: series.prompt(), schema: None };
        let observed = match self.until_it_counts(&request, &folder, shelf, &mut trial, tell)? {
            Ok(observed) => observed,
            Err(reason) => {
                trial.reason = Some(reason);
                return self.finish(trial, None);
            }
        };
        let judged = if wants_judge(case, &observed) {
            self.judge(case, &observed, &folder, shelf, &mut trial, tell)?
        } else {
            Vec::new()
        };
        let grade = grade(self.spec, case, trial.id.arm, &observed, judged);
        trial.status = grade.status;
        trial.reason = grade.reason;
        trial.skill = grade.skill;
        trial.assertions = grade.assertions;
        trial.expectations = grade.expectations;
        self.finish(trial, Some(&observed))
    }

    fn finish(&self, mut trial: Trial, observed: Option<&Observed>) -> Result<Trial, Undone> {
        if let Some(observed) = observed {
            trial.verdict = Some(Outcome::of(&observed.verdict));
            trial.usage = observed.usage;
            trial.tool_calls = observed.call_count;
            trial.denied.clone_from(&observed.denied);
            trial.broken_clauses = observed.broken_clauses;
            trial.model.clone_from(&observed.model);
            trial.version.clone_from(&observed.version);
        }
        trial.finished_ms = self.clock.now_ms();
        match self.iteration.finish(&trial, observed) {
            Ok(()) => Ok(trial),
            Err(error) => {
                self.disk(&error);
                Err(Undone)
            }
        }
    }

    fn disk(&self, error: &StoreError) {
        self.halt(Halt::Disk(error.to_string()));
    }

    /// Makes attempts until one counts, none helps, or they are used up. The inner error says why nothing was seen.
    fn until_it_counts(
        &self,
        ask: &Ask<'_>,
        folder: &Path,
        shelf: &Shelf,
        trial: &mut Trial,
        tell: &Sender<Progress>,
    ) -> Result<Result<Observed, String>, Undone> {
        let most = self.spec.run.retries + 1;
        let mut number = 1;
        loop {
            let name = format!("{}-{number}", if ask.schema.is_some() { "judge" } else { "attempt" });
            let place = folder.join(&name);
            let is_old = Recording::is_at(&place);
            if !is_old {
                self.wait_for_limits(tell);
                if !self.may_go_on() {
                    return Err(Undone);
                }
                let request = Request {
                    id: &ask.trial,
                    case: ask.case,
                    prompt: ask.prompt,
                    judge: ask.schema.as_ref(),
                    number,
                    place: &place,
                };
                match self.executor.execute(&request) {
                    Ok(()) => {}
                    Err(ExecuteError::Stopped) => return Err(Undone),
                    Err(ExecuteError::Harness(reason)) if number < most => {
                        _ = tell.send(Progress::Waiting(format!(
                            "{}: harness: {reason}; trying again",
                            ask.trial
                        )));
                        number += 1;
                        continue;
                    }
                    Err(ExecuteError::Harness(reason)) => return Ok(Err(format!("harness: {reason}"))),
                    Err(ExecuteError::Unfit(reason)) => return Ok(Err(format!("usage: {reason}"))),
                }
            }
            let observed = match Observed::read(&place, shelf, self.spec.run.heuristics) {
                Ok(observed) => observed,
                Err(error) => return Ok(Err(format!("harness: {error}"))),
            };
            trial.spent.add(&observed.usage);
            locked(&self.spent).add(&observed.usage);
            let verdict = Outcome::of(&observed.verdict);
            let is_final = observed.verdict.counts || !observed.verdict.retryable || number >= most;
            if ask.schema.is_none() {
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

    /// Nobody asks before a limit ends.
    fn wait_for_limits(&self, tell: &Sender<Progress>) {
        let until = *locked(&self.not_before_ms);
        let now = self.clock.now_ms();
        if until > now {
            _ = tell.send(Progress::Waiting(format!(
                "waiting {:.0} s for the provider",
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

    fn judge(
        &self,
        case: &Case,
        observed: &Observed,
        folder: &Path,
        shelf: &Shelf,
        trial: &mut Trial,
        tell: &Sender<Progress>,
    ) -> Result<Vec<Judged>, Undone> {
        let prompt = rubric::prompt(case, observed);
        let schema = rubric::schema(&case.expectations);
        let ask = Ask { trial: trial.id.clone(), case, prompt: &prompt, schema: Some(schema) };
        let answer = match self.until_it_counts(&ask, folder, shelf, trial, tell)? {
            Ok(answer) if answer.verdict.counts => rubric::read(case, observed, answer.structured.as_ref()),
            Ok(answer) => Err(Outcome::of(&answer.verdict).named()),
            Err(reason) => Err(reason),
        };
        Ok(answer.unwrap_or_else(|reason| rubric::failed(case, &format!("the judge failed: {reason}"))))
    }
}

struct Ask<'a> {
    trial: TrialId,
    case: &'a Case,
    prompt: &'a str,
    schema: Option<serde_json::Value>,
}
