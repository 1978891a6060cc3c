//! Mocks of the user's own beside a script: what wiremock replies is what the client gets.

use crate::client::{End, Server, post, question};
use clawgate::internals::harness::mock::Script;
use clawgate::internals::harness::mock::journal::{Kind, Outcome};
use clawgate::testing::wiremock::{Mock, Request, ResponseTemplate, matchers};
use serde_json::{Value, json};

const HELLO: &[u8] = b"GET /api/hello HTTP/1.1\r\nhost: x\r\n\r\n";

fn script() -> Script {
    Script::new().text("Scripted.")
}

fn messages(reply: ResponseTemplate) -> Mock {
    Mock::given(matchers::method("POST")).and(matchers::path("/v1/messages")).respond_with(reply)
}

/// A stream of three events, of which clawgate made none.
fn stream() -> ResponseTemplate {
    let body = "event: a\ndata: 1\n\nevent: b\ndata: 22\n\nevent: c\ndata: 333\n\n";
    ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")
}

fn shaped(fault: &str) -> Server {
    let fault = fault.to_owned();
    let reply = move || messages(stream().insert_header("x-clawgate-fault", fault.as_str()));
    Server::of_script(script().mount(reply), &[])
}

#[test]
fn status_headers_and_body_are_those_of_wiremock() {
    let server = Server::of_script(
        script().mount(|| {
            let reply =
                ResponseTemplate::new(418).append_header("x-tea", "green").append_header("x-tea", "black");
            Mock::given(matchers::path("/v1/organs/7"))
                .respond_with(reply.set_body_json(json!({"tea": true})))
        }),
        &[],
    );
    let mut client = server.connect();
    let teapot = client.send(b"GET /v1/organs/7 HTTP/1.1\r\nhost: x\r\n\r\n").read_response(true);
    assert_eq!((teapot.status, teapot.json()), (418, json!({"tea": true})));
    assert_eq!(teapot.head.matches("x-tea: ").count(), 2);
    assert_eq!(teapot.header("content-type"), Some("application/json"));
    assert_eq!(teapot.header("request-id"), None, "nothing of ours is added");
    // Beside it the script goes on as before, on the same connection.
    assert_eq!(client.send(&post(&question(true))).read_response(true).text(), "Scripted.");
    assert_eq!(client.send(HELLO).read_response(true).header("date"), None);
    let journal = server.stop();
    let kinds: Vec<Kind> = journal.requests.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Kind::Mounted, Kind::Turn, Kind::BuiltIn]);
    assert_eq!((journal.requests[0].status, journal.asked()), (Some(418), 1));
    assert_eq!((journal.unused, journal.unmet, journal.witnessed), (vec![], vec![], Some(3)));
}

#[test]
fn a_mock_sees_the_whole_request() {
    let server = Server::of_script(
        script().mount(|| {
            let seen = |request: &Request| {
                let body: Value = request.body_json().unwrap();
                let key = request.headers["x-api-key"].to_str().unwrap();
                ResponseTemplate::new(200)
                    .set_body_json(json!({"model": body["model"], "key": key, "query": request.url.query()}))
            };
            Mock::given(matchers::method("POST"))
                .and(matchers::query_param("beta", "true"))
                .respond_with(seen)
        }),
        &[],
    );
    let request =
        String::from_utf8(post(&question(false))).unwrap().replacen("messages", "messages?beta=true", 1);
    let reply = server.connect().send(request.as_bytes()).read_response(true).json();
    assert_eq!(reply, json!({"model": "claude-test", "key": "dummy-key", "query": "beta=true"}));
    assert_eq!(server.connect().send(&post(&question(true))).read_response(true).text(), "Scripted.");
    assert_eq!(server.stop().asked(), 2);
}

