//! Known failures: findings that are accepted for now, with a reason and an end.
//!
//! A listed finding does not fail the gate. An entry that matches nothing any more, or whose day has passed, does: a
//! list that only grows hides what it was made to show.

use super::finding::Finding;
use super::tree::{FileError, Node, Tree};
use crate::text::glob;
use crate::time::is_day;

/// One accepted failure.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KnownFailure {
    /// The clause, `<contract>/<clause>`.
    pub clause: String,
    /// The target, as a glob.
    pub target: String,
    /// The scenario, as a glob.
    pub scenario: String,
    /// Why it is accepted.
    pub reason: String,
    /// Where it is followed up.
    pub link: String,
    /// The last day it is accepted, as `YYYY-MM-DD`.
    pub expires: String,
    /// The line of the file.
    pub line: usize,
    used: bool,
}

/// The list of accepted failures.
#[derive(Debug, Default)]
pub struct KnownFailures {
    file: String,
    entries: Vec<KnownFailure>,
}

impl KnownFailures {
    /// Reads a `known-failures.toml`. `clauses` tells whether an id exists: a misspelt one would never match.
    pub fn parse(file: &str, text: &str, clauses: &dyn Fn(&str) -> bool) -> Result<Self, FileError> {
        let tree = Tree::parse(file, text)?;
        let top = tree.fields();
        let nodes = top.get("known-failure").map_or(Ok(Vec::new()), |node: Node<'_>| node.list())?;
        top.done()?;
        let mut entries = Vec::new();
        for node in nodes {
            let fields = node.fields()?;
            let clause = fields.need("clause")?;
            if !clauses(clause.str()?) {
                return Err(clause.error(format_args!("there is no clause `{}`", clause.str()?)));
            }
            let expires = fields.need("expires")?;
            let day = expires.json()?.as_str().unwrap_or_default().to_string();
            if !is_day(&day) {
                return Err(expires.error("expected a day such as 2026-12-31"));
            }
            let glob = |key| fields.get(key).map_or(Ok("*".to_string()), |node: Node<'_>| node.text());
            entries.push(KnownFailure {
                clause: clause.text()?,
                target: glob("target")?,
                scenario: glob("scenario")?,
                reason: fields.need("reason")?.text()?,
                link: fields.need("link")?.text()?,
                expires: day,
                line: node.line(),
                used: false,
            });
            fields.done()?;
        }
        Ok(Self { file: file.to_string(), entries })
    }

    /// Marks the findings of a run that are accepted today (`YYYY-MM-DD`) with the reason.
    pub fn mark(&mut self, findings: &mut [Finding], target: &str, scenario: &str, today: &str) {
        for finding in findings {
            for entry in &mut self.entries {
                if entry.clause == finding.clause
                    && glob(&entry.target, target)
                    && glob(&entry.scenario, scenario)
                {
                    entry.used = true;
                    if entry.expires.as_str() >= today {
                        finding.known = Some(entry.reason.clone());
                    }
                }
            }
        }
    }

    /// What is wrong with the list itself, once all runs are judged: entries that are expired or matched nothing.
    pub fn complaints(&self, today: &str) -> Vec<FileError> {
        let complaint = |entry: &KnownFailure| {
            if entry.expires.as_str() < today {
                let reason = format!("the known failure of {} expired on {}", entry.clause, entry.expires);
                Some(FileError::at(&self.file, entry.line, reason))
            } else if entry.used {
                None
            } else {
                let reason = format!("the known failure of {} matched nothing: remove it", entry.clause);
                Some(FileError::at(&self.file, entry.line, reason))
            }
        };
        self.entries.iter().filter_map(complaint).collect()
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
            known.complaints("2027-01-01")[0].to_string().contains(":2: the known failure of c/a expired")
        );
    }

    #[test]
    fn an_entry_that_matches_nothing_is_stale() {
        let mut known = list();
        known.mark(&mut [finding("c/a")], "claude", "mock_x_text", "2026-01-01");
        assert!(known.complaints("2026-01-01")[0].reason.contains("matched nothing"));
    }

    #[test]
    fn a_broken_list_says_where() {
        let error = |text: &str| KnownFailures::parse("k.toml", text, &|_| false).unwrap_err().to_string();
        assert!(error(LIST).contains("there is no clause `c/a`"), "{}", error(LIST));
        let ok = |text: &str| KnownFailures::parse("k.toml", text, &|_| true).unwrap_err().to_string();
        assert!(ok(&LIST.replace("2026-12-31", "\"soon\"")).contains("k.toml:8: expected a day"));
        for day in ["2026-13-45", "2026-99-99", "2026-02-30"] {
            assert!(
                ok(&LIST.replace("2026-12-31", &format!("{day:?}"))).contains("k.toml:8: expected a day"),
                "{day}"
            );
        }
        assert!(ok(&LIST.replace("reason", "raeson")).contains("`reason` is missing"));
    }
}
