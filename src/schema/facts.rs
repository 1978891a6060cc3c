//! What a clause may know of a run besides its messages.

use std::borrow::Cow;

use regex::Regex;
use serde_json::{Value, json};

use super::invocation::Invocation;
use super::named::named_enum;
use super::sent;
use crate::recording::{self, Recording, Timer};

named_enum! {
    /// The facts that a condition can name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Fact {
        Mode = "mode",
        Command = "command",
        CommandKnown = "command-known",
        UnknownFlags = "unknown-flags",
        Argv = "argv",
        Env = "env",
        Version = "version",
        Flags = "flags",
        Prompt = "prompt",
        Operands = "operands",
        Cwd = "cwd",
        Exit = "exit",
        Signal = "signal",
        TimedOut = "timed-out",
        Stdout = "stdout",
        Stderr = "stderr",
        Framing = "framing",
        Messages = "messages",
        Kinds = "kinds",
        Stdin = "stdin",
        StartedAt = "started-at",
        Duration = "duration",
        Conversation = "conversation",
        Leftovers = "leftovers",
        Arrivals = "arrivals",
        Prices = "prices",
        Served = "served",
        Requests = "requests",
        Mcp = "mcp",
        Sent = "sent",
    }
}

impl Fact {
    pub(crate) fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|fact| fact.name()).collect()
    }

    /// The fact as it stands in a sentence.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Mode => "the output mode",
            Self::Command => "the command",
            Self::CommandKnown => "whether the command is known",
            Self::UnknownFlags => "the list of unknown flags",
            Self::Argv => "the command line",
            Self::Env => "the environment",
            Self::Version => "the version of the target",
            Self::Flags => "the flag",
            Self::Prompt => "the prompt",
            Self::Operands => "the words of the command line that are no flags",
            Self::Cwd => "the working directory",
            Self::Exit => "the exit code",
            Self::Signal => "the signal that ended it",
            Self::TimedOut => "the timer that fired",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Framing => "the framing",
            Self::Messages => "the number of messages",
            Self::Kinds => "the list of kinds of message",
            Self::Stdin => "stdin",
            Self::StartedAt => "the start of the run",
            Self::Duration => "the time of the whole run",
            Self::Conversation => "the time of the conversation",
            Self::Leftovers => "what was left running",
            Self::Arrivals => "when output arrived",
            Self::Prices => "the price list",
            Self::Served => "what was served",
            Self::Requests => "what was requested",
            Self::Mcp => "the list of MCP servers",
            Self::Sent => "what was sent on standard input",
        }
    }

    /// Whether only a recording tells it, never an output alone.
    pub(crate) fn is_recorded(self) -> bool {
        self >= Self::Stdin
    }

    /// Whether the fact is known only when the run is over.
    pub(crate) fn is_late(self) -> bool {
        self >= Self::Exit
    }
}

/// The facts of one run as one contract reads them. What is not known is absent, and a clause that asks for it is not
/// judged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    values: [Option<Value>; Fact::ALL.len()],
    /// The version is one that no release has, which counts as the newest.
    pub(crate) unreleased: bool,
}

impl Facts {
    pub(crate) fn get(&self, fact: Fact) -> Option<&Value> {
        self.values[fact as usize].as_ref()
    }

    pub(crate) fn set(&mut self, fact: Fact, value: impl Into<Value>) {
        self.values[fact as usize] = Some(value.into());
    }

    /// What is known before the first message.
    pub(crate) fn at_start(run: &Run, invocation: &Invocation) -> Self {
        let mut facts = Self::default();
        if let Some(argv) = &run.argv {
            let words = argv.get(1..).unwrap_or_default();
            let call = invocation.read(words, run);
            if let Some(flags) = call.unknown_flags {
                facts.set(Fact::UnknownFlags, flags);
            }
            facts.set(Fact::Mode, if call.json { "json" } else { "text" });
            facts.set(Fact::Command, call.command);
            facts.set(Fact::CommandKnown, call.known);
            if let Some(servers) = call.mcp_servers {
                facts.set(Fact::Mcp, servers);
            }
            facts.set(Fact::Flags, call.flags);
            if let Some(prompt) = call.prompt {
                facts.set(Fact::Prompt, prompt);
            }
            if let Some(operands) = call.operands {
                facts.set(Fact::Operands, operands);
            }
            facts.set(Fact::Argv, words.to_vec());
        } else {
            // Whoever holds a bare document against a contract takes it for what JSON mode prints.
            facts.set(Fact::Mode, "json");
            // A file that is named after a command is held to that command, whatever its envelope says.
            if let Some(name) = run.named_after.as_ref().filter(|name| invocation.verbs().contains(name)) {
                facts.set(Fact::Command, name.clone());
                facts.set(Fact::CommandKnown, true);
            }
        }
        if let Some(env) = &run.env {
            facts.set(Fact::Env, env.clone());
        }
        if let Some(version) = &run.version {
            facts.set(Fact::Version, version.clone());
        }
        if let Some(cwd) = &run.cwd {
            facts.set(Fact::Cwd, cwd.clone());
        }
        facts
    }

