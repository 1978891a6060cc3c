//! The MCP servers of `--mcp-config`: started before the first message, asked for their tools, and ended at the end.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::super::answer::text;
use super::super::{ACT_AS, MISBEHAVE, World, http};
use super::tools::Outcome;

/// The versions of the protocol that are understood, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// How long a server is waited for, in milliseconds, where no variable says so.
const PATIENCE: u64 = 30_000;
/// How long a server may take to end when its input does, and when it is told to.
const GRACE: Duration = Duration::from_millis(100);
/// A longer answer is none.
const LONGEST_LINE: u64 = 64 << 20;

/// The servers that the command line asks for.
#[derive(Default)]
pub(super) struct Servers {
    all: Vec<Server>,
    /// How long a call may take.
    patience: Duration,
    wrong: &'static str,
}

struct Server {
    name: String,
    /// How it is reached; none where it is not.
    line: Option<Connection>,
    status: &'static str,
    tools: Vec<Value>,
    next_id: u64,
}

enum Connection {
    Stdio { child: Child, input: Option<ChildStdin>, lines: Receiver<Vec<u8>> },
    Http { base: String, path: String, session: Option<String> },
}

/// Why a request got no result.
enum Trouble {
    Refused(String),
    Closed,
    Late,
}

impl Servers {
    /// Starts what the words of `--mcp-config` name; an error where they cannot be read.
    pub(super) fn start(world: &World, configs: &[String]) -> Result<Self, String> {
        let patience = |name: &str| {
            let ms = world.variable(name).and_then(|ms| ms.parse().ok()).unwrap_or(PATIENCE);
            Duration::from_millis(ms)
        };
        let mut servers = Vec::new();
        for config in configs {
            let read = if config.trim_start().starts_with('{') {
                config.clone()
            } else {
                fs::read_to_string(config).map_err(|_| format!("MCP config file not found: {config}"))?
            };
            let read: Value = serde_json::from_str(&read).map_err(|error| format!("{config}: {error}"))?;
            // Those inside of the program that started this one are its own to speak with.
            let servers_here = read["mcpServers"].as_object().into_iter().flatten();
            for (name, config) in servers_here.filter(|(_, config)| config["type"] != "sdk") {
                servers.push(Server::start(name, config, patience("MCP_TIMEOUT")));
            }
        }
        Ok(Self { all: servers, patience: patience("MCP_TOOL_TIMEOUT"), wrong: world.wrong() })
    }

    /// What became of them, as the first message tells it.
    pub(super) fn states(&self) -> Vec<Value> {
        let state = |server: &Server| {
            let status = match (self.wrong, server.status) {
                ("mcp-dead-connected", _) => "connected",
                ("mcp-live-failed", "connected") => "failed",
                (_, status) => status,
            };
            json!({"name": server.name, "status": status})
        };
        let told = self.all.iter().filter(|_| self.wrong != "mcp-server-untold");
        told.map(state).collect()
    }

    /// The tools that they have now, as the model is offered them.
    pub(super) fn tools(&self) -> Vec<Value> {
        let of_one = |server: &Server| {
            let name = server.name.clone();
            let named = move |tool: &Value| {
                let mut tool = tool.clone();
                json!({"name": format!("mcp__{name}__{}", text(&tool["name"])), "description": tool["description"].take(),
                    "input_schema": tool["inputSchema"].take()})
            };
            server.tools.iter().map(named).collect::<Vec<_>>()
        };
        let mut tools: Vec<Value> = self.all.iter().flat_map(of_one).collect();
        if self.wrong == "mcp-tool-invented" {
            tools.push(
                json!({"name": "mcp__other__tool", "description": "", "input_schema": {"type": "object"}}),
            );
        }
        tools
    }

