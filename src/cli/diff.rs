//! `clawgate diff`: what changed between two sets of recordings, and whether that breaks a reader.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::runs::{CaseArgs, Runner, RunsError, choose, install, locate, planned, say, terms};
use super::{Failure, Format, complain};
use crate::drift::{CaseSet, Consumer, Drift, Effect, KnownChanges, SourceError, diff};
use crate::exit_code;
use crate::report::{drift_markdown, drift_text};
use crate::text::glob;
use crate::time;

/// Compare two sets of recordings: what was added, what broke, and for whom
///
/// Each side is a directory of recordings, the --out directory of a run, a directory of golden snapshots, a directory of
/// plain JSON files (one a command), or a target, which is then run: reference, claw=PATH, or claude@2.1.197, which is
/// installed from npm when it is not.
///
/// The same change in many cases is one row. By the contract's versioning policy (clawgate contract show NAME) a change is
/// breaking when a reader of the old output may have relied on what it takes away, additive when there is more than before,
/// and info when no contract promises what is different.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate diff recordings/april recordings/august
  clawgate diff claude@2.1.197 claude@2.1.325 --case smoke
  clawgate diff golden/reference clawgate-out --consumer documented

Exit codes: 0 nothing is breaking; 100 something is that is not a known change; 2 a side cannot be read; 3 a target is
missing; 4 no case is on both sides.")]
pub(super) struct DiffArgs {
    /// What was before
    #[arg(value_name = "OLD")]
    old: String,
    /// What is now
    #[arg(value_name = "NEW")]
    new: String,
    /// Also say whether this reader breaks: a manifest, or `documented` for the reader of the stream-json document
    #[arg(long, value_name = "FILE")]
    consumer: Vec<String>,
    /// Breaking changes that are accepted for now, each with a reason, a link and a last day
    #[arg(long, value_name = "FILE")]
    known_changes: Option<PathBuf>,
    /// By whose versioning policy: a built-in contract, or the path of your own [default: the one that each recording names
    /// or looks like]
    #[arg(long, value_name = "NAME|PATH")]
    contract: Option<String>,
    #[command(flatten)]
    cases: CaseArgs,
    /// Where recordings of targets that are run go [default: a directory that vanishes]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// For people also what no contract promises
    #[arg(long)]
    all: bool,
    /// For people, one JSON object a line for programs, or Markdown for a pull request
    #[arg(long, value_enum, default_value_t = DiffFormat::Human, env = "CLAWGATE_FORMAT")]
    format: DiffFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    Human,
    Json,
    Markdown,
}

/// Runs the command and returns its exit code.
pub(super) fn run(args: &DiffArgs) -> Result<u8, Failure> {
    let consumers = args.consumer.iter().map(|name| consumer(name)).collect::<Result<Vec<_>, _>>()?;
    let known_text = match &args.known_changes {
        Some(path) => {
            let file = path.display().to_string();
            let text =
                fs::read_to_string(path).map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
            Some((file, text))
        }
        None => None,
    };
    let known = match &known_text {
        Some((file, text)) => Some(
            KnownChanges::parse(file, text).map_err(|error| Failure::Usage(error.render().to_string()))?,
        ),
        None => None,
    };
    let folder = Workspace::new(args.out.as_deref())?;
    let (mut sides, mut runner) = (Vec::new(), None);
    for (typed, name) in [(&args.old, "old"), (&args.new, "new")] {
        match side(typed, &folder.path().join(name), &args.cases, &mut runner) {
            Ok(cases) => sides.push(cases),
            Err(error) => return tell(error),
        }
    }
    let [old, new] = &sides[..] else { return Ok(exit_code::USAGE) };
    let mut drift = diff(old, new, &terms(args.contract.as_deref())?)?;
    if drift.compared == 0 {
        complain(&nothing(&drift));
        return Ok(exit_code::NOTHING_SELECTED);
    }
    let today = time::date(time::now());
    let complaints = known.map(|known| known.apply(&mut drift, &today)).unwrap_or_default();
    let is_broken = drift.changes.iter().any(crate::drift::Change::fails);
    let code = if is_broken || !complaints.is_empty() { exit_code::FINDINGS } else { exit_code::OK };
    args.report(&drift, &consumers, code)?;
    for complaint in complaints {
        complain(&complaint.to_string());
    }
    Ok(code)
}

