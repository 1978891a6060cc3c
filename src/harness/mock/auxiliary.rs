//! Requests that a CLI makes on the side (titles, warm-ups, summaries, compaction): recognised by what they say, and
//! answered by something sensible without using up a turn of the script.

use serde_json::Value;

use super::request::Facts;

/// A kind of request on the side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Auxiliary {
    /// A title for the session.
    Title,
    /// Whether a message opens a new topic (older versions).
    Topic,
    Warmup,
    /// A probe of the quota with one token.
    Quota,
    /// A label for a group of tool calls.
    ToolSummary,
    /// The prefix of a shell command, for permission rules.
    CommandPrefix,
    /// A summary that replaces the conversation.
    Compaction,
    /// A search on the API's side.
    WebSearch,
}

/// Every kind with its name in scripts and in the journal, and what it is answered.
const KINDS: [(Auxiliary, &str, &str); 8] = [
    (Auxiliary::Title, "title", r#"{"title": "Scripted session"}"#),
    (Auxiliary::Topic, "topic", r#"{"isNewTopic": false, "title": null}"#),
    (Auxiliary::Warmup, "warmup", "Ready."),
    (Auxiliary::Quota, "quota", "#"),
    (Auxiliary::ToolSummary, "tool-summary", "Ran the scripted tools"),
    (Auxiliary::CommandPrefix, "command-prefix", "none"),
    (
        Auxiliary::Compaction,
        "compaction",
        "<analysis>\nA scripted conversation.\n</analysis>\n\n\
         <summary>\n1. Primary Request and Intent: a scripted conversation.\n</summary>",
    ),
    (Auxiliary::WebSearch, "web-search", "The search found nothing."),
];

impl Auxiliary {
    pub(super) fn all() -> [Auxiliary; KINDS.len()] {
        KINDS.map(|(kind, ..)| kind)
    }

    pub(super) fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// What it is answered.
    pub(super) fn answer(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// What kind of request this is, if it is one on the side.
    pub(super) fn recognise(facts: &Facts, body: &Value) -> Option<Self> {
        let user = facts.user.trim();
        let system = facts.system.as_str();
        let tools = body["tools"].as_array().map_or(0, Vec::len);
        if user == "Warmup" {
            Some(Auxiliary::Warmup)
        } else if user == "quota" && body["max_tokens"] == 1 {
            Some(Auxiliary::Quota)
        } else if tools == 0 && system.contains("sentence-case title") {
            Some(Auxiliary::Title)
        } else if tools == 0 && system.contains("isNewTopic") {
            Some(Auxiliary::Topic)
        } else if tools == 0 && system.contains("summary label describing what these tool calls") {
            Some(Auxiliary::ToolSummary)
        } else if tools == 0 && (mentions_prefixes(system) || mentions_prefixes(user)) {
            Some(Auxiliary::CommandPrefix)
        } else if user.contains("create a detailed summary of") {
            Some(Auxiliary::Compaction)
        } else if system.contains("performing a web search tool use")
            || (tools == 1 && searches(body) && user.starts_with("Perform a web search"))
        {
            Some(Auxiliary::WebSearch)
        } else {
            None
        }
    }
}

/// Whether the first tool offered is the API's own search.
fn searches(body: &Value) -> bool {
    body["tools"][0]["type"].as_str().is_some_and(|kind| kind.starts_with("web_search"))
}

fn mentions_prefixes(text: &str) -> bool {
    text.contains("process Bash commands that an AI coding agent wants to run")
        || text.contains("<policy_spec>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::mock::request::ApiRequest;
    use serde_json::json;

    fn kind(body: &Value) -> Option<&'static str> {
        let text = body.to_string();
        ApiRequest::new("POST", "/v1/messages", Vec::new(), text.as_bytes())
            .facts
            .auxiliary
            .map(Auxiliary::name)
    }

    #[test]
    fn each_kind_stands_at_its_place_in_the_table() {
        for (place, kind) in Auxiliary::all().into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
    }

    #[test]
    fn each_kind_is_recognised_by_what_it_says() {
        let ask = |system: &str, user: &str| {
            json!({"max_tokens": 1, "system": [{"type": "text", "text": system}],
                   "messages": [{"role": "user", "content": user}]})
        };
        assert_eq!(kind(&ask("Generate a concise, sentence-case title (3-7 words)", "x")), Some("title"));
        assert_eq!(kind(&ask("Analyze … isNewTopic", "x")), Some("topic"));
        assert_eq!(kind(&ask("You are", "Warmup")), Some("warmup"));
        assert_eq!(kind(&ask("", "quota")), Some("quota"));
        assert_eq!(
            kind(&ask("Write a short summary label describing what these tool calls accomplished.", "x")),
            Some("tool-summary")
        );
        assert_eq!(kind(&ask("", "<policy_spec> ls")), Some("command-prefix"));
        assert_eq!(
            kind(&ask("", "Your task is to create a detailed summary of the conversation so far")),
            Some("compaction")
        );
        assert_eq!(
            kind(&ask("You are an assistant for performing a web search tool use", "x")),
            Some("web-search")
        );
    }

    #[test]
    fn a_search_of_the_cli_is_told_from_a_turn_that_may_search() {
        let body = |tools: Value, user: &str| json!({"tools": tools, "messages": [{"role": "user", "content": user}]});
        let search = json!({"name": "web_search", "type": "web_search_20250305"});
        let bash = json!({"name": "Bash", "input_schema": {}});
        assert_eq!(kind(&body(json!([search]), "Perform a web search for the query: x")), Some("web-search"));
        assert_eq!(kind(&body(json!([search]), "What is new?")), None);
        assert_eq!(kind(&body(json!([search, bash]), "Perform a web search, please")), None);
    }

    #[test]
    fn a_real_turn_that_mentions_a_title_is_a_turn() {
        let body = json!({"system": "Generate a concise, sentence-case title", "tools": [{"name": "Bash"}],
                          "messages": [{"role": "user", "content": "Warmup exercises, please"}]});
        assert_eq!(kind(&body), None);
    }
}
