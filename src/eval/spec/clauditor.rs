//! clauditor's form: `<skill>.eval.json`, or `SKILL.eval.json` beside a `SKILL.md`.

use std::path::Path;

use super::{
    Case, Expectation, Form, Ids, Input, Kind, RunSettings, Spec, SpecError, assert_can_fail, count,
    is_inside, part, said, sections,
};
use crate::document::{Document, FileError, Item, Table};
use crate::eval::assertion::{self, Dialect};

const NULLABLE: [&str; 8] = [
    "user_prompt",
    "system_prompt",
    "timeout",
    "grading_model",
    "grading_provider",
    "output_file",
    "max_entries",
    "format",
];

pub(super) fn read(path: &Path, text: &str) -> Result<Spec, SpecError> {
    let file = path.display().to_string();
    let mut spec = Spec::new(path, Form::Clauditor);
    let mut root = Document::parse_json(&file, text, &NULLABLE)?;
    spec.skill = root.string("skill_name")?.unwrap_or_else(|| name_of(path));
    spec.description = root.string("description")?.unwrap_or_default();
    let arguments = root.string("test_args")?.unwrap_or_default();
    let user_prompt = spoken(&mut root, "user_prompt")?;
    if spoken(&mut root, "system_prompt")?.is_some() {
        spec.unchecked
            .push("`system_prompt`: not passed on, as clauditor does not pass it to a Claude CLI".into());
    }

    let prompt = format!("/{} {arguments}", spec.skill);
    let mut case = Case::new("1", Kind::Task, prompt.trim_end());
    case.prompt_without = Some(arguments).filter(|text| !text.is_empty()).or_else(|| user_prompt.clone());
    case.expected = user_prompt.filter(|_| !spec.description.is_empty()).map(|_| spec.description.clone());
    for item in root.list("input_files")? {
        let input = input(item, spec.folder(), &case.files)?;
        case.files.push(input);
    }
    case.outputs = root.string("output_file")?.into_iter().collect();
    let globs = outputs(&mut root, &case.files)?;
    if case.outputs.is_empty() {
        case.outputs = globs;
    } else if !globs.is_empty() {
        spec.unchecked.push("`output_files`: not read, since `output_file` comes first".into());
    }
    let mut ids = Ids::default();
    for item in root.list("assertions")? {
        let place = item.place();
        let assertion = assertion::read(item, Dialect::Clauditor, 0, None)?;
        ids.add(&assertion.id).map_err(|why| place.complain(why))?;
        assert_can_fail(&assertion, &place)?;
        case.assertions.push(assertion);
    }
    case.sections = sections::read(root.list("sections")?, &mut ids)?;
    for item in root.list("grading_criteria")? {
        let mut table = item.into_table()?;
        let id = ids.of(&mut table)?;
        let text = table.require("criterion", "what is judged")?.into_string()?;
        if text.is_empty() {
            return Err(table.complain("`criterion` is empty").into());
        }
        table.finish()?;
        case.expectations.push(Expectation { id, text });
    }
    settings(&mut root, &mut spec)?;
    let triggers = triggers(&mut root)?;
    let nothing =
        root.complain("nothing to check: no assertions, sections, grading_criteria or trigger_tests");
    root.finish()?;
    if case.can_fail() {
        spec.cases.push(case);
    } else if triggers.is_empty() {
        return Err(nothing.into());
    }
    spec.cases.extend(triggers);
    Ok(spec)
}

/// The skill that a file is about: that of its directory, or its own name.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parent =
        || path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    match name.strip_suffix(".eval.json") {
        Some("SKILL") | None => parent(),
        Some(name) => name.to_owned(),
    }
}

fn spoken(root: &mut Table<'_>, key: &'static str) -> Result<Option<String>, FileError> {
    root.take(key).map(said).transpose()
}

