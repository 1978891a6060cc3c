//! Which clauses hold on which target: the page that says what is promised, how it is checked, and what was found.
//!
//! It holds no times and no paths of a machine, so that it changes only when what it says does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::context::Context;
use super::document::RenderError;
use super::markdown::{code, command, plain};
use super::numbers::counted;
use super::problem::{Problem, Weight, problems};
use super::run_report::RunReport;
use crate::run::Status;
use crate::run::{Recorded, Tested};
use crate::schema::{Clause, Contract, Coverage, Declared, Level};

/// Lines of a list of gaps; the rest is counted.
const MOST: usize = 40;

/// The report of a run, and of recordings beside it.
pub(super) fn render(
    run: &RunReport,
    recorded: &[Recorded],
    context: &Context,
) -> Result<String, RenderError> {
    let mut all = run.clone();
    for recorded in recorded {
        all.started.targets.extend(recorded.targets.iter().cloned());
        all.cases.extend(recorded.cases.iter().cloned());
    }
    let page = Page { tested: Tested::of(&all.cases, context.here()), run: &all, recorded, context };
    let mut out = String::new();
    page.write(&mut out).map_err(|error| RenderError(error.to_string()))?;
    Ok(out)
}

struct Page<'r> {
    /// The run, with what was recorded as further cases of further targets.
    run: &'r RunReport,
    recorded: &'r [Recorded],
    tested: Tested,
    context: &'r Context,
}

