//! The rows that are decided by the process alone, whatever it speaks.

use crate::recording::{Exit, Timer};

use super::{Basis, Class, Evidence, Verdict};
use crate::text::clip;

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
}

impl<'a> Process<'a> {
    /// A process whose end was observed.
    pub fn new(exit: &'a Exit, stderr: &'a str) -> Self {
        Self { exit, stderr, exit_known: true }
    }

    /// Whether a timer other than the one after the result fired, or `timeout(1)` ended the process.
    pub(super) fn timed_out(&self) -> Option<String> {
        match &self.exit.timed_out {
            Some(Timer::AfterResult) | None => (self.exit.code == Some(124)).then(|| "wall".into()),
            Some(timer) => Some(timer.name().into()),
        }
    }

    pub(super) fn says_something(&self) -> bool {
        !self.stderr.trim().is_empty()
    }

    /// The first line of the standard error that says something, as evidence.
    pub(super) fn stderr_evidence(&self, rule: &'static str) -> Evidence {
        let line = self.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Evidence::new(rule, Basis::Process, clip(line.trim(), 200)).in_document("stderr")
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
pub(super) fn not_started(process: &Process<'_>) -> Option<Verdict> {
    let error = process.exit.spawn_error.as_ref()?;
    let evidence = vec![Evidence::new("spawn-error", Basis::Process, error.message.clone())];
    if matches!(error.kind.as_str(), "harness" | "port" | "disk") {
        return Some(Verdict::of(Class::Harness, Some(&error.kind), evidence));
    }
    let detail = (!error.kind.is_empty()).then_some(error.kind.as_str());
    Some(Verdict::of(Class::Spawn, detail, evidence))
}

/// The rows for a process that ended without its result.
pub(super) fn ended_without_result(process: &Process<'_>) -> Option<Verdict> {
    if let Some(timer) = process.timed_out() {
        let evidence = vec![Evidence::new("timer", Basis::Process, timer.clone())];
        return Some(Verdict::of(Class::Timeout, Some(&timer), evidence));
    }
    if process.exit.fatal_signal().is_some() {
        return Some(Verdict::of(Class::Crash, Some("signal"), vec![process.exit_evidence("fatal-signal")]));
    }
    if process.exit.code == Some(101) {
        let evidence = vec![process.exit_evidence("panic"), process.stderr_evidence("panic")];
        return Some(Verdict::of(Class::Crash, Some("panic"), evidence));
    }
    None
}

/// Decides the verdict on a run whose protocol is not known here, from its process alone; its contract says the rest.
#[cfg(feature = "contracts")]
pub(crate) fn classify_foreign(process: &Process<'_>, lines: u64) -> Verdict {
    let by_process = not_started(process).or_else(|| ended_without_result(process));
    by_process.unwrap_or_else(|| {
        let exit = vec![process.exit_evidence("exit-code")];
        match process.exit.code {
            Some(0) if lines == 0 => Verdict::of(Class::NoOutput, None, exit),
            Some(0) => Verdict::of(Class::Ok, None, exit),
            _ => Verdict::of(Class::Error, Some("exit-code"), exit),
        }
    })
}
