//! Where contracts are found: inside the binary, by name, or in a directory of the user.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

use super::contract::{Contract, Detect, Family, Protocol};
use super::facts::Run;
#[cfg(feature = "testing")]
use super::include;
use super::judge::Judge;
use super::load::{Bundle, CONTRACT_FILE, detect_of};
#[cfg(feature = "testing")]
use crate::document::VolatileEntry;
use crate::document::{FileError, Packed};
use crate::outcome::Table;
use crate::text::did_you_mean;

/// Every file below `schemas/`, by its path there.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/contracts.rs"));

/// The contracts' own files among them, by their path there.
const CONTRACTS: &[(&str, Packed)] = include!(concat!(env!("OUT_DIR"), "/packed.rs"));

/// The names of the contracts in this binary.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    CONTRACTS.iter().filter_map(|(path, _)| name_of(path))
}

fn name_of(path: &'static str) -> Option<&'static str> {
    path.strip_suffix(CONTRACT_FILE)?.strip_suffix('/')
}

/// The files of a contract: a built-in one by its name, or a user's by the path of its directory.
pub fn bundle(name: &str) -> Result<Bundle, FileError> {
    let path = Path::new(name);
    if path.exists() && !built_in().any(|known| known == name) {
        return Bundle::read(path);
    }
    built_in_files(name)?.with_included(None)
}

/// The files of a built-in contract, without those of one that it includes.
pub(super) fn built_in_files(name: &str) -> Result<Bundle, FileError> {
    if let Some((_, packed)) = CONTRACTS.iter().find(|(path, _)| name_of(path) == Some(name)) {
        let inside = |(path, bytes): &(&'static str, &'static [u8])| {
            let path = path.strip_prefix(name)?.strip_prefix('/')?;
            Some((path, *bytes))
        };
        return Ok(Bundle::built_in(format!("schemas/{name}"), *packed, FILES.iter().filter_map(inside)));
    }
    let known: Vec<_> = built_in().collect();
    Err(FileError::whole(
        name,
        format_args!("neither a built-in contract nor a directory{}", did_you_mean(name, &known)),
    ))
}

/// The contract that this one is a part of, by the name or path of the part: whoever keeps the whole keeps the part, so that
/// cases of the whole can be run on who promises the part.
#[cfg(feature = "testing")]
pub(crate) fn part_of(name: &str) -> Result<Option<String>, FileError> {
    include::part_of(&bundle(name)?)
}

/// A contract together with those that it extends, ready to judge with.
#[derive(Debug)]
pub struct ContractSet {
    contracts: Vec<Contract>,
}

impl ContractSet {
    /// Opens a contract by name or path, with all that it extends.
    pub fn open(name: &str) -> Result<Self, FileError> {
        let mut contracts = vec![Contract::load(&bundle(name)?)?];
        let mut next = 0;
        while let Some(contract) = contracts.get(next) {
            for parent in contract.extends.clone() {
                if contracts.iter().all(|known| known.name != parent) {
                    let beside = Path::new(name).parent().map(|directory| directory.join(&parent));
                    let beside =
                        beside.filter(|path| name.contains('/') && path.join(CONTRACT_FILE).is_file());
                    let found = match beside {
                        Some(path) => Bundle::read(&path)?,
                        None => bundle(&parent).map_err(|error| contracts[next].blames(&parent, &error))?,
                    };
                    contracts.push(Contract::load(&found)?);
                }
            }
            next += 1;
        }
        Ok(Self { contracts })
    }

    /// A set of these contracts, the one that gives it its name first.
    pub fn new(contracts: Vec<Contract>) -> Self {
        Self { contracts }
    }

    /// The name of the contract that was asked for.
    pub fn name(&self) -> &str {
        self.contracts.first().map_or("", |contract| &contract.name)
    }

    /// Whose dialect it describes: the family that it names, else that of a contract that it extends.
    pub fn family(&self) -> Family {
        let named = self.contracts.iter().find_map(|contract| contract.family);
        named.unwrap_or_else(|| Family::of_protocol(self.protocol()))
    }

    /// What the first contract says that stdout holds.
    pub fn protocol(&self) -> Protocol {
        self.contracts.first().map_or(Protocol::Document, |contract| contract.protocol)
    }

    /// The contracts, the one that was asked for first.
    pub fn contracts(&self) -> &[Contract] {
        &self.contracts
    }

    /// Whether it is about the one document of an agent that is neither Claude nor claw, and says what it means.
    pub(crate) fn describes_document(&self) -> bool {
        self.family() == Family::Document && self.protocol() == Protocol::Document && self.outcome().is_some()
    }

    /// The first of them that says something of the outcome of a run, and what it says.
    pub(crate) fn outcome(&self) -> Option<(&Contract, &Table)> {
        self.contracts.iter().find_map(|contract| Some((contract, contract.outcome()?)))
    }

    /// What differs from run to run, by any of them.
    #[cfg(feature = "testing")]
    pub(crate) fn volatile(&self) -> impl Iterator<Item = &VolatileEntry> {
        self.contracts.iter().flat_map(Contract::volatile)
    }

    /// Starts to judge a run.
    pub fn begin(&self, run: &Run) -> Judge<'_> {
        Judge::begin(&self.contracts, run)
    }
}

