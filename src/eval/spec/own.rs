//! Our own form, TOML. `evals/README.md` in the repository describes every key.

use std::path::Path;

use super::{
    Case, Expectation, Form, Ids, Input, JudgeSettings, Kind, RunSettings, ScriptRule, ScriptedModel, Spec,
    SpecError, Thresholds, assert_can_fail, count, digest, is_inside, part, positive, said, sections,
    triggers,
};
use crate::document::{Document, FileError, Item, Place, Table};
use crate::eval::arm::{Arm, ArmSkill, WITHOUT_SKILL, checked_name};
use crate::eval::assertion::{self, Dialect};
use crate::eval::controls::JUDGE_CONTROLS;
use crate::harness::mock::Script;
use crate::run::scenario::import;
use crate::text::nearest;

pub(super) fn read(path: &Path, text: &str) -> Result<Spec, SpecError> {
    let file = path.display().to_string();
    let mut spec = Spec::new(path, Form::Own);
    let mut root = Document::parse(&file, text)?;
    let mut head = root.require("eval", "a table with the skill's name")?.into_table()?;
    spec.skill = head.require("skill", "the name of the skill")?.into_string()?;
    spec.skill_path = head.string("skill_path")?.map(|folder| spec.folder().join(folder));
    spec.description = head.string("description")?.unwrap_or_default();
    let imported = match head.take("api") {
        None => None,
        Some(item) => Some(script(item, &file)?),
    };
    head.finish()?;
    if let Some(item) = root.take("run") {
        let mut table = item.into_table()?;
        if table.boolean("without")? == Some(false) {
            spec.only_with_skill();
        }
        spec.run = run(table)?;
    }
    for item in root.list("arms")? {
        let place = item.place();
        let arm = arm(item.into_table()?, spec.folder())?;
        spec.add_arm(arm).map_err(|why| place.complain(why))?;
    }
    if let Some(item) = root.take("thresholds") {
        spec.thresholds = thresholds(item.into_table()?)?;
    }
    let mut judge_place = None;
    if let Some(item) = root.take("judge") {
        judge_place = Some(item.place());
        spec.judge = judge(item.into_table()?)?;
    }
    if spec.thresholds.min_preference.is_some() && !spec.judge.blind {
        return Err(root.complain("`min_preference` needs `blind = true` in [judge]").into());
    }
    let (model, named) = model(&mut root, imported, &file, text)?;
    spec.model = model;
    for (index, item) in root.list("cases")?.into_iter().enumerate() {
        let place = item.place();
        let case =
            Case { line: place.line(), ..case(item.into_table()?, index, spec.folder(), &spec.skill)? };
        if spec.cases.iter().any(|known| known.id == case.id) {
            return Err(place.complain(format!("a second case `{}`", case.id)).into());
        }
        spec.cases.push(case);
    }
    if let Some(item) = root.take("triggers") {
        let line = item.place().line();
        trigger_prompts(item.into_table()?, line, &mut spec)?;
    }
    for (arm, place) in named.arms {
        let known = || spec.arms.iter().map(|arm| arm.name.as_str()).chain([WITHOUT_SKILL]);
        if !known().any(|name| name == arm) {
            let hint =
                nearest(&arm, known()).map_or(String::new(), |name| format!(", did you mean `{name}`?"));
            return Err(place.complain(format!("no arm `{arm}`{hint}")).into());
        }
    }
    for (case, place) in named.cases {
        let known = || {
            spec.cases
                .iter()
                .map(|case| case.id.as_str())
                .chain(["control-pass", "control-fail"])
                .chain(JUDGE_CONTROLS)
        };
        let is_comparison = case.strip_prefix("blind-").is_some_and(|case| known().any(|id| id == case));
        if !is_comparison && !known().any(|id| id == case) {
            let hint = nearest(&case, known()).map_or(String::new(), |id| format!(", did you mean `{id}`?"));
            return Err(place.complain(format!("no case `{case}`{hint}")).into());
        }
    }
    judge_place.map_or(Ok(()), |place| assert_judge_can_fail(&spec, &place))?;
    let empty = root.complain("an evaluation needs at least one of [[cases]] and [triggers]");
    root.finish()?;
    if spec.cases.iter().all(|case| case.kind.is_control()) { Err(empty.into()) } else { Ok(spec) }
}

