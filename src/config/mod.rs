//! `clawgate.toml`: what a project's runs are like, in profiles.
//!
//! ```toml
//! [profile.default]
//! target = ["claude"]
//! retries = 1
//!
//! [profile.ci]                          # what it does not say is as in the default profile
//! report = ["terminal", "junit=junit.xml"]
//! ```
//!
//! A flag beats a `CLAWGATE_*` variable, which beats the profile, which beats the default.
//! `schemas/clawgate/config.schema.json` describes the file for editors.

use std::collections::BTreeMap;

use crate::document::{Document, FileError, Item, Table};
use crate::text::nearest;

pub(crate) const FILE: &str = "clawgate.toml";
/// The profile that every other one starts from.
pub(crate) const DEFAULT: &str = "default";

/// The whole of a `clawgate.toml`.
#[derive(Debug, Clone, Default)]
pub struct Config {
    profiles: BTreeMap<String, Profile>,
}

/// What a profile says. What it leaves open is as it would be without a file.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// What to run on.
    pub target: Option<Vec<String>>,
    /// Which cases, as filters on the command line.
    pub cases: Option<Vec<String>>,
    /// Folders and files with scenarios of the project's own.
    pub scenarios: Option<Vec<String>>,
    /// How many cases run at a time.
    pub jobs: Option<u64>,
    /// The most that a case may take, in seconds.
    pub timeout: Option<f64>,
    /// How often a case that failed is tried again.
    pub retries: Option<u64>,
    /// How often each case is run.
    pub repeat: Option<u64>,
    /// Whether the first failure ends the run.
    pub fail_fast: Option<bool>,
    /// The least level of a clause that fails a case.
    pub fail_on: Option<String>,
    pub out: Option<String>,
    /// The list of failures that are accepted for now.
    pub known_failures: Option<String>,
    /// Which recordings stay.
    pub keep: Option<String>,
    /// Whether targets are kept away from the network.
    pub network: Option<String>,
    /// Whether targets must be kept apart from network, files and processes of the machine.
    pub isolation: Option<String>,
    /// How much a target may write into its room and around it.
    pub disk_bytes: Option<u64>,
    /// The reports that are made.
    pub report: Option<Vec<String>>,
    /// The file with durations that shards are cut by.
    pub durations: Option<String>,
}

impl Config {
    /// Reads the text of a configuration; `file` names it in complaints.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let mut root = Document::parse(file, text)?;
        let mut profiles = BTreeMap::new();
        if let Some(item) = root.take("profile") {
            for (name, item) in item.into_table()?.into_entries() {
                profiles.insert(name, Profile::read(item.into_table()?)?);
            }
        }
        root.finish()?;
        Ok(Self { profiles })
    }

    /// A profile, completed by the default one; the reason when there is none of that name.
    pub fn profile(&self, name: &str) -> Result<Profile, String> {
        let base = self.profiles.get(DEFAULT).cloned().unwrap_or_default();
        match self.profiles.get(name) {
            Some(profile) => Ok(profile.clone().or(base)),
            None if name == DEFAULT => Ok(base),
            None => {
                let known = self.profiles.keys().map(String::as_str);
                if let Some(near) = nearest(name, known.clone()) {
                    return Err(format!("no profile `{name}`, did you mean `{near}`?"));
                }
                let known: Vec<_> =
                    std::iter::once(DEFAULT).chain(known.filter(|known| *known != DEFAULT)).collect();
                Err(format!("no profile `{name}`; {FILE} has {}", known.join(", ")))
            }
        }
    }
}

impl Profile {
    fn read(mut table: Table<'_>) -> Result<Self, FileError> {
        let profile = Self {
            target: texts(&mut table, "target")?,
            cases: texts(&mut table, "cases")?,
            scenarios: texts(&mut table, "scenarios")?,
            jobs: at_least_one(&mut table, "jobs")?,
            timeout: table.take("timeout").as_ref().map(seconds).transpose()?,
            retries: table.unsigned("retries")?,
            repeat: at_least_one(&mut table, "repeat")?,
            fail_fast: table.boolean("fail-fast")?,
            fail_on: word(&mut table, "fail-on", &["must", "should"])?,
            known_failures: table.string("known-failures")?,
            out: table.string("out")?,
            keep: word(&mut table, "keep", &["all", "bodies", "failed", "none"])?,
            network: word(&mut table, "network", &["auto", "require", "off"])?,
            isolation: word(&mut table, "isolation", &["auto", "require"])?,
            disk_bytes: table.unsigned("disk-bytes")?,
            report: texts(&mut table, "report")?,
            durations: table.string("durations")?,
        };
        table.finish()?;
        Ok(profile)
    }

