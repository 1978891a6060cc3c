//! Known failures: findings that are accepted for now, with a reason and an end.
//!
//! A listed finding does not fail the gate. An entry that matches nothing any more, or whose day has passed, does: a
//! list that only grows hides what it was made to show.

use super::finding::Finding;
use crate::document::{Accepted, Document, FileError, Item};
use crate::text::glob;

#[derive(Debug)]
struct KnownFailure {
    clause: String,
    /// The target, as a glob.
    target: String,
    /// The scenario, as a glob.
    scenario: String,
    accepted: Accepted,
}

/// The list of accepted failures.
#[derive(Debug, Default)]
pub(crate) struct KnownFailures(Vec<KnownFailure>);

impl KnownFailures {
    /// Reads a `known-failures.toml`. `clauses` tells whether an id exists: a misspelt one would never match.
    pub(crate) fn parse(file: &str, text: &str, clauses: &dyn Fn(&str) -> bool) -> Result<Self, FileError> {
        let mut top = Document::parse(file, text)?;
        let items = top.list("known-failure")?;
        top.finish()?;
        let entry = |item: Item<'_>| {
            let mut table = item.table()?;
            let clause = table.require("clause", "the clause that is broken, as contract/clause")?;
            if !clauses(clause.str()?) {
                return Err(clause.complain(format_args!("there is no clause `{}`", clause.str()?)));
            }
            let mut pattern = |key| table.take(key).map_or(Ok("*".to_owned()), |item| item.text());
            let (target, scenario) = (pattern("target")?, pattern("scenario")?);
            let accepted = Accepted::read(&item, &mut table)?;
            table.finish()?;
            Ok(KnownFailure { clause: clause.text()?, target, scenario, accepted })
        };
        items.into_iter().map(entry).collect::<Result<_, _>>().map(Self)
    }

    /// Marks the findings of a run that are accepted today (`YYYY-MM-DD`) with the reason.
    pub(crate) fn mark(&mut self, findings: &mut [Finding], target: &str, scenario: &str, today: &str) {
        for finding in findings {
            for entry in &mut self.0 {
                if entry.clause == finding.clause
                    && glob(&entry.target, target)
                    && glob(&entry.scenario, scenario)
                    && let Some(reason) = entry.accepted.hit(today)
                {
                    finding.known = Some(reason.to_owned());
                }
            }
        }
    }

    /// What is wrong with the list itself, once all runs are judged: entries that are expired or matched nothing.
    pub(crate) fn complaints(&self, today: &str) -> Vec<FileError> {
        let complaint = |entry: &KnownFailure| {
            entry.accepted.complaint(&format!("the known failure of {}", entry.clause), today)
        };
        self.0.iter().filter_map(complaint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Evidence, Level};
    use super::*;

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
        Evidence::default().finding(clause.into(), Level::Must)
    }

    fn list() -> KnownFailures {
        KnownFailures::parse("known-failures.toml", LIST, &|clause| clause == "c/a").unwrap()
    }

    #[test]
    fn a_listed_finding_is_accepted_until_its_day() {
        let mut known = list();
        let mut findings = [finding("c/a"), finding("c/b")];
        known.mark(&mut findings, "claw", "mock_x_text", "2026-12-31");
        assert_eq!(findings.each_ref().map(Finding::fails), [false, true]);
        assert_eq!(findings[0].known.as_deref(), Some("upstream"));
        assert!(known.complaints("2026-12-31").is_empty());
        let mut later = [finding("c/a")];
        known.mark(&mut later, "claw", "mock_x_text", "2027-01-01");
        assert!(later[0].fails());
        assert!(
            known.complaints("2027-01-01")[0].to_string().contains(":2:1: the known failure of c/a expired")
        );
    }

    #[test]
    fn an_entry_that_matches_nothing_is_stale() {
        let mut known = list();
        known.mark(&mut [finding("c/a")], "claude", "mock_x_text", "2026-01-01");
        assert!(known.complaints("2026-01-01")[0].message.contains("matched nothing"));
    }

    #[test]
    fn a_broken_list_says_where() {
        let error = |text: &str| KnownFailures::parse("k.toml", text, &|_| false).unwrap_err().to_string();
        assert!(error(LIST).contains("there is no clause `c/a`"), "{}", error(LIST));
        let ok = |text: &str| KnownFailures::parse("k.toml", text, &|_| true).unwrap_err().to_string();
        assert!(ok(&LIST.replace("2026-12-31", "\"soon\"")).contains("k.toml:8:11: expected a day"));
        for day in ["2026-13-45", "2026-99-99", "2026-02-30"] {
            assert!(
                ok(&LIST.replace("2026-12-31", &format!("{day:?}"))).contains("k.toml:8:11: expected a day"),
                "{day}"
            );
        }
        assert!(ok(&LIST.replace("reason", "raeson")).contains("missing key `reason`"));
    }
}