#[test]
fn head_and_bodyless_replies_keep_the_connection_in_step() {
    let server = Server::of_script(
        script().mount(|| Mock::given(matchers::path("/none")).respond_with(ResponseTemplate::new(204))),
        &[],
    );
    let mut client = server.connect();
    for _ in 0..2 {
        let head = client.send(b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n").read_response(false);
        assert_eq!((head.status, head.header("content-length")), (200, Some("2")), "as without the mock");
        assert_eq!(client.send(b"GET /none HTTP/1.1\r\nhost: x\r\n\r\n").read_response(true).status, 204);
        assert_eq!(client.send(HELLO).read_response(true).json(), json!({"message": "hello"}));
    }
}

#[test]
fn a_fault_shapes_the_transport_of_a_mock() {
    let server = shaped("slow:event-ms=0");
    let whole = server.connect().send(&post(&question(true))).read_response(true);
    assert_eq!(
        whole.chunks,
        [&b"event: a\ndata: 1\n\n"[..], b"event: b\ndata: 22\n\n", b"event: c\ndata: 333\n\n"]
    );
    assert_eq!(whole.header("x-clawgate-fault"), None);

    let server = shaped("rst:after-event=2");
    let (bytes, end) = server.connect().send(&post(&question(true))).read_to_end();
    assert_eq!(end, End::Reset);
    assert!(bytes.ends_with(b"data: 22\n\n\r\n"), "{}", String::from_utf8_lossy(&bytes));
    let entry = server.ended(1);
    assert_eq!((entry.outcome, entry.fault.as_deref()), (Outcome::Reset, Some("rst:after-event=2")));

    let server = shaped("stall:after-event=1");
    let mut client = server.connect();
    client.send(&post(&question(true)));
    server.wait_until(|journal| journal.requests.iter().any(|entry| entry.outcome == Outcome::Stalled));

    let server = shaped("close:before-headers");
    assert_eq!(server.connect().send(&post(&question(true))).read_to_end(), (vec![], End::Fin));
    assert_eq!(server.ended(1).status, None);
}

#[test]
fn a_fault_that_a_mock_cannot_have_is_told() {
    for (fault, told) in [
        ("rst:after-event=4", "the answer has no place for `rst:after-event=4`"),
        ("http:status=500", "`http:status=500` changes what is said"),
        ("rts:after-event=1", "did you mean `rst`?"),
        ("rst:after-event=1,times=2", "use `up_to_n_times`"),
    ] {
        let server = shaped(fault);
        assert_eq!(server.connect().send(&post(&question(true))).read_response(true).chunks.len(), 3);
        let findings = server.stop().requests.remove(0).findings;
        let [finding] = &findings[..] else { panic!("{fault}: {findings:?}") };
        assert!(
            finding.message.starts_with("the mock failed: ") && finding.message.contains(told),
            "{finding:?}"
        );
    }
}

#[test]
fn priorities_order_mocks_and_turns() {
    let at = |priority: u8| {
        Server::of_script(
            script().mount(move || {
                let reply = ResponseTemplate::new(200).set_body_json(json!({"id": "mounted"}));
                messages(reply).with_priority(priority)
            }),
            &[],
        )
    };
    let ask = |server: &Server, body: &Value| server.connect().send(&post(body)).read_response(true).json();
    for priority in [1, 5] {
        assert_eq!(ask(&at(priority), &question(false))["id"], "mounted");
    }
    // After the turns, but before what the built-in answers say to a request that nothing matches.
    let last = at(101);
    assert_eq!(ask(&last, &question(false))["content"][0]["text"], "Scripted.");
    let mut second = question(false);
    second["messages"] = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                                {"role": "user", "content": "c"}]);
    assert_eq!(ask(&last, &second)["id"], "mounted");
    // A request that is no JSON is refused before all of them, unless a mock has the first priority too.
    let broken = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n{";
    assert_eq!(at(5).connect().send(broken).read_response(true).status, 400);
    assert_eq!(at(1).connect().send(broken).read_response(true).status, 200);
}

#[test]
fn mocks_answer_as_often_as_they_say_and_may_hang_up() {
    let server = Server::of_script(
        script().mount(|| messages(ResponseTemplate::new(529)).up_to_n_times(1)).mount(|| {
            let hang_up = |_: &Request| std::io::Error::other("no");
            Mock::given(matchers::path("/gone")).respond_with_err(hang_up)
        }),
        &[],
    );
    let mut client = server.connect();
    assert_eq!(client.send(&post(&question(true))).read_response(true).status, 529);
    assert_eq!(client.send(&post(&question(true))).read_response(true).text(), "Scripted.");
    assert_eq!(client.send(b"GET /gone HTTP/1.1\r\nhost: x\r\n\r\n").read_to_end(), (vec![], End::Fin));
    let entry = server.ended(3);
    assert_eq!((entry.kind, entry.status, entry.outcome), (Kind::Mounted, None, Outcome::Closed));
    assert_eq!(entry.findings, []);
}

#[test]
fn what_was_expected_and_did_not_come_is_told_without_a_panic() {
    let server = Server::of_script(
        script()
            .mount(|| messages(ResponseTemplate::new(500)).up_to_n_times(1).expect(2).named("two attempts"))
            .mount(|| Mock::given(matchers::path("/a")).respond_with(ResponseTemplate::new(200)).expect(1..3))
            .mount(|| Mock::given(matchers::path("/b")).respond_with(ResponseTemplate::new(200)).expect(0)),
        &[],
    );
    assert_eq!(server.connect().send(&post(&question(true))).read_response(true).status, 500);
    let unmet = server.stop().unmet;
    assert_eq!(
        unmet,
        [
            "mounted mock `two attempts` got 1 matching requests, expected == 2",
            "mounted mock `Mock #1` got 0 matching requests, expected 1 <= x < 3",
        ]
    );
}
