//! The conversation: asks, runs tools, asks again, and says how it ended.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::answer::{Answer, Usage, text};
use super::super::api::{Api, Failure, Heard};
use super::super::{World, complain};
use super::background::Task;
use super::error_text::{describe, retry_word};
use super::flags::{Flags, OutputFormat};
use super::hooks::{self, Wish};
use super::output::{Output, Parent};
use super::tools::{self, Outcome};
use super::{skills, user_text};

const MODEL: &str = "claude-haiku-4-5";
/// How often an invalid structured answer is asked for again.
const SCHEMA_ATTEMPTS: usize = 5;

pub(super) struct Session<'w> {
    world: &'w World,
    flags: Flags,
    output: Output,
    api: Api,
    messages: Vec<Value>,
    /// Of everything so far, and of the answer to the present prompt.
    total: Usage,
    present: Usage,
    denials: Vec<Value>,
    tasks: Vec<Task>,
    task_count: usize,
    /// Whether the present answer is to a notice rather than to the user.
    is_notified: bool,
}

/// How the answer to a prompt ended.
enum End {
    Answered {
        text: String,
        stop_reason: Option<String>,
        structured: Option<Value>,
    },
    Failed(Failure),
    Limit {
        subtype: &'static str,
        message: String,
        reason: Option<&'static str>,
        stop_reason: Option<String>,
    },
}

impl<'w> Session<'w> {
    pub(super) fn new(world: &'w World, flags: Flags, output: Output) -> Self {
        Self {
            world,
            flags,
            output,
            api: Api::of(world),
            messages: Vec::new(),
            total: Usage::default(),
            present: Usage::default(),
            denials: Vec::new(),
            tasks: Vec::new(),
            task_count: 0,
            is_notified: false,
        }
    }

    fn model(&self) -> &str {
        self.flags.model.as_deref().unwrap_or(MODEL)
    }

    fn transcript(&self, id: &str) -> Option<PathBuf> {
        let home = self.world.variable("HOME")?;
        Some(PathBuf::from(home).join(".claude/projects").join(format!("{id}.json")))
    }

    /// The exit code when the session to resume does not exist.
    pub(super) fn fail_to_resume(&mut self) -> Option<u8> {
        let id = self.flags.resume.clone()?;
        let stored = self.transcript(&id).and_then(|path| fs::read(path).ok());
        if let Some(messages) = stored.and_then(|stored| serde_json::from_slice(&stored).ok()) {
            self.messages = messages;
            return None;
        }
        let message = format!("No conversation found with session ID: {id}");
        complain(&message);
        if self.flags.format != OutputFormat::Text {
            let mut fields = json!({
                "subtype": "error_during_execution", "duration_ms": 0, "duration_api_ms": 0, "is_error": true,
                "num_turns": 0, "stop_reason": null, "total_cost_usd": 0,
            });
            fields["usage"] = usage_json(Usage::default());
            fields["modelUsage"] = json!({});
            fields["permission_denials"] = json!([]);
            fields["errors"] = json!([message]);
            self.output.result(fields);
            self.output.finish();
        }
        Some(1)
    }

    /// What the user asks: an argument, standard input, or several messages on standard input.
    pub(super) fn prompts(&mut self) -> Result<Vec<String>, String> {
        let mut input = String::new();
        if self.flags.stream_input || self.flags.prompt.is_none() {
            std::io::stdin()
                .read_to_string(&mut input)
                .map_err(|error| format!("Error: cannot read stdin: {error}"))?;
        }
        if !self.flags.stream_input {
            let prompt = self.flags.prompt.clone().unwrap_or(input);
            return Ok(Some(prompt).filter(|prompt| !prompt.trim().is_empty()).into_iter().collect());
        }
        let mut prompts = Vec::new();
        for line in input.lines().filter(|line| !line.trim().is_empty()) {
            let message: Value = serde_json::from_str(line)
                .map_err(|error| format!("Error parsing streaming input line: {error}"))?;
            let content = &message["message"]["content"];
            prompts.push(content.as_str().map_or_else(|| text(&content[0]["text"]), str::to_owned));
        }
        Ok(prompts)
    }

