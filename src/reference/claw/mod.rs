//! The reference target as claw: one envelope on standard output, or text for people.

mod arguments;
mod envelope;
mod flat;
mod nested;
mod prompt;
mod resumed;
mod servers;
mod store;
mod workspace;

pub(super) use flat::main as flat;
pub(super) use nested::main as nested;
