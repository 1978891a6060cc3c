//! What a user types after `--target`.

use std::fmt;
use std::path::{Path, PathBuf};

use super::locate::LATEST;
use super::{TARGETS, Target};
use crate::document;
use crate::harness::Misbehaviour;
use crate::shell::shell_word;
use crate::text::{nearest, trouble};
use crate::version;

/// The target inside clawgate.
const REFERENCE: &str = "reference";

/// `claude`, `claude@2.1.197`, `claw=./path`, `my-target.toml`, or `reference+misbehaviour`.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub label: String,
    pub target: Target,
    /// The version that is wanted.
    pub version: Option<String>,
    /// The program that is wanted.
    pub program: Option<PathBuf>,
    /// What the reference target is to do wrong.
    pub misbehaviour: Option<Misbehaviour>,
}

/// Why a target cannot be chosen.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ChoiceError(String);

impl Choice {
    /// Reads what was typed. `folder` is where a user's own target files are looked for by name.
    pub(crate) fn parse(typed: &str, folder: Option<&Path>) -> Result<Self, ChoiceError> {
        if Path::new(typed).extension().is_some_and(|extension| extension == "toml") {
            return Ok(Self::plain(typed, read(Path::new(typed))?));
        }
        let (name, program) = match typed.split_once('=') {
            Some((name, path)) => (name, Some(PathBuf::from(path))),
            None => (typed, None),
        };
        let (name, version) = match name.split_once('@') {
            Some((name, version)) => (name, Some(version.to_owned())),
            None => (name, None),
        };
        let (name, misbehaviour) = match name.split_once('+') {
            Some((name, wrong)) => (name, Some(wrong)),
            None => (name, None),
        };
        let misbehaviour = misbehaviour
            .map(|wrong| {
                if name != REFERENCE {
                    return Err(ChoiceError(format!("only `reference` misbehaves on demand, not `{name}`")));
                }
                wrong.parse().map_err(|message| ChoiceError(format!("--target {typed}: {message}")))
            })
            .transpose()?;
        let target = named(name, folder)?;
        if program.as_ref().is_some_and(|program| program.as_os_str().is_empty()) {
            return Err(ChoiceError(format!("{typed}: expected the path of a program after `=`")));
        }
        if let (Some(wanted), None, Some(_)) = (&version, &program, &target.npm)
            && wanted != LATEST
            && !version::is_whole(wanted)
        {
            return Err(ChoiceError(format!(
                "{typed}: `{wanted}` is no whole version; say {name}@{LATEST}, or one such as claude@2.1.197"
            )));
        }
        Ok(Self { version, program, misbehaviour, ..Self::plain(typed, target) })
    }

    /// A target of which nothing more was typed.
    #[cfg(feature = "cli")]
    pub(crate) fn of(target: Target) -> Self {
        Self::plain(&target.name.clone(), target)
    }

    fn plain(typed: &str, target: Target) -> Self {
        Self { label: typed.to_owned(), target, version: None, program: None, misbehaviour: None }
    }
}

impl Target {
    /// This target in a version that is installed.
    #[cfg(feature = "cli")]
    pub(crate) fn at_version(self, version: &str) -> Choice {
        let label = format!("{}@{version}", self.name);
        Choice { version: Some(version.to_owned()), ..Choice::plain(&label, self) }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

fn named(name: &str, folder: Option<&Path>) -> Result<Target, ChoiceError> {
    let own = folder.map(|folder| folder.join(format!("{name}.toml"))).filter(|path| path.is_file());
    if let Some(path) = own {
        return read(&path);
    }
    let Some((_, text)) = TARGETS.iter().find(|(known, _)| *known == name) else {
        return Err(ChoiceError(unknown(name, folder)));
    };
    Target::parse(&format!("targets/{name}.toml"), text).map_err(|error| ChoiceError(error.to_string()))
}

/// What to say of a name that no target has.
fn unknown(name: &str, folder: Option<&Path>) -> String {
    if name.contains('/') || Path::new(name).is_file() {
        return protocols(name);
    }
    let own = own_names(folder);
    let known: Vec<&str> =
        TARGETS.iter().map(|(known, _)| *known).chain(own.iter().map(String::as_str)).collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("unknown target `{name}`; did you mean `{near}`?"),
        None => {
            format!(
                "unknown target `{name}`; there are {}; a file of your own ends in .toml",
                known.join(", ")
            )
        }
    }
}

/// The names of the targets in a folder of the user's.
pub(crate) fn own_names(folder: Option<&Path>) -> Vec<String> {
    let mut names = Vec::new();
    for entry in folder.and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_target = path.extension().is_some_and(|extension| extension == "toml");
        let name = path.file_stem().and_then(|name| name.to_str());
        names.extend(name.filter(|_| is_target).map(str::to_owned));
    }
    names.sort();
    names
}

/// A program alone does not say which protocol it speaks: those that there are, each with the line to type.
fn protocols(program: &str) -> String {
    let path = Path::new(program);
    if let Err(error) = std::fs::metadata(path) {
        return format!("{program}: {}", trouble(path, &error));
    }
    if path.is_dir() {
        return format!(
            "{program}: is a directory; a target is a name, NAME=PROGRAM, or a file that ends in .toml"
        );
    }
    let lines = TARGETS.iter().filter(|(name, _)| *name != REFERENCE).map(|(name, toml)| {
        let contracts = Target::parse(name, toml).map(|target| target.speaks).unwrap_or_default();
        let contracts: Vec<String> = contracts.into_iter().map(|speaks| speaks.contract).collect();
        let typed = format!("{name}={program}");
        format!("\n  --target {:<24} {}", shell_word(&typed), contracts.join(", "))
    });
    format!(
        "{program}: which protocol does it speak? Choose one, and type:{}\nA target file of your own says more: clawgate \
         help targets",
        lines.collect::<String>()
    )
}

fn read(path: &Path) -> Result<Target, ChoiceError> {
    let shown = path.display().to_string();
    let text = document::read_to_string(path)
        .map_err(|error| ChoiceError(format!("{shown}: {}", trouble(path, &error))))?;
    Target::parse(&shown, &text).map_err(|error| ChoiceError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_chosen_by_name_version_path_or_file() {
        let choice = Choice::parse("claude@2.1.197", None).unwrap();
        assert_eq!((choice.target.name.as_str(), choice.version.as_deref()), ("claude", Some("2.1.197")));
        let choice = Choice::parse("claw=./my/claw", None).unwrap();
        assert_eq!(choice.program.as_deref(), Some(Path::new("./my/claw")));
        let complaint = |typed: &str| Choice::parse(typed, None).unwrap_err().to_string();
        assert!(complaint("cluade").contains("did you mean `claude`?"));
        assert!(
            complaint("nope")
                .contains("agent, claude, claw, codex, copilot, gemini, opencode, qwen, reference")
        );
        // A program says no protocol, so the lines that do are named.
        let told = complaint("./src/lib.rs");
        assert!(told.contains("\n  --target claude=./src/lib.rs "), "{told}");
        assert!(complaint("./src").contains("is a directory"));
        assert!(complaint("./srv/agent.py").contains("there is no folder `./srv`"));
        assert!(complaint("claude+crash").contains("only `reference`"));
        assert!(complaint("nope.toml").starts_with("nope.toml: "));
    }
}
