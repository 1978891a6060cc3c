//! `clawgate completions`: what a shell needs to complete our command line.

use std::io::Write as _;

use clap_complete::Shell;

use super::output::raw_stdout;
use super::{CommandError, definition};
use crate::exit_code::Outcome;

/// Print completions for a shell
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

pub(super) fn run(args: &CompletionsArgs) -> Result<Outcome, CommandError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut definition(), "clawgate", &mut text);
    let mut out = raw_stdout();
    out.write_all(&text)?;
    out.flush()?;
    Ok(Outcome::Ok)
}
