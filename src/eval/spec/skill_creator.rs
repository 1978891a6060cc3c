//! skill-creator's form: `evals/evals.json` in the skill's directory.

use std::path::Path;

use super::{Case, Expectation, Form, Input, Kind, Spec, SpecError, is_inside, said};
use crate::document::{Document, FileError, Item};

pub(super) fn read(path: &Path, text: &str) -> Result<Spec, SpecError> {
    let file = path.display().to_string();
    let mut spec = Spec::new(path, Form::SkillCreator);
    // Paths are relative to the skill, which holds `evals/`.
    let folder = spec.folder().to_owned();
    let is_usual = folder.file_name().is_some_and(|name| name == "evals");
    let skill_folder = if is_usual { folder.join("..") } else { folder };
    let mut root = Document::parse_json(&file, text, &["expected_output", "files", "expectations"])?;
    spec.skill = root.require("skill_name", "the name of the skill")?.into_string()?;
    spec.skill_path = skill_folder.join("SKILL.md").is_file().then(|| skill_folder.clone());
    for item in root.list("evals")? {
        let place = item.place();
        let case = Case { line: place.line(), ..case(item, &skill_folder)? };
        if spec.cases.iter().any(|known| known.id == case.id) {
            return Err(place.complain(format!("a second eval with the id {}", case.id)).into());
        }
        spec.cases.push(case);
    }
    let empty = root.complain("`evals` is empty");
    root.finish()?;
    if spec.cases.is_empty() { Err(empty.into()) } else { Ok(spec) }
}

fn case(item: Item<'_>, skill_folder: &Path) -> Result<Case, FileError> {
    let mut table = item.into_table()?;
    let id = table.require("id", "a number that identifies the eval")?;
    let id = if id.is_string() { id.into_string()? } else { id.unsigned()?.to_string() };
    let prompt = said(table.require("prompt", "the task")?)?;
    let mut case = Case::new(id, Kind::Task, prompt.clone());
    case.prompt_without = (!prompt.starts_with('/')).then_some(prompt);
    case.expected = table.string("expected_output")?.filter(|text| !text.trim().is_empty());
    // The name is shown by skill-creator's viewer; the id identifies the eval.
    table.string("name")?;
    for item in table.list("files")? {
        case.files.push(input(item, skill_folder)?);
    }
    let mut statements = table.list("expectations")?;
    // As older versions called them.
    statements.extend(table.list("assertions")?);
    for (index, item) in statements.into_iter().enumerate() {
        case.expectations.push(Expectation { id: format!("expectation-{}", index + 1), text: said(item)? });
    }
    if case.expectations.is_empty()
        && let Some(expected) = &case.expected
    {
        case.expectations.push(Expectation { id: "expected-output".into(), text: expected.clone() });
    }
    let nothing = table.complain("an eval without `expectations` and `expected_output` cannot fail");
    table.finish()?;
    if case.expectations.is_empty() { Err(nothing) } else { Ok(case) }
}

/// A file of the skill goes to the same place below the working directory, without `evals/files/` before it.
fn input(item: Item<'_>, skill_folder: &Path) -> Result<Input, FileError> {
    let place = item.place();
    let named = item.into_string()?;
    if !is_inside(&named) {
        return Err(place.complain("expected a path below the skill's directory"));
    }
    let from = skill_folder.join(&named);
    if !from.exists() {
        return Err(place.complain(format!("{} does not exist", from.display())));
    }
    let to = named
        .strip_prefix("evals/files/")
        .or_else(|| named.strip_prefix("evals/"))
        .unwrap_or(&named)
        .to_owned();
    Ok(Input::Copy { to, from })
}
