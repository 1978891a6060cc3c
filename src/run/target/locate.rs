//! Finding the program of a target, and which version it is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{Choice, Speaks};
use crate::harness::supervise::{Containment, Demands, Pool};
use crate::harness::{self, RecordError};
use crate::shell::shell_word;
use crate::text::{Masker, printable};
use crate::version;

/// Stands for the newest version: of those that are installed, and where one is installed, of those that are published.
pub(crate) const LATEST: &str = "latest";

/// A target whose program was found.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    pub choice: Choice,
    pub program: PathBuf,
    /// Its version; empty when it does not say.
    pub version: String,
}

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocateError {
    /// There is no such program.
    #[error("target `{label}`: {reason}{}", hint.as_ref().map_or(String::new(), |hint| format!("; to get it: {hint}")))]
    Missing {
        label: String,
        /// Where it was looked for.
        reason: String,
        /// How to get it.
        hint: Option<String>,
    },
    /// It fails when it is asked for its version, so that nobody knows which clauses it has to keep.
    #[error(
        "target `{label}` fails when it is asked for its version: {command}: {reason}; mend that, or leave `version` out of \
         the target's file"
    )]
    NoVersion {
        label: String,
        /// How it was asked.
        command: String,
        /// How it failed.
        reason: String,
    },
    /// Its version cannot be asked: not the program's doing.
    #[error("target `{label}` cannot be asked for its version: {error}")]
    NotAsked {
        label: String,
        /// What stands in the way.
        error: RecordError,
    },
    /// It is another version than the one that is wanted.
    #[error("target `{label}`: the version of {} is {found}", program.display())]
    OtherVersion {
        label: String,
        /// The program that was found.
        program: PathBuf,
        found: String,
    },
}

/// Where `target install` puts programs: below `CLAWGATE_CACHE`, else the user's cache.
pub(crate) fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let own = variable("CLAWGATE_CACHE").map(PathBuf::from);
    let shared = variable("XDG_CACHE_HOME").map(|cache| PathBuf::from(cache).join("clawgate"));
    let home = variable("HOME").map(|home| PathBuf::from(home).join(".cache/clawgate"));
    let folder = own.or(shared).or(home)?;
    // What is installed there is started from other folders.
    Some(std::path::absolute(&folder).unwrap_or(folder))
}

/// Where the cache holds this version of a target.
pub(crate) fn installed(cache: &Path, name: &str, version: &str) -> PathBuf {
    cache.join("targets").join(format!("{name}@{version}"))
}

/// The versions of a target that the cache holds, in their order.
pub(crate) fn installed_versions(cache: &Path, name: &str) -> Vec<String> {
    let mut versions = Vec::new();
    for entry in cache.join("targets").read_dir().into_iter().flatten().flatten() {
        let folder = entry.file_name().to_string_lossy().into_owned();
        let version = folder.split_once('@').filter(|(known, _)| *known == name).map(|(_, version)| version);
        versions.extend(version.filter(|_| entry.path().join(name).exists()).map(str::to_owned));
    }
    versions.sort_by(|a, b| version::compare(a, b));
    versions
}

/// The clawgate binary: the one that `CLAWGATE_BIN` names, or the running executable.
pub(crate) fn clawgate(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("CLAWGATE_BIN").map(PathBuf::from).or_else(|| std::env::current_exe().ok())
}

