//! The command line of the Claude CLI, as far as scenarios use it.

use serde_json::Value;

use super::super::World;
use super::lies::disobey;
use crate::text::split_names;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OutputFormat {
    #[default]
    Text,
    Json,
    StreamJson,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a command line has many switches")]
pub(super) struct Flags {
    pub(super) prompt: Option<String>,
    pub(super) format: OutputFormat,
    pub(super) verbose: bool,
    pub(super) version: bool,
    pub(super) stream_input: bool,
    /// Whether messages of the user are printed again.
    pub(super) replays: bool,
    /// Whether the host is asked for permissions.
    pub(super) asks: bool,
    /// Servers of tools inside the host.
    pub(super) sdk_servers: Vec<String>,
    pub(super) partial: bool,
    pub(super) bypass: bool,
    pub(super) model: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) resume: Option<String>,
    pub(super) resume_last: bool,
    pub(super) fork: bool,
    pub(super) max_turns: Option<u64>,
    pub(super) max_budget: Option<f64>,
    pub(super) json_schema: Option<String>,
    pub(super) allowed: Vec<String>,
    pub(super) disallowed: Vec<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) system_prompt: Option<String>,
    pub(super) more_system_prompt: Option<String>,
    pub(super) mcp_configs: Vec<String>,
}

impl Flags {
    pub(super) fn parse(world: &World) -> Result<Self, String> {
        let mut flags = Self::default();
        let mut words = world.args.iter().peekable();
        let mut only_prompt = false;
        while let Some(word) = words.next() {
            if only_prompt || !word.starts_with('-') || word == "-" {
                flags.prompt.get_or_insert_with(|| word.clone());
                continue;
            }
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || {
                joined
                    .clone()
                    .or_else(|| words.next().cloned())
                    .ok_or_else(|| format!("option '{name}' argument missing"))
            };
            match name {
                "-p"
                | "--print"
                | "--strict-mcp-config"
                | "--debug-to-stderr"
                | "--allow-dangerously-skip-permissions"
                | "--no-session-persistence"
                | "--include-hook-events" => {}
                "--" => only_prompt = true,
                "--verbose" => flags.verbose = true,
                "-v" | "--version" => flags.version = true,
                "--include-partial-messages" => flags.partial = true,
                "--dangerously-skip-permissions" => flags.bypass = true,
                "--output-format" => {
                    flags.format = match value()?.as_str() {
                        "text" => OutputFormat::Text,
                        "json" => OutputFormat::Json,
                        "stream-json" => OutputFormat::StreamJson,
                        other => {
                            return Err(format!(
                                "option '--output-format <format>' argument '{other}' is invalid. Allowed choices are text, json, stream-json."
                            ));
                        }
                    }
                }
                "--replay-user-messages" => flags.replays = true,
                "--permission-prompt-tool" => flags.asks = value()? == "stdio",
                "--input-format" => flags.stream_input = value()? == "stream-json",
                "--model" => flags.model = Some(value()?),
                "--session-id" => flags.session_id = Some(value()?),
                "-r" | "--resume" => flags.resume = Some(value()?),
                "-c" | "--continue" => flags.resume_last = true,
                "--fork-session" => flags.fork = true,
                "--max-turns" => flags.max_turns = value()?.parse().ok(),
                "--max-budget-usd" => flags.max_budget = value()?.parse().ok(),
                "--json-schema" => flags.json_schema = Some(value()?),
                "--permission-mode" => flags.permission_mode = Some(value()?),
                "--allowedTools" | "--allowed-tools" => flags.allowed.extend(list(&value()?)),
                "--disallowedTools" | "--disallowed-tools" => flags.disallowed.extend(list(&value()?)),
                "--mcp-config" => {
                    flags.mcp_configs.push(value()?);
                    while let Some(word) = words.next_if(|word| !word.starts_with('-')) {
                        flags.mcp_configs.push(word.clone());
                    }
                    let of_host = flags.mcp_configs.iter().flat_map(|config| sdk_servers(config));
                    flags.sdk_servers = of_host.collect();
                }
                "--system-prompt" => flags.system_prompt = Some(value()?),
                "--append-system-prompt" => flags.more_system_prompt = Some(value()?),
                "--settings"
                | "--setting-sources"
                | "--tools"
                | "--fallback-model"
                | "--effort"
                | "--thinking"
                | "--max-thinking-tokens"
                | "--add-dir"
                | "--betas"
                | "--permission-prompts" => drop(value()?),
                other => return Err(format!("unknown option '{other}'")),
            }
        }
        disobey(&mut flags, world.wrong());
        Ok(flags)
    }

    /// Whether the model may be offered a tool.
    pub(super) fn offers(&self, tool: &str) -> bool {
        !self.disallowed.iter().any(|refused| refused == tool)
    }
}

/// The servers of a configuration, a text or a file, that are inside the host.
fn sdk_servers(config: &str) -> Vec<String> {
    let text = if config.trim_start().starts_with('{') {
        config.to_owned()
    } else {
        std::fs::read_to_string(config).unwrap_or_default()
    };
    let config: Value = serde_json::from_str(&text).unwrap_or_default();
    let servers = config["mcpServers"].as_object().into_iter().flatten();
    servers.filter(|(_, server)| server["type"] == "sdk").map(|(name, _)| name.clone()).collect()
}

fn list(text: &str) -> Vec<String> {
    split_names(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Flags, String> {
        Flags::parse(&World::of(args))
    }

    #[test]
    fn flags_are_read_with_their_values() {
        let flags =
            parse(&["-p", "Hi", "--output-format=stream-json", "--verbose", "--allowedTools", "Bash,Read"]);
        let flags = flags.unwrap();
        assert_eq!(flags.prompt.as_deref(), Some("Hi"));
        assert_eq!((flags.format, flags.verbose), (OutputFormat::StreamJson, true));
        assert_eq!(flags.allowed, ["Bash", "Read"]);
    }

    #[test]
    fn after_two_dashes_everything_is_the_prompt() {
        assert_eq!(parse(&["-p", "--", "--verbose"]).unwrap().prompt.as_deref(), Some("--verbose"));
        assert_eq!(parse(&["-p", "--verbose"]).unwrap().prompt, None);
    }

    #[test]
    fn what_is_no_flag_is_refused() {
        assert_eq!(parse(&["--no-such"]).unwrap_err(), "unknown option '--no-such'");
        assert_eq!(parse(&["--model"]).unwrap_err(), "option '--model' argument missing");
        assert!(parse(&["--output-format", "xml"]).unwrap_err().contains("'xml' is invalid"));
    }
}
