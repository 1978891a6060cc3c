//! `clawgate completions`: what a shell needs to complete our command line.

use std::io::Write as _;

use clap_complete::Shell;

use super::{Failure, definition};
use crate::exit_code;

/// Prints completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  clawgate completions bash > ~/.local/share/bash-completion/completions/clawgate
  clawgate completions zsh > ~/.zfunc/_clawgate
  clawgate completions fish > ~/.config/fish/completions/clawgate.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command and returns its exit code.
pub(super) fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut definition(), "clawgate", &mut text);
    std::io::stdout().lock().write_all(&text)?;
    Ok(exit_code::OK)
}
