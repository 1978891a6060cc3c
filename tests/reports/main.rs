//! What people and programs get to see of a run, also of a hostile target.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

mod machine_output;
mod run;
