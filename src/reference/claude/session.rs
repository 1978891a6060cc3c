//! A session: what the user asks, what is remembered, and what each prompt comes to.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use super::super::answer::{Usage, text};
use super::super::api::Api;
use super::super::{World, complain, process};
use super::background::Task;
use super::ending::{End, broken_off};
use super::flags::{Flags, OutputFormat};
use super::host::Host;
use super::mcp::Servers;
use super::output::Output;
use super::{hooks, skills, user_text};

const MODEL: &str = "claude-haiku-4-5";

/// Where sessions are kept.
fn transcripts(world: &World) -> Option<PathBuf> {
    Some(PathBuf::from(world.variable("HOME")?).join(".claude/projects"))
}

/// The id of the session that was written last.
pub(super) fn latest(world: &World) -> Option<String> {
    let entries = fs::read_dir(transcripts(world)?).ok()?.flatten();
    let written = |entry: &fs::DirEntry| entry.metadata().and_then(|metadata| metadata.modified()).ok();
    let path = entries.max_by_key(written)?.path();
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

pub(super) struct Session<'w> {
    pub(super) world: &'w World,
    pub(super) flags: Flags,
    pub(super) output: Output,
    pub(super) api: Api,
    pub(super) messages: Vec<Value>,
    /// Of everything so far, and of the answer to the present prompt.
    pub(super) total: Usage,
    pub(super) present: Usage,
    pub(super) denials: Vec<Value>,
    pub(super) tasks: Vec<Task>,
    pub(super) task_count: usize,
    /// Whether the present answer is to a notice rather than to the user.
    pub(super) is_notified: bool,
    pub(super) servers: Servers,
    /// Who speaks with it over standard input.
    pub(super) host: Option<Host>,
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
            servers: Servers::default(),
            host: None,
        }
    }

    pub(super) fn model(&self) -> &str {
        self.flags.model.as_deref().unwrap_or(MODEL)
    }

    fn transcript(&self, id: &str) -> Option<PathBuf> {
        Some(transcripts(self.world)?.join(format!("{id}.json")))
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
            let mut result = broken_off(0);
            result["errors"] = json!([message]);
            self.output.result(result);
            self.output.finish();
        }
        Some(1)
    }

    /// What the user asks: an argument, or standard input.
    pub(super) fn prompt(&mut self) -> Result<Option<String>, String> {
        let mut input = String::new();
        if self.flags.prompt.is_none() || (process::stdin_is_given() && !self.world.is_wrong("stdin-lost")) {
            std::io::stdin()
                .read_to_string(&mut input)
                .map_err(|error| format!("Error: cannot read stdin: {error}"))?;
        }
        let parts = [self.flags.prompt.as_deref().unwrap_or_default(), &input];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Ok(Some(parts.join("\n")).filter(|prompt| !prompt.trim().is_empty()))
    }

    /// Answers what the host sends until it has no more to say; the exit code, or why there was nothing to answer.
    pub(super) fn serve(&mut self) -> Result<Option<u8>, String> {
        let mut code = None;
        self.host = Some(Host::listen(self.world, &self.flags));
        while let Some(prompt) = self.with_host(Host::prompt).flatten() {
            self.with_host(Host::connect);
            let content = &prompt["message"]["content"];
            let said = content.as_str().map_or_else(|| text(&content[0]["text"]), str::to_owned);
            code = Some(self.answer(&said, Some(&prompt)));
        }
        match self.host.take() {
            Some(Host { broken: Some(reason), .. }) => Err(reason),
            // Whoever only looked what there is has been told.
            Some(host) if host.has_spoken() => Ok(code.or(Some(0))),
            _ => Ok(code),
        }
    }

    /// Speaks with the host, if there is one.
    pub(super) fn with_host<T>(
        &mut self,
        speak: impl FnOnce(&mut Host, &mut Flags, &mut Output) -> T,
    ) -> Option<T> {
        let host = self.host.as_mut()?;
        Some(speak(host, &mut self.flags, &mut self.output))
    }

    /// Whether the user wants the present answer to end.
    pub(super) fn is_interrupted(&mut self) -> bool {
        self.with_host(|host, flags, output| {
            host.hear(flags, output);
            host.is_interrupted
        })
        .unwrap_or(false)
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
        let mut tools = vec!["Task", "Bash", "Read", "Write"];
        let more: Vec<String> = self.servers.tools().iter().map(|tool| text(&tool["name"])).collect();
        tools.extend(more.iter().map(String::as_str));
        tools.retain(|tool| self.flags.offers(tool));
        let mut tools: Vec<String> = tools.into_iter().map(str::to_owned).collect();
        let servers = self.host.as_ref().map_or(&[][..], |host| &host.servers);
        for server in servers {
            tools.extend(
                server.tools.iter().map(|tool| format!("mcp__{}__{}", server.name, text(&tool["name"]))),
            );
        }
        let in_host = servers.iter().map(|server| json!({"name": server.name, "status": server.status()}));
        let servers: Vec<Value> = self.servers.states().into_iter().chain(in_host).collect();
        self.output.message(json!({
            "type": "system", "subtype": "init", "cwd": cwd, "tools": tools, "mcp_servers": servers,
            "model": self.model(), "permissionMode": mode, "slash_commands": commands, "apiKeySource": key,
            "claude_code_version": "2.1.197", "output_style": "default", "agents": ["general-purpose"],
            "skills": skills, "plugins": [], "analytics_disabled": true, "product_feedback_disabled": true,
            "fast_mode_state": "off",
        }));
    }

    /// Answers one prompt, which may have come as a message of the host; the exit code.
    pub(super) fn answer(&mut self, prompt: &str, message: Option<&Value>) -> u8 {
        let started = Instant::now();
        self.present = Usage::default();
        self.denials.clear();
        hooks::run("SessionStart", "SessionStart:startup", true, &mut self.output);
        self.init();
        if let (Some(host), Some(message)) = (&self.host, message) {
            host.replay(message, &mut self.output);
        }
        let stopped = hooks::run("UserPromptSubmit", "UserPromptSubmit", false, &mut self.output);
        if let Some(reason) = stopped {
            let content = format!("Operation stopped by hook: {reason}");
            self.output.message(json!({
                "type": "system", "subtype": "informational", "content": content, "level": "warning",
                "prevent_continuation": true,
            }));
            return self.end(started, 0, End::said(""));
        }
        let prompt = match self.expand(prompt) {
            Ok(prompt) => prompt,
            Err(said) => {
                if !said.is_empty() {
                    self.output.synthetic(&said);
                }
                return self.end(started, 0, End::said(said));
            }
        };
        self.messages.push(user_text(&prompt));
        let mut turns = 1;
        let end = self.converse(&mut turns);
        if let End::Answered { text, .. } = &end {
            let said = json!({"last_assistant_message": text});
            self.with_host(|host, flags, output| host.consult("Stop", ("", "", &said), flags, output));
        }
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

    /// A skill's text instead of its name, or what is said when there is none. Whoever calls a skill by its name allows
    /// what it asks for; the model does not, in 2.1.197.
    fn expand(&mut self, prompt: &str) -> Result<String, String> {
        let Some(rest) = prompt.strip_prefix('/') else { return Ok(prompt.to_owned()) };
        let (name, arguments) = rest.split_once(' ').unwrap_or((rest, ""));
        if skills::is_for_models_alone(name) {
            // 2.1.197 says nothing at all, and later versions that only models may call it.
            return Err(String::new());
        }
        self.flags.allowed.extend(skills::wanted_tools(name));
        match skills::read(name) {
            Some(skill) if self.world.is_wrong("slash-arguments-lost") => Ok(skill),
            Some(skill) => Ok(format!("{skill}\n\nARGUMENTS: {arguments}")),
            None => Err(format!("Unknown command: /{name}")),
        }
    }

    /// The conversation is over.
    pub(super) fn finish(&mut self) {
        self.servers.end();
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
