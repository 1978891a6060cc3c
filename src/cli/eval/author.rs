//! The author's own settings, which evaluations with the real API are about.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::cli::CommandError;
use crate::document;
use crate::eval::Author;
use crate::run::target::EvalPart;

/// What of this environment and this home a target's file says is passed on.
pub(super) fn author(flags: &EvalPart) -> Result<Author, CommandError> {
    let wanted = &flags.real_api;
    let variable =
        |name: &String| Some((name.clone(), std::env::var(name).ok().filter(|text| !text.is_empty())?));
    let env = wanted.pass_env.iter().filter_map(variable).collect();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let file = home.zip(wanted.settings_file.as_ref()).map(|(home, file)| home.join(file));
    let Some(file) = file.filter(|file| file.is_file()) else { return Ok(Author { env, settings: None }) };
    let complain = |why: String| {
        CommandError::Usage(format!(
            "{}: {why}; --api real measures with the author's settings",
            file.display()
        ))
    };
    let text = document::read_to_string(&file).map_err(|error| complain(error.to_string()))?;
    let all: Map<String, Value> = serde_json::from_str(&text).map_err(|error| complain(error.to_string()))?;
    let kept: Map<String, Value> =
        all.into_iter().filter(|(key, _)| wanted.settings_keys.contains(key)).collect();
    Ok(Author { env, settings: (!kept.is_empty()).then_some(Value::Object(kept)) })
}
