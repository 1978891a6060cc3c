//! What changed between two sets of recordings, for a terminal and for a pull request.

use std::io::{self, Write};

use anstyle::Style;

use super::markdown::plain;
use super::quote::first_columns;
use super::style::{BAD, CAUTION, FAINT, GOOD, NAME};
use crate::drift::{Broken, Change, Drift, Effect, Found};
use crate::text::{clip, printable};

/// So many cases of a row are named for people.
const NAMED: usize = 4;

/// Writes the changes for a terminal; what no contract promises only when `all` is wanted.
pub(crate) fn drift_text(
    out: &mut impl Write,
    drift: &Drift,
    consumers: &[(&str, Vec<Broken>)],
    all: bool,
) -> io::Result<()> {
    for change in drift.changes.iter().filter(|change| all || change.effect != Effect::Info) {
        row(out, change, drift.compared)?;
    }
    for (name, broken) in consumers {
        let name = printable(name);
        if broken.is_empty() {
            writeln!(out, "{GOOD}reader{GOOD:#}    {NAME}{name}{NAME:#} reads on")?;
            continue;
        }
        writeln!(out, "{BAD}reader{BAD:#}    {NAME}{name}{NAME:#} breaks:")?;
        for broken in broken {
            let message = broken.message.as_deref().unwrap_or_default();
            let line = format!("{message}: {}", broken.because);
            writeln!(out, "          {}", printable(line.trim_start_matches(": ")))?;
        }
    }
    let known = drift.changes.iter().filter(|change| change.known.is_some()).count();
    let announced = drift.changes.iter().filter(|change| change.announced).count();
    let aside: Vec<String> = [(known, "known"), (announced, "announced")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let known = if aside.is_empty() { String::new() } else { format!(" ({})", aside.join(", ")) };
    let info = drift.count(Effect::Info);
    let hidden = if info > 0 && !all { " (--all shows them)" } else { "" };
    writeln!(
        out,
        "{} breaking{known}, {} additive, {info} info{hidden}; {} cases compared",
        drift.count(Effect::Breaking),
        drift.count(Effect::Additive),
        drift.compared
    )?;
    for bump in &drift.bumps {
        writeln!(out, "{}", printable(&bump.to_string()))?;
    }
    let policies: Vec<String> =
        drift.policies.iter().map(|(contract, cases)| format!("{contract} ({cases})")).collect();
    writeln!(out, "{FAINT}by the policies of: {}{FAINT:#}", printable(&policies.join(", ")))?;
    for (side, cases) in [("old", &drift.only_old), ("new", &drift.only_new)] {
        if !cases.is_empty() {
            let these = printable(&listed(cases)).into_owned();
            writeln!(
                out,
                "{CAUTION}not compared{CAUTION:#}: {} only on the {side} side: {these}",
                cases.len()
            )?;
        }
    }
    Ok(())
}

fn row(out: &mut impl Write, change: &Change, compared: usize) -> io::Result<()> {
    let (style, word) = (effect_style(change), change.word());
    let message = change.message.as_deref().unwrap_or_default();
    let place = format!("{message} {}", change.pointer.as_deref().unwrap_or_default());
    writeln!(
        out,
        "{style}{word:<9}{style:#} {NAME}{}{NAME:#}  {}",
        printable(if place.trim().is_empty() { "run" } else { place.trim() }),
        change.kind.name()
    )?;
    writeln!(out, "          {}", printable(&change.summary))?;
    let shown = |value: &serde_json::Value| clip(&value.to_string(), 100).into_owned();
    if !change.old.is_null() || !change.new.is_null() {
        let values = format!("{} -> {}", shown(&change.old), shown(&change.new));
        writeln!(out, "          {FAINT}{}{FAINT:#}", printable(&values))?;
    }
    let cases = if change.cases.len() == compared { "all cases".to_owned() } else { listed(&change.cases) };
    writeln!(out, "          {FAINT}in {}{FAINT:#}", printable(&cases))?;
    if let Some(reason) = &change.known {
        writeln!(out, "          {FAINT}accepted: {}{FAINT:#}", printable(reason))?;
    }
    Ok(())
}

/// How the word for what a change does is shown.
pub(crate) fn effect_style(change: &Change) -> Style {
    match change.effect {
        Effect::Breaking if change.fails() => BAD,
        Effect::Breaking => CAUTION,
        Effect::Additive => GOOD,
        Effect::Info => FAINT,
    }
}

fn listed(cases: &[String]) -> String {
    let named = cases.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = cases.len().saturating_sub(NAMED);
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Writes the changes as Markdown.
pub(crate) fn drift_markdown(
    out: &mut impl Write,
    sides: (&str, &str),
    drift: &Drift,
    consumers: &[(&str, Vec<Broken>)],
) -> io::Result<()> {
    let (breaking, additive) = (drift.count(Effect::Breaking), drift.count(Effect::Additive));
    writeln!(out, "### {} → {}\n", cell(sides.0), cell(sides.1))?;
    writeln!(
        out,
        "{breaking} breaking, {additive} additive, {} informational, in {} cases.\n",
        drift.count(Effect::Info),
        drift.compared
    )?;
    for bump in &drift.bumps {
        writeln!(out, "{}.\n", plain(&bump.to_string()))?;
    }
    for effect in [Effect::Breaking, Effect::Additive, Effect::Info] {
        let changes: Vec<&Change> = drift.changes.iter().filter(|change| change.effect == effect).collect();
        if changes.is_empty() {
            continue;
        }
        // What matters less is folded away.
        let folds = effect == Effect::Info;
        if folds {
            writeln!(out, "<details><summary>{} informational</summary>\n", changes.len())?;
        }
        writeln!(out, "| {} | where | what | cases |\n|---|---|---|---|", effect.name())?;
        for change in changes {
            let place = [change.message.as_deref(), change.pointer.as_deref()];
            let place = place.into_iter().flatten().map(cell).collect::<Vec<_>>().join(" ");
            let known = change.known.as_deref().map_or(String::new(), |reason| format!(" (known: {reason})"));
            let announced = if change.announced { " (announced)" } else { "" };
            let what = format!("{}{known}{announced}", change.summary);
            let cases = listed(&change.cases);
            writeln!(out, "| {} | {place} | {} | {} |", change.kind.name(), cell(&what), cell(&cases))?;
        }
        writeln!(out)?;
        if folds {
            writeln!(out, "</details>\n")?;
        }
    }
    for (name, broken) in consumers {
        let says = if broken.is_empty() { "reads on" } else { "breaks" };
        writeln!(out, "**{}** {says}.", cell(name))?;
        for broken in broken {
            writeln!(out, "- {}: {}", broken.kind.name(), cell(&broken.because))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Text from outside as a cell of a table.
fn cell(text: &str) -> String {
    plain(&first_columns(&printable(text), 200).0)
}

/// Writes the table of when each thing changed, of the versions that were looked at among all that there are.
pub(crate) fn matrix_text(
    out: &mut impl Write,
    found: &[Found],
    looked: &[String],
    all: usize,
) -> io::Result<()> {
    let mut last = None;
    for found in found {
        let place = (found.after.as_str(), found.since.as_str());
        if last != Some(place) {
            let between =
                if found.exact { "" } else { "  (somewhere in between; a larger --bisect finds it)" };
            let line = format!("{} -> {}", found.after, found.since);
            writeln!(out, "{NAME}{}{NAME:#}{FAINT}{between}{FAINT:#}", printable(&line))?;
            last = Some(place);
        }
        let change = &found.change;
        let style = effect_style(change);
        let message = change.message.as_deref().unwrap_or("run");
        writeln!(
            out,
            "  {style}{:<9}{style:#} {:<20} {}",
            change.effect.name(),
            change.kind.name(),
            printable(&format!("{message}: {}", change.summary))
        )?;
    }
    if found.is_empty() {
        writeln!(out, "nothing changed that a contract promises")?;
    }
    let versions = printable(&looked.join(", ")).into_owned();
    writeln!(out, "{FAINT}looked at {} of {all} versions: {versions}{FAINT:#}", looked.len())
}
