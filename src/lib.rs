//! clawgate proves that an agent command line keeps its JSON contract, and says why when it does not.

pub mod cli;
pub mod exit_code;
pub mod harness;
