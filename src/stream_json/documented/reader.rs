//! The fold of the documented reader.

use serde::Serialize;

use crate::json::{Kind, Node};
use crate::recording::Exit;
use crate::stream_json::reader::is_space;
use crate::stream_json::{Assistant, Count, KeptText, Limits, Line, Message, RawMessage};

use super::heuristics::{BACKGROUND_WARNING, INTERACTIVE_WARNING, says_waiting};
use super::integer::{self, exact_integer, token_count};

/// Python's JSON decoder gives up at about this depth.
const MAX_DEPTH: usize = 990;
/// An error text keeps this many characters.
const MAX_ERROR: usize = 4096;
const NO_DETAIL: &str = "API error (no detail)";
const NO_RESULT: &str = "stream-json ended without a 'result' message; token usage unavailable";

/// What the documented reader takes from outside the stream.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Settings {
    /// Whether the heuristics apply: the document's `allow_hang_heuristic`.
    pub heuristics: bool,
    /// Whether `CLAUDE_CODE_DISABLE_BACKGROUND_TASKS` is `1`.
    pub background_disabled: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { heuristics: true, background_disabled: false }
    }
}

/// The error categories of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the document's own")]
pub enum Category {
    #[serde(rename = "rate_limit")]
    RateLimit,
    Auth,
    Api,
    Interactive,
    BackgroundTask,
    Timeout,
}

/// What the documented reader reports of a run: the `run` member of `judge --format json`.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// All assistant texts, joined by newlines, up to the limit.
    pub output: String,
    /// The error shown to the user.
    pub error: Option<String>,
    /// The category of the error, by the document's keywords.
    pub error_category: Option<Category>,
    /// Warnings in the reader's order.
    pub warnings: Vec<String>,
    /// The process's exit code; negative for a signal, -1 on timeout and spawn failure.
    pub exit_code: i32,
    /// Input tokens of the last result.
    pub input_tokens: Count,
    /// Output tokens of the last result.
    pub output_tokens: Count,
    /// `total_cost_usd` of the last result that states it.
    pub cost_usd: Option<f64>,
    /// How long the run took.
    pub duration_seconds: f64,
    /// Whether `output` was cut at the limit.
    pub output_truncated: bool,
    /// `apiKeySource` of the first init.
    pub api_key_source: Option<String>,
    /// Messages with a `type`.
    pub events: u64,
    /// Exit code 0 and some output.
    pub succeeded: bool,
    /// Succeeded with no error and no heuristic warning.
    pub succeeded_cleanly: bool,
}

/// Folds a stream the way the documented reader does.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is something the documented reader has seen or not")]
pub struct Reader {
    settings: Settings,
    limits: Limits,
    output: KeptText,
    /// Whether a text was captured, so that the next one is joined by a newline.
    has_text: bool,
    /// The last character of the output that is not white space.
    last_visible: Option<char>,
    /// Whether a text beyond the kept part says that work goes on.
    waiting_beyond: bool,
    warnings: Vec<String>,
    unlisted_warnings: u64,
    saw_init: bool,
    api_key_source: Option<String>,
    saw_result: bool,
    error: Option<String>,
    input_tokens: Count,
    output_tokens: Count,
    cost_usd: Option<f64>,
    duration_ms: Option<f64>,
    num_turns: Option<Count>,
    ends_turn: bool,
    asked_user: bool,
    background_launches: u64,
    events: u64,
}

impl Reader {
    /// A reader with these settings and bounds.
    pub fn new(settings: Settings, limits: Limits) -> Self {
        Self { settings, limits, output: KeptText::new(limits.text), ..Self::default() }
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &Line<'_>) {
        match line {
            Line::Message(message) => self.message(message),
            Line::NotAnObject { .. } => {}
            Line::Malformed { error, number, .. } => {
                self.warn(|| format!("malformed stream-json line skipped: {error} of line {number}"));
            }
            Line::Oversized { length, number, head, .. } => {
                self.warn(|| format!("malformed stream-json line skipped: line {number} has {length} bytes"));
                if let Some(head) = head {
                    self.message(head);
                }
            }
        }
    }

    fn warn(&mut self, text: impl FnOnce() -> String) {
        if self.warnings.len() < self.limits.samples {
            self.warnings.push(text());
        } else {
            self.unlisted_warnings += 1;
        }
    }

