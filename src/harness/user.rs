//! The user's part in a run: types, closes a stream or sends a signal once something has happened.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use super::capture::Outlets;
use super::supervise::{Order, Supervisor};
use super::terminal::END_OF_INPUT;

/// How much of what was printed is remembered while the user waits for a request.
const MOST_RECENT: usize = 64 << 10;

/// Something that the user does in the middle of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What the user waits for.
    pub cue: Cue,
    /// What the user does.
    pub action: Action,
}

/// What a user waits for, after the step before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cue {
    Now,
    /// The target has printed this.
    Printed(String),
    /// So many requests for an answer have come since the start of the run.
    Asked(u64),
}

/// What a user can do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    Type(String),
    CloseStdin,
    /// Stops reading standard output.
    CloseStdout,
    Signal(i32),
}

/// What has happened since the user last looked.
#[derive(Clone, Copy)]
pub(super) enum Noticed<'h> {
    Nothing,
    Printed(&'h [u8]),
    Requests(u64),
}

/// The user of one run.
pub(super) struct User {
    steps: VecDeque<Step>,
    stdin: Option<OwnedFd>,
    terminal: bool,
    /// The end of what was printed, in which the next step's text may begin.
    recent: Vec<u8>,
    /// How many requests for an answer have come.
    asked: u64,
}

impl User {
    pub(super) fn new(steps: Vec<Step>, stdin: Option<OwnedFd>, terminal: bool) -> Self {
        Self { steps: steps.into(), stdin, terminal, recent: Vec::new(), asked: 0 }
    }

    /// Does what is due.
    pub(super) fn act(
        &mut self,
        supervisor: &Supervisor,
        outlets: &mut Outlets,
        heard: Noticed<'_>,
    ) -> io::Result<()> {
        match heard {
            Noticed::Printed(bytes) if !self.steps.is_empty() => self.recent.extend_from_slice(bytes),
            Noticed::Requests(count) => self.asked += count,
            Noticed::Nothing | Noticed::Printed(_) => {}
        }
        while let Some(step) = self.steps.front() {
            match &step.cue {
                Cue::Now => {}
                Cue::Asked(count) if self.asked >= *count => {}
                Cue::Asked(_) => {
                    let kept = self.recent.len().saturating_sub(MOST_RECENT);
                    self.recent.drain(..kept);
                    return Ok(());
                }
                Cue::Printed(text) => {
                    let Some(at) = memchr::memmem::find(&self.recent, text.as_bytes()) else {
                        let kept = self.recent.len().saturating_sub(text.len());
                        self.recent.drain(..kept);
                        return Ok(());
                    };
                    self.recent.drain(..at + text.len());
                }
            }
            match &step.action {
                Action::Type(text) => {
                    self.stdin = self.stdin.take().map(|stdin| typed(stdin, text.as_bytes()));
                }
                Action::CloseStdin if self.terminal => {
                    self.stdin = self.stdin.take().map(|stdin| typed(stdin, &[END_OF_INPUT]));
                }
                Action::CloseStdin => self.stdin = None,
                Action::CloseStdout => outlets.stdout = None,
                Action::Signal(number) => supervisor.order(&Order::Signal(*number))?,
            }
            self.steps.pop_front();
        }
        Ok(())
    }
}

fn typed(stdin: OwnedFd, bytes: &[u8]) -> OwnedFd {
    let mut stdin = File::from(stdin);
    // A target that no longer listens is no failure of ours.
    _ = stdin.write_all(bytes);
    stdin.into()
}
