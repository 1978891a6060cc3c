//! Which protocol an output speaks.

use std::path::Path;

use crate::json::{Kind, Node, Scanner};
use crate::recording::Facts;
use crate::schema::{self, ContractSet, Family};

/// The field of `recording.json` that says that a scenario asked for something else than its contract describes.
pub(crate) const OUTPUT: &str = "output";
/// The value of [`OUTPUT`], and of `--output-format`, for text for people.
pub(crate) const TEXT: &str = "text";

/// How an output is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// `claude --output-format stream-json`: a message a line.
    ClaudeStream,
    /// `claude --output-format json`: one result object, or with `--verbose` one array of messages.
    ClaudeJson,
    /// `claude` in text mode: only the exit code and the text say anything.
    ClaudeText,
    /// `claw --output-format json`: one envelope.
    ClawJson,
    /// `claw` in text mode: only the exit code has a contract.
    ClawText,
    /// The document of another agent, whose contract says what it means.
    AgentJson,
    /// A log of the claws event protocol, which is no run and has no verdict.
    EventLog,
}

impl Protocol {
    /// The protocol of a recorded run, from its arguments and from `named`, the contract that the user named (`chosen`)
    /// or else that its target promises. Where there is none, a target that is called as a family belongs to it, and
    /// every other one is taken for a Claude CLI.
    pub(super) fn of_run(facts: &Facts, chosen: Option<&ContractSet>, named: Option<&ContractSet>) -> Self {
        let by_target = Family::from_name(&facts.target);
        let family = match named.map(ContractSet::family) {
            None | Some(Family::Document) => by_target.unwrap_or(Family::Claude),
            Some(family) => family,
        };
        let is_claw = family == Family::Claw;
        let is_document = named.is_some_and(ContractSet::describes_document);
        let format =
            output_format(&facts.argv).or_else(|| facts.env("CLAW_OUTPUT_FORMAT").filter(|_| is_claw));
        let asks_for_text = facts.other.get(OUTPUT).is_some_and(|output| output == TEXT);
        match format {
            _ if family == Family::EventLog => Self::EventLog,
            _ if is_document && !asks_for_text => Self::AgentJson,
            // A wrong case still says what the user wanted.
            Some(format) if is_claw && format.eq_ignore_ascii_case("json") => Self::ClawJson,
            _ if is_claw => Self::ClawText,
            _ if family == Family::Stream && !asks_for_text => Self::ClaudeStream,
            Some("json") => Self::ClaudeJson,
            Some(format) if format != TEXT => Self::ClaudeStream,
            // Another agent is asked for what its contract describes in a way of its own, or always prints it.
            None if by_target.is_none() && !asks_for_text => Self::ClaudeText.fitting(chosen),
            _ => Self::ClaudeText,
        }
    }

    /// The protocol of a bare output, from its name and its first bytes.
    pub(super) fn detect(path: Option<&Path>, start: &[u8]) -> Self {
        if looks_like_events(start) {
            return Self::EventLog;
        }
        let extension = path.and_then(Path::extension).and_then(|extension| extension.to_str());
        if matches!(extension, Some("ndjson" | "jsonl")) {
            return Self::ClaudeStream;
        }
        let text = String::from_utf8_lossy(start);
        let mut scanner = Scanner::default();
        let Ok(document) = scanner.scan_first(text.trim_start()) else { return Self::ClaudeStream };
        let root = document.root();
        let is_message = |node: Node<'_>| {
            const TYPES: [&str; 9] = [
                "system",
                "assistant",
                "user",
                "result",
                "stream_event",
                "rate_limit_event",
                "control_request",
                "control_response",
                "tool_use_summary",
            ];
            node.get("type").is_some_and(|kind| TYPES.iter().any(|name| kind.is_text(name)))
        };
        // A result that lost its type is still no envelope of claw.
        let is_result = |root: Node<'_>| {
            root.get("type").is_none() && root.get("is_error").is_some() && root.get("num_turns").is_some()
        };
        let is = |name: &str| root.get("type").is_some_and(|kind| kind.is_text(name));
        let is_alone = text.trim_start()[document.end()..].trim().is_empty();
        match root.kind() {
            Kind::Array if root.items().next().is_some_and(is_message) => Self::ClaudeJson,
            Kind::Object if is_result(root) => Self::ClaudeJson,
            Kind::Object if root.get("type").is_none() || is("error") => Self::ClawJson,
            Kind::Object if is("result") && is_alone && extension == Some("json") => Self::ClaudeJson,
            _ => Self::ClaudeStream,
        }
    }

    /// This protocol, unless a contract was named that is about another one.
    #[must_use]
    pub(super) fn fitting(self, contract: Option<&ContractSet>) -> Self {
        let Some(contract) = contract else { return self };
        match contract.protocol() {
            schema::Protocol::Stream => Self::ClaudeStream,
            schema::Protocol::Events => Self::EventLog,
            schema::Protocol::Document if contract.describes_document() => Self::AgentJson,
            schema::Protocol::Document if contract.family() == Family::Claude => Self::ClaudeJson,
            schema::Protocol::Document if matches!(self, Self::ClaudeStream | Self::EventLog) => {
                Self::ClawJson
            }
            schema::Protocol::Document => self,
            schema::Protocol::Text => Self::ClaudeText,
        }
    }

    /// Whether the output is one document rather than a stream.
    pub fn is_document(self) -> bool {
        !matches!(self, Self::ClaudeStream | Self::EventLog)
    }
}

