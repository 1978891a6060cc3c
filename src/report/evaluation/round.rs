//! One round of a case: the same trial of every arm side by side, with what was asked, said, written, done and judged.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use maud::{Markup, html};

use super::super::html::shown;
use super::notes::Notes;
use crate::eval::assertion::Answer;
use crate::eval::{Iteration, Outcome, Series, SkillState, Status, Trial};
use crate::text::head;

/// Of what was said, this much is shown.
const LONGEST_OUTPUT: usize = 16 << 10;
/// Of a transcript; the whole is beside it.
const LONGEST_TRANSCRIPT: usize = 24 << 10;
/// Of each file that was written, and how many of them.
const LONGEST_FILE: usize = 4 << 10;
const MOST_FILES: usize = 12;

/// How much of the page may still be texts of trials. A page that no browser opens shows nothing.
pub(super) struct Room(pub(super) usize);

impl Room {
    /// The text as far as there is room, and whether it was cut.
    fn take<'t>(&mut self, text: &'t str, longest: usize) -> (&'t str, bool) {
        let text_head = head(text, longest.min(self.0));
        self.0 -= text_head.len();
        (text_head, text_head.len() < text.len())
    }
}

/// What a status is called in the page's filters, and in words.
pub(super) fn tone(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Pass => ("pass", "pass"),
        Status::Fail => ("fail", "FAIL"),
        Status::NotMeasured => ("skipped", "not measured"),
    }
}

