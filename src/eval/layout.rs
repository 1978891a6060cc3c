//! What skill-creator's viewer and scripts look for beside a trial: the numbers of evals, their prompts, and a folder of
//! outputs that holds what was said and what was written.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::assertion::Assertion;
use super::grade::list;
use super::observed::Observed;
use super::plan::Series;
use super::spec::Kind;
use crate::harness::KEPT_FILES;

/// What was said, among the outputs.
const SAID: &str = "response.md";
/// Files in folders below the outputs that are named once more where the viewer finds them.
const MOST_NESTED: usize = 100;

/// The numbers of cases. Its scripts sort them, so all are numbers: those of the file where every task has one, else
/// the places of the tasks in it. Controls and triggers follow.
pub(super) fn numbers(plan: &[Series<'_>]) -> BTreeMap<String, u64> {
    let mut ids: Vec<(&str, bool)> = Vec::new();
    for series in plan {
        let known = (series.case.id.as_str(), series.case.kind == Kind::Task);
        if !ids.contains(&known) {
            ids.push(known);
        }
    }
    let tasks: Vec<&str> = ids.iter().filter(|(_, is_task)| *is_task).map(|(id, _)| *id).collect();
    let own: Option<Vec<u64>> = tasks.iter().map(|id| id.parse().ok()).collect();
    let own = own.unwrap_or_else(|| (1..=tasks.len() as u64).collect());
    let mut numbers: BTreeMap<String, u64> = tasks.iter().map(|id| (*id).to_owned()).zip(own).collect();
    let mut next = numbers.values().max().copied().unwrap_or_default();
    for (id, _) in ids.iter().filter(|(_, is_task)| !is_task) {
        next = next.saturating_add(1);
        numbers.insert((*id).to_owned(), next);
    }
    numbers
}

/// `eval_metadata.json` of a case as one of the arms is asked.
pub(super) fn metadata(series: &Series<'_>, number: u64) -> Value {
    let case = series.case;
    let statements = case.assertions.iter().map(Assertion::describe);
    let statements: Vec<String> =
        statements.chain(case.expectations.iter().map(|expectation| expectation.text.clone())).collect();
    json!({"eval_id": number, "eval_name": case.id, "prompt": series.prompt(), "assertions": statements})
}

/// Makes the folder of outputs of a trial: what was said, and links to what was written. Its viewer takes a folder that
/// has one for a run, and shows the files directly in it; so each file below has a second name there.
pub(super) fn outputs(trial: &Path, recording: &str, observed: Option<&Observed>) -> io::Result<()> {
    let folder = trial.join("outputs");
    // What an earlier attempt left; older versions made a link.
    match fs::symlink_metadata(&folder) {
        Ok(known) if known.is_dir() => fs::remove_dir_all(&folder)?,
        Ok(_) => fs::remove_file(&folder)?,
        Err(_) => {}
    }
    fs::create_dir(&folder)?;
    let Some(observed) = observed else { return Ok(()) };
    let kept = Path::new("..").join(recording).join(KEPT_FILES);
    for entry in fs::read_dir(&observed.files).into_iter().flatten().flatten() {
        symlink(kept.join(entry.file_name()), folder.join(entry.file_name()))?;
    }
    let mut all = Vec::new();
    list(&observed.files, &observed.files, &mut all);
    all.sort();
    for path in all.iter().filter(|path| path.contains('/')).take(MOST_NESTED) {
        let flat = folder.join(path.replace('/', "__"));
        // A name may be too long, or there may be one like it; the folder is linked anyway.
        _ = symlink(kept.join(path), flat);
    }
    let said = folder.join(SAID);
    if !observed.output.is_empty() && fs::symlink_metadata(&said).is_err() {
        fs::write(said, crate::text::Masker::default().mask(&observed.output))?;
    }
    Ok(())
}
