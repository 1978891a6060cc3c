//! The rows of a contract's `[outcome]`, held against what was seen of them and the end of the process.

use crate::outcome::{Hit, Row, Table};

use super::{Basis, Class, Evidence, Process, Verdict, api_error};

/// The rows of a contract, and what a run showed of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) table: &'a Table,
    /// What messages showed, the first of each row.
    pub(crate) hits: &'a [Hit],
}

impl Rows<'_> {
    /// What the first row says that is wanted and holds; rows stand in the order in which classes are decided.
    pub(super) fn first(self, process: &Process<'_>, wanted: impl Fn(&Row) -> bool) -> Option<Verdict> {
        let rows = self.table.rows.iter().enumerate();
        rows.filter(|(_, row)| wanted(row)).find_map(|(number, row)| self.verdict(number, row, process))
    }

    /// What the first row of this class says.
    pub(super) fn of_class(self, process: &Process<'_>, wanted: Class) -> Option<Verdict> {
        self.first(process, |row| class(row) == wanted)
    }

    fn verdict(self, number: usize, row: &Row, process: &Process<'_>) -> Option<Verdict> {
        let hit = self.hits.iter().find(|hit| hit.row == number);
        if row.needs_message && hit.is_none() {
            return None;
        }
        let mut evidence: Vec<Evidence> = hit.map(|hit| hit_evidence(row, hit)).into_iter().collect();
        if !row.exit.is_empty() {
            let code = process.exit.code.filter(|_| process.exit_known)?;
            if !row.exit.contains(&code) {
                return None;
            }
            evidence.push(Evidence::new(row.id.clone(), Basis::Process, code).in_document("exit"));
        }
        if let Some(pattern) = &row.stderr {
            let found = pattern.find(process.stderr)?;
            let words = Evidence::new(row.id.clone(), Basis::Keyword, found.as_str());
            evidence.push(words.in_document("stderr"));
        }
        let detail = row.detail.as_deref();
        let mut verdict = match class(row) {
            Class::Api => {
                let detail = detail.unwrap_or("unknown");
                Verdict::of(Class::Api, Some(detail), evidence).retry(api_error::may_pass(detail))
            }
            class => Verdict::of(class, detail, evidence),
        };
        verdict.resets_at = hit.and_then(|hit| hit.resets_at);
        Some(verdict)
    }
}

/// The class that a row names; the loader of contracts knows the same names.
pub(super) fn class(row: &Row) -> Class {
    row.class.parse().unwrap_or(Class::Error)
}

fn hit_evidence(row: &Row, hit: &Hit) -> Evidence {
    let basis = if row.by_words { Basis::Keyword } else { Basis::Structured };
    Evidence::new(row.id.clone(), basis, hit.value.clone()).at(hit.line, &hit.pointer)
}