/// Recognises which of the built-in contracts a run speaks.
#[derive(Debug)]
pub(crate) struct Detector {
    known: Vec<(&'static str, Option<Family>, Option<Detect>)>,
}

impl Detector {
    pub(crate) fn new() -> Result<Self, FileError> {
        let mut known = Vec::new();
        for name in built_in() {
            let (family, detect) = detect_of(&built_in_files(name)?.with_included(None)?)?;
            known.push((name, family, detect));
        }
        Ok(Self { known })
    }

    /// The contract whose shape the messages have.
    pub(crate) fn detect(&self, messages: &[&Value]) -> Option<&'static str> {
        self.best(|detect| messages.iter().any(|message| detect.when.holds((*message).into())))
    }

    /// The contract of a program that complains like this when it prints nothing else.
    fn by_stderr(&self, stderr: &str) -> Option<&'static str> {
        self.best(|detect| detect.stderr.as_ref().is_some_and(|words| words.is_match(stderr)))
    }

    /// The contract that describes the command.
    fn by_command(&self, run: &Run) -> Option<&'static str> {
        let words = run.argv.as_deref().and_then(|argv| argv.get(1..)).unwrap_or_default();
        self.best(|detect| {
            let call = detect.invocation.read(words, run);
            call.known && detect.commands.contains(&call.command)
        })
    }

    /// The contract that a flag of the command line asks for.
    fn by_flags(&self, run: &Run) -> Option<&'static str> {
        let words = run.argv.as_deref().and_then(|argv| argv.get(1..)).unwrap_or_default();
        self.best(|detect| {
            let asked = |(flag, value): &(String, String)| {
                detect.invocation.read(words, run).flags.get(flag).is_some_and(|given| given == value)
            };
            !detect.flags.is_empty() && detect.flags.iter().all(asked)
        })
    }

    /// The fitting one with the highest priority, of several the first.
    fn best(&self, fits: impl Fn(&Detect) -> bool) -> Option<&'static str> {
        let known = self.known.iter().filter_map(|(name, _, detect)| Some((*name, detect.as_ref()?)));
        let fitting = known.filter(|(_, detect)| fits(detect));
        fitting.rev().max_by_key(|(_, detect)| detect.priority).map(|(name, _)| name)
    }
}

/// The contract whose shape the first messages of a run have or, where they have none that is known, the one that
/// describes the command; the caller always says that it was guessed.
///
/// `messages` are the first objects on stdout; a few are enough.
pub(crate) fn detect(messages: &[Value], run: &Run) -> Result<Option<&'static str>, FileError> {
    let detector = detector()?;
    let shape = detector.detect(&messages.iter().collect::<Vec<_>>());
    Ok(shape.or_else(|| detector.by_command(run)))
}

/// The built-in contract whose shape the first messages of an output have or, where there are none, whose program
/// complains like this.
pub(crate) fn recognise(
    messages: &[&Value],
    stderr: Option<&str>,
) -> Result<Option<&'static str>, FileError> {
    let detector = detector()?;
    Ok(match stderr {
        Some(stderr) if messages.is_empty() => detector.by_stderr(stderr),
        _ => detector.detect(messages),
    })
}

/// The built-in contract that a flag of the command line asks for, such as `--envelope-version=2.0`.
pub(crate) fn asked_for(run: &Run) -> Result<Option<&'static str>, FileError> {
    if run.argv.is_none() {
        return Ok(None);
    }
    Ok(detector()?.by_flags(run))
}

/// The family that a built-in contract names; none when there is no such contract.
pub(crate) fn family_of(contract: &str) -> Result<Option<Family>, FileError> {
    Ok(detector()?.known.iter().find(|(name, ..)| *name == contract).and_then(|(_, family, _)| *family))
}

fn detector() -> Result<&'static Detector, FileError> {
    static DETECTOR: OnceLock<Detector> = OnceLock::new();
    if let Some(detector) = DETECTOR.get() {
        return Ok(detector);
    }
    let read = Detector::new()?;
    Ok(DETECTOR.get_or_init(|| read))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema in the binary is compiled when it is asked, so that nobody else would notice one that cannot be.
    #[test]
    fn every_schema_that_is_built_in_compiles() {
        for name in built_in() {
            let contract = Contract::load(&bundle(name).unwrap().unchecked());
            let contract = contract.unwrap_or_else(|error| panic!("{error}"));
            // What is left for later in a built-in one takes this for granted.
            assert!(!contract.schemas.name_themselves(), "{name}");
        }
    }

    /// What was read when this was built is what the texts say, word for word and place for place.
    #[test]
    fn a_contract_that_is_built_in_is_what_its_files_say() {
        for name in built_in() {
            let packed = bundle(name).unwrap();
            let texts = packed.clone().unchecked();
            let read = [&packed, &texts].map(|bundle| {
                let contract = Contract::load(bundle).unwrap();
                let clauses = contract.clauses.iter().map(|clause| {
                    let texts = [&clause.source, &clause.since, &clause.text, &clause.why, &clause.fix]
                        .map(String::as_str);
                    format!(
                        "{} {:?} {texts:?} {:?} {}",
                        clause.id,
                        clause.line,
                        clause.applies(),
                        clause.check()
                    )
                });
                format!("{:?} {:?} {:#?}", contract.extends_at, contract.kinds, clauses.collect::<Vec<_>>())
            });
            assert!(read[0] == read[1], "{name}");
            assert_eq!(
                format!("{:?}", detect_of(&packed).unwrap()),
                format!("{:?}", detect_of(&texts).unwrap())
            );
        }
    }
}
