//! How much of their contracts the cases of a run have put to the test, worked out from the recordings.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::event::CaseFinished;
use crate::judge::named_after;
use crate::recording::Recording;
use crate::schema::{Contract, ContractSet, Coverage, Declared, End, Run, Survey};

/// Output beyond this is not looked at.
const MOST: u64 = 16 << 20;

/// What a file holds, if it can be read whole.
fn fixture(path: &Path) -> Option<Vec<u8>> {
    let mut stdout = Vec::new();
    File::open(path).ok()?.take(MOST).read_to_end(&mut stdout).ok()?;
    ((stdout.len() as u64) < MOST).then_some(stdout)
}

/// What the runs on each target showed of each contract.
#[derive(Debug, Default)]
pub(crate) struct Tested {
    surveys: BTreeMap<String, Survey>,
    /// By target, then by contract.
    targets: BTreeMap<String, BTreeMap<String, Coverage>>,
    /// Cases whose recording could not be read or was not read whole.
    pub unread: Vec<String>,
}

impl Tested {
    /// Reads the recordings of cases, whose paths start from a folder.
    pub(crate) fn of(cases: &[CaseFinished], here: &Path) -> Self {
        let mut tested = Self::default();
        for case in cases.iter().filter(|case| case.recording.is_some() && !case.contract.is_empty()) {
            if !tested.surveys.contains_key(&case.contract) {
                let Ok(set) = ContractSet::open(&case.contract) else { continue };
                tested.surveys.insert(case.contract.clone(), Survey::new(set));
            }
            let folder = here.join(case.recording.as_deref().unwrap_or_default());
            if folder.is_file() {
                let Some(stdout) = fixture(&folder) else {
                    tested.unread.push(case.title());
                    continue;
                };
                let coverage = tested.targets.entry(case.target.clone()).or_default();
                let run = Run { named_after: Some(named_after(&folder)), ..Run::default() };
                tested.surveys[&case.contract].cover(
                    &run,
                    &stdout,
                    &End::new(None, Some(&stdout), None),
                    coverage,
                );
                continue;
            }
            let read = || -> Option<(Recording, Vec<u8>, Vec<u8>)> {
                let recording = Recording::open(&folder).ok()?;
                let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
                recording.stdout().ok()?.take(MOST).read_to_end(&mut stdout).ok()?;
                recording.stderr().ok()?.take(MOST).read_to_end(&mut stderr).ok()?;
                let whole = (stdout.len() as u64) < MOST;
                whole.then_some(())?;
                Some((recording, stdout, stderr))
            };
            let Some((recording, stdout, stderr)) = read() else {
                tested.unread.push(case.title());
                continue;
            };
            let coverage = tested.targets.entry(case.target.clone()).or_default();
            let end = End::new(Some(recording.facts.exit.clone()), Some(&stdout), Some(&stderr));
            let (run, end) = (Run::of(&recording.facts), end.recorded(Some(&recording)));
            tested.surveys[&case.contract].cover(&run, &stdout, &end, coverage);
        }
        tested
    }

    /// The contracts that were looked at, each once, by name, with what they declare.
    pub(crate) fn contracts(&self) -> Vec<(&Contract, &Declared)> {
        let mut found: BTreeMap<&str, (&Contract, &Declared)> = BTreeMap::new();
        for (contract, declared) in self.surveys.values().flat_map(Survey::contracts) {
            found.entry(contract.name()).or_insert((contract, declared));
        }
        found.into_values().collect()
    }

    /// What a target showed of a contract; none when it does not promise it.
    pub(crate) fn coverage(&self, target: &str, contract: &str) -> Option<&Coverage> {
        self.targets.get(target)?.get(contract)
    }

    /// How many clauses can be judged at all, and how many of them a run of any target put to the test.
    pub(crate) fn clauses(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        for (contract, _) in self.contracts() {
            for clause in contract.clauses().iter().filter(|clause| clause.is_judged()) {
                counts.0 += 1;
                let seen = |known: &BTreeMap<String, Coverage>| {
                    known.get(contract.name()).is_some_and(|known| known.clauses.contains(&clause.id))
                };
                counts.1 += usize::from(self.targets.values().any(seen));
            }
        }
        counts
    }
}
