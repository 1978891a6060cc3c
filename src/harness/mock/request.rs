//! What a request says: the facts that matching, journal and validation look at, derived once.

use std::sync::Arc;

use serde_json::Value;

use super::dialect::conversation::{Conversation, Said, Speaker, joined};
use super::dialect::data::{ApiData, SideRequest};
use super::dialect::{self, Asked, Dialect, Target};

/// A request as it came over the wire, its body parsed once.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApiRequest {
    /// The API that it is meant for.
    pub(crate) dialect: &'static dyn Dialect,
    /// What its path means there.
    pub endpoint: Endpoint,
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The query, without `?`; empty when there is none.
    pub query: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as sent.
    pub body_bytes: usize,
    pub body: Body,
    /// What follows from the body and headers.
    pub facts: Facts,
}

/// The body of a request.
#[derive(Debug)]
pub enum Body {
    Empty,
    Json(Value),
    /// Not JSON; the parser's words.
    Broken(String),
}

/// What follows from a request for an answer.
#[derive(Debug, Default, Clone)]
#[non_exhaustive]
pub struct Facts {
    /// Which answer of this conversation is asked for, from 1. A continued answer (the last message is the
    /// assistant's) counts as itself.
    pub position: usize,
    /// The sub-agent that asks.
    pub agent: Option<String>,
    pub model: String,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// All system text, also that of `role: "system"` messages.
    pub system: String,
    /// What the user said before the first answer, without what the command line adds to it.
    pub prompt: Arc<String>,
    /// What the user said since the last answer, without what the command line adds to it.
    pub user: Arc<String>,
    /// The tool results since the last answer.
    pub tool_results: Vec<ToolResult>,
    /// The limit on output.
    pub max_tokens: Option<u64>,
    /// How many messages or items it lists.
    pub messages: usize,
    /// How many tools are offered.
    pub tools: usize,
    /// The type of the first tool, where it has one.
    pub first_tool: String,
    /// Work on the side, recognised by its content.
    pub(crate) side: Option<&'static SideRequest>,
}

/// A tool result in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The tool, by the call it answers; empty when there is no such call.
    pub tool: String,
    pub text: String,
    /// Whether it reports an error.
    pub is_error: bool,
}

/// What a path means, whatever API it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// An answer of the model is asked for.
    Messages,
    CountTokens,
    Models,
    Hello,
    /// `/` or the prefix alone.
    Root,
    Other,
}

impl Endpoint {
    /// A word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Endpoint::Messages => "messages",
            Endpoint::CountTokens => "count-tokens",
            Endpoint::Models => "models",
            Endpoint::Hello => "hello",
            Endpoint::Root => "root",
            Endpoint::Other => "other",
        }
    }
}

impl ApiRequest {
    /// Reads a request. `target` is the request line's, with its query.
    pub fn new(method: impl Into<String>, target: &str, headers: Vec<(String, String)>, body: &[u8]) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let parsed =
            if body.is_empty() { Body::Empty } else { read(body).map_or_else(Body::Broken, Body::Json) };
        let target = Target { path, query, headers: &headers };
        let (dialect, endpoint) = dialect::recognise(&target);
        let facts = match &parsed {
            Body::Json(value) => Facts::of(&dialect.read(&target, value), dialect.data()),
            Body::Empty | Body::Broken(_) => {
                let conversation = dialect.read(&target, &Value::Null);
                let agent = conversation.agent.map(str::to_owned);
                let model = conversation.model.to_owned();
                Facts { agent, model, stream: conversation.stream, ..Facts::default() }
            }
        };
        ApiRequest {
            dialect,
            endpoint,
            method: method.into(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body_bytes: body.len(),
            body: parsed,
            facts,
        }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The body as JSON, when it is.
    pub fn json(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            Body::Empty | Body::Broken(_) => None,
        }
    }

    /// Where it goes.
    pub(crate) fn target(&self) -> Target<'_> {
        Target { path: &self.path, query: &self.query, headers: &self.headers }
    }

    /// How the answer is asked for.
    pub(crate) fn asked(&self) -> Asked<'_> {
        Asked { body: self.json().unwrap_or(&Value::Null), query: &self.query }
    }

    /// Whether a scripted turn may answer it.
    pub fn is_message(&self) -> bool {
        self.method == "POST" && self.endpoint == Endpoint::Messages
    }
}

/// A body with more values is none that a client would send, and would take up many times its length.
const MOST_VALUES: usize = 200_000;

