//! Gathering what happened, message by message.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::json::Node;
use crate::stream_json::reader::is_space;
use crate::stream_json::{
    ApiMessage, Assistant, Block, Init, Limits, Line, Message, RateLimitEvent, RawMessage, RunResult,
    StreamEvent, User,
};
use crate::text::tail;

use super::local_command::LocalOutput;
use super::outcome::{ResultFacts, denied_tools};
use super::questions::Questions;
use super::tasks::Tasks;
use super::usage::UsageByModel;
use super::{Task, TokenUsage, ToolCalls};

/// Of the final text this much is kept from its end.
const FINAL_TEXT: usize = 64 << 10;
/// Kept results; of more, later successes replace each other and a bounded number of failures is added.
const MAX_RESULTS: usize = 256;
/// More commands than any real installation has.
const MAX_COMMANDS: usize = 4096;

/// An `error` that an assistant message carried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AssistantError {
    /// The error token, such as `rate_limit`.
    pub kind: String,
    /// The line of the message that carried it.
    pub line: u64,
    /// Whether the main loop went on to say something that is no error.
    pub recovered: bool,
}

/// A tool call that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Denial {
    /// The name of the tool, where the denial has one.
    pub tool: Option<String>,
    /// The line that says so.
    pub line: u64,
}

/// Requests that were sent again.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Retries {
    /// How many were sent again.
    pub count: u64,
    /// The error of the last one.
    pub last_error: Option<String>,
    /// The HTTP status of the last one.
    pub last_status: Option<i64>,
    /// The line of the last one.
    pub line: u64,
    /// Whether no model has answered since the last one.
    pub pending: bool,
}

/// A `rate_limit_event` that says that a request was rejected.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RateLimit {
    /// When the limit ends, in seconds since 1970.
    pub resets_at: Option<i64>,
    /// The line of the event.
    pub line: u64,
}

/// What the main agent did since the last result.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Pass {
    /// The first error that one of its messages carried.
    pub error: Option<AssistantError>,
    /// The line on which the model first answered.
    pub answered: Option<u64>,
    /// The last words of a command that the CLI runs itself.
    pub local_output: Option<LocalOutput>,
}

/// Everything a verdict and a report need to know of a stream.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Session {
    limits: Limits,
    /// How many messages there were.
    pub messages: u64,
    /// Messages with a string `type`, which makes them part of the protocol.
    pub typed: u64,
    /// Whether the output ends in the middle of a message.
    pub cut: bool,
    /// `system/init` messages; more than one when the main loop was re-entered.
    pub inits: u64,
    /// The model of the first init.
    pub model: Option<String>,
    /// The CLI's version, from the first init.
    pub cli_version: Option<String>,
    /// The session's id, from the first message that has one.
    pub session_id: Option<String>,
    /// The slash commands and skills that the first init lists; none where it lists none.
    pub commands: Option<BTreeSet<String>>,
    /// Kept results, in order.
    pub results: Vec<ResultFacts>,
    /// How many results there were, also those that are not kept.
    pub result_count: u64,
    /// The end of the last text that the main agent said itself.
    pub final_text: Option<String>,
    /// The line of that text.
    pub final_text_line: u64,
    /// The end of what another agent last thought, where its contract says where that is.
    pub thinking: Option<String>,
    /// Usage by model, each message counted once.
    pub usage: BTreeMap<String, TokenUsage>,
    usage_by_id: UsageByModel,
    /// The tool calls and their results.
    pub tools: ToolCalls,
    tasks: Tasks,
    /// Retries of API requests.
    pub retries: Retries,
    /// Refused tool calls, the first of them.
    pub denials: Vec<Denial>,
    /// The last rejected rate limit.
    pub rate_limit: Option<RateLimit>,
    questions: Questions,
    /// The first sub-agent that failed on an API error.
    pub subagent_error: Option<AssistantError>,
    /// The pass of the main loop that no result has ended yet.
    pub pass: Pass,
    /// Messages of kinds that this version does not know.
    pub unknown_kinds: BTreeMap<String, u64>,
    /// Whether the last message is of such a kind, and none of the Claude CLI's own about itself (`system`).
    pub ends_unknown: bool,
}

impl Session {
    /// An empty session with these bounds.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The line of the first `AskUserQuestion` call that got no answer.
    pub fn asked_user(&self) -> Option<u64> {
        self.questions.first()
    }

