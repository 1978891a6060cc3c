//! The same script in every dialect: what one means, all mean.

use serde_json::json;

use super::conversation::{Call, Returned, Said, Speaker};
use super::*;
use crate::harness::mock::fault::{Fault, FaultKind};
use crate::harness::mock::request::{Facts, ToolResult};
use crate::harness::mock::script::Turn;
#[cfg(test)]
use crate::run::scenario::Scenario;

const SEED: AnswerSeed = AnswerSeed { seed: 7, entry: 0, earlier: 0 };

fn turn(text: &str) -> Turn {
    let text = format!("scenario.name = \"t\"\n[[api.turns]]\n{text}");
    Scenario::parse("t.toml", &text).unwrap().script.turns.remove(0)
}

fn answer(text: &str) -> Answer {
    Answer::of_turn(&turn(text), "m", SEED)
}

fn body(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// What a client gets of an answer: by a stream, by a list where the API has such streams, and whole.
fn told(dialect: &dyn Dialect, answer: &Answer) -> [Message; 3] {
    let streamed = |query| {
        let asked = Asked { body: &json!({"stream_options": {"include_usage": true}}), query };
        let events = dialect.events(answer, asked);
        dialect.read_stream(&events.into_parts().0, true)
    };
    [streamed("alt=sse"), streamed(""), dialect.read_body(body(&dialect.message(answer, Asked::PLAINLY)))]
}

const FULL: &str = "thinking = \"Häh? 日本\"\ntext = \"Grüße, \\\"Welt\\\" 🦀\\n\"\n\
    tools = [{ id = \"call_1\", name = \"Bash\", input = { command = \"echo 'é🦀'\", n = [1, 2.5] } }, { name = \"Read\" }]\n\
    usage = { input_tokens = 11, output_tokens = 40, cache_read_input_tokens = 3 }";

#[test]
fn every_dialect_tells_the_same_by_a_stream_and_whole_however_it_is_split() {
    for dialect in ALL {
        for chunk in ["1", "3", "\"whole\"", "\"seeded:5\""] {
            let answer = answer(&format!("{FULL}\nchunk = {chunk}"));
            assert_eq!(dialect.check_answer(&answer), Ok(()));
            for told in told(dialect, &answer) {
                let name = dialect.name();
                let content = told.content.unwrap();
                assert_eq!(content.len(), 4, "{name}, {chunk}");
                assert_eq!(content[0]["thinking"], "Häh? 日本", "{name}, {chunk}");
                assert_eq!(
                    content[1],
                    json!({"type": "text", "text": "Grüße, \"Welt\" 🦀\n"}),
                    "{name}, {chunk}"
                );
                let input = json!({"command": "echo 'é🦀'", "n": [1, 2.5]});
                let call = json!({"type": "tool_use", "id": "call_1", "name": "Bash", "input": input});
                assert_eq!(content[2], call, "{name}, {chunk}");
                assert_eq!(
                    (&content[3]["name"], &content[3]["input"]),
                    (&json!("Read"), &json!({})),
                    "{name}"
                );
                assert!(content[3]["id"].as_str().unwrap().len() > 8, "{name}");
                assert_eq!((told.stop_reason, told.model), (json!("tool_use"), json!("m")), "{name}");
                let usage =
                    ["input_tokens", "output_tokens", "cache_read_input_tokens"].map(|key| &told.usage[key]);
                assert_eq!(usage, [11, 40, 3].map(|count| json!(count)).each_ref(), "{name}, {chunk}");
                assert!(told.is_ended && told.error.is_null() && told.id.is_string(), "{name}");
            }
        }
    }
}

#[test]
fn each_reason_to_stop_is_told_in_the_words_of_the_api() {
    let words = |reason: &str| {
        let answer = answer(&format!("text = \"x\"\nstop_reason = \"{reason}\""));
        let [_, responses, chat, gemini] = ALL.map(|dialect| dialect.message(&answer, Asked::PLAINLY));
        for dialect in ALL {
            for told in told(dialect, &answer) {
                let wanted = if reason == "stop_sequence" && dialect.name() != "anthropic" {
                    "end_turn"
                } else {
                    reason
                };
                assert_eq!(told.stop_reason, wanted, "{}", dialect.name());
            }
        }
        let status = [&responses["status"], &responses["incomplete_details"]["reason"]].map(Clone::clone);
        json!([status, chat["choices"][0]["finish_reason"], gemini["candidates"][0]["finishReason"]])
    };
    assert_eq!(words("end_turn"), json!([["completed", null], "stop", "STOP"]));
    assert_eq!(words("stop_sequence"), json!([["completed", null], "stop", "STOP"]));
    assert_eq!(words("max_tokens"), json!([["incomplete", "max_output_tokens"], "length", "MAX_TOKENS"]));
    assert_eq!(words("refusal"), json!([["incomplete", "content_filter"], "content_filter", "SAFETY"]));
}

#[test]
fn what_an_api_cannot_say_is_told_as_that() {
    let can = |text: &str| ALL.map(|dialect| dialect.check_answer(&answer(text)).is_ok());
    assert_eq!(can("text = \"x\""), [true; 4]);
    assert_eq!(can("text = \"x\"\nstop_reason = \"pause_turn\""), [true, false, false, false]);
    assert_eq!(can("text = \"x\"\nstop_reason = \"tired\""), [false; 4]);
    let raw = "blocks = [{ raw = { type = \"redacted_thinking\", data = \"x\" } }]";
    assert_eq!(can(raw), [true, true, false, false]);
}

#[test]
fn a_call_with_broken_arguments_is_told_as_each_api_does() {
    let broken = answer("tool = { name = \"Bash\", input_json = \"{\\\"a\\\": \" }\nchunk = \"whole\"");
    for dialect in &ALL[1..3] {
        for told in told(*dialect, &broken) {
            assert_eq!(told.content.unwrap()[0]["partial_json"], "{\"a\": ", "{}", dialect.name());
        }
    }
    // Gemini has parsed them already, and says why there is no call.
    let told = ALL[3].message(&broken, Asked::PLAINLY);
    assert_eq!(told["candidates"][0]["finishReason"], "MALFORMED_FUNCTION_CALL");
    assert_eq!(told["candidates"][0]["content"]["parts"], json!([]));
}

#[test]
fn a_tool_that_takes_text_is_called_with_text() {
    let asked = json!({"tools": [{"type": "custom", "name": "apply_patch"}]});
    let asked = Asked { body: &asked, query: "" };
    let answer = answer("tool = { name = \"apply_patch\", input = { input = \"*** Begin\" } }");
    let item = &ALL[1].message(&answer, asked)["output"][0];
    assert_eq!((&item["type"], &item["input"]), (&json!("custom_tool_call"), &json!("*** Begin")));
    let stream = ALL[1].events(&answer, asked).into_parts().0;
    let told = ALL[1].read_stream(&stream, true).content.unwrap();
    assert_eq!((&told[0]["name"], &told[0]["input"]["input"]), (&json!("apply_patch"), &json!("*** Begin")));
}

#[test]
fn what_was_cut_is_told_as_far_as_it_came() {
    for dialect in ALL {
        for query in ["alt=sse", ""] {
            let asked = Asked { body: &Value::Null, query };
            let mut events = dialect.events(&answer("text = \"Hello there.\"\nchunk = 4"), asked);
            let last = (1..=events.len()).find(|at| {
                let text = String::from_utf8_lossy(events.event(*at).unwrap()).into_owned();
                text.contains("Hell")
            });
            events.truncate(last.unwrap());
            let (bytes, _) = events.into_parts();
            for garbage in ["", "data: {\"x", ",\r\n{\"candid"] {
                let is_list = bytes.starts_with(b"[");
                if garbage.starts_with(',') != is_list && !garbage.is_empty() {
                    continue;
                }
                let told = dialect.read_stream(&[&bytes[..], garbage.as_bytes()].concat(), false);
                let wanted = json!([{"type": "text", "text": "Hell"}]);
                assert_eq!(Value::from(told.content.unwrap()), wanted, "{} {garbage}", dialect.name());
                assert!(!told.is_ended && told.stop_reason.is_null(), "{}", dialect.name());
            }
        }
    }
}

#[test]
fn errors_are_worded_by_their_status_and_type() {
    let http = |text: &str| match text.parse::<Fault>().unwrap().kind {
        FaultKind::Http(http) => http,
        _ => panic!("{text}"),
    };
    let of = |dialect: &dyn Dialect, text: &str| {
        dialect.error_body(&ApiError::of_fault(dialect, &http(text), SEED))["error"].clone()
    };
    for dialect in ALL {
        for status in 400..600 {
            let error = ApiError::of_status(dialect, status, SEED);
            let read = dialect.read_body(body(&dialect.error_body(&error)));
            assert_eq!(read.error["message"], error.message, "{}: {status}", dialect.name());
            assert!(read.error["type"].is_string() && read.is_ended, "{}: {status}", dialect.name());
        }
        let own = of(dialect, "http:status=400,type=something_else,message=no");
        assert!(own.to_string().contains("something_else") && own["message"] == "no", "{own}");
    }
    let [_, responses, chat, gemini] = ALL;
    let limited = of(responses, "http:status=429");
    assert_eq!((&limited["type"], &limited["code"]), (&json!("requests"), &json!("rate_limit_exceeded")));
    assert_eq!(limited, of(chat, "http:status=429"));
    let limited = of(gemini, "http:status=429,retry-after=7");
    assert_eq!((&limited["code"], &limited["status"]), (&json!(429), &json!("RESOURCE_EXHAUSTED")));
    assert_eq!(limited["details"][0]["retryDelay"], "7s");
    // A type of the Messages API is told as the others tell it.
    assert_eq!(of(responses, "http:status=503,type=authentication_error")["code"], "invalid_api_key");
    assert_eq!(ApiError::of_type(gemini, "overloaded_error", SEED).status, 503);
    assert_eq!(ApiError::of_type(responses, "rate_limit_error", SEED).status, 429);
    assert_eq!(ApiError::of_type(ALL[0], "overloaded_error", SEED).status, 529);
    // The limit of a plan, with its end.
    let spent = http("http:status=429,unified=rejected,resets-at=99,should-retry=false,retry-after=3");
    assert_eq!(of(responses, "http:status=429,unified=rejected,resets-at=99")["resets_at"], 99);
    assert!(of(gemini, "http:status=429,unified=rejected").to_string().contains("PerDay"));
    let headers = |dialect| {
        let headers = fault_headers(dialect, &spent).into_iter();
        headers.map(|(name, _)| name).collect::<Vec<String>>()
    };
    assert!(headers(ALL[0]).contains(&"anthropic-ratelimit-unified-reset".to_owned()));
    assert_eq!(headers(responses)[..3], ["retry-after", "x-should-retry", "x-codex-active-limit"]);
    assert_eq!(headers(gemini), Vec::<String>::new());
}

fn conversation() -> Conversation<'static> {
    let by = |by, text| Said { by, text: vec![text], ..Said::default() };
    let call = Call { id: "call_1", name: "Bash" };
    let result = Returned { call: "call_1", text: "no such file".into(), is_error: true };
    Conversation {
        model: "the-model",
        system: vec!["Be brief."],
        said: vec![
            by(Speaker::User, "Hi"),
            by(Speaker::Model, "Yes?"),
            by(Speaker::User, "List."),
            Said { by: Speaker::Model, calls: vec![call], ..Said::default() },
            Said { results: vec![result], text: vec!["Go on."], ..Said::default() },
        ],
        ..Conversation::default()
    }
}