impl Page<'_> {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "# Conformance\n")?;
        writeln!(
            out,
            "Every clause of the contracts that were put to the test, what each target did with it, and what no run has\n\
             shown yet. A clause is put to the test when a message that it is about was seen and, if it begins with a\n\
             condition, that held. Made by `clawgate run --report conformance=conformance.md`; do not edit.\n"
        )?;
        self.targets(out)?;
        let (judged, exercised) = self.tested.clauses();
        writeln!(
            out,
            "\nClauses put to the test: **{exercised} of {judged}** ({:.1} %).\n",
            percent(exercised, judged)
        )?;
        writeln!(
            out,
            "| | |\n|:-:|---|\n\
             | ✅ | pass: put to the test, and held |\n\
             | ❌ | fail: broken, and a gate fails |\n\
             | ☑️ | broken as its scenario expects, or as is known |\n\
             | ⚠️ | broken, and noticed only: a `should` or a `note` |\n\
             | ❔ | ambiguous: broken, and the documents contradict each other |\n\
             | · | not exercised: no run was about it |\n"
        )?;
        let problems = problems(self.run);
        let mut broken: BTreeMap<(&str, &str), Vec<&Problem<'_>>> = BTreeMap::new();
        for problem in &problems {
            broken.entry((&problem.rule, &problem.case.target)).or_default().push(problem);
        }
        for (contract, _) in self.tested.contracts() {
            self.clauses(out, contract, &broken)?;
        }
        self.deviations(out, &problems)?;
        self.left_out(out)?;
        writeln!(out, "## What no run has shown\n")?;
        for (contract, declared) in self.tested.contracts() {
            for info in &self.run.started.targets {
                if let Some(seen) = self.tested.coverage(&info.target, contract.name()) {
                    gaps(out, contract, declared, seen, &info.target)?;
                }
            }
        }
        if !self.tested.unread.is_empty() {
            writeln!(out, "Not looked at, since their recordings could not be read whole:\n")?;
            for case in &self.tested.unread {
                writeln!(out, "- {}", code(case))?;
            }
        }
        Ok(())
    }

    fn targets(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "| target | version | judged from | cases | failed | left out |\n|---|---|---|--:|--:|--:|"
        )?;
        for info in &self.run.started.targets {
            let count = |status: Option<Status>| {
                let of = self.run.cases.iter().filter(|case| case.target == info.target);
                of.filter(|case| status.is_none_or(|status| case.status == status)).count()
            };
            let kept = self.recorded.iter().find(|recorded| recorded.targets.contains(info));
            let from = match kept {
                Some(recorded) => {
                    format!("recordings in {}", code(&recorded.folder.display().to_string()))
                }
                None => "runs".to_owned(),
            };
            writeln!(
                out,
                "| {} | {} | {from} | {} | {} | {} |",
                code(&info.target),
                plain(&info.version),
                count(None),
                count(Some(Status::Fail)),
                count(Some(Status::Skipped))
            )?;
        }
        Ok(())
    }

    fn clauses(
        &self,
        out: &mut String,
        contract: &Contract,
        broken: &BTreeMap<(&str, &str), Vec<&Problem<'_>>>,
    ) -> std::fmt::Result {
        let name = contract.name();
        writeln!(out, "## {}\n\n{}\n", plain(name), plain(contract.title()))?;
        // Only who promises it.
        let promise = |target: &&str| self.tested.coverage(target, name).is_some();
        let targets = self.run.started.targets.iter().map(|info| info.target.as_str());
        let targets: Vec<&str> = targets.filter(promise).collect();
        let heads: String =
            targets.iter().fold(String::new(), |text, target| text + " " + &code(target) + " |");
        writeln!(out, "| clause | level |{heads} what it says | source | checked by |")?;
        writeln!(out, "|---|---|{}---|---|---|", ":-:|".repeat(targets.len()))?;
        for clause in contract.clauses() {
            write!(out, "| {} | {} |", code(&clause.id), clause.level)?;
            for target in &targets {
                let id = format!("{name}/{}", clause.id);
                let found = broken.get(&(id.as_str(), *target)).map_or(&[][..], Vec::as_slice);
                write!(out, " {} |", self.cell(contract, clause, target, found))?;
            }
            let checked = if clause.is_judged() { clause.rule() } else { "no recording can show it" };
            writeln!(out, " {} | {} | {} |", plain(&clause.text), plain(&clause.source), plain(checked))?;
        }
        writeln!(out)
    }

    fn cell(
        &self,
        contract: &Contract,
        clause: &Clause,
        target: &str,
        found: &[&Problem<'_>],
    ) -> &'static str {
        if found.iter().any(|problem| problem.fails()) {
            return "❌";
        }
        if found.iter().any(|problem| problem.accepted.is_some()) {
            return "☑️";
        }
        if !found.is_empty() {
            return if clause.level == Level::Ambiguous { "❔" } else { "⚠️" };
        }
        match self.tested.coverage(target, contract.name()) {
            Some(seen) if seen.clauses.contains(&clause.id) => "✅",
            _ => "·",
        }
    }

    /// What was broken anywhere, and why.
    fn deviations(&self, out: &mut String, problems: &[Problem<'_>]) -> std::fmt::Result {
        // Targets that deviate in the same way share a row.
        let mut rows: BTreeMap<(&str, String), Vec<&Problem<'_>>> = BTreeMap::new();
        for problem in problems {
            rows.entry((&problem.rule, self.explanation(problem))).or_default().push(problem);
        }
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "## Deviations\n\nWhere a target does something else than a clause says: on how many cases, for example, and why \
             that stands.\n\n| clause | targets | example | explanation |\n|---|---|---|---|"
        )?;
        for ((rule, why), problems) in rows {
            let mut cases: BTreeMap<usize, (&str, BTreeSet<&str>)> = BTreeMap::new();
            for problem in &problems {
                let target = problem.case.target.as_str();
                let all = &self.run.started.targets;
                let rank = all.iter().position(|info| info.target == target).unwrap_or(all.len());
                cases.entry(rank).or_insert((target, BTreeSet::new())).1.insert(&problem.case.case);
            }
            let targets: Vec<String> =
                cases.values().map(|(target, cases)| format!("{} {}", code(target), cases.len())).collect();
            let first = problems.first();
            let example =
                first.map_or(String::new(), |problem| format!("{}: {}", problem.case.case, problem.message));
            let mut example = code(&example);
            // Which command to mend, where there is something to mend.
            let process =
                first.filter(|problem| problem.fails()).and_then(|problem| problem.case.process.as_ref());
            for (label, text) in process.iter().flat_map(|process| process.told()) {
                // Writing to a string cannot fail.
                let _ = write!(example, "<br>{label}: {}", command(text));
            }
            writeln!(out, "| {} | {} | {} | {} |", code(rule), targets.join("<br>"), example, plain(&why))?;
        }
        writeln!(out)
    }

    /// Why a deviation stands, in the words of the known failures, the scenario and the contract.
    fn explanation(&self, problem: &Problem<'_>) -> String {
        let clause = self.context.clause(&problem.rule);
        let level = clause.as_ref().map_or("", |clause| clause.level.as_str());
        let because = clause.as_ref().map_or("", |clause| clause.why.as_str());
        let is_known = problem.finding.is_none_or(|finding| finding.known.is_some());
        if is_known && problem.accepted.is_some() {
            return format!("Known: {}", problem.accepted.as_deref().unwrap_or_default());
        }
        if problem.accepted.is_some() {
            return match problem.case.description.as_str() {
                "" => "Its scenario expects it.".to_owned(),
                description => format!("Its scenario expects it: {description}"),
            };
        }
        let weight = match (problem.weight, level) {
            (_, "ambiguous") => "The documents contradict each other.",
            (Weight::Error, _) => "Fails a gate.",
            (Weight::Warning, _) => "A should, which warns.",
            (Weight::Note, _) => "A note.",
        };
        format!("{weight} {because}").trim().to_owned()
    }

    /// Cases that were not run on a target, by the reason.
    fn left_out(&self, out: &mut String) -> std::fmt::Result {
        let mut rows: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
        for case in self.run.cases.iter().filter(|case| case.status == Status::Skipped) {
            let reason = case.reason.as_deref().unwrap_or("not run");
            rows.entry(reason).or_default().entry(&case.case).or_default().insert(&case.target);
        }
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(out, "## Cases that were left out\n\n| cases | targets | why |\n|---|---|---|")?;
        for (reason, cases) in rows {
            let targets: BTreeSet<&str> = cases.values().flatten().copied().collect();
            let targets: Vec<String> = targets.into_iter().map(code).collect();
            let first = cases.keys().next().copied().unwrap_or_default();
            let named = match cases.len() {
                1 => code(first),
                count => format!("{}, such as {}", counted(count as u64, "case", "cases"), code(first)),
            };
            writeln!(out, "| {named} | {} | {} |", targets.join("<br>"), plain(reason))?;
        }
        writeln!(out)
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 / whole as f64 * 100.0 }
}

