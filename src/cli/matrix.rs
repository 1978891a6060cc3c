//! `clawgate matrix`: when did what change between versions.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::cases::{CaseArgs, Workspace, install, start};
use super::output::say;
use super::project::{Project, variable};
use super::typed::whole;
use super::{CommandError, Format, FormatArg, complain};
use crate::drift::{CaseSet, Effect, Lookup, RecordedVersions, matrix};
use crate::exit_code::Outcome;
use crate::harness::supervise::Demands;
use crate::report::matrix_text;
use crate::run::Session;
use crate::run::target::{Span, Target, cache_folder, installed};
use crate::version;

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
pub(super) struct MatrixArgs {
    /// A target with a range of versions, which are installed and run; or directories of recordings, one a version
    #[arg(value_name = "TARGET@A..B|DIR", required = true)]
    what: Vec<String>,
    /// How many versions are looked at first, evenly
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = |text: &str| whole(text, 2, u16::MAX))]
    sample: u16,
    /// How many more are looked at to find the version of a change
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = |text: &str| whole(text, 0, u16::MAX))]
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

/// Runs the command.
pub(super) fn run(args: &MatrixArgs) -> Result<Outcome, CommandError> {
    let (project, folder) = (Project::open()?, Workspace::new(None)?);
    let (order, source) = match &args.what[..] {
        [single] if !Path::new(single).is_dir() => published(single, &project)?,
        several => {
            let recorded = RecordedVersions::find(several)?;
            (recorded.order, Source::Directories(recorded.places))
        }
    };
    let terms = project.terms(args.contract.as_deref())?;
    let mut versions = Versions {
        source,
        looked: Vec::new(),
        most: order.len().min(args.sample.into()),
        folder: folder.path(),
        project: &project,
        args,
    };
    let mut found = matrix(&order, args.sample.into(), args.bisect.into(), &mut versions, &terms)?;
    let mut looked = versions.looked;
    looked.sort_by(|a, b| version::compare(a, b));
    if looked.len() < 2 {
        let message = "fewer than two versions could be had, so there is nothing to compare";
        return Err(CommandError::Environment(message.into()));
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
    Ok(Outcome::Ok)
}

/// The versions of a `TARGET@A..B` that npm has.
fn published(typed: &str, project: &Project) -> Result<(Vec<String>, Source), CommandError> {
    let span = Span::parse(typed).map_err(CommandError::Usage)?;
    let target = project.target(span.target)?.target;
    if target.npm.is_none() {
        return Err(CommandError::Usage(format!(
            "{typed}: {} is not published on npm, as far as its target file says; name directories of recordings",
            span.target
        )));
    }
    let order = span.among(&target.published()?).map_err(CommandError::NothingSelected)?;
    span.unpublished_ends(&order).iter().for_each(|told| say(told));
    Ok((order, Source::Npm { target: Box::new(target), session: start()? }))
}

enum Source {
    Directories(BTreeMap<String, PathBuf>),
    /// A target that is installed and run.
    Npm {
        target: Box<Target>,
        session: Session,
    },
}

struct Versions<'a> {
    source: Source,
    /// Those that could be had.
    looked: Vec<String>,
    /// How many are looked at, unless something has to be narrowed down.
    most: usize,
    folder: &'a Path,
    project: &'a Project,
    args: &'a MatrixArgs,
}

impl Lookup for Versions<'_> {
    type Error = CommandError;

    fn cases(&mut self, version: &str) -> Result<Option<CaseSet>, CommandError> {
        let cases = match &self.source {
            Source::Directories(places) => {
                let place = places.get(version).map_or(Path::new(version), PathBuf::as_path);
                CaseSet::open(place).map_err(CommandError::from)
            }
            Source::Npm { target, session } => {
                session.go_on()?;
                let cases = self.record(target, version, session);
                // npm is interrupted together with us, and then says something of its own.
                session.go_on()?;
                cases
            }
        };
        match cases {
            Ok(cases) => {
                self.looked.push(version.to_owned());
                Ok(Some(cases))
            }
            // A version that cannot be had does not hide what is known of the others.
            Err(error) if Outcome::from(&error) == Outcome::Environment => {
                complain(&format!("{version} is left out: {error}"));
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }
}

impl Versions<'_> {
    /// Installs a version and runs it.
    fn record(&self, target: &Target, version: &str, session: &Session) -> Result<CaseSet, CommandError> {
        let folder = cache_folder(variable).map(|cache| installed(&cache, &target.name, version));
        let was_there = folder.as_ref().is_some_and(|folder| folder.exists());
        install(target, version)?;
        let part = format!("version {} of up to {}", self.looked.len() + 1, self.most);
        let located = target.clone().at_version(version).locate(variable, Demands::default())?;
        let cases =
            self.args.cases.record(&located, self.project, session, &self.folder.join(version), &part);
        if let Some(folder) = folder.filter(|_| self.args.discard && !was_there) {
            // What cannot be removed is only in the way.
            _ = std::fs::remove_dir_all(folder);
        }
        cases
    }
}
