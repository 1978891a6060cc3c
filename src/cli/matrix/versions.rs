//! The versions that `clawgate matrix` looks at: a range of those that npm has, or directories of recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cli::complain;
use crate::cli::runs::{CaseArgs, Runner, RunsError, choose, install, locate, planned, say, variable};
use crate::drift::{CaseSet, Lookup, SourceError};
use crate::harness::target::{TARGETS, Target, cache_folder, installed};
use crate::version;

/// The versions, and where each comes from.
pub(in crate::cli) struct Versions<'a> {
    order: Vec<String>,
    looked: Vec<String>,
    source: Source<'a>,
}

enum Source<'a> {
    /// Recordings that are there.
    Directories(BTreeMap<String, PathBuf>),
    /// A target that is installed and run.
    Npm { target: Box<Target>, runner: Runner, folder: &'a Path, cases: &'a CaseArgs, discard: bool },
}

impl<'a> Versions<'a> {
    /// What was typed: one `TARGET@A..B`, or directories. Recordings go below `folder`.
    pub(in crate::cli) fn find(
        typed: &'a [String],
        folder: &'a Path,
        cases: &'a CaseArgs,
        discard: bool,
    ) -> Result<Self, RunsError> {
        match typed {
            [single] if !Path::new(single).is_dir() => Self::of_range(single, folder, cases, discard),
            several => Self::of_directories(several),
        }
    }

    fn of_range(
        typed: &str,
        folder: &'a Path,
        cases: &'a CaseArgs,
        discard: bool,
    ) -> Result<Self, RunsError> {
        let span = Span::parse(typed).map_err(RunsError::Usage)?;
        let target = choose(span.target)?.target;
        if target.npm.is_none() {
            let message = format!(
                "{typed}: {} is not published on npm, as far as its target file says; name directories of recordings",
                span.target
            );
            return Err(RunsError::Usage(message));
        }
        let published = target.published()?;
        let order = span.among(&published).map_err(RunsError::Nothing)?;
        for (end, version) in [(span.from, order.first()), (span.to, order.last())] {
            if let (Some(end), Some(version)) = (end, version)
                && end != version
            {
                say(&format!(
                    "{}@{end} was never published; the nearest in the range is {version}",
                    span.target
                ));
            }
        }
        let source = Source::Npm { target: Box::new(target), runner: Runner::new()?, folder, cases, discard };
        Ok(Self { order, looked: Vec::new(), source })
    }

    fn of_directories(typed: &[String]) -> Result<Self, RunsError> {
        let mut places = BTreeMap::new();
        for directory in directories(typed)? {
            let cases = CaseSet::open(&directory).map_err(RunsError::from)?;
            let named: Vec<&str> = cases.versions().collect();
            let version = match &named[..] {
                [version] => (*version).to_owned(),
                _ => directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            };
            if let Some(other) = places.get(&version) {
                let other: &PathBuf = other;
                let message =
                    format!("{} and {} are both version {version}", other.display(), directory.display());
                return Err(RunsError::Usage(message));
            }
            places.insert(version, directory);
        }
        let mut order: Vec<String> = places.keys().cloned().collect();
        order.sort_by(|a, b| version::compare(a, b));
        if order.len() < 2 {
            let message = "a matrix needs the recordings of two versions at least: name a directory for each, or one \
                           that holds them";
            return Err(RunsError::Nothing(message.into()));
        }
        Ok(Self { order, looked: Vec::new(), source: Source::Directories(places) })
    }

    /// All of them, in their order.
    pub(in crate::cli) fn order(&self) -> &[String] {
        &self.order
    }

    /// Those that were looked at, in their order.
    pub(in crate::cli) fn looked(&self) -> Vec<String> {
        let mut looked = self.looked.clone();
        looked.sort_by(|a, b| version::compare(a, b));
        looked
    }
}

