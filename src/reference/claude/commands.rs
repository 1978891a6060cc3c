//! The commands of the Claude CLI that scripts read: plugins, servers of tools and the login.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::answer::text;
use super::super::{World, complain, print};
use super::mcp::Servers;

/// Does what the words ask for; the exit code, or none where they are no command.
pub(super) fn main(world: &World) -> Option<u8> {
    let words: Vec<&str> = world.args.iter().map(String::as_str).collect();
    match words[..] {
        ["plugin", "list", "--json", ref more @ ..] => {
            let installed = plugins(world);
            let document = if more.contains(&"--available") {
                json!({"installed": installed, "available": []})
            } else {
                installed
            };
            Some(say(world, &document))
        }
        ["auth", "status", "--json"] => {
            let has_key = world.variable("ANTHROPIC_API_KEY").is_some_and(|key| !key.is_empty());
            Some(say(
                world,
                &if has_key {
                    json!({"loggedIn": true, "authMethod": "api_key", "apiProvider": "firstParty", "apiKeySource": "ANTHROPIC_API_KEY"})
                } else {
                    json!({"loggedIn": false, "authMethod": "none", "apiProvider": "firstParty"})
                },
            ))
        }
        ["mcp", "list"] => Some(servers(world)),
        ["doctor"] => {
            print("Claude Code doctor\n\nRunning: clawgate reference (2.1.197)\n");
            Some(0)
        }
        ["plugin" | "auth" | "mcp", ..] => {
            complain(&format!("error: unknown command '{}'", words.get(1).unwrap_or(&"")));
            Some(1)
        }
        _ => None,
    }
}

/// Prints a document.
fn say(world: &World, document: &Value) -> u8 {
    let whole = format!("{document:#}\n");
    // Its pipe holds so much, and the rest is never written.
    let said = if world.is_wrong("cut-line") { whole.len() / 2 } else { whole.len() };
    print(&String::from_utf8_lossy(&whole.as_bytes()[..said]));
    0
}

/// The plugins that are installed, as their list in the home directory has them.
fn plugins(world: &World) -> Value {
    let home = world.variable("HOME").unwrap_or_default();
    let read = |path: &str| -> Value {
        let text = fs::read_to_string(Path::new(&home).join(path)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    let enabled = &read(".claude/settings.json")["enabledPlugins"];
    let list = read(".claude/plugins/installed_plugins.json");
    let all = list["plugins"].as_object().into_iter().flatten();
    let entries = all.flat_map(|(id, places)| {
        let shown = move |place: &Value| {
            json!({
                "id": id, "version": place["version"].as_str().unwrap_or("unknown"), "scope": text(&place["scope"]),
                "enabled": enabled[id] == true, "installPath": text(&place["installPath"]),
            })
        };
        places.as_array().into_iter().flatten().map(shown)
    });
    entries.collect()
}

/// Starts the servers of the project, and says what became of each.
fn servers(world: &World) -> u8 {
    let config = fs::read_to_string(".mcp.json").unwrap_or_default();
    let read: Value = serde_json::from_str(&config).unwrap_or_default();
    let known = read["mcpServers"].as_object().into_iter().flatten();
    let known: Vec<(&String, &Value)> = known.collect();
    if known.is_empty() {
        print("No MCP servers configured. Use `claude mcp add` to add a server.\n");
        return 0;
    }
    let mut servers = match Servers::start(world, std::slice::from_ref(&config)) {
        Ok(servers) => servers,
        Err(reason) => {
            complain(&reason);
            return 1;
        }
    };
    let states = servers.states();
    servers.end();
    print("Checking MCP server health…\n\n");
    for (name, config) in known {
        let args = config["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let args: Vec<&str> = args.collect();
        let state = states.iter().find(|state| state["name"] == **name);
        let told = match state.and_then(|state| state["status"].as_str()) {
            Some("connected") => "✔ Connected",
            Some("needs-auth") => "! Needs authentication",
            _ => "✘ Failed to connect",
        };
        print(&format!("{name}: {} {} - {told}\n", text(&config["command"]), args.join(" ")));
    }
    0
}
