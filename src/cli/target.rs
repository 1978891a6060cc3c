//! `clawgate target`: what can be run on, what is missing, and how to get it.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

use super::cases::start;
use super::project::{Project, variable};
use super::{CommandError, Format};
use crate::exit_code::Outcome;
use crate::harness::supervise::Demands;
use crate::reference::MISBEHAVIOURS;
use crate::run::target::{Located, cache_folder, installed_versions};
use crate::run::{LastRun, RunOptions, cases_on, run as run_cases};
use crate::text::printable;

/// List, install and examine targets
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    #[command(subcommand)]
    command: TargetCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TargetCommand {
    /// List the targets, and where each is found
    List {
        /// Also how the reference target can be told to misbehave
        #[arg(long)]
        misbehaviours: bool,
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Install a version of a target through npm into the cache: claude@2.1.197, or claude@latest
    ///
    /// Exactly that version, and nothing of it is executed. Older versions of the Claude CLI are scripts, for which Node.js
    /// is needed. The cache is `CLAWGATE_CACHE`, else clawgate in the user's cache; a folder in it can be removed at any time.
    Install {
        /// The target and its version; the target's file says where npm has it
        #[arg(value_name = "TARGET@VERSION")]
        what: String,
    },
    /// Examine whether a target is found, says its version, starts, and answers over loopback
    Doctor {
        /// The targets to examine [default: all]
        #[arg(value_name = "T")]
        targets: Vec<String>,
        #[command(flatten)]
        format: super::FormatArg,
    },
}

pub(super) fn run(args: &TargetArgs) -> Result<Outcome, CommandError> {
    match &args.command {
        TargetCommand::List { misbehaviours: true, format } => list_misbehaviours(format.format),
        TargetCommand::List { misbehaviours: false, format } => list(format.format),
        TargetCommand::Install { what } => install(what),
        TargetCommand::Doctor { targets, format } => doctor(targets, format.format),
    }
}

fn list(format: Format) -> Result<Outcome, CommandError> {
    let (project, mut out) = (Project::open()?, format.stdout());
    for name in project.target_names() {
        let choice = project.target(&name)?;
        let description = choice.target.description.clone();
        let contracts: Vec<String> =
            choice.target.speaks.iter().map(|speaks| speaks.contract.clone()).collect();
        let installed =
            cache_folder(variable).map(|cache| installed_versions(&cache, &name)).unwrap_or_default();
        let found = choice.locate(variable, Demands::default());
        let (program, version) = match &found {
            Ok(located) => (Some(located.program.display().to_string()), located.version.clone()),
            Err(_) => (None, String::new()),
        };
        match format {
            Format::Json => {
                let value = json!({
                    "type": "target", "target": name, "description": description, "contracts": contracts,
                    "program": program, "version": version, "installed": installed,
                });
                writeln!(out, "{value}")?;
            }
            Format::Human => {
                let place = program.map_or("not installed".into(), |program| format!("{program} {version}"));
                writeln!(out, "{name:<10} {}", printable(&description))?;
                writeln!(out, "{:<10} {} · {}", "", printable(place.trim_end()), contracts.join(", "))?;
                if !installed.is_empty() {
                    let versions = installed.iter().map(|version| format!("{name}@{version}"));
                    let versions = versions.collect::<Vec<_>>().join(", ");
                    writeln!(out, "{:<10} installed: {}", "", printable(&versions))?;
                }
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

fn list_misbehaviours(format: Format) -> Result<Outcome, CommandError> {
    let mut out = format.stdout();
    for (name, what) in MISBEHAVIOURS {
        match format {
            Format::Json => {
                writeln!(out, "{}", json!({"type": "misbehaviour", "name": name, "description": what}))?;
            }
            Format::Human => writeln!(out, "reference+{name:<20} {what}")?,
        }
    }
    out.flush()?;
    Ok(Outcome::Ok)
}

fn install(what: &str) -> Result<Outcome, CommandError> {
    let Some((name, version)) = what.split_once('@') else {
        return Err(CommandError::Usage(format!(
            "{what}: expected a target and its version, such as claude@2.1.197 or claude@latest"
        )));
    };
    let program = super::cases::install(&Project::open()?.target(name)?.target, version)?;
    writeln!(Format::Human.stdout(), "{}", program.display())?;
    Ok(Outcome::Ok)
}

fn doctor(names: &[String], format: Format) -> Result<Outcome, CommandError> {
    let project = Project::open()?;
    let all = project.target_names();
    let mut outcome = Outcome::Ok;
    for name in if names.is_empty() { &all } else { names } {
        let (located, problem) = match project.target(name)?.locate(variable, Demands::default()) {
            Ok(located) => {
                let problem = answers(&located, &project).err();
                (Some(located), problem)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        if problem.is_some() {
            outcome = Outcome::Environment;
        }
        tell(name, located.as_ref(), problem.as_deref(), format)?;
    }
    Ok(outcome)
}

fn tell(
    name: &str,
    located: Option<&Located>,
    problem: Option<&str>,
    format: Format,
) -> Result<(), CommandError> {
    let mut out = format.stdout();
    match (format, located, problem) {
        (Format::Json, ..) => {
            let value = json!({
                "type": "target", "target": name, "program": located.map(|located| &located.program),
                "version": located.map(|located| &located.version), "answers": problem.is_none(),
                "problem": problem,
            });
            writeln!(out, "{value}")?;
        }
        (Format::Human, Some(located), None) => {
            let line = format!("{name}: fine: {} {}", located.program.display(), located.version);
            writeln!(out, "{}", printable(line.trim_end()))?;
        }
        (Format::Human, ..) => writeln!(out, "{name}: {}", printable(problem.unwrap_or_default()))?,
    }
    Ok(out.flush()?)
}

/// Whether it answers as one of its scenarios expects, a smoke test if there is one.
fn answers(located: &Located, project: &Project) -> Result<(), String> {
    let suite = project.suite().map_err(|error| error.to_string())?;
    let smoke = cases_on(located, &suite, &["smoke".to_owned()], 1);
    // What keeps a contract of its own has no other cases than the project's.
    let planned = smoke.or_else(|_| cases_on(located, &suite, &[], 1));
    let mut planned = planned.map_err(|_| "no scenario fits the contracts that it promises")?;
    planned.truncate(1);
    let out = tempfile::tempdir().map_err(|error| error.to_string())?;
    let session = start().map_err(|error| error.to_string())?;
    let mut context = session.context(out.path());
    context.wall = Some(Duration::from_secs(60));
    let mut reason = None;
    run_cases(planned, &context, &RunOptions::default(), &mut LastRun::default(), &mut |event| {
        if let crate::run::Event::CaseFinished(case) = event {
            reason = case.failures.first().map(|failure| failure.message.clone());
        }
    });
    reason.map_or(Ok(()), |reason| Err(format!("found, but does not answer as expected: {reason}")))
}
