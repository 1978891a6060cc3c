//! Which cases a list could have matched: what was not run says nothing about an entry.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::plan::Planned;
use super::super::suite::Suite;
use crate::document::FileError;

/// A case on a target, as entries name it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CaseName {
    pub(crate) case: String,
    /// The target as it was chosen.
    pub(crate) label: String,
    /// What else it may be called: its name, without and with its version.
    names: Vec<String>,
}

impl CaseName {
    /// A run of a target of this name and version, which may be empty.
    pub(crate) fn new(case: &str, target: &str, version: &str) -> Self {
        let mut names = vec![target.to_owned()];
        if !version.is_empty() {
            names.push(format!("{target}@{version}"));
        }
        Self { case: case.to_owned(), label: target.to_owned(), names }
    }

    pub(crate) fn of(planned: &Planned) -> Self {
        let (name, version) =
            (&planned.target.choice.target.name, planned.target.version_for(&planned.speaks));
        Self { label: planned.target_label().to_owned(), ..Self::new(&planned.case.name, name, &version) }
    }

    /// Whether its target goes by a name that fits.
    pub(super) fn is_on(&self, fits: impl Fn(&str) -> bool) -> bool {
        fits(&self.label) || fits(self.chosen()) || self.names.iter().any(|name| fits(name))
    }

    /// The target as it was chosen, without where it is on this machine.
    fn chosen(&self) -> &str {
        self.label.split_once('=').map_or(self.label.as_str(), |(name, _)| name)
    }

    /// What its target is called in a list that others use too: where it is on this machine is left out.
    #[cfg(feature = "cli")]
    pub(super) fn target(&self) -> &str {
        let chosen = self.chosen();
        let name = self.names.first().map_or(chosen, String::as_str);
        if chosen.starts_with(name) { chosen } else { name }
    }
}

/// All cases that there are, and which of them a run is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    all: BTreeSet<CaseName>,
    /// The names of the project's cases on whatever target; none when it is not known what there is.
    project: Option<BTreeSet<String>>,
    /// Those that were chosen, in whichever part of the run they are.
    selected: BTreeSet<CaseName>,
    /// Those of this part.
    part: BTreeSet<CaseName>,
}

impl Scope {
    /// All of these are run here. `project` is everything that there is, if it is known: an entry about a case that is not
    /// in it is about nothing.
    pub(crate) fn of(all: &[Planned], project: Option<&Suite>) -> Self {
        let all = names(all);
        let named = |suite: &Suite| suite.cases().iter().map(|(case, _)| case.name.clone()).collect();
        Self { selected: all.clone(), part: all.clone(), all, project: project.map(named) }
    }

    /// Only these were chosen.
    #[cfg(feature = "cli")]
    pub(crate) fn select(&mut self, selected: &[Planned]) {
        self.selected = names(selected);
    }

    /// Only these are run here.
    #[cfg(feature = "cli")]
    pub(crate) fn cut(&mut self, part: &[Planned]) {
        self.part = names(part);
    }

    /// What can be said of an entry that matched nothing.
    pub(super) fn state(
        &self,
        is_about: &dyn Fn(&CaseName) -> bool,
        names_case: &dyn Fn(&str) -> bool,
        has_run: &dyn Fn(&CaseName) -> bool,
    ) -> ListedState {
        let mut about = self.all.iter().filter(|case| is_about(case)).peekable();
        if about.peek().is_none() {
            let is_gone =
                self.project.as_ref().is_some_and(|names| !names.iter().any(|name| names_case(name)));
            return if is_gone { ListedState::Stale } else { ListedState::NotRun };
        }
        let mut state = ListedState::Stale;
        for case in about {
            if self.selected.contains(case) && !self.part.contains(case) {
                state = ListedState::Unmatched;
            } else if !has_run(case) {
                return ListedState::NotRun;
            }
        }
        state
    }
}

fn names(planned: &[Planned]) -> BTreeSet<CaseName> {
    planned.iter().map(CaseName::of).collect()
}

/// What a run says of an entry in a list of known failures that matched nothing or has expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListedFailure {
    /// The list as it was named.
    pub file: String,
    /// The line of the entry, from 1.
    pub line: usize,
    pub state: ListedState,
    /// What is wrong with it, in a sentence.
    pub message: String,
}

/// How an entry stands that matched nothing or has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListedState {
    /// Not all of the cases that it is about were run.
    NotRun,
    /// It matched nothing in this part of a run; other parts have cases too that it is about.
    Unmatched,
    /// Every case that it is about was run, and it matched nothing: the run fails.
    Stale,
    /// Its last day is over: the run fails.
    Expired,
}

impl ListedFailure {
    pub(super) fn new(complaint: &FileError, state: ListedState) -> Self {
        let message = match state {
            ListedState::NotRun => {
                "not all of the cases that this known failure is about were run".to_owned()
            }
            _ => complaint.message.clone(),
        };
        Self { file: complaint.file.clone(), line: complaint.line().unwrap_or(1), state, message }
    }

