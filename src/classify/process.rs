//! The rows that are decided by the process alone, whatever it speaks.

use crate::recording::{Exit, InTime, Timer};

use super::api_error;
use super::trace::is_trace;
use super::{Advisory, Basis, Class, Evidence, RunFacts, Verdict};
use crate::text::{clip, tail};

/// So much of the end of the standard error is evidence.
const LAST_WORDS: usize = 280;
/// A process that has printed everything and does not exit for longer than this is late.
const LATE_MS: f64 = 5000.0;

/// What is known of the process around an output.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Process<'a> {
    /// How the process ended: exit code, signal, timer or failed start.
    pub exit: &'a Exit,
    /// The start of its standard error.
    pub stderr: &'a str,
    /// Whether the exit was observed; false for a bare file, whose exit is assumed to be 0.
    pub exit_known: bool,
    /// What else was recorded of the run.
    pub facts: RunFacts,
    /// Where the document ends that it printed.
    pub(crate) output_end: u64,
}

impl<'a> Process<'a> {
    /// A process whose end was observed.
    pub fn new(exit: &'a Exit, stderr: &'a str) -> Self {
        Self { exit, stderr, exit_known: true, facts: RunFacts::default(), output_end: 0 }
    }

    /// Whether a timer other than the one after the result fired, or `timeout(1)` ended the process.
    pub(super) fn timed_out(&self) -> Option<String> {
        match &self.exit.timed_out {
            Some(Timer::AfterResult) | None => (self.exit.code == Some(124)).then(|| "wall".into()),
            Some(timer) => Some(timer.name().into()),
        }
    }

    /// How much of the output came before a timer ended the run.
    pub(crate) fn in_time(&self) -> InTime {
        match self.timed_out() {
            None => InTime::All,
            Some(_) => self.facts.printed_in_time.map_or(InTime::Unknown, InTime::Until),
        }
    }

    /// How the provider failed the last request, where the scripted API was there to see it.
    pub(super) fn failing_provider(&self) -> Option<Verdict> {
        let failure = self.facts.last_failure.as_ref()?;
        let verdict = api_error::of_request(failure);
        Some(api_error::blame_connection(verdict, "", self.facts.requests))
    }

    pub(super) fn says_something(&self) -> bool {
        !self.stderr.trim().is_empty()
    }

    /// The first line of the standard error that says something, as evidence.
    pub(super) fn stderr_evidence(&self, rule: &'static str) -> Evidence {
        let line = self.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Evidence::new(rule, Basis::Process, clip(line.trim(), 200)).in_document("stderr")
    }

    /// The last lines of the standard error, where there are any.
    pub(super) fn last_words(&self) -> Option<Evidence> {
        let end = tail(self.stderr.trim_end(), LAST_WORDS);
        // Not from the middle of a line, unless the line is all there is.
        let whole =
            if end.len() < self.stderr.trim_end().len() { end.find('\n').map(|at| at + 1) } else { None };
        let words = end[whole.unwrap_or(0)..].trim_start_matches('\n');
        let evidence = Evidence::new("stderr", Basis::Process, words).in_document("stderr");
        (!words.trim().is_empty()).then_some(evidence)
    }

    /// A sign that the process stayed although all was said: a timer fired, or its exit came late.
    pub(super) fn late_exit(&self) -> Option<Evidence> {
        if self.was_ended() {
            let timer = self.exit.timed_out.as_ref().map_or("wall", Timer::name);
            return Some(Evidence::new("timer", Basis::Process, timer));
        }
        let delay = self.facts.exit_delay_ms.filter(|delay| *delay > LATE_MS)?;
        let words = format!("the process exited {:.1} s after its last output", delay / 1000.0);
        Some(Evidence::new("late-exit", Basis::Process, words))
    }

    /// Whether the process says by its exit that it failed, and no timer ended it.
    pub(super) fn failed_by_itself(&self) -> bool {
        let failed = self.exit.signal.is_some() || self.exit.code.is_some_and(|code| code != 0);
        failed && !self.was_ended()
    }

    /// Whether somebody ended it for taking too long; its exit says nothing then.
    pub(super) fn was_ended(&self) -> bool {
        self.exit.timed_out.is_some() || self.exit.code == Some(124)
    }

    /// Whether it ended by itself in a way that the contract of `claw` does not have: 0, 1 and 2 are all.
    pub(super) fn exits_outside_contract(&self) -> bool {
        let outside =
            self.exit.signal.is_some() || self.exit.code.is_some_and(|code| !(0..=2).contains(&code));
        outside && !self.was_ended()
    }

