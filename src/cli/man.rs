//! `clawgate man`: the manual pages, made from the same definitions as --help.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use super::{Failure, complain, definition};
use crate::exit_code;

/// Prints the manual page, or writes a page for each command into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  clawgate man | man -l -
  clawgate man --out ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// Write clawgate.1, clawgate-run.1, … into this folder instead
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command and returns its exit code.
pub(super) fn run(args: &ManArgs) -> Result<u8, Failure> {
    let Some(out) = &args.out else {
        let mut text = Vec::new();
        clap_mangen::Man::new(definition()).render(&mut text)?;
        std::io::stdout().lock().write_all(&text)?;
        return Ok(exit_code::OK);
    };
    let written = fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(definition(), out));
    if let Err(error) = written {
        complain(&format!("{}: {error}", out.display()));
        return Ok(exit_code::ENVIRONMENT);
    }
    Ok(exit_code::OK)
}
