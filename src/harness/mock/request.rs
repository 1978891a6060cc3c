//! What a request says: the facts that matching, journal and validation look at, derived once.

use serde_json::Value;

use super::auxiliary::Auxiliary;

/// A request as it came over the wire, its body parsed once.
#[derive(Debug)]
#[non_exhaustive]
pub struct ApiRequest {
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

/// What follows from a Messages request.
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
    /// The text of the first user message.
    pub prompt: String,
    /// The text that the user said since the last answer.
    pub user: String,
    /// The tool results since the last answer.
    pub tool_results: Vec<ToolResult>,
    /// Work on the side, recognised by its content.
    pub auxiliary: Option<Auxiliary>,
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

/// What a path means, whatever prefix the base URL has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
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
        let parsed = if body.is_empty() {
            Body::Empty
        } else {
            match serde_json::from_slice(body) {
                Ok(value) => Body::Json(value),
                Err(error) => Body::Broken(error.to_string()),
            }
        };
        let mut facts = match &parsed {
            Body::Json(value) => Facts::of(value),
            Body::Empty | Body::Broken(_) => Facts::default(),
        };
        facts.agent = header(&headers, "x-claude-code-agent-id").map(str::to_owned);
        ApiRequest {
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

    /// What the path means.
    pub fn endpoint(&self) -> Endpoint {
        let path = self.path.trim_end_matches('/');
        if path.ends_with("/v1/messages") {
            Endpoint::Messages
        } else if path.ends_with("/v1/messages/count_tokens") {
            Endpoint::CountTokens
        } else if path.ends_with("/v1/models") || path.contains("/v1/models/") {
            Endpoint::Models
        } else if path.ends_with("/api/hello") {
            Endpoint::Hello
        } else if path.is_empty() || (self.path.ends_with('/') && !path.contains("/v1")) {
            Endpoint::Root
        } else {
            Endpoint::Other
        }
    }

    /// Whether a scripted turn may answer it.
    pub fn is_message(&self) -> bool {
        self.method == "POST" && self.endpoint() == Endpoint::Messages
    }
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

impl Facts {
    fn of(body: &Value) -> Self {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        // The Claude CLI appends `role: "system"` messages at times: they say something, and answer nothing.
        let turns: Vec<&Value> = messages.iter().filter(|message| message["role"] != "system").collect();
        let mut system = text_of(&body["system"]);
        for message in messages.iter().filter(|message| message["role"] == "system") {
            append(&mut system, &text_of(&message["content"]));
        }
        let last_answer = turns.iter().rposition(|message| message["role"] == "assistant");
        let mut answers = 0;
        for (index, message) in turns.iter().enumerate() {
            let follows_another = index > 0 && turns[index - 1]["role"] == "assistant";
            answers += usize::from(message["role"] == "assistant" && !follows_another);
        }
        let continued = last_answer.is_some_and(|index| index + 1 == turns.len());
        let mut user = String::new();
        let mut tool_results = Vec::new();
        for message in &turns[last_answer.map_or(0, |index| index + 1)..] {
            append(&mut user, &text_of(&message["content"]));
            for block in message["content"].as_array().into_iter().flatten() {
                if block["type"] == "tool_result" {
                    tool_results.push(ToolResult {
                        tool: tool_of(&turns, block["tool_use_id"].as_str().unwrap_or_default()),
                        text: text_of(&block["content"]),
                        is_error: block["is_error"] == true,
                    });
                }
            }
        }
        let prompt = turns
            .iter()
            .find(|message| message["role"] == "user")
            .map_or_else(String::new, |message| text_of(&message["content"]));
        let mut facts = Facts {
            position: answers + usize::from(!continued),
            agent: None,
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            stream: body["stream"] == true,
            system,
            prompt,
            user,
            tool_results,
            auxiliary: None,
        };
        facts.auxiliary = Auxiliary::recognise(&facts, body);
        facts
    }
}

/// The text of a string or of the text blocks of a list.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let mut text = String::new();
            for block in blocks {
                if let Some(part) = block["text"].as_str() {
                    append(&mut text, part);
                }
            }
            text
        }
        _ => String::new(),
    }
}

fn append(text: &mut String, part: &str) {
    if !text.is_empty() && !part.is_empty() {
        text.push('\n');
    }
    text.push_str(part);
}

fn tool_of(turns: &[&Value], id: &str) -> String {
    turns
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .find(|block| block["type"] == "tool_use" && block["id"] == id)
        .and_then(|block| block["name"].as_str())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn facts(body: &Value) -> Facts {
        ApiRequest::new("POST", "/v1/messages?beta=true", Vec::new(), body.to_string().as_bytes()).facts
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
        let endpoint = |path: &str| ApiRequest::new("POST", path, Vec::new(), b"").endpoint();
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
            for (target, body) in [("/v1/messages", text.as_bytes()), (&target, text.as_bytes()), ("/v1/messages", &bytes)] {
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
