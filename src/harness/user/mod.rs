//! The user's part in a run: types, answers, closes a stream or sends a signal once something has happened.

mod input;
mod message;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use serde_json::Value;

use input::Input;
pub(crate) use input::Sent;
use message::{Open, filled};
pub(crate) use message::{Pattern, places};

use super::capture::Outlets;
use super::supervise::{Order, Supervisor};

/// How much of what was printed is remembered while the user waits for something else.
const MOST_RECENT: usize = 64 << 10;

/// Something that the user does in the middle of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What the user waits for.
    pub cue: Cue,
    /// What the user does.
    pub action: Action,
    /// How long the user takes for it.
    pub late: Duration,
    /// Whether the user does it each time, whatever other steps there are, and not once at its place among them.
    pub every: bool,
}

/// What a user waits for, after the step before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cue {
    Now,
    /// The target has printed this.
    Printed(String),
    /// The target has printed a message like this, which no step has answered yet.
    Message(Pattern),
    /// So many requests for an answer have come since the start of the run.
    Asked(u64),
}

/// What a user can do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    Type(String),
    /// Sends a message, which may take values from the one that it answers.
    Send(Value),
    CloseStdin,
    /// Stops reading standard output.
    CloseStdout,
    Signal(i32),
}

impl Action {
    /// Whether it needs the user's end of standard input.
    pub(super) fn needs_stdin(&self) -> bool {
        matches!(self, Self::Type(_) | Self::Send(_) | Self::CloseStdin)
    }
}

/// What has happened since the user last looked.
#[derive(Clone, Copy)]
pub(super) enum Noticed<'h> {
    Nothing,
    Printed(&'h [u8]),
    Requests(u64),
}

/// Whether nobody reads standard output from the start on. Such a reader leaves before the target is there: afterwards it
/// would be a matter of chance whether the target could still print.
pub(super) fn never_reads(steps: &[Step]) -> bool {
    steps.iter().take_while(|step| step.cue == Cue::Now).any(|step| step.action == Action::CloseStdout)
}

/// The user of one run.
pub(super) struct User {
    /// With the number of each, for complaints.
    steps: VecDeque<(usize, Step)>,
    /// Those that are done each time, and whether they were.
    every: Vec<(usize, Step, bool)>,
    input: Input,
    started: Instant,
    /// How much the target has printed.
    printed: u64,
    /// The end of what was printed, in which the next step's text may begin.
    recent: Vec<u8>,
    /// What was printed, where a step answers messages.
    open: Option<Open>,
    /// When the next step is due whose cue has come, and the message that it answers.
    due: Option<(Instant, Value)>,
    /// The message that was answered last, of which a step without a message of its own speaks.
    answered: Value,
    /// How many requests for an answer have come.
    asked: u64,
    /// What could not be said.
    unsaid: Vec<String>,
}

impl User {
    pub(super) fn new(
        steps: Vec<Step>,
        stdin: Option<OwnedFd>,
        terminal: bool,
        relay: Option<OwnedFd>,
        started: Instant,
    ) -> Self {
        let answers = steps.iter().any(|step| matches!(step.cue, Cue::Message(_)));
        let numbered = steps.into_iter().enumerate().map(|(at, step)| (at + 1, step));
        let (every, steps): (Vec<_>, Vec<_>) = numbered.partition(|(_, step)| step.every);
        Self {
            steps: steps.into(),
            every: every.into_iter().map(|(number, step)| (number, step, false)).collect(),
            input: Input::new(stdin, terminal, relay),
            started,
            printed: 0,
            recent: Vec::new(),
            open: answers.then(Open::default),
            due: None,
            answered: Value::Null,
            asked: 0,
            unsaid: Vec::new(),
        }
    }

