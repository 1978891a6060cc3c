//! Skills and commands of the working directory.

use std::fs;
use std::path::Path;

use crate::text::split_names;

const SKILLS: &str = ".claude/skills";
const COMMANDS: &str = ".claude/commands";

/// The names of the skills, and of the commands that are none.
pub(super) fn names() -> (Vec<String>, Vec<String>) {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut skills: Vec<String> =
        entries(SKILLS).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    skills.retain(|name| !is_for_models_alone(name));
    let mut commands: Vec<String> = entries(COMMANDS)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    skills.sort();
    commands.sort();
    (skills, commands)
}

/// The text of a skill or command; none when there is no such thing.
pub(super) fn read(name: &str) -> Option<String> {
    if name.is_empty() || Path::new(name).components().count() != 1 || name.starts_with('.') {
        return None;
    }
    let skill = fs::read_to_string(format!("{SKILLS}/{name}/SKILL.md"));
    skill.or_else(|_| fs::read_to_string(format!("{COMMANDS}/{name}.md"))).ok()
}

/// The tools that a skill asks for, with `allowed-tools` in its head: with commas or spaces between them, or as a list.
pub(super) fn wanted_tools(name: &str) -> Vec<String> {
    head_values(name, "allowed-tools").iter().flat_map(|value| split_names(value)).collect()
}

/// Whether only users may call a skill, with `disable-model-invocation: true` in its head.
pub(super) fn is_for_users_alone(name: &str) -> bool {
    head_values(name, "disable-model-invocation") == ["true"]
}

/// Whether only models may call a skill, with `user-invocable: false` in its head: nobody is told that there is one.
pub(super) fn is_for_models_alone(name: &str) -> bool {
    head_values(name, "user-invocable") == ["false"]
}

/// What the head of a skill says of a key: on its line, or on the lines of a list below it.
fn head_values(name: &str, key: &str) -> Vec<String> {
    let text = read(name).unwrap_or_default();
    let head = text.strip_prefix("---\n").and_then(|rest| rest.split("\n---").next()).unwrap_or_default();
    let mut lines = head.lines().skip_while(|line| !line.starts_with(&format!("{key}:")));
    let own = lines.next().and_then(|line| Some(line.split_once(':')?.1.trim().to_owned()));
    let below = lines.map_while(|line| Some(line.trim().strip_prefix("- ")?.trim().to_owned()));
    own.filter(|own| !own.is_empty()).map_or_else(|| below.collect(), |own| vec![own])
}
