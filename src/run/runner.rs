//! Runs the planned cases, several at a time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::attempt::{Attempt, AttemptError, RunContext, milliseconds_since};
use super::compare::{Failure, FailureKind};
use super::contracts::ContractCache;
use super::event::{
    AFTER_FAILURE, CaseFinished, CaseStarted, EarlierAttempt, Event, Finding, INTERRUPTED, PlanInfo,
    RunFinished, RunStarted, SCHEMA_VERSION, Status,
};
use super::known::{CaseName, Scope};
use super::memory::LastRun;
use super::plan::{Planned, targets_of};
use crate::harness::RecordError;
use crate::harness::supervise::not_isolated;
use crate::recording::Facts;
use crate::text::printable;

/// How cases are run.
#[derive(Debug, Clone)]
pub(crate) struct RunOptions {
    /// How many at a time.
    pub jobs: usize,
    /// How often a case that failed is tried again.
    pub retries: u32,
    /// Whether the first failure ends the run.
    pub fail_fast: bool,
    /// When it begins, as RFC 3339 in UTC.
    pub started_at: String,
    /// The whole of which the cases are a part.
    pub plan: PlanInfo,
    /// What a list of known failures could be about.
    pub scope: Scope,
    /// What is wrong with golden snapshots before the first case has begun.
    pub snapshots: Vec<String>,
}

impl Default for RunOptions {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            jobs,
            retries: 0,
            fail_fast: false,
            started_at: String::new(),
            plan: PlanInfo::default(),
            scope: Scope::default(),
            snapshots: Vec::new(),
        }
    }
}

/// Runs the cases; `on_event` hears of everything, in order, on this thread.
pub(crate) fn run(
    planned: Vec<Planned>,
    context: &RunContext<'_>,
    options: &RunOptions,
    last: &mut LastRun,
    on_event: &mut dyn FnMut(&Event),
) -> RunFinished {
    let started = Instant::now();
    let targets = match &options.plan.targets {
        known if known.is_empty() => targets_of(&planned),
        known => known.clone(),
    };
    let jobs = options.jobs.clamp(1, planned.len().max(1));
    let cases = planned.len();
    on_event(&Event::RunStarted(RunStarted {
        schema_version: SCHEMA_VERSION,
        cases,
        targets,
        jobs,
        clawgate: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: options.started_at.clone(),
        out: context.recorder.out.display().to_string(),
        plan: options.plan.clone(),
    }));
    let mut queue = planned;
    // The longest first, so that none of them begins when everybody else is done.
    queue.sort_by_key(|case| std::cmp::Reverse(case.cost(last)));
    let queue = Mutex::new(VecDeque::from(queue));
    let (tell, hear) = mpsc::channel();
    // Set by the worker that saw a failure, so that no other takes a case after it.
    let halt = AtomicBool::new(false);
    let mut finished = RunFinished::default();
    let mut ran = BTreeSet::new();
    let mut no_thread = None;
    std::thread::scope(|scope| {
        let mut workers = 0;
        for _ in 0..jobs {
            let (tell, queue, halt) = (tell.clone(), &queue, &halt);
            let worker = move || work(queue, halt, context, options, &tell);
            match std::thread::Builder::new().name("worker".into()).spawn_scoped(scope, worker) {
                Ok(_) => workers += 1,
                // Those that there are do the work of all.
                Err(_) if workers > 0 => break,
                Err(error) => no_thread = Some(RecordError::Threads(error).to_string()),
            }
        }
        drop(tell);
        for event in hear {
            if let Event::CaseFinished(case) = &event {
                last.note(&case.target, &case.case, case.status, case.duration_ms);
                finished.count(case);
                if case.status != Status::Skipped {
                    ran.insert((case.target.clone(), case.case.clone()));
                }
            }
            on_event(&event);
        }
    });
    let reason = if context.recorder.stop.is_wanted() { INTERRUPTED } else { AFTER_FAILURE };
    for planned in queue.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let case = match &no_thread {
            Some(error) => broken(&planned, error),
            None => skipped(&planned, reason),
        };
        finished.count(&case);
        on_event(&Event::CaseFinished(Box::new(case)));
    }
    if let Some(known) = context.known {
        let has_run = |name: &CaseName| ran.contains(&(name.label.clone(), name.case.clone()));
        finished.known_failures = known.listed(&options.scope, &has_run);
    }
    let touched = context.golden.as_ref().map_or(Vec::new(), super::golden::Golden::touched);
    finished.snapshots = options.snapshots.iter().cloned().chain(touched).collect();
    finished.interrupted = context.recorder.stop.is_wanted();
    finished.duration_ms = milliseconds_since(started);
    finished.exit_code = finished.code();
    on_event(&Event::RunFinished(finished.clone()));
    finished
}

