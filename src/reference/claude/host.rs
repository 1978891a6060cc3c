//! The program that started the command line, and speaks with it over standard input: what it sends, and what it is asked.
//!
//! A thread reads standard input, so that an interrupt is heard in the middle of an answer.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, RecvError, TryRecvError, channel};

use serde_json::{Value, json};

use super::super::World;
use super::super::answer::text;
use super::flags::Flags;
use super::output::Output;
use crate::time;

const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/// The other side of the conversation.
#[expect(clippy::struct_excessive_bools, reason = "each says of the host what has come of it")]
pub(super) struct Host {
    lines: Receiver<Result<Value, String>>,
    /// Messages of the user that nobody has answered yet.
    prompts: VecDeque<Value>,
    /// What it answered, by the id of the request.
    answers: HashMap<String, Value>,
    is_closed: bool,
    /// A line that is no message.
    pub(super) broken: Option<String>,
    pub(super) is_interrupted: bool,
    has_spoken: bool,
    asked: u64,
    wrong: &'static str,
    replays: bool,
    hooks: Vec<Hook>,
    pub(super) servers: Vec<Server>,
}

/// A hook that the host registered.
struct Hook {
    event: String,
    matcher: Option<String>,
    callback: String,
}

/// A server of tools inside the host.
pub(super) struct Server {
    pub(super) name: String,
    pub(super) is_connected: bool,
    /// As it lists them.
    pub(super) tools: Vec<Value>,
}

/// What the host decided about a tool call.
pub(super) enum Decision {
    /// With this input.
    Allow(Value),
    Deny(String),
    /// It cannot be asked, or has nothing to say.
    Open,
}

impl Host {
    /// Listens to standard input from now on.
    pub(super) fn listen(world: &World, flags: &Flags) -> Self {
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let line = line.map_err(|error| format!("Error: cannot read stdin: {error}"));
                if line.as_ref().is_ok_and(|line| line.trim().is_empty()) {
                    continue;
                }
                let message = line.and_then(|line| {
                    serde_json::from_str(&line)
                        .map_err(|error| format!("Error parsing streaming input line: {error}"))
                });
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let servers = flags.sdk_servers.iter().map(|name| Server::new(name)).collect();
        Self {
            lines,
            prompts: VecDeque::new(),
            answers: HashMap::new(),
            is_closed: false,
            broken: None,
            is_interrupted: false,
            has_spoken: false,
            asked: 0,
            wrong: world.wrong(),
            replays: flags.replays,
            hooks: Vec::new(),
            servers,
        }
    }

    /// The next message of the user, which is waited for; none when there will be no more.
    pub(super) fn prompt(&mut self, flags: &mut Flags, output: &mut Output) -> Option<Value> {
        loop {
            self.is_interrupted = false;
            if let Some(prompt) = self.prompts.pop_front() {
                return Some(prompt);
            }
            if self.is_closed || self.broken.is_some() {
                return None;
            }
            self.wait(flags, output);
        }
    }

    /// Whether it ever said anything.
    pub(super) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Hears what has been said meanwhile.
    pub(super) fn hear(&mut self, flags: &mut Flags, output: &mut Output) {
        loop {
            match self.lines.try_recv() {
                Ok(line) => self.take(line, flags, output),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {
                    self.is_closed = true;
                    return;
                }
            }
        }
    }

    fn wait(&mut self, flags: &mut Flags, output: &mut Output) {
        match self.lines.recv() {
            Ok(line) => self.take(line, flags, output),
            Err(RecvError) => self.is_closed = true,
        }
    }

    fn take(&mut self, line: Result<Value, String>, flags: &mut Flags, output: &mut Output) {
        self.has_spoken = true;
        let message = match line {
            Ok(message) => message,
            Err(reason) => {
                self.broken.get_or_insert(reason);
                return;
            }
        };
        match message["type"].as_str() {
            Some("control_request") => self.obey(&message, flags, output),
            Some("control_response") => {
                if self.replays {
                    output.control(&message);
                }
                let id = text(&message["response"]["request_id"]);
                // The first answer counts.
                self.answers.entry(id).or_insert(message);
            }
            Some("user") => self.prompts.push_back(message),
            _ => {}
        }
    }

