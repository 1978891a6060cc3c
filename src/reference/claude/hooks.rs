//! Hooks of `.claude/settings.json` in the working directory.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::output::Output;

/// Runs the hooks of an event, which are announced when `announce` says so; the reason, where one of them stops the run.
pub(super) fn run(event: &str, name: &str, announce: bool, output: &mut Output) -> Option<String> {
    let settings = fs::read(".claude/settings.json").unwrap_or_default();
    let settings: Value = serde_json::from_slice(&settings).unwrap_or_default();
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    for hook in groups.filter_map(|group| group["hooks"].as_array()).flatten() {
        let Some(command) = hook["command"].as_str() else { continue };
        let id = output.uuid();
        if announce {
            output.message(json!({
                "type": "system", "subtype": "hook_started", "hook_id": id, "hook_name": name, "hook_event": event,
            }));
        }
        let run = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).output();
        let Ok(run) = run else { continue };
        let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let code = run.status.code().unwrap_or(-1);
        if announce {
            output.message(json!({
                "type": "system", "subtype": "hook_response", "hook_id": id, "hook_name": name, "hook_event": event,
                "output": stdout, "stdout": stdout, "stderr": stderr, "exit_code": code,
                "outcome": if code == 0 { "success" } else { "error" },
            }));
        }
        if code == 2 {
            return Some(stderr.trim().to_owned());
        }
    }
    None
}
