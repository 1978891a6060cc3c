//! The servers of a case, in its room: the file that a client is configured by, and what their processes write.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::HttpServers;
use super::fault::ServerFault;
use super::journal;
use super::script::{Server, Transport};
use super::told::told;

/// The directory of a room that holds all of it.
pub(crate) const FOLDER: &str = "mcp";
/// The file in it that configures a client, as `--mcp-config` and `.mcp.json` have it.
pub(crate) const CONFIG: &str = "config.json";
const JOURNAL: &str = "journal";
/// A port at which nobody listens.
const NOBODY: &str = "http://127.0.0.1:9";

/// The scripted servers of a case, and what starts them.
#[derive(Debug, Clone)]
pub(crate) struct McpPart<'j> {
    pub(crate) servers: &'j [Server],
    /// Where clawgate is, which serves those over stdio.
    pub(crate) clawgate: String,
}

impl McpPart<'_> {
    /// Writes the files. The folder is called `seen` by the target and `reach` here; `api` is the address of the scripted
    /// API, beside which servers over HTTP are.
    pub(crate) fn furnish(&self, reach: &Path, seen: &Path, api: &str) -> io::Result<()> {
        fs::create_dir_all(reach)?;
        let mut configs = serde_json::Map::new();
        for server in self.servers {
            let config = match (&server.own, server.transport) {
                (Some(own), _) => own.clone(),
                (None, Transport::Stdio) => {
                    let file = format!("{}.json", server.name);
                    fs::write(reach.join(&file), server.to_scenario().to_string())?;
                    json!({
                        "type": "stdio", "command": self.clawgate,
                        "args": ["mcp", seen.join(file), "--journal", seen.join(JOURNAL)],
                        "env": {},
                    })
                }
                (None, Transport::Http) => {
                    let base = if server.fault == Some(ServerFault::Exit) { NOBODY } else { api };
                    json!({"type": "http", "url": format!("{base}{}", super::http::path(&server.name))})
                }
            };
            configs.insert(server.name.clone(), config);
        }
        fs::write(reach.join(CONFIG), json!({"mcpServers": configs}).to_string())
    }
}

/// What the servers of a room saw and answered; see [`told`] for the times.
pub(crate) fn seen(
    servers: &[Server],
    http: Option<&HttpServers>,
    reach: &Path,
    launched: f64,
    since: f64,
) -> Vec<Value> {
    let mut events = journal::read(&reach.join(JOURNAL));
    events.extend(http.map(HttpServers::events).unwrap_or_default());
    told(servers, &events, launched, since)
}