/// The first file of this name in the folders of a `PATH`.
pub(super) fn on_path(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

impl Choice {
    /// Finds the program: the one that was named, `CLAWGATE_<NAME>_BIN`, the cache for a version, the `PATH`.
    /// It says its version where it is kept apart as is demanded.
    pub(crate) fn locate(
        mut self,
        variable: impl Fn(&str) -> Option<OsString>,
        demands: Demands,
    ) -> Result<Located, LocateError> {
        if self.version.as_deref() == Some(LATEST) && self.program.is_none() {
            self.take_newest(cache_folder(&variable).as_deref())?;
        }
        let program = self.find(&variable)?;
        self.startable(&program)?;
        let version = if self.target.version.is_empty() {
            String::new()
        } else {
            let containment = Containment::strongest(variable("CLAWGATE_BIN").map(PathBuf::from));
            let answer = ask_version(&program, &self.target.version, containment, demands)
                .map_err(|error| LocateError::NotAsked { label: self.label.clone(), error })?;
            let words = std::iter::once(program.display().to_string()).chain(self.target.version.clone());
            let command = || words.map(|word| shell_word(&word).into_owned()).collect::<Vec<_>>().join(" ");
            let label = || self.label.clone();
            answer.map_err(|reason| LocateError::NoVersion { label: label(), command: command(), reason })?
        };
        if let Some(wanted) = &self.version
            && *wanted != version
        {
            let found = if version.is_empty() { "unknown: it does not say".into() } else { version };
            return Err(LocateError::OtherVersion { label: self.label, program, found });
        }
        Ok(Located { choice: self, program, version })
    }

    /// Takes the newest version that is installed.
    fn take_newest(&mut self, cache: Option<&Path>) -> Result<(), LocateError> {
        let newest = cache.and_then(|cache| installed_versions(cache, &self.target.name).pop());
        let Some(newest) = newest else {
            return Err(LocateError::Missing {
                label: self.label.clone(),
                reason: "no version is installed".into(),
                hint: Some(format!("clawgate target install {}@{LATEST}", self.target.name)),
            });
        };
        self.label = self.label.replacen(LATEST, &newest, 1);
        self.version = Some(newest);
        Ok(())
    }

    /// Whether a program can be started at all: else every case would fail for it.
    fn startable(&self, program: &Path) -> Result<(), LocateError> {
        let refused = |reason: &str, hint: Option<String>| {
            let reason = format!("{} {reason}", program.display());
            Err(LocateError::Missing { label: self.label.clone(), reason, hint })
        };
        match fs::metadata(program) {
            Ok(file) if file.is_dir() => refused("is a directory, and a program is expected", None),
            Ok(file) if file.mode() & 0o111 == 0 => {
                let hint = format!("chmod +x {}", shell_word(&program.display().to_string()));
                refused("has no execute bit", Some(hint))
            }
            _ => Ok(()),
        }
    }

    fn find(&self, variable: &impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, LocateError> {
        let missing = |reason: String| LocateError::Missing {
            label: self.label.clone(),
            reason,
            hint: self.target.install.clone(),
        };
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        if let Some(path) = &self.program {
            return if path.exists() {
                Ok(absolute(path.clone()))
            } else {
                Err(missing(format!("{} does not exist", path.display())))
            };
        }
        if self.target.program == "{clawgate}" {
            if self.version.is_some() {
                return Err(missing("it is clawgate itself, in no other version".into()));
            }
            return clawgate(variable).ok_or_else(|| missing("clawgate does not know its own path".into()));
        }
        let name = self.target.name.to_uppercase().replace(['-', '.'], "_");
        let own = format!("CLAWGATE_{name}_BIN");
        if let (Some(path), None) = (variable(&own), &self.version) {
            let path = PathBuf::from(path);
            return if path.exists() {
                Ok(absolute(path))
            } else {
                Err(missing(format!("{own} names {}, which does not exist", path.display())))
            };
        }
        if let Some(version) = &self.version {
            let cached = cache_folder(variable)
                .map(|cache| installed(&cache, &self.target.name, version).join(&self.target.name));
            return cached.filter(|path| path.exists()).ok_or_else(|| LocateError::Missing {
                label: self.label.clone(),
                reason: format!("version {version} is not installed"),
                hint: Some(format!("clawgate target install {}@{version}", self.target.name)),
            });
        }
        if self.target.program.contains('/') {
            let path = PathBuf::from(&self.target.program);
            return if path.exists() {
                Ok(absolute(path))
            } else {
                Err(missing(format!("{} does not exist", path.display())))
            };
        }
        let path = variable("PATH").unwrap_or_default();
        let newest = || {
            let cache = cache_folder(variable)?;
            let version = installed_versions(&cache, &self.target.name).pop()?;
            Some(installed(&cache, &self.target.name, &version).join(&self.target.name))
        };
        on_path(&path, &self.target.program)
            .map(absolute)
            .or_else(newest)
            .ok_or_else(|| missing(format!("`{}` is not on the PATH", self.target.program)))
    }
}

impl Located {
    /// A target whose program nobody needs: to know which cases there are.
    #[cfg(feature = "cli")]
    pub(crate) fn unlocated(choice: Choice) -> Self {
        Self { choice, program: PathBuf::new(), version: String::new() }
    }

    /// The version that counts when it keeps this contract.
    pub(crate) fn version_for(&self, speaks: &Speaks) -> String {
        speaks.version.clone().unwrap_or_else(|| self.version.clone())
    }
}

/// The first dotted number that the program prints when it is asked; empty when it prints none in time, the reason when
/// it prints none and fails. It is asked once, in a room as every case has one.
fn ask_version(
    program: &Path,
    args: &[String],
    containment: Containment,
    demands: Demands,
) -> Result<Result<String, String>, RecordError> {
    static KNOWN: Mutex<Vec<(Asked, String)>> = Mutex::new(Vec::new());
    let asked = Asked::of(program, args);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(version) =
        known().iter().find_map(|(known, version)| (*known == asked).then(|| version.clone()))
    {
        return Ok(Ok(version));
    }
    let answer = harness::ask(&Pool::new(containment), demands, program, args)?;
    let stdout = Masker::default().mask(&String::from_utf8_lossy(&answer.stdout));
    let version = version::find(&stdout).unwrap_or_default();
    if let (true, Some(failure)) = (version.is_empty(), answer.failure) {
        let said = String::from_utf8_lossy(&answer.stderr);
        let said = Masker::default().mask(&said);
        let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).map(printable);
        return Ok(Err(said.map_or(failure.clone(), |said| format!("{failure}: {said}"))));
    }
    known().push((asked, version.clone()));
    Ok(Ok(version))
}

/// Which program was asked: a file that is replaced is another one.
#[derive(PartialEq)]
struct Asked {
    program: PathBuf,
    args: Vec<String>,
    file: Option<(u64, u64, i64, i64)>,
}

impl Asked {
    fn of(program: &Path, args: &[String]) -> Self {
        let file = fs::metadata(program).ok();
        let file = file.map(|file| (file.ino(), file.len(), file.mtime(), file.mtime_nsec()));
        Self { program: program.to_owned(), args: args.to_vec(), file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_how_to_get_it() {
        let nothing = |_: &str| None;
        let choice = |typed: &str| Choice::parse(typed, None).unwrap();
        let complaint =
            |typed: &str| choice(typed).locate(nothing, Demands::default()).unwrap_err().to_string();
        assert!(complaint("claude").contains("not on the PATH; to get it: clawgate target install"));
        assert!(complaint("claude@2.1.0").contains("clawgate target install claude@2.1.0"));
        assert!(complaint("claw=/nowhere/claw").contains("/nowhere/claw does not exist"));
        assert!(complaint("reference@1.0.0").contains("in no other version"));
        // A version that was asked for is that version, or nothing.
        assert!(complaint("claude@2.1.0=/bin/true").contains("the version of /bin/true is "));
    }
}
