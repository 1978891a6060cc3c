//! What a trial comes to: a pure function of what was observed and how it was judged.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use super::arm::Arm;
use super::assertion::{Answer, Checked, Subject};
use super::extraction::{self, Extracted};
use super::observed::{Observed, SkillUse};
use super::spec::{Case, Kind, Spec};
use super::trial::{Judged, SkillState, Status};
use crate::classify::Class;
use crate::text::path_glob;

/// What every case asks for without saying so: that the run ends well, that the skill is used, and that the file is
/// there whose text is the output.
pub(super) const IMPLIED: [&str; 4] = ["verdict", "skill-used", "output", "cost"];
/// Of what a target says went wrong, so many characters are told.
const LONGEST_ERROR: usize = 200;

/// What a trial comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grade {
    /// What became of it.
    pub status: Status,
    /// Why it failed or was not measured.
    pub reason: Option<String>,
    /// What became of the skill.
    pub skill: SkillState,
    pub assertions: Vec<Checked>,
    pub expectations: Vec<Judged>,
    /// What a model found for the sections.
    pub extracted: Option<Extracted>,
}

/// What a model said of a trial, where it was asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Judgements {
    pub expectations: Vec<Judged>,
    /// What it found for the sections.
    pub extracted: Option<Extracted>,
}

/// Whether a model may be asked about a trial: it is worth it only when there is something to judge.
pub(super) fn is_judged(case: &Case, observed: &Observed) -> bool {
    observed.verdict.counts && is_allowed(case, observed.verdict.class)
}

/// Whether the case takes this outcome for one that it can go on from.
fn is_allowed(case: &Case, class: Class) -> bool {
    let mut named =
        case.assertions.iter().filter_map(super::assertion::Assertion::allowed_verdicts).peekable();
    if named.peek().is_none() { class == Class::Ok } else { true }
}

pub(crate) fn grade(spec: &Spec, case: &Case, arm: &Arm, observed: &Observed, judged: Judgements) -> Grade {
    let skill = skill_state(spec, case, arm, observed);
    let Judgements { expectations, extracted } = judged;
    let mut grade =
        Grade { status: Status::Pass, reason: None, skill, assertions: Vec::new(), expectations, extracted };
    let skill_use = observed.skill_use(&spec.skill, &arm.signal);
    // A call that was cut off by the end of the run shows all the same that the skill was wanted. One that was refused is no
    // use, and too much where the skill should not be called.
    let triggered = match &skill_use {
        SkillUse::Called | SkillUse::Read | SkillUse::Unanswered => true,
        SkillUse::Failed(_) => case.kind == Kind::MustNotTrigger,
        SkillUse::None => false,
    };
    let verdict = &observed.verdict;
    // That the skill was called is seen, whatever became of the run.
    let is_measured = verdict.counts || (case.kind.is_trigger() && triggered);
    if !is_measured {
        let class = verdict.detail.as_ref().map_or_else(
            || verdict.class.name().to_owned(),
            |detail| format!("{} ({detail})", verdict.class),
        );
        let said = observed.error.as_ref().filter(|said| !said.is_empty());
        let said = said.map(|said| said.chars().take(LONGEST_ERROR).collect());
        let why = observed.unscripted.clone().or(said).map_or(String::new(), |why| format!(": {why}"));
        // A skill that the target does not know is the same as one that is not there.
        let is_missing = verdict.class == Class::NotFound && arm.has_skill();
        return grade.not_measured(if is_missing {
            "the skill is not loaded".into()
        } else {
            format!("{class}{why}")
        });
    }
    if !arm.has_skill() && case.kind == Kind::Task && observed.surely_knows(&spec.skill) {
        // It would be compared with itself, or with a namesake.
        let reason = format!("the target has `{}` without the skill that is evaluated", spec.skill);
        return grade.not_measured(reason);
    }
    if skill == SkillState::NotLoaded {
        return grade.not_measured("the skill is not loaded".into());
    }
    if case.kind.is_trigger() {
        return grade.trigger(case.kind, triggered);
    }
    let output = output(case, observed);
    let used = skill.is_used();
    let subject = Subject { observed, output: &output, used };
    grade.assertions = case.assertions.iter().map(|assertion| assertion.check(&subject)).collect();
    if let Some(extracted) = &grade.extracted {
        grade.assertions.extend(extraction::grade(&case.sections, extracted, &output));
    }
    if !case.outputs.is_empty() && !case.output_fallback && written_output(case, observed).is_none() {
        let text = format!("{} is written", case.outputs.join(" or "));
        grade.assertions.insert(0, implied(IMPLIED[2], &text, "not written, and it is the output".into()));
    }
    if !is_allowed(case, verdict.class) {
        grade.assertions.insert(0, implied(IMPLIED[0], "the run ends well", meaning(observed)));
    }
    let (cost, most) = (observed.usage.cost_usd, spec.run.max_cost_usd);
    if cost > most && case.kind == Kind::Task {
        let message = format!("it cost ${cost:.4}");
        grade.assertions.push(implied(IMPLIED[3], &format!("costs at most ${most}"), message));
    }
    if arm.has_skill() && case.kind == Kind::Task && spec.run.require_use && !used {
        grade.assertions.push(implied(
            IMPLIED[1],
            "the skill is used",
            match skill_use {
                SkillUse::Failed(said) => format!("its call failed: {said}"),
                SkillUse::Unanswered => "it was called and nobody answered".into(),
                _ => "it was loaded and never used".into(),
            },
        ));
    }
    grade.conclude(spec)
}