fn gaps(
    out: &mut String,
    contract: &Contract,
    declared: &Declared,
    seen: &Coverage,
    target: &str,
) -> std::fmt::Result {
    let gaps = declared.gaps(seen);
    let judged: Vec<&Clause> = contract.clauses().iter().filter(|clause| clause.is_judged()).collect();
    let exercised = judged.iter().filter(|clause| seen.clauses.contains(&clause.id)).count();
    let kinds = declared.kinds.intersection(&seen.kinds).count();
    let commands = declared.commands.intersection(&seen.commands).count();
    let shares = [
        (exercised, judged.len(), "clauses"),
        (commands, declared.commands.len(), "commands"),
        (kinds, declared.kinds.len(), "kinds of message"),
        (gaps.fields.1, gaps.fields.0, "fields"),
        (gaps.values.1, gaps.values.0, "listed values"),
        (gaps.branches.1, gaps.branches.0, "branches of schemas"),
    ];
    let shares = shares.iter().filter(|(_, all, _)| *all > 0);
    let shares: Vec<String> = shares.map(|(part, all, word)| format!("{part} of {all} {word}")).collect();
    let (name, shares) = (plain(contract.name()), shares.join(", "));
    writeln!(out, "<details><summary>{name} on {}: {shares}</summary>\n", code(target))?;
    let missing = |all: &BTreeSet<String>, seen: &BTreeSet<String>| {
        all.difference(seen).map(|name| code(name)).collect::<Vec<_>>()
    };
    let clauses =
        judged.iter().filter(|clause| !seen.clauses.contains(&clause.id)).map(|clause| code(&clause.id));
    list(out, "Clauses that no run was about", &clauses.collect::<Vec<_>>())?;
    list(out, "Commands never run", &missing(&declared.commands, &seen.commands))?;
    list(out, "Declared and never emitted", &missing(&declared.kinds, &seen.kinds))?;
    let fields = gaps.unseen_fields.iter().map(|(kind, field)| code(&format!("{kind} {field}")));
    list(out, "Fields never seen", &fields.collect::<Vec<_>>())?;
    let values =
        gaps.unseen_values.iter().map(|(kind, field, value)| code(&format!("{kind} {field} = {value}")));
    list(out, "Listed values never seen", &values.collect::<Vec<_>>())?;
    let branches = gaps.unseen_branches.iter().map(|branch| {
        let kind = if branch.kind == "*" { "any message" } else { &branch.kind };
        code(format!("{kind} {}: {}", branch.field, branch.label).trim())
    });
    list(out, "Branches of schemas never taken", &branches.collect::<Vec<_>>())?;
    let undeclared = gaps.undeclared.iter().map(|(kind, field)| code(&format!("{kind} {field}")));
    let undeclared = seen.undeclared_kinds.iter().map(|kind| code(kind)).chain(undeclared);
    list(out, "Emitted and not declared", &undeclared.collect::<Vec<_>>())?;
    writeln!(out, "</details>\n")
}

fn list(out: &mut String, title: &str, items: &[String]) -> std::fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    let more = items.len().saturating_sub(MOST);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let shown: Vec<&str> = items.iter().take(MOST).map(String::as_str).collect();
    writeln!(out, "- {title} ({}): {}{more}", items.len(), shown.join(", "))
}
