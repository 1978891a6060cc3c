//! A finished case beside its golden snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::compare::{Failure, FailureKind};
use super::plan::Planned;
use crate::golden::{
    Checked, Difference, Fingerprint, Mode, Normalised, Outcome, Store, StoreError, Volatile,
};
use crate::recording::Recording;
use crate::shell::shell_word;
#[cfg(feature = "cli")]
use crate::text::Masker;
use crate::text::printable;

/// Where snapshots are when nobody says otherwise.
pub(crate) const FOLDER: &str = "golden";

/// How runs are compared with their snapshots.
#[derive(Debug, Clone)]
pub(crate) struct GoldenOptions {
    pub store: Store,
    pub mode: Mode,
    /// Whether a target that has no snapshots at all is left alone.
    pub known_only: bool,
    /// Whether a case may be without a snapshot.
    pub allow_missing: bool,
}

/// The snapshots that the cases of a run are compared with, as they were before the first target started.
#[derive(Debug, Clone)]
pub(crate) struct Golden {
    options: GoldenOptions,
    /// The targets whose runs are compared.
    targets: BTreeSet<String>,
    notes: Arc<Mutex<Notes>>,
}

/// What a run knows of its snapshots.
#[derive(Debug, Default)]
struct Notes {
    /// Each as it was at the beginning, or as this run has written it.
    known: BTreeMap<PathBuf, Fingerprint>,
    /// The repetition of a case that was finished first.
    first: BTreeMap<PathBuf, u32>,
    /// What this run has put beside a snapshot, and which repetition did.
    waiting: BTreeMap<PathBuf, u32>,
    /// How many runs were as their snapshots say.
    same: usize,
    written: BTreeMap<PathBuf, Written>,
}

/// A snapshot that a run has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Written {
    /// Whether there was one before.
    pub replaced: bool,
    /// Whether the case passes but for its snapshot.
    pub as_expected: bool,
}

/// What became of the snapshots of a run.
#[derive(Debug, Default)]
pub(crate) struct GoldenSummary {
    pub same: usize,
    pub written: BTreeMap<PathBuf, Written>,
}

/// Whether a text holds what looks like a credential, whoever printed it.
#[cfg(feature = "cli")]
pub(crate) fn is_secret(text: &str) -> bool {
    Masker::default().mask(text) != text
}

impl Notes {
    fn note(&mut self, planned: &Planned, path: &Path, checked: &Checked, as_expected: bool) {
        match checked.outcome {
            Outcome::Same => self.same += 1,
            Outcome::Updated { replaced } => {
                self.written.insert(path.to_owned(), Written { replaced, as_expected });
                if let Ok(fingerprint) = Fingerprint::at(path) {
                    self.known.insert(path.to_owned(), fingerprint);
                }
            }
            _ => {}
        }
        if matches!(checked.waits, Ok(true)) {
            self.waiting.insert(path.to_owned(), planned.repetition);
        }
    }
}

