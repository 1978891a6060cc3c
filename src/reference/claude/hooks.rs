//! Hooks of `.claude/settings.json` in the working directory.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::output::Output;

/// What a hook wants.
pub(super) enum Wish {
    GoOn,
    Stop(String),
}

/// Runs the hooks of an event, which are announced when `announce` says so.
pub(super) fn run(event: &str, name: &str, announce: bool, output: &mut Output) -> Wish {
    let settings = fs::read(".claude/settings.json").unwrap_or_default();
    let settings: Value = serde_json::from_slice(&settings).unwrap_or_default();
    let groups = settings["hooks"][event].as_array().cloned().unwrap_or_default();
    let hooks = groups.iter().filter_map(|group| group["hooks"].as_array()).flatten();
    for hook in hooks {
        let Some(command) = hook["command"].as_str() else { continue };
        let id = output.uuid();
        let about = json!({"hook_id": id, "hook_name": name, "hook_event": event});
        if announce {
            output.message("system", with(json!({"subtype": "hook_started"}), &about));
        }
        let run = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::null()).output();
        let Ok(run) = run else { continue };
        let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let code = run.status.code().unwrap_or(-1);
        if announce {
            let answer = json!({
                "output": stdout, "stdout": stdout, "stderr": stderr, "exit_code": code,
                "outcome": if code == 0 { "success" } else { "error" },
            });
            output.message("system", with(with(json!({"subtype": "hook_response"}), &about), &answer));
        }
        if code == 2 {
            return Wish::Stop(stderr.trim().to_owned());
        }
    }
    Wish::GoOn
}

fn with(mut value: Value, more: &Value) -> Value {
    if let (Some(object), Some(more)) = (value.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
    value
}
