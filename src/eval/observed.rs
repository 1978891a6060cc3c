//! What one attempt did, read from its recording: everything that assertions may ask about.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::urls::{self, Reached};
use crate::classify::Verdict;
use crate::harness::KEPT_FILES;
use crate::harness::supervise::not_isolated;
use crate::judge::{Contracts, JudgeError, Options, watched_recording};
use crate::recording::{Exit, Recording, RecordingError};
use crate::stream_json::{Assistant, Line, Message, RunResult, Session};

/// More tool calls than this are counted, not kept.
const MOST_CALLS: usize = 4096;
/// A tool's arguments that are longer than this are not kept.
const LONGEST_INPUT: usize = 256 << 10;
/// Of a file that an assertion asks for, this much is read.
const LONGEST_FILE: u64 = 16 << 20;

/// What one attempt did.
#[derive(Debug)]
pub(crate) struct Observed {
    /// What became of it.
    pub verdict: Verdict,
    /// How many clauses of its contract it broke that it must keep.
    pub broken_clauses: usize,
    /// Everything that it said, joined by newlines, as the documented reader reports it.
    pub output: String,
    /// The last text that the main agent said.
    pub final_text: String,
    /// Exit code 0 and some output.
    pub succeeded: bool,
    /// What the target said went wrong.
    pub error: Option<String>,
    /// Tool calls in their order, the first of them.
    pub calls: Vec<ToolCall>,
    pub call_count: u64,
    /// Skills and commands that the target knew; none when it did not say.
    pub known: Option<Vec<String>>,
    /// The structured answer, if one was asked for.
    pub structured: Option<Value>,
    /// How the process ended.
    pub exit: Exit,
    /// Tools that were denied.
    pub denied: Vec<String>,
    /// What it used up.
    pub usage: Usage,
    /// The model that answered.
    pub model: Option<String>,
    /// The version of the target.
    pub version: String,
    /// What of the machine the target was not kept apart from.
    pub not_isolated: Option<String>,
    /// Where the files are that it wrote.
    pub files: PathBuf,
    /// Which of the addresses in its output answer; none when nobody was asked.
    pub reached: Option<Vec<Reached>>,
    /// Requests that no turn of the scripted model answers.
    pub unscripted: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub tool: String,
    /// Its arguments; null when they are too long.
    pub input: Value,
    /// Whether a sub-agent called it.
    pub by_subagent: bool,
}

/// What an attempt used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// What it cost, in dollars, as far as the target said.
    pub cost_usd: f64,
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Turns, as the target counts them.
    pub turns: u64,
    /// How long it took.
    pub seconds: f64,
}

impl Usage {
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds what another attempt used up.
    pub fn add(&mut self, other: &Self) {
        self.cost_usd += other.cost_usd;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.turns = self.turns.saturating_add(other.turns);
        self.seconds += other.seconds;
    }
}

/// Why an attempt cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ObserveError {
    /// The recording is damaged.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// It cannot be judged.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// An event log has no verdict that could be measured.
    #[error("the recording is an event log, which has no verdict that could be measured")]
    EventLog,
}

impl Observed {
    /// Reads the recording in this folder. `heuristics` says whether guesses such as a question at the end count.
    pub(crate) fn read(folder: &Path, contracts: &Contracts, heuristics: bool) -> Result<Self, ObserveError> {
        let recording = Recording::open(folder)?;
        let facts = &recording.facts;
        let options = Options { heuristics, ..Options::default() };
        let mut seen = Seen::default();
        let judgement = watched_recording(&recording, contracts, &options, &mut |line| seen.line(line))?;
        let verdict = judgement.verdict.ok_or(ObserveError::EventLog)?;
        let session = judgement.session.unwrap_or_default();
        let run = judgement.run;
        Ok(Self {
            broken_clauses: judgement
                .findings
                .iter()
                .filter(|finding| finding.level >= crate::schema::Level::Must)
                .count(),
            usage: usage(&session, facts.duration_ms),
            output: run.as_ref().map(|run| run.output.clone()).unwrap_or_default(),
            succeeded: run.as_ref().is_some_and(|run| run.succeeded),
            error: run.and_then(|run| run.error),
            denied: seen.denied.into_iter().map(|(_, tool)| tool).collect(),
            final_text: session.final_text.unwrap_or_default(),
            model: session.model,
            version: session.cli_version.unwrap_or_else(|| facts.target_version.clone()),
            not_isolated: not_isolated(facts),
            verdict,
            calls: seen.calls,
            call_count: seen.call_count,
            known: seen.known,
            structured: seen.structured,
            exit: facts.exit.clone(),
            files: folder.join(KEPT_FILES),
            reached: urls::read(folder),
            unscripted: unscripted(facts.other.get("requests")),
        })
    }

    /// Whether the target knew the skill; none when it did not say what it knows.
    pub(crate) fn knows(&self, skill: &str) -> Option<bool> {
        Some(self.known.as_ref()?.iter().any(|known| is_same_skill(known, skill)))
    }

    /// Whether the model called the skill.
    pub(crate) fn called_skill(&self, skill: &str) -> bool {
        self.calls.iter().any(|call| {
            call.tool == "Skill"
                && ["skill", "command", "name"]
                    .iter()
                    .filter_map(|key| call.input.get(key)?.as_str())
                    .any(|named| is_same_skill(named.trim_start_matches('/'), skill))
        })
    }