impl Golden {
    /// Looks at the snapshots of these cases. Whatever a target does to them later counts for nothing.
    pub(crate) fn start(options: GoldenOptions, planned: &[Planned]) -> Result<Self, StoreError> {
        let (mut targets, mut notes) = (BTreeSet::new(), Notes::default());
        for case in planned {
            let target = &case.target.choice.target.name;
            if options.known_only && !options.store.knows(target) {
                continue;
            }
            targets.insert(target.clone());
            let path = options.store.path(target, &case.case.name);
            let fingerprint = Fingerprint::at(&path)?;
            notes.known.insert(path, fingerprint);
        }
        Ok(Self { options, targets, notes: Arc::new(Mutex::new(notes)) })
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it writes snapshots.
    pub(crate) fn writes(&self) -> bool {
        self.options.mode == Mode::Update
    }

    pub(crate) fn folder(&self) -> &Path {
        self.options.store.root()
    }

    /// What became of the snapshots, once every case has ended.
    pub(crate) fn finish(&self) -> GoldenSummary {
        let notes = self.notes();
        GoldenSummary { same: notes.same, written: notes.written.clone() }
    }

    /// What to say of each snapshot that somebody else changed while the run went on.
    pub(super) fn touched(&self) -> Vec<String> {
        let is_other =
            |(path, known): &(&PathBuf, &Fingerprint)| Fingerprint::at(path).ok().as_ref() != Some(known);
        let told = |(path, _): (&PathBuf, _)| StoreError::Touched { path: path.clone() }.to_string();
        self.notes().known.iter().filter(is_other).map(told).collect()
    }

    /// What is wrong with a run; `as_expected` when nothing else is.
    pub(super) fn compare(
        &self,
        planned: &Planned,
        recording: &Recording,
        volatile: &Volatile,
        as_expected: bool,
    ) -> Option<Failure> {
        let target = &planned.target.choice.target;
        if !self.targets.contains(&target.name) || planned.case.golden.skip.is_some() {
            return None;
        }
        let store = &self.options.store;
        let owner = planned.case.source.as_ref().map(|source| store.owner(Path::new(&source.file)));
        let run = Normalised::new(recording, volatile).owned_by(owner);
        let path = store.path(&recording.facts.target, &recording.facts.scenario);
        let mut notes = self.notes();
        // A snapshot that nobody looked at before the targets started cannot be trusted.
        let at_start = notes.known.get(&path).copied().unwrap_or(Fingerprint::NONE);
        let mode = self.mode(planned, &mut notes, &path);
        // Whoever writes a snapshot is done before another repetition is compared with it.
        let held = (mode == Mode::Update).then_some(notes);
        let checked = store.check(&run, mode, at_start);
        match checked {
            Ok(checked) => {
                let mut notes = held.unwrap_or_else(|| self.notes());
                notes.note(planned, &path, &checked, as_expected);
                drop(notes);
                self.told(planned, &path, checked)
            }
            Err(error) => Some(Failure::new(FailureKind::Golden, printable(&error.to_string()).into_owned())),
        }
    }

    /// What is done about a difference of this case.
    fn mode(&self, planned: &Planned, notes: &mut Notes, path: &Path) -> Mode {
        let first = *notes.first.entry(path.to_owned()).or_insert(planned.repetition);
        let waits_for_another = notes.waiting.get(path).is_some_and(|other| *other != planned.repetition);
        match self.options.mode {
            // Further repetitions show whether the first one can be repeated.
            Mode::Update if planned.repetition != first => Mode::ReadOnly,
            // A misbehaviour shares its target's snapshots, to be caught by them; it must not become one.
            _ if planned.target.choice.misbehaviour.is_some() => Mode::ReadOnly,
            // What another repetition found still waits, whatever this one finds.
            Mode::Check if waits_for_another => Mode::ReadOnly,
            mode => mode,
        }
    }

    /// What to say of a run, and what to do about it.
    fn told(&self, planned: &Planned, path: &Path, checked: Checked) -> Option<Failure> {
        let place = path.display();
        let next = self.next(planned, path, &checked);
        let (message, diff) = match checked.outcome {
            Outcome::Same | Outcome::Updated { .. } => return None,
            Outcome::New if self.options.allow_missing => return None,
            Outcome::New => (format!("there is no {place}{next}; --allow-missing accepts that"), Vec::new()),
            Outcome::Unusable(error) => (format!("{error}{next}"), Vec::new()),
            Outcome::Changed(difference) => {
                (format!("{place} {}{next}", told(&difference)), difference.lines())
            }
        };
        Some(Failure { diff, ..Failure::new(FailureKind::Golden, message) })
    }

    /// What the user can do about a difference; nothing where no command would help.
    fn next(&self, planned: &Planned, path: &Path, checked: &Checked) -> String {
        let root = self.options.store.root();
        let folder = match root.to_str() {
            Some(FOLDER) | None => String::new(),
            Some(folder) => format!(" --golden-dir {}", shell_word(folder)),
        };
        let learn = || format!("clawgate golden learn-volatile {}", planned.as_case());
        let inside = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let waits = match &checked.waits {
            Err(error) => return format!("; what was found could not be put beside it: {error}"),
            Ok(waits) => *waits || self.notes().waiting.contains_key(path),
        };
        let decide = if planned.target.choice.misbehaviour.is_some() {
            return "; it misbehaves on purpose, so nothing waits for a decision".to_owned();
        } else if waits {
            format!("; decide with: clawgate golden review {}{folder}", shell_word(&inside))
        } else if self.options.mode == Mode::Update {
            return format!("; this repetition differs from the first: find out what does with: {}", learn());
        } else if self.options.mode == Mode::Check {
            return String::new();
        } else {
            let replay = planned.replay();
            format!(
                "; CI is set, so nothing was written: at home, take it over with: {replay} --golden update{folder}"
            )
        };
        match &checked.outcome {
            Outcome::Changed(Difference { is_repeated: true, .. }) => format!(
                "{decide}; a difference in this place was accepted before: if the target did not change since, it differs \
                 from run to run, and this finds out: {}",
                learn()
            ),
            _ => decide,
        }
    }
}

fn told(difference: &Difference) -> String {
    let shown = |line: &Option<String>| match line {
        Some(line) => format!("`{}`", printable(&line.trim().chars().take(120).collect::<String>())),
        None => "nothing".to_owned(),
    };
    let lines = match difference.removed.max(difference.added) {
        1 => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    format!(
        "differs in {lines}, first at line {}: expected {}, found {}",
        difference.line,
        shown(&difference.first_removed),
        shown(&difference.first_added)
    )
}
