//! What the Claude CLI prints: messages, one a line, or only the result.

use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::{World, print, process};
use super::flags::{Flags, OutputFormat};
use super::lies;
use crate::time;

/// The form of output, and what all messages share.
pub(super) struct Output {
    format: OutputFormat,
    verbose: bool,
    pub(super) session_id: String,
    /// What is printed at the end: the result, with `--verbose` every message.
    messages: Vec<Value>,
    counter: u64,
    wrong: &'static str,
    has_init: bool,
    pub(super) is_closed: bool,
    /// What is printed too late.
    held_back: String,
}

impl Output {
    pub(super) fn new(world: &World, flags: &Flags) -> Self {
        let resumed = flags.resume.clone().map(|id| if flags.fork { uuid(0xf0c4, 1) } else { id });
        let known = resumed.or_else(|| flags.session_id.clone());
        Self {
            format: flags.format,
            verbose: flags.verbose,
            session_id: known.unwrap_or_else(|| uuid(0xc1a0, 1)),
            messages: Vec::new(),
            counter: 0,
            wrong: world.wrong(),
            has_init: false,
            is_closed: false,
            held_back: String::new(),
        }
    }

    /// The same for another thread, with ids of its own.
    pub(super) fn aside(self) -> Self {
        Self { counter: 1 << 32, ..self }
    }

    /// An id that no message had before.
    pub(super) fn uuid(&mut self) -> String {
        if self.wrong != "same-uuid" || self.counter < 2 {
            self.counter += 1;
        }
        uuid(0, self.counter)
    }

    /// Prints a message with what every message has.
    pub(super) fn message(&mut self, message: Value) {
        for message in lies::printed(message, self.wrong) {
            self.whole_message(message);
        }
    }

    /// Prints a message between the program and its host, which has no ids of the session.
    pub(super) fn control(&mut self, message: &Value) {
        if self.format == OutputFormat::StreamJson {
            self.print(message);
        }
    }

    fn whole_message(&mut self, mut message: Value) {
        let is_init = message["subtype"] == "init";
        if is_init && self.wrong == "missing-init" {
            return;
        }
        self.identify(&mut message);
        self.line(message);
        if is_init && !std::mem::replace(&mut self.has_init, true) {
            self.after_init();
        }
    }

    /// Adds the ids of the session and of the message.
    fn identify(&mut self, message: &mut Value) {
        let is_foreign = self.wrong == "other-session" && message["type"] == "assistant";
        let session = if is_foreign { uuid(0xbad, 9) } else { self.session_id.clone() };
        message["session_id"] = session.into();
        message["uuid"] = self.uuid().into();
    }

    /// What goes wrong once the stream has begun.
    fn after_init(&mut self) {
        match self.wrong {
            "not-json" => print("Loading skills...\n"),
            "not-utf8" => {
                use std::io::Write as _;
                _ = std::io::stdout()
                    .lock()
                    .write_all(b"{\"type\":\"system\",\"subtype\":\"status\",\"status\":\"\xff\"}\n");
            }
            "drops-output" => {
                let text = "x".repeat(900_000);
                let mut message = json!({"type": "system", "subtype": "status", "status": text});
                self.identify(&mut message);
                write_what_fits(&message);
            }
            "stalls" => process::wait_for_ever(),
            "closes-stdout" => {
                // Nothing is written to it any more; the reader sees the end when the process goes on without it.
                self.is_closed = true;
                if let Ok(null) = std::fs::File::options().write(true).open("/dev/null") {
                    _ = rustix::stdio::dup2_stdout(&null);
                }
            }
            _ => {}
        }
    }

    fn line(&mut self, message: Value) {
        match self.format {
            OutputFormat::StreamJson => self.print(&message),
            OutputFormat::Json if self.verbose => self.messages.push(message),
            OutputFormat::Json | OutputFormat::Text => {}
        }
    }

    /// Prints a document as a line, or spoils it where that is asked for.
    fn print(&mut self, document: &Value) {
        let text = document.to_string();
        let is_last = document.is_array() || document["type"] == "result";
        match self.wrong {
            "cut-line" if is_last => print(&text[..text.len() / 2]),
            "duplicate-keys" => print(&format!("{}\n", text.replacen('{', "{\"uuid\":\"another\",", 1))),
            "lone-return" if !is_last => print(&format!("{text}\r")),
            "prints-late" => {
                self.held_back += &text;
                self.held_back.push('\n');
            }
            _ => print(&format!("{text}\n")),
        }
    }

