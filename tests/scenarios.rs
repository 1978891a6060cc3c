//! A file of scenarios as tests: what [`clawgate::testing::Scenarios`] is for, on the target inside clawgate.

use std::process::ExitCode;

fn main() -> ExitCode {
    let target = concat!("reference=", env!("CARGO_BIN_EXE_clawgate"));
    clawgate::testing::Scenarios::new("scenarios/claude/answers.toml").on(target).main()
}
