//! Reading a target's command line: which command it names and whether it asks for JSON.

use serde_json::{Map, Value, json};

use super::condition::pointer;
use super::facts::Run;
use crate::document::{FileError, Item};
use crate::json::{JsonView, Pointer};

/// How a contract reads `argv`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Invocation {
    verbs: Vec<String>,
    aliases: Vec<(String, String)>,
    /// Other spellings of flags, each with the usual one.
    flag_aliases: Vec<(String, String)>,
    value_flags: Vec<String>,
    /// Flags that take every word up to the next flag.
    list_flags: Vec<String>,
    json_flag: Option<String>,
    /// The flag that names MCP servers, as JSON or as files that hold it.
    mcp_flag: Option<String>,
    json_env: Option<String>,
    command_at: Option<Pointer>,
}

/// A command line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) command: String,
    pub(crate) known: bool,
    pub(crate) json: bool,
    /// The flags that the target does not have; none when it is not known which it has.
    pub(crate) unknown_flags: Option<Vec<String>>,
    /// Each flag with its value, the last one if it stands there twice; true for one that takes none.
    pub(crate) flags: Map<String, Value>,
    /// The first word that is neither a flag, a flag's value nor a command.
    pub(crate) prompt: Option<String>,
    /// All of these words; none when one follows a flag of which nobody knows whether it takes a value.
    pub(crate) operands: Option<Vec<String>>,
    /// The MCP servers that the command line asks for; none where it does not say all of them.
    pub(crate) mcp_servers: Option<Vec<Value>>,
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
        let pairs = |key| -> Result<Vec<(String, String)>, FileError> {
            let Some(node) = fields.get(key) else { return Ok(Vec::new()) };
            node.table()?.into_entries().into_iter().map(|(from, to)| Ok((from, to.text()?))).collect()
        };
        let read = Self {
            verbs: strings("verbs")?,
            aliases: pairs("aliases")?,
            flag_aliases: pairs("flag-aliases")?,
            value_flags: strings("value-flags")?,
            list_flags: strings("list-flags")?,
            json_flag: text("json-flag")?,
            mcp_flag: text("mcp-flag")?,
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
        let mut operands: Vec<&str> = Vec::new();
        let mut certain = true;
        let mut unknown = Vec::new();
        let mut flags = Map::new();
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
                flags.insert(flag.clone(), value.into());
            } else if word == "--" {
                operands.extend(words.by_ref());
            } else if word.starts_with('-') && word.len() > 1 {
                let (name, written) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
                let declared = run.flags.iter().flatten().find_map(|flag| takes(flag, name));
                let usual = self.flag_aliases.iter().find(|(from, _)| from == name);
                let name = usual.map_or(name, |(_, to)| to.as_str());
                let is = |list: &[String]| list.iter().any(|flag| flag == name);
                let value = if let Some(value) = written {
                    Value::from(value)
                } else if is(&self.list_flags) {
                    let mut list: Vec<&str> = Vec::new();
                    while let Some(value) = words.next_if(|next| !next.starts_with('-')) {
                        list.push(value);
                    }
                    list.into()
                } else if is(&self.value_flags) || declared == Some(true) {
                    // A flag whose value was forgotten does not swallow the next flag.
                    words.next_if(|next| !next.starts_with("--")).into()
                } else {
                    certain &=
                        declared == Some(false) || words.peek().is_none_or(|next| next.starts_with('-'));
                    true.into()
                };
                if declared.is_none() && looks_like_a_flag(word) {
                    unknown.push(word.to_string());
                }
                flags.insert(name.to_string(), value);
            } else if self.verbs.iter().any(|verb| verb == word) && command.is_none() {
                command = Some(word.to_string());
            } else {
                operands.push(word);
            }
        }
        let known = command.is_some();
        let unknown_flags = run.flags.is_some().then_some(unknown);
        let operands: Vec<String> = operands.into_iter().map(str::to_owned).collect();
        let prompt = operands.first().cloned();
        let command = command.or_else(|| prompt.clone()).unwrap_or_default();
        let operands = certain.then_some(operands);
        let mcp_servers = self.mcp_flag.as_ref().and_then(|flag| mcp_servers(flags.get(flag)?));
        Call { command, known, json, unknown_flags, flags, prompt, operands, mcp_servers }
    }
}

