//! The `clawgate` binary: glue around [`clawgate::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    clawgate::internals::main()
}
