//! The MCP servers of `.claw.json`: started beside a question, and ended with it.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::super::World;
use super::super::answer::text;

/// Servers that end with this value.
pub(super) struct Servers(Vec<Child>);

/// Starts what the configuration names. Nobody waits for a server that does not answer, and what it says on standard
/// error is its own.
pub(super) fn start(world: &World) -> Servers {
    let config = fs::read(".claw.json").ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let servers = config.as_ref().and_then(|config| config["mcpServers"].as_object());
    let is_wrong = world.is_wrong("mcp-stderr");
    let server = |server: &Value| {
        let words = server["args"].as_array().into_iter().flatten().map(text);
        let mut command = Command::new(text(&server["command"]));
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(if is_wrong { Stdio::inherit() } else { Stdio::null() });
        let mut child = command.spawn().ok()?;
        if is_wrong {
            // What it has to say, it has said then.
            _ = child.wait();
        }
        Some(child)
    };
    Servers(servers.into_iter().flatten().filter_map(|(_, named)| server(named)).collect())
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended by itself needs no ending.
            _ = child.kill();
            _ = child.wait();
        }
    }
}
