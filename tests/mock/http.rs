//! The scripted API as any HTTP client sees it: endpoints, framing, matching, findings and the journal.

use crate::client::{End, SCRIPT, Server, post, post_with, question};
use clawgate::internals::harness::mock::journal::{Kind, Outcome};
use serde_json::{Value, json};

fn turns(text: &str) -> Server {
    Server::new(&format!("scenario.name = \"t\"\n{text}"), &[])
}

fn ask(server: &Server, body: &Value, headers: &str) -> Value {
    server.connect().send(&post_with(body, headers)).read_response(true).json()
}

fn conversation(rounds: &[&str]) -> Value {
    let mut messages = Vec::new();
    for (index, text) in rounds.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        messages.push(json!({"role": role, "content": text}));
    }
    json!({"model": "claude-test", "max_tokens": 64, "messages": messages})
}

#[test]
fn one_entry_answers_with_a_stream_and_without() {
    let server = Server::new(SCRIPT, &[]);
    let streamed = server.connect().send(&post(&question(true))).read_response(true);
    assert_eq!(streamed.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(streamed.text(), "Größe 🦀 ok");
    let mut absent = question(false);
    absent.as_object_mut().unwrap().remove("stream");
    let whole = server.connect().send(&post(&absent)).read_response(true);
    assert_eq!(whole.header("content-type"), Some("application/json"));
    assert_eq!(whole.json()["content"], json!([{"type": "text", "text": "Größe 🦀 ok"}]));
    for response in [&streamed, &whole] {
        assert!(response.header("request-id").unwrap().starts_with("req_"));
        assert_eq!(response.header("anthropic-ratelimit-requests-remaining"), Some("3999"));
    }
    assert_ne!(streamed.header("request-id"), whole.header("request-id"), "as the real API: a new id each");
}

#[test]
fn a_connection_serves_many_requests_of_any_kind() {
    let server = Server::new(SCRIPT, &[]);
    let mut client = server.connect();
    for _ in 0..3 {
        let head = client.send(b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n").read_response(false);
        assert_eq!(
            (head.status, head.header("content-length")),
            (200, Some("2")),
            "as GET, without the body"
        );
        assert_eq!(client.send(&post(&question(true))).read_response(true).text(), "Größe 🦀 ok");
        let hello = client.send(b"GET /api/hello HTTP/1.1\r\nhost: x\r\n\r\n").read_response(true);
        assert_eq!(hello.json(), json!({"message": "hello"}));
    }
    let head = client.send(b"HEAD /api/hello HTTP/1.1\r\nhost: x\r\n\r\n").read_response(false);
    assert_eq!(head.status, 200);
    let journal = server.stop();
    assert_eq!(journal.requests.len(), 10);
    assert!(journal.requests.iter().all(|entry| entry.outcome == Outcome::Complete));
    assert_eq!(journal.witnessed, Some(10), "wiremock saw as many");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::new(SCRIPT, &[]);
    let mut client = server.connect();
    let both = [post(&question(false)), b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n".to_vec()].concat();
    client.send(&both);
    assert_eq!(client.read_response(true).json()["type"], "message");
    assert_eq!(client.read_response(true).json()["has_more"], false);
}

#[test]
fn a_client_that_asks_for_a_close_gets_one() {
    let server = Server::new(SCRIPT, &[]);
    let (bytes, end) =
        server.connect().send(&post_with(&question(true), "connection: close\r\n")).read_to_end();
    assert_eq!(end, End::Fin);
    assert!(bytes.ends_with(b"0\r\n\r\n"));
    let old = String::from_utf8(post(&question(true))).unwrap().replace("HTTP/1.1", "HTTP/1.0");
    assert_eq!(server.connect().send(old.as_bytes()).read_to_end().1, End::Fin);
    assert_eq!(server.ended(1).outcome, Outcome::Complete);
}

#[test]
fn chunked_requests_and_100_continue() {
    let server = Server::new(SCRIPT, &[]);
    let body = question(false).to_string();
    let (first, second) = body.split_at(10);
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nx-api-key: k\r\nanthropic-version: 1\r\ntransfer-encoding: chunked\r\n\r\n\
         {:x};ext=1\r\n{first}\r\n{:X}\r\n{second}\r\n0\r\ntrailer: 1\r\n\r\n",
        first.len(),
        second.len()
    );
    assert_eq!(server.connect().send(request.as_bytes()).read_response(true).status, 200);
    let mut client = server.connect();
    let whole = String::from_utf8(post_with(&question(false), "expect: 100-continue\r\n")).unwrap();
    let (head, body) = whole.split_at(whole.find("\r\n\r\n").unwrap() + 4);
    let go_on = client.send(head.as_bytes()).read_response(false);
    assert_eq!(go_on.head, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(client.send(body.as_bytes()).read_response(true).status, 200);
}

#[test]
fn queries_and_prefixes_are_ignored() {
    let server = Server::new(SCRIPT, &[]);
    for path in ["/v1/messages?beta=true", "/some/prefix/v1/messages", "/v1/messages?a=b&c=d"] {
        let request = String::from_utf8(post(&question(true))).unwrap().replace("/v1/messages", path);
        assert_eq!(server.connect().send(request.as_bytes()).read_response(true).status, 200, "{path}");
    }
    let journal = server.stop();
    assert_eq!(journal.requests[0].query, "beta=true");
    assert_eq!(journal.requests[0].path, "/v1/messages");
}

#[test]
fn the_endpoints_beside_messages() {
    let server = Server::new(SCRIPT, &[]);
    let get = |path: &str| {
        server
            .connect()
            .send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes())
            .read_response(true)
    };
    let models = get("/v1/models").json();
    let id = models["data"][0]["id"].as_str().unwrap();
    assert_eq!(get(&format!("/v1/models/{id}")).json(), models["data"][0]);
    let missing = get("/v1/models/none");
    assert_eq!((missing.status, &missing.json()["error"]["type"]), (404, &json!("not_found_error")));
    let count = String::from_utf8(post(&question(false)))
        .unwrap()
        .replace("messages HTTP", "messages/count_tokens HTTP");
    let counted = server.connect().send(count.as_bytes()).read_response(true).json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 0);
    let other = get("/v9/other");
    assert_eq!(other.status, 404);
    let journal = server.stop();
    assert_eq!(journal.requests.last().unwrap().kind, Kind::Unmatched, "an unknown path is no silent 404");
    assert!(journal.requests.iter().all(|entry| entry.findings.is_empty()), "{:#?}", journal.requests);
}

#[test]
fn turns_follow_the_conversation_and_not_the_requests() {
    let server = turns("[[api.turns]]\ntext = \"one\"\n[[api.turns]]\ntext = \"two\"");
    let (first, second) = (conversation(&["a"]), conversation(&["a", "one", "b"]));
    let said = |body: &Value| ask(&server, body, "")["content"][0]["text"].clone();
    // In any order and as often as a client asks: a retry gets the same turn again.
    assert_eq!([&second, &first, &first, &second, &first].map(said), ["two", "one", "one", "two", "one"]);
    assert!(server.stop().unused.is_empty());
}

#[test]
fn sub_agents_and_work_on_the_side_use_up_no_turn() {
    let server = turns(
        "[[api.turns]]\ntext = \"main\"\n[[api.turns]]\nwhen.agent = true\ntext = \"sub\"\n\
         [[api.turns]]\nwhen = { auxiliary = \"title\" }\noptional = true\ntext = \"my own title\"",
    );
    let body = conversation(&["a"]);
    assert_eq!(ask(&server, &body, "")["content"][0]["text"], "main");
    assert_eq!(ask(&server, &body, "x-claude-code-agent-id: abc\r\n")["content"][0]["text"], "sub");
    assert_eq!(ask(&server, &conversation(&["Warmup"]), "")["content"][0]["text"], "Ready.");
    let mut title = conversation(&["a"]);
    title["system"] = json!("Generate a concise, sentence-case title (3-7 words)");
    assert_eq!(
        ask(&server, &title, "")["content"][0]["text"],
        "my own title",
        "a script may answer it itself"
    );
    let journal = server.stop();
    let kinds: Vec<_> =
        journal.requests.iter().map(|entry| (entry.kind, entry.entry.clone().unwrap())).collect();
    assert_eq!(kinds[2], (Kind::Auxiliary, "warmup".to_owned()));
    assert_eq!(kinds[3], (Kind::Turn, "turn-3".to_owned()));
    assert!(journal.summary().is_clean(), "{:?}", journal.summary());
}

#[test]
fn a_request_that_nothing_matches_is_shown_with_the_nearest_turn() {
    let server = turns(
        "[[api.turns]]\ntext = \"one\"\n[[api.turns]]\nname = \"after\"\nwhen = { turn = 2, tool_result = \"done\" }\ntext = \"two\"",
    );
    let response = server.connect().send(&post(&conversation(&["a", "one", "b"]))).read_response(true);
    assert_eq!((response.status, response.header("x-should-retry")), (400, Some("false")));
    let journal = server.stop();
    let unmatched = journal.requests[0].unmatched.as_ref().unwrap();
    assert_eq!(unmatched.nearest.as_deref(), Some("after"));
    assert_eq!(unmatched.because, ["tool_result: expected contains \"done\", found none"]);
    assert!(unmatched.request.contains("\"content\":\"one\""), "{}", unmatched.request);
    let summary = journal.summary();
    assert_eq!((summary.unmatched, summary.unused), (1, vec!["turn-1".to_owned(), "after".to_owned()]));
}

#[test]
fn a_bad_request_is_a_finding_and_answered_as_scripted() {
    let server = Server::new(SCRIPT, &[]);
    let mut bad = question(false);
    bad["temperature"] = json!(7);
    assert_eq!(server.connect().send(&post(&bad)).read_response(true).status, 200);
    let journal = server.stop();
    assert_eq!(journal.requests[0].findings[0].pointer, "/temperature");
    assert_eq!(journal.summary().invalid, 1);
}

#[test]
fn a_bad_request_can_be_refused_as_the_api_does() {
    let server = turns("[api]\ninvalid_requests = \"refuse\"\n[[api.turns]]\ntext = \"x\"");
    let mut bad = question(false);
    bad["messages"] = json!([]);
    let response = server.connect().send(&post(&bad)).read_response(true);
    assert_eq!((response.status, &response.json()["error"]["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(server.connect().send(&post(&question(false))).read_response(true).status, 200);
    assert_eq!(server.stop().requests[0].kind, Kind::Refused);
}

#[test]
fn what_is_no_json_or_no_http_is_refused() {
    let server = Server::new(SCRIPT, &[]);
    let broken = b"POST /v1/messages HTTP/1.1\r\nx-api-key: k\r\nanthropic-version: 1\r\ncontent-length: 3\r\n\r\n{\"a";
    assert_eq!(server.connect().send(broken).read_response(true).status, 400);
    let (bytes, _) = server.connect().send(b"\x16\x03\x01 hello\r\n\r\n").read_to_end();
    assert!(bytes.starts_with(b"HTTP/1.1 400 "), "TLS to a plain port");
    let huge = b"POST /v1/messages HTTP/1.1\r\ncontent-length: 33554433\r\n\r\n";
    let response = server.connect().send(huge).read_response(true);
    assert_eq!((response.status, &response.json()["error"]["type"]), (413, &json!("request_too_large")));
    // The server is none the worse.
    assert_eq!(server.connect().send(&post(&question(true))).read_response(true).status, 200);
    assert_eq!(server.stop().not_http, 2);
}

#[test]
fn a_client_that_leaves_in_the_middle_hurts_nobody() {
    let server = Server::new(SCRIPT, &["slow:event-ms=3600000"]);
    let mut client = server.connect();
    client.send(&post(&question(true)));
    client.read_exactly(100);
    drop(client);
    assert_eq!(server.ended(1).outcome, Outcome::ClientLeft);
    let mut half = server.connect();
    half.send(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 100\r\n\r\nhalf");
    drop(half);
    server.wait_until(|journal| journal.not_http == 1);
}

#[test]
fn two_servers_know_nothing_of_each_other() {
    let (one, two) = (Server::new(SCRIPT, &[]), Server::new(SCRIPT, &[]));
    assert_ne!(one.address(), two.address());
    one.connect().send(&post(&question(true))).read_response(true);
    assert_eq!(two.stop().requests.len(), 0);
    assert_eq!(one.stop().requests.len(), 1);
}

#[test]
fn the_journal_says_what_was_asked_and_never_a_key() {
    let server = Server::new(SCRIPT, &[]);
    let headers =
        "authorization: Bearer very-secret\r\nuser-agent: test/1\r\nx-claude-code-session-id: s1\r\n";
    server.connect().send(&post_with(&question(true), headers)).read_response(true);
    server.ended(1);
    let journal = server.stop();
    let text = serde_json::to_string_pretty(&journal).unwrap();
    assert!(!text.contains("very-secret") && !text.contains("dummy-key"), "{text}");
    let mut entry = serde_json::to_value(&journal.requests[0]).unwrap();
    for time in ["at_ms", "first_byte_ms", "duration_ms"] {
        assert!(entry[time].is_number());
        entry[time] = json!("[ms]");
    }
    insta::assert_json_snapshot!(entry);
}

#[test]
fn stopping_ends_open_connections_and_gives_the_journal() {
    let server = Server::with_fault("stall:after-headers");
    let mut client = server.connect();
    client.send(&post(&question(true)));
    server.wait_until(|journal| journal.requests.iter().any(|entry| entry.outcome == Outcome::Stalled));
    let address = server.address();
    let journal = server.stop();
    assert_eq!(journal.requests[0].outcome, Outcome::Stalled);
    client.read_to_end();
    assert!(std::net::TcpStream::connect(address).is_err(), "nothing listens any more");
}

#[test]
fn a_listener_from_elsewhere_is_served() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let script = clawgate::internals::run::scenario::Scenario::parse("t.toml", SCRIPT).unwrap().script;
    let mut options = clawgate::internals::harness::mock::Options::default();
    options.listener = Some(listener);
    let api = runtime.block_on(clawgate::internals::harness::mock::MockApi::start(script, options)).unwrap();
    assert_eq!(api.address(), address);
    let stream = std::net::TcpStream::connect(address).unwrap();
    assert_eq!(
        crate::client::Client::new(stream).send(&post(&question(true))).read_response(true).status,
        200
    );
    assert_eq!(runtime.block_on(api.stop()).requests.len(), 1);
}

#[test]
fn many_servers_start_and_stop_inside_one_task() {
    // wiremock's own drop spins for ever here: the budget of the task is used up after some sixty servers.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for round in 0..150 {
            let script =
                clawgate::internals::run::scenario::Scenario::parse("t.toml", SCRIPT).unwrap().script;
            let api = clawgate::internals::harness::mock::MockApi::start(
                script,
                clawgate::internals::harness::mock::Options::default(),
            );
            let api = api.await.unwrap();
            if round % 2 == 0 {
                api.stop().await;
            } else {
                drop(api);
            }
        }
    });
}