    /// Adds what is known when the run is over.
    pub(crate) fn at_end(&mut self, end: &End<'_>) {
        if let Some(exit) = &end.exit {
            self.set(Fact::Exit, exit.code);
            self.set(Fact::Signal, exit.signal);
            self.set(Fact::TimedOut, exit.timed_out.as_ref().map(Timer::name));
        }
        if let Some(stdout) = end.stdout {
            self.set(Fact::Stdout, head(stdout));
        }
        if let Some(stderr) = end.stderr {
            self.set(Fact::Stderr, head(stderr));
        }
        if let Some(recording) = end.recording {
            self.of_recording(recording);
        }
    }

    /// Adds what was recorded besides the output. A recording of an earlier version lacks some of it.
    fn of_recording(&mut self, recording: &Recording) {
        let facts = &recording.facts;
        if let Some(prices) = facts.other.get("prices") {
            self.set(Fact::Prices, prices.clone());
        }
        if let Some(Value::Array(left)) = facts.other.get("leftovers") {
            // Numbers of processes are chance; what they ran is not.
            let command = |process: &Value| process.get("command").unwrap_or(process).clone();
            self.set(Fact::Leftovers, left.iter().map(command).collect::<Vec<_>>());
        }
        if let Some(served) = facts.other.get("served") {
            let mut served = served.clone();
            for transform in facts.other.get("transforms").and_then(Value::as_array).into_iter().flatten() {
                apply(transform, &mut served);
            }
            self.set(Fact::Served, served);
        }
        if let (Some(times), Some(lead)) = (facts.other.get("arrivals"), facts.other.get("api_lead_ms")) {
            self.set(Fact::Arrivals, json!({"times": times, "lead": lead}));
        }
        if let Some(servers) = facts.other.get("mcp") {
            self.set(Fact::Mcp, servers.clone());
        }
        if let Some(duration) = facts.duration_ms {
            self.set(Fact::Duration, duration);
        }
        if let Some(started) = facts.other.get("started_at") {
            self.set(Fact::StartedAt, started.clone());
        }
        if let Some(span) = facts.other.get("served").and_then(conversation) {
            self.set(Fact::Conversation, span);
        }
        if let Some(requests) = with_bodies(recording) {
            self.set(Fact::Requests, requests);
        }
        if let Some(sent) = sent::of(recording) {
            self.set(Fact::Sent, sent);
        }
        match facts.other.get("stdin") {
            // A fixture has the text in its place.
            Some(Value::String(text)) => self.set(Fact::Stdin, text.clone()),
            _ => {
                if let Ok(Some(text)) = recording.stdin() {
                    self.set(Fact::Stdin, String::from_utf8_lossy(&text));
                }
            }
        }
    }
}

/// Does with the served texts what the target documents to do with them.
fn apply(transform: &Value, served: &mut Value) {
    let text = |name: &str| transform[name].as_str().unwrap_or_default();
    let Ok(matches) = Regex::new(text("matches")) else { return };
    let block = text("block");
    let blocks =
        served.as_array_mut().into_iter().flatten().filter_map(|entry| entry["content"].as_array_mut());
    for found in blocks.flatten().filter(|found| found["type"] == block) {
        if let Some(Value::String(said)) = found.get_mut(block) {
            *said = matches.replace_all(said, text("to")).into_owned();
        }
    }
}

/// Milliseconds from the first question of the main conversation to the end of its last answer.
fn conversation(served: &Value) -> Option<f64> {
    let is_main = |entry: &&Value| {
        entry["kind"] == "turn"
            && entry["agent"].is_null()
            && entry["first"] != true
            && entry["status"] == 200
    };
    let entries = || served.as_array().into_iter().flatten().filter(is_main);
    let first = entries().filter_map(|entry| entry["at_ms"].as_f64()).reduce(f64::min)?;
    let last = entries().filter_map(|entry| entry["done_ms"].as_f64()).reduce(f64::max)?;
    Some(last - first)
}