    fn init(&mut self) {
        let mode = if self.flags.bypass {
            "bypassPermissions"
        } else {
            self.flags.permission_mode.as_deref().unwrap_or("default")
        };
        let (skills, own) = skills::names();
        let commands: Vec<String> =
            ["compact", "context"].map(str::to_owned).into_iter().chain(skills.clone()).chain(own).collect();
        let key = if self.api.key.is_some() { "ANTHROPIC_API_KEY" } else { "none" };
        let cwd = std::env::current_dir().unwrap_or_default();
        let fields = json!({
            "subtype": "init", "cwd": cwd, "tools": ["Task", "Bash", "Read", "Write"], "mcp_servers": [],
            "model": self.model(), "permissionMode": mode, "slash_commands": commands, "apiKeySource": key,
            "claude_code_version": "2.1.197", "output_style": "default", "agents": ["general-purpose"],
            "skills": skills, "plugins": [], "analytics_disabled": true, "product_feedback_disabled": true,
            "fast_mode_state": "off",
        });
        self.output.message("system", fields);
    }

    /// Answers one prompt; the exit code.
    pub(super) fn answer(&mut self, prompt: &str) -> u8 {
        let started = Instant::now();
        self.present = Usage::default();
        self.denials.clear();
        hooks::run("SessionStart", "SessionStart:startup", true, &mut self.output);
        self.init();
        if let Wish::Stop(reason) =
            hooks::run("UserPromptSubmit", "UserPromptSubmit", false, &mut self.output)
        {
            let content = format!("Operation stopped by hook: {reason}");
            let fields = json!({"subtype": "informational", "content": content, "level": "warning", "prevent_continuation": true});
            self.output.message("system", fields);
            return self.end(
                started,
                0,
                End::Answered { text: String::new(), stop_reason: None, structured: None },
            );
        }
        let prompt = match Self::expand(prompt) {
            Ok(prompt) => prompt,
            Err(said) => {
                self.output.synthetic(&said, None, None);
                return self.end(
                    started,
                    0,
                    End::Answered { text: said, stop_reason: None, structured: None },
                );
            }
        };
        self.messages.push(user_text(&prompt));
        let mut turns = 1;
        let end = self.converse(&mut turns);
        let mut code = self.end(started, turns, end);
        for task in std::mem::take(&mut self.tasks) {
            let notice = task.notice();
            if task.settle(self.world, &mut self.output) {
                code = self.hear_of(&notice);
            }
        }
        code
    }

    /// Work in the background has finished: the conversation goes on, with a result of its own.
    fn hear_of(&mut self, notice: &str) -> u8 {
        let started = Instant::now();
        self.present = Usage::default();
        self.is_notified = true;
        self.init();
        self.messages.push(user_text(notice));
        let mut turns = 1;
        let end = self.converse(&mut turns);
        let code = self.end(started, turns, end);
        self.is_notified = false;
        code
    }

    /// A skill's text instead of its name, or what is said when there is none.
    fn expand(prompt: &str) -> Result<String, String> {
        let Some(rest) = prompt.strip_prefix('/') else { return Ok(prompt.to_owned()) };
        let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
        match skills::read(name) {
            Some(skill) => Ok(format!("{skill}\n\nARGUMENTS: {arguments}")),
            None => Err(format!("Unknown command: /{name}")),
        }
    }

