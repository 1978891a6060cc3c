//! The conversation with the model: asks, runs tools, asks again.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::answer::{Answer, Usage, text};
use super::super::api::{BROKEN_OFF, Failure, StreamPart};
use super::background::Task;
use super::ending::{End, INTERRUPTED, cost};
use super::error_text::{describe, retry_word};
use super::host::Decision;
use super::lies;
use super::output::Parent;
use super::permissions;
use super::session::Session;
use super::tools::{self, Outcome};
use super::user_text;

/// How often an invalid structured answer is asked for again.
const SCHEMA_ATTEMPTS: usize = 5;

impl Session<'_> {
    /// Goes on until the model calls no further tool or a limit is reached; counts the turns.
    pub(super) fn converse(&mut self, turns: &mut u64) -> End {
        let mut rounds = 0;
        let mut refused_schema = 0;
        loop {
            let answer = match self.ask_patiently(None, &[]) {
                Ok(answer) => answer,
                Err(failure) if failure.kind == BROKEN_OFF => return self.interrupted(),
                Err(failure) => return End::Failed(failure),
            };
            // An answer that breaks a limit is paid for, but not counted as one that was worked on.
            let before = self.present;
            self.present.add(answer.usage);
            self.total.add(answer.usage);
            self.messages.push(json!({"role": "assistant", "content": answer.blocks}));
            rounds += 1;
            let calls = answer.tool_calls();
            let last_text = answer.last_text();
            let stop_reason = answer.stop_reason;
            if let Some(budget) = self.flags.max_budget.filter(|budget| cost(self.total) > *budget) {
                self.present = before;
                let message = format!("Reached maximum budget (${budget})");
                return End::Limit { subtype: "error_max_budget_usd", message, stop_reason };
            }
            if calls.is_empty() {
                if stop_reason.as_deref() == Some("refusal") {
                    return End::Failed(Failure::new("refusal", "the model refused", answer.request_id));
                }
                return End::Answered { text: last_text, stop_reason, structured: None };
            }
            let mut outcomes = Vec::new();
            for (id, name, input) in calls {
                *turns += 1;
                if name == "StructuredOutput" && self.flags.json_schema.is_some() {
                    if self.fits_schema(&input) {
                        let said = "Structured output provided successfully";
                        let result = json!({"tool_use_id": id, "type": "tool_result", "content": said});
                        self.output.tool_result(&result, said.into(), None);
                        let text = input.to_string();
                        return End::Answered { text, stop_reason, structured: Some(input) };
                    }
                    refused_schema += 1;
                }
                let outcome = self.call(&id, &name, &input, None);
                outcomes.push((id, outcome));
            }
            let results = self.answer_calls(outcomes, None);
            self.messages.push(json!({"role": "user", "content": results}));
            if self.is_interrupted() {
                return self.interrupted();
            }
            if refused_schema >= SCHEMA_ATTEMPTS {
                self.present = before;
                let message =
                    format!("Failed to provide valid structured output after {SCHEMA_ATTEMPTS} attempts");
                return End::Limit { subtype: "error_max_structured_output_retries", message, stop_reason };
            }
            if let Some(most) = self.flags.max_turns.filter(|most| rounds >= *most) {
                let message = format!("Reached maximum number of turns ({most})");
                return End::Limit { subtype: "error_max_turns", message, stop_reason };
            }
        }
    }

    /// The user wants no more of the answer.
    fn interrupted(&mut self) -> End {
        self.messages.push(user_text(INTERRUPTED));
        End::Interrupted
    }

    /// Whether a structured answer has what the schema requires.
    fn fits_schema(&self, input: &Value) -> bool {
        let schema = self.flags.json_schema.as_deref().unwrap_or("{}");
        let Ok(schema) = serde_json::from_str::<Value>(schema) else { return false };
        jsonschema::validator_for(&schema).is_ok_and(|schema| schema.is_valid(input))
    }

    /// Says what tools answered, and tells the model so.
    fn answer_calls(&mut self, mut outcomes: Vec<(String, Outcome)>, parent: Option<&Parent>) -> Vec<Value> {
        if let ("reports-swapped", [(_, one), (_, other), ..]) = (self.world.wrong(), &mut outcomes[..]) {
            std::mem::swap(&mut one.content, &mut other.content);
        }
        let mut results = Vec::new();
        for (id, outcome) in outcomes {
            let result = json!({
                "tool_use_id": id, "type": "tool_result", "content": outcome.content, "is_error": outcome.is_error,
            });
            self.output.tool_result(&result, outcome.extra, parent);
            results.push(result);
        }
        results
    }

    /// Runs a tool, if the hooks of the host let it pass.
    fn call(&mut self, id: &str, name: &str, input: &Value, parent: Option<&Parent>) -> Outcome {
        let consulted = self
            .with_host(|host, flags, output| host.consult("PreToolUse", (id, name, input), flags, output));
        match consulted {
            Some(Decision::Deny(reason)) => self.denied((id, name, input), reason),
            Some(Decision::Allow(input)) => self.run((id, name, &input), parent, true),
            Some(Decision::Open) | None => self.run((id, name, input), parent, false),
        }
    }

    /// A call that is not made, with what the model is told.
    fn denied(&mut self, (id, name, input): (&str, &str, &Value), reason: String) -> Outcome {
        self.denials.push(json!({"tool_name": name, "tool_use_id": id, "tool_input": input}));
        Outcome::error(reason)
    }

    /// Asks the host whether a call may be made, and makes it.
    fn ask_and_run(&mut self, call: (&str, &str, &Value), parent: Option<&Parent>) -> Option<Outcome> {
        if !self.flags.asks {
            return None;
        }
        if self.world.is_wrong("runs-unasked") {
            let outcome = self.run(call, parent, true);
            let result = json!({"tool_use_id": call.0, "type": "tool_result", "content": outcome.content, "is_error": outcome.is_error});
            self.output.tool_result(&result, outcome.extra.clone(), parent);
        }
        match self.with_host(|host, flags, output| host.may(call, flags, output))? {
            Decision::Allow(input) => Some(self.run((call.0, call.1, &input), parent, true)),
            Decision::Deny(reason) => Some(self.denied(call, reason)),
            Decision::Open => None,
        }
    }

    /// Runs a tool, if it is allowed.
    fn run(&mut self, call: (&str, &str, &Value), parent: Option<&Parent>, is_granted: bool) -> Outcome {
        let (id, name, input) = call;
        let background_disabled = self.world.variable("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS");
        if matches!(name, "Agent" | "Task") && parent.is_none() {
            self.delegate(id, input)
        } else if name == "Bash"
            && input["run_in_background"] == true
            && background_disabled.as_deref() != Some("1")
        {
            self.task_count += 1;
            let (command, description) = (text(&input["command"]), text(&input["description"]));
            let task = Task::start(self.task_count, id, &command, &description, &mut self.output);
            let content = task.receipt();
            self.tasks.push(task);
            Outcome { content: content.into(), is_error: false, extra: json!({"stdout": "", "stderr": ""}) }
        } else if self.flags.offers(name)
            && permissions::is_forbidden(&self.flags, name, input)
            && name == "Bash"
        {
            let command = text(&input["command"]);
            self.denied(call, format!("Permission to use Bash with command {command} has been denied."))
        } else if self.flags.offers(name) && !is_granted && !permissions::is_allowed(&self.flags, name, input)
        {
            self.ask_and_run(call, parent).unwrap_or_else(|| {
                let reason =
                    format!("Claude requested permissions to use {name}, but you haven't granted it yet.");
                self.denied(call, reason)
            })
        } else if permissions::is_forbidden(&self.flags, name, input) {
            let reason = "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>";
            self.denied(call, reason.into())
        } else if let Some(outcome) = self.servers.call(id, name, input) {
            outcome
        } else if let Some((content, is_error)) =
            self.with_host(|host, flags, output| host.call(call, flags, output)).flatten()
        {
            Outcome { extra: content.clone(), content, is_error }
        } else {
            tools::run(&self.flags, name, input).unwrap_or_else(|| {
                Outcome::error(format!(
                    "<tool_use_error>Error: No such tool available: {name}</tool_use_error>"
                ))
            })
        }
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
        self.output.message(json!({
            "type": "system", "subtype": "task_started", "task_id": task, "tool_use_id": id,
            "description": parent.description, "subagent_type": parent.agent_type, "task_type": "local_agent",
            "prompt": prompt,
        }));
        let mut messages = vec![user_text(&prompt)];
        let (content, usage) = loop {
            let answer = match self.ask_patiently(Some((&task, &parent)), &messages) {
                Ok(answer) => answer,
                Err(failure) => break (describe(&failure, self.model()).0, Usage::default()),
            };
            self.total.add(answer.usage);
            let calls = answer.tool_calls();
            if calls.is_empty() {
                break (answer.last_text(), answer.usage);
            }
            messages.push(json!({"role": "assistant", "content": answer.blocks}));
            let mut outcomes = Vec::new();
            for (id, name, input) in calls {
                let outcome = self.call(&id, &name, &input, Some(&parent));
                outcomes.push((id, outcome));
            }
            let results = self.answer_calls(outcomes, Some(&parent));
            messages.push(json!({"role": "user", "content": results}));
        };
        self.output.message(json!({
            "type": "system", "subtype": "task_updated", "task_id": task,
            "patch": {"status": "completed", "end_time": crate::time::now()},
        }));
        self.output.message(json!({
            "type": "system", "subtype": "task_notification", "task_id": task, "tool_use_id": id,
            "status": "completed", "output_file": "", "summary": parent.description,
            "usage": {"total_tokens": usage.input + usage.output, "tool_uses": 0, "duration_ms": 0},
        }));
        let report = json!([{"type": "text", "text": content}]);
        let content = if self.world.is_wrong("report-lost") { "Done.".into() } else { content };
        Outcome {
            extra: json!({"status": "completed", "prompt": prompt, "agentId": task, "content": report}),
            content: content.into(),
            is_error: false,
        }
    }

    /// Asks, and asks again where that may help.
    fn ask_patiently(
        &mut self,
        agent: Option<(&str, &Parent)>,
        messages: &[Value],
    ) -> Result<Answer, Failure> {
        let most = self.world.variable("CLAUDE_CODE_MAX_RETRIES");
        let most = most.and_then(|most| most.parse().ok()).unwrap_or(10_u32);
        if self.api.key.is_none() {
            return Err(Failure::new("login", "Not logged in", None));
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
            self.output.message(json!({
                "type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": most,
                "retry_delay_ms": delay, "error_status": failure.status, "error": retry_word(&failure),
            }));
            std::thread::sleep(Duration::from_secs_f64(delay / 1000.0));
        }
    }

    fn ask(&mut self, agent: Option<(&str, &Parent)>, messages: &[Value]) -> Result<Answer, Failure> {
        let mut messages: Value = if agent.is_some() { messages } else { &self.messages }.into();
        lies::sent(&mut messages, self.world.wrong());
        let mut tools: Vec<Value> = ["Agent", "Bash", "Read", "Write"]
            .into_iter()
            .filter(|name| self.flags.offers(name))
            .map(|name| json!({"name": name, "description": name, "input_schema": {"type": "object"}}))
            .collect();
        tools.extend(self.servers.tools());
        for server in self.host.iter().flat_map(|host| &host.servers) {
            tools.extend(server.tools.iter().map(|tool| {
                let name = format!("mcp__{}__{}", server.name, text(&tool["name"]));
                json!({"name": name, "description": tool["description"], "input_schema": tool["inputSchema"]})
            }));
        }
        let own = self.flags.system_prompt.as_deref().unwrap_or("You are the reference agent.");
        let system: Vec<Value> = [Some(own), self.flags.more_system_prompt.as_deref()]
            .into_iter()
            .flatten()
            .filter(|text| !text.is_empty())
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        let body = json!({
            "model": self.model(), "max_tokens": 32000, "stream": true, "messages": messages, "tools": tools,
            "system": system,
        });
        let partial = self.flags.partial && agent.is_none();
        let (output, host, flags) = (&mut self.output, &mut self.host, &mut self.flags);
        if partial {
            output.message(json!({"type": "system", "subtype": "status", "status": "requesting"}));
        }
        self.api.ask(&body, agent.map(|(id, _)| id), &mut |part| {
            match part {
                StreamPart::Event(event) if partial && event["type"] != "ping" => {
                    output
                        .message(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}));
                }
                StreamPart::Event(_) => {}
                // A sub-agent's last words are its tool result; only its work is shown.
                StreamPart::Block(_, block) if agent.is_some() && block["type"] == "text" => {}
                StreamPart::Block(answer, block) => {
                    output.block(answer, block, agent.map(|(_, parent)| parent));
                }
            }
            let Some(host) = host else { return ControlFlow::Continue(()) };
            host.hear(flags, output);
            if host.is_interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }
}
