//! `clawgate diff`: what changed between two sets of recordings, and whether that breaks a reader.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::bundle::Opened;
use super::cases::{AllowMissingArg, CaseArgs, Workspace, install, start};
use super::error::unreadable;
use super::output::typed;
use super::project::{Project, variable};
use super::{CommandError, Format, complain};
use crate::document;
use crate::drift::{Broken, CaseSet, Consumer, Drift, Effect, KnownChanges, diff};
use crate::exit_code::Outcome;
use crate::harness::supervise::Demands;
use crate::report::{drift_markdown, drift_text};
use crate::run::Session;
use crate::run::target::Choice;
use crate::text::glob;
use crate::time;

/// Compare two sets of recordings: what was added, what broke, and for whom
///
/// Each side is a directory of recordings, a bundle of them, the --out directory of a run, a directory of golden snapshots, a directory of
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

Exit codes: 0 nothing is breaking; 100 something is that is neither a known change nor announced by the version bump
that the contract's policy asks for, or a case is gone; 2 a side cannot be read; 3 a target is
missing; 4 no case is on both sides.")]
pub(super) struct DiffArgs {
    /// What was before
    #[arg(value_name = "OLD")]
    old: String,
    /// What is now
    #[arg(value_name = "NEW")]
    new: String,
    #[command(flatten)]
    comparison: Comparison,
}

/// How two sides are compared, whoever named them.
#[derive(Debug, Args)]
pub(super) struct Comparison {
    /// Also say whether this reader breaks: a manifest, or `documented` for the reader of the stream-json document
    #[arg(long, value_name = "FILE")]
    pub(super) consumer: Vec<String>,
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
    #[command(flatten)]
    missing: AllowMissingArg,
    /// For people also what no contract promises
    #[arg(long)]
    all: bool,
    /// For people, one JSON object a line for programs, or Markdown for a pull request
    #[arg(long, value_enum, default_value_t = DiffFormat::Human, env = "CLAWGATE_FORMAT")]
    pub(super) format: DiffFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffFormat {
    Human,
    Json,
    Markdown,
}

pub(super) fn run(args: &DiffArgs) -> Result<Outcome, CommandError> {
    args.comparison.run(&args.old, &args.new, false)
}

/// A reader by its name, and what breaks it.
type Reader<'c> = (&'c str, Vec<Broken>);

impl Comparison {
    /// Compares what was typed for either side. With `readers_decide` and readers to ask, a change that breaks none of
    /// them fails nothing.
    pub(super) fn run(&self, old: &str, new: &str, readers_decide: bool) -> Result<Outcome, CommandError> {
        let consumers = self.consumer.iter().map(|name| consumer(name)).collect::<Result<Vec<_>, _>>()?;
        let known_text = self.known_changes.as_ref().map(|path| {
            let text = document::read_to_string(path).map_err(unreadable(path))?;
            Ok::<_, CommandError>((path.display().to_string(), text))
        });
        let known_text = known_text.transpose()?;
        let known = known_text.as_ref().map(|(file, text)| KnownChanges::parse(file, text)).transpose()?;
        let project = Project::open()?;
        let (folder, mut session) = (Workspace::new(self.out.as_deref())?, None);
        let mut side = |typed: &str, name, part| {
            side(typed, &folder.path().join(name), &self.cases, &project, &mut session, part)
        };
        let opened = (Opened::new(Path::new(old))?, Opened::new(Path::new(new))?);
        let named = |opened: &Opened| opened.path().display().to_string();
        // What is wrong with the second is said before the first is run.
        for typed in [&opened.0, &opened.1] {
            chosen(&named(typed), &project)?;
        }
        let sides = (side(&named(&opened.0), "old", "1 of 2")?, side(&named(&opened.1), "new", "2 of 2")?);
        let mut drift = diff(&sides.0, &sides.1, &project.terms(self.contract.as_deref())?)?;
        if drift.compared == 0 {
            return Err(CommandError::NothingSelected(nothing(&drift, &self.cases.cases)));
        }
        let today = time::date(time::now());
        let complaints = known.map(|known| known.apply(&mut drift, &today)).unwrap_or_default();
        let readers: Vec<Reader<'_>> = consumers
            .iter()
            .map(|consumer| (consumer.name.as_str(), consumer.broken_by(&drift.changes)))
            .collect();
        let is_broken = if readers_decide && !readers.is_empty() {
            readers.iter().any(|(_, because)| !because.is_empty())
        } else {
            drift.changes.iter().any(crate::drift::Change::fails)
        };
        let is_missing = !drift.only_old.is_empty() && !self.missing.allow_missing;
        let outcome = Outcome::of_findings(is_broken || is_missing || !complaints.is_empty());
        self.report((old, new), &drift, &readers, outcome.into())?;
        for complaint in complaints {
            complain(&complaint.to_string());
        }
        if is_missing {
            let (count, first) = (drift.only_old.len(), &drift.only_old[0]);
            complain(&format!(
                "{count} of the old side's cases are gone, such as `{first}`: nothing can be said of them; \
                 --allow-missing accepts that"
            ));
        }
        Ok(outcome)
    }

