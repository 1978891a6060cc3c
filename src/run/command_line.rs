//! How a target is asked to do what a case wants of it.

use std::ffi::{OsStr, OsString};

use super::plan::Planned;
use super::scenario::OutputMode;
use super::target;
use crate::harness::CommandLine;
use crate::harness::mcp;
use crate::harness::room::{Room, RoomFile};

/// As long as one argument may be on Linux, with room to spare.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// The command line of a case in this room; an error when the target cannot be asked that way. `api` is the address of the
/// scripted API, if it is used.
pub(super) fn build(planned: &Planned, room: &Room, api: Option<&str>) -> Result<CommandLine, String> {
    let (is_real, api) = (api.is_none(), api.unwrap_or_default());
    let (run, speaks, chosen) = (&planned.run, &planned.speaks, &planned.target.choice.target);
    let mut line = CommandLine {
        program: match &run.program {
            Some(other) if other == "{clawgate}" => own_path()?,
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
        // A question that looks like a flag or cannot be an argument goes through standard input.
        let must = prompt.len() > LONGEST_ARGUMENT || prompt.starts_with('-') || prompt.contains('\0');
        if must || (run.prompt_on_stdin && speaks.prompt_on_stdin.is_some()) {
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
    // Where another program is run, it may have to start the target, or clawgate beside it.
    for word in &run.args {
        line.args.push(match word.to_str() {
            Some("{program}") => planned.target.program.clone().into_os_string(),
            Some("{clawgate}") => own_path()?.into(),
            _ => fill_word(word, room, api),
        });
    }
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
    for file in chosen.files.iter().filter(|file| !(is_real && file.text.contains("{api}"))) {
        if !file.is_dir {
            line.file_templates.push((file.path.clone(), file.text.clone()));
        }
        line.files.push(RoomFile { text: fill(&file.text, room, api), ..file.clone() });
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

/// Where clawgate itself is.
pub(super) fn own_path() -> Result<String, String> {
    let own = target::clawgate(|name| std::env::var_os(name));
    Ok(own.ok_or("clawgate does not know its own path")?.display().to_string())
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
    let mut text =
        text.replace("{api}", api).replace("{mcp}", &room.mcp().0.join(mcp::CONFIG).to_string_lossy());
    room.fill(&mut text);
    text
}
