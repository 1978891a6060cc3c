//! Evaluations: specs, assertions, and `clawgate eval` as a user types it.

mod agreement;