impl DiffArgs {
    fn report(&self, drift: &Drift, consumers: &[Consumer], code: u8) -> Result<(), Failure> {
        let broken: Vec<_> = consumers
            .iter()
            .map(|consumer| (consumer.name.as_str(), consumer.broken_by(&drift.changes)))
            .collect();
        match self.format {
            DiffFormat::Human => {
                let mut out = Format::Human.stdout();
                drift_text(&mut out, drift, &broken, self.all)?;
                out.flush()?;
            }
            DiffFormat::Markdown => {
                let mut out = Format::Json.stdout();
                drift_markdown(&mut out, (&self.old, &self.new), drift, &broken)?;
                out.flush()?;
            }
            DiffFormat::Json => {
                let mut out = Format::Json.stdout();
                for change in &drift.changes {
                    let mut line = json!({"type": "change"});
                    if let (Some(line), serde_json::Value::Object(fields)) =
                        (line.as_object_mut(), serde_json::to_value(change)?)
                    {
                        line.extend(fields);
                    }
                    writeln!(out, "{line}")?;
                }
                for (name, broken) in &broken {
                    let line = json!({"type": "consumer", "consumer": name, "breaks": !broken.is_empty(), "because": broken});
                    writeln!(out, "{line}")?;
                }
                let known = drift.changes.iter().filter(|change| change.known.is_some()).count();
                let summary = json!({
                    "type": "summary", "schema_version": 1, "compared": drift.compared,
                    "only_old": drift.only_old.len(), "only_new": drift.only_new.len(),
                    "breaking": drift.count(Effect::Breaking), "additive": drift.count(Effect::Additive),
                    "info": drift.count(Effect::Info), "known": known, "policies": drift.policies, "exit_code": code,
                });
                writeln!(out, "{summary}")?;
                out.flush()?;
            }
        }
        Ok(())
    }
}

/// A manifest by its name or its path.
fn consumer(name: &str) -> Result<Consumer, Failure> {
    let render = |error: crate::document::DocumentError| Failure::Usage(error.render().to_string());
    let path = Path::new(name);
    if !path.exists()
        && let Some(built_in) = Consumer::built_in(name)
    {
        return built_in.map_err(render);
    }
    let text = fs::read_to_string(path).map_err(|error| {
        let known = Consumer::built_in_names().collect::<Vec<_>>().join(", ");
        Failure::Usage(format!("{name}: {error}; built in are: {known}"))
    })?;
    Consumer::parse(name, &text).map_err(render)
}

/// What was typed, as cases: a path is read, anything else is a target that is run.
fn side(
    typed: &str,
    out: &Path,
    cases: &CaseArgs,
    runner: &mut Option<Runner>,
) -> Result<CaseSet, RunsError> {
    let usage = |error: SourceError| RunsError::Usage(error.to_string());
    let path = Path::new(typed);
    if path.exists() {
        let mut set = CaseSet::open(path).map_err(usage)?;
        if !cases.cases.is_empty() {
            set.retain(|name| cases.cases.iter().any(|filter| selects(filter, name)));
        }
        return Ok(set);
    }
    if path.is_absolute() || typed.starts_with('.') || typed.ends_with('/') {
        return Err(RunsError::Usage(format!("{typed}: no such file or directory")));
    }
    let choice = choose(typed).map_err(|error| match error {
        RunsError::Usage(message) => {
            RunsError::Usage(format!("{typed}: no such file or directory, and {message}"))
        }
        other => other,
    })?;
    let runner = match runner {
        Some(runner) => runner,
        None => runner.insert(Runner::new()?),
    };
    if let (Some(version), None, Some(_)) = (&choice.version, &choice.program, &choice.target.npm) {
        install(&choice.target, version)?;
    }
    let located = locate(choice)?;
    let planned = planned(&located, &cases.cases, 1)?;
    say(&format!("running {} cases on {typed}", planned.len()));
    runner.record(planned, out, cases.jobs, &mut |_| {})?;
    CaseSet::open(out).map_err(usage)
}

/// Of recordings only the name is known.
fn selects(filter: &str, name: &str) -> bool {
    let below = name.strip_prefix(filter).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below || glob(filter, name)
}

fn nothing(drift: &Drift) -> String {
    let first = |cases: &[String]| cases.first().map_or(String::new(), |case| format!(", such as `{case}`"));
    format!(
        "no case is on both sides: the old one has {} others{}, the new one {}{}",
        drift.only_old.len(),
        first(&drift.only_old),
        drift.only_new.len(),
        first(&drift.only_new)
    )
}

pub(super) fn tell(error: RunsError) -> Result<u8, Failure> {
    let (message, code) = match error {
        RunsError::Usage(message) => return Err(Failure::Usage(message)),
        RunsError::Environment(message) => (message, exit_code::ENVIRONMENT),
        RunsError::Nothing(message) => (message, exit_code::NOTHING_SELECTED),
        RunsError::Interrupted => return Ok(exit_code::INTERRUPTED),
    };
    complain(&message);
    Ok(code)
}

/// Where recordings go.
pub(super) enum Workspace {
    Kept(PathBuf),
    Vanishing(tempfile::TempDir),
}

impl Workspace {
    pub(super) fn new(kept: Option<&Path>) -> Result<Self, Failure> {
        match kept {
            Some(path) => Ok(Self::Kept(path.to_owned())),
            None => Ok(Self::Vanishing(tempfile::tempdir()?)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Vanishing(folder) => folder.path(),
        }
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::Usage(error.to_string())
    }
}
