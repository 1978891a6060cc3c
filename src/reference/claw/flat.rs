//! claw with flat envelopes: which command it is, and how its outcome is told.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::{World, complain, print};
use super::arguments::Arguments;
use super::envelope::{emit, plain};
use super::prompt::prompt;
use super::{resumed, store, workspace};

/// An envelope of success with its exit code, or what went wrong.
pub(super) type Done = Result<(Value, u8), Error>;

/// An error as the contract has it.
pub(super) struct Error {
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<&'static str>,
    pub(super) retryable: bool,
}

impl Error {
    pub(super) fn new(kind: &'static str, message: impl Into<String>, hint: Option<&'static str>) -> Self {
        Self { kind, message: message.into(), hint, retryable: false }
    }
}

impl Error {
    pub(super) fn envelope(&self) -> Value {
        json!({
            "type": "error", "error": self.message, "kind": self.kind, "hint": self.hint,
            "retryable": self.retryable,
        })
    }
}

/// What it can be asked to do, as a hint.
const CHOICES: &str =
    "choose from prompt, status, doctor, config, diff, state, acp, export, turn-loop, version";

/// Runs it; the exit code.
pub(in crate::reference) fn main(world: &World) -> u8 {
    let arguments = Arguments::read(world);
    if world.has_bytes && world.is_wrong("bytes-panic") {
        complain(
            "thread 'main' panicked at library/std/src/env.rs:864:51:\ncalled `Result::unwrap()` on an `Err` value",
        );
        return 101;
    }
    let mistake = arguments
        .mistake("unknown option")
        .or_else(|| world.has_bytes.then(|| "an argument is not UTF-8".to_owned()));
    let done = match (&arguments.unknown_flag, arguments.verb.as_deref()) {
        (flag, _) if mistake.is_some() && !(flag.is_some() && world.is_wrong("fall-through")) => {
            // A word that is no text could have been a command.
            let hint = if world.has_bytes { CHOICES } else { "run `claw --help`" };
            Err(Error::new("parse", mistake.unwrap_or_default(), Some(hint)))
        }
        _ if arguments.option("--resume").is_some() => resumed::commands(world, &arguments),
        (_, Some("prompt")) => prompt(world, &arguments),
        (_, Some("status")) => Ok((workspace::status(world), 0)),
        (_, Some("doctor")) => workspace::doctor(),
        (_, Some("config")) => workspace::config(&arguments),
        (_, Some("diff")) => workspace::diff(),
        (_, Some("state")) => workspace::state(),
        (_, Some("acp")) => Ok((json!({"kind": "acp", "status": "ok", "supported": false}), 0)),
        (_, Some("export")) => export(&arguments),
        (_, Some("turn-loop")) => Ok(turn_loop(&arguments)),
        (_, Some("version")) => Ok((json!({"kind": "version", "status": "ok", "version": "0.1.3"}), 0)),
        (None, None) => Err(Error::new("parse", "no command was given", Some("run `claw --help`"))),
        (flag, verb) => {
            let word = flag.as_deref().or(verb).unwrap_or_default().to_owned();
            if world.is_wrong("fall-through") {
                let asked = Arguments { prompt: Some(word), json: arguments.json, ..Arguments::default() };
                prompt(world, &asked)
            } else {
                Err(Error::new("parse", format!("unknown command: {word}"), Some(CHOICES)))
            }
        }
    };
    finish(world, &arguments, done)
}

fn finish(world: &World, arguments: &Arguments, done: Done) -> u8 {
    let is_json = arguments.json && !(arguments.compact && world.is_wrong("compact-wins"));
    match done {
        Ok((envelope, code)) if is_json => emit(world, envelope, code),
        Ok((envelope, code)) => {
            match envelope["message"].as_str() {
                Some(said) => print(&format!("{said}\n")),
                None => print(&plain(&envelope)),
            }
            code
        }
        Err(error) if error.kind == "parse" && world.is_wrong("usage-on-stderr") => {
            complain(&format!("usage: claw [-p PROMPT] COMMAND\nclaw: error: {}", error.message));
            2
        }
        Err(error) if is_json => emit(world, error.envelope(), 1),
        Err(error) => {
            complain(&format!("error: {}", error.message));
            u8::from(!world.is_wrong("text-exit-differs"))
        }
    }
}

fn export(arguments: &Arguments) -> Done {
    let latest = store::list(store::FOLDER).pop();
    let id = arguments.option("--session").or(latest.as_deref()).unwrap_or("latest");
    let stored = store::path(store::FOLDER, id);
    let Ok(text) = fs::read_to_string(&stored) else {
        return Err(Error::new(
            "session_not_found",
            format!("session not found: {id}"),
            Some("use /session list"),
        ));
    };
    let into = arguments.words.first().cloned().unwrap_or_else(|| format!("{id}.md"));
    fs::write(&into, text).map_err(|error| Error {
        retryable: true,
        ..Error::new("filesystem", format!("{into}: {error}"), Some("choose another directory"))
    })?;
    Ok((json!({"kind": "export", "status": "ok", "session_id": id, "file": into}), 0))
}

fn turn_loop(arguments: &Arguments) -> (Value, u8) {
    let limit = arguments.option("--timeout-seconds").and_then(|text| text.parse::<f64>().ok());
    match limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(limit) if limit.is_zero() => {
            (json!({"final_stop_reason": "timeout", "final_cancel_observed": true}), 2)
        }
        _ => (
            json!({"kind": "turn-loop", "status": "ok", "final_stop_reason": "completed", "final_cancel_observed": false}),
            0,
        ),
    }
}