fn request(dialect: &dyn Dialect) -> (ApiRequest, Value) {
    let sample = dialect.request(&conversation());
    let text = sample.body.to_string();
    (ApiRequest::new("POST", &sample.target, sample.headers, text.as_bytes()), sample.body)
}

#[test]
fn every_dialect_reads_the_same_conversation() {
    for dialect in ALL {
        let (request, _) = request(dialect);
        let name = dialect.name();
        assert_eq!((request.dialect.name(), request.endpoint), (name, Endpoint::Messages));
        assert_eq!(dialect.check_request(&request), [], "{name}");
        let Facts { position, model, stream, system, prompt, user, tool_results, .. } = request.facts;
        assert_eq!((position, model.as_str(), stream), (3, "the-model", true), "{name}");
        assert_eq!(
            (system.as_str(), prompt.as_str(), user.as_str()),
            ("Be brief.", "Hi", "Go on."),
            "{name}"
        );
        // The APIs of OpenAI cannot say that a result is an error.
        let is_error = !name.starts_with("openai");
        let wanted = ToolResult { tool: "Bash".into(), text: "no such file".into(), is_error };
        assert_eq!(tool_results, [wanted], "{name}");
    }
}

#[test]
fn each_broken_request_has_its_finding() {
    let cases = [
        ("openai-responses", "/model", Value::Null, "/model "),
        ("openai-responses", "/input", json!([]), "/input "),
        ("openai-responses", "/input/0/role", json!("robot"), "/input"),
        ("openai-responses", "/input/0/content/0/text", json!(7), "/input"),
        ("openai-responses", "/input/3/call_id", json!("call_2"), "no tool output found for the call call_2"),
        ("openai-responses", "/input/4/call_id", json!("call_2"), "no tool call found for the output call_2"),
        ("openai-responses", "/input/3/arguments", json!({}), "/input"),
        ("openai-responses", "/stream", json!("yes"), "/stream "),
        ("openai-responses", "/max_tokens", json!(5), "/max_tokens "),
        ("openai-responses", "/messages", json!([]), "/messages "),
        ("openai-responses", "/max_output_tokens", json!(1), "/max_output_tokens "),
        ("openai-responses", "/tools", json!([{"type": "function", "function": {"name": "x"}}]), "/tools/0"),
        ("openai-responses", "/previous_response_id", json!("resp_1"), "keeps no conversations"),
        ("openai-chat", "/messages", json!([]), "/messages "),
        ("openai-chat", "/messages/1/role", json!("robot"), "/messages/1/role "),
        ("openai-chat", "/messages/1/content", Value::Null, "/messages/1/content "),
        ("openai-chat", "/messages/5/tool_call_id", json!("x"), "no tool output found for the call call_1"),
        ("openai-chat", "/messages/4/tool_calls/0/function/arguments", json!({}), "/messages/4/tool_calls"),
        ("openai-chat", "/input", json!("x"), "/input "),
        ("openai-chat", "/tools", json!([{"type": "function", "name": "x"}]), "/tools/0"),
        ("openai-chat", "/stream", json!(1), "/stream "),
        ("gemini", "/contents", json!([]), "/contents "),
        ("gemini", "/contents/0/role", json!("assistant"), "/contents/0/role "),
        ("gemini", "/contents/0/parts", json!([]), "/contents/0/parts "),
        ("gemini", "/contents/0/parts/0/text", json!(7), "/contents/0/parts/0/text "),
        (
            "gemini",
            "/contents/3/parts/0/functionCall/args",
            json!("x"),
            "/contents/3/parts/0/functionCall/args ",
        ),
        (
            "gemini",
            "/contents/4/parts/0/functionResponse/id",
            json!("x"),
            "no function response follows the call",
        ),
        ("gemini", "/messages", json!([]), "/messages "),
        ("gemini", "/generationConfig", json!({"temperature": 9}), "/generationConfig/temperature "),
        ("gemini", "/tools", json!([{"type": "function", "name": "x"}]), "/tools/0"),
    ];
    for (name, pointer, value, expected) in cases {
        let dialect = named(name).unwrap();
        let sample = dialect.request(&conversation());
        let mut body = sample.body;
        match body.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => body[pointer.trim_start_matches('/')] = value,
        }
        let request = ApiRequest::new("POST", &sample.target, sample.headers, body.to_string().as_bytes());
        let found = dialect.check_request(&request);
        let found: Vec<String> =
            found.iter().map(|found| format!("{} {}", found.pointer, found.message)).collect();
        assert!(found.iter().any(|found| found.contains(expected)), "{name} {pointer}: {found:?}");
    }
}

