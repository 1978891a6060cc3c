//! The project that a command works in: what `clawgate.toml` says, and where scenarios, targets and contracts of the
//! project's own are. Every command finds them here, so that what one of them finds all of them find.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::CommandError;
use super::error::unreadable;
use crate::config::{self, Config, Profile};
use crate::document;
use crate::drift::ComparePolicy;
use crate::harness::supervise::Demands;
use crate::run::Suite;
use crate::run::scenario::Scenario;
use crate::run::scenario::library;
use crate::run::target::{Choice, Located, TARGETS, Target, own_names};
use crate::text::nearest;

/// Where recordings go unless something else is said.
pub(super) const OUT: &str = "clawgate-out";
/// Where scenarios and targets of the project's own are, beside its configuration.
const SCENARIOS: &str = "scenarios";
pub(super) const TARGET_FOLDER: &str = "targets";

#[derive(Debug, Clone)]
pub(super) struct Project {
    pub(super) profile: Profile,
    /// Whether there is a configuration: only then a folder named `targets` or `scenarios` is meant for us.
    is_configured: bool,
}

pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

impl Project {
    /// For commands that have no `--profile`.
    pub(super) fn open() -> Result<Self, CommandError> {
        let name = std::env::var("CLAWGATE_PROFILE").ok();
        Self::with_profile(name.as_deref().unwrap_or(config::DEFAULT))
    }

    pub(super) fn with_profile(name: &str) -> Result<Self, CommandError> {
        let text = match document::read_to_string(Path::new(config::FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && name == config::DEFAULT => {
                return Ok(Self { profile: Profile::default(), is_configured: false });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CommandError::Usage(format!(
                    "there is no profile `{name}`: profiles stand in {}, and there is none here. `clawgate init` writes \
                     one with a profile `ci`; without --profile and CLAWGATE_PROFILE none is needed",
                    config::FILE
                )));
            }
            Err(error) => return Err(unreadable(Path::new(config::FILE))(error)),
        };
        let profile = Config::parse(config::FILE, &text)?.profile(name).map_err(CommandError::Usage)?;
        Ok(Self { profile, is_configured: true })
    }

    /// Where the project's own scenarios are: where the profile says, else beside the configuration.
    pub(super) fn scenarios(&self) -> Vec<PathBuf> {
        match &self.profile.scenarios {
            Some(named) => named.iter().map(PathBuf::from).collect(),
            None if self.is_configured && Path::new(SCENARIOS).is_dir() => vec![SCENARIOS.into()],
            None => Vec::new(),
        }
    }

    /// The built-in scenarios and the project's own.
    pub(super) fn suite(&self) -> Result<Suite, CommandError> {
        let mut suite = Suite::built_in()?;
        for path in self.scenarios() {
            suite.add_path(&path)?;
        }
        Ok(suite)
    }

    /// The scenario that the user named: a built-in one, one of the project's own, or a file.
    pub(super) fn scenario(&self, named: &str) -> Result<Scenario, CommandError> {
        self.scenario_like(named, &library::scripts().map(|(name, _)| name).collect::<Vec<_>>())
    }