    /// The text of a file that it wrote; none when there is no such file.
    pub(crate) fn file(&self, path: &str) -> io::Result<Option<String>> {
        let file = match fs::File::open(inside(&self.files, path)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(LONGEST_FILE).read_to_end(&mut bytes)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// A plugin's skill is named with the plugin before it.
fn is_same_skill(known: &str, skill: &str) -> bool {
    known == skill || known.rsplit_once(':').is_some_and(|(_, name)| name == skill)
}

/// A path that cannot lead out of the folder.
pub(super) fn inside(folder: &Path, path: &str) -> PathBuf {
    let parts = Path::new(path).components();
    folder.join(parts.filter(|part| matches!(part, std::path::Component::Normal(_))).collect::<PathBuf>())
}

fn usage(session: &Session, duration_ms: Option<u64>) -> Usage {
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    let sum = |part: fn(&crate::stream_json::TokenUsage) -> i64| {
        session.usage.values().map(|usage| count(part(usage))).fold(0, u64::saturating_add)
    };
    let last = session.results.last();
    let (mut input, mut output) = (
        sum(|usage| usage.input.saturating_add(usage.cache_creation).saturating_add(usage.cache_read)),
        sum(|usage| usage.output),
    );
    // Results have the final counts of their pass; messages have those of their first event.
    let of_results = |part: fn(&crate::stream_json::TokenUsage) -> i64| {
        session.results.iter().map(|result| count(part(&result.usage))).fold(0, u64::saturating_add)
    };
    input = input.max(of_results(|usage| {
        usage.input.saturating_add(usage.cache_creation).saturating_add(usage.cache_read)
    }));
    output = output.max(of_results(|usage| usage.output));
    Usage {
        cost_usd: session
            .results
            .iter()
            .rev()
            .find_map(|result| result.cost_usd)
            .unwrap_or_default()
            .max(0.0),
        input_tokens: input,
        output_tokens: output,
        turns: last.and_then(|result| result.num_turns).map(count).unwrap_or_default(),
        seconds: duration_ms.unwrap_or_default() as f64 / 1000.0,
    }
}

/// The first request of a scripted run that no turn answers, in words.
fn unscripted(requests: Option<&Value>) -> Option<String> {
    let unmatched =
        |request: &'_ Value| request.get("unmatched").filter(|unmatched| unmatched.is_object()).cloned();
    let unmatched = requests?.as_array()?.iter().find_map(unmatched)?;
    let because: Vec<&str> = unmatched.get("because")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let nearest = unmatched.get("nearest").and_then(Value::as_str).unwrap_or("none");
    Some(format!("no turn of the script answers; nearest is {nearest}: {}", because.join("; ")))
}

/// What the lines of a stream say beside the session.
#[derive(Default)]
struct Seen {
    calls: Vec<ToolCall>,
    call_count: u64,
    known: Option<Vec<String>>,
    structured: Option<Value>,
    /// Calls that were denied, with their tools. Newer versions say it at once and again in the result.
    denied: Vec<(String, String)>,
}

impl Seen {
    fn line(&mut self, line: &Line<'_>) {
        let Some(message) = line.message() else { return };
        match message.view() {
            Message::Init(init) if self.known.is_none() => {
                let names = init.skills().chain(init.slash_commands());
                self.known = Some(names.take(MOST_CALLS).map(std::borrow::Cow::into_owned).collect());
            }
            Message::Assistant(assistant) => self.assistant(assistant),
            Message::Result(result) => self.result(result),
            _ => {}
        }
    }

    fn assistant(&mut self, assistant: Assistant<'_>) {
        let Some(message) = assistant.api_message() else { return };
        for block in message.blocks().filter(|block| block.is("tool_use")) {
            self.call_count += 1;
            if self.calls.len() == MOST_CALLS {
                continue;
            }
            let tool = block.name.and_then(crate::json::Node::text).unwrap_or_default().into_owned();
            let input = block
                .input
                .filter(|input| input.raw().len() <= LONGEST_INPUT)
                .map_or(Value::Null, crate::json::Node::to_value);
            self.calls.push(ToolCall { tool, input, by_subagent: assistant.is_subagent() });
        }
    }

    fn result(&mut self, result: RunResult<'_>) {
        for denial in result.permission_denials() {
            let text = |key: &str| {
                denial.get(key).and_then(crate::json::Node::text).unwrap_or_default().into_owned()
            };
            let denied = (text("tool_use_id"), text("tool_name"));
            if self.denied.len() < MOST_CALLS && !self.denied.contains(&denied) {
                self.denied.push(denied);
            }
        }
        if let Some(structured) = result.structured_output().filter(|output| !output.is_null()) {
            self.structured = Some(structured.to_value());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_log_is_refused_rather_than_given_a_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let facts = r#"{"schema_version":1,"target":"reference","target_version":"","scenario":"s","exit":{"code":0},
            "contract":"claws-events"}"#;
        let facts = crate::recording::Facts::parse(facts.as_bytes()).unwrap();
        Recording::new(facts, b"{}\n".to_vec(), Vec::new()).save(folder.path()).unwrap();
        let refused = Observed::read(folder.path(), &Contracts::built_in(), true);
        assert!(matches!(refused, Err(ObserveError::EventLog)));
    }
}