    /// Calls a tool; none where no server has it.
    pub(super) fn call(&mut self, id: &str, name: &str, input: &Value) -> Option<Outcome> {
        let (server, tool) = self.all.iter_mut().find_map(|server| {
            let tool = name.strip_prefix("mcp__")?.strip_prefix(&server.name)?.strip_prefix("__")?;
            server.tools.iter().any(|known| known["name"] == tool).then(|| (server, tool.to_owned()))
        })?;
        let input = match self.wrong {
            "mcp-arguments-changed" => &json!({"text": "something else"}),
            _ => input,
        };
        let params = json!({"name": tool, "arguments": input, "_meta": {"claudecode/toolUseId": id}});
        if self.wrong == "mcp-call-invented" {
            return Some(said(name, &json!([{"type": "text", "text": "All is well."}])));
        }
        if self.wrong == "mcp-call-twice" {
            _ = server.ask("tools/call", &params, self.patience);
        }
        let answered = server.ask("tools/call", &params, self.patience);
        let outcome = match answered {
            Ok(result) if result["isError"] == true => {
                Outcome::error(text(&said(name, &result["content"]).content))
            }
            Ok(result) => said(name, &result["content"]),
            Err(Trouble::Refused(message)) => Outcome::error(message),
            Err(Trouble::Closed) => Outcome::error("Connection closed"),
            Err(Trouble::Late) => Outcome::error(format!(
                "MCP server \"{}\" tool \"{tool}\" timed out after {}s",
                server.name,
                self.patience.as_secs()
            )),
        };
        Some(match self.wrong {
            "mcp-result-invented" => said(name, &json!([{"type": "text", "text": "All is well."}])),
            "mcp-error-hidden" if outcome.is_error => {
                Outcome { is_error: false, extra: outcome.content.clone(), ..outcome }
            }
            _ => outcome,
        })
    }

    /// Ends them all.
    pub(super) fn end(&mut self) {
        for server in &mut self.all {
            match server.line.take() {
                // Whoever does not wait for it leaves it running.
                Some(Connection::Stdio { .. }) if self.wrong == "mcp-server-left" => {}
                Some(Connection::Stdio { child, input, .. }) => end(child, input),
                Some(Connection::Http { .. }) | None => {}
            }
        }
    }
}

/// What a tool said, as one text.
fn said(name: &str, content: &Value) -> Outcome {
    let texts: Vec<&str> =
        content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()).collect();
    if texts.is_empty() {
        return Outcome {
            content: format!("({name} completed with no output)").into(),
            is_error: false,
            extra: json!([]),
        };
    }
    Outcome { content: texts.join("\n").into(), is_error: false, extra: content.clone() }
}

impl Server {
    fn start(name: &str, config: &Value, patience: Duration) -> Self {
        let mut server = Self {
            name: name.to_owned(),
            line: connect(config),
            status: "failed",
            tools: Vec::new(),
            next_id: 0,
        };
        server.status = match server.shake_hands(patience) {
            Ok(()) => "connected",
            Err(Trouble::Refused(reason)) if reason == NEEDS_AUTH => "needs-auth",
            Err(_) => {
                if let Some(Connection::Stdio { child, input, .. }) = server.line.take() {
                    end(child, input);
                }
                "failed"
            }
        };
        server
    }

