//! `clawgate drift`: the newest release of a target against the one that the project is pinned to.

use std::io::Write as _;

use clap::Args;
use serde_json::json;

use super::diff::{Comparison, DiffFormat};
use super::output::say;
use super::project::Project;
use super::{CommandError, Format};
use crate::exit_code::Outcome;

/// Compare the newest release of a target with the one that you rely on
///
/// Both are installed from npm when they are not there, run, and compared as `clawgate diff` does it; what breaks comes
/// first. With --consumer only what breaks one of those readers fails. Made for a schedule: `clawgate init --drift
/// TARGET@VERSION` writes such a workflow.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate drift claude@2.1.197 --case smoke
  clawgate drift claude                      # the version that clawgate.toml is pinned to: target = \"claude@2.1.197\"
  clawgate drift claude --consumer readers/dashboard.toml --format markdown

Exit codes: 0 nothing breaks, or there is no newer release; 100 something does that is neither known nor announced; 2 nobody
says which version is pinned; 3 npm or the target failed; 4 no case is on both sides.")]
pub(super) struct DriftArgs {
    /// The target, with the version that you rely on unless the `target` in clawgate.toml has it
    #[arg(value_name = "TARGET[@VERSION]")]
    target: String,
    #[command(flatten)]
    comparison: Comparison,
}

pub(super) fn run(args: &DriftArgs) -> Result<Outcome, CommandError> {
    let project = Project::open()?;
    let choice = project.target(&args.target)?;
    let name = &choice.target.name;
    let Some(pinned) = choice.version.clone().or_else(|| pinned(&project, name)) else {
        return Err(CommandError::Usage(format!(
            "which version of {name} do you rely on? Type {name}@VERSION, or pin it in clawgate.toml: target = \
             \"{name}@VERSION\""
        )));
    };
    let newest = choice.target.published()?.pop().unwrap_or_default();
    let format = args.comparison.format;
    if format == DiffFormat::Json {
        let line = json!({"type": "drift", "target": name, "pinned": pinned, "newest": newest});
        writeln!(Format::Json.stdout(), "{line}")?;
    }
    if newest == pinned {
        if format != DiffFormat::Json {
            writeln!(Format::Human.stdout(), "{name} {pinned} is the newest release")?;
        }
        return Ok(Outcome::Ok);
    }
    say(&format!("{name}: {pinned} is pinned, {newest} is the newest release"));
    args.comparison.run(&format!("{name}@{pinned}"), &format!("{name}@{newest}"), true)
}

/// The version of a target that the configuration names.
fn pinned(project: &Project, name: &str) -> Option<String> {
    let targets = project.profile.target.iter().flatten();
    targets
        .filter_map(|target| target.split_once('@'))
        .find(|(of, _)| *of == name)
        .map(|(_, version)| version.to_owned())
}
