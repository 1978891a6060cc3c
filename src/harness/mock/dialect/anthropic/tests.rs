use super::*;
use crate::harness::mock::answer::AnswerSeed;
use crate::harness::mock::script::Turn;
#[cfg(test)]
use crate::run::scenario::Scenario;

const SEED: AnswerSeed = AnswerSeed { seed: 7, entry: 0, earlier: 0 };

fn turn(text: &str) -> Turn {
    let text = format!("scenario.name = \"t\"\n[[api.turns]]\n{text}");
    Scenario::parse("t.toml", &text).unwrap().script.turns.remove(0)
}

fn findings(body: &Value) -> Vec<String> {
    let headers = [("x-api-key", "k"), ("anthropic-version", "2023-06-01")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let request = ApiRequest::new("POST", "/v1/messages", headers, body.to_string().as_bytes());
    Anthropic
        .check_request(&request)
        .into_iter()
        .map(|found| format!("{} {}", found.pointer, found.message))
        .collect()
}

fn healthy() -> Value {
    json!({
        "model": "claude-x", "max_tokens": 2000, "stream": true, "system": [{"type": "text", "text": "s"}],
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "new_beta_key": {},
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}},
                  {"name": "web_search", "type": "web_search_20250305"}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
                                         {"type": "a_block_of_next_year", "x": 1}]},
            {"role": "system", "content": "brief"},
        ],
    })
}

#[test]
fn a_healthy_request_has_no_findings() {
    assert_eq!(findings(&healthy()), Vec::<String>::new());
}

#[test]
fn each_broken_request_has_its_finding() {
    let cases: [(&str, Value, &str); 12] = [
        ("/model", Value::Null, "/model "),
        ("/max_tokens", json!("many"), "/max_tokens "),
        ("/messages", json!([]), "/messages "),
        ("/messages/0/role", json!("robot"), "/messages/0/role "),
        ("/messages/0/content", json!(""), "/messages/0/content "),
        ("/messages/0/role", json!("assistant"), "the first message is not the user's"),
        ("/messages/1/content/0/input", json!("x"), "/messages/1/content/0/input "),
        ("/messages/2/content/0/tool_use_id", json!("t2"), "has no tool_result"),
        ("/messages/1/content/0/id", json!("t3"), "answers no call"),
        ("/system/0/text", json!(1), "/system"),
        ("/tools/0/input_schema", Value::Null, "/tools/0/input_schema "),
        ("/thinking/budget_tokens", json!(4000), "not less than max_tokens"),
    ];
    for (pointer, value, expected) in cases {
        let mut body = healthy();
        *body.pointer_mut(pointer).unwrap() = value;
        let found = findings(&body);
        assert!(found.iter().any(|found| found.contains(expected)), "{pointer}: {found:?}");
    }
}

#[test]
fn findings_never_repeat_the_value() {
    let mut body = healthy();
    body["model"] = json!(["sk-ant-secret"]);
    assert!(!findings(&body).concat().contains("secret"));
}

#[test]
fn everything_built_in_is_what_the_api_sends() {
    for side in &DATA.side {
        let answer = Answer::of_text(&side.answer, "claude", SEED);
        assert_eq!(Anthropic.check_answer(&answer), Ok(()), "{}", side.name);
    }
    for status in 400..600 {
        let error = ApiError::of_status(&Anthropic, status, SEED);
        assert_eq!(schema::check(&ERROR, &Anthropic.error_body(&error)), Ok(()));
    }
}

#[test]
fn what_the_api_never_sends_is_refused() {
    let healthy = Answer::of_text("x", "claude", SEED);
    for (pointer, value) in [
        ("/id", json!("other")),
        ("/stop_reason", json!("tired")),
        ("/content/0/text", json!(7)),
        ("/usage/output_tokens", json!(-1)),
        ("/role", json!("user")),
    ] {
        let mut message = events::message(&healthy);
        *message.pointer_mut(pointer).unwrap() = value;
        assert!(schema::check(&MESSAGE, &message).is_err(), "{pointer}");
    }
    let mut events = events::events(&healthy);
    events.truncate(3);
    assert!(check_events(&events).unwrap_err().contains("no message_stop"));
    let odd = events::events(&healthy).replace(2, b"event: ping\ndata: {\"type\":\"ping\",\"more\":1}\n\n");
    assert!(check_events(&odd).is_err());
}

#[test]
fn headers_are_part_of_the_contract() {
    let request = ApiRequest::new("POST", "/v1/messages", Vec::new(), healthy().to_string().as_bytes());
    let messages: Vec<_> = Anthropic.check_request(&request).into_iter().map(|found| found.message).collect();
    assert_eq!(
        messages,
        ["neither x-api-key nor authorization is sent", "the header anthropic-version is missing",]
    );
}

#[test]
fn a_stream_and_its_message_say_the_same_however_it_is_split() {
    for chunk in ["1", "3", "\"whole\"", "\"seeded:5\""] {
        let turn = turn(&format!(
            "chunk = {chunk}\nthinking = \"Häh? 日本\"\ntext = \"Grüße, \\\"Welt\\\" 🦀\\n\"\n\
             tools = [{{ name = \"Bash\", input = {{ command = \"echo 'é🦀'\", n = [1, 2.5] }} }}, {{ name = \"Read\" }}]"
        ));
        let answer = Answer::of_turn(&turn, "claude-x", SEED);
        let stream = events::events(&answer).into_parts().0;
        let replayed = Anthropic.read_stream(&stream, true);
        let whole = events::message(&answer).as_object().unwrap().clone();
        assert_eq!(replayed, Anthropic.read_body(whole), "chunk = {chunk}");
        assert_eq!(replayed.content.map_or(0, |blocks| blocks.len()), 4);
    }
}

#[test]
fn the_events_are_those_of_the_api() {
    let turn = turn("text = \"Hello there.\"\nchunk = 6\nusage = { output_tokens = 9 }");
    let events = events::events(&Answer::of_turn(&turn, "claude-x", SEED));
    let text = String::from_utf8(events.into_parts().0).unwrap();
    insta::assert_snapshot!(text.replace("\n\n", "\n"));
}

#[test]
fn the_stop_reason_follows_from_the_blocks() {
    let reason =
        |text: &str| events::message(&Answer::of_turn(&turn(text), "m", SEED))["stop_reason"].clone();
    assert_eq!(reason("text = \"x\""), "end_turn");
    assert_eq!(reason("tool.name = \"Bash\""), "tool_use");
    assert_eq!(reason("text = \"x\"\nstop_sequence = \"END\""), "stop_sequence");
    assert_eq!(reason("text = \"x\"\nstop_reason = \"max_tokens\""), "max_tokens");
}

#[test]
fn ids_repeat_in_a_replay_and_differ_between_occasions() {
    let id =
        |earlier| events::message(&Answer::of_text("x", "m", AnswerSeed { earlier, ..SEED }))["id"].clone();
    assert_eq!(id(0), id(0));
    assert_ne!(id(0), id(1));
}

#[test]
fn broken_tool_input_is_streamed_as_it_is() {
    let turn = turn("tool = { name = \"Bash\", input_json = \"{\\\"a\\\": \" }\nchunk = \"whole\"");
    let answer = Answer::of_turn(&turn, "m", SEED);
    let text = String::from_utf8(events::events(&answer).into_parts().0).unwrap();
    assert!(text.contains(r#""partial_json":"{\"a\": ""#), "{text}");
    assert_eq!(events::message(&answer)["content"][0]["input"], json!({}));
}
