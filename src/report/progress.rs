//! What is running right now: one line at the bottom of a terminal, drawn only when it changes.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::quote::first_columns;
use crate::run::Event;
use crate::text::printable;

/// The line at the bottom of standard error; nothing where that is no terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Option<Arc<Mutex<State>>>,
    /// Dropped to end the clock.
    end: Option<Sender<()>>,
    clock: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    columns: usize,
    done: usize,
    total: usize,
    running: Vec<(String, Instant)>,
    /// What is on the screen.
    shown: String,
}

impl Progress {
    /// Starts it, if there is a terminal and somebody to look.
    pub(crate) fn start(wanted: bool) -> Self {
        if !wanted || !io::stderr().is_terminal() {
            return Self { state: None, end: None, clock: None };
        }
        let columns = columns_of(&io::stderr()).unwrap_or(80);
        let state = Arc::new(Mutex::new(State { columns, ..State::default() }));
        let (end, ended) = mpsc::channel();
        let ticking = Arc::clone(&state);
        // Seconds pass also when nothing happens.
        let clock = std::thread::Builder::new().spawn(move || {
            while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                ticking.lock().unwrap_or_else(PoisonError::into_inner).draw();
            }
        });
        // Without a thread for it they pass when something happens.
        Self { state: Some(state), end: Some(end), clock: clock.ok() }
    }

    /// Takes note of an event, and lets others write in between.
    pub(crate) fn around(&self, event: &Event, write: impl FnOnce()) {
        let Some(state) = &self.state else { return write() };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::RunStarted(started) => state.total = started.cases,
            Event::CaseStarted(started) if started.attempt == 1 => {
                let name = format!("{} on {}", printable(&started.case), printable(&started.target));
                state.running.push((name, Instant::now()));
            }
            Event::CaseFinished(finished) => {
                let name = format!("{} on {}", printable(&finished.case), printable(&finished.target));
                if let Some(at) = state.running.iter().position(|(running, _)| *running == name) {
                    state.running.remove(at);
                }
                state.done += 1;
            }
            Event::RunFinished(_) => state.running.clear(),
            Event::CaseStarted(_) | Event::Unknown => {}
        }
        if !matches!(event, Event::CaseStarted(_)) {
            state.clear();
        }
        write();
        state.draw();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(clock) = self.clock.take() {
            // A clock that died has nothing to say.
            _ = clock.join();
        }
        if let Some(state) = &self.state {
            state.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

impl State {
    fn clear(&mut self) {
        if !self.shown.is_empty() {
            self.shown.clear();
            let mut err = io::stderr().lock();
            // Nobody minds when it cannot be shown.
            _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }

    fn draw(&mut self) {
        let line = self.line();
        if line == self.shown {
            return;
        }
        let mut err = io::stderr().lock();
        _ = write!(err, "\r{line}\x1b[K").and_then(|()| err.flush());
        self.shown = line;
    }

    /// What is going on, in one line that never wraps.
    fn line(&self) -> String {
        if self.running.is_empty() {
            return String::new();
        }
        let mut names = Vec::new();
        for (name, since) in &self.running {
            match since.elapsed().as_secs() {
                0 => names.push(name.clone()),
                seconds => names.push(format!("{name} {seconds} s")),
            }
        }
        let line = format!("{}/{} · {}", self.done, self.total, names.join(" · "));
        first_columns(&line, self.columns.saturating_sub(1)).0
    }
}

/// How wide a terminal is; none when it is no terminal.
pub(crate) fn columns_of(terminal: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