#[test]
fn a_request_without_a_credential_or_a_body_has_its_finding() {
    for dialect in ALL {
        let sample = dialect.request(&conversation());
        for (text, wanted) in
            [(sample.body.to_string(), ""), (String::new(), "empty"), ("{".into(), "not JSON")]
        {
            let request = ApiRequest::new("POST", &sample.target, Vec::new(), text.as_bytes());
            let found = format!("{:?}", dialect.check_request(&request));
            assert!(found.contains("sent") && found.contains(wanted), "{}: {found}", dialect.name());
        }
    }
}

#[test]
fn paths_and_signatures_choose_the_dialect() {
    let chosen = |path: &str, signed: &str| {
        let headers = vec![(signed.to_owned(), "Bearer x".to_owned())];
        let request = ApiRequest::new("GET", path, headers, b"");
        (request.dialect.name(), request.endpoint)
    };
    for (path, signed, dialect, endpoint) in [
        ("/v1/messages?beta=true", "authorization", "anthropic", Endpoint::Messages),
        ("/v1/responses", "authorization", "openai-responses", Endpoint::Messages),
        ("/proxy/responses/", "x", "openai-responses", Endpoint::Messages),
        ("/v1/responses/input_tokens", "authorization", "openai-responses", Endpoint::CountTokens),
        ("/v1/responses/resp_1", "authorization", "openai-responses", Endpoint::Other),
        ("/v1/chat/completions", "authorization", "openai-chat", Endpoint::Messages),
        ("/v1/models", "authorization", "openai-responses", Endpoint::Models),
        ("/v1/models", "x-api-key", "anthropic", Endpoint::Models),
        ("/v1beta/models", "x-goog-api-key", "gemini", Endpoint::Models),
        ("/v1beta/models/gemini-2.5-flash", "x", "gemini", Endpoint::Models),
        ("/v1beta/models/g:generateContent", "x", "gemini", Endpoint::Messages),
        (
            "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent",
            "x",
            "gemini",
            Endpoint::Messages,
        ),
        ("/v1beta/models/g:countTokens?key=k", "x", "gemini", Endpoint::CountTokens),
        ("/v1beta/models/g:embedContent", "x-goog-api-key", "gemini", Endpoint::Other),
        ("/", "x", "anthropic", Endpoint::Root),
        ("/v2/other", "x", "anthropic", Endpoint::Other),
    ] {
        assert_eq!(chosen(path, signed), (dialect, endpoint), "{path} with {signed}");
    }
}

