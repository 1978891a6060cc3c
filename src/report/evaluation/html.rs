//! The report of an evaluation as one HTML file: what it comes to, and then the trials of each case, all arms side by
//! side. It is written round by round, and holds as much of the texts as a browser likes to open.

use std::io::{self, Write as _};

use hmac_sha256::Hash as Sha256;
use maud::{Markup, html};

use super::super::html::{EVALUATION, around, shown};
use super::notes::Notes;
use super::round::{Room, round, tone};
use super::trend::{Point, chart};
use super::{blind, difference, rate};
use crate::eval::spec::Kind;
use crate::eval::{Iteration, Report, ReportStatus, Series, Status};
use crate::text::{Masker, hex};

/// Rounds shown of each case, those that did not pass first; the rest are in their directories.
const MOST_ROUNDS: usize = 50;
/// Of texts of trials, a page holds so much.
const MOST_TEXT: usize = 12 << 20;

/// Writes `report.html` into the iteration.
pub(crate) fn write_page(
    iteration: &Iteration,
    report: &Report,
    plan: &[Series<'_>],
    trend: &[Point],
) -> io::Result<()> {
    let status = format!("{:?}", report.conclusion.status).to_lowercase();
    let title = format!("{}: {status}", shown(&report.subject.skill));
    let (before, after) = (opening(report, &title, trend), closing());
    let (head, tail) = around(&title, EVALUATION, &before, &after);
    // Notes of another evaluation are not these.
    let page = hex(&Sha256::hash(
        format!("{}{}", report.subject.iteration, report.subject.stamp.spec_digest).as_bytes(),
    ));
    let head = head.replacen("<body>", &format!("<body data-page=\"{page}\">"), 1);
    let masker = Masker::default();
    let folder = &iteration.folder;
    let mut file = io::BufWriter::new(tempfile::Builder::new().prefix(".clawgate-").tempfile_in(folder)?);
    file.write_all(masker.mask(&head).as_bytes())?;
    let (notes, mut room) = (Notes::read(iteration), Room(MOST_TEXT));
    for kind in [Kind::is_task, Kind::is_blind, Kind::is_trigger, Kind::is_control] {
        let mut done: Vec<&str> = Vec::new();
        for series in plan.iter().filter(|series| kind(series.case.kind)) {
            if done.contains(&series.case.id.as_str()) {
                continue;
            }
            done.push(&series.case.id);
            let arms: Vec<&Series<'_>> =
                plan.iter().filter(|other| other.case.id == series.case.id).collect();
            let (numbers, more) = chosen(iteration, &arms);
            for number in numbers {
                if let Some(markup) = round(iteration, &arms, number, &notes, &mut room) {
                    file.write_all(masker.mask(&markup.into_string()).as_bytes())?;
                }
            }
            if more > 0 {
                let line = html! { p.quiet { "and " (more) " more trials of " (shown(&series.case.id)) " in their directories" } };
                file.write_all(line.into_string().as_bytes())?;
            }
        }
    }
    file.write_all(tail.as_bytes())?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    super::super::document::place(file, &folder.join("report.html"))
}

/// The numbers of the rounds that are shown, and how many are not: those first in which something did not pass.
fn chosen(iteration: &Iteration, arms: &[&Series<'_>]) -> (Vec<u32>, usize) {
    let most = arms.iter().map(|series| series.trials).max().unwrap_or_default();
    if most as usize <= MOST_ROUNDS {
        return ((1..=most).collect(), 0);
    }
    // What the evaluated arm did is what the page is opened for.
    let Some(evaluated) = arms.first() else { return (Vec::new(), 0) };
    let failed = |number: &u32| {
        iteration
            .finished(&evaluated.id(*number), evaluated.case.kind)
            .is_some_and(|trial| trial.status != Status::Pass)
    };
    let mut numbers: Vec<u32> = (1..=most).filter(failed).take(MOST_ROUNDS).collect();
    for number in 1..=most {
        if numbers.len() == MOST_ROUNDS {
            break;
        }
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    (numbers, most as usize - MOST_ROUNDS)
}

fn opening(report: &Report, title: &str, trend: &[Point]) -> Markup {
    let tone_of = if report.conclusion.status == ReportStatus::Pass { "good" } else { "bad" };
    let stamp = &report.subject.stamp;
    let model = stamp.model.as_deref().unwrap_or("the target's model");
    let spent = &report.measured.spent;
    html! {
        header.top {
            div.brand { span.logo aria-hidden="true" { "◆" } " clawgate" }
            button.theme type="button" hidden aria-label="Switch between light and dark" { "◐" }
        }
        // It ends after the trials, which are written later.
        (maud::PreEscaped("<main>"))
        section class={ "hero " (tone_of) } {
            h1 { (title) }
            p.facts { (shown(&format!("{} {} · {model} · iteration {}", stamp.target, stamp.version, report.subject.number)))
                " · $" (format!("{:.4}", spent.cost_usd)) " and " (spent.tokens()) " tokens spent" }
            @if !stamp.conditions.is_empty() {
                details { summary { "What trials are run under" }
                    ul { @for condition in &stamp.conditions {
                        li { (shown(&format!("{}: {}", condition.name, condition.value))) }
                    } }
                }
            }
            (chart(trend))
        }
        @for (heading, lines) in [("Failures", &report.conclusion.failures), ("To know", &report.conclusion.warnings)] {
            @if !lines.is_empty() {
                h2 { (heading) }
                ul { @for line in lines { li { (shown(line)) } } }
            }
        }
        (cases(report))
        h2 { "Trials" }
        (filters())
    }
}

fn filters() -> Markup {
    let kinds = [
        ("all", "All"),
        ("fail", tone(Status::Fail).1),
        ("skipped", tone(Status::NotMeasured).1),
        ("differ", "arms differ"),
        ("pass", tone(Status::Pass).1),
        ("note", "noted"),
    ];
    html! {
        form.filters {
            fieldset.status.script hidden { legend.hidden { "Show" }
                @for (kind, word) in kinds {
                    input type="radio" name="show" id={ "show-eval-" (kind) } value=(kind) checked[kind == "all"];
                    label for={ "show-eval-" (kind) } { (word) }
                }
            }
            label.script.search hidden { span.hidden { "Search" }
                input type="search" name="text" placeholder="Search: a case, a text, a reason…  /" autocomplete="off";
            }
            button.save.script hidden type="button" title="Saves feedback.json; put it beside this page, and the next round shows it" { "Save notes" }
            span.notes-state.quiet aria-live="polite" {}
            output.script hidden aria-live="polite" {}
        }
    }
}

fn closing() -> Markup {
    html! {
        p.none hidden { "Nothing is like that." }
        (maud::PreEscaped("</main>"))
        footer {
            p { "Made by clawgate " (env!("CARGO_PKG_VERSION")) ". Keys: " kbd { "/" } " search, " kbd { "j" } " "
                kbd { "k" } " next and previous trial, " kbd { "n" } " next failure, " kbd { "t" } " transcripts, "
                kbd { "m" } " note, " kbd { "Esc" } " back. Notes stay in this browser; saved as feedback.json beside this page they "
                "are shown in the next round." }
        }
    }
}

fn cases(report: &Report) -> Markup {
    let arms: Vec<&str> = report.measured.overall.cells().map(|cell| cell.arm).collect();
    html! {
        h2 { "Cases" }
        div.scroll { table {
            thead { tr { th { "case" } @for arm in &arms { th { (shown(&arm.replace('_', " "))) } } } }
            tbody { @for case in &report.measured.cases {
                tr { th { (shown(&case.case)) }
                    @for arm in &arms { td { @if let Some(cell) = case.comparison.cells().find(|cell| cell.arm == *arm) {
                        (rate(&cell.report.pass_rate))
                        @if let Some(delta) = cell.delta { br; small { (difference(delta)) } }
                    } @else { "–" } } }
                }
            } }
        } }
        @if let Some(triggers) = &report.measured.triggers {
            p { "Triggers: precision " (rate(&triggers.precision)) ", recall " (rate(&triggers.recall)) }
        }
        @for (arm, found) in &report.measured.blind { p { (shown(&blind(arm, found))) } }
    }
}