    /// The work beside the main loop, and how each piece of it ended.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks.all
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &Line<'_>) {
        if let Some(message) = line.message() {
            self.message(&message);
        } else if let Line::Malformed { error, terminated: false, .. } = line {
            self.cut |= error.breaks_off();
        }
    }

    /// Takes a message, also one of `--output-format json`.
    pub fn message(&mut self, raw: &RawMessage<'_>) {
        self.messages += 1;
        self.view(raw.view(), raw.root(), (raw.line, raw.offset), raw.partial);
    }

    /// Takes a message that stands inside a larger document, which ends at this offset.
    pub fn nested_message(&mut self, root: Node<'_>, line: u64, end: u64) {
        self.messages += 1;
        self.view(Message::of(root), root, (line, end), false);
    }

    fn view(&mut self, message: Message<'_>, root: Node<'_>, (line, offset): (u64, u64), partial: bool) {
        let is_typed = !matches!(message, Message::Unknown(unknown) if unknown.kind().is_none());
        self.typed += u64::from(is_typed);
        self.ends_unknown = match message {
            Message::Unknown(unknown) => unknown.kind().is_none_or(|kind| kind != "system"),
            _ => false,
        };
        match message {
            Message::Assistant(assistant) => self.assistant(assistant, line),
            Message::User(user) => self.user(user, line),
            Message::Result(result) => self.result(result, (line, offset), partial),
            Message::Init(init) => self.init(init),
            Message::ApiRetry(retry) => {
                self.retries.count += 1;
                self.retries.last_error = retry.error().map(Cow::into_owned);
                self.retries.last_status = retry.error_status();
                self.retries.line = line;
                self.retries.pending = true;
            }
            Message::StreamEvent(event) => self.stream_event(event),
            Message::Status(status) if status.compact_result().is_some_and(|end| end == "failed") => {
                self.pass.local_output = Some(LocalOutput::of_compaction(status.compact_error(), line));
            }
            // What comes now is another session.
            Message::ConversationReset(_) => self.session_id = None,
            Message::TaskStarted(started) => self.tasks.started(started, line, self.limits.open),
            Message::TaskUpdated(updated) => self.tasks.updated(updated),
            Message::TaskNotification(notice) => self.tasks.notified(notice),
            Message::PermissionDenied(denied) => self.denied(denied.tool_name().map(Cow::into_owned), line),
            Message::RateLimitEvent(event) => self.rate_limit(event, line),
            Message::Unknown(unknown) => {
                self.unknown(unknown.kind().as_deref(), unknown.subtype().as_deref());
            }
            _ => {}
        }
        if self.session_id.is_none()
            && matches!(message, Message::Init(_) | Message::Result(_) | Message::Assistant(_))
        {
            self.session_id = root.get("session_id").and_then(Node::text).map(Cow::into_owned);
        }
    }

    fn init(&mut self, init: Init<'_>) {
        self.inits += 1;
        if self.inits == 1 {
            self.model = init.model().map(Cow::into_owned);
            self.cli_version = init.claude_code_version().map(Cow::into_owned);
            self.session_id = init.session_id().map(Cow::into_owned).or(self.session_id.take());
            let names = init.slash_commands().chain(init.skills()).take(MAX_COMMANDS);
            let names: BTreeSet<_> = names.map(Cow::into_owned).collect();
            self.commands = (!names.is_empty()).then_some(names);
        }
    }

    /// The beginning of an answer, which is told at once where partial messages are asked for.
    fn stream_event(&mut self, event: StreamEvent<'_>) {
        if self.retries.pending {
            let kind = event.event().and_then(|event| event.get("type"));
            self.retries.pending = !kind.is_some_and(|kind| kind.is_text("message_start"));
        }
    }

    fn assistant(&mut self, assistant: Assistant<'_>, line: u64) {
        let is_subagent = assistant.is_subagent();
        if let Some(kind) = assistant.error() {
            let error = AssistantError { kind: kind.into_owned(), line, recovered: false };
            let slot = if is_subagent { &mut self.subagent_error } else { &mut self.pass.error };
            slot.get_or_insert(error).recovered = false;
        } else if !is_subagent && let Some(error) = &mut self.pass.error {
            error.recovered = true;
        }
        let Some(message) = assistant.api_message() else { return };
        let is_synthetic = message.is_synthetic();
        if !is_synthetic {
            self.retries.pending = false;
            if !is_subagent {
                self.pass.answered.get_or_insert(line);
            }
            self.note_usage(message);
        }
        for block in message.blocks() {
            if block.is("text") {
                if !is_subagent && !is_synthetic {
                    self.main_text(block, line);
                } else if !is_subagent && assistant.error().is_none() {
                    self.local_text(assistant, block, line);
                }
            } else if block.is("tool_use") {
                self.tool_use(block, is_subagent, line);
            }
        }
    }

    fn note_usage(&mut self, message: ApiMessage<'_>) {
        let Some(usage) = message.usage.filter(|usage| usage.is_object()) else { return };
        let Some(id) = message.id() else { return };
        let model = message.model().unwrap_or(Cow::Borrowed("unknown"));
        self.usage_by_id.note(&id, &model, TokenUsage::of(usage), self.limits.open);
    }

    fn main_text(&mut self, block: Block<'_>, line: u64) {
        let Some(text) = block.text.and_then(Node::text) else { return };
        if text.chars().any(|c| !is_space(c)) {
            self.final_text_line = line;
            let end = tail(&text, FINAL_TEXT);
            let kept = self.final_text.get_or_insert_default();
            kept.clear();
            kept.push_str(end);
        }
    }

    /// The CLI speaks itself, and not of an error of the API.
    fn local_text(&mut self, assistant: Assistant<'_>, block: Block<'_>, line: u64) {
        let Some(text) = block.text.and_then(Node::text) else { return };
        let output = LocalOutput::of_message(&text, assistant.root.get("local_command_source"), line);
        let earlier = self.pass.local_output.take().filter(|earlier| earlier.is_error);
        self.pass.local_output = Some(earlier.unwrap_or(output));
    }

    fn tool_use(&mut self, block: Block<'_>, is_subagent: bool, line: u64) {
        let id = block.id.and_then(Node::text);
        let name = block.name.and_then(Node::text).unwrap_or_default();
        self.tools.called(id.as_deref(), &name, self.limits.open);
        let input = block.input;
        if input.and_then(|input| input.get("run_in_background")).and_then(Node::boolean) == Some(true) {
            self.tasks.launched(id.as_deref(), line, self.limits.open);
        }
        match &*name {
            "AskUserQuestion" if !is_subagent => self.questions.ask(id, line, self.limits.open),
            "TaskStop" | "KillShell" | "KillBash" => {
                if let Some(input) = input {
                    self.tasks.stop_requested(input);
                }
            }
            _ => {}
        }
    }

    fn user(&mut self, user: User<'_>, line: u64) {
        let details = user.tool_use_result();
        if let Some(output) = user.text().and_then(|text| LocalOutput::of_user(&text, line)) {
            self.pass.local_output = Some(output);
        }
        for block in user.blocks().filter(|block| block.is("tool_result")) {
            let Some(id) = block.tool_use_id.and_then(Node::text) else { continue };
            let is_error = block.is_failed();
            let name = self.tools.answered(&id, is_error);
            self.tasks.tool_result(block, details);
            self.questions.answer(&id, block);
            if matches!(name.as_deref(), Some("Agent" | "Task")) && is_api_error_text(block) {
                let error = AssistantError { kind: "API Error".into(), line, recovered: false };
                self.subagent_error.get_or_insert(error);
            }
        }
    }

    fn result(&mut self, result: RunResult<'_>, (line, offset): (u64, u64), partial: bool) {
        self.result_count += 1;
        let mut facts = ResultFacts::of(result, line, offset, partial);
        // A result of which only the head was read, and not whether it is an error, says nothing.
        if partial && facts.is_error.is_none() {
            self.cut = true;
            return;
        }
        let pass = std::mem::take(&mut self.pass);
        facts.assistant_error = pass.error;
        facts.model_answered = pass.answered.is_some();
        facts.local_output = pass.local_output;
        facts.retried = std::mem::take(&mut self.retries.pending).then_some(self.retries.line);
        for tool in denied_tools(result) {
            self.denied(tool, line);
        }
        let room = if facts.is_failure() { MAX_RESULTS * 2 } else { MAX_RESULTS };
        if self.results.len() < room {
            self.results.push(facts);
        } else if let Some(last) = self.results.last_mut()
            && !last.is_failure()
        {
            *last = facts;
        }
    }

    fn denied(&mut self, tool: Option<String>, line: u64) {
        if self.denials.len() < self.limits.samples {
            self.denials.push(Denial { tool, line });
        }
    }

    fn rate_limit(&mut self, event: RateLimitEvent<'_>, line: u64) {
        let Some(info) = event.rate_limit_info() else { return };
        if info.get("status").is_some_and(|status| status.is_text("rejected")) {
            let resets_at = info.get("resetsAt").and_then(Node::float).map(|seconds| seconds as i64);
            self.rate_limit = Some(RateLimit { resets_at, line });
        }
    }

    fn unknown(&mut self, kind: Option<&str>, subtype: Option<&str>) {
        let Some(kind) = kind else { return };
        let name = subtype.map_or_else(|| kind.to_owned(), |subtype| format!("{kind}/{subtype}"));
        if self.unknown_kinds.len() < self.limits.samples || self.unknown_kinds.contains_key(&name) {
            *self.unknown_kinds.entry(name).or_default() += 1;
        }
    }

    /// Ends the stream: sums the usage of all messages.
    pub fn finish(&mut self) {
        self.usage = self.usage_by_id.finish();
    }
}

fn is_api_error_text(result: Block<'_>) -> bool {
    result.result_text().is_some_and(|text| text.starts_with("API Error"))
}