    /// Prints the result in the form that was asked for.
    pub(super) fn result(&mut self, result: Value) {
        if self.wrong == "no-result" {
            return;
        }
        match self.format {
            OutputFormat::StreamJson => {
                self.message(result.clone());
                if self.wrong == "second-result" {
                    self.message(result);
                }
            }
            OutputFormat::Json => {
                for mut result in lies::printed(result, self.wrong) {
                    self.identify(&mut result);
                    self.messages.push(result);
                }
            }
            OutputFormat::Text => {
                let result = lies::printed(result, self.wrong).pop().unwrap_or_default();
                let text =
                    result["result"].as_str().or_else(|| result["errors"][0].as_str()).unwrap_or_default();
                print(&format!("{text}\n"));
            }
        }
    }

    /// Prints what is printed at the end only.
    pub(super) fn finish(&mut self) {
        print(&std::mem::take(&mut self.held_back));
        if self.format == OutputFormat::Json {
            let messages = std::mem::take(&mut self.messages);
            if self.verbose {
                self.print(&Value::Array(messages));
            } else if let Some(result) = messages.last() {
                self.print(result);
            }
        }
    }

    /// Prints one block of an answer.
    pub(super) fn block(&mut self, answer: &Answer, block: &Value, parent: Option<&Parent>) {
        let message = json!({
            "id": answer.id, "type": "message", "role": "assistant", "model": answer.model, "content": [block],
            "stop_reason": null, "stop_sequence": null, "usage": answer.first_usage, "context_management": null,
        });
        let parent_id = parent.map(|parent| &parent.tool_use_id);
        let mut fields = json!({"type": "assistant", "message": message, "parent_tool_use_id": parent_id});
        if let Some(id) = &answer.request_id {
            fields["request_id"] = id.clone().into();
        }
        if let Some(parent) = parent {
            parent.describe(&mut fields);
        }
        self.message(fields);
    }

    /// Prints a text that no model said.
    pub(super) fn synthetic(&mut self, text: &str) {
        self.failure(text, "stop_sequence", None, None);
    }

    /// Prints a text that no model said, about a failure.
    pub(super) fn failure(
        &mut self,
        text: &str,
        stop_reason: &str,
        error: Option<&str>,
        request_id: Option<&str>,
    ) {
        let id = self.uuid();
        let message = json!({
            "id": id, "container": null, "model": "<synthetic>", "role": "assistant", "stop_details": null,
            "stop_reason": stop_reason, "stop_sequence": "", "type": "message",
            "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
            "content": [{"type": "text", "text": text}], "context_management": null,
        });
        let mut fields = json!({"type": "assistant", "message": message, "parent_tool_use_id": null});
        if let Some(error) = error {
            fields["error"] = error.into();
        }
        if let Some(id) = request_id {
            fields["request_id"] = id.into();
        }
        self.message(fields);
    }

    /// Prints what a tool answered.
    pub(super) fn tool_result(&mut self, result: &Value, extra: Value, parent: Option<&Parent>) {
        if self.wrong == "tool-unanswered" {
            return;
        }
        let mut fields = json!({
            "type": "user", "message": {"role": "user", "content": [result]},
            "parent_tool_use_id": parent.map(|parent| &parent.tool_use_id),
            "timestamp": time::rfc3339(time::now()),
        });
        match parent {
            Some(parent) => parent.describe(&mut fields),
            None => fields["tool_use_result"] = extra,
        }
        self.message(fields);
    }
}

/// The call that a sub-agent works for.
#[derive(Debug, Clone)]
pub(super) struct Parent {
    pub(super) tool_use_id: String,
    pub(super) agent_type: String,
    pub(super) description: String,
}

impl Parent {
    fn describe(&self, fields: &mut Value) {
        fields["subagent_type"] = self.agent_type.clone().into();
        fields["task_description"] = self.description.clone().into();
    }
}

/// Writes a message once and without waiting, as a program that exits before its reader has read.
fn write_what_fits(message: &Value) {
    let line = format!("{message}\n");
    let out = rustix::stdio::stdout();
    let Ok(flags) = rustix::fs::fcntl_getfl(out) else { return };
    _ = rustix::fs::fcntl_setfl(out, flags | rustix::fs::OFlags::NONBLOCK);
    _ = rustix::io::write(out, line.as_bytes());
    _ = rustix::fs::fcntl_setfl(out, flags);
}

fn uuid(prefix: u32, number: u64) -> String {
    format!("{prefix:08x}-0000-4000-8000-{number:012x}")
}
