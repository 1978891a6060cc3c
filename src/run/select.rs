//! Which of the planned cases the user wants.

use std::sync::Arc;

use super::plan::{Planned, plan, repeated};
use super::suite::Suite;
use super::target::Located;
use crate::schema::{self, ContractSet};
use crate::text::glob;

/// Keeps the cases that any of the filters selects; all of them without a filter. A filter is a glob over names, the
/// beginning of a name, a tag, a contract, or a clause.
pub(crate) fn select(planned: Vec<Planned>, filters: &[String]) -> Vec<Planned> {
    let filters: Vec<Filter<'_>> = filters.iter().map(|filter| Filter::new(filter)).collect();
    planned
        .into_iter()
        .filter(|planned| filters.is_empty() || filters.iter().any(|filter| filter.selects(planned)))
        .collect()
}

/// The first filter that selects none of the cases. A name that was mistyped must not make a run smaller in silence.
pub(crate) fn idle_filter<'f>(planned: &[Planned], filters: &'f [String]) -> Option<&'f str> {
    let is_idle = |filter: &&'f String| {
        let filter = Filter::new(filter);
        !planned.iter().any(|planned| filter.selects(planned))
    };
    filters.iter().find(is_idle).map(String::as_str)
}

/// Nothing is left to run on a target.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoCase {
    #[error("no case on {target} is selected by `{filter}` (clawgate run --list shows all)")]
    By { target: String, filter: String },
    #[error("no case is selected for {0} (clawgate run --list shows all)")]
    For(String),
}

/// The cases that run on a target, of those that the filters select.
pub(crate) fn cases_on(
    target: &Located,
    suite: &Suite,
    filters: &[String],
    repeat: u32,
) -> Result<Vec<Planned>, NoCase> {
    let planned = plan(suite, &[Arc::new(target.clone())]);
    if let Some(filter) = idle_filter(&planned, filters) {
        return Err(NoCase::By { target: target.choice.to_string(), filter: filter.to_owned() });
    }
    let mut planned = select(planned, filters);
    planned.retain(|planned| planned.skip.is_none());
    if planned.is_empty() {
        return Err(NoCase::For(target.choice.to_string()));
    }
    Ok(repeated(planned, repeat))
}

struct Filter<'f> {
    text: &'f str,
    /// The contracts under which the clause or contract that is named is judged.
    contracts: Vec<String>,
}

impl<'f> Filter<'f> {
    fn new(text: &'f str) -> Self {
        // As a folder is typed.
        let text = text.strip_suffix('/').unwrap_or(text);
        let named = text.split_once('/').map_or(text, |(contract, _)| contract);
        let is_contract = schema::built_in().any(|known| known == named);
        let judged_under = |name: &str| {
            let set = ContractSet::open(name).ok()?;
            let knows = set.contracts().iter().any(|contract| {
                contract.name == named
                    && (text == named
                        || contract.clauses().iter().any(|clause| {
                            text.strip_prefix(named).is_some_and(|rest| rest[1..] == clause.id)
                        }))
            });
            knows.then(|| name.to_owned())
        };
        let contracts =
            if is_contract { schema::built_in().filter_map(judged_under).collect() } else { Vec::new() };
        Self { text, contracts }
    }

    /// Whether it names a contract of the user's own that the case is held against, or a clause of it.
    fn is_of_own(&self, planned: &Planned) -> bool {
        let rest = self.text.strip_prefix(planned.case.contract.as_str());
        planned.speaks.contract_at.is_some()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn selects(&self, planned: &Planned) -> bool {
        let case = &planned.case;
        let below =
            case.name.strip_prefix(self.text).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        below
            || case.tags.iter().any(|tag| tag == self.text)
            || self.contracts.contains(&case.contract)
            || self.is_of_own(planned)
            || (self.text.contains(['*', '?']) && glob(self.text, &case.name))
    }
}
