//! Reading a target's command line: which command it names and whether it asks for JSON.

use super::tree::{FileError, Node};

/// How a contract reads `argv`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Invocation {
    verbs: Vec<String>,
    aliases: Vec<(String, String)>,
    value_flags: Vec<String>,
    json_flag: Option<String>,
    json_env: Option<String>,
}

/// A command line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) command: String,
    pub(crate) known: bool,
    pub(crate) json: bool,
}

impl Invocation {
    pub(crate) fn load(node: Node<'_>) -> Result<Self, FileError> {
        let fields = node.fields()?;
        let strings = |key| fields.get(key).map_or(Ok(Vec::new()), |node| node.strings());
        let text = |key| fields.get(key).map(|node| node.text()).transpose();
        let mut aliases = Vec::new();
        if let Some(node) = fields.get("aliases") {
            for (from, to) in node.fields()?.pairs() {
                aliases.push((from.to_string(), to.text()?));
            }
        }
        let read = Self {
            verbs: strings("verbs")?,
            aliases,
            value_flags: strings("value-flags")?,
            json_flag: text("json-flag")?,
            json_env: text("json-env")?,
        };
        fields.done()?;
        Ok(read)
    }

    /// The commands that the contract knows.
    pub(crate) fn verbs(&self) -> &[String] {
        &self.verbs
    }

    /// Reads the words after the program's name. The first known verb or alias is the command, wherever flags stand
    /// around it; where there is none, the first bare word is what the user took for one.
    pub(crate) fn read(&self, words: &[String], env: &[(String, String)]) -> Call {
        let mut json = self
            .json_env
            .as_ref()
            .is_some_and(|name| env.iter().any(|(known, value)| known == name && value == "json"));
        let mut command = None;
        let mut bare = None;
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if let Some((_, verb)) = self.aliases.iter().find(|(from, _)| from == word) {
                command.get_or_insert_with(|| verb.clone());
            } else if let Some(flag) = &self.json_flag
                && let Some(rest) = word.strip_prefix(flag.as_str())
                && (rest.is_empty() || rest.starts_with('='))
            {
                // The last one wins, as with every parser seen.
                let value = rest.strip_prefix('=').or_else(|| words.next());
                json = value == Some("json");
            } else if word.starts_with('-') && word.len() > 1 {
                if self.value_flags.iter().any(|flag| flag == word) {
                    words.next();
                }
            } else if self.verbs.iter().any(|verb| verb == word) {
                command.get_or_insert_with(|| word.to_string());
            } else {
                bare.get_or_insert_with(|| word.to_string());
            }
        }
        // A bare word before the first verb is what the target takes for its command.
        let known = command.is_some();
        Call { command: command.or(bare).unwrap_or_default(), known, json }
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
            json_flag: Some("--output-format".into()),
            json_env: None,
        };
        invocation.read(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), &[])
    }

    fn is(command: &str, known: bool, json: bool) -> Call {
        Call { command: command.into(), known, json }
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