fn read(body: &[u8]) -> Result<Value, String> {
    if most_values(body) > MOST_VALUES {
        return Err(format!("it holds more than {MOST_VALUES} values"));
    }
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

/// No JSON has more values than there are of these marks outside of its strings, and one.
fn most_values(body: &[u8]) -> usize {
    let (mut count, mut rest) = (1, body);
    while let Some(at) = memchr::memchr(b'"', rest) {
        count += rest[..at].iter().filter(|byte| b",:[{".contains(byte)).count();
        rest = &rest[at + 1..];
        loop {
            match memchr::memchr2(b'"', b'\\', rest) {
                Some(at) if rest[at] == b'\\' => rest = rest.get(at + 2..).unwrap_or_default(),
                Some(at) => break rest = &rest[at + 1..],
                None => return count,
            }
        }
    }
    count + rest.iter().filter(|byte| b",:[{".contains(byte)).count()
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

impl Facts {
    fn of(conversation: &Conversation<'_>, sides: &'static ApiData) -> Self {
        let said = &conversation.said;
        let is_model = |said: &Said<'_>| said.by == Speaker::Model;
        let last_answer = said.iter().rposition(is_model);
        let mut answers = 0;
        for (index, message) in said.iter().enumerate() {
            let follows_another = index > 0 && is_model(&said[index - 1]);
            answers += usize::from(is_model(message) && !follows_another);
        }
        let continued = last_answer.is_some_and(|index| index + 1 == said.len());
        let since = &said[last_answer.map_or(0, |index| index + 1)..];
        let results = since.iter().flat_map(|message| &message.results).map(|result| ToolResult {
            tool: conversation.tool_of(result.call).to_owned(),
            text: result.text.clone().into_owned(),
            is_error: result.is_error,
        });
        let user = Arc::new(joined(since.iter().flat_map(|message| message.text.iter().copied())));
        // Some say where they are in a message of the user before the one with the question.
        let prompt = said.iter().take_while(|message| !is_model(message));
        let prompt = prompt.filter(|message| message.by == Speaker::User);
        let mut facts = Facts {
            position: answers + usize::from(!continued),
            agent: conversation.agent.map(str::to_owned),
            model: conversation.model.to_owned(),
            stream: conversation.stream,
            system: joined(conversation.system.iter().copied()),
            // One text, which may be large, and not two of it.
            prompt: if said.iter().all(|message| message.by == Speaker::User) {
                Arc::clone(&user)
            } else {
                Arc::new(joined(prompt.flat_map(|message| message.text.iter().copied())))
            },
            user,
            tool_results: results.collect(),
            max_tokens: conversation.max_tokens,
            messages: conversation.listed,
            tools: conversation.tools,
            first_tool: conversation.first_tool.to_owned(),
            side: None,
        };
        facts.side = sides.recognise(&facts);
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn facts(body: &Value) -> Facts {
        ApiRequest::new("POST", "/v1/messages?beta=true", Vec::new(), body.to_string().as_bytes()).facts
    }

    fn values(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(values).sum(),
            Value::Object(members) => members.values().map(values).sum(),
            _ => 0,
        }
    }

    #[test]
    fn a_body_that_would_take_up_many_times_its_length_is_not_read() {
        let text = format!("\"{}\"", "a,[{:\\\"".repeat(100_000));
        assert!(matches!(
            ApiRequest::new("POST", "/v1/messages", Vec::new(), text.as_bytes()).body,
            Body::Json(_)
        ));
        for part in ["0,", "[],", "{\"a\":0},"] {
            let text = format!("[{}0]", part.repeat(MOST_VALUES));
            let body = ApiRequest::new("POST", "/v1/messages", Vec::new(), text.as_bytes()).body;
            assert!(matches!(body, Body::Broken(why) if why.contains("200000 values")), "{part}");
        }
    }

    proptest! {
        #[test]
        fn no_json_has_more_values_than_are_counted(text in r#"[\[\]{}:,"a0\\ ]{0,24}"#) {
            if let Ok(value) = serde_json::from_str(&text) {
                prop_assert!(values(&value) <= most_values(text.as_bytes()), "{}", text);
            }
        }
    }

    #[test]
    fn the_position_is_counted_from_the_conversation() {
        let first = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        assert_eq!(facts(&first).position, 1);
        let third = json!({"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "one"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
            {"role": "user", "content": "And?"},
            {"role": "system", "content": "be brief"},
        ]});
        let facts = facts(&third);
        assert_eq!(facts.position, 3);
        assert_eq!((facts.prompt.as_str(), facts.user.as_str()), ("Hi", "And?"));
        assert_eq!(facts.system, "be brief");
    }

    #[test]
    fn the_prompt_is_all_that_the_user_said_before_the_first_answer() {
        let body = json!({"messages": [
            {"role": "user", "content": "I am in /work."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": "And?"},
        ]});
        assert_eq!(facts(&body).prompt.as_str(), "I am in /work.\nHi");
    }

    #[test]
    fn what_the_command_line_reminds_of_is_not_what_the_user_said() {
        let reminder = "<system-reminder>\nSkills:\n- greet: Greets people.\n</system-reminder>\n";
        for (content, expected) in [
            (json!([{"type": "text", "text": reminder}, {"type": "text", "text": "Hello"}]), "Hello"),
            (json!(format!("{reminder}Hello\n{reminder}Bye")), "Hello\nBye"),
            (json!(reminder), ""),
            (json!("What is <system-reminder>?"), "What is <system-reminder>?"),
        ] {
            let facts = facts(&json!({"messages": [{"role": "user", "content": content}]}));
            assert_eq!((facts.prompt.as_str(), facts.user.as_str()), (expected, expected));
        }
    }

    #[test]
    fn a_prefilled_answer_is_the_one_being_asked_for() {
        let body = json!({"messages": [
            {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "{"},
        ]});
        assert_eq!(facts(&body).position, 1);
    }

    #[test]
    fn tool_results_know_their_tool() {
        let body = json!({"messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": true,
                 "content": [{"type": "text", "text": "no such file"}]},
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
            ]},
            {"role": "system", "content": [{"type": "text", "text": "s"}]},
        ]});
        let facts = facts(&body);
        assert_eq!(
            facts.tool_results,
            [ToolResult { tool: "Bash".into(), text: "no such file".into(), is_error: true }]
        );
    }

    #[test]
    fn a_prefix_before_the_path_does_not_matter() {
        let endpoint = |path: &str| ApiRequest::new("POST", path, Vec::new(), b"").endpoint;
        assert_eq!(endpoint("/v1/messages?beta=true"), Endpoint::Messages);
        assert_eq!(endpoint("/proxy/v1/messages"), Endpoint::Messages);
        assert_eq!(endpoint("/v1/messages/count_tokens"), Endpoint::CountTokens);
        assert_eq!(endpoint("/v1/models/claude-x"), Endpoint::Models);
        assert_eq!(endpoint("/"), Endpoint::Root);
        assert_eq!(endpoint("/prefix/"), Endpoint::Root);
        assert_eq!(endpoint("/api/hello"), Endpoint::Hello);
        assert_eq!(endpoint("/v2/other"), Endpoint::Other);
    }

    /// Any JSON, with the words that mean something here more often than chance would have them.
    fn any_body() -> impl Strategy<Value = Value> {
        let word = prop_oneof![
            Just("user"),
            Just("assistant"),
            Just("system"),
            Just("tool_use"),
            Just("tool_result"),
            Just("text"),
            Just("Warmup"),
            Just("quota"),
            Just("message"),
            Just("function_call"),
            Just("function_call_output"),
            Just("response.completed"),
            Just("response.output_item.added"),
            Just("chat.completion"),
            Just("t1"),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            word.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        let key = prop::sample::select(vec![
            "model",
            "messages",
            "role",
            "content",
            "type",
            "text",
            "id",
            "tool_use_id",
            "name",
            "input",
            "system",
            "stream",
            "tools",
            "max_tokens",
            "is_error",
            "thinking",
            "budget_tokens",
            "input",
            "output",
            "contents",
            "parts",
            "functionCall",
            "functionResponse",
            "response",
            "candidates",
            "usageMetadata",
            "choices",
            "delta",
            "tool_calls",
            "function",
            "error",
            "item",
        ]);
        leaf.prop_recursive(6, 60, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..8).prop_map(|pairs| pairs
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_body_is_too_strange_to_be_looked_at(body in any_body(), target in "\\PC{0,20}", bytes: Vec<u8>) {
            use crate::harness::mock::journal::{JournalEntry, Unmatched};
            use crate::harness::mock::{matcher, validate};
            use crate::run::scenario::Scenario;
            let text = body.to_string();
            let turns = Scenario::parse("tool-use", crate::run::scenario::library::text("tool-use").unwrap()).unwrap().script.turns;
            for dialect in dialect::ALL {
                let event = format!("data: {text}\n\n");
                for stream in [event.as_bytes(), format!("[{text}").as_bytes(), &bytes] {
                    dialect.read_stream(stream, true);
                }
                body.as_object().map(|body| dialect.read_body(body.clone()));
            }
            let paths = ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/g:generateContent"];
            let asked = paths.map(|path| (path, text.as_bytes()));
            for (target, body) in asked.into_iter().chain([(&*target, text.as_bytes()), ("/v1/messages", &bytes)]) {
                let request = ApiRequest::new("POST", target, Vec::new(), body);
                validate::check_request(&request);
                let entry = JournalEntry::new(1, 0.0, &request, body);
                prop_assert_eq!(entry.body.map_or(0, |digest| digest.bytes), body.len());
                Unmatched::new(&request, matcher::nearest(&turns, &request));
                for turn in &turns {
                    let by_words = turn.when.misses(&request).is_empty();
                    prop_assert_eq!(turn.when.matches(&request), by_words && request.is_message());
                }
            }
        }
    }
}
