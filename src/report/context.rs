//! What reports need besides the events: where the repository is, and what the clauses say.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::run::{BrokenClause, CaseFinished, Finding, Source};
use crate::schema::{Contract, bundle};

/// Where a report is made.
#[derive(Debug, Default)]
pub struct Context {
    /// The working directory, which paths in the events start from.
    here: PathBuf,
    /// The root of the repository, which paths in reports start from.
    root: PathBuf,
    catalogue: RefCell<HashMap<String, HashMap<String, Clause>>>,
}

/// What the catalogue says of a clause.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Clause {
    /// The statement, in one sentence.
    pub text: String,
    pub why: String,
    /// How to keep it.
    pub fix: String,
    /// How much it weighs.
    pub level: String,
    /// The document that says so.
    pub source: String,
    /// The contract file and the line there.
    pub place: Option<Source>,
}

impl Context {
    /// A context whose repository is the nearest one around a directory.
    pub fn new(here: PathBuf) -> Self {
        let root = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned();
        Self { here, root, catalogue: RefCell::default() }
    }

    /// The folder that paths in the events start from.
    pub(super) fn here(&self) -> &Path {
        &self.here
    }

    /// A path of an event, from where we are.
    pub fn path(&self, named: &str) -> PathBuf {
        self.here.join(named)
    }

    /// A path from the root of the repository; none when it is outside.
    pub fn in_repository(&self, named: &str) -> Option<String> {
        let mut whole = PathBuf::new();
        for part in self.here.join(named).components() {
            match part {
                Component::ParentDir => _ = whole.pop(),
                Component::CurDir => {}
                other => whole.push(other),
            }
        }
        let inside = whole.strip_prefix(&self.root).ok()?.to_str()?;
        Some(inside.replace('\\', "/"))
    }

    /// Where a reviewer should look: at the scenario if the repository has it, else at the contract's clause, else at
    /// the configuration.
    pub fn place(&self, case: &CaseFinished, finding: Option<&Finding>) -> Option<Source> {
        let scenario = case.source.as_ref().and_then(|source| self.existing(source));
        let clause = || {
            let clause = self.clause(&finding?.clause)?;
            clause.place.as_ref().and_then(|place| self.existing(place))
        };
        scenario.or_else(clause).or_else(|| self.existing(&Source::new("clawgate.toml", 1)))
    }

    /// The line of the recording that a case or a finding is about.
    pub fn place_in_recording(&self, case: &CaseFinished, finding: Option<&Finding>) -> Option<Source> {
        let stdout = format!("{}/stdout", case.recording.as_deref()?);
        let line = finding.and_then(|finding| finding.line).unwrap_or(1);
        self.existing(&Source::new(&stdout, line as usize))
    }

    /// A place from the root of the repository, if there is such a file.
    fn existing(&self, source: &Source) -> Option<Source> {
        let path = self.in_repository(&source.file)?;
        self.root.join(&path).is_file().then(|| Source::new(&path, source.line.max(1)))
    }

    /// What a clause says that a case breaks: as the run tells it, or, where an older clawgate wrote the run down, as the
    /// catalogue does.
    pub(super) fn broken(&self, case: &CaseFinished, id: &str) -> BrokenClause {
        let told = case.clauses.iter().find(|known| known.clause == id);
        told.cloned().unwrap_or_else(|| {
            let clause = self.clause(id).unwrap_or_default();
            BrokenClause { text: clause.text, fix: clause.fix, ..BrokenClause::unknown(id) }
        })
    }

    /// What a clause says, if it is a built-in one or of a contract in a directory.
    pub fn clause(&self, id: &str) -> Option<Clause> {
        let (contract, clause) = id.rsplit_once('/')?;
        let mut catalogue = self.catalogue.borrow_mut();
        catalogue.entry(contract.to_owned()).or_insert_with(|| clauses(contract)).get(clause).cloned()
    }
}

fn clauses(contract: &str) -> HashMap<String, Clause> {
    let Some(loaded) = bundle(contract).ok().and_then(|bundle| Contract::load(&bundle).ok()) else {
        return HashMap::new();
    };
    let folder =
        if Path::new(contract).is_dir() { contract.to_owned() } else { format!("schemas/{contract}") };
    let entry = |clause: &crate::schema::Clause| {
        let known = Clause {
            text: clause.text.clone(),
            why: clause.why.clone(),
            fix: clause.fix.clone(),
            level: clause.level.name().to_owned(),
            source: clause.source.clone(),
            place: Some(Source::new(&format!("{folder}/contract.toml"), clause.line)),
        };
        (clause.id.clone(), known)
    };
    loaded.clauses().iter().map(entry).collect()
}
