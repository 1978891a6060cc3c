//! What long work is at: one line at the bottom of a terminal with count, failures, elapsed time and what is left of it.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::quote::first_columns;
use crate::run::{Event, Status};
use crate::text::printable;

/// Says more than counts do, whenever the line is drawn: bytes so far, or money.
type Note = Box<dyn Fn() -> String + Send>;

/// The line at the bottom of standard error; nothing where that is no terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    state: Option<Arc<Mutex<State>>>,
    /// Dropped to end the clock.
    end: Option<Sender<()>>,
    clock: Option<JoinHandle<()>>,
}

struct State {
    columns: usize,
    began: Instant,
    work: Work,
    running: Vec<(String, Instant)>,
    note: Option<Note>,
    /// What is on the screen.
    shown: String,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("work", &self.work).finish_non_exhaustive()
    }
}

/// How much there is, and how much of it is done.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Work {
    /// What it is a part of, such as `3 of 12: claude@2.1.250`; mostly empty.
    part: String,
    done: usize,
    /// Nothing where nobody knows.
    total: usize,
    failed: usize,
}

impl Progress {
    /// Starts it, if it is wanted and there is a terminal; `total` is how many things are to be done, 0 where nobody knows.
    pub(crate) fn start(wanted: bool, total: usize) -> Self {
        if !wanted || !io::stderr().is_terminal() {
            return Self { state: None, end: None, clock: None };
        }
        let columns = columns_of(&io::stderr()).unwrap_or(80);
        let work = Work { total, ..Work::default() };
        let (running, shown) = (Vec::new(), String::new());
        let state = State { columns, began: Instant::now(), work, running, note: None, shown };
        let state = Arc::new(Mutex::new(state));
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

    fn state(&self) -> Option<MutexGuard<'_, State>> {
        self.state.as_ref().map(|state| state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        if let Some(mut state) = self.state() {
            change(&mut state);
            state.draw();
        }
    }

    /// Something that takes its time begins.
    pub(crate) fn begin(&self, name: &str) {
        let name = printable(name).into_owned();
        self.change(|state| state.running.push((name, Instant::now())));
    }

    /// It is over.
    pub(crate) fn end(&self, name: &str, failed: bool) {
        let name = printable(name);
        self.change(|state| {
            state.forget(&name);
            state.work.done += 1;
            state.work.failed += usize::from(failed);
        });
    }

    /// How many things are to be done.
    pub(crate) fn of(&self, total: usize) {
        self.change(|state| state.work.total = total);
    }

    /// What the work from here on is a part of; the counts begin anew.
    pub(crate) fn part(&self, part: &str) {
        let part = printable(part).into_owned();
        self.change(|state| {
            state.work = Work { part, ..Work::default() };
            state.began = Instant::now();
        });
    }

    /// Says more whenever the line is drawn.
    pub(crate) fn note(&self, note: impl Fn() -> String + Send + 'static) {
        self.change(|state| state.note = Some(Box::new(note)));
    }

    /// Takes note of an event of a run.
    pub(crate) fn on_event(&self, event: &Event) {
        self.around(event, || {});
    }

    /// Takes note of an event of a run, and lets others write in between.
    pub(crate) fn around(&self, event: &Event, write: impl FnOnce()) {
        let Some(mut state) = self.state() else { return write() };
        match event {
            Event::RunStarted(started) => state.work.total = started.cases,
            Event::CaseStarted(started) if started.attempt == 1 => {
                let name = format!("{} on {}", printable(&started.case), printable(&started.target));
                state.running.push((name, Instant::now()));
            }
            Event::CaseFinished(finished) => {
                let name = format!("{} on {}", printable(&finished.case), printable(&finished.target));
                state.forget(&name);
                state.work.done += 1;
                state.work.failed += usize::from(finished.status == Status::Fail);
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

    /// Lets others write where the line stands.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        let Some(mut state) = self.state() else { return write() };
        state.clear();
        let written = write();
        state.draw();
        written
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(clock) = self.clock.take() {
            // A clock that died has nothing to say.
            _ = clock.join();
        }
        if let Some(mut state) = self.state() {
            state.clear();
        }
    }
}

impl State {
    fn forget(&mut self, name: &str) {
        if let Some(at) = self.running.iter().position(|(running, _)| running == name) {
            self.running.remove(at);
        }
    }

    fn clear(&mut self) {
        if !self.shown.is_empty() {
            self.shown.clear();
            let mut err = io::stderr().lock();
            // Nobody minds when it cannot be shown.
            _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }

    fn draw(&mut self) {
        let running: Vec<(String, Duration)> =
            self.running.iter().map(|(name, since)| (name.clone(), since.elapsed())).collect();
        let note = self.note.as_ref().map(|note| printable(&note()).into_owned()).unwrap_or_default();
        let line = line(&self.work, self.began.elapsed(), &note, &running);
        let line = first_columns(&line, self.columns.saturating_sub(1)).0;
        if line == self.shown {
            return;
        }
        let mut err = io::stderr().lock();
        _ = write!(err, "\r{line}\x1b[K").and_then(|()| err.flush());
        self.shown = line;
    }
}

/// What is going on, in one line: `12/260 · 3 failed · 0:14, 2:30 left · names`.
fn line(work: &Work, elapsed: Duration, note: &str, running: &[(String, Duration)]) -> String {
    if running.is_empty() && note.is_empty() {
        return String::new();
    }
    let mut parts = Vec::new();
    if !work.part.is_empty() {
        parts.push(work.part.clone());
    }
    if work.total > 0 {
        parts.push(format!("{}/{}", work.done, work.total));
    }
    if work.failed > 0 {
        parts.push(format!("{} failed", work.failed));
    }
    // The first seconds tell too little of the others.
    let left = work.total.saturating_sub(work.done);
    if elapsed.as_secs() >= 2 && work.done > 0 && left > 0 {
        let rest = elapsed.mul_f64(left as f64 / work.done as f64);
        parts.push(format!("{}, {} left", clock(elapsed), clock(rest)));
    } else if elapsed.as_secs() >= 1 {
        parts.push(clock(elapsed));
    }
    if !note.is_empty() {
        parts.push(note.to_owned());
    }
    for (name, since) in running {
        match since.as_secs() {
            // What runs alone has run as long as all of it.
            0 => parts.push(name.clone()),
            _ if work.total <= 1 => parts.push(name.clone()),
            seconds => parts.push(format!("{name} {seconds} s")),
        }
    }
    parts.join(" · ")
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// How wide a terminal is; none when it is no terminal.
pub(crate) fn columns_of(terminal: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_failures_elapsed_and_the_rest_are_in_one_line() {
        let seconds = Duration::from_secs;
        let work = |part: &str, done, total, failed| Work { part: part.to_owned(), done, total, failed };
        let running = [("a on x".to_owned(), seconds(0)), ("b on x".to_owned(), seconds(7))];
        let told = |work: &Work, elapsed, note| line(work, seconds(elapsed), note, &running);
        assert_eq!(told(&work("", 0, 3, 0), 0, ""), "0/3 · a on x · b on x 7 s");
        assert_eq!(
            told(&work("", 10, 40, 2), 20, ""),
            "10/40 · 2 failed · 0:20, 1:00 left · a on x · b on x 7 s"
        );
        assert_eq!(
            told(&work("3 of 12: 2.1.250", 1, 2, 0), 4000, "$0.12"),
            "3 of 12: 2.1.250 · 1/2 · 1:06:40, 1:06:40 left · $0.12 · a on x · b on x 7 s"
        );
        // Where nothing runs there is nothing to say, and where nobody knows how much there is, no guess.
        assert_eq!(line(&work("", 2, 2, 0), seconds(9), "", &[]), "");
        assert_eq!(line(&work("", 0, 0, 0), seconds(9), "12 MB", &[]), "0:09 · 12 MB");
    }
}
