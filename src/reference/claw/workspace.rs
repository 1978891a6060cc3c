//! What claw says of the workspace, without the model.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::World;
use super::arguments::Arguments;
use super::flat::{Done, Error};
use super::prompt::MODEL;

/// Where a worker leaves its state.
const STATE: &str = ".claw/worker-state.json";
/// The parts of the configuration.
const SECTIONS: [&str; 4] = ["env", "hooks", "mcp", "model"];

/// What `claw status` answers.
pub(super) fn status(world: &World) -> Value {
    let broken = fs::read(".claw.json").ok().and_then(|text| serde_json::from_slice::<Value>(&text).err());
    let load_error =
        broken.filter(|_| !world.is_wrong("lying-status")).map(|error| format!(".claw.json: {error}"));
    json!({
        "kind": "status", "status": if load_error.is_some() { "degraded" } else { "ok" },
        "config_load_error": load_error, "model": MODEL, "model_source": "default", "model_raw": null,
        "permission_mode": "workspace-write",
        "usage": {"messages": 0, "turns": 0, "latest_total": 0, "cumulative_input": 0, "cumulative_output": 0,
                  "cumulative_total": 0, "estimated_tokens": 0},
        "workspace": {"cwd": std::env::current_dir().unwrap_or_default().to_string_lossy(), "project_root": null, "git_branch": null,
                      "git_state": "unknown", "changed_files": 0},
    })
}

/// One report, or one error: never both.
pub(super) fn doctor() -> Done {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let settings = Path::new(&home).join(".claw/settings.json");
    let broken = fs::read(settings).ok().and_then(|text| serde_json::from_slice::<Value>(&text).err());
    match broken {
        None => Ok((
            json!({"kind": "doctor", "status": "ok", "checks": [{"name": "settings", "status": "ok"}]}),
            0,
        )),
        Some(error) => {
            let message = format!("1 of 1 checks failed: settings: {error}");
            Err(Error::new("doctor_failed", message, Some("mend ~/.claw/settings.json")))
        }
    }
}

/// A section of the configuration.
pub(super) fn config(arguments: &Arguments) -> Done {
    match arguments.words.first() {
        Some(section) if !SECTIONS.contains(&section.as_str()) => {
            let message = format!("unknown section: {section}");
            Err(Error::new("parse", message, Some("one of env, hooks, mcp, model")))
        }
        section => Ok((json!({"kind": "config", "status": "ok", "section": section, "values": {}}), 0)),
    }
}

/// The changes in the repository.
pub(super) fn diff() -> Done {
    if Path::new(".git").exists() {
        return Ok((json!({"kind": "diff", "status": "ok", "changed_files": []}), 0));
    }
    Err(Error::new("no_git_repo", "this is no git repository", Some("run `git init`")))
}

/// The state of the worker, in an envelope of its own.
pub(super) fn state() -> Done {
    let text = fs::read(STATE).map_err(|error| {
        Error::new("state_not_found", format!("{STATE}: {error}"), Some("start a worker"))
    })?;
    match serde_json::from_slice::<Value>(&text) {
        Ok(state @ Value::Object(_)) => Ok((json!({"kind": "state", "status": "ok", "state": state}), 0)),
        _ => Err(Error::new(
            "state_malformed",
            format!("{STATE} holds no object"),
            Some("start the worker again"),
        )),
    }
}
