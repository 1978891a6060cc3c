//! What one attempt did, read from its recording: everything that assertions may ask about.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::examiner::{self, Examined};
use super::urls::{self, Reached};
use crate::classify::Verdict;
use crate::harness::KEPT_FILES;
use crate::harness::supervise::not_isolated;
use crate::judge::{Contracts, JudgeError, Options, watched_recording};
use crate::outcome::Step;
use crate::recording::{Exit, Recording, RecordingError};
use crate::run::target::SkillSignal;
use crate::stream_json::{Assistant, Block, Line, Message, RunResult, Session};
use crate::text::head;

/// More tool calls than this are counted, not kept.
pub(super) const MOST_CALLS: usize = 4096;
/// A tool's arguments that are longer than this are not kept.
const LONGEST_INPUT: usize = 256 << 10;
/// Of what a failed tool said, this much is kept.
const LONGEST_ANSWER: usize = 200;
/// Of a file that an assertion asks for, this much is read.
pub(super) const LONGEST_FILE: u64 = 16 << 20;

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
    /// What the target said went wrong.
    pub error: Option<String>,
    /// Tool calls in their order, the first of them.
    pub calls: Vec<ToolCall>,
    pub call_count: u64,
    /// Skills and commands that the target knew; none when it did not say.
    pub known: Option<Vec<String>>,
    /// The tools that the target offered; none when it did not say.
    pub offered: Vec<String>,
    /// Whether the target's stream never says which skills it knows.
    is_silent_on_skills: bool,
    /// What such a target asked the API first, where that was recorded.
    asked: Option<String>,
    /// What another agent than the Claude CLI said and did, the start of it.
    pub steps: Vec<Step>,
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
    /// What graders of the author found; none when none was run.
    pub examined: Option<Vec<Examined>>,
    /// Requests that no turn of the scripted model answers.
    pub unscripted: Option<String>,
    /// What the scripted model answered, as the recording has it.
    pub served: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub tool: String,
    /// Its arguments; null when they are too long.
    pub input: Value,
    /// Whether a sub-agent called it.
    pub by_subagent: bool,
    /// What became of it.
    pub answer: CallAnswer,
    /// What identifies it in the stream.
    id: String,
}

/// What became of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallAnswer {
    /// Nobody answered: the run was over before.
    None,
    /// The tool did it.
    Done,
    /// The tool was not allowed to do it.
    Denied,
    /// The tool failed, and said this.
    Failed(String),
}

/// How a skill was used, or that it was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SkillUse {
    /// By a call that was answered without an error.
    Called,
    /// Its file was read.
    Read,
    /// A call that nobody answered, since the run was over before.
    Unanswered,
    /// By calls that failed or were denied; what the last one said.
    Failed(String),
    None,
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
        // A contract of the author's own is where the target's file says.
        let own = facts.other.get("contract_path").and_then(Value::as_str).map(Contracts::only);
        let own = own.transpose().map_err(JudgeError::from)?;
        let contracts = own.as_ref().unwrap_or(contracts);
        let table = contracts.outcome_of(facts).map_err(JudgeError::from)?;
        let mut seen = Seen::default();
        let judgement = watched_recording(&recording, contracts, &options, &mut |line| match table {
            Some(table) => table.steps(line, &mut |step| seen.step(step)),
            None => seen.line(line),
        })?;
        let asked = if table.is_some() { first_question(folder) } else { None };
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
            output: match &run {
                Some(run) => run.output.clone(),
                None => session.final_text.clone().unwrap_or_default(),
            },
            error: match run {
                Some(run) => run.error,
                None => words_of(&verdict),
            },
            is_silent_on_skills: table.is_some(),
            asked,
            steps: std::mem::take(&mut seen.steps),
            denied: seen.denied.iter().map(|(_, tool)| tool.clone()).collect(),
            final_text: session.final_text.unwrap_or_default(),
            model: session.model,
            version: session.cli_version.unwrap_or_else(|| facts.target_version.clone()),
            not_isolated: not_isolated(facts),
            verdict,
            call_count: seen.call_count,
            known: seen.known.take(),
            structured: seen.structured.take(),
            offered: std::mem::take(&mut seen.offered),
            calls: seen.judged_calls(),
            exit: facts.exit.clone(),
            files: folder.join(KEPT_FILES),
            reached: urls::read(folder),
            examined: examiner::read(folder),
            unscripted: unscripted(facts.other.get("requests")),
            served: facts.other.get("served").cloned(),
        })
    }

    /// Whether the target knew the skill; none when it did not say what it knows. One that never says it tells its model
    /// where the skill is; where nobody saw what it asked, it is taken for known.
    pub(crate) fn knows(&self, skill: &str) -> Option<bool> {
        if self.is_silent_on_skills {
            return Some(
                self.asked.as_ref().is_none_or(|asked| asked.contains(&format!("{skill}/SKILL.md"))),
            );
        }
        Some(self.known.as_ref()?.iter().any(|known| is_same_skill(known, skill)))
    }

    /// Whether it is seen that the target knew the skill, rather than taken for granted.
    pub(crate) fn surely_knows(&self, skill: &str) -> bool {
        (!self.is_silent_on_skills || self.asked.is_some()) && self.knows(skill) == Some(true)
    }

    /// How the model used the skill, by what its target's file says about that.
    pub(crate) fn skill_use(&self, skill: &str, signal: &SkillSignal) -> SkillUse {
        let mut best = SkillUse::None;
        for call in &self.calls {
            let named = |keys: &[String]| -> Vec<String> {
                let texts = keys.iter().filter_map(|key| call.input.get(key)?.as_str());
                texts.map(str::to_owned).collect()
            };
            let calls = call.tool == signal.tool
                && named(&signal.arguments)
                    .iter()
                    .any(|named| is_same_skill(named.trim_start_matches('/'), skill));
            let reads = call.tool == signal.read_tool
                && named(&signal.read_arguments)
                    .iter()
                    .any(|path| names_file_of(path, skill, &signal.folder));
            match (&call.answer, calls, reads) {
                (CallAnswer::Done, true, _) => return SkillUse::Called,
                (CallAnswer::Done, _, true) => best = SkillUse::Read,
                (CallAnswer::None, true, _) if best != SkillUse::Read => best = SkillUse::Unanswered,
                (CallAnswer::Denied, true, _) if !matches!(best, SkillUse::Read | SkillUse::Unanswered) => {
                    best = SkillUse::Failed("it was denied".into());
                }
                (CallAnswer::Failed(said), true, _)
                    if !matches!(best, SkillUse::Read | SkillUse::Unanswered) =>
                {
                    best = SkillUse::Failed(said.clone());
                }
                _ => {}
            }
        }
        best
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

/// Whether a path, or a word of a command, is the skill's own file: below the directory where the target looks for skills,
/// which a command may have changed to before. A file of the same name elsewhere is another.
fn names_file_of(text: &str, skill: &str, folder: &str) -> bool {
    let mut words = text
        .split(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ';' | '|' | '&' | '<' | '(' | ')'));
    let is_named = is_file_of(text, skill) || words.any(|word| is_file_of(word, skill));
    is_named && (text.replace('\\', "/").contains(folder) || is_command_of(text, skill))
}

