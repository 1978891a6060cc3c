//! A scenario named on the command line: a built-in one, or a file.

use std::path::Path;

use crate::harness::mock::Scenario;
use crate::harness::scenario::library;
use crate::text::nearest;

/// Reads the scenario, or says what is wrong with it.
pub(crate) fn read(named: &str) -> Result<Scenario, String> {
    if let Some(text) = library::text(named) {
        return Scenario::parse(named, text).map_err(|error| error.to_string());
    }
    let looks_like_a_file = Path::new(named).exists() || named.contains(['/', '.']);
    if !looks_like_a_file {
        let known = library::scripts().map(|(name, _)| name);
        let hint = nearest(named, known.clone()).map_or_else(
            || format!("built in are: {}", known.collect::<Vec<_>>().join(", ")),
            |name| format!("did you mean `{name}`?"),
        );
        return Err(format!("{named}: neither a file nor a built-in scenario; {hint}"));
    }
    let bytes = std::fs::read(named).map_err(|error| format!("{named}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = memchr::memchr_iter(b'\n', valid).count() + 1;
        let column = valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        format!("{named}:{line}:{column}: expected UTF-8 text")
    })?;
    Scenario::parse(named, &text).map_err(|error| error.to_string())
}