    fn message(&mut self, message: &RawMessage<'_>) {
        let line = message.line;
        if message.invalid_utf8.is_some() {
            self.warn(|| format!("invalid UTF-8 in line {line} was replaced"));
        }
        if message.document.depth() > MAX_DEPTH {
            self.warn(|| format!("line {line} is nested {} levels deep", message.document.depth()));
        }
        let root = message.root();
        if has_huge_integer(message) {
            self.warn(|| format!("line {line} has an integer of more than {} digits", integer::MAX_DIGITS));
        }
        match message.view() {
            Message::Unknown(_) if root.get("type").is_none() => return,
            Message::Assistant(assistant) => self.assistant(assistant, line),
            Message::Result(_) => self.result(root, line),
            Message::Init(init) if !self.saw_init => {
                self.saw_init = true;
                self.api_key_source = init.api_key_source().map(std::borrow::Cow::into_owned);
            }
            _ => {}
        }
        self.events += 1;
    }

    fn assistant(&mut self, assistant: Assistant<'_>, line: u64) {
        let Some(message) = assistant.api_message() else {
            if assistant.message().is_some_and(|message| !is_falsy(message)) {
                self.warn(|| format!("message of line {line} is not an object and was left out"));
            }
            return;
        };
        if let Some(stop) = message.stop_reason.filter(|stop| stop.kind() == Kind::String) {
            self.ends_turn = stop.is_text("end_turn");
        }
        for block in message.blocks() {
            if block.is("text") {
                match block.text {
                    None => self.text(""),
                    Some(text) => match text.text() {
                        Some(text) => self.text(&text),
                        None => self.warn(|| format!("text of line {line} is not a string and was left out")),
                    },
                }
            } else if block.is("tool_use")
                && let Some(name) = block.name
            {
                self.asked_user |= name.is_text("AskUserQuestion");
                let in_background = || {
                    let flag = block.input.and_then(|input| input.get("run_in_background"));
                    flag.and_then(Node::boolean) == Some(true)
                };
                if name.is_text("Task") && in_background() {
                    self.background_launches += 1;
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.has_text {
            self.output.push("\n");
        }
        self.has_text = true;
        self.output.push(text);
        // A phrase cannot reach across the newline between two texts, so looking at this one alone is enough. Before
        // anything was launched, the phrases mean nothing.
        if self.output.is_truncated() && self.background_launches > 0 && says_waiting(text) {
            self.waiting_beyond = true;
        }
        if let Some(last) = text.trim_end_matches(is_space).chars().next_back() {
            self.last_visible = Some(last);
        }
    }

    fn result(&mut self, root: Node<'_>, line: u64) {
        self.saw_result = true;
        if root.get("is_error").and_then(Node::boolean) == Some(true) {
            let text = root.get("result").and_then(Node::text);
            self.error = Some(text.map_or_else(|| NO_DETAIL.into(), |text| clip_error(&text)));
        }
        let usage = root.get("usage").filter(|usage| !is_falsy(*usage));
        if usage.is_none_or(Node::is_object) {
            let mut count = |key: &str| {
                token_count(usage.and_then(|usage| usage.get(key))).unwrap_or_else(|_| {
                    self.warn(|| format!("{key} of line {line} is infinite and was left out"));
                    Count::default()
                })
            };
            let (input, output) = (count("input_tokens"), count("output_tokens"));
            self.input_tokens = input;
            self.output_tokens = output;
        }
        if let Some(turns) = root.get("num_turns").and_then(exact_integer) {
            self.num_turns = Some(turns);
        }
        self.cost_usd = root.get("total_cost_usd").and_then(Node::float).or(self.cost_usd);
        self.duration_ms = root.get("duration_ms").and_then(Node::float).or(self.duration_ms);
    }

    /// Ends the fold with what is known of the process.
    pub fn finish(mut self, exit: &Exit, stderr: &[u8], duration_ms: Option<u64>) -> Run {
        if self.unlisted_warnings > 0 {
            let more = self.unlisted_warnings;
            self.warnings.push(format!("{more} more warnings of this kind are not listed"));
        }
        let mut drainer_warning = None;
        let stderr = match std::str::from_utf8(stderr) {
            Ok(text) => text.replace("\r\n", "\n").replace('\r', "\n"),
            Err(error) => {
                drainer_warning = Some(format!("stderr drainer stopped at invalid UTF-8: {error}"));
                String::new()
            }
        };
        let duration = duration_ms.map(|ms| ms as f64).or(self.duration_ms).unwrap_or_default();
        let exit_code = match exit {
            Exit { spawn_error: Some(_), .. } => -1,
            Exit { timed_out: Some(_), code, .. } if *code != Some(0) => -1,
            Exit { code: Some(code), .. } => *code,
            Exit { signal: Some(signal), .. } => -*signal,
            _ => -1,
        };
        let (error, error_category) = self.conclude(exit, exit_code, stderr);
        self.warnings.extend(drainer_warning);
        let succeeded = exit_code == 0 && self.last_visible.is_some();
        let is_heuristic = |warning: &String| {
            warning.starts_with("interactive-hang:") || warning.starts_with("background-task:")
        };
        let clean = error.is_none() && error_category.is_none() && !self.warnings.iter().any(is_heuristic);
        Run {
            output: self.output.as_str().into(),
            error,
            error_category,
            warnings: self.warnings,
            exit_code,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cost_usd: self.cost_usd,
            duration_seconds: duration / 1000.0,
            output_truncated: self.output.is_truncated(),
            api_key_source: self.api_key_source,
            events: self.events,
            succeeded,
            succeeded_cleanly: succeeded && clean,
        }
    }

    /// The error and its category; adds the warnings that go with them.
    fn conclude(
        &mut self,
        exit: &Exit,
        exit_code: i32,
        stderr: String,
    ) -> (Option<String>, Option<Category>) {
        if let Some(spawn) = &exit.spawn_error {
            return (Some(format!("Claude CLI not found: {}", spawn.message)), None);
        }
        if exit.timed_out.is_some() && exit_code != 0 {
            self.warnings.extend((!stderr.is_empty()).then_some(stderr));
            return (Some("timeout".into()), Some(Category::Timeout));
        }
        if !self.saw_result {
            self.warnings.push(NO_RESULT.into());
        }
        let stream_error = self.error.take();
        let category = match &stream_error {
            Some(text) => Some(categorise(text)),
            None => self.heuristic(),
        };
        match category {
            Some(Category::Interactive) => self.warnings.push(INTERACTIVE_WARNING.into()),
            Some(Category::BackgroundTask) => self.warnings.push(BACKGROUND_WARNING.into()),
            _ => {}
        }
        if stderr.is_empty() {
            return (stream_error, category);
        }
        if category.is_some() {
            self.warnings.push(stderr);
            (stream_error, category)
        } else {
            ((exit_code != 0).then_some(stderr), None)
        }
    }

    fn heuristic(&self) -> Option<Category> {
        if !self.settings.heuristics {
            return None;
        }
        let single_turn = self.num_turns.as_ref().and_then(Count::as_i64) == Some(1);
        if single_turn && self.ends_turn && (self.last_visible == Some('?') || self.asked_user) {
            return Some(Category::Interactive);
        }
        if self.settings.background_disabled || self.background_launches == 0 {
            return None;
        }
        let few_turns =
            self.num_turns.as_ref().is_some_and(|turns| turns.is_below(self.background_launches as i64 + 2));
        let waiting = || self.waiting_beyond || says_waiting(self.output.as_str());
        (few_turns || waiting()).then_some(Category::BackgroundTask)
    }
}

/// Python's truth value, negated.
fn is_falsy(value: Node<'_>) -> bool {
    match value.kind() {
        Kind::Null => true,
        Kind::Boolean => value.boolean() == Some(false),
        Kind::Integer | Kind::Number => value.raw().parse::<f64>() == Ok(0.0),
        Kind::String => value.raw().len() == 2,
        Kind::Array => value.items().next().is_none() && !value.is_opaque(),
        Kind::Object => value.members().next().is_none() && !value.is_opaque(),
    }
}

/// Whether Python would refuse an integer of this line for its length.
fn has_huge_integer(message: &RawMessage<'_>) -> bool {
    message.document.oddities().iter().any(|odd| {
        odd.kind == crate::json::Problem::HugeInteger
            && message.text[odd.offset..]
                .trim_start_matches('-')
                .bytes()
                .take_while(u8::is_ascii_digit)
                .count()
                > integer::MAX_DIGITS
    })
}

fn clip_error(text: &str) -> String {
    match text.char_indices().nth(MAX_ERROR) {
        Some((end, _)) => format!("{} ... (truncated)", &text[..end]),
        None => text.into(),
    }
}

fn categorise(text: &str) -> Category {
    let lower = text.to_lowercase();
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| lower.contains(keyword));
    if has(&["429", "rate limit", "rate-limit"]) {
        Category::RateLimit
    } else if has(&["401", "403", "unauthorized", "authentication", "auth error", "anthropic_api_key"]) {
        Category::Auth
    } else {
        Category::Api
    }
}
