//! Known failures: what is accepted for now, with a reason and perhaps an end.
//!
//! ```toml
//! [[known-failure]]
//! clause = "claw-flat/error-fields"    # a broken clause …
//! case = "claw/mistakes/*"             # a glob; without it any case
//! target = "claw"                      # a glob on its name, with or without @version; without it any target
//! reason = "the fields come with 0.4"
//! link = "https://…"                   # optional
//! expires = 2027-01-31                 # optional: the last day
//!
//! [[known-failure]]
//! failure = "verdict"                  # … or what else a case can fail for
//! message = "expected ok, found crash*"  # a glob; without it whatever the failure says
//! reason = "…"
//! ```
//!
//! What is listed does not fail the gate. An entry that matches nothing any more, or whose day has passed, does: a list
//! that only grows hides what it was made to show.

#[cfg(feature = "cli")]
mod adopt;
mod scope;

#[cfg(feature = "cli")]
use adopt::Update;
pub(crate) use scope::{CaseName, ListedFailure, ListedState, Scope};

use super::compare::{Failure, FailureKind};
use super::event::Word;
use crate::document::{Accepted, Document, FileError, Item, Table};
use crate::schema::Finding;
use crate::text::{did_you_mean, glob};

#[derive(Debug)]
struct KnownFailure {
    subject: Subject,
    /// What the failure says, as a glob.
    message: String,
    target: String,
    case: String,
    accepted: Accepted,
    /// Where in the text of the file it begins.
    #[cfg(feature = "cli")]
    start: usize,
}

/// What an entry accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Clause(String),
    Failure(FailureKind),
}

/// The list of accepted failures, as it counts today.
#[derive(Debug)]
pub(crate) struct KnownFailures {
    entries: Vec<KnownFailure>,
    /// As `YYYY-MM-DD`.
    today: String,
    /// What is added to the list while it is brought up to date.
    #[cfg(feature = "cli")]
    update: Option<Update>,
}

/// Failures that say something about the target: only they can be accepted. What went wrong with the harness or the
/// environment means that nothing was measured, and an evaluation has lists of its own.
fn can_be_known(kind: FailureKind) -> bool {
    use FailureKind as K;
    !matches!(
        kind,
        K::Finding | K::Harness | K::Control | K::NotMeasured | K::Threshold | K::Assertion | K::Trigger
    )
}

impl KnownFailures {
    /// Reads a `known-failures.toml`. `clauses` tells whether an id exists: a misspelt one would never match.
    pub(crate) fn parse(
        file: &str,
        text: &str,
        today: String,
        clauses: &dyn Fn(&str) -> bool,
    ) -> Result<Self, FileError> {
        let mut top = Document::parse(file, text)?;
        let items = top.list("known-failure")?;
        top.finish()?;
        let entries = items.iter().map(|item| KnownFailure::read(item, clauses)).collect::<Result<_, _>>()?;
        Ok(Self {
            entries,
            today,
            #[cfg(feature = "cli")]
            update: None,
        })
    }

    /// Why a broken clause is accepted today, if it is.
    fn reason(&self, subject: &Subject, message: &str, case: &CaseName) -> Option<&str> {
        // Every entry that matches is used, though the first would be enough to accept it.
        let matching = self.entries.iter().filter(|entry| entry.matches(subject, message, case));
        matching
            .filter_map(|entry| entry.accepted.hit(&self.today))
            .fold(None, |first, next| first.or(Some(next)))
    }

    /// Marks the findings of a run that are accepted today with the reason. `expected` are clauses of which somebody else
    /// says that they are broken: for them no entry is needed.
    pub(crate) fn mark(&self, findings: &mut [Finding], case: &CaseName, expected: &[String]) {
        for finding in findings.iter_mut().filter(|finding| !expected.contains(&finding.clause)) {
            let subject = Subject::Clause(finding.clause.clone());
            finding.known = self.reason(&subject, &finding.message, case).map(str::to_owned);
        }
    }

    /// Takes the failures out of a list that are accepted today, each with the reason.
    pub(super) fn take(&self, failures: &mut Vec<Failure>, case: &CaseName) -> Vec<Failure> {
        let mut known = Vec::new();
        for mut failure in std::mem::take(failures) {
            let reason =
                Subject::of(&failure).and_then(|(subject, message)| self.reason(&subject, message, case));
            match reason.map(str::to_owned) {
                Some(reason) => {
                    failure.known = Some(reason);
                    known.push(failure);
                }
                None => failures.push(failure),
            }
        }
        known
    }