    /// What this says, and what it leaves open from another.
    fn or(self, base: Self) -> Self {
        Self {
            target: self.target.or(base.target),
            cases: self.cases.or(base.cases),
            scenarios: self.scenarios.or(base.scenarios),
            jobs: self.jobs.or(base.jobs),
            timeout: self.timeout.or(base.timeout),
            retries: self.retries.or(base.retries),
            repeat: self.repeat.or(base.repeat),
            fail_fast: self.fail_fast.or(base.fail_fast),
            fail_on: self.fail_on.or(base.fail_on),
            known_failures: self.known_failures.or(base.known_failures),
            out: self.out.or(base.out),
            keep: self.keep.or(base.keep),
            network: self.network.or(base.network),
            isolation: self.isolation.or(base.isolation),
            disk_bytes: self.disk_bytes.or(base.disk_bytes),
            report: self.report.or(base.report),
            durations: self.durations.or(base.durations),
        }
    }
}

fn texts(table: &mut Table<'_>, key: &'static str) -> Result<Option<Vec<String>>, FileError> {
    let Some(item) = table.take(key) else { return Ok(None) };
    if item.is_string() {
        return Ok(Some(vec![item.into_string()?]));
    }
    item.into_list()?.into_iter().map(Item::into_string).collect::<Result<_, _>>().map(Some)
}

fn at_least_one(table: &mut Table<'_>, key: &'static str) -> Result<Option<u64>, FileError> {
    let Some(item) = table.take(key) else { return Ok(None) };
    let place = item.place();
    match item.unsigned()? {
        0 => Err(place.complain("expected 1 or more")),
        // More than anybody means, and less than what a flag takes.
        number if number > u64::from(u16::MAX) => Err(place.complain("expected 65535 or less")),
        number => Ok(Some(number)),
    }
}

fn seconds(item: &Item<'_>) -> Result<f64, FileError> {
    let place = item.place();
    let number = item.json()?.as_f64().filter(|seconds| *seconds > 0.0 && seconds.is_finite());
    number.ok_or_else(|| place.complain("expected seconds, such as 30"))
}

fn word(table: &mut Table<'_>, key: &'static str, known: &[&str]) -> Result<Option<String>, FileError> {
    let Some(item) = table.take(key) else { return Ok(None) };
    let place = item.place();
    let word = item.into_string()?;
    if known.contains(&word.as_str()) {
        return Ok(Some(word));
    }
    let known = known.join(", ");
    Err(place.complain(format!("expected one of: {known}; found `{word}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_completed_by_the_default_one() {
        let text =
            "[profile.default]\ntarget = \"claw\"\nretries = 1\n[profile.ci]\nretries = 2\ntimeout = 1.5\n";
        let config = Config::parse(FILE, text).unwrap();
        let ci = config.profile("ci").unwrap();
        assert_eq!((ci.target, ci.retries, ci.timeout), (Some(vec!["claw".into()]), Some(2), Some(1.5)));
        assert_eq!(config.profile("default").unwrap().retries, Some(1));
        assert_eq!(config.profile("c").unwrap_err(), "no profile `c`, did you mean `ci`?");
        assert_eq!(
            config.profile("nightly").unwrap_err(),
            "no profile `nightly`; clawgate.toml has default, ci"
        );
    }

    #[test]
    fn mistakes_have_their_place_and_a_suggestion() {
        let complaint = |text: &str| Config::parse(FILE, text).unwrap_err().headline();
        assert_eq!(
            complaint("[profile.ci]\nretires = 1\n"),
            "clawgate.toml:2:1: unknown key `retires`, did you mean `retries`? (at profile.ci.retires)"
        );
        assert!(complaint("[profiles.ci]").contains("did you mean `profile`?"));
        assert!(complaint("[profile.ci]\nfail-on = \"shuold\"").contains("expected one of: must, should"));
        assert!(complaint("[profile.ci]\njobs = 0").contains("expected 1 or more"));
        assert!(complaint("[profile.ci]\ntimeout = -1").contains("expected seconds"));
    }

    #[test]
    fn an_empty_file_is_a_configuration() {
        assert_eq!(Config::parse(FILE, "").unwrap().profile(DEFAULT).unwrap(), Profile::default());
    }
}
