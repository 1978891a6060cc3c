//! The `clawgate` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    clawgate::internals::main()
}