    /// What is wrong with the list itself, once all inputs are judged: entries that are expired or matched nothing. What
    /// no clause is about only a run can tell.
    #[cfg(feature = "cli")]
    pub(crate) fn complaints(&self) -> Vec<FileError> {
        let of_clauses = self.entries.iter().filter(|entry| matches!(entry.subject, Subject::Clause(_)));
        of_clauses.filter_map(|entry| entry.accepted.complaint(&entry.title(), &self.today)).collect()
    }

    /// What is wrong with the list after a run: entries that are expired, that matched nothing of what they are about, and
    /// those of which this run cannot tell. `has_run` says which cases were run.
    pub(crate) fn listed(&self, scope: &Scope, has_run: &dyn Fn(&CaseName) -> bool) -> Vec<ListedFailure> {
        let state = |entry: &KnownFailure| {
            let complaint = entry.accepted.complaint(&entry.title(), &self.today)?;
            let state = if entry.accepted.is_expired(&self.today) {
                ListedState::Expired
            } else {
                scope.state(&|case| entry.is_about(case), &|name| glob(&entry.case, name), has_run)
            };
            Some(ListedFailure::new(&complaint, state))
        };
        #[cfg_attr(
            not(feature = "cli"),
            expect(unused_mut, reason = "the command line alone changes a list")
        )]
        let mut listed: Vec<ListedFailure> = self.entries.iter().filter_map(state).collect();
        #[cfg(feature = "cli")]
        if let Some(update) = &self.update {
            // They are taken off the list.
            update.drop_stale(&mut listed);
        }
        listed
    }
}

impl Subject {
    /// What an entry has to name to be about a failure, and what the failure says.
    fn of(failure: &Failure) -> Option<(Self, &str)> {
        if let Some(clause) = &failure.clause {
            let message =
                failure.message.strip_prefix(clause.as_str()).and_then(|rest| rest.strip_prefix(": "));
            return Some((Self::Clause(clause.clone()), message.unwrap_or(&failure.message)));
        }
        match failure.kind {
            Word::Known(kind) if can_be_known(kind) => Some((Self::Failure(kind), &failure.message)),
            _ => None,
        }
    }

    fn read(table: &mut Table<'_>, clauses: &dyn Fn(&str) -> bool) -> Result<Self, FileError> {
        let Some(failure) = table.take("failure") else {
            let clause = table.require("clause", "the clause that is broken, as contract/clause")?;
            return match clause.str()? {
                id if clauses(id) => Ok(Self::Clause(id.to_owned())),
                id => Err(clause.complain(format_args!("there is no clause `{id}`"))),
            };
        };
        if let Some(clause) = table.take("clause") {
            return Err(clause.complain("an entry names a `clause` or a `failure`, not both"));
        }
        let name = failure.str()?;
        match Word::<FailureKind>::read(name) {
            Word::Known(kind) if can_be_known(kind) => Ok(Self::Failure(kind)),
            Word::Known(FailureKind::Finding) => {
                Err(failure.complain("a finding is listed by its clause: write clause = \"contract/clause\""))
            }
            Word::Known(_) => Err(failure.complain(format_args!(
                "`{name}` is no failure of the target: where it happens nothing was measured, and nothing can be accepted"
            ))),
            Word::Unknown(_) => {
                let known: Vec<String> = FailureKind::ALL
                    .into_iter()
                    .filter(|kind| can_be_known(*kind))
                    .map(|kind| Word::from(kind).to_string())
                    .collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Err(failure.complain(format_args!("unknown failure `{name}`{}", did_you_mean(name, &known))))
            }
        }
    }
}

impl KnownFailure {
    fn read(item: &Item<'_>, clauses: &dyn Fn(&str) -> bool) -> Result<Self, FileError> {
        let mut table = item.table()?;
        let subject = Subject::read(&mut table, clauses)?;
        let mut pattern = |key| table.take(key).map(|item| item.text()).transpose();
        let (target, message, case) = (pattern("target")?, pattern("message")?, pattern("case")?);
        // The name that the key had while only `judge` knew it.
        let scenario = table.take("scenario");
        if let (Some(scenario), Some(_)) = (&scenario, &case) {
            return Err(scenario.complain("`scenario` is the older name of `case`: write one of them"));
        }
        let case =
            case.map_or_else(|| scenario.map(|item| item.text()).transpose(), |case| Ok(Some(case)))?;
        let accepted = Accepted::read(item, &mut table)?;
        table.finish()?;
        let any = || "*".to_owned();
        Ok(Self {
            subject,
            message: message.unwrap_or_else(any),
            target: target.unwrap_or_else(any),
            case: case.unwrap_or_else(any),
            accepted,
            #[cfg(feature = "cli")]
            start: item.start(),
        })
    }

    fn matches(&self, subject: &Subject, message: &str, case: &CaseName) -> bool {
        self.subject == *subject && glob(&self.message, message) && self.is_about(case)
    }