/// The prompts that have to trigger the skill, or must not.
fn trigger_prompts(mut table: Table<'_>, line: usize, spec: &mut Spec) -> Result<(), SpecError> {
    let folder = spec.folder().to_owned();
    let trials = count(&mut table, "trials")?;
    for (key, kind) in [("should", Kind::MustTrigger), ("should_not", Kind::MustNotTrigger)] {
        for item in table.list(key)? {
            let place = item.place();
            let prompt = said(item)?;
            let is_same = |case: &Case| case.kind.is_trigger() && case.prompt.trim() == prompt.trim();
            if spec.cases.iter().any(is_same) {
                return Err(place.complain("the same prompt stands here twice").into());
            }
            let id =
                format!("trigger-{}", spec.cases.iter().filter(|case| case.kind.is_trigger()).count() + 1);
            spec.cases.push(Case { trials, line, ..Case::new(id, kind, prompt) });
        }
    }
    if let Some(item) = table.take("set") {
        let (path, cases) = triggers::import(item, &folder)?;
        spec.beside.push(path);
        for case in cases {
            let number = spec.cases.iter().filter(|case| case.kind.is_trigger()).count() + 1;
            spec.cases.push(Case { trials, id: format!("trigger-{number}"), ..case });
        }
    }
    if let Some(part) = part(&mut table, "holdout")? {
        triggers::hold_out(&mut spec.cases, part);
    }
    table.finish()?;
    Ok(())
}

/// Refuses a judge whose every answer is taken for a pass.
fn assert_judge_can_fail(spec: &Spec, place: &Place<'_>) -> Result<(), FileError> {
    let is_asked = spec.cases.iter().any(|case| !case.expectations.is_empty());
    let demands = spec.judge.min_pass_rate.max(spec.judge.min_mean_score);
    if is_asked && demands == 0.0 {
        return Err(place.complain(
            "with a `min_pass_rate` of 0 no expectation can fail: say what the judge has to find",
        ));
    }
    Ok(())
}

/// The script of another file, or of a built-in scenario.
fn script(item: Item<'_>, file: &str) -> Result<Script, FileError> {
    let place = item.place();
    import(file, &item.into_string()?, &place)
}

/// What the rules of a scripted model name, with the places.
#[derive(Default)]
struct Named<'t> {
    cases: Vec<(String, Place<'t>)>,
    arms: Vec<(String, Place<'t>)>,
}

/// The scripted model, and what its rules name.
fn model<'t>(
    root: &mut Table<'t>,
    imported: Option<Script>,
    file: &str,
    text: &str,
) -> Result<(ScriptedModel, Named<'t>), FileError> {
    let mut named = Named::default();
    let mut model = ScriptedModel { script: imported, ..ScriptedModel::default() };
    if let Some(item) = root.take("api") {
        if model.script.is_some() {
            return Err(item.complain("either `api` in [eval] names a script or [api] is one, not both"));
        }
        model.script = Some(Script::read(item.into_table()?)?);
    }
    for item in root.list("rules")? {
        let mut table = item.into_table()?;
        let numbers = |table: &mut Table<'_>, key: &'static str| -> Result<Vec<u64>, FileError> {
            table.list(key)?.into_iter().map(|item| item.unsigned()).collect()
        };
        let case = match table.take("case") {
            None => None,
            Some(item) => {
                let place = item.place();
                let case = item.into_string()?;
                named.cases.push((case.clone(), place));
                Some(case)
            }
        };
        let mut rule = ScriptRule {
            case,
            arm: match table.take("arm") {
                None => None,
                Some(item) => {
                    let place = item.place();
                    let arm = item.into_string()?;
                    named.arms.push((arm.clone(), place));
                    Some(arm)
                }
            },
            with_skill: table.boolean("with_skill")?,
            trials: numbers(&mut table, "trials")?,
            attempts: numbers(&mut table, "attempts")?,
            judge: table.boolean("judge")?.unwrap_or(false),
            script: None,
            origin: None,
            faults: Vec::new(),
        };
        if let Some(item) = table.take("api") {
            let place = item.place();
            let name = item.into_string()?;
            rule.script = Some(import(file, &name, &place)?);
            rule.origin = Some(name);
        }
        for item in table.list("faults")? {
            let place = item.place();
            let fault = item.into_string()?;
            rule.faults.push(fault.parse().map_err(|error| place.complain(format!("{error}")))?);
        }
        table.finish()?;
        model.rules.push(rule);
    }
    model.digest = model.script.is_some().then(|| digest([text.as_bytes(), format!("{model:?}").as_bytes()]));
    Ok((model, named))
}

