//! Trials in the forms of skill-creator's files, as its viewer and its scripts read them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::assertion::Answer;
use super::observed::Observed;
use super::trial::{Status, Trial};
use crate::time::rfc3339_seconds;

/// Assertions and expectations alike, with text, whether it holds, and evidence. What was not checked is left out.
fn expectations(trial: &Trial) -> Vec<Value> {
    let checked = trial.assertions.iter().filter(|checked| checked.status != Answer::Unchecked).map(|checked| {
        json!({"text": checked.text, "passed": checked.status == Answer::Pass, "evidence": checked.message, "id": checked.id})
    });
    let judged = trial.expectations.iter().filter_map(|judged| {
        Some(json!({
            "text": judged.text, "passed": judged.passed?, "evidence": judged.evidence, "id": judged.id,
            "score": judged.score, "quoted": judged.quoted,
        }))
    });
    checked.chain(judged).collect()
}

fn summary(expectations: &[Value]) -> Value {
    let passed = expectations.iter().filter(|expectation| expectation["passed"] == true).count();
    let total = expectations.len();
    let rate = passed as f64 / (total as f64).max(1.0);
    json!({"passed": passed, "failed": total - passed, "total": total, "pass_rate": (rate * 1e4).round() / 1e4})
}

/// What became of a trial. It has no times: skill-creator's scripts look for tokens in `timing.json` only where the
/// grading has none.
pub(super) fn grading(trial: &Trial, observed: Option<&Observed>) -> Value {
    let expectations = expectations(trial);
    json!({
        "summary": summary(&expectations),
        "expectations": expectations,
        "execution_metrics": metrics(trial, observed),
        "user_notes_summary": {
            "uncertainties": [], "needs_review": trial.reason.iter().collect::<Vec<_>>(), "workarounds": [],
        },
        "passed": trial.status == Status::Pass,
        "reason": trial.reason,
        "verdict": trial.verdict,
        "skill": trial.skill,
    })
}

fn metrics(trial: &Trial, observed: Option<&Observed>) -> Value {
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    for call in observed.iter().flat_map(|observed| &observed.calls) {
        *calls.entry(call.tool.as_str()).or_default() += 1;
    }
    json!({
        "tool_calls": calls,
        "total_tool_calls": trial.tool_calls,
        "total_steps": trial.usage.turns,
        "errors_encountered": trial.denied.len(),
        "output_chars": observed.map_or(0, |observed| observed.output.chars().count()),
    })
}

pub(super) fn timing(trial: &Trial) -> Value {
    json!({
        "total_tokens": trial.usage.tokens(),
        "duration_ms": (trial.usage.seconds * 1000.0).round() as u64,
        "total_duration_seconds": trial.usage.seconds,
        "cost_usd": trial.usage.cost_usd,
        "executor_start": rfc3339_seconds(trial.started_ms as i64),
        "executor_end": rfc3339_seconds(trial.finished_ms as i64),
    })
}

/// One of the `runs` of `benchmark.json`.
pub(super) fn run(trial: &Trial, number: Option<u64>) -> Value {
    let expectations = expectations(trial);
    let mut result = summary(&expectations);
    result["time_seconds"] = trial.usage.seconds.into();
    result["tokens"] = trial.usage.tokens().into();
    result["tool_calls"] = trial.tool_calls.into();
    result["errors"] = trial.denied.len().into();
    json!({
        "eval_id": number, "eval_name": trial.id.case, "configuration": trial.id.arm,
        "run_number": trial.id.trial, "result": result, "expectations": expectations,
        "notes": trial.reason.iter().collect::<Vec<_>>(),
    })
}
