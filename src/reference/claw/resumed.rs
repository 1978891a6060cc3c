//! `--resume SESSION /COMMAND…`: commands on a session that ended, all in one envelope.

use serde_json::{Value, json};

use super::super::World;
use super::arguments::Arguments;
use super::flat::{Done, Error};
use super::{store, workspace};

/// Runs them one after the other; the first that fails is the answer.
pub(super) fn commands(world: &World, arguments: &Arguments) -> Done {
    let wanted = arguments.option("--resume").unwrap_or_default();
    let sessions = store::list(store::FOLDER);
    let session = if wanted == "latest" { sessions.last() } else { sessions.iter().find(|id| *id == wanted) };
    let Some(session) = session else {
        let message = format!("session not found: {wanted}");
        return Err(Error::new("session_not_found", message, Some("use /session list")));
    };
    let typed: Vec<&String> = arguments.verb.iter().chain(&arguments.words).collect();
    let mut results = Vec::new();
    for line in typed {
        results.push(command(world, line)?);
    }
    Ok((json!({"kind": "resume", "status": "ok", "session_id": session, "results": results}), 0))
}

fn command(world: &World, line: &str) -> Result<Value, Error> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    match (name, rest) {
        ("/status", _) => Ok(workspace::status(world)),
        ("/cost", _) => Ok(json!({"kind": "cost", "status": "ok", "estimated_cost": "$0.0000"})),
        ("/compact", _) => Ok(json!({"kind": "compact", "status": "ok", "removed_messages": 0})),
        ("/clear", "--confirm") => Ok(json!({"kind": "clear", "status": "ok"})),
        ("/clear", _) => {
            Err(Error::new("confirmation_required", "/clear forgets everything", Some("/clear --confirm")))
        }
        ("/history", count) if count.parse::<u32>().is_err() => {
            Err(Error::new("parse", format!("/history: not a number: {count}"), Some("/history 10")))
        }
        ("/history", _) => Ok(json!({"kind": "history", "status": "ok", "entries": []})),
        ("/session", rest) => {
            let id = rest.split(' ').next_back().unwrap_or_default();
            Err(Error::new(
                "session_not_found",
                format!("session not found: {id}"),
                Some("use /session list"),
            ))
        }
        _ => Err(Error::new(
            "unsupported_resumed_command",
            format!("{name} needs a conversation"),
            Some("start claw and type it there"),
        )),
    }
}
