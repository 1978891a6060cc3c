//! `clawgate target`: what can be run on, what is missing, and how to get it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::{Failure, Format, complain};
use crate::exit_code;
use crate::harness::run::{LastRun, RunOptions, Setting, Stop, Suite, plan, run as run_cases, select};
use crate::harness::supervise::Containment;
use crate::harness::target::{Choice, LocateError, Located, TARGETS, cache_folder, installed};
use crate::printable::printable;
use crate::reference::MISBEHAVIOURS;

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
    Install {
        /// The target and its version
        #[arg(value_name = "claude@VERSION")]
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

/// The npm package with the binary for this machine.
fn package() -> Option<String> {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    Some(format!("@anthropic-ai/claude-code-{}-{machine}", std::env::consts::OS))
}

fn install(what: &str) -> Result<u8, Failure> {
    let Some(("claude", version)) = what.split_once('@') else {
        return Err(Failure::Usage(format!("{what}: expected claude@VERSION, such as claude@2.1.197")));
    };
    let is_version =
        version.split('.').count() == 3 && version.chars().all(|c| c.is_ascii_digit() || c == '.');
    if !is_version {
        return Err(Failure::Usage(format!("{version}: expected a whole version, such as 2.1.197")));
    }
    match fetch(version) {
        Ok(program) => {
            writeln!(anstream::stdout(), "{}", program.display())?;
            Ok(exit_code::OK)
        }
        Err(message) => {
            complain(&message);
            Ok(exit_code::ENVIRONMENT)
        }
    }
}

/// Installs a version of the Claude CLI into the cache, unless it is there; says where it is, or why it is not.
pub(super) fn fetch(version: &str) -> Result<PathBuf, String> {
    let cache = cache_folder(variable).ok_or("no cache: set HOME or CLAWGATE_CACHE")?;
    let package = package().ok_or("there is no Claude CLI for this machine on npm")?;
    let folder = installed(&cache, "claude", version);
    let program = folder.join("claude");
    if program.exists() {
        return Ok(program);
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // No script of the package runs; npm itself checks that it got what the registry promised.
    let npm = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix"])
        .arg(&folder)
        .arg(format!("{package}@{version}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    let said = match npm {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => {
            _ = std::fs::remove_dir_all(&folder);
            return Err(format!(
                "npm does not start ({error}): install Node.js, or name a binary with --target claude=PATH"
            ));
        }
    };
    let binary = folder.join("node_modules").join(&package).join("claude");
    if said.is_some() || !binary.exists() {
        // Half an installation would be taken for a whole one.
        _ = std::fs::remove_dir_all(&folder);
        let said = said.filter(|said| !said.is_empty()).unwrap_or_else(|| "it has no native binary".into());
        return Err(format!(
            "npm has no {package}@{version} for us: {said}. Versions from 2.1.113 on have a native binary; \
             is the registry reachable?"
        ));
    }
    std::os::unix::fs::symlink(&binary, &program)
        .map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(program)
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
    let containment = Containment::strongest(std::env::var_os("CLAWGATE_BIN").map(PathBuf::from));
    let setting = Setting::new(runtime.handle().clone(), containment, out.path(), &stop)
        .with_wall(Some(Duration::from_secs(60)));
    let mut reason = None;
    run_cases(planned, &setting, &RunOptions::default(), &mut LastRun::default(), &mut |event| {
        if let crate::harness::run::Event::CaseFinished(case) = event {
            reason = case.failures.first().map(|failure| failure.message.clone());
        }
    });
    reason.map_or(Ok(()), |reason| Err(format!("found, but does not answer as expected: {reason}")))
}