    /// Whether the run fails for it.
    pub(crate) fn fails(&self) -> bool {
        self.state >= ListedState::Stale
    }

    /// What all parts of a run say together: an entry that one of them used is as it should be, and one that all of them
    /// looked for in vain is stale.
    #[cfg(feature = "cli")]
    pub(crate) fn merged(parts: &[&[Self]]) -> Vec<Self> {
        let Some((first, others)) = parts.split_first() else { return Vec::new() };
        let in_all = |entry: &&Self| -> Option<Self> {
            let mut merged = (*entry).clone();
            for part in others {
                let same =
                    part.iter().find(|other| (&other.file, other.line) == (&entry.file, entry.line))?;
                merged.state = match (merged.state, same.state) {
                    (ListedState::Unmatched, ListedState::Unmatched) => ListedState::Unmatched,
                    (ListedState::NotRun, _) | (_, ListedState::NotRun) => ListedState::NotRun,
                    (one, other) => one.max(other),
                };
            }
            if merged.state == ListedState::Unmatched {
                merged.state = ListedState::Stale;
            }
            Some(merged)
        };
        first.iter().filter_map(|entry| in_all(&entry)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str) -> CaseName {
        CaseName::new(name, "claw", "")
    }

    fn scope(all: &[&str], selected: &[&str], part: &[&str]) -> Scope {
        let set = |names: &[&str]| names.iter().map(|name| case(name)).collect();
        let project = all.iter().map(|name| (*name).to_owned()).collect();
        Scope { all: set(all), selected: set(selected), part: set(part), project: Some(project) }
    }

    #[cfg(feature = "cli")]
    #[test]
    fn a_target_goes_by_names_that_others_know() {
        for (label, name, listed) in [
            ("claw=./target/release/claw", "claw", "claw"),
            ("reference+hang=/bin/x", "reference", "reference+hang"),
            ("claude@2.1.3", "claude", "claude@2.1.3"),
            ("own/mine.toml", "mine", "mine"),
        ] {
            let case = CaseName { label: label.into(), ..CaseName::new("a", name, "2.1.3") };
            assert_eq!(case.target(), listed);
            for fits in [listed, label, name, &format!("{name}@2.1.3")] {
                assert!(case.is_on(|known| known == fits), "{label} {fits}");
            }
        }
    }

    #[test]
    fn only_what_was_run_can_be_stale() {
        let state = |scope: &Scope, entry: &str, ran: &[&str]| {
            scope.state(&|case| case.case.starts_with(entry), &|case| case.starts_with(entry), &|name| {
                ran.contains(&name.case.as_str())
            })
        };
        let whole = scope(&["a/1", "a/2", "b"], &["a/1", "a/2", "b"], &["a/1", "a/2", "b"]);
        assert_eq!(state(&whole, "a", &["a/1", "a/2", "b"]), ListedState::Stale);
        assert_eq!(state(&whole, "a", &["a/1"]), ListedState::NotRun);
        assert_eq!(state(&whole, "gone", &[]), ListedState::Stale);
        let filtered = scope(&["a/1", "a/2", "b"], &["a/1"], &["a/1"]);
        assert_eq!(state(&filtered, "a", &["a/1"]), ListedState::NotRun);
        assert_eq!(state(&filtered, "a/1", &["a/1"]), ListedState::Stale);
        let shard = scope(&["a/1", "a/2", "b"], &["a/1", "a/2", "b"], &["a/1", "b"]);
        assert_eq!(state(&shard, "a", &["a/1", "b"]), ListedState::Unmatched);
        assert_eq!(state(&shard, "a", &["b"]), ListedState::NotRun);
        assert_eq!(state(&shard, "b", &["a/1", "b"]), ListedState::Stale);
        let other = Scope { project: None, ..whole };
        assert_eq!(state(&other, "gone", &[]), ListedState::NotRun);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn what_no_part_has_used_is_stale_in_the_whole() {
        use ListedState::{Expired, NotRun, Stale, Unmatched};
        let entry = |line, state| ListedFailure { file: "k".into(), line, state, message: String::new() };
        let one = [
            entry(1, Unmatched),
            entry(2, Unmatched),
            entry(3, Unmatched),
            entry(4, Expired),
            entry(5, Stale),
        ];
        let other = [entry(1, Unmatched), entry(3, NotRun), entry(4, Expired), entry(5, Unmatched)];
        let merged = ListedFailure::merged(&[&one, &other]);
        let states: Vec<_> = merged.iter().map(|entry| (entry.line, entry.state)).collect();
        assert_eq!(states, [(1, Stale), (3, NotRun), (4, Expired), (5, Stale)]);
        assert!(ListedFailure::merged(&[&one, &[]]).is_empty());
    }
}
