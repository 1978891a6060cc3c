//! A scenario made of a recording: what was asked and answered, to be served again turn by turn.
//!
//! A turn holds for a request of the same place in the same conversation, with the same model, that says the same: of what
//! the user said and what tools returned it asks for the longest part in which nothing differs from run to run. A request
//! that no longer fits is told as every request is that no turn answers: with the nearest turn and the difference.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::document::{quoted, toml_value};
use crate::harness::mock::request::{ApiRequest, Facts as Asked};
use crate::harness::mock::script::{Block, ToolInput};
use crate::recording::Recording;
use crate::run::target::Target;
use crate::text::head;

/// What differs from run to run: paths of rooms, ids, dates and times, digests, what was masked, and where a line ends.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"<(?:total_tokens|system-reminder)>[\s\S]*?</(?:total_tokens|system-reminder)>",
        r"|[^\s\x22']*clawgate-room-[^\s\x22']*",
        r"|\b(?:toolu|msg|req|call|resp|chatcmpl|fc|rs)_[A-Za-z0-9]+",
        r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F-]{20,}",
        r"|\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?|\b\d{1,2}:\d\d(?::\d\d)?",
        r"|\b[0-9a-f]{12,}\b|\b\d{5,}\b|\d+(?:\.\d+)? ?m?s\b|127\.0\.0\.1:\d+|\*{4,}|[\r\n]+",
    ))
    .ok()
});
/// A condition is no longer than this.
const LONGEST: usize = 80;
/// A shorter text says nothing.
const SHORTEST: usize = 3;

/// Requests on the side whose answers matter to what follows; all others get a built-in one.
const WEIGHTY: [&str; 2] = ["compaction", "web-search"];

/// What a scenario is made of besides the recording.
#[derive(Debug)]
pub(crate) struct Origin<'o> {
    /// The name of the scenario.
    pub name: &'o str,
    pub contract: &'o str,
    /// The class and the detail of the verdict.
    pub verdict: (&'o str, Option<&'o str>),
    /// The must clauses that were broken.
    pub findings: Vec<String>,
    pub target: Option<&'o Target>,
    /// The command that recorded it.
    pub command: &'o str,
}

/// Why a recording makes no scenario.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotServed {
    #[error("nothing in it asked the API for an answer, so there is nothing to serve again")]
    Nothing,
    #[error(
        "the body of request {0} was not kept, so nobody knows what it asked (too large, compressed, or recorded without bodies)"
    )]
    NoBody(usize),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One turn: the requests for it, and what the last of them was answered.
struct Turn {
    name: String,
    asked: Asked,
    served: Value,
    faults: Vec<String>,
}

/// The text of a scenario that serves a recording again.
pub(crate) fn scenario_of(recording: &Recording, origin: &Origin<'_>) -> Result<String, NotServed> {
    let places = Places::of(recording);
    let turns = turns(recording)?;
    let (facts, mut text) = (&recording.facts, String::new());
    let version = Some(facts.target_version.as_str()).filter(|version| !version.is_empty());
    let started = facts.other.get("started_at").and_then(Value::as_str).unwrap_or_default();
    _ = writeln!(
        text,
        "# Recorded of {}{} on {}, by: {}\n# `clawgate run` serves it again; a request that no longer fits is told with the nearest turn.",
        facts.target,
        version.map(|version| format!(" {version}")).unwrap_or_default(),
        started.split('T').next().unwrap_or_default(),
        origin.command.replace(['\r', '\n'], " ")
    );
    _ = writeln!(text, "\n[scenario]\nname = {}", quoted(origin.name));
    _ = writeln!(
        text,
        "description = {}",
        quoted(&format!("Recorded of {}, and served again.", facts.target))
    );
    _ = writeln!(text, "contract = {}\ntags = [\"recorded\"]", quoted(origin.contract));
    write_run(&mut text, recording, origin, &places);
    write_expect(&mut text, recording, origin, &turns);
    let prompts: BTreeSet<&str> = turns
        .iter()
        .filter(|turn| turn.asked.agent.is_none())
        .map(|turn| turn.asked.prompt.as_str())
        .collect();
    for turn in &turns {
        turn.write(&mut text, prompts.len() > 1, &places);
    }
    Ok(text)
}

/// The requests for an answer and what they were answered, as turns.
fn turns(recording: &Recording) -> Result<Vec<Turn>, NotServed> {
    let list =
        |key: &str| recording.facts.other.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let requests = list("requests");
    let mut turns: Vec<Turn> = Vec::new();
    for served in list("served") {
        let (kind, entry) = (served["kind"].as_str(), served["turn"].as_str());
        let is_weighty = kind == Some("auxiliary") && entry.is_some_and(|side| WEIGHTY.contains(&side));
        let at = served["request"].as_u64().unwrap_or_default() as usize;
        let Some(request) = requests.get(at).filter(|_| kind == Some("turn") || is_weighty) else { continue };
        let body = recording.request_body(at)?.ok_or(NotServed::NoBody(at + 1))?;
        let asked = asked(request, &body);
        let name = match entry {
            Some(entry) if !is_weighty => entry.to_owned(),
            side => format!("{}-{}", side.unwrap_or("side"), at + 1),
        };
        let fault = request["fault"].as_str().map(str::to_owned);
        match turns.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.faults.extend(fault);
                // What counts is what the client had in the end.
                if served["complete"] == true || known.served["complete"] != true {
                    known.served = served.clone();
                }
            }
            None => {
                turns.push(Turn { name, asked, served: served.clone(), faults: fault.into_iter().collect() });
            }
        }
    }
    if turns.is_empty() { Err(NotServed::Nothing) } else { Ok(turns) }
}

