//! Runs trials, several at a time, until each of them is measured or cannot be.
//!
//! Every attempt is on disk before it is looked at, and a trial is finished only when its `trial.json` is there. So a
//! run that was killed goes on where it was: finished trials are left alone, and of an unfinished one the attempts
//! that were made are used.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::arm::Arm;
use super::attempts::{Ask, Purpose, Room};
use super::budget::Budget;
use super::clock::Clock;
use super::controls;
use super::examiner::{self, Exam, Examined};
use super::extraction::{self, Extracted};
use super::grade::{Judgements, addresses, grade, is_judged, output};
use super::observed::{Observed, Usage};
use super::plan::Series;
use super::rubric;
use super::spec::{Case, Kind, Spec};
use super::store::{Iteration, StoreError};
use super::trial::{Judged, Outcome, SCHEMA_VERSION, SkillState, Status, Trial, TrialId};
use super::urls::{self, CheckUrls};
use super::work::Work;
use crate::harness::RecordError;
use crate::judge::Contracts;
use crate::run::Stop;

/// Runs an attempt at a trial and leaves its recording on disk.
pub trait Executor: Sync {
    /// Makes one attempt; its recording is then at `request.place`.
    fn execute(&self, request: &Request<'_>) -> Result<(), ExecuteError>;

    /// Has a grader of the author look at what an attempt left.
    fn examine(&self, _: &Case, _: &Exam, _outputs: &Path, _said: &str) -> Result<Examined, String> {
        Err("nothing runs graders here".into())
    }
}

/// One attempt that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// Which trial of which case, in which arm.
    pub id: &'r TrialId,
    /// How the case is tried.
    pub arm: &'r Arm,
    /// The case that the trial belongs to.
    pub case: &'r Case,
    /// What the target is asked: the task, or a question to a grading model.
    pub prompt: &'r str,
    /// The form of the answer when a model is asked about a trial.
    pub judge: Option<&'r serde_json::Value>,
    /// Which attempt it is, from 1.
    pub number: u32,
    /// Where the recording goes.
    pub place: &'r Path,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The user wants to stop.
    #[error("interrupted")]
    Stopped,
    /// Our own machinery failed, which says nothing of the skill.
    #[error("{0}")]
    Harness(String),
    /// The target cannot be asked that way.
    #[error("{0}")]
    Unfit(String),
}

/// How trials are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many at a time.
    pub jobs: usize,
    /// No attempt begins that, costing as much as the dearest so far, would bring all together above this.
    pub max_total_cost_usd: Option<f64>,
    /// The same for tokens.
    pub max_total_tokens: Option<u64>,
    /// A limit that ends later than this is not waited for.
    pub max_wait_ms: u64,
    /// Which of the addresses in an output are asked whether they answer.
    pub check_urls: CheckUrls,
}

impl Default for Options {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            jobs,
            max_total_cost_usd: None,
            max_total_tokens: None,
            max_wait_ms: 3_600_000,
            check_urls: CheckUrls::None,
        }
    }
}

/// Why trials were left undone. A later run goes on with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The user wanted to stop.
    Interrupted,
    /// The budget is used up.
    Budget(String),
    /// A limit ends later than anybody wants to wait, at this second since 1970.
    RateLimit(Option<i64>),
    Disk(String),
}

/// What a run is told while it goes on.
pub(super) enum Progress {
    Started(TrialId),
    Waiting(String),
    Finished(Box<Trial>),
}

/// What all workers share.
pub(super) struct Shared<'r> {
    pub(super) spec: &'r Spec,
    pub(super) iteration: &'r Iteration,
    pub(super) executor: &'r dyn Executor,
    pub(super) clock: &'r dyn Clock,
    pub(super) options: &'r Options,
    pub(super) stop: &'r Stop,
    queue: Mutex<VecDeque<(&'r Series<'r>, TrialId)>>,
    pub(super) budget: Budget,
    pub(super) not_before_ms: Mutex<u64>,
    halt: Mutex<Option<Halt>>,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
    // What is compared has to be there first.
    let (mut queue, mut later) = (VecDeque::new(), VecDeque::new());
    let budget = Budget::new(options.max_total_cost_usd, options.max_total_tokens, spec.run.max_cost_usd);
    for series in plan {
        for id in series.ids() {
            match iteration.finished(&id, series.case.kind) {
                Some(trial) => {
                    for attempt in trial.attempts.iter().filter(|_| !series.case.kind.is_control()) {
                        budget.learn(&attempt.usage);
                    }
                    budget.add(&trial.spent);
                    hear(Progress::Finished(Box::new(trial)));
                }
                None if series.case.kind == Kind::Blind => later.push_back((series, id)),
                None => queue.push_back((series, id)),
            }
        }
    }
    let shared = Shared {
        spec,
        iteration,
        executor,
        clock,
        options,
        stop,
        queue: Mutex::new(queue),
        budget,
        not_before_ms: Mutex::new(0),
        halt: Mutex::new(None),
    };
    shared.run_all(hear);
    if !later.is_empty() {
        *locked(&shared.queue) = later;
        shared.run_all(hear);
    }
    let halt = locked(&shared.halt).take();
    if stop.is_wanted() { Some(Halt::Interrupted) } else { halt }
}