fn run(mut table: Table<'_>) -> Result<RunSettings, FileError> {
    let base = RunSettings::default();
    let mut run = RunSettings {
        trials: count(&mut table, "trials")?.unwrap_or(base.trials),
        model: table.string("model")?,
        permission_mode: table.string("permission_mode")?,
        allowed_tools: table.strings("allowed_tools")?,
        disallowed_tools: table.strings("disallowed_tools")?,
        max_turns: count(&mut table, "max_turns")?.map_or(base.max_turns, u64::from),
        max_cost_usd: positive(&mut table, "max_cost_usd")?.unwrap_or(base.max_cost_usd),
        timeout_seconds: count(&mut table, "timeout_seconds")?.map_or(base.timeout_seconds, u64::from),
        args: table.strings("args")?,
        env: Vec::new(),
        retries: table.unsigned("retries")?.map_or(base.retries, |retries| retries.min(1000) as u32),
        backoff_ms: table.unsigned("backoff_ms")?.unwrap_or(base.backoff_ms),
        require_use: table.boolean("require_use")?.unwrap_or(base.require_use),
        heuristics: table.boolean("heuristics")?.unwrap_or(base.heuristics),
        sync_tasks: table.boolean("sync_tasks")?.unwrap_or(base.sync_tasks),
        system_prompt: table.string("system_prompt")?,
        project_settings: table.boolean("project_settings")?.unwrap_or(base.project_settings),
    };
    if let Some(item) = table.take("env") {
        for (name, item) in item.into_table()?.into_entries() {
            run.env.push((name, item.into_string()?));
        }
    }
    table.finish()?;
    Ok(run)
}

/// A further arm: an older version of the skill, another model, another target.
fn arm(mut table: Table<'_>, folder: &Path) -> Result<Arm, FileError> {
    let name = table.require("name", "what the arm is called")?;
    let place = name.place();
    let name = checked_name(&name.into_string()?).map_err(|why| place.complain(why))?;
    let skill = match table.take("skill") {
        None => ArmSkill::Evaluated,
        Some(item) if item.is_string() => ArmSkill::At(folder.join(item.into_string()?)),
        Some(item) => {
            let place = item.place();
            if item.bool()? {
                return Err(place.complain("expected the directory of a version of the skill, or `false`"));
            }
            ArmSkill::None
        }
    };
    let skill = match table.take("description") {
        None => skill,
        Some(item) if skill != ArmSkill::Evaluated => {
            return Err(item
                .complain("either `skill` or `description`: a description is that of the evaluated skill"));
        }
        Some(item) => ArmSkill::Described(said(item)?),
    };
    let (model, target) = (table.string("model")?, table.string("target")?);
    let arm = Arm { name, skill, model, target, ..Arm::with_skill() };
    table.finish()?;
    arm.checked().map_err(|why| place.complain(why))
}

fn thresholds(mut table: Table<'_>) -> Result<Thresholds, FileError> {
    let base = Thresholds::default();
    let thresholds = Thresholds {
        min_pass_rate: part(&mut table, "min_pass_rate")?.unwrap_or(base.min_pass_rate),
        min_measured: part(&mut table, "min_measured")?.unwrap_or(base.min_measured),
        min_delta: min_delta(&mut table)?,
        min_preference: part(&mut table, "min_preference")?,
        min_precision: part(&mut table, "min_precision")?.unwrap_or(base.min_precision),
        min_recall: part(&mut table, "min_recall")?.unwrap_or(base.min_recall),
        max_cost_usd: positive(&mut table, "max_cost_usd")?,
        max_seconds: positive(&mut table, "max_seconds")?,
    };
    table.finish()?;
    Ok(thresholds)
}

