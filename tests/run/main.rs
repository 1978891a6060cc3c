//! Targets are run: cases, containment, snapshots, versions, the CI gate, and the library in tests of one's own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code: a failure here is a failed test")]

mod ci_files;
mod cli;
mod containment;
mod gate;
mod golden;
mod misbehaviours;
mod own_files;
mod testing;
mod versions;
