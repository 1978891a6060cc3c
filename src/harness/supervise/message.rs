//! What harness and supervisor say to each other.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::isolation::Isolation;
use crate::recording::SpawnError;

/// What the harness says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Get ready for a case.
    Prepare {
        /// The clean room, outside of which the target's files are looked for.
        room: PathBuf,
        /// How much may be written into it and around it, where it is a file system of its own.
        most_bytes: u64,
    },
    /// Start the target. Its standard output and error come along, and its standard input unless that is closed.
    Start(Box<Start>),
    /// Send the target a signal.
    Signal(i32),
    /// End it: TERM now, KILL of everything after the grace period.
    Terminate,
    Kill,
    /// There is no more to do, and nothing of a case is needed any more that the harness does not look after.
    Leave,
}

/// How to start a target.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Start {
    pub program: String,
    pub args: Vec<OsString>,
    pub env: Vec<(String, String)>,
    pub cwd: OsString,
    /// How long it may take to end after TERM.
    pub term_grace_ms: u64,
    /// How long what it started may take to end after it.
    pub leftover_grace_ms: u64,
    /// The port of the mock, which is no leftover.
    pub api_port: u16,
    /// Whether standard input is a terminal that the target controls.
    pub terminal: bool,
    /// More memory than this ends the target and what it started.
    pub memory_bytes: Option<u64>,
    /// How many files it may have open at once.
    pub descriptors: Option<u64>,
    /// The arguments of a run before this one, in the same room; it has to exit with 0.
    pub first: Option<Vec<OsString>>,
}

/// What the supervisor says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Report {
    /// Ready to start. A listener inside the target's network comes along where that is a namespace, and then the room
    /// where that is a file system of its own.
    Ready(Isolation),
    /// There can be no namespace of processes, and this supervisor is of no use; why.
    NoProcesses(String),
    /// The target runs.
    Started {
        /// Since this many nanoseconds of the machine's monotonic clock.
        since: u64,
        /// Its number, and its group's, as its supervisor sees it.
        pid: u32,
    },
    /// The target could not be started.
    NotStarted {
        kind: String,
        /// What the operating system said.
        message: String,
    },
    /// The target and what it started use more memory than they may, and are ended.
    OverMemory,
    /// The target has exited.
    Exited {
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Whether it left a core dump.
        core_dumped: bool,
    },
    /// Nothing runs any more.
    Over(Ended),
}

/// The clock that harness and supervisor share, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Report {
    pub(super) fn not_started(error: &SpawnError) -> Self {
        Self::NotStarted { kind: error.kind.clone(), message: error.message.clone() }
    }
}

/// What was found when the target had exited.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Processes that still ran, and were ended.
    pub leftovers: Vec<Leftover>,
    /// Ports on which somebody still listened; known only in a network of its own.
    pub listening: Vec<u16>,
    /// What it wrote outside the clean room; none where that is not watched.
    pub outside: Option<Vec<String>>,
    /// Whether a process could not be ended.
    pub survivors: bool,
}

/// A process that outlived the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leftover {
    pub pid: u32,
    /// Its command line, shortened.
    pub command: String,
}
