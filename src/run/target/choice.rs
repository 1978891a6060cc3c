//! What a user types after `--target`.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{TARGETS, Target};
use crate::document;
use crate::harness::Misbehaviour;
use crate::text::nearest;

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
                if name != "reference" {
                    return Err(ChoiceError(format!("only `reference` misbehaves on demand, not `{name}`")));
                }
                wrong.parse().map_err(|message| ChoiceError(format!("--target {typed}: {message}")))
            })
            .transpose()?;
        let target = named(name, folder)?;
        Ok(Self { version, program, misbehaviour, ..Self::plain(typed, target) })
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
        let known = TARGETS.iter().map(|(known, _)| *known);
        let hint = nearest(name, known.clone()).map_or_else(
            || {
                format!(
                    "there are {}; a file of your own ends in .toml",
                    known.collect::<Vec<_>>().join(", ")
                )
            },
            |known| format!("did you mean `{known}`?"),
        );
        return Err(ChoiceError(format!("unknown target `{name}`; {hint}")));
    };
    Target::parse(&format!("targets/{name}.toml"), text).map_err(|error| ChoiceError(error.to_string()))
}

fn read(path: &Path) -> Result<Target, ChoiceError> {
    let shown = path.display().to_string();
    let text = document::read_to_string(path).map_err(|error| ChoiceError(format!("{shown}: {error}")))?;
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
        assert!(complaint("nope").contains("claude, claw, reference"));
        assert!(complaint("claude+crash").contains("only `reference`"));
        assert!(complaint("nope.toml").starts_with("nope.toml: "));
    }
}