fn side(body: &Value) -> Option<&'static str> {
    let request = ApiRequest::new("POST", "/v1/messages", Vec::new(), body.to_string().as_bytes());
    request.facts.side.map(|side| side.name.as_str())
}

#[test]
fn each_request_on_the_side_is_recognised_by_what_it_says() {
    let ask = |system: &str, user: &str| {
        side(&json!({"max_tokens": 1, "system": [{"type": "text", "text": system}],
                     "messages": [{"role": "user", "content": user}]}))
    };
    assert_eq!(ask("Generate a concise, sentence-case title (3-7 words)", "x"), Some("title"));
    assert_eq!(ask("Analyze … isNewTopic", "x"), Some("topic"));
    assert_eq!(ask("You are", "Warmup"), Some("warmup"));
    assert_eq!(ask("", "quota"), Some("quota"));
    assert_eq!(
        ask("Write a short summary label describing what these tool calls accomplished.", "x"),
        Some("tool-summary")
    );
    assert_eq!(ask("", "<policy_spec> ls"), Some("command-prefix"));
    assert_eq!(ask("process Bash commands that an AI coding agent wants to run", ""), Some("command-prefix"));
    assert_eq!(
        ask("", "Your task is to create a detailed summary of the conversation so far"),
        Some("compaction")
    );
    assert_eq!(ask("You are an assistant for performing a web search tool use", "x"), Some("web-search"));
    assert_eq!(ask("You are", "quotas"), None);
}

#[test]
fn a_search_of_the_cli_is_told_from_a_turn_that_may_search() {
    let body =
        |tools: Value, user: &str| json!({"tools": tools, "messages": [{"role": "user", "content": user}]});
    let search = json!({"name": "web_search", "type": "web_search_20250305"});
    let bash = json!({"name": "Bash", "input_schema": {}});
    assert_eq!(side(&body(json!([search]), "Perform a web search for the query: x")), Some("web-search"));
    assert_eq!(side(&body(json!([search]), "What is new?")), None);
    assert_eq!(side(&body(json!([search, bash]), "Perform a web search, please")), None);
    // A real turn that mentions a title is a turn.
    let turn = json!({"system": "Generate a concise, sentence-case title", "tools": [{"name": "Bash"}],
                      "messages": [{"role": "user", "content": "Warmup exercises, please"}]});
    assert_eq!(side(&turn), None);
}
