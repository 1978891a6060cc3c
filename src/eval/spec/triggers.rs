//! Prompts that have to trigger a skill, or must not: a list of our own form, or skill-creator's set, which is a JSON
//! array of `{"query": …, "should_trigger": …}`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Case, Form, Kind, Spec, SpecError, digest, said};
use crate::document::{self, Document, FileError, Item};

/// Reads a set by itself: it is about the skill in whose directory it is, or in the one above.
pub(super) fn read(path: &Path, text: &str) -> Result<Spec, SpecError> {
    let mut spec = Spec::new(path, Form::SkillCreator);
    let folder = spec.folder().to_owned();
    let real = fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
    let home = real.ancestors().take(3).find(|folder| folder.join("SKILL.md").is_file());
    spec.skill_path = home.map(Path::to_owned);
    let name = home.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    spec.cases = cases(&path.display().to_string(), text)?;
    spec.skill = name.ok_or_else(|| SpecError::NoSkill(path.to_owned()))?;
    Ok(spec)
}

/// The set in another file, and where that is.
pub(super) fn import(item: Item<'_>, folder: &Path) -> Result<(PathBuf, Vec<Case>), FileError> {
    let place = item.place();
    let path = folder.join(item.into_string()?);
    let text = document::read_to_string(&path)
        .map_err(|error| place.complain(format!("{}: {error}", path.display())))?;
    let cases = cases(&path.display().to_string(), &text)?;
    Ok((path, cases))
}

fn cases(file: &str, text: &str) -> Result<Vec<Case>, FileError> {
    // The reader of documents wants a table; one without line breaks moves nothing but the first line.
    let text = format!("{{\"set\": {text}}}");
    let mut root = Document::parse_json(file, &text, &[])?;
    let mut cases: Vec<Case> = Vec::new();
    for item in root.list("set")? {
        let place = item.place();
        let mut table = item.into_table()?;
        let prompt = said(table.require("query", "what the user says")?)?;
        let should = table.require("should_trigger", "true or false")?.bool()?;
        table.finish()?;
        if cases.iter().any(|known| known.prompt.trim() == prompt.trim()) {
            return Err(place.complain("the same query stands here twice"));
        }
        let kind = if should { Kind::MustTrigger } else { Kind::MustNotTrigger };
        let id = format!("trigger-{}", cases.len() + 1);
        cases.push(Case { line: place.line(), ..Case::new(id, kind, prompt) });
    }
    let empty = root.complain("the set is empty");
    root.finish()?;
    if cases.is_empty() { Err(empty) } else { Ok(cases) }
}

/// Holds a part of the prompts back, of each kind: a description is chosen on the others, and these say whether the
/// choice was luck. Which they are depends on their words only, so it is the same in every run.
pub(super) fn hold_out(cases: &mut [Case], part: f64) {
    for kind in [Kind::MustTrigger, Kind::MustNotTrigger] {
        let mut of_kind: Vec<&mut Case> = cases.iter_mut().filter(|case| case.kind == kind).collect();
        of_kind.sort_by_key(|case| digest([case.prompt.as_bytes()]));
        let count = (of_kind.len() as f64 * part).floor() as usize;
        let count = if of_kind.len() > 1 { count.clamp(1, of_kind.len() - 1) } else { 0 };
        for case in of_kind.into_iter().take(count) {
            case.held_out = true;
        }
    }
}