/// By how much the skill has to be better, or may be worse. No difference is smaller than -1, or larger than 1.
fn min_delta(table: &mut Table<'_>) -> Result<Option<f64>, FileError> {
    let Some(item) = table.take("min_delta") else { return Ok(None) };
    let place = item.place();
    let number = item.number()?;
    if -1.0 < number && number <= 1.0 {
        Ok(Some(number))
    } else {
        Err(place.complain("expected a difference of pass rates, above -1 and at most 1"))
    }
}

fn judge(mut table: Table<'_>) -> Result<JudgeSettings, FileError> {
    let base = JudgeSettings::default();
    let judge = JudgeSettings {
        model: table.string("model")?,
        min_pass_rate: part(&mut table, "min_pass_rate")?.unwrap_or(base.min_pass_rate),
        min_mean_score: part(&mut table, "min_mean_score")?.unwrap_or(base.min_mean_score),
        blind: table.boolean("blind")?.unwrap_or(base.blind),
    };
    table.finish()?;
    Ok(judge)
}

fn case(mut table: Table<'_>, index: usize, folder: &Path, skill: &str) -> Result<Case, FileError> {
    let id = table.string("id")?.unwrap_or_else(|| (index + 1).to_string());
    let prompt = said(table.require("prompt", "what is asked")?)?;
    let kind = match table.take("control") {
        None => Kind::Task,
        Some(item) => {
            let place = item.place();
            match item.into_string()?.as_str() {
                "pass" => Kind::ControlPass,
                "fail" => Kind::ControlFail,
                other => {
                    return Err(place.complain(format!("expected \"pass\" or \"fail\", found {other:?}")));
                }
            }
        }
    };
    let mut case = Case::new(id, kind, prompt.clone());
    let is_command = prompt.starts_with('/');
    case.prompt_without = table.string("prompt_without")?.or_else(|| (!is_command).then_some(prompt));
    case.expected = table.string("expected")?;
    case.trials = count(&mut table, "trials")?;
    if let Some(item) = table.take("files") {
        for (to, item) in item.into_table()?.into_entries() {
            // It would be there without the skill too, or in the place of the skill that is evaluated.
            let path = to.trim_start_matches("./");
            let place = [format!(".claude/skills/{skill}"), format!(".claude/commands/{skill}.md")];
            if place.iter().any(|place| Path::new(path).starts_with(place)) {
                return Err(item.complain(format!("`{to}` is the place of the skill itself")));
            }
            case.files.push(input(to, item, folder)?);
        }
    }
    if let Some(item) = table.take("setup") {
        let items = if item.is_string() { vec![item] } else { item.into_list()? };
        case.setup = items.into_iter().map(said).collect::<Result<_, _>>()?;
    }
    case.outputs = table.string("output")?.into_iter().collect();
    case.outputs.extend(table.strings("outputs")?);
    case.output_fallback = table.boolean("output_fallback")?.unwrap_or(false);
    let mut ids = Ids::default();
    for (index, item) in table.list("expectations")?.into_iter().enumerate() {
        let id = format!("expectation-{}", index + 1);
        case.expectations.push(Expectation { id, text: said(item)? });
    }
    for (index, item) in table.list("assert")?.into_iter().enumerate() {
        let place = item.place();
        let assertion = assertion::read(item, Dialect::Own, index + 1, Some(folder))?;
        ids.add(&assertion.id).map_err(|why| place.complain(why))?;
        assert_can_fail(&assertion, &place)?;
        case.assertions.push(assertion);
    }
    case.sections = sections::read(table.list("sections")?, &mut ids)?;
    let nothing = table.complain("a case without `assert`, `sections` and `expectations` cannot fail");
    table.finish()?;
    if case.can_fail() { Ok(case) } else { Err(nothing) }
}

fn input(to: String, item: Item<'_>, folder: &Path) -> Result<Input, FileError> {
    if !is_inside(&to) {
        return Err(item.complain(format!("`{to}`: expected a path below the working directory")));
    }
    if item.is_string() {
        return Ok(Input::Text { to, text: item.into_string()? });
    }
    let mut table = item.into_table()?;
    let copy = table.require("copy", "the file or directory that is copied, beside this file")?;
    let place = copy.place();
    let from = folder.join(copy.into_string()?);
    table.finish()?;
    if !from.exists() {
        return Err(place.complain(format!("{} does not exist", from.display())));
    }
    Ok(Input::Copy { to, from })
}
