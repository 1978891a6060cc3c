//! The wish to stop, which reaches every running case at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asked once by a signal handler, heard by everybody: the reading end of a pipe whose other end is closed.
#[derive(Debug)]
pub struct Stop {
    wanted: AtomicBool,
    hear: OwnedFd,
    say: Mutex<Option<OwnedFd>>,
}

impl Stop {
    /// Nobody wants to stop yet.
    pub fn new() -> io::Result<Self> {
        let (hear, say) = io::pipe()?;
        Ok(Self { wanted: AtomicBool::new(false), hear: hear.into(), say: Mutex::new(Some(say.into())) })
    }

    /// Asks everybody to stop.
    pub fn ask(&self) {
        self.wanted.store(true, Ordering::SeqCst);
        // A poisoned lock means that somebody panicked while dropping a descriptor; it is dropped all the same.
        self.say.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    }

    /// Whether somebody asked to stop.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.hear.as_fd()
    }
}