/// What a recorded request asks.
fn asked(request: &Value, body: &[u8]) -> Asked {
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    let headers = request["headers"].as_object().into_iter().flatten();
    let headers =
        headers.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
    let target = match text("query") {
        "" => text("path").to_owned(),
        query => format!("{}?{query}", text("path")),
    };
    ApiRequest::new(text("method"), &target, headers, body).facts
}

impl Turn {
    fn write(&self, text: &mut String, tells_conversations: bool, places: &Places) {
        _ = writeln!(text, "\n[[api.turns]]\nname = {}", quoted(&self.name));
        _ = writeln!(text, "when = {}", toml_value(&self.when(tells_conversations)).unwrap_or_default());
        let content = self.served["content"].as_array().map_or(&[][..], Vec::as_slice);
        let blocks: Vec<String> = content.iter().map(|block| places.block(block)).collect();
        if !blocks.is_empty() {
            _ = writeln!(text, "blocks = [");
            for block in blocks {
                _ = writeln!(text, "    {block},");
            }
            _ = writeln!(text, "]");
        }
        if let Some(model) = self.served["model"].as_str().filter(|model| *model != self.asked.model) {
            _ = writeln!(text, "model = {}", quoted(model));
        }
        let calls = content.iter().any(|block| block["type"] == "tool_use");
        let usual = if calls { "tool_use" } else { "end_turn" };
        if let Some(reason) = self.served["stop_reason"].as_str().filter(|reason| *reason != usual) {
            _ = writeln!(text, "stop_reason = {}", quoted(reason));
        }
        let names =
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let counts = names.iter().filter_map(|name| {
            let count = self.served["usage"][*name].as_u64()?;
            (count > 0 || !name.starts_with("cache")).then(|| format!("{name} = {count}"))
        });
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            _ = writeln!(text, "usage = {{ {} }}", counts.join(", "));
        }
        if !self.faults.is_empty() {
            // Their places are counted in an answer that says each block in one piece.
            _ = writeln!(
                text,
                "chunk = \"whole\"\nfaults = {}",
                toml_value(&json!(self.faults)).unwrap_or_default()
            );
        }
    }

    /// Which requests it answers.
    fn when(&self, tells_conversations: bool) -> Value {
        let asked = &self.asked;
        let mut when = json!({"turn": asked.position});
        if asked.agent.is_some() {
            when["agent"] = true.into();
        }
        if let Some(side) = asked.side {
            when["auxiliary"] = side.name.clone().into();
        }
        if !asked.model.is_empty() {
            when["model"] = asked.model.clone().into();
        }
        let first = (asked.agent.is_some() || tells_conversations).then(|| steady(&asked.prompt)).flatten();
        if let Some(prompt) = first.filter(|_| asked.user != asked.prompt) {
            when["prompt"] = prompt.into();
        }
        if let Some(user) = steady(&asked.user) {
            when["user"] = user.into();
        }
        if let Some(result) = asked.tool_results.first() {
            when["tool_result"] = json!({"is_error": result.is_error});
            if !result.tool.is_empty() {
                when["tool_result"]["tool"] = result.tool.clone().into();
            }
            if let Some(part) = steady(&result.text) {
                when["tool_result"]["contains"] = part.into();
            }
        }
        when
    }
}

/// The longest part of a text in which nothing differs from run to run; none where there is none worth asking for.
fn steady(text: &str) -> Option<String> {
    let parts = VOLATILE.as_ref()?.split(text).map(str::trim);
    let longest = parts.fold("", |longest, part| if part.len() > longest.len() { part } else { longest });
    let part = head(longest, LONGEST).trim_end();
    (part.len() >= SHORTEST).then(|| part.to_owned())
}

