//! `clawgate sweep`: every cut point times every fault of one scenario.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::lines::{self, data};
use super::scenario_source;
use super::{Format, FormatArg, complain};
use crate::exit_code;
use crate::harness::mock::Scenario;
use crate::harness::mock::sweep::play::{PlayError, Played, play};
use crate::harness::mock::sweep::{SweepCase, cases};
use crate::printable::printable;
use crate::shell::shell_word;

/// Derives every cut point times every fault from a healthy scenario, and shows each on the wire.
///
/// Each case is played on a server of its own by a raw client, and what came is compared with what the fault promises,
/// byte for byte. The id of a case names it for ever: --case ID plays it again, and the command beside it serves it to
/// a client of yours.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A scenario file, or the name of a built-in scenario.
    scenario: String,
    /// Only lists the cases.
    #[arg(long)]
    list: bool,
    /// Only the case of this id. Repeatable.
    #[arg(long, value_name = "ID")]
    case: Vec<String>,
    /// Only cases whose id contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// How many cases are played at once.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> u8 {
    let scenario = match scenario_source::read(&args.scenario) {
        Ok(scenario) => scenario,
        Err(message) => {
            complain(&message);
            return exit_code::USAGE;
        }
    };
    let selected = match select(args, &scenario) {
        Ok(selected) => selected,
        Err(code) => return code,
    };
    if args.list {
        for case in &selected {
            show(args, case, None);
        }
        return exit_code::OK;
    }
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(play_all(args, scenario, selected)),
        Err(error) => {
            complain(&format!("cannot start: {error}"));
            exit_code::ENVIRONMENT
        }
    }
}

fn select(args: &Args, scenario: &Scenario) -> Result<Vec<SweepCase>, u8> {
    let all = cases(scenario);
    for id in &args.case {
        if !all.iter().any(|case| case.id == *id) {
            complain(&format!("{} has no case {}; --list lists them", args.scenario, printable(id)));
            return Err(exit_code::USAGE);
        }
    }
    let chosen = |case: &SweepCase| {
        (args.case.is_empty() || args.case.contains(&case.id))
            && args.filter.as_ref().is_none_or(|text| case.id.contains(text.as_str()))
    };
    let selected: Vec<SweepCase> = all.into_iter().filter(chosen).collect();
    if selected.is_empty() {
        complain("the filter selects no case; --list lists them");
        return Err(exit_code::NOTHING_SELECTED);
    }
    Ok(selected)
}

async fn play_all(args: &Args, scenario: Scenario, selected: Vec<SweepCase>) -> u8 {
    let scenario = Arc::new(scenario);
    let places = Arc::new(Semaphore::new(usize::from(args.jobs)));
    let mut running = Vec::new();
    for case in selected {
        let (scenario, places) = (Arc::clone(&scenario), Arc::clone(&places));
        running.push(tokio::spawn(async move {
            // The semaphore is never closed.
            let _place = places.acquire().await;
            let played = play(&scenario, &case).await;
            (case, played)
        }));
    }
    let (mut code, mut passed, mut failed, mut skipped) = (exit_code::OK, 0, 0, 0);
    for task in running {
        let (case, played) = match task.await {
            Ok(done) => done,
            Err(error) => {
                complain(&format!("{error}"));
                code = exit_code::worst(code, exit_code::ENVIRONMENT);
                continue;
            }
        };
        match &played {
            Ok(Played { mismatch: None, .. }) => passed += 1,
            Ok(_) => {
                failed += 1;
                code = exit_code::worst(code, exit_code::FINDINGS);
            }
            Err(PlayError::Unreachable(_)) => skipped += 1,
            Err(_) => code = exit_code::worst(code, exit_code::ENVIRONMENT),
        }
        show(args, &case, Some(&played));
    }
    if passed == 0 && code == exit_code::OK {
        complain("no case could be played");
        code = exit_code::NOTHING_SELECTED;
    }
    match args.format.format {
        Format::Human => data(&format!("{passed} passed, {failed} failed, {skipped} skipped")),
        Format::Json => {
            lines::json(&json!({"type": "summary", "passed": passed, "failed": failed, "skipped": skipped}));
        }
    }
    code
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
        return lines::json(&value);
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
    data(&format!("{word}{}{}", printable(&case.id), printable(&detail)));
    if word == "FAIL " || word == "ERROR " {
        data(&format!("     replay: {}", printable(&replay(args, case))));
    }
}
