//! The `clawgate` binary.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: clawgate::internals::Allocator = clawgate::internals::Allocator;

fn main() -> ExitCode {
    clawgate::internals::main()
}
