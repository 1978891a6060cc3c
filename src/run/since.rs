//! `--since REF`: which cases the changes of a branch touch. In doubt all of them: a gate that skips what it should
//! run is worse than a slow one.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Planned;

/// The files that differ from a commit, and what that means for cases. All paths are from the root of the repository.
pub(crate) struct Touched<'t> {
    root: PathBuf,
    files: Vec<String>,
    /// A path as the user names it, from the root; none when it is outside.
    in_repository: &'t dyn Fn(&str) -> Option<String>,
    /// Where the project's scenarios are.
    scenarios: Vec<String>,
}

impl<'t> Touched<'t> {
    /// What differs from the commit where this branch left `reference`: committed, not yet committed, or new.
    pub(crate) fn since(
        reference: &str,
        scenarios: &[PathBuf],
        in_repository: &'t dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        if reference.starts_with('-') {
            return Err(format!("--since {reference}: expected a branch, a tag or a commit"));
        }
        let base = git(&["merge-base", reference, "HEAD"]).map_err(|reason| {
            // What `--changed` counts from.
            if reference == "HEAD" {
                return format!("nothing to count changes from: {reason}; commit once, or run without it");
            }
            format!("--since {reference}: {reason}; in CI the history has to be fetched too")
        })?;
        let base = base.trim();
        let mut files = names(&git(&["diff", "--name-only", "-z", base, "--"])?);
        let root = git(&["rev-parse", "--show-toplevel"])?;
        let root = PathBuf::from(root.trim_end_matches('\n'));
        files.extend(names(&git_in(&root, &["ls-files", "--others", "--exclude-standard", "-z"])?));
        let scenarios = scenarios.iter().filter_map(|path| in_repository(path.to_str()?)).collect();
        Ok(Self { root, files, in_repository, scenarios })
    }

    /// Whether a case has to be run.
    pub(crate) fn concerns(&self, planned: &Planned) -> bool {
        self.files.iter().any(|file| self.file_concerns(file, planned))
    }

    fn file_concerns(&self, file: &str, planned: &Planned) -> bool {
        let path = Path::new(file);
        let is = |extension: &str| path.extension().is_some_and(|found| found == extension);
        if is("md") || is("txt") || path.file_name().is_some_and(|name| name == ".gitignore") {
            return false;
        }
        let is_in = |folder: &str| {
            file.strip_prefix(folder)
                .is_some_and(|rest| folder.is_empty() || rest.is_empty() || rest.starts_with('/'))
        };
        let below = |folder: &str| (self.in_repository)(folder).is_some_and(|folder| is_in(&folder));
        let own = planned.case.source.as_ref().and_then(|source| (self.in_repository)(&source.file));
        if own.as_deref() == Some(file) {
            return true;
        }
        // The sources of clawgate itself.
        let built_in = |name: &str| file == format!("scenarios/{name}.toml");
        let name = planned.case.name.as_str();
        if own.is_none()
            && (built_in(name) || name.rsplit_once('/').is_some_and(|(group, _)| built_in(group)))
        {
            return true;
        }
        if is("toml") && (below("scenarios") || self.scenarios.iter().any(|place| is_in(place))) {
            // A scenario of other cases; but what only holds a script may be imported by anybody.
            return !holds_cases(&self.root.join(file));
        }
        if is("toml") && below("targets") {
            return path.file_stem().is_some_and(|stem| *stem == *planned.target.choice.target.name);
        }
        if below("schemas") {
            let contract = path.parent().and_then(Path::file_name);
            let judged = contract.is_none_or(|name| name != "clawgate" && name != "anthropic");
            return judged;
        }
        if below("golden") {
            return path
                .components()
                .any(|part| part.as_os_str() == planned.target.choice.target.name.as_str());
        }
        // The program under test may be made of it.
        true
    }
}

/// Whether a scenario file is more than a script of the API; one that is gone or cannot be read may be anything.
fn holds_cases(file: &Path) -> bool {
    let text = std::fs::read_to_string(file);
    text.is_ok_and(|text| text.lines().any(|line| line.trim_start().starts_with("contract")))
}

fn names(listing: &str) -> Vec<String> {
    listing.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn git(args: &[&str]) -> Result<String, String> {
    git_in(Path::new("."), args)
}

fn git_in(folder: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output();
    let output = output.map_err(|error| format!("git cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    let reason = reason.lines().next().unwrap_or("git failed");
    Err(reason.trim_start_matches("fatal: ").to_owned())
}
