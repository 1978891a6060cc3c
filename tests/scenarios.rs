//! A file of scenarios as tests: what [`clawgate::testing::Scenarios`] is for, on the target inside clawgate, and on one that
//! is wrong in ways that are listed.

use std::process::ExitCode;

fn main() -> ExitCode {
    let target = concat!("reference=", env!("CARGO_BIN_EXE_clawgate"));
    let wrong = concat!("reference+usage-zero=", env!("CARGO_BIN_EXE_clawgate"));
    clawgate::testing::Scenarios::new("scenarios/claude/answers.toml")
        .on(target)
        .on(wrong)
        .known_failures("tests/data/known-failures.toml")
        .main()
}