    fn converse(&mut self, turns: &mut u64) -> End {
        let mut rounds = 0;
        let mut refused_schema = 0;
        loop {
            let answer = match self.ask_patiently(None, &[]) {
                Ok(answer) => answer,
                Err(failure) => return End::Failed(failure),
            };
            self.present.add(answer.usage);
            self.total.add(answer.usage);
            self.messages.push(json!({"role": "assistant", "content": answer.blocks}));
            rounds += 1;
            if self.flags.max_budget.is_some_and(|budget| cost(self.total) > budget) {
                let message =
                    format!("Reached maximum budget (${})", self.flags.max_budget.unwrap_or_default());
                let stop_reason = answer.stop_reason;
                return End::Limit { subtype: "error_max_budget_usd", message, reason: None, stop_reason };
            }
            let calls = answer.tool_calls();
            if calls.is_empty() {
                return match answer.stop_reason.as_deref() {
                    Some("refusal") => End::Failed(Failure {
                        status: None,
                        message: "the model refused".into(),
                        kind: "refusal".into(),
                        retry_after: None,
                        request_id: answer.request_id,
                    }),
                    _ => End::Answered {
                        text: answer.last_text(),
                        stop_reason: answer.stop_reason,
                        structured: None,
                    },
                };
            }
            let mut results = Vec::new();
            for (id, name, input) in calls {
                *turns += 1;
                if name == "StructuredOutput" && self.flags.json_schema.is_some() {
                    if self.fits_schema(&input) {
                        let said = "Structured output provided successfully";
                        let result = json!({"tool_use_id": id, "type": "tool_result", "content": said});
                        self.output.tool_result(&result, said.into(), None);
                        let stop_reason = answer.stop_reason;
                        return End::Answered {
                            text: input.to_string(),
                            stop_reason,
                            structured: Some(input),
                        };
                    }
                    refused_schema += 1;
                }
                results.push(self.call(&id, &name, &input, None));
            }
            self.messages.push(json!({"role": "user", "content": results}));
            if refused_schema >= SCHEMA_ATTEMPTS {
                let message =
                    format!("Failed to provide valid structured output after {SCHEMA_ATTEMPTS} attempts");
                let subtype = "error_max_structured_output_retries";
                return End::Limit { subtype, message, reason: None, stop_reason: answer.stop_reason };
            }
            if self.flags.max_turns.is_some_and(|most| rounds >= most) {
                let most = self.flags.max_turns.unwrap_or_default();
                let message = format!("Reached maximum number of turns ({most})");
                let stop_reason = answer.stop_reason;
                return End::Limit {
                    subtype: "error_max_turns",
                    message,
                    reason: Some("max_turns"),
                    stop_reason,
                };
            }
        }
    }

    /// Whether a structured answer has what the schema requires.
    fn fits_schema(&self, input: &Value) -> bool {
        let schema = self.flags.json_schema.as_deref().unwrap_or("{}");
        let Ok(schema) = serde_json::from_str::<Value>(schema) else { return false };
        jsonschema::validator_for(&schema).is_ok_and(|schema| schema.is_valid(input))
    }

    /// Runs a tool and says what it answered.
    fn call(&mut self, id: &str, name: &str, input: &Value, parent: Option<&Parent>) -> Value {
        let outcome = if matches!(name, "Agent" | "Task") && parent.is_none() {
            self.delegate(id, input)
        } else if name == "Bash"
            && input["run_in_background"] == true
            && self.world.variable("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS").as_deref() != Some("1")
        {
            self.task_count += 1;
            let task = Task::start(
                self.task_count,
                id,
                &text(&input["command"]),
                &text(&input["description"]),
                &mut self.output,
            );
            let outcome = Outcome {
                content: task.receipt(),
                is_error: false,
                extra: json!({"stdout": "", "stderr": ""}),
            };
            self.tasks.push(task);
            outcome
        } else if !self.flags.disallowed.iter().any(|refused| refused == name)
            && !tools::is_allowed(&self.flags, name, input)
        {
            self.denials.push(json!({"tool_name": name, "tool_use_id": id, "tool_input": input}));
            Outcome::error(format!(
                "Claude requested permissions to use {name}, but you haven't granted it yet."
            ))
        } else {
            tools::run(&self.flags, name, input).unwrap_or_else(|| {
                Outcome::error(format!(
                    "<tool_use_error>Error: No such tool available: {name}</tool_use_error>"
                ))
            })
        };
        let result = json!({
            "tool_use_id": id, "type": "tool_result", "content": outcome.content, "is_error": outcome.is_error,
        });
        self.output.tool_result(&result, outcome.extra, parent);
        result
    }