/// The trials of that number of all arms of a case.
pub(super) fn round(
    iteration: &Iteration,
    arms: &[&Series<'_>],
    number: u32,
    notes: &Notes,
    room: &mut Room,
) -> Option<Markup> {
    let trials: Vec<(&Series<'_>, Trial)> = arms
        .iter()
        .filter(|series| number <= series.trials)
        .filter_map(|series| Some((*series, iteration.finished(&series.id(number), series.case.kind)?)))
        .collect();
    let (first, _) = trials.first()?;
    let states: Vec<&str> = trials.iter().map(|(_, trial)| tone(trial.status).0).collect();
    let prompts_differ = trials.iter().any(|(series, _)| series.prompt() != first.prompt());
    Some(html! {
        section.round data-item="" data-status=(states.join(" ")) tabindex="-1" {
            h2 { (shown(&first.case.id)) " " small { "trial " (number) } }
            div.prompt { (shown(first.prompt())) }
            div.arms { @for (series, trial) in &trials {
                (arm(iteration, series, trial, prompts_differ, notes, room))
            } }
        }
    })
}

fn arm(
    iteration: &Iteration,
    series: &Series<'_>,
    trial: &Trial,
    with_prompt: bool,
    notes: &Notes,
    room: &mut Room,
) -> Markup {
    let folder = iteration.trial_folder(&trial.id, trial.kind);
    let (class, word) = tone(trial.status);
    let run = run_id(iteration, &folder);
    let usage = &trial.usage;
    let skill = match trial.skill {
        SkillState::Absent => None,
        ref state => serde_json::to_value(state).ok(),
    };
    let skill = skill.and_then(|state| Some(format!("skill {}", state.as_str()?.replace('-', " "))));
    let mut facts: Vec<String> = skill.into_iter().collect();
    facts.push(format!("{:.1} s", usage.seconds));
    facts.push(format!("{} tokens", usage.tokens()));
    facts.push(format!("${:.4}", usage.cost_usd));
    if trial.attempts.len() > 1 {
        facts.push(format!("{} attempts", trial.attempts.len()));
    }
    html! {
        article class={ "arm " (class) } {
            h3 { (shown(&series.arm.name.replace('_', " "))) " · " span.word { (word) }
                @if let Some(verdict) = &trial.verdict { " " small { (shown(&Outcome::named(verdict))) } } }
            p.quiet { small { (shown(&facts.join(" · "))) } }
            @if with_prompt { div.prompt { (shown(series.prompt())) } }
            @if let Some(reason) = &trial.reason { p.why { (shown(reason)) } }
            (judgement(trial))
            (output(&folder, room))
            (files(&folder, trial, room))
            (transcript(&folder, room))
            @if let Some(note) = notes.earlier(&run) {
                p.before { b { "Noted in iteration " (note.iteration) ": " } (shown(&note.text)) }
            }
            label.note { small { "Note" }
                textarea data-run=(run) rows="1" { (notes.own(&run).map_or_else(String::new, shown)) } }
        }
    }
}

/// What skill-creator's viewer calls a run: its path with hyphens.
fn run_id(iteration: &Iteration, folder: &Path) -> String {
    let path = folder.strip_prefix(&iteration.folder).unwrap_or(folder);
    path.to_string_lossy().replace(['/', '\\'], "-")
}

fn judgement(trial: &Trial) -> Markup {
    let checks = trial.assertions.iter().map(|checked| {
        let passed = match checked.status {
            Answer::Pass => Some(true),
            Answer::Fail => Some(false),
            Answer::Unchecked => None,
        };
        (passed, &checked.text, &checked.message)
    });
    let judged = trial.expectations.iter().map(|judged| (judged.passed, &judged.text, &judged.evidence));
    let mark = |passed| match passed {
        Some(true) => ("pass", "✓"),
        Some(false) => ("fail", "✗"),
        None => ("skipped", "?"),
    };
    html! {
        @if !trial.assertions.is_empty() || !trial.expectations.is_empty() {
            ul.checks { @for (passed, what, found) in checks.chain(judged) {
                @let (class, sign) = mark(passed);
                li class=(class) { b { (sign) } (shown(what)) small { (shown(found)) } }
            } }
        }
    }
}

fn output(folder: &Path, room: &mut Room) -> Markup {
    let said =
        beginning(&folder.join("outputs/response.md"), LONGEST_OUTPUT).and_then(|(bytes, _)| text(bytes));
    let Some(said) = said else { return html! {} };
    let (said, is_cut) = room.take(&said, LONGEST_OUTPUT);
    html! { h4 { "Output" } pre { (shown(said)) @if is_cut { "\n…" } } }
}

fn files(folder: &Path, trial: &Trial, room: &mut Room) -> Markup {
    let Some(last) = trial.attempts.last() else { return html! {} };
    let root = folder.join(&last.recording).join("outputs");
    let mut names = Vec::new();
    crate::eval::written_files(&root, &mut names);
    names.sort();
    let more = names.len().saturating_sub(MOST_FILES);
    names.truncate(MOST_FILES);
    html! { @if !names.is_empty() {
        h4 { "Files" }
        @for name in &names { (file(&root.join(name), name, room)) }
        @if more > 0 { p.quiet { "and " (more) " more" } }
    } }
}

fn file(path: &Path, name: &str, room: &mut Room) -> Markup {
    let (bytes, size) = beginning(path, LONGEST_FILE).unwrap_or_default();
    let Some(text) = text(bytes) else {
        return html! { p { (shown(name)) " " small { "not a text, " (size) " bytes" } } };
    };
    let (shown_text, is_cut) = room.take(&text, LONGEST_FILE);
    html! { details {
        summary { (shown(name)) " " small { (size) " bytes" } }
        pre { (shown(shown_text)) @if is_cut || size > text.len() as u64 { "\n…" } }
    } }
}

fn transcript(folder: &Path, room: &mut Room) -> Markup {
    let path = folder.join("transcript.md");
    let Some((bytes, size)) = beginning(&path, LONGEST_TRANSCRIPT) else { return html! {} };
    let whole = String::from_utf8_lossy(&bytes).into_owned();
    let (part, _) = room.take(&whole, LONGEST_TRANSCRIPT);
    html! { details.transcript-of {
        summary { "Transcript" }
        pre { (shown(part)) @if (part.len() as u64) < size { "\n… the rest is in " (shown(&path.display().to_string())) } }
    } }
}

/// The beginning of a file, and how long it is.
fn beginning(path: &Path, most: usize) -> Option<(Vec<u8>, u64)> {
    let file = fs::File::open(path).ok()?;
    let size = file.metadata().ok().filter(fs::Metadata::is_file)?.len();
    let mut bytes = Vec::new();
    // One character more, so that it is seen that something is missing.
    file.take(most as u64 + 4).read_to_end(&mut bytes).ok()?;
    Some((bytes, size))
}

/// The bytes as a text; none where they are something else. The last character may have been cut.
fn text(bytes: Vec<u8>) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            Some(String::from_utf8_lossy(&error.as_bytes()[..whole]).into_owned())
        }
        Err(_) => None,
    }
}