    /// The same, where these are the built-in ones that are of use.
    pub(super) fn scenario_like(&self, named: &str, known: &[&str]) -> Result<Scenario, CommandError> {
        if let Some(text) = library::text(named) {
            return Ok(Scenario::parse(named, text)?);
        }
        let own = self.scenarios().into_iter().map(|folder| folder.join(format!("{named}.toml")));
        let own = own.into_iter().find(|path| path.is_file());
        let path = own.unwrap_or_else(|| named.into());
        let near = nearest(named, known.iter().copied());
        if !path.exists() && !named.contains('.') && (near.is_some() || !named.contains('/')) {
            let hint = near.map_or_else(
                || format!("built in are: {}", known.join(", ")),
                |name| format!("did you mean `{name}`?"),
            );
            let message = format!("{named}: neither a file nor a built-in scenario; {hint}");
            return Err(CommandError::Usage(message));
        }
        let file = path.display().to_string();
        let text = String::from_utf8(document::read(&path).map_err(unreadable(&path))?).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = memchr::memchr_iter(b'\n', valid).count() + 1;
            let column = valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
            CommandError::Usage(format!("{file}:{line}:{column}: expected UTF-8 text"))
        })?;
        Ok(Scenario::parse(&file, &text)?)
    }

    fn target_folder(&self) -> Option<&'static Path> {
        self.is_configured.then_some(Path::new(TARGET_FOLDER))
    }

    /// A target as the user typed it.
    pub(super) fn target(&self, typed: &str) -> Result<Choice, CommandError> {
        Ok(Choice::parse(typed, self.target_folder())?)
    }

    /// A target as the user typed it, with its program.
    pub(super) fn locate(&self, typed: &str) -> Result<Located, CommandError> {
        self.locate_apart(typed, Demands::default())
    }

    /// The same; asking it for its version demands that it be kept apart.
    pub(super) fn locate_apart(&self, typed: &str, demands: Demands) -> Result<Located, CommandError> {
        Ok(self.target(typed)?.locate(variable, demands)?)
    }

    /// The names of all targets: those that are built in, then the project's own.
    pub(super) fn target_names(&self) -> Vec<String> {
        let mut own = own_names(self.target_folder());
        own.retain(|name| TARGETS.iter().all(|(known, _)| known != name));
        let built_in = TARGETS.iter().map(|(name, _)| (*name).to_owned());
        built_in.chain(own).collect()
    }

    /// The file that a target was read from, its text, and whether it exists; of a built-in one it is where the project's
    /// own would be.
    pub(super) fn target_file(
        &self,
        typed: &str,
        target: &Target,
    ) -> Result<(String, String, bool), CommandError> {
        let name = &target.name;
        let own = self.target_folder().map(|folder| folder.join(format!("{name}.toml")));
        let is_file = Path::new(typed).extension().is_some_and(|extension| extension == "toml");
        let path = if is_file { Some(typed.into()) } else { own.filter(|path| path.is_file()) };
        let Some(path) = path else {
            let text = TARGETS.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text);
            return Ok((format!("{TARGET_FOLDER}/{name}.toml"), text.to_owned(), false));
        };
        let text = document::read_to_string(&path).map_err(unreadable(&path))?;
        Ok((path.display().to_string(), text, true))
    }

    /// How many cases run at a time, if anybody says so.
    pub(super) fn jobs(&self, typed: Option<u16>) -> Option<usize> {
        typed.map(usize::from).or(self.profile.jobs.and_then(|jobs| usize::try_from(jobs).ok()))
    }

    /// What recordings are compared by: what the targets say differs from run to run, and the policy of the contract that
    /// a recording speaks, which is `contract` when the user names one.
    pub(super) fn terms(&self, contract: Option<&str>) -> Result<ComparePolicy<'static>, CommandError> {
        let (mut volatile, mut own) = (BTreeMap::new(), BTreeMap::new());
        for name in self.target_names() {
            let target = self.target(&name)?.target;
            let places = target.speaks.into_iter();
            own.extend(places.filter_map(|speaks| Some((speaks.contract, speaks.contract_at?))));
            volatile.insert(target.name, target.volatile);
        }
        Ok(ComparePolicy::of_targets(volatile, own, contract)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_beats_the_profile() {
        let profile = Profile { jobs: Some(3), ..Profile::default() };
        let project = Project { profile, is_configured: true };
        assert_eq!((project.jobs(None), project.jobs(Some(2))), (Some(3), Some(2)));
        let plain = Project { profile: Profile::default(), is_configured: false };
        assert_eq!((plain.jobs(None), plain.scenarios()), (None, Vec::new()));
    }
}
