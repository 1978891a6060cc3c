//! Skills and commands of the working directory.

use std::fs;
use std::path::Path;

const SKILLS: &str = ".claude/skills";
const COMMANDS: &str = ".claude/commands";

/// The names of the skills, and of the commands that are none.
pub(super) fn names() -> (Vec<String>, Vec<String>) {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut skills: Vec<String> =
        entries(SKILLS).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
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