/// A trial is not to be finished now.
pub(super) struct Undone;

impl Shared<'_> {
    /// Runs what is in the queue, several at a time.
    fn run_all(&self, hear: &mut dyn FnMut(Progress)) {
        let jobs = self.options.jobs.clamp(1, locked(&self.queue).len().max(1));
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            for number in 0..jobs {
                let tell = tell.clone();
                let worker = std::thread::Builder::new().spawn_scoped(scope, move || self.work(&tell));
                match worker {
                    // Those that there are do the work of all.
                    Err(error) if number == 0 => {
                        self.halt(Halt::Disk(RecordError::Threads(error).to_string()));
                    }
                    Err(_) => break,
                    Ok(_) => {}
                }
            }
            drop(tell);
            for progress in told {
                hear(progress);
            }
        });
    }

    fn work(&self, tell: &Sender<Progress>) {
        // Contracts are opened once by each worker: they are not made to be shared.
        let contracts = Contracts::built_in();
        while self.may_go_on() {
            let Some((series, id)) = locked(&self.queue).pop_front() else { return };
            _ = tell.send(Progress::Started(id.clone()));
            match self.trial(series, id, &contracts, tell) {
                Ok(trial) => _ = tell.send(Progress::Finished(Box::new(trial))),
                Err(Undone) => return,
            }
        }
    }

    /// Whether anything may begin.
    pub(super) fn may_go_on(&self) -> bool {
        !self.stop.is_wanted() && locked(&self.halt).is_none()
    }

    pub(super) fn halt(&self, halt: Halt) {
        locked(&self.halt).get_or_insert(halt);
    }

    fn trial(
        &self,
        series: &Series<'_>,
        id: TrialId,
        contracts: &Contracts,
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
            extracted: None,
            attempts: Vec::new(),
            usage: Usage::default(),
            spent: Usage::default(),
            tool_calls: 0,
            denied: Vec::new(),
            broken_clauses: 0,
            model: None,
            version: String::new(),
            not_isolated: None,
            script_turns: std::collections::BTreeSet::new(),
            preference: None,
            started_ms,
            finished_ms: started_ms,
            id,
        };
        let mut room = Room { folder: &folder, arm: series.arm, contracts, tell };
        if case.kind.is_judge_control() {
            return self.judge_control(case, &mut room, trial);
        }
        if case.kind == Kind::Blind {
            return self.compare(case, &mut room, trial);
        }
        let ask = Ask { case, prompt: series.prompt(), purpose: Purpose::Trial };
        let mut observed = match self.until_it_counts(&ask, &mut room, &mut trial)? {
            Ok(observed) => observed,
            Err(reason) => {
                trial.reason = Some(reason);
                return self.finish(trial, None);
            }
        };
        self.ask_addresses(case, &mut observed, &folder, &trial)?;
        self.run_graders(case, &mut observed, &folder, &trial)?;
        let mut judged = Judgements::default();
        if is_judged(case, &observed) {
            judged.extracted = self.extract(case, &observed, &mut room, &mut trial)?;
            judged.expectations = self.judge(case, &observed, &mut room, &mut trial)?;
        }
        trial.take(grade(self.spec, case, series.arm, &observed, judged));
        self.finish(trial, Some(&observed))
    }

    pub(super) fn finish(&self, mut trial: Trial, observed: Option<&Observed>) -> Result<Trial, Undone> {
        if let Some(observed) = observed {
            trial.verdict = Some(Outcome::of(&observed.verdict));
            trial.usage = observed.usage;
            trial.tool_calls = observed.call_count;
            trial.denied.clone_from(&observed.denied);
            trial.broken_clauses = observed.broken_clauses;
            trial.model.clone_from(&observed.model);
            trial.version.clone_from(&observed.version);
            trial.not_isolated.clone_from(&observed.not_isolated);
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

    /// Asks the addresses in the output whether they answer, where an assertion wants to know and the user allows it.
    fn ask_addresses(
        &self,
        case: &Case,
        observed: &mut Observed,
        folder: &Path,
        trial: &Trial,
    ) -> Result<(), Undone> {
        let (CheckUrls::Public | CheckUrls::Any, None) = (self.options.check_urls, &observed.reached) else {
            return Ok(());
        };
        let addresses = addresses(case, observed);
        let Some(attempt) = trial.attempts.last().filter(|_| !addresses.is_empty()) else { return Ok(()) };
        let place = folder.join(&attempt.recording);
        let stopped = || self.stop.is_wanted();
        match urls::ask(&addresses, self.options.check_urls, &place, &stopped) {
            Ok(reached) => observed.reached = Some(reached),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Err(Undone),
            Err(source) => {
                self.disk(&StoreError::Io { path: place, source });
                return Err(Undone);
            }
        }
        Ok(())
    }

    /// Runs the graders of the author, where there are any and there is something to grade.
    fn run_graders(
        &self,
        case: &Case,
        observed: &mut Observed,
        folder: &Path,
        trial: &Trial,
    ) -> Result<(), Undone> {
        let exams: Vec<_> = case.assertions.iter().filter_map(|a| Some((&a.id, a.exam()?))).collect();
        let Some(attempt) = trial.attempts.last().filter(|_| !exams.is_empty()) else { return Ok(()) };
        if observed.examined.is_some() || !is_judged(case, observed) {
            return Ok(());
        }
        let mut found = Vec::new();
        for (id, exam) in exams {
            if self.stop.is_wanted() {
                return Err(Undone);
            }
            let examined = self.executor.examine(case, exam, &observed.files, &observed.output);
            let failed = |failure: String| Examined {
                id: String::new(),
                code: None,
                stdout: String::new(),
                stderr: String::new(),
                failure: Some(failure),
            };
            found.push(Examined { id: id.clone(), ..examined.unwrap_or_else(failed) });
        }
        let place = folder.join(&attempt.recording);
        if let Err(source) = examiner::keep(&place, &found) {
            self.disk(&StoreError::Io { path: place, source });
            return Err(Undone);
        }
        observed.examined = Some(found);
        Ok(())
    }

    /// Has the expectations judged, where there are any.
    fn judge(
        &self,
        case: &Case,
        observed: &Observed,
        room: &mut Room<'_>,
        trial: &mut Trial,
    ) -> Result<Vec<Judged>, Undone> {
        if case.expectations.is_empty() {
            return Ok(Vec::new());
        }
        let work = Work::of(case, observed);
        let prompt = rubric::prompt(case, &work);
        let schema = rubric::schema(&case.expectations);
        let answer = self.ask_model(case, &prompt, Purpose::Judge(&schema), room, trial)?;
        let judged = answer.and_then(|answer| rubric::read(case, &work, answer.as_ref()));
        Ok(judged.unwrap_or_else(|reason| rubric::failed(case, &format!("the judge failed: {reason}"))))
    }

    /// Has the judge judge what is known.
    fn judge_control(&self, case: &Case, room: &mut Room<'_>, mut trial: Trial) -> Result<Trial, Undone> {
        let work = controls::judged_work(case);
        let prompt = rubric::prompt(case, &work);
        let schema = rubric::schema(&case.expectations);
        let answer = self.ask_model(case, &prompt, Purpose::Judge(&schema), room, &mut trial)?;
        match answer.and_then(|answer| rubric::answers(case, &work, answer.as_ref())) {
            Err(reason) => trial.reason = Some(format!("the judge failed: {reason}")),
            Ok(judged) => {
                let agreed = judged.iter().filter(|judged| judged.passed == Some(true)).count();
                let all = judged.len();
                let passes = if case.kind.is_known_to_pass() { agreed == all } else { agreed > 0 };
                trial.status = if passes { Status::Pass } else { Status::Fail };
                let known = if case.kind.is_known_to_pass() { "all hold" } else { "none holds" };
                trial.reason =
                    Some(format!("the judge says that {agreed} of {all} statements hold, of which {known}"));
                trial.expectations = judged;
            }
        }
        self.finish(trial, None)
    }

    /// Has the sections found in the output, where there are any.
    fn extract(
        &self,
        case: &Case,
        observed: &Observed,
        room: &mut Room<'_>,
        trial: &mut Trial,
    ) -> Result<Option<Extracted>, Undone> {
        if case.sections.is_empty() {
            return Ok(None);
        }
        let prompt = match extraction::prompt(&case.sections, &output(case, observed)) {
            Ok(prompt) => prompt,
            Err(reason) => return Ok(Some(Extracted::failed(reason))),
        };
        let schema = extraction::schema(&case.sections);
        let answer = self.ask_model(case, &prompt, Purpose::Extract(&schema), room, trial)?;
        Ok(Some(match answer {
            Ok(answer) => Extracted::read(&case.sections, answer.as_ref()),
            Err(reason) => Extracted::failed(format!("the model that extracts failed: {reason}")),
        }))
    }

    /// The structured answer of a model that is asked about a trial; the inner error says why there is none.
    pub(super) fn ask_model(
        &self,
        case: &Case,
        prompt: &str,
        purpose: Purpose<'_>,
        room: &mut Room<'_>,
        trial: &mut Trial,
    ) -> Result<Result<Option<serde_json::Value>, String>, Undone> {
        let ask = Ask { case, prompt, purpose };
        Ok(match self.until_it_counts(&ask, room, trial)? {
            Ok(answer) if answer.verdict.counts => Ok(answer.structured),
            Ok(answer) => Err(Outcome::of(&answer.verdict).named()),
            Err(reason) => Err(reason),
        })
    }
}
