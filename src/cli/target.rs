//! `clawgate target`: what can be run on, what is missing, and how to get it.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{Failure, Format, complain};
use crate::exit_code;
use crate::harness::target::{Choice, LocateError, Located, NpmError, TARGETS};
use crate::printable::printable;
use crate::reference::MISBEHAVIOURS;
use crate::run::{LastRun, RunOptions, Setting, Stop, Suite, plan, run as run_cases, select};

/// Lists, installs and examines targets
#[derive(Debug, clap::Args)]
pub(super) struct TargetArgs {
    #[command(subcommand)]
    command: TargetCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TargetCommand {
    /// The targets there are, and where each is found
    List {
        /// Also how the reference target can be told to misbehave
        #[arg(long)]
        misbehaviours: bool,
        #[command(flatten)]
        format: super::FormatArg,
    },
    /// Installs a version of a target through npm into the cache: claude@2.1.197
    ///
    /// Exactly that version, and nothing of it is executed. Older versions of the Claude CLI are scripts, for which Node.js
    /// is needed. The cache is `CLAWGATE_CACHE`, else clawgate in the user's cache; a folder in it can be removed at any time.
    Install {
        /// The target and its version; the target's file says where npm has it
        #[arg(value_name = "TARGET@VERSION")]
        what: String,
    },
    /// Whether a target is found, says its version, starts, and answers over loopback
    Doctor {
        /// The targets to examine [default: all]
        #[arg(value_name = "T")]
        targets: Vec<String>,
        #[command(flatten)]
        format: super::FormatArg,
    },
}

/// Runs the command and returns its exit code.
pub(super) fn run(args: &TargetArgs) -> Result<u8, Failure> {
    match &args.command {
        TargetCommand::List { misbehaviours: true, format } => list_misbehaviours(format.format),
        TargetCommand::List { misbehaviours: false, format } => list(format.format),
        TargetCommand::Install { what } => install(what),
        TargetCommand::Doctor { targets, format } => doctor(targets, format.format),
    }
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

fn choose(typed: &str) -> Result<Choice, Failure> {
    let folder = Path::new("clawgate.toml").is_file().then_some(Path::new("targets"));
    Choice::parse(typed, folder).map_err(|error| Failure::Usage(error.to_string()))
}

fn list(format: Format) -> Result<u8, Failure> {
    let mut out = anstream::stdout().lock();
    for (name, _) in TARGETS {
        let choice = choose(name)?;
        let description = choice.target.description.clone();
        let contracts: Vec<String> =
            choice.target.speaks.iter().map(|speaks| speaks.contract.clone()).collect();
        let found = choice.locate(variable);
        let (program, version) = match &found {
            Ok(located) => (Some(located.program.display().to_string()), located.version.clone()),
            Err(_) => (None, String::new()),
        };
        match format {
            Format::Json => {
                let value = json!({
                    "type": "target", "target": name, "description": description, "contracts": contracts,
                    "program": program, "version": version,
                });
                writeln!(out, "{value}")?;
            }
            Format::Human => {
                let place = program.map_or("not installed".into(), |program| format!("{program} {version}"));
                writeln!(out, "{name:<10} {description}")?;
                writeln!(out, "{:<10} {} · {}", "", printable(place.trim_end()), contracts.join(", "))?;
            }
        }
    }
    Ok(exit_code::OK)
}

fn list_misbehaviours(format: Format) -> Result<u8, Failure> {
    let mut out = anstream::stdout().lock();
    for (name, what) in MISBEHAVIOURS {
        match format {
            Format::Json => {
                writeln!(out, "{}", json!({"type": "misbehaviour", "name": name, "description": what}))?;
            }
            Format::Human => writeln!(out, "reference+{name:<20} {what}")?,
        }
    }
    Ok(exit_code::OK)
}

fn install(what: &str) -> Result<u8, Failure> {
    let Some((name, version)) = what.split_once('@') else {
        return Err(Failure::Usage(format!(
            "{what}: expected a target and its version, such as claude@2.1.197"
        )));
    };
    let target = choose(name)?.target;
    match super::runs::install(&target, version) {
        Ok(program) => {
            writeln!(anstream::stdout(), "{}", program.display())?;
            Ok(exit_code::OK)
        }
        Err(error @ (NpmError::NoVersion(_) | NpmError::Unpublished(_) | NpmError::NotCovered { .. })) => {
            Err(Failure::Usage(error.to_string()))
        }
        Err(error) => {
            complain(&error.to_string());
            Ok(exit_code::ENVIRONMENT)
        }
    }
}

fn doctor(names: &[String], format: Format) -> Result<u8, Failure> {
    let all: Vec<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let names = if names.is_empty() { &all } else { names };
    let mut code = exit_code::OK;
    for name in names {
        let choice = choose(name)?;
        let (found, answers) = match choice.locate(variable) {
            Ok(located) => {
                let answers = answers(&located);
                (Ok(located), Some(answers))
            }
            Err(error) => (Err(error), None),
        };
        if !matches!((&found, &answers), (Ok(_), Some(Ok(())))) {
            code = exit_code::ENVIRONMENT;
        }
        tell(name, &found, answers.as_ref(), format)?;
    }
    Ok(code)
}

fn tell(
    name: &str,
    found: &Result<Located, LocateError>,
    answers: Option<&Result<(), String>>,
    format: Format,
) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let problem = match (found, answers) {
        (Err(error), _) => Some(error.to_string()),
        (_, Some(Err(message))) => Some(message.clone()),
        _ => None,
    };
    let located = found.as_ref().ok();
    match format {
        Format::Json => {
            let value = json!({
                "type": "target", "target": name, "program": located.map(|located| &located.program),
                "version": located.map(|located| &located.version), "answers": answers.is_some_and(Result::is_ok),
                "problem": problem,
            });
            writeln!(out, "{value}")?;
        }
        Format::Human => match (located, problem) {
            (Some(located), None) => {
                let version = if located.version.is_empty() { "" } else { &located.version };
                let line = format!("{name}: fine: {} {version}", located.program.display());
                writeln!(out, "{}", printable(line.trim_end()))?;
            }
            (_, Some(problem)) => writeln!(out, "{name}: {}", printable(&problem))?,
            (None, None) => {}
        },
    }
    Ok(())
}

/// Whether it answers a question of the smoke scenarios.
fn answers(located: &Located) -> Result<(), String> {
    let suite = Suite::built_in().map_err(|error| error.to_string())?;
    let targets = [Arc::new(located.clone())];
    let mut planned = select(plan(&suite, &targets, 1), &["smoke".to_owned()]);
    planned.truncate(1);
    if planned.is_empty() {
        return Err("no scenario fits the contracts that it promises".into());
    }
    let problem = |error: std::io::Error| error.to_string();
    let out = tempfile::tempdir().map_err(problem)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(problem)?;
    let stop = Stop::new().map_err(problem)?;
    let setting = Setting::new(runtime.handle().clone(), super::containment(), out.path(), &stop)
        .with_wall(Some(Duration::from_secs(60)));
    let mut reason = None;
    run_cases(planned, &setting, &RunOptions::default(), &mut LastRun::default(), &mut |event| {
        if let crate::run::Event::CaseFinished(case) = event {
            reason = case.failures.first().map(|failure| failure.message.clone());
        }
    });
    reason.map_or(Ok(()), |reason| Err(format!("found, but does not answer as expected: {reason}")))
}
