//! clawgate proves that an agent command line keeps its JSON contract, and says why when it does not.

pub mod classify;
pub mod cli;
pub mod envelope;
pub mod events;
pub mod exit_code;
pub mod harness;
pub mod json;
pub mod judge;
pub mod recording;
pub mod report;
pub mod schema;
pub mod stream_json;