fn write_run(text: &mut String, recording: &Recording, origin: &Origin<'_>, places: &Places) {
    let mut args: Vec<String> =
        recording.facts.argv.iter().skip(1).map(|word| places.neutral(word)).collect();
    _ = writeln!(text, "\n[run]");
    let speaks = origin.target.and_then(|target| target.speaking(origin.contract));
    let template = speaks.map_or(&[][..], |speaks| &speaks.prompt);
    let fits = |words: &[String]| {
        let mut prompt = None;
        for (word, wanted) in words.iter().zip(template) {
            if wanted == "{prompt}" {
                prompt = Some(word.clone()).filter(|word| !word.starts_with('-'));
            } else if word != wanted {
                return None;
            }
        }
        prompt
    };
    if !template.is_empty()
        && let Some((at, prompt)) =
            args.windows(template.len()).enumerate().find_map(|(at, words)| Some((at, fits(words)?)))
    {
        args.drain(at..at + template.len());
        _ = writeln!(text, "prompt = {}", quoted(&prompt));
    }
    // As it was typed: the target adds nothing.
    _ = writeln!(text, "bare = true");
    if !args.is_empty() {
        _ = writeln!(text, "args = {}", toml_value(&json!(args)).unwrap_or_default());
    }
    if let Ok(Some(stdin)) = recording.stdin() {
        _ = writeln!(text, "stdin = {}", quoted(&String::from_utf8_lossy(&stdin)));
    }
    if let Some(files) = recording.facts.other.get("room_files").and_then(toml_value) {
        _ = writeln!(text, "files = {files}");
    }
}

fn write_expect(text: &mut String, recording: &Recording, origin: &Origin<'_>, turns: &[Turn]) {
    _ = writeln!(text, "\n[expect]\nverdict = {}", quoted(origin.verdict.0));
    if let Some(detail) = origin.verdict.1 {
        _ = writeln!(text, "detail = {}", quoted(detail));
    }
    if let Some(code) = recording.facts.exit.code {
        _ = writeln!(text, "exit = {code}");
    }
    let requests = recording.facts.other.get("requests").and_then(Value::as_array);
    let asked = requests.into_iter().flatten().filter(|request| request["kind"] == "turn").count();
    let on_the_side = turns.iter().filter(|turn| turn.asked.side.is_some()).count();
    _ = writeln!(text, "requests = {}", asked + on_the_side);
    if !origin.findings.is_empty() {
        _ = writeln!(text, "findings = {}", toml_value(&json!(origin.findings)).unwrap_or_default());
    }
}

/// The places of a recording that are others in every run, each with its name in a scenario.
struct Places(Vec<(String, String)>);

impl Places {
    fn of(recording: &Recording) -> Self {
        let facts = &recording.facts.other;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let mut places = Vec::new();
        if let Some(room) = text(facts.get("room")) {
            places.extend(
                ["work", "home", "tmp"].map(|name| (format!("{room}/{name}"), format!("{{{name}}}"))),
            );
        }
        // A working directory of the user's own stands for the room's.
        if let Some(cwd) = text(facts.get("cwd")).filter(|cwd| cwd.len() > 1) {
            places.push((cwd, "{work}".to_owned()));
        }
        let request = facts.get("requests").and_then(|requests| requests.get(0));
        if let Some(host) = text(request.and_then(|request| request["headers"].get("host"))) {
            places.push((format!("http://{host}"), "{api}".to_owned()));
        }
        Self(places)
    }

    fn neutral(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (place, name)| text.replace(place, name))
    }

    /// A block of an answer as a scenario says it.
    fn block(&self, served: &Value) -> String {
        let (key, said) = match Block::of_served(served) {
            Block::Text(text) => ("text", quoted(&self.neutral(&text))),
            Block::Thinking(text) => ("thinking", quoted(&self.neutral(&text))),
            Block::Tool { name, input, .. } => {
                let input = match input {
                    ToolInput::Json(value) => self.neutral(&value.to_string()),
                    ToolInput::Text(text) => self.neutral(&text),
                };
                let value = serde_json::from_str(&input).ok().and_then(|value: Value| toml_value(&value));
                let input = match value {
                    Some(value) if value.starts_with('{') => format!("input = {value}"),
                    // What TOML has no word for.
                    _ => format!("input_json = {}", quoted(&input)),
                };
                ("tool", format!("{{ name = {}, {input} }}", quoted(&name)))
            }
            Block::Raw(value) => {
                let mut value = value;
                without_null(&mut value);
                ("raw", toml_value(&value).unwrap_or_else(|| "{ type = \"text\", text = \"\" }".to_owned()))
            }
        };
        format!("{{ {key} = {said} }}")
    }
}

/// TOML has no null; a member that is one is left out.
fn without_null(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_leave_out_what_differs_from_run_to_run() {
        for (text, wanted) in [
            ("Say hello.", Some("Say hello.")),
            (
                "Read /dev/shm/clawgate-room-abc/work/x.txt and tell what stands there",
                Some("and tell what stands there"),
            ),
            ("On 2026-11-18 the build of 0123456789abcdef failed", Some("the build of")),
            ("toolu_01abc", None),
            ("a\nthe second line is longer\nb", Some("the second line is longer")),
            ("key ********* is masked here", Some("is masked here")),
            ("", None),
        ] {
            assert_eq!(steady(text).as_deref(), wanted, "{text}");
        }
        let long = "é".repeat(200);
        let part = steady(&long).unwrap();
        assert!(part.len() <= LONGEST && long.contains(&part));
    }
}
