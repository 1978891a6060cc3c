//! Reading a target's command line: which command it names and whether it asks for JSON.

use super::condition::pointer;
use super::facts::Run;
use crate::document::{FileError, Item};
use crate::json::{JsonView, Pointer};

/// How a contract reads `argv`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Invocation {
    verbs: Vec<String>,
    aliases: Vec<(String, String)>,
    value_flags: Vec<String>,
    flags: Option<Vec<String>>,
    json_flag: Option<String>,
    json_env: Option<String>,
    command_at: Option<Pointer>,
}

/// A command line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) command: String,
    pub(crate) known: bool,
    pub(crate) json: bool,
    /// The flags that the contract does not know; none when it does not list any.
    pub(crate) unknown_flags: Option<Vec<String>>,
}

impl Invocation {
    /// The commands that the contract knows.
    pub(crate) fn verbs(&self) -> &[String] {
        &self.verbs
    }

    pub(crate) fn load(node: &Item<'_>) -> Result<Self, FileError> {
        let fields = node.table()?;
        let strings = |key| fields.get(key).map_or(Ok(Vec::new()), |node| node.strings());
        let text = |key| fields.get(key).map(|node| node.text()).transpose();
        let mut aliases = Vec::new();
        if let Some(node) = fields.get("aliases") {
            for (from, to) in node.table()?.into_entries() {
                aliases.push((from, to.text()?));
            }
        }
        let read = Self {
            verbs: strings("verbs")?,
            aliases,
            value_flags: strings("value-flags")?,
            flags: fields.get("flags").map(|node| node.strings()).transpose()?,
            json_flag: text("json-flag")?,
            json_env: text("json-env")?,
            command_at: fields.get("command-at").as_ref().map(pointer).transpose()?,
        };
        fields.finish()?;
        Ok(read)
    }

    /// The command that a message itself names, for a run whose command line is not known.
    pub(crate) fn named_by(&self, message: JsonView<'_>) -> Option<(String, bool)> {
        let command = self.command_at.as_ref()?.get(message)?.text()?;
        let known = self.verbs.iter().any(|verb| *verb == command);
        Some((command.into_owned(), known))
    }

    /// Reads the words after the program's name. The first known verb or alias is the command, wherever flags stand
    /// around it; where there is none, the first bare word is what the user took for one.
    pub(crate) fn read(&self, words: &[String], run: &Run) -> Call {
        // A contract that does not say how JSON is asked for is about a target that always prints it.
        let mut json = self.json_flag.is_none()
            || self.json_env.as_ref().is_some_and(|name| asked_by_variable(name, run));
        let mut command = None;
        let mut bare = None;
        let mut unknown = Vec::new();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if let Some((_, verb)) = self.aliases.iter().find(|(from, _)| from == word) {
                command.get_or_insert_with(|| verb.clone());
            } else if let Some(flag) = &self.json_flag
                && let Some(rest) = word.strip_prefix(flag.as_str())
                && (rest.is_empty() || rest.starts_with('='))
            {
                // The last one wins, and a wrong case still says what the user wanted.
                let value = rest.strip_prefix('=').or_else(|| words.next());
                json = value.is_some_and(|value| value.eq_ignore_ascii_case("json"));
            } else if word == "--" {
                bare = bare.or(words.next().map(str::to_string));
            } else if word.starts_with('-') && word.len() > 1 {
                let name = word.split('=').next().unwrap_or(word);
                if self.value_flags.iter().any(|flag| flag == word) {
                    // A flag whose value was forgotten does not swallow the next flag.
                    words.next_if(|next| !next.starts_with("--"));
                } else if !self.value_flags.iter().chain(self.flags.iter().flatten()).any(|flag| flag == name)
                {
                    unknown.push(word.to_string());
                }
            } else if self.verbs.iter().any(|verb| verb == word) {
                command.get_or_insert_with(|| word.to_string());
            } else {
                bare.get_or_insert_with(|| word.to_string());
            }
        }
        let known = command.is_some();
        let unknown_flags = self.flags.is_some().then_some(unknown);
        Call { command: command.or(bare).unwrap_or_default(), known, json, unknown_flags }
    }
}

/// Whether an environment variable asks for JSON. A recording may know only that it was set.
fn asked_by_variable(name: &str, run: &Run) -> bool {
    match run.env_values.iter().find(|(known, _)| known == name) {
        Some((_, value)) => value == "json",
        None => run.env.iter().flatten().any(|known| known == name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(words: &[&str]) -> Call {
        let invocation = Invocation {
            verbs: vec!["status".into(), "prompt".into()],
            aliases: vec![("-p".into(), "prompt".into())],
            value_flags: vec!["--model".into()],
            flags: None,
            json_flag: Some("--output-format".into()),
            json_env: None,
            command_at: None,
        };
        invocation.read(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), &Run::default())
    }

    fn is(command: &str, known: bool, json: bool) -> Call {
        Call { command: command.into(), known, json, unknown_flags: None }
    }

    #[test]
    fn flags_may_stand_anywhere() {
        assert_eq!(
            call(&["--output-format", "json", "--model", "status", "-p", "hi"]),
            is("prompt", true, true)
        );
        assert_eq!(call(&["status", "--output-format=json"]), is("status", true, true));
        assert_eq!(
            call(&["status", "--output-format", "json", "--output-format", "text"]),
            is("status", true, false)
        );
        assert_eq!(call(&["bogus", "--output-format"]), is("bogus", false, false));
        assert_eq!(call(&[]), is("", false, false));
    }
}