    pub(super) fn exit_evidence(&self, rule: &'static str) -> Evidence {
        let value = match (self.exit.signal, self.exit.code) {
            (Some(signal), _) => format!("signal {signal}"),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "exit status unknown".into(),
        };
        Evidence::new(rule, Basis::Process, value)
    }
}

/// The rows before any output counts: the harness failed, the target did not start.
pub(super) fn before_output(process: &Process<'_>) -> Option<Verdict> {
    let Some(error) = &process.exit.spawn_error else { return unscripted(process) };
    let evidence = vec![Evidence::new("spawn-error", Basis::Process, error.message.clone())];
    if matches!(error.kind.as_str(), "harness" | "port" | "disk") {
        return Some(Verdict::of(Class::Harness, Some(&error.kind), evidence));
    }
    let detail = (!error.kind.is_empty()).then_some(error.kind.as_str());
    Some(Verdict::of(Class::Spawn, detail, evidence))
}

/// The script lacks a turn: whatever the target made of our refusal, it says nothing of the target.
fn unscripted(process: &Process<'_>) -> Option<Verdict> {
    let unmatched = process.facts.unmatched.as_ref()?;
    let evidence = |rule, value: &str| Evidence::field(rule, value).in_document("requests");
    let evidence = vec![
        evidence("unmatched-request", &unmatched.name),
        evidence("nearest-turn", &unmatched.nearest),
        evidence("request-body", &unmatched.body),
    ];
    Some(Verdict::of(Class::Harness, Some("unmatched-request"), evidence))
}

/// The rows for a process that ended without its result. Where a timer ended it, `waited_for` says what the provider's failure
/// was that it was waiting out, if it was.
pub(super) fn ended_without_result(
    process: &Process<'_>,
    waited_for: impl FnOnce() -> Option<Verdict>,
) -> Option<Verdict> {
    if let Some(timer) = process.timed_out() {
        let fired = Evidence::new("timer", Basis::Process, timer.clone());
        let Some(mut cause) = waited_for() else {
            return Some(Verdict::by(Class::Timeout, Some(&timer), fired));
        };
        cause.evidence.push(fired);
        cause.advisories.push(Advisory::TimedOut);
        return Some(cause);
    }
    let failed = process.exit.code.is_some_and(|code| code != 0);
    let (rule, detail) = if process.exit.fatal_signal().is_some() {
        ("fatal-signal", "signal")
    } else if process.exit.code == Some(101) {
        ("panic", "panic")
    } else if failed && is_trace(process.stderr) {
        ("uncaught-exception", "exception")
    } else {
        return None;
    };
    let evidence = [Some(process.exit_evidence(rule)), process.last_words()];
    Some(Verdict::of(Class::Crash, Some(detail), evidence.into_iter().flatten().collect()))
}

/// Nothing was printed, and a message on standard error says why.
pub(super) fn refused_to_start(process: &Process<'_>, lines: u64) -> Option<Verdict> {
    let refused = lines == 0 && process.exit.code != Some(0) && process.says_something();
    refused.then(|| Verdict::by(Class::Usage, None, process.stderr_evidence("refused-to-start")))
}

/// A failing exit after an output that claims success.
pub(super) fn failed_after_success(process: &Process<'_>) -> Option<Verdict> {
    let evidence = [Some(process.exit_evidence("exit-code")), process.last_words()];
    let verdict = || Verdict::of(Class::Crash, Some("exit-code"), evidence.into_iter().flatten().collect());
    process.failed_by_itself().then(verdict)
}

/// Decides the verdict on a run whose protocol is not known here, from its process alone; its contract says the rest.
#[cfg(feature = "contracts")]
pub(crate) fn classify_foreign(process: &Process<'_>, lines: u64) -> Verdict {
    let ended = || ended_without_result(process, || process.failing_provider());
    let by_process = before_output(process).or_else(ended);
    by_process.unwrap_or_else(|| {
        let exit = vec![process.exit_evidence("exit-code")];
        match process.exit.code {
            Some(0) if lines == 0 => Verdict::of(Class::NoOutput, None, exit),
            Some(0) => Verdict::of(Class::Ok, None, exit),
            _ => Verdict::of(Class::Error, Some("exit-code"), exit),
        }
    })
}
