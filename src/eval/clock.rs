//! The time, which enters here and nowhere else, so that waiting for a rate limit can be tested without waiting.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::run::Stop;

/// The time and how to let it pass.
pub trait Clock: Sync {
    /// The time of day, in milliseconds since 1970.
    fn now_ms(&self) -> u64;
    /// Waits until then, or until somebody wants to stop.
    fn wait_until(&self, ms: u64, stop: &Stop);
}

/// The clock of this computer.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        crate::time::now().unsigned_abs()
    }

    fn wait_until(&self, ms: u64, stop: &Stop) {
        let end = Instant::now() + Duration::from_millis(ms.saturating_sub(self.now_ms()));
        while !stop.is_wanted() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            // In pieces, since the computer may sleep meanwhile.
            let piece = left.min(Duration::from_secs(60));
            let timeout = Timespec::try_from(piece).ok();
            let mut heard = [PollFd::new(stop, PollFlags::IN)];
            if poll(&mut heard, timeout.as_ref()).is_err() {
                std::thread::sleep(piece.min(Duration::from_millis(100)));
            }
        }
    }
}