fn work(
    queue: &Mutex<VecDeque<Planned>>,
    halt: &AtomicBool,
    context: &RunContext<'_>,
    options: &RunOptions,
    tell: &Sender<Event>,
) {
    let mut contracts = ContractCache::new();
    loop {
        if context.recorder.stop.is_wanted() || halt.load(Ordering::SeqCst) {
            return;
        }
        let Some(planned) = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else { return };
        let case = match &planned.skip {
            Some(reason) => skipped(&planned, reason),
            None => perform(&planned, context, options, &mut contracts, tell),
        };
        if options.fail_fast && case.status == Status::Fail {
            halt.store(true, Ordering::SeqCst);
        }
        // The listener outlives the workers.
        _ = tell.send(Event::CaseFinished(Box::new(case)));
    }
}

/// Tries a case until it passes or the attempts are used up.
fn perform(
    planned: &Planned,
    context: &RunContext<'_>,
    options: &RunOptions,
    contracts: &mut ContractCache,
    tell: &Sender<Event>,
) -> CaseFinished {
    let mut number = 1;
    let mut earlier = Vec::new();
    loop {
        _ = tell.send(Event::CaseStarted(CaseStarted {
            case: planned.case.name.clone(),
            target: planned.target_label().to_owned(),
            repetition: planned.repetition,
            attempt: number,
        }));
        let mut case = finished(planned);
        case.attempts = number;
        case.earlier.clone_from(&earlier);
        let attempt = contracts
            .get(planned.speaks.contract_at.as_deref())
            .map_err(AttemptError::from)
            .and_then(|contracts| context.attempt(planned, contracts, number));
        let mut is_measured = false;
        let place = |attempt: &Attempt| attempt.is_kept.then(|| attempt.place.display().to_string());
        match attempt {
            Ok(attempt) if attempt.cancelled => {
                case.status = Status::Skipped;
                case.reason = Some("ended: interrupted".into());
                case.recording = place(&attempt);
                return case;
            }
            Ok(attempt) => {
                case.status = attempt.status();
                case.recording = place(&attempt);
                case.verdict = attempt.judgement.verdict.map(Into::into);
                case.findings = attempt.judgement.findings.into_iter().map(Finding::from).collect();
                case.failures = attempt.failures;
                case.not_isolated = not_isolated(&attempt.recording.facts);
                case.known = attempt.known;
                is_measured = attempt.is_measured;
                case.clauses = attempt.clauses;
                case.process = attempt.process;
                case.duration_ms = milliseconds(attempt.duration);
                (case.first_request_ms, case.answered_ms) =
                    asked_between(&attempt.recording.facts, case.duration_ms).unzip();
                case.verdict_ms = milliseconds(attempt.to_verdict);
            }
            Err(AttemptError::Record(RecordError::Unfit(reason))) => return skipped(planned, &reason),
            Err(error) => {
                let broken = broken(planned, &error.to_string());
                (case.status, case.failures) = (broken.status, broken.failures);
            }
        }
        let is_last = number > options.retries || context.recorder.stop.is_wanted();
        if let Some(known) = context.known.filter(|_| case.status == Status::Fail && is_measured && is_last) {
            known.adopt(&CaseName::of(planned), &mut case);
            return case;
        }
        if case.status == Status::Pass && number > 1 {
            case.status = Status::Flaky;
        }
        if case.status != Status::Fail || is_last {
            return case;
        }
        earlier.push(EarlierAttempt {
            failures: case.failures,
            process: case.process,
            duration_ms: case.duration_ms,
            recording: case.recording,
        });
        number += 1;
    }
}

/// When the target sent its first request, and when the last answer was sent: milliseconds of its own time.
fn asked_between(facts: &Facts, most: f64) -> Option<(f64, f64)> {
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64);
    let lead = facts.other.get("api_lead_ms").and_then(Value::as_f64).unwrap_or_default();
    let requests = facts.other.get("requests").and_then(Value::as_array)?;
    // Whoever answers may still be at it when the target is gone.
    let within = |time: f64| (time - lead).clamp(0.0, most);
    let begins = requests.iter().filter_map(|request| number(request, "at_ms"));
    let ends = requests.iter().filter_map(|request| {
        Some(number(request, "at_ms")? + number(request, "duration_ms").unwrap_or_default())
    });
    Some((within(begins.reduce(f64::min)?), within(ends.reduce(f64::max)?)))
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn skipped(planned: &Planned, reason: &str) -> CaseFinished {
    CaseFinished { status: Status::Skipped, reason: Some(reason.to_owned()), ..finished(planned) }
}

/// A case that our own machinery could not run.
fn broken(planned: &Planned, error: &str) -> CaseFinished {
    let failures = vec![Failure::new(FailureKind::Harness, printable(error))];
    CaseFinished { status: Status::Fail, failures, ..finished(planned) }
}

fn finished(planned: &Planned) -> CaseFinished {
    CaseFinished {
        case: planned.case.name.clone(),
        target: planned.target_label().to_owned(),
        repetition: planned.repetition,
        contract: planned.case.contract.clone(),
        replay: planned.replay(),
        description: planned.case.description.clone(),
        expected: planned.expect.outcome(),
        source: planned.case.source.clone(),
        ..CaseFinished::default()
    }
}