    /// A sub-agent's conversation, in the foreground.
    fn delegate(&mut self, id: &str, input: &Value) -> Outcome {
        self.task_count += 1;
        let (task, prompt) = (format!("task-{}", self.task_count), text(&input["prompt"]));
        let parent = Parent {
            tool_use_id: id.to_owned(),
            agent_type: text(&input["subagent_type"]),
            description: text(&input["description"]),
        };
        self.output.message(
            "system",
            json!({
                "subtype": "task_started", "task_id": task, "tool_use_id": id, "description": parent.description,
                "subagent_type": parent.agent_type, "task_type": "local_agent", "prompt": prompt,
            }),
        );
        let mut messages = vec![user_text(&prompt)];
        let (answer, usage) = loop {
            match self.ask_patiently(Some((&task, &parent)), &messages) {
                Err(failure) => break (Err(describe(&failure, self.model()).0), Usage::default()),
                Ok(answer) => {
                    self.total.add(answer.usage);
                    let calls = answer.tool_calls();
                    if calls.is_empty() {
                        break (Ok(answer.last_text()), answer.usage);
                    }
                    messages.push(json!({"role": "assistant", "content": answer.blocks}));
                    let results: Vec<Value> = calls
                        .iter()
                        .map(|(id, name, input)| self.call(id, name, input, Some(&parent)))
                        .collect();
                    messages.push(json!({"role": "user", "content": results}));
                }
            }
        };
        self.output.message(
            "system",
            json!({"subtype": "task_updated", "task_id": task, "patch": {"status": "completed", "end_time": crate::time::now()}}),
        );
        self.output.message(
            "system",
            json!({
                "subtype": "task_notification", "task_id": task, "tool_use_id": id, "status": "completed",
                "output_file": "", "summary": parent.description,
                "usage": {"total_tokens": usage.input + usage.output, "tool_uses": 0, "duration_ms": 0},
            }),
        );
        match answer {
            Ok(text) | Err(text) => Outcome {
                extra: json!({"status": "completed", "prompt": prompt}),
                content: text,
                is_error: false,
            },
        }
    }

    /// Asks, and asks again where that may help.
    fn ask_patiently(
        &mut self,
        agent: Option<(&str, &Parent)>,
        messages: &[Value],
    ) -> Result<Answer, Failure> {
        let most = self
            .world
            .variable("CLAUDE_CODE_MAX_RETRIES")
            .and_then(|most| most.parse().ok())
            .unwrap_or(10_u32);
        if self.api.key.is_none() {
            return Err(Failure {
                status: None,
                message: "Not logged in".into(),
                kind: "login".into(),
                retry_after: None,
                request_id: None,
            });
        }
        let mut attempt = 0;
        loop {
            let asked = self.ask(agent, messages);
            if self.world.is_wrong("retries-unasked") && attempt == 0 {
                attempt = 1;
                continue;
            }
            let failure = match asked {
                Err(failure) if attempt < most && failure.is_transient() => failure,
                other => return other,
            };
            attempt += 1;
            let delay = failure
                .retry_after
                .map_or(10.0 * f64::from(1 << attempt.min(6)), |seconds| seconds as f64 * 1000.0);
            self.output.message(
                "system",
                json!({
                    "subtype": "api_retry", "attempt": attempt, "max_retries": most, "retry_delay_ms": delay,
                    "error_status": failure.status, "error": retry_word(&failure),
                }),
            );
            std::thread::sleep(Duration::from_secs_f64(delay / 1000.0));
        }
    }

    fn ask(&mut self, agent: Option<(&str, &Parent)>, messages: &[Value]) -> Result<Answer, Failure> {
        let messages = if agent.is_some() { messages } else { &self.messages };
        let schema = json!({"type": "object"});
        let tools: Vec<Value> = ["Agent", "Bash", "Read", "Write"]
            .map(|name| json!({"name": name, "description": name, "input_schema": schema}))
            .to_vec();
        let body = json!({
            "model": self.model(), "max_tokens": 32000, "stream": true, "messages": messages, "tools": tools,
            "system": [{"type": "text", "text": "You are the reference agent."}],
        });
        let (partial, output) = (self.flags.partial && agent.is_none(), &mut self.output);
        if partial {
            output.message("system", json!({"subtype": "status", "status": "requesting"}));
        }
        self.api.ask(&body, agent.map(|(id, _)| id), &mut |heard| match heard {
            Heard::Event(event) if partial && event["type"] != "ping" => {
                output.message("stream_event", json!({"event": event, "parent_tool_use_id": null}));
            }
            Heard::Event(_) => {}
            // A sub-agent's last words are its tool result; only its work is shown.
            Heard::Block(_, block) if agent.is_some() && block["type"] == "text" => {}
            Heard::Block(answer, block) => output.block(answer, block, agent.map(|(_, parent)| parent)),
        })
    }

