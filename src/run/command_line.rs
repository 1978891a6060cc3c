//! How a target is asked to do what a case wants of it.

use std::ffi::{OsStr, OsString};

use super::plan::Planned;
use super::scenario::OutputMode;
use super::target;
use crate::harness::CommandLine;
use crate::harness::room::Room;

/// As long as one argument may be on Linux, with room to spare.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// The command line of a case in this room; an error when the target cannot be asked that way. `api` is the address of the
/// scripted API, if it is used.
pub(super) fn build(planned: &Planned, room: &Room, api: Option<&str>) -> Result<CommandLine, String> {
    let (is_real, api) = (api.is_none(), api.unwrap_or_default());
    let (run, speaks, chosen) = (&planned.run, &planned.speaks, &planned.target.choice.target);
    let mut line = CommandLine {
        program: match &run.program {
            Some(other) if other == "{clawgate}" => {
                let own = target::clawgate(|name| std::env::var_os(name));
                own.ok_or("clawgate does not know its own path")?.display().to_string()
            }
            Some(other) => fill(other, room, api),
            None => planned.target.program.display().to_string(),
        },
        stdin: run.stdin.clone(),
        ..CommandLine::default()
    };
    if let Some(first) = &run.first {
        let mut args: Vec<OsString> = Vec::new();
        if let Some(prompt) = &first.prompt {
            args.extend(speaks.prompt.iter().map(|word| word.replace("{prompt}", prompt).into()));
        }
        args.extend(first.args.iter().map(|word| fill_word(word, room, api)));
        if !run.bare {
            args.extend(speaks.args.iter().map(OsString::from));
        }
        line.first = Some(args);
    }
    if let Some(prompt) = run.whole_prompt() {
        // A question that looks like a flag or is too long for an argument goes through standard input.
        if prompt.len() > LONGEST_ARGUMENT || prompt.starts_with('-') {
            let Some(args) = &speaks.prompt_on_stdin else {
                return Err("the target does not read a question from standard input".into());
            };
            line.args.extend(args.iter().map(OsString::from));
            line.stdin = Some(prompt);
        } else {
            if speaks.prompt.is_empty() {
                return Err("the target's file does not say how to ask a question".into());
            }
            line.args.extend(speaks.prompt.iter().map(|word| word.replace("{prompt}", &prompt).into()));
        }
    }
    line.args.extend(run.args.iter().map(|word| fill_word(word, room, api)));
    if !run.bare && run.output == OutputMode::Contract {
        line.args.extend(speaks.args.iter().map(OsString::from));
    }
    for (name, value) in chosen.env.iter().chain(&speaks.env) {
        // The real API is where the target looks for it by itself.
        if is_real && value.contains("{api}") {
            continue;
        }
        set(&mut line, name, value, room, api);
    }
    for (name, value) in planned.real_api.as_ref().unwrap_or(&chosen.secrets) {
        line.set(name, value, false);
        line.secrets.push(value.clone());
    }
    for (name, value) in &run.env {
        if value.is_empty() {
            line.unset(name);
        } else {
            set(&mut line, name, value, room, api);
        }
    }
    let names = planned.real_api.as_ref().unwrap_or(&chosen.secrets).iter().map(|(name, _)| name);
    let given = names.filter_map(|name| line.env.iter().find(|(known, _)| known == name));
    line.credentials = given.map(|(_, value)| value.clone()).collect();
    if let Some(wrong) = planned.target.choice.misbehaviour {
        line.misbehave(wrong);
    }
    Ok(line)
}

/// Sets a variable; one that names the room or the scripted API is remembered as it stands in the file.
fn set(line: &mut CommandLine, name: &str, value: &str, room: &Room, api: &str) {
    let is_template = value.contains('{');
    line.set(name, &fill(value, room, api), !is_template);
    if is_template {
        line.templates.push((name.to_owned(), value.to_owned()));
    }
}

/// As [`fill`]; a word that is no text holds no place to be filled.
fn fill_word(word: &OsStr, room: &Room, api: &str) -> OsString {
    word.to_str().map_or_else(|| word.to_owned(), |text| fill(text, room, api).into())
}

fn fill(text: &str, room: &Room, api: &str) -> String {
    if !text.contains('{') {
        return text.to_owned();
    }
    text.replace("{home}", &room.home().to_string_lossy())
        .replace("{work}", &room.work().to_string_lossy())
        .replace("{tmp}", &room.tmp().to_string_lossy())
        .replace("{api}", api)
}
