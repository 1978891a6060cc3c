//! `clawgate matrix`: when did what change between versions.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde_json::{Value, json};

use super::diff::{Workspace, tell};
use super::runs::{CaseArgs, RunsError, locate, planned, record, rulebook, variable};
use super::{Failure, Format, FormatArg, complain};
use crate::drift::{CaseSet, Lookup, SourceError, matrix};
use crate::exit_code;
use crate::harness::target::{cache_folder, installed};
use crate::report::matrix_text;
use crate::schema::compare_versions;

/// Show when each thing changed between versions
///
/// Looks at a few versions, and where two of them differ at those between them, until the version is found.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  clawgate matrix claude@2.1.113..2.1.325 --sample 5 --case smoke
  clawgate matrix recordings/2.1.0 recordings/2.1.100 recordings/2.1.197

Exit codes: 0 the table is complete; 2 usage; 3 a version cannot be had; 4 there is nothing to compare.")]
pub(super) struct MatrixArgs {
    /// A target with a range of versions, which are installed and run; or directories of recordings, one a version
    #[arg(value_name = "TARGET@A..B|DIR", required = true)]
    what: Vec<String>,
    /// How many versions are looked at first, evenly
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..))]
    sample: u16,
    /// How many more are looked at to find the version of a change
    #[arg(long, value_name = "N", default_value_t = 8)]
    bisect: u16,
    #[command(flatten)]
    cases: CaseArgs,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the command and returns its exit code.
pub(super) fn run(args: &MatrixArgs) -> Result<u8, Failure> {
    let folder = Workspace::new(None)?;
    let mut source = match args.source(folder.path()) {
        Ok(source) => source,
        Err(error) => return tell(error),
    };
    let versions = source.versions();
    if versions.len() < 2 {
        complain("a matrix needs two versions at least");
        return Ok(exit_code::NOTHING_SELECTED);
    }
    let found = matrix(&versions, args.sample.into(), args.bisect.into(), &mut source, &rulebook()?);
    let found = match found {
        Ok(found) => found,
        Err(error) => return tell(error),
    };
    let mut out = args.format.format.stdout();
    match args.format.format {
        Format::Human => matrix_text(&mut out, &found)?,
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
                "type": "summary", "schema_version": 1, "versions": source.looked(), "changes": found.len(),
            });
            writeln!(out, "{summary}")?;
        }
    }
    out.flush()?;
    Ok(if source.looked().len() < 2 { exit_code::ENVIRONMENT } else { exit_code::OK })
}

impl MatrixArgs {
    fn source<'a>(&'a self, folder: &'a Path) -> Result<Versions<'a>, RunsError> {
        let mut versions =
            Versions { places: BTreeMap::new(), order: Vec::new(), looked: Vec::new(), args: self, folder };
        if let [range] = &self.what[..]
            && let Some((name, (from, to))) =
                range.split_once('@').and_then(|(name, range)| Some((name, range.split_once("..")?)))
        {
            if name != "claude" {
                let message = format!(
                    "{range}: only versions of `claude` can be installed; name directories of recordings"
                );
                return Err(RunsError::Usage(message));
            }
            for version in published()? {
                let inside =
                    compare_versions(&version, from).is_ge() && compare_versions(&version, to).is_le();
                if inside {
                    versions.add(version, None);
                }
            }
            return Ok(versions);
        }
        for directory in self.directories()? {
            let cases = CaseSet::open(&directory).map_err(RunsError::from)?;
            let named: Vec<&str> = cases.versions().collect();
            let version = match &named[..] {
                [version] => (*version).to_owned(),
                _ => directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            };
            if versions.places.contains_key(&version) {
                let message = format!("{}: a second directory of version {version}", directory.display());
                return Err(RunsError::Usage(message));
            }
            versions.add(version, Some(directory));
        }
        Ok(versions)
    }

    /// The directories that were named; of a single one those in it.
    fn directories(&self) -> Result<Vec<PathBuf>, RunsError> {
        let missing =
            |path: &String| RunsError::Usage(format!("{path}: neither a directory nor a TARGET@A..B"));
        if let Some(path) = self.what.iter().find(|path| !Path::new(path).is_dir()) {
            return Err(missing(path));
        }
        let [single] = &self.what[..] else { return Ok(self.what.iter().map(PathBuf::from).collect()) };
        let entries =
            std::fs::read_dir(single).map_err(|error| RunsError::Usage(format!("{single}: {error}")))?;
        Ok(entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
    }
}

/// The versions and where each is.
struct Versions<'a> {
    places: BTreeMap<String, Option<PathBuf>>,
    order: Vec<String>,
    looked: Vec<String>,
    args: &'a MatrixArgs,
    folder: &'a Path,
}

impl Versions<'_> {
    fn add(&mut self, version: String, place: Option<PathBuf>) {
        self.order.push(version.clone());
        self.places.insert(version, place);
        self.order.sort_by(|a, b| compare_versions(a, b));
    }

    fn versions(&self) -> Vec<String> {
        self.order.clone()
    }

    fn looked(&self) -> &[String] {
        &self.looked
    }

    /// Installs a version and runs it.
    fn run(&self, version: &str) -> Result<CaseSet, RunsError> {
        let typed = format!("claude@{version}");
        let cached = cache_folder(variable).map(|cache| installed(&cache, "claude", version).join("claude"));
        if !cached.is_some_and(|program| program.exists()) {
            super::target::fetch(version).map_err(RunsError::Environment)?;
        }
        let located = locate(&typed)?;
        let out = self.folder.join(version);
        record(planned(&located, &self.args.cases.cases, 1)?, &out, self.args.cases.jobs, &mut |_| {})?;
        CaseSet::open(&out).map_err(RunsError::from)
    }
}

impl Lookup for Versions<'_> {
    type Error = RunsError;

    fn cases(&mut self, version: &str) -> Result<Option<CaseSet>, RunsError> {
        let cases = match self.places.get(version) {
            Some(Some(directory)) => CaseSet::open(directory).map_err(RunsError::from)?,
            _ => match self.run(version) {
                Ok(cases) => cases,
                // A version that cannot be had does not hide what is known of the others.
                Err(RunsError::Environment(message)) => {
                    complain(&format!("{version} is left out: {message}"));
                    return Ok(None);
                }
                Err(other) => return Err(other),
            },
        };
        self.looked.push(version.to_owned());
        Ok(Some(cases))
    }
}

impl From<SourceError> for RunsError {
    fn from(error: SourceError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// The versions that npm has.
fn published() -> Result<Vec<String>, RunsError> {
    let npm = Command::new("npm")
        .args(["view", "@anthropic-ai/claude-code", "versions", "--json"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| RunsError::Environment(format!("npm does not start ({error}): install Node.js")))?;
    let versions: Option<Vec<String>> =
        npm.status.success().then(|| serde_json::from_slice(&npm.stdout).ok()).flatten();
    versions.ok_or_else(|| {
        let said = String::from_utf8_lossy(&npm.stderr).trim().chars().take(300).collect::<String>();
        RunsError::Environment(format!("npm does not say which versions there are: {said}"))
    })
}