fn input(item: Item<'_>, folder: &Path, known: &[Input]) -> Result<Input, FileError> {
    let place = item.place();
    let named = item.into_string()?;
    let path = Path::new(&named);
    if path.is_absolute() {
        return Err(place.complain("absolute paths are not allowed"));
    }
    if !is_inside(&named) {
        return Err(place.complain("escapes the directory of the file"));
    }
    let from = folder.join(path);
    if !from.is_file() {
        return Err(place.complain(format!("{} is not a file", from.display())));
    }
    let to = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if known.iter().any(|other| matches!(other, Input::Copy { to: taken, .. } if *taken == to)) {
        return Err(place.complain(format!("a second file named `{to}`")));
    }
    Ok(Input::Copy { to, from })
}

/// Patterns of outputs. What goes in must not be taken for what came out.
fn outputs(root: &mut Table<'_>, inputs: &[Input]) -> Result<Vec<String>, FileError> {
    let mut patterns = Vec::new();
    for item in root.list("output_files")? {
        let place = item.place();
        let pattern = item.into_string()?;
        let name = pattern.rsplit('/').next().unwrap_or_default();
        if inputs.iter().any(|input| matches!(input, Input::Copy { to, .. } if to == name)) {
            return Err(place.complain(format!("`{name}` is one of the `input_files`")));
        }
        patterns.push(pattern);
    }
    Ok(patterns)
}

fn settings(root: &mut Table<'_>, spec: &mut Spec) -> Result<(), FileError> {
    spec.judge.model = spoken(root, "grading_model")?;
    // What clauditor asks for when the file does not say.
    (spec.judge.min_pass_rate, spec.judge.min_mean_score) = (0.7, 0.5);
    if let Some(item) = root.take("grade_thresholds") {
        let mut table = item.into_table()?;
        spec.judge.min_pass_rate = part(&mut table, "min_pass_rate")?.unwrap_or(0.7);
        spec.judge.min_mean_score = part(&mut table, "min_mean_score")?.unwrap_or(0.5);
        table.finish()?;
    }
    if let Some(item) = root.take("variance") {
        let mut table = item.into_table()?;
        spec.run.trials = count(&mut table, "n_runs")?.unwrap_or(5);
        spec.thresholds.min_pass_rate = part(&mut table, "min_stability")?.unwrap_or(0.8);
        table.finish()?;
    }
    if let Some(item) = root.take("timeout") {
        let place = item.place();
        spec.run.timeout_seconds = match item.unsigned()? {
            0 => return Err(place.complain("expected a number of seconds, more than 0")),
            seconds => seconds,
        };
    }
    let defaults = RunSettings::default();
    spec.run.heuristics = root.boolean("allow_hang_heuristic")?.unwrap_or(defaults.heuristics);
    spec.run.sync_tasks = root.boolean("sync_tasks")?.unwrap_or(defaults.sync_tasks);
    for (key, known) in [
        ("transport", &["api", "cli", "auto"][..]),
        ("harness", &["claude-code", "codex", "auto"]),
        ("grading_provider", &["anthropic", "openai", "auto"]),
    ] {
        let Some(item) = root.take(key) else { continue };
        let place = item.place();
        let value = item.into_string()?;
        if !known.contains(&value.as_str()) {
            return Err(place.complain(format!("expected one of: {}, found {value:?}", known.join(", "))));
        }
        if matches!(value.as_str(), "api" | "codex" | "openai") {
            spec.unchecked
                .push(format!("`{key}` is {value:?}: trials and judges run on the target that is chosen"));
        }
    }
    Ok(())
}

fn triggers(root: &mut Table<'_>) -> Result<Vec<Case>, FileError> {
    let Some(item) = root.take("trigger_tests") else { return Ok(Vec::new()) };
    let line = item.place().line();
    let mut table = item.into_table()?;
    let mut cases = Vec::new();
    for (key, kind) in [("should_trigger", Kind::MustTrigger), ("should_not_trigger", Kind::MustNotTrigger)] {
        for prompt in table.strings(key)? {
            let id = format!("trigger-{}", cases.len() + 1);
            cases.push(Case { line, ..Case::new(id, kind, prompt) });
        }
    }
    table.finish()?;
    Ok(cases)
}