/// The addresses that assertions want to know about, in the order of the output.
pub(super) fn addresses(case: &Case, observed: &Observed) -> Vec<String> {
    let output = output(case, observed);
    let subject = Subject { observed, output: &output, used: false };
    let mut all: Vec<String> = Vec::new();
    for address in case.assertions.iter().flat_map(|assertion| assertion.addresses(&subject)) {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all
}

fn implied(id: &str, text: &str, message: String) -> Checked {
    Checked { id: id.into(), text: text.into(), status: Answer::Fail, message }
}

/// What an outcome means for the author of a skill.
fn meaning(observed: &Observed) -> String {
    let verdict = &observed.verdict;
    let detail = verdict.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
    let more = match verdict.class {
        Class::Permission if !observed.denied.is_empty() => {
            format!(": {} was denied", observed.denied.join(", "))
        }
        class => format!(": {}", class.meaning()),
    };
    format!("{}{detail}{more}", verdict.class)
}

fn skill_state(spec: &Spec, case: &Case, arm: &Arm, observed: &Observed) -> SkillState {
    if !arm.has_skill() || case.kind.is_control() {
        return SkillState::Absent;
    }
    if observed.knows(&spec.skill) != Some(true) && !arm.is_unlisted {
        return SkillState::NotLoaded;
    }
    let by_name = !arm.is_unlisted
        && case
            .prompt
            .strip_prefix(arm.signal.mention.as_str())
            .and_then(|rest| rest.split_whitespace().next())
            .is_some_and(|name| name == spec.skill);
    match observed.skill_use(&spec.skill, &arm.signal) {
        _ if by_name => SkillState::Used,
        SkillUse::Called => SkillState::Used,
        SkillUse::Read => SkillState::Read,
        SkillUse::Failed(_) => SkillState::Refused,
        SkillUse::Unanswered | SkillUse::None => SkillState::Loaded,
    }
}

/// The text that assertions are about: what was said, or the first of the case's files that was written.
pub(super) fn output<'o>(case: &Case, observed: &'o Observed) -> Cow<'o, str> {
    if case.outputs.is_empty() {
        return Cow::Borrowed(&observed.output);
    }
    match written_output(case, observed) {
        Some(text) => Cow::Owned(text),
        None if case.output_fallback => Cow::Borrowed(&observed.output),
        // What was said about a file is not the file.
        None => Cow::Borrowed(""),
    }
}

fn written_output(case: &Case, observed: &Observed) -> Option<String> {
    observed.file(&output_file(case, observed)?).ok().flatten()
}

/// The path of the first of the case's files that was written.
pub(super) fn output_file(case: &Case, observed: &Observed) -> Option<String> {
    let mut written = Vec::new();
    list(&observed.files, &observed.files, &mut written);
    written.sort();
    let first = |pattern: &String| written.iter().find(|path| path_glob(pattern, path));
    case.outputs.iter().find_map(first).cloned()
}

/// The files below a folder, as paths relative to it.
pub(super) fn list(root: &Path, folder: &Path, files: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list(root, &path, files);
        } else {
            files.push(path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned());
        }
    }
}

impl Grade {
    fn not_measured(mut self, reason: String) -> Self {
        self.status = Status::NotMeasured;
        self.reason = Some(reason);
        self
    }

    fn trigger(mut self, kind: Kind, triggered: bool) -> Self {
        if triggered != (kind == Kind::MustTrigger) {
            self.status = Status::Fail;
            self.reason = Some(
                if triggered { "the skill was used and should not" } else { "the skill was not used" }.into(),
            );
        }
        self
    }

    /// One failure fails; what could not be judged or checked leaves the trial unmeasured; else it passes.
    fn conclude(mut self, spec: &Spec) -> Self {
        if let Some(failed) = self.assertions.iter().find(|checked| checked.status == Answer::Fail) {
            self.status = Status::Fail;
            self.reason = Some(format!("{}: {}", failed.text, failed.message));
            return self;
        }
        if let Some(reason) = self.judged_badly(spec) {
            self.status = Status::Fail;
            self.reason = Some(reason);
            return self;
        }
        if let Some(unjudged) = self.expectations.iter().find(|judged| judged.passed.is_none()) {
            let reason = format!("not judged: {}", unjudged.evidence);
            return self.not_measured(reason);
        }
        // Checked by nobody is not passed, and neither is what was checked in part.
        if let Some(unchecked) = self.assertions.iter().find(|checked| checked.status == Answer::Unchecked) {
            let reason = format!("not checked: {}: {}", unchecked.text, unchecked.message);
            return self.not_measured(reason);
        }
        if self.assertions.is_empty() && self.expectations.is_empty() {
            return self.not_measured("nothing was found that could be checked".into());
        }
        self
    }

    fn judged_badly(&self, spec: &Spec) -> Option<String> {
        let total = self.expectations.len() as f64;
        let failed: Vec<&Judged> =
            self.expectations.iter().filter(|judged| judged.passed == Some(false)).collect();
        let first = failed.first()?;
        // Those that were not judged may still hold.
        let best = (total - failed.len() as f64) / total;
        let scores: Vec<f64> = self.expectations.iter().filter_map(|judged| judged.score).collect();
        let mean = scores.iter().sum::<f64>() / (scores.len() as f64).max(1.0);
        let is_whole = scores.len() == self.expectations.len();
        if best < spec.judge.min_pass_rate || (is_whole && mean < spec.judge.min_mean_score) {
            return Some(format!("{}: {}", first.text, first.evidence));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_directory() {
        assert!(path_glob("*.md", "a.md") && !path_glob("*.md", "x/a.md"));
        assert!(path_glob("out/**/r?.txt", "out/a/b/r1.txt") && path_glob("./a.txt", "a.txt"));
        assert!(!path_glob("a*b", "ac") && path_glob("**", "a/b"));
    }
}
