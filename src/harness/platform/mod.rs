//! What the harness needs of the operating system beyond POSIX, behind one list of names: the seam.
//!
//! | | holds what a target starts | keeps it apart from |
//! |---|---|---|
//! | `linux` | the first process of a namespace, or a subreaper | network, files, processes, devices, shared memory |
//! | `portable` | the target's process group | nothing |
//!
//! Everything else in the crate is Rust's library and POSIX by rustix. `build.rs` chooses `portable` where the system is not
//! Linux, and on Linux where `CLAWGATE_PORTABLE` is set for the build: so it is built and tested there. It was never run on a
//! Mac.

#[cfg(not(clawgate_portable))]
mod linux;
#[cfg(clawgate_portable)]
mod portable;

#[cfg(not(clawgate_portable))]
use linux as chosen;
#[cfg(clawgate_portable)]
use portable as chosen;

// What a supervisor makes before its first case, and what it does with what a target started.
pub(super) use chosen::{Means, Surroundings, ending};
// What the harness knows of its supervisors.
#[cfg(feature = "cli")]
pub(super) use chosen::this_is_clawgate;
pub(super) use chosen::{end_strays, forget_supervisor, is_stopped, remember_supervisor};
// Descriptors and files.
pub(super) use chosen::{
    OPEN_TERMINAL, RECEIVE, SEND, enlarge_pipe, make_mutable, memory, memory_limit, path_of,
};
// Programs that nobody supervises.
#[cfg(feature = "cli")]
pub(crate) use chosen::end_with_us;
