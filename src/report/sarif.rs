//! SARIF 2.1.0, for code scanning: rules from the clause catalogue, a result a problem, fingerprints that outlive
//! changes elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::context::Context;
use super::problem::{Problem, STALE, Weight, problems, promise};
use super::run_report::RunReport;
use crate::run::{ListedFailure, Source};
use crate::text::printable;

/// The name of our fingerprint; the number changes when what goes into it does.
const FINGERPRINT: &str = "clawgate/v1";
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The results of an earlier report, to tell what is new from what was there.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    results: BTreeMap<String, Value>,
}

impl Baseline {
    /// Reads an earlier SARIF report of ours.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let report: Value = serde_json::from_slice(text).map_err(|error| format!("not JSON: {error}"))?;
        let runs = report.get("runs").and_then(Value::as_array).ok_or("not SARIF: `runs` is missing")?;
        let results = runs.iter().filter_map(|run| run.get("results")?.as_array()).flatten();
        let known = |result: &Value| {
            let absent = result.get("baselineState").is_some_and(|state| state == "absent");
            let fingerprint = result.get("partialFingerprints")?.get(FINGERPRINT)?.as_str()?;
            (!absent).then(|| (fingerprint.to_owned(), result.clone()))
        };
        Ok(Self { results: results.filter_map(known).collect() })
    }
}

/// The report of a run.
pub(super) fn render(run: &RunReport, context: &Context, baseline: Option<&Baseline>) -> String {
    let problems = problems(run);
    let names: BTreeSet<&str> = problems.iter().map(|problem| problem.rule.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let mut results = Vec::new();
    for problem in &problems {
        let index = names.binary_search(&problem.rule.as_str()).unwrap_or_default();
        let mut result = result(problem, index, context);
        if let Some(baseline) = baseline {
            let known = baseline.results.contains_key(&problem.fingerprint);
            result.insert("baselineState".into(), if known { "unchanged" } else { "new" }.into());
        }
        results.push(Value::Object(result));
    }
    let mut rules: Vec<Value> = names.iter().map(|name| rule(name, context)).collect();
    if let Some(baseline) = baseline {
        for (fingerprint, old) in &baseline.results {
            if problems.iter().all(|problem| problem.fingerprint != *fingerprint) {
                results.push(absent(old, &mut rules, context));
            }
        }
    }
    let stale: Vec<_> = run.finished.failing_entries().collect();
    if !stale.is_empty() {
        results.extend(stale.iter().map(|entry| stale_entry(entry, rules.len(), context)));
        rules.push(rule(STALE, context));
    }
    let mut invocation = Map::new();
    let completed = !run.finished.interrupted && run.finished.harness_failures == 0;
    invocation.insert("executionSuccessful".into(), completed.into());
    invocation.insert("exitCode".into(), run.finished.exit_code.into());
    if !run.started.started_at.is_empty() {
        invocation.insert("startTimeUtc".into(), run.started.started_at.clone().into());
    }
    if let Some(note) = run.finished.isolation_note() {
        let notification = json!({"level": "warning", "message": {"text": printable(&note)}});
        invocation.insert("toolExecutionNotifications".into(), json!([notification]));
    }
    let report = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "clawgate",
                "semanticVersion": run.started.clawgate,
                "rules": rules,
            }},
            "automationDetails": {"id": "clawgate/"},
            "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The root of the repository."}}},
            "columnKind": "utf16CodeUnits",
            "invocations": [invocation],
            "results": results,
        }],
    });
    format!("{report:#}\n")
}