    /// Says how it ended; the exit code.
    fn end(&mut self, started: Instant, turns: u64, end: End) -> u8 {
        let duration = started.elapsed().as_millis() as u64;
        let mut usage = self.present;
        if self.world.is_wrong("usage-off") {
            usage.input += 1000;
        }
        let mut fields = json!({
            "subtype": "success", "is_error": false, "duration_ms": duration, "duration_api_ms": duration,
            "num_turns": turns, "stop_reason": null, "total_cost_usd": cost(self.total),
        });
        fields["usage"] = usage_json(usage);
        fields["modelUsage"] = model_usage(self.model(), self.total);
        let denials = if self.world.is_wrong("denial-hidden") { Vec::new() } else { self.denials.clone() };
        fields["permission_denials"] = denials.into();
        fields["fast_mode_state"] = "off".into();
        if self.is_notified {
            fields["origin"] = json!({"kind": "task-notification"});
        }
        let mut code = 0;
        match end {
            End::Answered { text, stop_reason, structured } => {
                fields["result"] = text.into();
                fields["stop_reason"] = stop_reason.into();
                if turns > 0 {
                    fields["api_error_status"] = Value::Null;
                    fields["terminal_reason"] = "completed".into();
                }
                if let Some(structured) = structured {
                    fields["structured_output"] = structured;
                }
            }
            End::Failed(failure) => {
                let (text, class) = match failure.kind.as_str() {
                    "refusal" => (
                        "API Error: the model's safeguards refused this message".to_owned(),
                        "invalid_request",
                    ),
                    "login" => ("Not logged in · Please run /login".to_owned(), "authentication_failed"),
                    _ => describe(&failure, self.model()),
                };
                let masked = self.world.is_wrong("error-masked");
                self.output.synthetic(&text, (!masked).then_some(class), failure.request_id.as_deref());
                let is_refusal = failure.kind == "refusal";
                fields["is_error"] = (!masked).into();
                fields["api_error_status"] = failure.status.into();
                fields["result"] = text.into();
                fields["stop_reason"] = if is_refusal { "refusal" } else { "stop_sequence" }.into();
                fields["terminal_reason"] = "completed".into();
                code = u8::from(!masked);
            }
            End::Limit { subtype, message, reason, stop_reason } => {
                fields["subtype"] = subtype.into();
                fields["is_error"] = true.into();
                fields["stop_reason"] = stop_reason.into();
                fields["errors"] = json!([message]);
                if let Some(reason) = reason {
                    fields["terminal_reason"] = reason.into();
                }
                code = 1;
            }
        }
        self.output.result(fields);
        if self.world.is_wrong("talks-after-result") {
            self.output.synthetic("One more thing.", None, None);
        }
        code
    }

    /// The conversation is over.
    pub(super) fn finish(&mut self) {
        self.output.finish();
        let id = self.output.session_id.clone();
        if let Some(path) = self.transcript(&id)
            && let Some(folder) = path.parent()
        {
            // A home that cannot be written to is no reason to fail.
            _ = fs::create_dir_all(folder);
            _ = fs::write(path, Value::Array(self.messages.clone()).to_string());
        }
    }
}

/// What it costs: a dollar for a million tokens in, five for as many out.
fn cost(usage: Usage) -> f64 {
    (usage.input + usage.cache_read + usage.cache_creation) as f64 * 1e-6 + usage.output as f64 * 5e-6
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_creation,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": usage.output,
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    })
}

fn model_usage(model: &str, usage: Usage) -> Value {
    if usage.input + usage.output == 0 {
        return json!({});
    }
    json!({model: {
        "inputTokens": usage.input, "outputTokens": usage.output, "cacheReadInputTokens": usage.cache_read,
        "cacheCreationInputTokens": usage.cache_creation, "webSearchRequests": 0, "costUSD": cost(usage),
        "contextWindow": 200_000, "maxOutputTokens": 32_000,
    }})
}
