//! Checks that are not made on the messages of a stream: those of event logs, and those that no log can show.

use super::super::tree::{Fields, FileError, suggestion};
use super::{Rule, Watch};
use crate::events;

/// What stands in for a check that is made elsewhere.
#[derive(Debug)]
struct Elsewhere;

impl Rule for Elsewhere {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Nothing)
    }

    fn wants(&self, _: Option<usize>) -> bool {
        false
    }
}

struct Nothing;

impl Watch for Nothing {}

/// The name of a check and what stands in for it.
type Named = (&'static str, Box<dyn Rule>);

/// Loads a check of the form `{ events = RULE }`, `{ live = REASON }` or `{ unjudged = REASON }`.
pub(super) fn load(fields: &Fields<'_>) -> Result<Option<Named>, FileError> {
    if let Some(node) = fields.get("events") {
        let name = node.str()?;
        if events::Rule::from_name(name).is_none() {
            let known: Vec<_> = events::Rule::ALL.iter().map(|rule| rule.name()).collect();
            return Err(node.error(format_args!("unknown event rule `{name}`{}", suggestion(name, &known))));
        }
        return Ok(Some(("events", Box::new(Elsewhere))));
    }
    for key in ["live", "unjudged"] {
        if let Some(node) = fields.get(key) {
            node.text()?;
            return Ok(Some((key, Box::new(Elsewhere))));
        }
    }
    Ok(None)
}
