//! What happened when: requests to the API above, what the target printed below, over the life of its process.

use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;

use super::super::evidence::document;
use super::super::output::Line;
use super::shown;
use crate::recording::{Facts, Timer};

/// Marks of one lane; more would be a smear.
const MOST: usize = 400;

struct Scale(f64);

impl Scale {
    fn at(&self, ms: f64) -> String {
        format!("{:.2}", (ms / self.0 * 100.0).clamp(0.0, 100.0))
    }

    fn width(&self, from: f64, ms: f64) -> String {
        let from = (from / self.0 * 100.0).clamp(0.0, 100.0);
        format!("{:.2}", (ms / self.0 * 100.0).clamp(0.0, 100.0 - from))
    }
}

/// The timeline of a recording.
pub(super) fn render(facts: &Facts, lines: &[Line], content: &Content, stderr_bytes: u64) -> Markup {
    let requests = facts.other.get("requests").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64).unwrap_or(0.0).max(0.0);
    // Requests are timed from the start of the API, everything else from the start of the target.
    let lead = facts.other.get("api_lead_ms").and_then(Value::as_f64).unwrap_or(0.0);
    let begins = |request: &Value| (number(request, "at_ms") - lead).max(0.0);
    let ends = requests.iter().map(|request| begins(request) + number(request, "duration_ms"));
    let life = facts.duration_ms.unwrap_or(0) as f64;
    let scale = Scale(ends.fold(life, f64::max).max(1.0) * 1.02);
    let arrivals = Arrivals::of(facts);
    let timed_out = facts.exit.timed_out.as_ref().map(Timer::name);
    html! {
        div.timeline role="group" aria-label="Timeline" {
            (ruler(&scale))
            div.lane { span.name { "API" }
                div.track {
                    @for request in requests.iter().take(MOST) {
                        @let (from, ms) = (begins(request), number(request, "duration_ms"));
                        @let status = request.get("status").and_then(Value::as_u64).unwrap_or(0);
                        @let class = if (200..300).contains(&status) { "request" } else { "request wrong" };
                        span class=(class) style={ "left:" (scale.at(from)) "%;width:" (scale.width(from, ms)) "%" }
                            title=(request_title(request, from)) {
                            // What does not fit is in the table below.
                            @if ms / scale.0 > 0.03 { (request_label(request)) }
                        }
                    }
                }
            }
            div.lane { span.name { "process" }
                div.track {
                    span.life style={ "left:0;width:" (scale.width(0.0, life)) "%" }
                        title={ "ran " (format!("{life:.0}")) " ms" } { (shown(&facts.exit)) }
                    @if let Some(timer) = timed_out {
                        span.timer style={ "left:" (scale.at(life)) "%" } title={ "timer " (timer) } { "⏱ " (timer) }
                    }
                }
            }
            div.lane { span.name { "stdout" }
                div.track {
                    @for line in lines.iter().take(MOST) {
                        @if let Some((ms, kind)) = arrivals.time(line.offset).zip(content.label(line)) {
                            span class={ "tick " (tone(&kind)) } style={ "left:" (scale.at(ms)) "%" }
                                title={ (format!("{ms:.1}")) " ms · line " (line.number) " · " (kind) } {}
                        }
                    }
                }
            }
            @if stderr_bytes > 0 {
                div.lane { span.name { "stderr" }
                    div.track { span.note { (stderr_bytes) " bytes; when is not recorded" } }
                }
            }
        }
    }
}

fn ruler(scale: &Scale) -> Markup {
    let whole = scale.0;
    let steps = (0..10).flat_map(|power| [1.0, 2.0, 5.0].map(|unit| unit * 10_f64.powi(power)));
    let step = steps.into_iter().find(|step| whole / step <= 8.0).unwrap_or(whole);
    let marks: Vec<f64> = (0..=8).map(|i| f64::from(i) * step).filter(|ms| *ms < whole * 0.96).collect();
    html! {
        div.lane.ruler aria-hidden="true" { span.name {}
            div.track { @for ms in marks {
                span style={ "left:" (scale.at(ms)) "%" } {
                    @if whole >= 10_000.0 { (format!("{:.0} s", ms / 1000.0)) } @else { (format!("{ms:.0} ms")) }
                }
            } }
        }
    }
}

fn request_label(request: &Value) -> String {
    let status = request.get("status").and_then(Value::as_u64);
    let fault = request.get("fault").and_then(Value::as_str);
    match (status, fault) {
        (Some(status), Some(fault)) => shown(&format!("{status} {fault}")),
        (Some(status), None) => status.to_string(),
        (None, Some(fault)) => shown(fault),
        (None, None) => "no answer".into(),
    }
}

fn request_title(request: &Value, from: f64) -> String {
    let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
    let ms = |key: &str| request.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    shown(&format!(
        "{} {} at {:.1} ms for {:.1} ms: {}, {}",
        text("method"),
        text("path"),
        from,
        ms("duration_ms"),
        request_label(request),
        text("outcome")
    ))
}

/// When which byte of stdout had arrived.
struct Arrivals(Vec<(u64, f64)>);

impl Arrivals {
    fn of(facts: &Facts) -> Self {
        let pair = |pair: &Value| Some((pair.get(0)?.as_u64()?, pair.get(1)?.as_f64()?));
        let list = facts.other.get("arrivals").and_then(Value::as_array);
        Self(list.into_iter().flatten().filter_map(pair).collect())
    }

    fn time(&self, offset: u64) -> Option<f64> {
        let after = self.0.partition_point(|(from, _)| *from <= offset);
        Some(self.0.get(after.checked_sub(1)?)?.1)
    }
}

/// What a line is, in a word or two.
fn kind(line: &Line) -> String {
    match serde_json::from_slice(&line.raw) {
        Ok(value) => kind_of(&value),
        Err(_) if line.hidden > 0 => "long".into(),
        Err(_) => "not JSON".into(),
    }
}

/// What standard output is made of: messages, a line each, or one document that stands on several lines.
pub(super) enum Content {
    Messages,
    Document(String),
}

impl Content {
    /// Looks at what a file holds.
    pub(super) fn of(stdout: &Path) -> Self {
        document(stdout).map_or(Self::Messages, |document| Self::Document(kind_of(&document)))
    }

    /// What a line is called; of a document the first line alone.
    pub(super) fn label(&self, line: &Line) -> Option<String> {
        match self {
            Self::Messages => Some(kind(line)),
            Self::Document(kind) => (line.number == 1).then(|| kind.clone()),
        }
    }
}

/// What a message or a document is, in a word or two.
fn kind_of(value: &Value) -> String {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(shown);
    match (text("type"), text("subtype")) {
        (Some(kind), Some(sub)) => format!("{kind}/{sub}"),
        (Some(kind), None) => kind,
        _ => text("kind").or_else(|| text("command")).unwrap_or_else(|| "JSON".into()),
    }
}

/// The colour of a line's kind.
pub(super) fn tone(kind: &str) -> &'static str {
    match kind.split('/').next().unwrap_or_default() {
        "assistant" | "stream_event" => "t-assistant",
        "user" => "t-user",
        "system" => "t-system",
        "result" => "t-result",
        "not JSON" => "t-wrong",
        _ => "t-other",
    }
}