    /// Does what the host asks for, and says so.
    fn obey(&mut self, message: &Value, flags: &mut Flags, output: &mut Output) {
        let (id, request) = (text(&message["request_id"]), &message["request"]);
        let mut status = None;
        let answer = match request["subtype"].as_str().unwrap_or_default() {
            "initialize" => {
                self.register(&request["hooks"]);
                let servers =
                    request["sdkMcpServers"].as_array().into_iter().flatten().filter_map(Value::as_str);
                for name in servers {
                    if !self.servers.iter().any(|known| known.name == name) {
                        self.servers.push(Server::new(name));
                    }
                }
                Ok(Some(json!({
                    "commands": [], "agents": [], "output_style": "default", "available_output_styles": ["default"],
                    "models": [], "account": {"tokenSource": "none", "apiProvider": "firstParty"},
                })))
            }
            "interrupt" => {
                self.is_interrupted = self.wrong != "interrupt-ignored";
                Ok(None)
            }
            "set_model" => {
                if self.wrong != "set-model-ignored" {
                    flags.model = request["model"].as_str().map(str::to_owned);
                }
                Ok(None)
            }
            "set_permission_mode" => match request["mode"].as_str().filter(|mode| MODES.contains(mode)) {
                Some(mode) => {
                    if self.wrong != "set-mode-ignored" {
                        flags.permission_mode = Some(mode.to_owned());
                        flags.bypass = mode == "bypassPermissions";
                        status = Some(
                            json!({"type": "system", "subtype": "status", "status": null, "permissionMode": mode}),
                        );
                    }
                    Ok(Some(json!({"mode": mode})))
                }
                None => Err(format!("Cannot set permission mode: must be one of {}", MODES.join(", "))),
            },
            "mcp_status" => {
                let all =
                    self.servers.iter().map(|server| json!({"name": server.name, "status": server.status()}));
                Ok(Some(json!({"mcpServers": all.collect::<Vec<_>>()})))
            }
            other => Err(format!("Unsupported control request subtype: {other}")),
        };
        let id = if self.wrong == "answers-other-id" { "another-id".to_owned() } else { id };
        let response = match answer {
            Ok(Some(response)) => json!({"subtype": "success", "request_id": id, "response": response}),
            Ok(None) => json!({"subtype": "success", "request_id": id}),
            Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
        };
        if self.wrong == "never-answers" {
            return;
        }
        let response = json!({"type": "control_response", "response": response});
        output.control(&response);
        if self.wrong == "answers-twice" {
            output.control(&response);
        }
        if let Some(status) = status {
            output.message(status);
        }
    }

    fn register(&mut self, hooks: &Value) {
        for (event, groups) in hooks.as_object().into_iter().flatten() {
            for group in groups.as_array().into_iter().flatten() {
                let matcher =
                    group["matcher"].as_str().filter(|matcher| !matcher.is_empty() && *matcher != "*");
                for callback in
                    group["hookCallbackIds"].as_array().into_iter().flatten().filter_map(Value::as_str)
                {
                    self.hooks.push(Hook {
                        event: event.clone(),
                        matcher: matcher.map(str::to_owned),
                        callback: callback.to_owned(),
                    });
                }
            }
        }
    }