impl Lookup for Versions<'_> {
    type Error = RunsError;

    fn cases(&mut self, version: &str) -> Result<Option<CaseSet>, RunsError> {
        let cases = match &self.source {
            Source::Directories(places) => {
                let place = places.get(version).map_or(Path::new(version), PathBuf::as_path);
                CaseSet::open(place).map_err(RunsError::from)
            }
            Source::Npm { target, runner, folder, cases, discard } => {
                runner.go_on()?;
                let cases = record(target, version, runner, &folder.join(version), cases, *discard);
                // npm is interrupted together with us, and then says something of its own.
                runner.go_on()?;
                cases
            }
        };
        match cases {
            Ok(cases) => {
                self.looked.push(version.to_owned());
                Ok(Some(cases))
            }
            // A version that cannot be had does not hide what is known of the others.
            Err(RunsError::Environment(message)) => {
                complain(&format!("{version} is left out: {message}"));
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }
}

/// Installs a version and runs it.
fn record(
    target: &Target,
    version: &str,
    runner: &Runner,
    out: &Path,
    cases: &CaseArgs,
    discard: bool,
) -> Result<CaseSet, RunsError> {
    let folder = cache_folder(variable).map(|cache| installed(&cache, &target.name, version));
    let was_there = folder.as_ref().is_some_and(|folder| folder.exists());
    install(target, version)?;
    let located = locate(choose(&format!("{}@{version}", target.name))?)?;
    let planned = planned(&located, &cases.cases, 1)?;
    say(&format!("running {} cases on {}@{version}", planned.len(), target.name));
    let recorded = runner.record(planned, out, cases.jobs, &mut |_| {});
    if let Some(folder) = folder.filter(|_| discard && !was_there) {
        // What cannot be removed is only in the way.
        _ = std::fs::remove_dir_all(folder);
    }
    recorded?;
    CaseSet::open(out).map_err(RunsError::from)
}

impl From<SourceError> for RunsError {
    fn from(error: SourceError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// The directories that were named; of a single one those in it.
fn directories(typed: &[String]) -> Result<Vec<PathBuf>, RunsError> {
    if let Some(path) = typed.iter().find(|path| !Path::new(path).is_dir()) {
        let message = if path.contains("..") && path.contains('@') {
            format!("{path}: a range of versions stands alone")
        } else {
            format!(
                "{path}: no such directory; a matrix is of directories of recordings, or of one TARGET@A..B"
            )
        };
        return Err(RunsError::Usage(message));
    }
    let [single] = typed else { return Ok(typed.iter().map(PathBuf::from).collect()) };
    let entries =
        std::fs::read_dir(single).map_err(|error| RunsError::Usage(format!("{single}: {error}")))?;
    let mut inside: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    inside.sort();
    Ok(inside)
}

/// `TARGET@A..B`; without `A` from the first version on, without `B` to the newest.
#[derive(Debug, PartialEq, Eq)]
struct Span<'t> {
    target: &'t str,
    from: Option<&'t str>,
    to: Option<&'t str>,
}

impl<'t> Span<'t> {
    /// Reads it; the error says what to type instead.
    fn parse(typed: &'t str) -> Result<Self, String> {
        let Some((target, range)) = typed.split_once('@') else {
            let known = TARGETS.iter().any(|(name, _)| *name == typed);
            let target = if known { typed } else { "claude" };
            return Err(format!(
                "{typed}: neither a directory of recordings nor a TARGET@A..B, such as {target}@2.1.0..2.1.325"
            ));
        };
        let Some((from, to)) = range.split_once("..") else {
            return Err(if version::is_whole(range) {
                format!(
                    "{typed}: one version has nothing to be compared with; {typed}.. goes on to the newest, \
                     {target}@..{range} begins with the first"
                )
            } else {
                format!("{typed}: expected a range of versions, such as {target}@2.1.0..2.1.325")
            });
        };
        let end = |end: &'t str| match end {
            "" => Ok(None),
            end if version::is_whole(end) => Ok(Some(end)),
            end => Err(format!(
                "{typed}: `{end}` is no whole version; a range is written as {target}@2.1.0..2.1.325"
            )),
        };
        let (from, to) = (end(from)?, end(to)?);
        if let (Some(from), Some(to)) = (from, to) {
            match version::compare(from, to) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => {
                    return Err(format!(
                        "{typed}: one version has nothing to be compared with; {target}@{from}.. goes on to the newest"
                    ));
                }
                std::cmp::Ordering::Greater => {
                    return Err(format!("{typed}: the older version comes first: {target}@{to}..{from}"));
                }
            }
        }
        Ok(Self { target, from, to })
    }

    /// The versions that are inside, of which there are two at least.
    fn among(&self, published: &[String]) -> Result<Vec<String>, String> {
        let is_inside = |version: &&String| {
            self.from.is_none_or(|from| version::compare(version, from).is_ge())
                && self.to.is_none_or(|to| version::compare(version, to).is_le())
        };
        let inside: Vec<String> = published.iter().filter(is_inside).cloned().collect();
        if inside.len() > 1 {
            return Ok(inside);
        }
        let has = match inside.first() {
            Some(only) => format!("only {only} was published in this range"),
            None => "no version was published in this range".to_owned(),
        };
        let (Some(first), Some(last)) = (published.first(), published.last()) else {
            return Err(format!("npm has no version of {}", self.target));
        };
        Err(format!("{has}; npm has {}@{first}..{last}", self.target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_be_open() {
        let span = |typed| Span::parse(typed).map(|span| (span.target, span.from, span.to)).unwrap();
        assert_eq!(span("claude@2.1.0..2.1.325"), ("claude", Some("2.1.0"), Some("2.1.325")));
        assert_eq!(span("claude@2.1.0.."), ("claude", Some("2.1.0"), None));
        assert_eq!(span("claude@..2.1.0"), ("claude", None, Some("2.1.0")));
    }

    #[test]
    fn what_is_no_range_says_what_to_type() {
        let complaint = |typed| Span::parse(typed).unwrap_err();
        for (typed, says) in [
            ("claude", "such as claude@2.1.0..2.1.325"),
            ("./nowhere", "./nowhere: neither a directory"),
            ("claude@", "such as claude@2.1.0..2.1.325"),
            ("claude@latest", "such as claude@2.1.0..2.1.325"),
            ("claude@2.1.197", "claude@2.1.197.. goes on to the newest"),
            ("claude@2.1.197..2.1.197", "claude@2.1.197.. goes on to the newest"),
            ("claude@2.1.325..2.1.0", "claude@2.1.0..2.1.325"),
            ("claude@x..y", "`x` is no whole version"),
            ("claude@2.1.0...2.1.5", "`.2.1.5` is no whole version"),
            ("claude@2.1..2.2", "`2.1` is no whole version"),
        ] {
            assert!(complaint(typed).contains(says), "{typed}: {}", complaint(typed));
        }
    }

    #[test]
    fn a_range_holds_what_was_published() {
        let published: Vec<String> = ["1.0.0", "2.1.2", "2.1.10", "2.1.12"].map(str::to_owned).to_vec();
        let among = |typed| Span::parse(typed).unwrap().among(&published);
        assert_eq!(among("x@2.1.0..2.1.11").unwrap(), ["2.1.2", "2.1.10"]);
        assert_eq!(among("x@2.1.10..").unwrap(), ["2.1.10", "2.1.12"]);
        assert_eq!(
            among("x@9.0.0..9.9.9").unwrap_err(),
            "no version was published in this range; npm has x@1.0.0..2.1.12"
        );
        assert_eq!(
            among("x@2.1.11..3.0.0").unwrap_err(),
            "only 2.1.12 was published in this range; npm has x@1.0.0..2.1.12"
        );
    }
}
