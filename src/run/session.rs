//! What runs need for as long as a command takes: threads, and an ear for the user's wish to stop.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::{Event, LastRun, Planned, RunContext, RunOptions, Stop, run};
use crate::exit_code;
use crate::harness::supervise::Containment;
use crate::harness::threads;

pub(crate) struct Session {
    runtime: Runtime,
    stop: Arc<Stop>,
    containment: Containment,
}

/// Why there are no recordings.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("interrupted")]
    Interrupted,
    #[error("{0} cases could not be run; see them with: clawgate run")]
    Harness(usize),
}

impl Session {
    /// From now on the first interrupt ends runs in good order, the second at once: the supervisors then end their targets.
    pub(crate) fn start(containment: Containment) -> io::Result<Self> {
        let runtime = threads::runtime()?;
        let stop = Arc::new(Stop::new()?);
        let heard = Arc::clone(&stop);
        runtime.spawn(async move {
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            for first in [true, false] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if first {
                    heard.ask();
                } else {
                    std::process::exit(i32::from(exit_code::INTERRUPTED));
                }
            }
        });
        Ok(Self { runtime, stop, containment })
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// What cases share whose recordings go below `out`.
    pub(crate) fn context<'s>(&'s self, out: &'s Path) -> RunContext<'s> {
        RunContext::new(self.runtime.handle().clone(), self.containment.clone(), out, &self.stop)
    }

    /// An error when the user wants to stop.
    pub(crate) fn go_on(&self) -> Result<(), RecordError> {
        if self.stop.is_wanted() { Err(RecordError::Interrupted) } else { Ok(()) }
    }

    /// Runs cases only to have their recordings. Whether they pass is for the caller to see from the events.
    pub(crate) fn record(
        &self,
        planned: Vec<Planned>,
        out: &Path,
        jobs: Option<usize>,
        on_event: &mut dyn FnMut(&Event),
    ) -> Result<(), RecordError> {
        self.go_on()?;
        let mut options = RunOptions::default();
        options.jobs = jobs.unwrap_or(options.jobs);
        let finished = run(planned, &self.context(out), &options, &mut LastRun::default(), on_event);
        match finished.harness_failures {
            _ if finished.interrupted => Err(RecordError::Interrupted),
            0 => Ok(()),
            failures => Err(RecordError::Harness(failures)),
        }
    }
}