    /// Asks, and waits for the answer; none when there is none, or the user interrupts.
    fn ask(
        &mut self,
        request: &Value,
        flags: &mut Flags,
        output: &mut Output,
    ) -> Option<Result<Value, String>> {
        self.asked += 1;
        let number = if self.wrong == "same-request-id" { 1 } else { self.asked };
        let id = format!("00000000-0000-4000-8000-00c0{number:08x}");
        output.control(&json!({"type": "control_request", "request_id": id, "request": request}));
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                let response = &answer["response"];
                return Some(if response["subtype"] == "error" {
                    Err(text(&response["error"]))
                } else {
                    Ok(response["response"].clone())
                });
            }
            if self.is_closed || self.is_interrupted || self.broken.is_some() {
                return None;
            }
            self.wait(flags, output);
        }
    }

    /// Asks whether a tool may be used.
    pub(super) fn may(
        &mut self,
        call: (&str, &str, &Value),
        flags: &mut Flags,
        output: &mut Output,
    ) -> Decision {
        let (id, name, input) = call;
        let shown = if self.wrong == "asks-other-input" { json!({"command": "true"}) } else { input.clone() };
        let request = json!({
            "subtype": "can_use_tool", "tool_name": name, "display_name": name, "input": shown, "tool_use_id": id,
            "permission_suggestions": [],
        });
        if self.wrong == "asks-twice" {
            _ = self.ask(&request, flags, output);
        }
        match self.ask(&request, flags, output) {
            None if self.is_interrupted => Decision::Deny("The user doesn't want to proceed with this tool use.".into()),
            None => Decision::Deny("Tool permission request failed: Error: Tool permission stream closed before response received".into()),
            Some(Err(error)) => Decision::Deny(format!("Tool permission request failed: Error: {error}")),
            Some(Ok(answer)) => match answer["behavior"].as_str() {
                Some("allow") if self.wrong == "allowed-refused" => {
                    Decision::Deny(format!("Claude requested permissions to use {name}, but you haven't granted it yet."))
                }
                Some("allow") if self.wrong == "input-unchanged" => Decision::Allow(input.clone()),
                Some("allow") => {
                    Decision::Allow(answer.get("updatedInput").filter(|input| input.is_object()).unwrap_or(input).clone())
                }
                Some("deny") if self.wrong == "denied-runs" => Decision::Allow(input.clone()),
                Some("deny") => {
                    self.is_interrupted |= answer["interrupt"] == true;
                    Decision::Deny(text(&answer["message"]))
                }
                _ => Decision::Deny("Tool permission request failed: ZodError: invalid response".into()),
            },
        }
    }

    /// What the hooks of an event decide about a tool call, or about the end of an answer.
    pub(super) fn consult(
        &mut self,
        event: &str,
        call: (&str, &str, &Value),
        flags: &mut Flags,
        output: &mut Output,
    ) -> Decision {
        let (id, name, input) = call;
        let fits = |hook: &&Hook| {
            let names = hook.matcher.as_deref().map(|matcher| matcher.split('|').any(|known| known == name));
            hook.event == event && names.unwrap_or(true)
        };
        let callbacks: Vec<String> =
            self.hooks.iter().filter(fits).map(|hook| hook.callback.clone()).collect();
        let mut decision = Decision::Open;
        for callback in callbacks {
            let callback = if self.wrong == "hook-unknown" { "hook_99".to_owned() } else { callback };
            let request = json!({
                "subtype": "hook_callback", "callback_id": callback, "tool_use_id": id,
                "input": {
                    "session_id": output.session_id, "transcript_path": "", "cwd": std::env::current_dir().unwrap_or_default(),
                    "permission_mode": flags.permission_mode.as_deref().unwrap_or("default"), "hook_event_name": event,
                    "tool_name": name, "tool_input": input, "tool_use_id": id,
                },
            });
            let Some(Ok(answer)) = self.ask(&request, flags, output) else { continue };
            let own = &answer["hookSpecificOutput"];
            let is_denied = own["permissionDecision"] == "deny" || answer["decision"] == "block";
            if is_denied && self.wrong == "hook-ignored" {
                return Decision::Allow(input.clone());
            }
            if is_denied {
                let reason = [&own["permissionDecisionReason"], &answer["reason"]];
                let reason = reason.into_iter().find_map(Value::as_str).unwrap_or("blocked by a hook");
                return Decision::Deny(reason.to_owned());
            }
            if own["permissionDecision"] == "allow" {
                let changed = own.get("updatedInput").filter(|input| input.is_object());
                decision = Decision::Allow(changed.unwrap_or(input).clone());
            }
        }
        decision
    }

    /// Connects the servers of tools that are new.
    pub(super) fn connect(&mut self, flags: &mut Flags, output: &mut Output) {
        for at in 0..self.servers.len() {
            if self.servers[at].is_connected || !self.servers[at].tools.is_empty() {
                continue;
            }
            let hello = json!({
                "method": "initialize", "jsonrpc": "2.0", "id": 0, "params": {
                    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "2.1.197"},
                },
            });
            let Some(answer) = self.message(at, &hello, flags, output) else { continue };
            if answer["result"].is_object() {
                self.message(
                    at,
                    &json!({"method": "notifications/initialized", "jsonrpc": "2.0"}),
                    flags,
                    output,
                );
                let list = self.message(
                    at,
                    &json!({"method": "tools/list", "jsonrpc": "2.0", "id": 1}),
                    flags,
                    output,
                );
                let tools = list.and_then(|list| list["result"]["tools"].as_array().cloned());
                self.servers[at].is_connected = true;
                self.servers[at].tools = tools.unwrap_or_default();
            }
        }
    }

    /// Calls a tool of a server: its text, and whether that is an error; none where there is no such tool.
    pub(super) fn call(
        &mut self,
        call: (&str, &str, &Value),
        flags: &mut Flags,
        output: &mut Output,
    ) -> Option<(Value, bool)> {
        let (id, name, input) = call;
        let (at, tool) = self.servers.iter().enumerate().find_map(|(at, server)| {
            let tool = name.strip_prefix("mcp__")?.strip_prefix(server.name.as_str())?.strip_prefix("__")?;
            server.tools.iter().any(|known| known["name"] == tool).then(|| (at, tool.to_owned()))
        })?;
        let message = json!({
            "method": "tools/call", "jsonrpc": "2.0", "id": self.asked + 2,
            "params": {"name": tool, "arguments": input, "_meta": {"claudecode/toolUseId": id}},
        });
        let answer = self.message(at, &message, flags, output).unwrap_or_default();
        if self.wrong == "mcp-result-lost" {
            return Some((json!([{"type": "text", "text": "Done."}]), false));
        }
        Some(match answer["result"]["content"].as_array() {
            Some(content) => (content.clone().into(), answer["result"]["isError"] == true),
            None => (text(&answer["error"]["message"]).into(), true),
        })
    }

    fn message(
        &mut self,
        at: usize,
        message: &Value,
        flags: &mut Flags,
        output: &mut Output,
    ) -> Option<Value> {
        let name = if self.wrong == "mcp-other-server" { "elsewhere" } else { &self.servers[at].name };
        let request = json!({"subtype": "mcp_message", "server_name": name, "message": message});
        self.ask(&request, flags, output)?.ok().map(|answer| answer["mcp_response"].clone())
    }

    /// Shows a message of the user again, where that was asked for.
    pub(super) fn replay(&self, prompt: &Value, output: &mut Output) {
        if self.replays && self.wrong != "replay-lost" {
            output.message(json!({
                "type": "user", "message": prompt["message"], "parent_tool_use_id": null, "isReplay": true,
                "timestamp": time::rfc3339(time::now()),
            }));
        }
    }
}

impl Server {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), is_connected: false, tools: Vec::new() }
    }

    pub(super) fn status(&self) -> &'static str {
        if self.is_connected { "connected" } else { "failed" }
    }
}
