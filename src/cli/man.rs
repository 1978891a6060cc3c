//! `clawgate man`: the manual pages, made from the same definitions as --help.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use super::error::unwritable;
use super::output::raw_stdout;
use super::{CommandError, definition};
use crate::exit_code::Outcome;

/// Print the manual page, or write a page for each command into a folder
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

pub(super) fn run(args: &ManArgs) -> Result<Outcome, CommandError> {
    let Some(out) = &args.out else {
        let mut out = raw_stdout();
        clap_mangen::Man::new(definition()).render(&mut out)?;
        out.flush()?;
        return Ok(Outcome::Ok);
    };
    let written = fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(definition(), out));
    written.map_err(unwritable(out))?;
    Ok(Outcome::Ok)
}