/// What the target asked the API first, where the body was recorded.
fn first_question(recording: &Path) -> Option<String> {
    let file = fs::File::open(recording.join("requests/000.json")).ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What the evidence says of a failure.
fn words_of(verdict: &Verdict) -> Option<String> {
    let said = verdict.evidence.first().filter(|_| !verdict.is_ok())?;
    said.value.as_str().map(str::to_owned)
}

/// Whether a path is that of the skill's own file.
fn is_file_of(path: &str, skill: &str) -> bool {
    let mut parts = path.rsplit(['/', '\\']);
    (parts.next() == Some("SKILL.md") && parts.next() == Some(skill)) || is_command_of(path, skill)
}

/// Whether a path is that of a command's file.
fn is_command_of(path: &str, skill: &str) -> bool {
    path.replace('\\', "/").ends_with(&format!(".claude/commands/{skill}.md"))
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
    offered: Vec<String>,
    structured: Option<Value>,
    /// Calls that were denied, with their tools. Newer versions say it at once and again in the result.
    denied: Vec<(String, String)>,
    steps: Vec<Step>,
}

impl Seen {
    /// Takes a step of another agent than the Claude CLI.
    fn step(&mut self, step: Step) {
        match &step {
            Step::Text { .. } => {}
            Step::Call { id, name, input } => {
                self.call_count += 1;
                if self.calls.len() < MOST_CALLS {
                    let (tool, id, answer) = (name.clone(), id.clone(), CallAnswer::None);
                    self.calls.push(ToolCall { tool, input: input.clone(), by_subagent: false, answer, id });
                }
            }
            Step::Answer { id, failed, output } => {
                let open = |call: &&mut ToolCall| call.id == *id && call.answer == CallAnswer::None;
                if let Some(call) = self.calls.iter_mut().rev().find(open) {
                    call.answer = match failed {
                        true => CallAnswer::Failed(head(output, LONGEST_ANSWER).to_owned()),
                        false => CallAnswer::Done,
                    };
                }
            }
        }
        if self.steps.len() < MOST_CALLS {
            self.steps.push(step);
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        let Some(message) = line.message() else { return };
        match message.view() {
            Message::Init(init) if self.known.is_none() => {
                let names = init.skills().chain(init.slash_commands());
                self.offered = init.tools().take(MOST_CALLS).map(std::borrow::Cow::into_owned).collect();
                self.known = Some(names.take(MOST_CALLS).map(std::borrow::Cow::into_owned).collect());
            }
            Message::Assistant(assistant) => self.assistant(assistant),
            Message::User(user) => {
                for block in user.blocks().filter(|block| block.is("tool_result")) {
                    self.answered(block);
                }
            }
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
            let id = block.id.and_then(crate::json::Node::text).unwrap_or_default().into_owned();
            let (by_subagent, answer) = (assistant.is_subagent(), CallAnswer::None);
            self.calls.push(ToolCall { tool, input, by_subagent, answer, id });
        }
    }

    /// The calls, those that were denied among them.
    fn judged_calls(self) -> Vec<ToolCall> {
        let mut calls = self.calls;
        for (id, _) in &self.denied {
            for call in calls.iter_mut().filter(|call| call.id == *id) {
                call.answer = CallAnswer::Denied;
            }
        }
        calls
    }

    fn answered(&mut self, block: Block<'_>) {
        let Some(id) = block.tool_use_id.and_then(crate::json::Node::text) else { return };
        // Answers follow their calls closely.
        let call = self.calls.iter_mut().rev().find(|call| call.id == id && call.answer == CallAnswer::None);
        let Some(call) = call else { return };
        call.answer = if block.is_failed() {
            CallAnswer::Failed(head(&block.result_text().unwrap_or_default(), LONGEST_ANSWER).to_owned())
        } else {
            CallAnswer::Done
        };
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