    /// When the user does something without anything happening before.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.as_ref().map(|(at, _)| *at)
    }

    /// What has to become writable before the user can go on, and what becomes readable when somebody speaks in the
    /// user's place.
    pub(super) fn waits_for(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [self.input.wants_room(), self.input.relay()]
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self) {
        self.input.write();
    }

    /// Passes on what somebody says in the user's place.
    pub(super) fn pass_on(&mut self) {
        self.input.pass_on(self.started, self.printed);
    }

    /// Does what is due.
    pub(super) fn act(
        &mut self,
        supervisor: &Supervisor,
        outlets: &mut Outlets,
        heard: Noticed<'_>,
    ) -> io::Result<()> {
        match heard {
            Noticed::Printed(bytes) => {
                self.printed += bytes.len() as u64;
                if let Some(open) = &mut self.open {
                    open.hear(bytes);
                }
                if !self.steps.is_empty() {
                    self.recent.extend_from_slice(bytes);
                }
            }
            Noticed::Requests(count) => self.asked += count,
            Noticed::Nothing => {}
        }
        self.answer_every_time(supervisor, outlets)?;
        while let Some((number, step)) = self.steps.front().cloned() {
            let (at, message) = match self.due.take() {
                Some(due) => due,
                None => match self.cue(&step.cue) {
                    Some(message) => (Instant::now() + step.late, message),
                    None => return Ok(()),
                },
            };
            if at > Instant::now() {
                self.due = Some((at, message));
                return Ok(());
            }
            if !message.is_null() {
                self.answered = message;
            }
            let about = self.answered.clone();
            self.perform(number, &step.action, &about, supervisor, outlets)?;
            self.steps.pop_front();
        }
        Ok(())
    }

    fn answer_every_time(&mut self, supervisor: &Supervisor, outlets: &mut Outlets) -> io::Result<()> {
        for at in 0..self.every.len() {
            let (number, step, _) = self.every[at].clone();
            while let Some(message) = self.cue(&step.cue) {
                self.every[at].2 = true;
                self.perform(number, &step.action, &message, supervisor, outlets)?;
            }
        }
        Ok(())
    }

    /// The message that is answered when what the user waits for has happened; null where it is none.
    fn cue(&mut self, cue: &Cue) -> Option<Value> {
        match cue {
            Cue::Now => {}
            Cue::Asked(count) if self.asked >= *count => {}
            Cue::Asked(_) => {
                self.forget();
                return None;
            }
            Cue::Message(pattern) => {
                self.forget();
                return self.open.as_mut()?.take(pattern);
            }
            Cue::Printed(text) => {
                let Some(at) = memchr::memmem::find(&self.recent, text.as_bytes()) else {
                    let kept = self.recent.len().saturating_sub(text.len());
                    self.recent.drain(..kept);
                    return None;
                };
                self.recent.drain(..at + text.len());
            }
        }
        Some(Value::Null)
    }

    fn forget(&mut self) {
        let kept = self.recent.len().saturating_sub(MOST_RECENT);
        self.recent.drain(..kept);
    }

    fn perform(
        &mut self,
        number: usize,
        action: &Action,
        message: &Value,
        supervisor: &Supervisor,
        outlets: &mut Outlets,
    ) -> io::Result<()> {
        let (started, printed) = (self.started, self.printed);
        match action {
            Action::Type(text) => self.input.send(text.as_bytes(), started, printed),
            Action::Send(template) => match filled(template, message) {
                Ok(answer) => self.input.send(format!("{answer}\n").as_bytes(), started, printed),
                Err(place) => self.unsaid.push(format!(
                    "step {number} was not sent: the message that it answers has nothing at {place}"
                )),
            },
            Action::CloseStdin => self.input.close(started, printed),
            Action::CloseStdout => outlets.stdout = None,
            Action::Signal(signal) => supervisor.order(&Order::Signal(*signal))?,
        }
        Ok(())
    }

    /// The target is gone: what was sent to it, and what could not be.
    pub(super) fn finish(mut self) -> (Sent, Vec<String>) {
        let waited = |(number, step): (usize, &Step)| match &step.cue {
            Cue::Message(pattern) => Some(format!("step {number} waited in vain for {pattern}")),
            _ => None,
        };
        self.unsaid.extend(self.steps.iter().filter_map(|(number, step)| waited((*number, step))));
        let idle = self.every.iter().filter(|(_, _, done)| !done);
        self.unsaid.extend(idle.filter_map(|(number, step, _)| waited((*number, step))));
        (self.input.finish(self.started, self.printed), self.unsaid)
    }
}
