//! What the clauses say that a case breaks, so that whoever reads of it need not look them up.

use serde::{Deserialize, Serialize};

use super::compare::Failure;
use crate::judge::Contracts;
use crate::shell::shell_word;

/// A clause that a case fails on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BrokenClause {
    /// As findings name it.
    pub clause: String,
    /// What it says, in one sentence.
    #[serde(default)]
    pub text: String,
    /// How to keep it; empty where the contract does not say.
    #[serde(default)]
    pub fix: String,
    /// The command that explains it.
    #[serde(default)]
    pub explain: String,
}

impl BrokenClause {
    /// What a contract says of a clause.
    pub(crate) fn of(id: &str, contracts: &Contracts) -> Self {
        let clause = contracts.clause(id);
        Self {
            clause: id.to_owned(),
            text: clause.map(|clause| clause.text.clone()).unwrap_or_default(),
            fix: clause.map(|clause| clause.fix.clone()).unwrap_or_default(),
            explain: explain(&contracts.place_of(id)),
        }
    }

    /// A clause of which only the name is known.
    #[cfg(feature = "cli")]
    pub(crate) fn unknown(id: &str) -> Self {
        Self { clause: id.to_owned(), explain: explain(id), ..Self::default() }
    }

    /// How to mend it and where to read on, as pairs of a label and a text.
    pub(crate) fn told(&self) -> Vec<(&'static str, &str)> {
        let told = [("fix", self.fix.as_str()), ("explain", self.explain.as_str())];
        told.into_iter().filter(|(_, text)| !text.is_empty()).collect()
    }
}

fn explain(clause: &str) -> String {
    format!("clawgate explain {}", shell_word(clause))
}

/// The clauses that these failures are about, each once, in their order.
pub(crate) fn broken(failures: &[Failure], contracts: &Contracts) -> Vec<BrokenClause> {
    let mut clauses: Vec<BrokenClause> = Vec::new();
    for id in failures.iter().filter_map(|failure| failure.clause.as_deref()) {
        if clauses.iter().all(|known| known.clause != id) {
            clauses.push(BrokenClause::of(id, contracts));
        }
    }
    clauses
}
