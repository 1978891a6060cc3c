//! A single JSON document on standard output, read strictly: the framing that `claw --output-format json` and
//! `claude --output-format json` promise.
//!
//! Reading never fails. What keeps the output from being exactly one strict JSON object is listed as [problems](crate::json::Problem), each
//! at its byte, and the object is there whenever one can be found at all.

mod read;

pub use read::{Envelope, MAX_BYTES};