fn result(problem: &Problem<'_>, index: usize, context: &Context) -> Map<String, Value> {
    let case = problem.case;
    let title = printable(&case.title()).into_owned();
    let target = printable(&case.target).into_owned();
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| _ = result.insert(key.to_owned(), value);
    put("ruleId", problem.rule.clone().into());
    put("ruleIndex", index.into());
    let level = match problem.weight {
        Weight::Error => "error",
        Weight::Warning => "warning",
        Weight::Note => "note",
    };
    put("level", level.into());
    let mut text = format!("{title} on {target}: {}", problem.message);
    for (label, more) in problem.more(context) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{label}: {}", printable(&more));
    }
    // Brackets would be a link.
    let text = text.replace('[', "\\[").replace(']', "\\]");
    put("message", json!({"text": text}));
    let mut location = json!({
        "logicalLocations": [{"fullyQualifiedName": format!("{target}/{title}"), "kind": "member"}],
    });
    if let Some(place) = problem.place(context) {
        location["physicalLocation"] = physical(&place);
    }
    put("locations", json!([location]));
    if let (Some(finding), Some(recording)) = (problem.finding, &case.recording)
        && let Some(line) = finding.line
        && let Some(stdout) = context.in_repository(&format!("{recording}/stdout"))
    {
        let mut place = physical(&Source::new(&stdout, line as usize));
        if let Some(offset) = finding.offset {
            place["region"]["byteOffset"] = offset.into();
            place["region"]["byteLength"] = 0.into();
        }
        put(
            "relatedLocations",
            json!([{
                "physicalLocation": place, "message": {"text": "what the target printed"},
            }]),
        );
    }
    put("partialFingerprints", json!({FINGERPRINT: problem.fingerprint}));
    if let Some(reason) = &problem.accepted {
        put("suppressions", json!([{"kind": "external", "justification": reason}]));
    }
    let seen = problem.finding.and_then(|finding| finding.seen.as_ref());
    put(
        "properties",
        json!({
            "case": title, "target": target,
            "verdict": printable(&case.outcome()), "expected": printable(&case.expected),
            "pointer": problem.finding.and_then(|finding| finding.pointer.as_deref()).map(printable),
            "seen": seen.map(|seen| printable(&seen.to_string()).into_owned()),
            "wanted": problem.finding.and_then(|finding| finding.expected.as_deref()).map(printable),
            "command": case.process.as_ref().map(|process| printable(&process.command)),
            "ended": case.process.as_ref().map(|process| printable(&process.exit)),
            "replay": printable(&case.replay),
        }),
    );
    result
}

/// An entry of the list of known failures for which the run fails.
fn stale_entry(entry: &ListedFailure, index: usize, context: &Context) -> Value {
    let place = context.in_repository(&entry.file).unwrap_or_else(|| entry.file.clone());
    json!({
        "ruleId": STALE, "ruleIndex": index, "level": "error",
        "message": {"text": printable(&entry.message)},
        "locations": [{"physicalLocation": physical(&Source::new(&place, entry.line))}],
    })
}

/// A result of the baseline that is no longer there.
fn absent(old: &Value, rules: &mut Vec<Value>, context: &Context) -> Value {
    let name = old.get("ruleId").and_then(Value::as_str).unwrap_or("run/unknown");
    let name = printable(name).into_owned();
    let index = rules.iter().position(|rule| rule["id"] == name.as_str()).unwrap_or_else(|| {
        rules.push(rule(&name, context));
        rules.len() - 1
    });
    let mut result = old.clone();
    result["baselineState"] = "absent".into();
    result["ruleIndex"] = index.into();
    result
}

fn rule(name: &str, context: &Context) -> Value {
    let clause = context.clause(name);
    let text = promise(name, context);
    let clause = clause.unwrap_or_default();
    let level = match clause.level.as_str() {
        "" | "must" => "error",
        "should" => "warning",
        _ => "note",
    };
    let mut rule = json!({
        "id": name,
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["contract"], "precision": "very-high"},
    });
    if !clause.why.is_empty() {
        rule["fullDescription"] = json!({"text": format!("{text} {}", clause.why)});
    }
    if !clause.fix.is_empty() {
        rule["help"] = json!({"text": format!("{}\n\nSource: {}\nMore: clawgate explain {name}", clause.fix, clause.source)});
    }
    rule
}

fn physical(place: &Source) -> Value {
    json!({
        "artifactLocation": {"uri": uri(&place.file), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": place.line.max(1)},
    })
}

/// A relative path as a URI.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/@+=".contains(&byte);
    path.bytes().fold(String::new(), |text, byte| {
        if plain(byte) {
            text + char::from(byte).encode_utf8(&mut [0; 4])
        } else {
            format!("{text}%{byte:02X}")
        }
    })
}