/// The MCP servers that the value of a flag configures, as entries of the fact `mcp`; none where a part of it is a file.
fn mcp_servers(value: &Value) -> Option<Vec<Value>> {
    let mut servers = Vec::new();
    for config in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
        let config: Value = serde_json::from_str(config.as_str()?).ok()?;
        let names = config["mcpServers"].as_object()?.keys();
        servers.extend(names.map(|name| json!({"name": name, "scripted": false, "works": true})));
    }
    Some(servers)
}

/// Whether a declared flag such as `--model MODEL` takes a value; none when it is another than `name`.
fn takes(declared: &str, name: &str) -> Option<bool> {
    let mut words = declared.split_whitespace();
    (words.next() == Some(name)).then(|| words.next().is_some())
}

/// Whether a word is what people type as a flag, and not a text that begins with a dash, such as `-5 degrees`.
fn looks_like_a_flag(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    let begins = name.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic());
    begins && !name.contains(char::is_whitespace)
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
        call_of(words, &Run::default())
    }

    fn call_of(words: &[&str], run: &Run) -> Call {
        let invocation = Invocation {
            verbs: vec!["status".into(), "prompt".into()],
            aliases: vec![("-p".into(), "prompt".into())],
            flag_aliases: vec![("-m".into(), "--model".into())],
            value_flags: vec!["--model".into()],
            list_flags: vec!["--allowed".into()],
            json_flag: Some("--output-format".into()),
            mcp_flag: Some("--mcp-config".into()),
            json_env: None,
            command_at: None,
        };
        invocation.read(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), run)
    }

    #[test]
    fn an_unknown_flag_is_one_that_the_target_does_not_declare() {
        let run = Run { flags: Some(vec!["--seed N".into(), "-C PATH".into()]), ..Run::default() };
        let unknown = |words: &[&str]| call_of(words, &run).unknown_flags.unwrap();
        assert_eq!(unknown(&["--seed", "--bogus", "-C", "x", "--other=1"]), ["--bogus", "--other=1"]);
        assert_eq!(unknown(&["-p", "-5 degrees", "- a list", "--", "say", "--bogus"]), [""; 0]);
        assert_eq!(call_of(&["--seed", "7", "hi"], &run).flags["--seed"], "7");
        assert_eq!(call(&["--bogus"]).unknown_flags, None, "nobody said which flags there are");
    }

    #[track_caller]
    fn reads(words: &[&str], command: &str, known: bool, json: bool) {
        let call = call(words);
        assert_eq!((call.command.as_str(), call.known, call.json), (command, known, json), "{words:?}");
    }

    #[test]
    fn flags_have_the_values_that_follow_them() {
        let read = call(&["-m", "a", "--allowed", "Bash", "Read", "--quick", "--new=1", "-p", "say hi"]);
        let expected = serde_json::json!({
            "--model": "a", "--allowed": ["Bash", "Read"], "--quick": true, "--new": "1",
        });
        assert_eq!(Value::Object(read.flags), expected);
        assert_eq!(read.prompt.as_deref(), Some("say hi"));
        assert_eq!(call(&["--model", "--quick"]).flags["--model"], Value::Null);
    }

    #[test]
    fn what_is_no_flag_and_no_command_is_an_operand() {
        let operands = |words: &[&str]| call(words).operands;
        assert_eq!(
            operands(&["status", "a", "--model", "b", "c", "--quick"]),
            Some(vec!["a".into(), "c".into()])
        );
        assert_eq!(
            operands(&["status", "--", "--x", "--model", "y"]),
            Some(["--x", "--model", "y"].map(Into::into).into())
        );
        assert_eq!(operands(&["status", "--quick", "a"]), None, "it may be the value of the flag");
    }

    #[test]
    fn flags_may_stand_anywhere() {
        reads(&["--output-format", "json", "--model", "status", "-p", "hi"], "prompt", true, true);
        reads(&["status", "--output-format=json"], "status", true, true);
        reads(&["status", "--output-format", "json", "--output-format", "text"], "status", true, false);
        reads(&["bogus", "--output-format"], "bogus", false, false);
        reads(&[], "", false, false);
    }
}
