//! `--update-known-failures`: what fails today goes on the list, and what no longer fails is taken off it. Everything
//! else in the file stays as somebody wrote it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{CaseName, KnownFailures, ListedFailure, ListedState, Subject};
use crate::document::{FileError, quoted};
use crate::run::compare::{Failure, FailureKind};
use crate::run::event::{CaseFinished, Status, Word};

/// The head of a list that did not exist.
const HEAD: &str = "\
# What `clawgate run` accepts for now. An entry that matches nothing any more, or whose day is over, fails the run.
# Say in each `reason` why it stands; `link = \"https://…\"` and `expires = 2027-01-31` say where it is followed up and
# until when. `clawgate run --update-known-failures` adds what fails and takes off what is mended.
";

/// Why something is on the list, until somebody says it better.
const REASON: &str = "failed when it was put on this list; say why that is accepted";

/// What is to be changed in a list.
#[derive(Debug, Default)]
pub(crate) struct Update(Mutex<Changes>);

#[derive(Debug, Default)]
struct Changes {
    new: BTreeSet<NewEntry>,
    /// The lines of entries that matched nothing.
    stale: BTreeSet<usize>,
}

/// An entry that is added, in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct NewEntry {
    target: String,
    case: String,
    /// The key that says what is accepted, and its value.
    subject: (&'static str, String),
    message: Option<String>,
}

/// A list as it is after an update.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Updated {
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    /// How many entries it has.
    pub(crate) entries: usize,
}

impl Update {
    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out the entries that will not be in the list any more.
    pub(super) fn drop_stale(&self, listed: &mut Vec<ListedFailure>) {
        let stale = |entry: &mut ListedFailure| entry.state == ListedState::Stale;
        self.changes().stale.extend(listed.extract_if(.., stale).map(|entry| entry.line));
    }
}

/// Whether a failure may be put on a list without anybody having looked at it. A snapshot is brought up to date instead,
/// and a credential that was printed is nothing to get used to.
fn is_adopted(subject: &Subject) -> bool {
    !matches!(subject, Subject::Failure(FailureKind::Golden | FailureKind::Secret))
}

impl KnownFailures {
    /// From now on what fails is put on the list.
    pub(crate) fn updating(self) -> Self {
        Self { update: Some(Update::default()), ..self }
    }

    /// Whether it is brought up to date.
    pub(crate) fn is_updating(&self) -> bool {
        self.update.is_some()
    }

    /// Puts the failures of a case on the list, if that is what is wanted; it then passes.
    pub(in crate::run) fn adopt(&self, name: &CaseName, case: &mut CaseFinished) {
        let Some(update) = &self.update else { return };
        for mut failure in std::mem::take(&mut case.failures) {
            let subject = Subject::of(&failure).filter(|(subject, _)| is_adopted(subject));
            // Whoever set a last day wants to decide again when it is over.
            let is_expired = subject.as_ref().is_some_and(|(subject, message)| {
                self.entries.iter().any(|entry| entry.matches(subject, message, name))
            });
            let Some((subject, _)) = subject.filter(|_| !is_expired) else {
                case.failures.push(failure);
                continue;
            };
            update.changes().new.insert(NewEntry {
                target: name.target().to_owned(),
                case: name.case.clone(),
                message: lasting(&failure),
                subject: subject.written(),
            });
            for finding in
                case.findings.iter_mut().filter(|finding| failure.clause.as_ref() == Some(&finding.clause))
            {
                finding.known.get_or_insert_with(|| REASON.to_owned());
            }
            failure.known = Some(REASON.to_owned());
            case.known.push(failure);
        }
        let CaseFinished { failures, clauses, .. } = case;
        clauses
            .retain(|broken| failures.iter().any(|failure| failure.clause.as_ref() == Some(&broken.clause)));
        if case.failures.is_empty() {
            case.status = Status::Pass;
            case.process = None;
        }
    }

    /// The list as it is after a run; none when it is as it was. `text` is what it was read from, and `file` its name.
    pub(crate) fn updated(&self, file: &str, text: &str) -> Result<Option<Updated>, FileError> {
        let Some(update) = &self.update else { return Ok(None) };
        let changes = update.changes();
        if changes.new.is_empty() && changes.stale.is_empty() {
            return Ok(None);
        }
        let starts: Vec<usize> = self.entries.iter().map(|entry| start_of_block(text, entry.start)).collect();
        if self.entries.iter().any(|entry| !text[entry.start..].starts_with("[[")) {
            let reason =
                "cannot be brought up to date: write each entry as a table of its own, [[known-failure]]";
            return Err(FileError::whole(file, reason));
        }
        let head = text[..starts.first().copied().unwrap_or(text.len())].trim_end();
        let mut new = changes.new.iter().peekable();
        let mut blocks: Vec<String> = Vec::new();
        blocks.push(if text.trim().is_empty() { HEAD.trim_end().to_owned() } else { head.to_owned() });
        for (number, entry) in self.entries.iter().enumerate() {
            let own = NewEntry {
                target: entry.target.clone(),
                case: entry.case.clone(),
                subject: entry.subject.written(),
                message: Some(entry.message.clone()).filter(|message| message != "*"),
            };
            while let Some(earlier) = new.next_if(|new| **new < own) {
                blocks.push(earlier.to_toml());
            }
            let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..entry.start]).count() + 1;
            if !changes.stale.contains(&line) {
                let end = starts.get(number + 1).copied().unwrap_or(text.len());
                blocks.push(text[starts[number]..end].trim_end().to_owned());
            }
        }
        blocks.extend(new.map(NewEntry::to_toml));
        blocks.retain(|block| !block.is_empty());
        Ok(Some(Updated {
            text: blocks.join("\n\n") + "\n",
            added: changes.new.len(),
            removed: changes.stale.len(),
            entries: self.entries.len() - changes.stale.len() + changes.new.len(),
        }))
    }
}