    fn report(
        &self,
        sides: (&str, &str),
        drift: &Drift,
        broken: &[Reader<'_>],
        code: u8,
    ) -> Result<(), CommandError> {
        let mut out =
            if self.format == DiffFormat::Human { Format::Human.stdout() } else { Format::Json.stdout() };
        match self.format {
            DiffFormat::Human => drift_text(&mut out, drift, broken, self.all)?,
            DiffFormat::Markdown => drift_markdown(&mut out, sides, drift, broken)?,
            DiffFormat::Json => {
                for change in &drift.changes {
                    writeln!(out, "{}", typed("change", change)?)?;
                }
                for (name, broken) in broken {
                    let line = json!({"type": "consumer", "consumer": name, "breaks": !broken.is_empty(), "because": broken});
                    writeln!(out, "{line}")?;
                }
                let known = drift.changes.iter().filter(|change| change.known.is_some()).count();
                let summary = json!({
                    "type": "summary", "schema_version": 1, "compared": drift.compared,
                    "only_old": drift.only_old.len(), "only_new": drift.only_new.len(),
                    "breaking": drift.count(Effect::Breaking), "additive": drift.count(Effect::Additive),
                    "info": drift.count(Effect::Info), "known": known,
                    "announced": drift.changes.iter().filter(|change| change.announced).count(),
                    "bumps": drift.bumps, "policies": drift.policies, "exit_code": code,
                });
                writeln!(out, "{summary}")?;
            }
        }
        Ok(out.flush()?)
    }
}

/// A manifest by its name or its path.
fn consumer(name: &str) -> Result<Consumer, CommandError> {
    let path = Path::new(name);
    if !path.exists()
        && let Some(built_in) = Consumer::built_in(name)
    {
        return Ok(built_in?);
    }
    let text = document::read_to_string(path).map_err(|error| {
        let known = Consumer::built_in_names().collect::<Vec<_>>().join(", ");
        CommandError::Usage(format!("{}; built in are: {known}", unreadable(path)(error)))
    })?;
    Ok(Consumer::parse(name, &text)?)
}

/// The target that was typed; none where it is a path.
fn chosen(typed: &str, project: &Project) -> Result<Option<Choice>, CommandError> {
    let path = Path::new(typed);
    if path.exists() {
        return Ok(None);
    }
    let missing = format!("{typed}: no such file or directory");
    if path.is_absolute() || typed.starts_with('.') || typed.ends_with('/') {
        return Err(CommandError::Usage(missing));
    }
    match project.target(typed) {
        Ok(choice) => Ok(Some(choice)),
        Err(error) => Err(CommandError::Usage(format!("{missing}, and {error}"))),
    }
}

/// What was typed, as cases: a path is read, anything else is a target that is run.
fn side(
    typed: &str,
    out: &Path,
    cases: &CaseArgs,
    project: &Project,
    session: &mut Option<Session>,
    part: &str,
) -> Result<CaseSet, CommandError> {
    let Some(choice) = chosen(typed, project)? else {
        let mut set = CaseSet::open(Path::new(typed))?;
        if !cases.cases.is_empty() {
            set.retain(|name| cases.cases.iter().any(|filter| selects(filter, name)));
        }
        return Ok(set);
    };
    let session = match session {
        Some(session) => session,
        None => session.insert(start()?),
    };
    if let (Some(version), None, Some(_)) = (&choice.version, &choice.program, &choice.target.npm) {
        install(&choice.target, version)?;
    }
    cases.record(&choice.locate(variable, Demands::default())?, project, session, out, part)
}

/// Of recordings only the name is known.
fn selects(filter: &str, name: &str) -> bool {
    let below = name.strip_prefix(filter).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below || glob(filter, name)
}

fn nothing(drift: &Drift, filters: &[String]) -> String {
    if drift.only_old.is_empty() && drift.only_new.is_empty() && !filters.is_empty() {
        return format!("no case of either side is selected by `{}`", filters.join("`, `"));
    }
    let first = |cases: &[String]| cases.first().map_or(String::new(), |case| format!(", such as `{case}`"));
    format!(
        "no case is on both sides: the old one has {} others{}, the new one {}{}",
        drift.only_old.len(),
        first(&drift.only_old),
        drift.only_new.len(),
        first(&drift.only_new)
    )
}