/// The requests of a recording, each with its body as `json`; none where a body was not kept, because nothing can be
/// said then of what they hold together.
fn with_bodies(recording: &Recording) -> Option<Value> {
    let listed = recording.facts.other.get("requests")?.as_array()?;
    // They may be many megabytes: none is read where another is missing.
    let is_missing = |request: &Value| {
        !request["body"].is_null() && request.get("json").is_none() && request["body_file"].is_null()
    };
    if listed.iter().any(is_missing) {
        return None;
    }
    let mut requests = listed.clone();
    for (number, request) in requests.iter_mut().enumerate() {
        // A fixture has the body in its place.
        if request["body"].is_null() || request.get("json").is_some() {
            continue;
        }
        let body = recording.request_body(number).ok()??;
        // What is no JSON is no request of the API, which its own findings say.
        request["json"] = serde_json::from_slice(&body).unwrap_or_default();
    }
    Some(requests.into())
}

/// How much of a channel conditions can look at.
const HEAD: usize = 64 * 1024;

fn head(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)])
}

/// What is known of a run before its output is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Run {
    /// The command line with the program first, if it is known.
    pub argv: Option<Vec<String>>,
    /// What the output is named after, as a fixture file is after its command, if it has a name.
    pub named_after: Option<String>,
    /// The names of the variables that were set, if they are known.
    pub env: Option<Vec<String>>,
    /// The values that are public.
    pub env_values: Vec<(String, String)>,
    /// The target's version, if it is known.
    pub version: Option<String>,
    /// The contract that the target promises, if it is known.
    pub contract: Option<String>,
    /// The flags that the target declares to have, each as its help writes it, if they are known.
    pub flags: Option<Vec<String>>,
    /// The working directory, if it is known.
    pub cwd: Option<String>,
    /// Whether what the scripted API served, or when the run began, is known or will be when the run is over.
    pub is_recorded: bool,
}

impl Run {
    /// The run that a recording describes.
    pub fn of(facts: &recording::Facts) -> Self {
        let known = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
        Self {
            argv: known(&facts.argv),
            named_after: None,
            env: known(&facts.env_set),
            env_values: facts.env_public.clone(),
            version: (!facts.target_version.is_empty()).then(|| facts.target_version.clone()),
            contract: facts.contract().map(str::to_owned),
            flags: facts.other.get("flags").and_then(|flags| serde_json::from_value(flags.clone()).ok()),
            cwd: facts.other.get("cwd").and_then(Value::as_str).map(str::to_owned),
            is_recorded: ["served", "started_at", "sent"].iter().any(|name| facts.other.contains_key(*name)),
        }
    }
}

/// What is known of a run when it is over.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct End<'r> {
    /// How it ended; none when that is not known.
    pub exit: Option<recording::Exit>,
    /// The start of its standard output; a megabyte is more than enough.
    pub stdout: Option<&'r [u8]>,
    /// Its standard error, or the start of it.
    pub stderr: Option<&'r [u8]>,
    /// What was recorded of it, if it was.
    pub recording: Option<&'r Recording>,
}

impl<'r> End<'r> {
    /// How a run ended, and what it printed.
    pub fn new(exit: Option<recording::Exit>, stdout: Option<&'r [u8]>, stderr: Option<&'r [u8]>) -> Self {
        Self { exit, stdout, stderr, recording: None }
    }

    /// The same with what was recorded of the run.
    #[must_use]
    pub fn recorded(self, recording: Option<&'r Recording>) -> Self {
        Self { recording, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_target_documents_is_done_to_what_was_served() {
        let mut served = json!([
            {"content": [{"type": "text", "text": "a  \n"}, {"type": "thinking", "thinking": "b  "}]},
            {"content": null},
        ]);
        apply(&json!({"block": "text", "matches": "\\s+$", "to": ""}), &mut served);
        assert_eq!(served[0]["content"][0]["text"], "a");
        assert_eq!(served[0]["content"][1]["thinking"], "b  ");
    }

    #[test]
    fn a_conversation_lasts_from_its_first_question_to_its_last_answer() {
        let entry = |agent: Value, at: f64, done: f64| json!({"kind": "turn", "agent": agent, "first": false, "status": 200, "at_ms": at, "done_ms": done});
        let served = json!([
            entry(Value::Null, 10.0, 20.0),
            entry("sub".into(), 1.0, 90.0),
            entry(Value::Null, 30.0, 45.0)
        ]);
        assert_eq!(conversation(&served), Some(35.0));
        assert_eq!(conversation(&json!([])), None);
    }
}