/// Whether the first line of an output is a record of an event log.
fn looks_like_events(start: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', start).unwrap_or(start.len());
    let text = String::from_utf8_lossy(&start[..end]);
    let mut scanner = Scanner::default();
    let Ok(document) = scanner.scan(text.trim()) else { return false };
    let root = document.root();
    let is_sidecar = root.get("type").and_then(Node::text).is_some_and(|kind| kind.starts_with("sidecar."));
    let is_record = root.get("topic").is_some_and(|topic| topic.text().is_some())
        && (root.get("payload").is_some() || root.get("data").is_some());
    is_sidecar || is_record
}

/// The value of `--output-format`, in either spelling; the last one wins, and what follows `--` is no flag.
fn output_format(argv: &[String]) -> Option<&str> {
    let mut format = None;
    let mut words = argv.iter().map(String::as_str).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word == "--output-format" {
            format = words.next().or(format);
        } else if let Some(value) = word.strip_prefix("--output-format=") {
            format = Some(value);
        }
    }
    format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_recording_decide() {
        let of = |target: &str, argv: &[&str]| {
            let argv = argv.iter().map(ToString::to_string).collect();
            Protocol::of_run(&Facts { target: target.into(), argv, ..Facts::default() }, None, None)
        };
        assert_eq!(of("claw", &["claw", "status", "--output-format", "json"]), Protocol::ClawJson);
        assert_eq!(of("claw", &["claw", "--output-format=json", "status"]), Protocol::ClawJson);
        assert_eq!(of("claw", &["claw", "status"]), Protocol::ClawText);
        assert_eq!(
            of("claw", &["claw", "--output-format=json", "--output-format", "text"]),
            Protocol::ClawText,
            "the last one wins"
        );
        assert_eq!(of("claw", &["claw", "-p", "x", "--", "--output-format", "json"]), Protocol::ClawText);
        assert_eq!(of("claw", &["claw", "--output-format", "JSON", "status"]), Protocol::ClawJson);
        assert_eq!(of("claude", &["claude", "-p", "x", "--output-format", "json"]), Protocol::ClaudeJson);
        assert_eq!(
            of("claude", &["claude", "-p", "x", "--output-format", "stream-json"]),
            Protocol::ClaudeStream
        );
    }

    #[test]
    fn the_shape_of_a_bare_output_is_a_help() {
        let of = |name: &str, text: &str| Protocol::detect(Some(Path::new(name)), text.as_bytes());
        assert_eq!(of("a.ndjson", "garbage"), Protocol::ClaudeStream);
        assert_eq!(of("a.json", r#"{"type":"result"}"#), Protocol::ClaudeJson);
        assert_eq!(of("a.json", r#"[{"type":"system"}]"#), Protocol::ClaudeJson);
        assert_eq!(of("a.json", r#"{"is_error":true,"num_turns":1}"#), Protocol::ClaudeJson);
        assert_eq!(of("a.json", r#"{"type":"error","kind":"parse"}"#), Protocol::ClawJson);
        assert_eq!(of("a.json", r#"{"command":"route"}"#), Protocol::ClawJson);
        assert_eq!(of("a.txt", r#"{"type":"system"}"#), Protocol::ClaudeStream);
        assert_eq!(of("a.txt", r#"{"type":"new_kind"}"#), Protocol::ClaudeStream);
        assert_eq!(of("a.json", "{\"type\":\"result\"}\n{\"type\":\"system\"}"), Protocol::ClaudeStream);
    }
}
