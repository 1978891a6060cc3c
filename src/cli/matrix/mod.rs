//! `clawgate matrix`: when did what change between versions.

mod versions;

use std::io::Write as _;

use clap::Args;
use serde_json::{Value, json};

use crate::cli::diff::{Workspace, tell};
use crate::cli::matrix::versions::Versions;
use crate::cli::runs::{CaseArgs, terms};
use crate::cli::{Failure, Format, FormatArg, complain};
use crate::drift::{Effect, matrix};
use crate::exit_code;
use crate::report::matrix_text;

/// Show when each thing changed between versions
///
/// Looks at a few versions, and where two of them differ at those between them, until the version of each change is found
/// or as many were looked at as --bisect allows. Versions are installed from npm into the cache; one that cannot be had is
/// left out with a word.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate matrix claude@2.1.0..2.1.325 --case smoke            four versions, and eight more to narrow it down
  clawgate matrix claude@2.1.300.. --sample 8 --bisect 0        to the newest, eight versions and no more
  clawgate matrix claude@2.1.0..2.1.325 --discard               leaves nothing behind of what it installs
  clawgate matrix recordings/2.1.0 recordings/2.1.100 recordings/2.1.197

Exit codes: 0 the table is complete; 2 usage; 3 fewer than two versions can be had; 4 there is nothing to compare; 130
interrupted.")]
pub(in crate::cli) struct MatrixArgs {
    /// A target with a range of versions, which are installed and run; or directories of recordings, one a version
    #[arg(value_name = "TARGET@A..B|DIR", required = true)]
    what: Vec<String>,
    /// How many versions are looked at first, evenly
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..))]
    sample: u16,
    /// How many more are looked at to find the version of a change
    #[arg(long, value_name = "N", default_value_t = 8)]
    bisect: u16,
    /// Remove each version that had to be installed as soon as it has been run
    #[arg(long)]
    discard: bool,
    /// Also what no contract promises; it is not what versions are searched for
    #[arg(long)]
    all: bool,
    /// By whose versioning policy: a built-in contract, or the path of your own [default: the one that each recording names
    /// or looks like]
    #[arg(long, value_name = "NAME|PATH")]
    contract: Option<String>,
    #[command(flatten)]
    cases: CaseArgs,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the command and returns its exit code.
pub(in crate::cli) fn run(args: &MatrixArgs) -> Result<u8, Failure> {
    let folder = Workspace::new(None)?;
    let mut versions = match Versions::find(&args.what, folder.path(), &args.cases, args.discard) {
        Ok(versions) => versions,
        Err(error) => return tell(error),
    };
    let order = versions.order().to_vec();
    let found = matrix(
        &order,
        args.sample.into(),
        args.bisect.into(),
        &mut versions,
        &terms(args.contract.as_deref())?,
    );
    let mut found = match found {
        Ok(found) => found,
        Err(error) => return tell(error),
    };
    let looked = versions.looked();
    if looked.len() < 2 {
        complain("fewer than two versions could be had, so there is nothing to compare");
        return Ok(exit_code::ENVIRONMENT);
    }
    found.retain(|found| args.all || found.change.effect != Effect::Info);
    let mut out = args.format.format.stdout();
    match args.format.format {
        Format::Human => matrix_text(&mut out, &found, &looked, order.len())?,
        Format::Json => {
            for found in &found {
                let mut line = json!({
                    "type": "change", "after": found.after, "since": found.since, "exact": found.exact,
                });
                if let (Some(line), Value::Object(fields)) =
                    (line.as_object_mut(), serde_json::to_value(&found.change)?)
                {
                    line.extend(fields);
                }
                writeln!(out, "{line}")?;
            }
            let summary = json!({
                "type": "summary", "schema_version": 1, "versions": looked, "changes": found.len(),
            });
            writeln!(out, "{summary}")?;
        }
    }
    out.flush()?;
    Ok(exit_code::OK)
}
