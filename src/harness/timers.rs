//! The four timers of a run: which of them fires next. A pure function of what was seen and when.

use std::time::{Duration, Instant};

use crate::recording::Timer;

/// How long a target may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub wall: Duration,
    /// Until it prints something.
    pub first_event: Duration,
    /// Between two things that it prints.
    pub idle: Duration,
    /// From its result to its exit.
    pub after_result: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(120),
            first_event: Duration::from_secs(60),
            idle: Duration::from_secs(60),
            after_result: Duration::from_secs(20),
        }
    }
}

/// What the timers go by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    started: Instant,
    last_output: Option<Instant>,
    result: Option<Instant>,
}

impl Progress {
    /// A target that was started now.
    pub(crate) fn new(now: Instant) -> Self {
        Self { started: now, last_output: None, result: None }
    }

    /// It asked for its first answer, and whatever its start took is forgotten: the timers count from here.
    pub(crate) fn asked(&mut self, now: Instant) {
        self.started = now;
        self.last_output = self.last_output.map(|_| now);
    }

    pub(crate) fn printed(&mut self, now: Instant) {
        self.last_output = Some(now);
    }

    /// It printed its result; a later one counts anew.
    pub(crate) fn gave_result(&mut self, now: Instant) {
        self.result = Some(now);
    }

    /// It goes on after its result, as a run with background work does: the result was not the last.
    pub(crate) fn goes_on(&mut self) {
        self.result = None;
    }

    /// The timer that nothing stops, and when it fires.
    pub(crate) fn wall(&self, limits: &Limits) -> (Timer, Instant) {
        (Timer::Wall, self.started + limits.wall)
    }

    /// The timer that fires next if nothing happens before, and when.
    pub(crate) fn next(&self, limits: &Limits) -> (Timer, Instant) {
        let wall = self.wall(limits);
        let quiet = match (self.result, self.last_output) {
            (Some(result), _) => (Timer::AfterResult, result + limits.after_result),
            (None, Some(last)) => (Timer::Idle, last + limits.idle),
            (None, None) => (Timer::FirstEvent, self.started + limits.first_event),
        };
        if quiet.1 < wall.1 { quiet } else { wall }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timer_has_its_time() {
        let second = Duration::from_secs(1);
        let limits = Limits {
            wall: second * 100,
            first_event: second * 10,
            idle: second * 20,
            after_result: second * 3,
        };
        let start = Instant::now();
        let mut progress = Progress::new(start);
        assert_eq!(progress.next(&limits), (Timer::FirstEvent, start + second * 10));
        progress.printed(start + second * 5);
        assert_eq!(progress.next(&limits), (Timer::Idle, start + second * 25));
        progress.printed(start + second * 90);
        assert_eq!(progress.next(&limits), (Timer::Wall, start + second * 100));
        progress.gave_result(start + second * 91);
        assert_eq!(progress.next(&limits), (Timer::AfterResult, start + second * 94));
        progress.goes_on();
        assert_eq!(progress.next(&limits), (Timer::Wall, start + second * 100));
        // Without a first event the wall may still come first.
        let short = Limits { wall: second, ..limits };
        assert_eq!(Progress::new(start).next(&short), (Timer::Wall, start + second));
    }

    #[test]
    fn a_first_request_starts_the_timers_anew() {
        let second = Duration::from_secs(1);
        let limits = Limits {
            wall: second * 100,
            first_event: second * 10,
            idle: second * 20,
            after_result: second * 3,
        };
        let start = Instant::now();
        let mut silent = Progress::new(start);
        silent.asked(start + second * 7);
        assert_eq!(silent.next(&limits), (Timer::FirstEvent, start + second * 17));
        let mut talkative = Progress::new(start);
        talkative.printed(start + second * 5);
        talkative.asked(start + second * 7);
        assert_eq!(talkative.next(&limits), (Timer::Idle, start + second * 27));
        talkative.printed(start + second * 90);
        assert_eq!(talkative.next(&limits), (Timer::Wall, start + second * 107));
    }
}