impl Subject {
    fn written(&self) -> (&'static str, String) {
        match self {
            Self::Clause(clause) => ("clause", clause.clone()),
            Self::Failure(kind) => ("failure", Word::from(*kind).to_string()),
        }
    }
}

impl NewEntry {
    fn to_toml(&self) -> String {
        let (key, value) = &self.subject;
        let message =
            self.message.as_ref().map_or(String::new(), |message| format!("message = {}\n", quoted(message)));
        format!(
            "[[known-failure]]\n{key} = {}\n{message}case = {}\ntarget = {}\nreason = {}",
            quoted(value),
            quoted(&self.case),
            quoted(&self.target),
            quoted(REASON)
        )
    }
}

/// What a failure says every time it happens, as a glob: another outcome of the same case is another failure. None where
/// that differs from run to run.
fn lasting(failure: &Failure) -> Option<String> {
    use FailureKind as K;
    let kind = failure.kind.known().filter(|_| failure.clause.is_none())?;
    match kind {
        // The evidence may hold anything.
        K::Verdict => {
            let evidence = failure.message.find(": ").and_then(|at| failure.message[..at].rfind(" ("));
            Some(
                evidence
                    .map_or_else(|| failure.message.clone(), |at| format!("{} (*", &failure.message[..at])),
            )
        }
        K::Exit
        | K::Advisory
        | K::Stale
        | K::Requests
        | K::UnusedTurn
        | K::Step
        | K::File
        | K::Stdout
        | K::Stderr => Some(failure.message.clone()),
        _ => None,
    }
}

/// Where an entry begins with the comment that stands right above it.
fn start_of_block(text: &str, entry: usize) -> usize {
    let mut start = entry;
    for line in text[..entry].split_inclusive('\n').rev() {
        if !line.trim_start().starts_with('#') {
            break;
        }
        start -= line.len();
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> KnownFailures {
        KnownFailures::parse("k.toml", text, "2026-01-01".into(), &|_| true).unwrap().updating()
    }

    fn failed(failures: Vec<Failure>) -> CaseFinished {
        CaseFinished { failures, ..CaseFinished::default() }
    }

    fn finding(clause: &str) -> Failure {
        let message = format!("{clause}: m");
        Failure { clause: Some(clause.into()), ..Failure::new(FailureKind::Finding, message) }
    }

    const KEPT: &str = "# Ours.\n\n# About b.\n[[known-failure]] # why\nclause = \"c/b\"\ncase = \"b\"\nreason = '''\n[[known-failure]]\n'''\n\n\n\
                        [[known-failure]]\nclause = \"c/gone\"\ncase = \"c\"\nreason = \"r\"\n";

    #[test]
    fn a_list_keeps_what_somebody_wrote() {
        let known = list(KEPT);
        for (case, clause) in [("d", "c/a"), ("a", "c/b"), ("a", "c/a"), ("a", "c/a")] {
            let mut case_finished = failed(vec![finding(clause)]);
            known.adopt(&CaseName::new(case, "*", ""), &mut case_finished);
            assert!(case_finished.status == Status::Pass && case_finished.known.len() == 1);
        }
        known.update.as_ref().unwrap().changes().stale.insert(12);
        let updated = known.updated("k.toml", KEPT).unwrap().unwrap();
        assert_eq!((updated.added, updated.removed, updated.entries), (3, 1, 4));
        insta::assert_snapshot!(updated.text, @r#"
        # Ours.

        [[known-failure]]
        clause = "c/a"
        case = "a"
        target = "*"
        reason = "failed when it was put on this list; say why that is accepted"

        [[known-failure]]
        clause = "c/b"
        case = "a"
        target = "*"
        reason = "failed when it was put on this list; say why that is accepted"

        # About b.
        [[known-failure]] # why
        clause = "c/b"
        case = "b"
        reason = '''
        [[known-failure]]
        '''

        [[known-failure]]
        clause = "c/a"
        case = "d"
        target = "*"
        reason = "failed when it was put on this list; say why that is accepted"
        "#);
        assert_eq!(list(&updated.text).updated("k.toml", &updated.text).unwrap(), None);
        assert_eq!(list(&updated.text).entries.len(), 4);
    }

    #[test]
    fn only_what_the_target_does_is_adopted() {
        use FailureKind::{Exit, Golden, Harness, Secret, Verdict};
        let known = list("[[known-failure]]\nfailure = \"exit\"\nreason = \"r\"\nexpires = 2001-01-01\n");
        let kinds = [Verdict, Harness, Golden, Secret, Exit];
        let mut case = failed(
            kinds.map(|kind| Failure::new(kind, "expected ok, found api (unknown) (status: 1)")).to_vec(),
        );
        known.adopt(&CaseName::new("a", "t", "1"), &mut case);
        let left: Vec<String> = case.failures.iter().map(|failure| failure.kind.to_string()).collect();
        assert_eq!(left, ["harness", "golden", "secret", "exit"]);
        assert_eq!(case.status, Status::Fail);
        let text = known.updated("k", "[[known-failure]]\n").unwrap().unwrap().text;
        assert!(text.contains("message = \"expected ok, found api (unknown) (*\"\n"), "{text}");
    }

    #[test]
    fn a_list_in_one_line_is_not_torn_apart() {
        let text = "known-failure = [{ clause = \"c/a\", reason = \"r\" }]\n";
        let known = list(text);
        known.adopt(&CaseName::new("a", "t", ""), &mut failed(vec![finding("c/b")]));
        assert!(known.updated("k", text).unwrap_err().to_string().contains("[[known-failure]]"));
    }
}