    fn is_about(&self, case: &CaseName) -> bool {
        glob(&self.case, &case.case) && case.is_on(|name| glob(&self.target, name))
    }

    fn title(&self) -> String {
        match &self.subject {
            Subject::Clause(clause) => format!("the known failure of {clause}"),
            Subject::Failure(kind) => format!("the known failure `{}`", Word::from(*kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Level;

    const LIST: &str = r#"
[[known-failure]]
clause = "c/a"
target = "claw*"
scenario = "mock_*_text"
reason = "upstream"
link = "https://example.org/1"
expires = 2026-12-31
"#;

    fn finding(clause: &str) -> Finding {
        Finding {
            clause: clause.into(),
            level: Level::Must,
            message: "m".into(),
            line: None,
            offset: None,
            pointer: None,
            seen: None,
            expected: None,
            consequences: Vec::new(),
            known: None,
        }
    }

    fn list(today: &str) -> KnownFailures {
        KnownFailures::parse("known-failures.toml", LIST, today.into(), &|clause| clause == "c/a").unwrap()
    }

    fn name(target: &str) -> CaseName {
        CaseName::new("mock_x_text", target, "")
    }

    #[test]
    fn a_listed_finding_is_accepted_until_its_day() {
        let known = list("2026-12-31");
        let mut findings = [finding("c/a"), finding("c/b")];
        known.mark(&mut findings, &name("claw"), &[]);
        assert_eq!(findings.each_ref().map(Finding::fails), [false, true]);
        assert_eq!(findings[0].known.as_deref(), Some("upstream (https://example.org/1)"));
        assert!(known.complaints().is_empty());
        let (later, mut findings) = (list("2027-01-01"), [finding("c/a")]);
        later.mark(&mut findings, &name("claw"), &[]);
        assert!(findings[0].fails());
        assert!(later.complaints()[0].to_string().contains(":2:1: the known failure of c/a expired"));
    }

    #[test]
    fn an_entry_that_matches_nothing_is_stale() {
        let known = list("2026-01-01");
        known.mark(&mut [finding("c/a")], &name("claude"), &[]);
        known.mark(&mut [finding("c/a")], &name("claw"), &["c/a".to_owned()]);
        assert!(known.complaints()[0].message.contains("matched nothing"));
    }

    #[test]
    fn a_failure_is_known_by_its_kind_and_what_it_says() {
        let text = "[[known-failure]]\nfailure = \"verdict\"\nmessage = \"expected ok, found crash*\"\nreason = \"r\"\n";
        let known = KnownFailures::parse("k", text, "2026-01-01".into(), &|_| true).unwrap();
        let verdict = |found: &str| Failure::new(FailureKind::Verdict, format!("expected ok, found {found}"));
        let mut failures = vec![
            verdict("crash (panic): x"),
            verdict("timeout"),
            Failure::new(FailureKind::Exit, "expected ok, found crash"),
            Failure::new(FailureKind::Harness, "no port"),
        ];
        let taken = known.take(&mut failures, &name("claw"));
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].known.as_deref(), Some("r"));
        assert_eq!(failures.len(), 3);
    }

    #[test]
    fn a_broken_list_says_where() {
        let day = || "2026-01-01".to_owned();
        let error =
            |text: &str| KnownFailures::parse("k.toml", text, day(), &|_| false).unwrap_err().to_string();
        assert!(error(LIST).contains("there is no clause `c/a`"), "{}", error(LIST));
        let ok = |text: &str| KnownFailures::parse("k.toml", text, day(), &|_| true).unwrap_err().to_string();
        assert!(ok(&LIST.replace("2026-12-31", "\"soon\"")).contains("k.toml:8:11: expected a day"));
        for day in ["2026-13-45", "2026-99-99", "2026-02-30"] {
            assert!(
                ok(&LIST.replace("2026-12-31", &format!("{day:?}"))).contains("k.toml:8:11: expected a day"),
                "{day}"
            );
        }
        assert!(ok(&LIST.replace("reason", "raeson")).contains("missing key `reason`"));
        assert!(ok(&LIST.replace("reason", "case = \"x\"\nreason")).contains("write one of them"));
        let kind = |name: &str| LIST.replace("clause = \"c/a\"", &format!("failure = \"{name}\""));
        assert!(ok(&kind("harness")).contains("k.toml:3:11: `harness` is no failure of the target"));
        assert!(ok(&kind("finding")).contains("listed by its clause"));
        assert!(ok(&kind("verdcit")).contains("did you mean `verdict`?"));
        assert!(ok(&LIST.replace("target", "failure = \"exit\"\ntarget")).contains("not both"));
    }
}
