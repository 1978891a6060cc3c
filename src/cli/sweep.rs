//! `clawgate sweep`: every cut point times every fault of one scenario.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::output::data;
use super::project::Project;
use super::typed::whole;
use super::{CommandError, Format, FormatArg};
use crate::exit_code::Outcome;
use crate::harness::mock::Script;
use crate::harness::mock::dialect::{self, Dialect};
use crate::harness::mock::sweep::play::{PlayError, Played, play};
use crate::harness::mock::sweep::{SweepCase, cases};
use crate::harness::threads;
use crate::report::Progress;
use crate::run::scenario::Scenario;
use crate::shell::shell_word;
use crate::text::{did_you_mean, printable};

/// Derive every cut point times every fault from a healthy scenario, and show each on the wire
///
/// Each case is played on a server of its own by a raw client, and what came is compared with what the fault promises,
/// byte for byte. The id of a case names it for ever: --case ID plays it again, and the command beside it serves it to
/// a client of yours.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A scenario file, or the name of a built-in scenario.
    scenario: String,
    /// List the cases and stop
    #[arg(long)]
    list: bool,
    /// Only these cases: the id of one, or its beginning
    #[arg(long, value_name = "ID")]
    case: Vec<String>,
    /// Only cases whose id contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// The API that the client speaks: anthropic, openai-responses, openai-chat or gemini.
    #[arg(long, value_name = "DIALECT", default_value = "anthropic", value_parser = dialect_named)]
    api: &'static dyn Dialect,
    /// How many cases run at a time
    #[arg(long, short, value_name = "N", default_value_t = 4, value_parser = |text: &str| whole(text, 1_u16, 64))]
    jobs: u16,
    #[command(flatten)]
    format: FormatArg,
}

/// The dialect of a name that was typed.
fn dialect_named(name: &str) -> Result<&'static dyn Dialect, String> {
    let known = dialect::ALL.map(Dialect::name);
    dialect::named(name).ok_or_else(|| format!("no such API{}", did_you_mean(name, &known)))
}

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<Outcome, CommandError> {
    let scenario = Project::open()?.scenario(&args.scenario)?;
    let selected = select(args, &scenario)?;
    if args.list {
        for case in &selected {
            show(args, case, None);
        }
        return Ok(Outcome::Ok);
    }
    let runtime = threads::runtime();
    Ok(runtime.map_err(CommandError::Start)?.block_on(play_all(args, scenario.script, selected)))
}

fn select(args: &Args, scenario: &Scenario) -> Result<Vec<SweepCase>, CommandError> {
    let all = cases(&scenario.name, &scenario.script, args.api);
    for id in &args.case {
        if !all.iter().any(|case| case.id.starts_with(id.as_str())) {
            let message = format!("{} has no case {id}; --list lists them", args.scenario);
            return Err(CommandError::NothingSelected(message));
        }
    }
    // The id of one case may be the beginning of others.
    let is_id = |id: &String| all.iter().any(|case| case.id == *id);
    let meant: Vec<(&String, bool)> = args.case.iter().map(|id| (id, is_id(id))).collect();
    let is_meant = |case: &SweepCase, (id, is_id): &(&String, bool)| {
        if *is_id { case.id == **id } else { case.id.starts_with(id.as_str()) }
    };
    let chosen = |case: &SweepCase| {
        (meant.is_empty() || meant.iter().any(|meant| is_meant(case, meant)))
            && args.filter.as_ref().is_none_or(|text| case.id.contains(text.as_str()))
    };
    let selected: Vec<SweepCase> = all.into_iter().filter(chosen).collect();
    if selected.is_empty() {
        let message = "the filter selects no case; --list lists them";
        return Err(CommandError::NothingSelected(message.into()));
    }
    Ok(selected)
}

async fn play_all(args: &Args, script: Script, selected: Vec<SweepCase>) -> Outcome {
    let script = Arc::new(script);
    let places = Arc::new(Semaphore::new(usize::from(args.jobs)));
    let mut running = Vec::new();
    let api = args.api;
    for case in selected {
        let (script, places) = (Arc::clone(&script), Arc::clone(&places));
        running.push(tokio::spawn(async move {
            // The semaphore is never closed.
            let _place = places.acquire().await;
            let played = play(&script, &case, api).await;
            (case, played)
        }));
    }
    let (mut outcome, mut passed, mut failed, mut skipped) = (Outcome::Ok, 0, 0, 0);
    let progress = Progress::start(true, running.len());
    progress.note(|| "playing faults".to_owned());
    for task in running {
        let (case, played) = match task.await {
            Ok(done) => done,
            Err(error) => {
                outcome.add(CommandError::Environment(error.to_string()).told());
                continue;
            }
        };
        progress.end("", matches!(played, Ok(Played { mismatch: Some(_), .. })));
        match &played {
            Ok(Played { mismatch: None, .. }) => passed += 1,
            Ok(_) => {
                failed += 1;
                outcome.add(Outcome::Findings);
            }
            Err(PlayError::Unreachable(_)) => skipped += 1,
            Err(_) => outcome.add(Outcome::Environment),
        }
        progress.aside(|| show(args, &case, Some(&played)));
    }
    drop(progress);
    if passed == 0 && outcome == Outcome::Ok {
        outcome = CommandError::NothingSelected("no case could be played".into()).told();
    }
    match args.format.format {
        Format::Human => data(format_args!("{passed} passed, {failed} failed, {skipped} skipped")),
        Format::Json => {
            data(json!({"type": "summary", "passed": passed, "failed": failed, "skipped": skipped}));
        }
    }
    outcome
}

/// The command that serves a case to any client.
fn replay(args: &Args, case: &SweepCase) -> String {
    format!("clawgate mock {} --fault {}", shell_word(&args.scenario), shell_word(&case.fault.to_string()))
}

fn show(args: &Args, case: &SweepCase, played: Option<&Result<Played, PlayError>>) {
    let word = match played {
        None => "",
        Some(Ok(Played { mismatch: None, .. })) => "pass ",
        Some(Ok(_)) => "FAIL ",
        Some(Err(PlayError::Unreachable(_))) => "skip ",
        Some(Err(_)) => "ERROR ",
    };
    if args.format.format == Format::Json {
        let mut value = json!({
            "type": "case", "id": case.id, "turn": case.turn, "fault": case.fault.to_string(),
            "replay": replay(args, case),
        });
        match played {
            None => {}
            Some(Ok(seen)) => {
                value["status"] = Value::from(if seen.mismatch.is_none() { "pass" } else { "fail" });
                value["wire"] = serde_json::to_value(seen).unwrap_or_default();
            }
            Some(Err(error)) => {
                value["status"] = Value::from(if word == "skip " { "skipped" } else { "error" });
                value["message"] = Value::from(error.to_string());
            }
        }
        return data(value);
    }
    let detail = match played {
        None => String::new(),
        Some(Ok(seen)) => {
            let end = serde_json::to_value(seen.end).unwrap_or_default();
            let problem = seen.mismatch.as_ref().map_or(String::new(), |text| format!(": {text}"));
            format!("  {} bytes, {}{problem}", seen.bytes, end.as_str().unwrap_or_default())
        }
        Some(Err(error)) => format!("  {error}"),
    };
    data(format_args!("{word}{}{}", printable(&case.id), printable(&detail)));
    if word == "FAIL " || word == "ERROR " {
        data(format_args!("     replay: {}", printable(&replay(args, case))));
    }
}
