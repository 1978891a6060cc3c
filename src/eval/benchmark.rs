//! Trials in the forms of skill-creator's files, as its viewer and its scripts read them.

use serde_json::{Value, json};

use super::assertion::Answer;
use super::trial::{Arm, Status, Trial};
use crate::time::rfc3339_seconds;

/// The number of an eval, or its name where it has none.
pub(super) fn eval_id(id: &str) -> Value {
    id.parse::<u64>().map_or_else(|_| Value::from(id), Value::from)
}

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

pub(super) fn grading(trial: &Trial) -> Value {
    let expectations = expectations(trial);
    json!({
        "summary": summary(&expectations),
        "expectations": expectations,
        "execution_metrics": {
            "total_tool_calls": trial.tool_calls,
            "total_steps": trial.usage.turns,
            "errors_encountered": trial.denied.len(),
        },
        "timing": {"total_duration_seconds": trial.usage.seconds},
        "passed": trial.status == Status::Pass,
        "reason": trial.reason,
        "verdict": trial.verdict,
        "skill": trial.skill,
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
pub(super) fn run(trial: &Trial) -> Value {
    let expectations = expectations(trial);
    let mut result = summary(&expectations);
    result["time_seconds"] = trial.usage.seconds.into();
    result["tokens"] = trial.usage.tokens().into();
    result["tool_calls"] = trial.tool_calls.into();
    result["errors"] = trial.denied.len().into();
    let configuration = if trial.id.arm == Arm::WithSkill { "with_skill" } else { "without_skill" };
    json!({
        "eval_id": eval_id(&trial.id.case), "eval_name": trial.id.case, "configuration": configuration,
        "run_number": trial.id.trial, "result": result, "expectations": expectations,
        "notes": trial.reason.iter().collect::<Vec<_>>(),
    })
}
