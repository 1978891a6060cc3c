//! Checks that are not made on the messages of a stream: those of event logs, and those that no log can show.

use super::{FileError, Rule, Table, Watch};
use crate::events;
use crate::text::did_you_mean;

/// What stands in for a check that is not made on messages.
#[derive(Debug)]
struct Unjudged;

impl Rule for Unjudged {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn wants(&self, _: Option<usize>) -> bool {
        false
    }
}

impl Watch for &Unjudged {}

/// The name of a check, and what stands in for it.
type Named = (&'static str, Box<dyn Rule>);

/// Loads a check of the form `{ events = RULE }`, `{ live = REASON }`, `{ live = REASON, probe = NAME }` or
/// `{ unjudged = REASON }`, with its name.
pub(super) fn load(fields: &Table<'_>) -> Result<Option<Named>, FileError> {
    for key in ["events", "live", "unjudged"] {
        let Some(node) = fields.get(key) else { continue };
        node.text()?;
        let name = node.str()?;
        if key == "events" && events::Rule::from_name(name).is_none() {
            let known: Vec<_> = events::Rule::ALL.iter().map(|rule| rule.name()).collect();
            return Err(
                node.complain(format_args!("unknown event rule `{name}`{}", did_you_mean(name, &known)))
            );
        }
        if key == "live"
            && let Some(node) = fields.get("probe")
        {
            let name = node.str()?;
            let known: Vec<_> =
                events::Rule::ALL.iter().filter_map(|rule| rule.name().strip_prefix("probe-")).collect();
            if !known.contains(&name) {
                return Err(
                    node.complain(format_args!("unknown probe `{name}`{}", did_you_mean(name, &known)))
                );
            }
            return Ok(Some(("probe", Box::new(Unjudged))));
        }
        return Ok(Some((key, Box::new(Unjudged))));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;

    #[test]
    fn what_is_not_judged_on_messages_says_nothing_of_them() {
        for check in
            [r#"{ events = "transition" }"#, r#"{ live = "a socket" }"#, r#"{ unjudged = "nobody" }"#]
        {
            assert_eq!(findings(check, "oh\n", 1, "{}"), [""; 0], "{check}");
        }
    }
}
