//! `clawgate eval init`: a first evaluation of a skill, which lints, runs offline and says what to change.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::usage;
use crate::cli::CommandError;
use crate::cli::error::unwritable;
use crate::document;
use crate::eval::skill::{Layout, Skill, described, find};
use crate::exit_code::Outcome;
use crate::shell::shell_word;

/// Writes the evaluation; never over a file that is there.
pub(super) fn init(skill: &Path, to: Option<&Path>) -> Result<Outcome, CommandError> {
    let found = if skill.exists() {
        Skill::at(skill).map_err(usage)?
    } else {
        find(&skill.to_string_lossy(), Path::new(".")).map_err(usage)?
    };
    let text = document::read_to_string(&found.file).map_err(unwritable(&found.file))?;
    let folder = found.file.parent().map(Path::to_owned).unwrap_or_default();
    let path = match (to, found.layout) {
        (Some(path), _) => path.to_owned(),
        (None, Layout::Skill) => folder.join("eval.toml"),
        (None, Layout::Command) => PathBuf::from(format!("{}.toml", found.name)),
    };
    let beside = path.parent().unwrap_or(Path::new("")).canonicalize().ok();
    let is_beside = beside.is_some_and(|beside| folder.canonicalize().is_ok_and(|folder| folder == beside));
    let place = if is_beside && found.layout == Layout::Skill {
        ".".to_owned()
    } else {
        let real = found.file.canonicalize().unwrap_or_else(|_| found.file.clone());
        real.display().to_string()
    };
    let spec = first(&found.name, &place, &described(&text).unwrap_or_default());
    let file = fs::File::options().write(true).create_new(true).open(&path);
    let mut file = match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let message = format!("{}: it is there already; name another file with --to", path.display());
            return Err(CommandError::Usage(message));
        }
        other => other.map_err(unwritable(&path))?,
    };
    file.write_all(spec.as_bytes()).map_err(unwritable(&path))?;
    let shown = path.display().to_string();
    let mut out = anstream::stdout();
    writeln!(out, "wrote {shown}")?;
    writeln!(out, "next: clawgate eval {}", shell_word(&shown))?;
    Ok(Outcome::Ok)
}

/// A text as TOML writes it; what JSON escapes, TOML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn first(name: &str, place: &str, description: &str) -> String {
    let about = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = about.split_inclusive(['.', '!', '?']).next().unwrap_or_default().trim();
    let task = if sentence.is_empty() { format!("Use {name}.") } else { format!("I need this: {sentence}") };
    format!(
        "# A first evaluation of {name}. `evals/README.md` in clawgate's repository has every key.\n\
         [eval]\nskill = {skill}\nskill_path = {place}\ndescription = {about}\n\n\
         [run]\ntrials = 3\n\n\
         # One thing that the skill should do. Replace the prompt by what a user would say, and the assertion by what only\n\
         # the skill brings about; `expectations` are judged by a model.\n\
         [[cases]]\nid = \"first\"\nprompt = {task}\n\n\
         [[cases.assert]]\ntype = \"contains\"\nneedle = \"as the skill says\"\n\n\
         # Whether the skill is used when it should be, and only then.\n\
         [triggers]\ntrials = 1\nshould = [{task}]\nshould_not = [\"What is 17 plus 25?\"]\n\n\
         # The model is scripted, so that all of this runs offline and the same every time. To ask a real one, remove this\n\
         # part: `clawgate eval THIS --api real`; `--dry-run` says first what that may cost.\n\
         [[api.turns]]\nname = \"uses-the-skill\"\nwhen = {{ user = {task} }}\ntool = {{ name = \"Skill\", input = {{ skill = {skill} }} }}\n\n\
         [[api.turns]]\nname = \"without-it\"\nwhen = {{ prompt = {task}, tool_result = \"Unknown skill\" }}\ntext = \"I know no such skill.\"\n\n\
         [[api.turns]]\nname = \"done\"\nwhen = {{ prompt = {task}, tool_result = \"\" }}\ntext = \"Done as the skill says.\"\n\n\
         [[api.turns]]\nname = \"something-else\"\nwhen = {{ user = \"17 plus 25\" }}\ntext = \"42.\"\n",
        skill = quoted(name),
        place = quoted(place),
        about = quoted(&about),
        task = quoted(&task),
    )
}