    fn shake_hands(&mut self, patience: Duration) -> Result<(), Trouble> {
        let hello = json!({
            "protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": {"name": "clawgate-reference", "version": "2.1.197"},
        });
        let answered = self.ask("initialize", &hello, patience)?;
        if !VERSIONS.iter().any(|known| answered["protocolVersion"] == *known) {
            return Err(Trouble::Refused("a version that nobody knows".into()));
        }
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), patience)?;
        self.list(patience)
    }

    fn list(&mut self, patience: Duration) -> Result<(), Trouble> {
        let listed = self.ask("tools/list", &json!({}), patience)?;
        self.tools = listed["tools"].as_array().cloned().unwrap_or_default();
        Ok(())
    }

    /// Asks, and waits for the answer. What else is said meanwhile is heard too.
    fn ask(&mut self, method: &str, params: &Value, patience: Duration) -> Result<Value, Trouble> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let deadline = Instant::now() + patience;
        let mut has_changed = false;
        let mut said = self.send(&request, patience)?.into_iter();
        let answered = loop {
            let message = match said.next() {
                Some(message) => message,
                None => match self.hear(deadline) {
                    Ok(message) => message,
                    Err(trouble) => break Err(trouble),
                },
            };
            has_changed |= message["method"] == "notifications/tools/list_changed";
            if message["id"] == id && message.get("method").is_none() {
                break match message.get("error") {
                    Some(error) => Err(Trouble::Refused(text(&error["message"]))),
                    None => Ok(message["result"].clone()),
                };
            }
        };
        if matches!(answered, Err(Trouble::Late)) {
            let cancelled = json!({"requestId": id, "reason": "timed out"});
            let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled});
            _ = self.send(&told, patience);
        }
        has_changed |= method == "tools/call" && self.has_more_to_say();
        if has_changed {
            // Who cannot say what it has now has what it had.
            _ = self.list(patience);
        }
        answered
    }

    /// Sends a message; over HTTP what is answered to it.
    fn send(&mut self, message: &Value, patience: Duration) -> Result<Vec<Value>, Trouble> {
        match &mut self.line {
            None => Err(Trouble::Closed),
            Some(Connection::Stdio { input, .. }) => {
                let input = input.as_mut().ok_or(Trouble::Closed)?;
                let sent = writeln!(input, "{message}").and_then(|()| input.flush());
                sent.map(|()| Vec::new()).map_err(|_| Trouble::Closed)
            }
            Some(Connection::Http { base, path, session }) => {
                let mut headers = vec![("accept", "application/json, text/event-stream")];
                headers.extend(session.as_deref().map(|session| ("mcp-session-id", session)));
                let mut answer =
                    http::post(base, path, &headers, message.to_string().as_bytes(), Some(patience))
                        .map_err(|error| if is_late(&error) { Trouble::Late } else { Trouble::Closed })?;
                if let Some(id) = answer.header("mcp-session-id") {
                    *session = Some(id.to_owned());
                }
                match answer.status {
                    200 | 202 => {}
                    401 => return Err(Trouble::Refused(NEEDS_AUTH.into())),
                    status => return Err(Trouble::Refused(format!("HTTP {status}"))),
                }
                let mut body = String::new();
                answer.body.read_to_string(&mut body).map_err(|_| Trouble::Closed)?;
                let is_stream = body.starts_with("event:");
                let parts = body
                    .lines()
                    .filter_map(|line| if is_stream { line.strip_prefix("data: ") } else { Some(line) });
                Ok(parts.filter_map(|part| serde_json::from_str(part).ok()).collect())
            }
        }
    }

    /// The next message; lines that are none are passed over.
    fn hear(&self, deadline: Instant) -> Result<Value, Trouble> {
        let Some(Connection::Stdio { lines, .. }) = &self.line else { return Err(Trouble::Closed) };
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Ok(message) = serde_json::from_slice(&line) {
                        return Ok(message);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(Trouble::Late),
                Err(RecvTimeoutError::Disconnected) => return Err(Trouble::Closed),
            }
        }
    }

    /// Whether the server says right after an answer that its tools have changed.
    fn has_more_to_say(&self) -> bool {
        let soon = Instant::now() + Duration::from_millis(20);
        let Some(Connection::Stdio { .. }) = &self.line else { return false };
        self.hear(soon).is_ok_and(|message| message["method"] == "notifications/tools/list_changed")
    }
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

const NEEDS_AUTH: &str = "needs authentication";

/// Starts a process, or notes where a server listens.
fn connect(config: &Value) -> Option<Connection> {
    if let Some(url) = config["url"].as_str() {
        let rest = url.strip_prefix("http://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(Connection::Http {
            base: format!("http://{host}"),
            path: format!("/{path}"),
            session: None,
        });
    }
    let args = config["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let env = config["env"].as_object().into_iter().flatten();
    let mut child = Command::new(config["command"].as_str()?)
        .args(args)
        .env_remove(ACT_AS)
        .env_remove(MISBEHAVE)
        .envs(env.filter_map(|(name, value)| Some((name, value.as_str()?))))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (input, output) = (child.stdin.take(), child.stdout.take()?);
    let (sender, lines) = channel();
    // It ends with the server.
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(read) if read > 0 && sender.send(line).is_ok() => {}
                _ => return,
            }
        }
    });
    Some(Connection::Stdio { child, input, lines })
}

/// Ends a server: its input first, then it is told to, then it is killed.
fn end(mut child: Child, input: Option<ChildStdin>) {
    drop(input);
    let pid = Pid::from_child(&child);
    for signal in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        if let Some(signal) = signal {
            _ = kill_process(pid, signal);
        }
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
