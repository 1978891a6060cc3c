//! What is wrong with what was typed, where the parser of the command line does not say it all.

use std::borrow::Cow;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::text::{nearest, printable};

/// The same error, saying also which variable a value is from and which command was probably meant. What was typed may come
/// from anywhere, and neither a terminal nor a CI system obeys it.
pub(super) fn explained(
    error: clap::Error,
    definition: &clap::Command,
    variable: impl Fn(&str) -> Option<String>,
) -> clap::Error {
    let mut error = completed(error, definition, variable);
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue, ContextKind::InvalidSubcommand] {
        if let Some(ContextValue::String(typed)) = error.get(kind)
            && let Cow::Owned(safe) = printable(typed)
        {
            error.insert(kind, ContextValue::String(safe));
        }
    }
    error
}

fn completed(
    mut error: clap::Error,
    definition: &clap::Command,
    variable: impl Fn(&str) -> Option<String>,
) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    if error.kind() == ErrorKind::InvalidSubcommand && error.get(ContextKind::SuggestedSubcommand).is_none() {
        let names = definition.get_subcommands().map(clap::Command::get_name);
        let meant =
            text(ContextKind::InvalidSubcommand).and_then(|typed| nearest(&typed, names).map(str::to_owned));
        if let Some(meant) = meant {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
        }
        return error;
    }
    let (Some(argument), Some(value)) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue))
    else {
        return error;
    };
    // A value is from a variable where that holds it and nobody typed the flag.
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    let long = flag.trim_start_matches('-');
    let commands = definition.get_subcommands().flat_map(clap::Command::get_arguments);
    let commands = commands.chain(definition.get_arguments());
    let name = commands.filter(|known| known.get_long() == Some(long)).find_map(clap::Arg::get_env);
    let Some(name) = name.and_then(|name| name.to_str()) else { return error };
    let is_typed = std::env::args().any(|word| word == flag || word.starts_with(&format!("{flag}=")));
    if !is_typed && variable(name).is_some_and(|set| set.split(',').any(|part| part == value)) {
        error.insert(ContextKind::InvalidArg, ContextValue::String(format!("{argument} ({name} says so)")));
    }
    error
}

/// A whole number within these bounds.
pub(super) fn whole<T>(text: &str, least: T, most: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy,
{
    let number = text.parse().ok().filter(|number| (&least..=&most).contains(&number));
    number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
}
