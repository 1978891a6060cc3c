//! Which clauses hold on which target: the page that says what is promised, how it is checked, and what was found.
//!
//! It holds no times and no paths of a machine, so that it changes only when what it says does.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::context::Context;
use super::document::RenderError;
use super::markdown::{code, plain};
use super::measure::Measure;
use super::problem::{Problem, Weight, problems};
use super::whole::Whole;
use crate::schema::{Clause, Contract, Declared, Level};

/// Lines of a list of gaps; the rest is counted.
const MOST: usize = 40;

/// The report of a run.
pub(super) fn render(whole: &Whole, context: &Context) -> Result<String, RenderError> {
    let measure = Measure::of(whole, context);
    let mut out = String::new();
    write(&mut out, whole, &measure).map_err(|error| RenderError(error.to_string()))?;
    Ok(out)
}

fn write(out: &mut String, whole: &Whole, measure: &Measure) -> std::fmt::Result {
    writeln!(out, "# Conformance\n")?;
    writeln!(
        out,
        "Every clause of the contracts that were put to the test, what each target did with it, and what no run has\n\
         shown yet. A clause is put to the test when a message that it is about was seen and, if it begins with a\n\
         condition, that held. Made by `clawgate run --report conformance=conformance.md`; do not edit.\n"
    )?;
    writeln!(out, "| target | version | cases | failed |\n|---|---|--:|--:|")?;
    for info in &whole.started.targets {
        let cases = || whole.cases.iter().filter(|case| case.target == info.target);
        let failed = whole.failed().filter(|case| case.target == info.target).count();
        writeln!(
            out,
            "| {} | {} | {} | {failed} |",
            code(&info.target),
            plain(&info.version),
            cases().count()
        )?;
    }
    let (judged, exercised) = measure.clauses();
    writeln!(
        out,
        "\nClauses put to the test: **{exercised} of {judged}** ({:.1} %).\n",
        percent(exercised, judged)
    )?;
    writeln!(
        out,
        "✅ held · ❌ broken, and the gate fails · ⚠️ broken, and noticed only · ❔ broken, and the documents contradict \
         each other · ☑️ broken as its scenario expects or as is known · · no run was about it · – not promised · ◌ not broken, and nobody can tell whether a run was about it\n"
    )?;
    let problems = problems(whole);
    let mut broken: BTreeMap<(&str, &str), Vec<&Problem<'_>>> = BTreeMap::new();
    for problem in &problems {
        broken.entry((&problem.rule, &problem.case.target)).or_default().push(problem);
    }
    for contract in measure.contracts() {
        clauses(out, whole, measure, contract, &broken)?;
    }
    deviations(out, &problems)?;
    writeln!(out, "## What no run has shown\n")?;
    for contract in measure.contracts() {
        for info in &whole.started.targets {
            if measure.promises(&info.target, contract.name()) {
                gaps(out, measure, contract, &info.target)?;
            }
        }
    }
    if !measure.unread.is_empty() {
        writeln!(out, "Not looked at, since their recordings could not be read whole:\n")?;
        for case in &measure.unread {
            writeln!(out, "- {}", code(case))?;
        }
    }
    Ok(())
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 / whole as f64 * 100.0 }
}

fn clauses(
    out: &mut String,
    whole: &Whole,
    measure: &Measure,
    contract: &Contract,
    broken: &BTreeMap<(&str, &str), Vec<&Problem<'_>>>,
) -> std::fmt::Result {
    let name = contract.name();
    writeln!(out, "## {}\n\n{}\n", plain(name), plain(contract.title()))?;
    let targets: Vec<&str> = whole.started.targets.iter().map(|info| info.target.as_str()).collect();
    let heads: String = targets.iter().fold(String::new(), |text, target| text + " " + &code(target) + " |");
    writeln!(out, "| clause | level |{heads} what it says | source | checked by |")?;
    writeln!(out, "|---|---|{}---|---|---|", ":-:|".repeat(targets.len()))?;
    for clause in contract.clauses() {
        write!(out, "| {} | {} |", code(&clause.id), clause.level)?;
        for target in &targets {
            let id = format!("{name}/{}", clause.id);
            let found = broken.get(&(id.as_str(), *target)).map_or(&[][..], Vec::as_slice);
            write!(out, " {} |", cell(measure, contract, clause, target, found))?;
        }
        let checked = if clause.is_judged() { clause.rule() } else { "no recording can show it" };
        writeln!(out, " {} | {} | {} |", plain(&clause.text), plain(&clause.source), plain(checked))?;
    }
    writeln!(out)
}

fn cell(
    measure: &Measure,
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
    if !Measure::measures(contract) {
        return "◌";
    }
    match measure.coverage(target, contract.name()) {
        None => "–",
        Some(seen) if seen.clauses.contains(&clause.id) => "✅",
        Some(_) => "·",
    }
}

/// What was broken anywhere, and why that is or is not accepted.
fn deviations(out: &mut String, problems: &[Problem<'_>]) -> std::fmt::Result {
    let mut rows: BTreeMap<(&str, &str, &str), Vec<&Problem<'_>>> = BTreeMap::new();
    for problem in problems {
        let kind = match (&problem.accepted, problem.weight) {
            (Some(reason), _) => reason.as_str(),
            (None, Weight::Error) => "fails the gate",
            (None, Weight::Warning) => "a should: warns",
            (None, Weight::Note) => "noticed only",
        };
        rows.entry((&problem.rule, &problem.case.target, kind)).or_default().push(problem);
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "## Deviations\n\n| clause | target | cases | example | why it stands |\n|---|---|--:|---|---|"
    )?;
    for ((rule, target, why), problems) in rows {
        let mut cases: Vec<&str> = problems.iter().map(|problem| problem.case.case.as_str()).collect();
        cases.dedup();
        let example = problems.first().map_or("", |problem| problem.message.as_str());
        let example = format!("{}: {example}", cases.first().unwrap_or(&""));
        writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            code(rule),
            code(target),
            cases.len(),
            code(&example),
            plain(why)
        )?;
    }
    writeln!(out)
}

fn gaps(out: &mut String, measure: &Measure, contract: &Contract, target: &str) -> std::fmt::Result {
    let Some(seen) = measure.coverage(target, contract.name()) else { return Ok(()) };
    let declared = Declared::of(contract);
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
    ];
    let shares = shares.iter().filter(|(_, all, _)| *all > 0);
    let shares: Vec<String> = shares.map(|(part, all, word)| format!("{part} of {all} {word}")).collect();
    let (name, shares) = (plain(contract.name()), shares.join(", "));
    writeln!(out, "<details><summary>{name} on {}: {shares}</summary>\n", code(target))?;
    let missing = |all: &std::collections::BTreeSet<String>, seen: &std::collections::BTreeSet<String>| {
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
    let undeclared = gaps.undeclared.iter().map(|(kind, field)| code(&format!("{kind} {field}")));
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
