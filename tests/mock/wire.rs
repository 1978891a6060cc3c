//! Every fault on the wire, seen through a raw socket: the exact bytes, the pause, the end.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::client::{self, Client, DEADLINE, End, Response, SCRIPT, Server, find, post, question};
use clawgate::internals::harness::mock::fault::catalogue;
use clawgate::internals::harness::mock::journal::Outcome;

/// The healthy response, byte for byte: the measure of every fault. The seed makes it the same in every server.
struct Healthy {
    wire: Vec<u8>,
    head: usize,
    /// The bytes of each event, unframed.
    events: Vec<Vec<u8>>,
}

impl Healthy {
    fn stream() -> Self {
        let (wire, response) = Healthy::fetch(true);
        Healthy { wire, head: response.head.len(), events: response.chunks }
    }

    fn fetch(stream: bool) -> (Vec<u8>, Response) {
        let server = Server::new(SCRIPT, &[]);
        let response = server.connect().send(&post(&question(stream))).read_response(true);
        let closing = client::post_with(&question(stream), "connection: close\r\n");
        let again = Server::new(SCRIPT, &[]);
        let (wire, end) = again.connect().send(&closing).read_to_end();
        assert_eq!(end, End::Fin);
        let wire = String::from_utf8(wire).unwrap().replace("connection: close", "connection: keep-alive");
        (wire.into_bytes(), response)
    }

    /// The wire up to and with that many events.
    fn after(&self, events: usize) -> usize {
        self.head + self.events[..events].iter().map(|event| framed(event).len()).sum::<usize>()
    }
}

fn framed(event: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", event.len()).as_bytes(), event, b"\r\n"].concat()
}

fn fetch(fault: &str, stream: bool) -> (Vec<u8>, End) {
    let server = Server::with_fault(fault);
    let seen = server.connect().send(&post(&question(stream))).read_to_end();
    let entry = server.ended(1);
    assert_eq!(
        entry.fault.as_deref(),
        Some(fault.parse::<clawgate::internals::harness::mock::Fault>().unwrap().to_string().as_str())
    );
    assert_eq!(entry.sent_bytes, seen.0.len() as u64, "the journal counts what is on the wire");
    seen
}

#[track_caller]
fn assert_bytes(seen: &[u8], expected: &[u8], what: &str) {
    assert_eq!(String::from_utf8_lossy(seen), String::from_utf8_lossy(expected), "{what}");
    assert_eq!(seen, expected, "{what}");
}

#[test]
fn the_healthy_wire_is_the_same_every_time() {
    let healthy = Healthy::stream();
    assert_eq!(healthy.events.len(), 9);
    insta::assert_snapshot!(String::from_utf8(healthy.wire).unwrap().replace('\r', "␍"));
}

/// Each place of a cut, with how many bytes of the healthy wire come before it.
fn places(healthy: &Healthy) -> Vec<(&'static str, usize)> {
    let third = framed(&healthy.events[2]);
    let prefix = third.len() - healthy.events[2].len() - 2;
    let crab = find(&healthy.wire, "🦀".as_bytes()).unwrap();
    let umlaut = find(&healthy.wire, "ö".as_bytes()).unwrap();
    vec![
        ("before-headers", 0),
        ("in-headers", healthy.head / 2),
        ("after-headers", healthy.head),
        ("after-event=0", healthy.head),
        ("after-event=1", healthy.after(1)),
        ("after-event=4", healthy.after(4)),
        ("after-event=9", healthy.after(9)),
        ("in-event=3", healthy.after(2) + prefix + healthy.events[2].len() / 2),
        ("in-event=3,byte=1", healthy.after(2) + prefix + 1),
        ("in-char", umlaut + 1),
        ("in-char=3", crab + 1),
        ("after-byte=5", healthy.head + framed(&healthy.events[0]).len() - healthy.events[0].len() - 2 + 5),
    ]
}

#[test]
fn close_is_a_fin_at_the_exact_byte() {
    let healthy = Healthy::stream();
    for (place, bytes) in places(&healthy) {
        let (seen, end) = fetch(&format!("close:{place}"), true);
        assert_eq!(end, End::Fin, "{place}");
        assert_bytes(&seen, &healthy.wire[..bytes], place);
    }
}

#[test]
fn rst_is_a_reset_at_the_exact_byte() {
    let healthy = Healthy::stream();
    for (place, bytes) in places(&healthy) {
        let (seen, end) = fetch(&format!("rst:{place}"), true);
        assert_eq!(end, End::Reset, "{place}");
        assert_bytes(&seen, &healthy.wire[..bytes], place);
    }
}

#[test]
fn stall_is_silence_at_the_exact_byte() {
    let healthy = Healthy::stream();
    for (place, bytes) in places(&healthy) {
        let server = Server::with_fault(&format!("stall:{place}"));
        let mut client = server.connect();
        client.send(&post(&question(true)));
        server.wait_until(|journal| journal.requests.iter().any(|entry| entry.outcome == Outcome::Stalled));
        let seen = client.read_exactly(bytes);
        assert_bytes(&seen, &healthy.wire[..bytes], place);
        assert!(client.is_silent(), "{place}");
        drop(client);
        assert_eq!(server.ended(1).outcome, Outcome::Stalled, "{place}");
    }
}

#[test]
fn a_stall_for_a_time_goes_on_with_the_rest() {
    let healthy = Healthy::stream();
    for (place, _) in places(&healthy) {
        let server = Server::with_fault(&format!("stall:{place},for-ms=30"));
        let mut client = server.connect();
        let before = Instant::now();
        client.send(&post(&question(true)));
        let seen = client.read_exactly(healthy.wire.len());
        assert!(before.elapsed() >= Duration::from_millis(30), "{place}: no pause");
        assert_bytes(&seen, &healthy.wire, place);
        assert_eq!(server.ended(1).outcome, Outcome::Complete, "{place}");
    }
}

#[test]
fn end_is_a_complete_response_with_a_part_of_the_body() {
    let healthy = Healthy::stream();
    let body = healthy.events.concat();
    let event = |count: usize| healthy.events[..count].concat().len();
    let umlaut = find(&body, "ö".as_bytes()).unwrap();
    for (place, bytes) in [
        ("after-headers", 0),
        ("after-event=2", event(2)),
        ("in-event=3", event(2) + healthy.events[2].len() / 2),
        ("in-char", umlaut + 1),
        ("after-byte=5", 5),
    ] {
        let server = Server::with_fault(&format!("end:{place}"));
        let mut client = server.connect();
        let response = client.send(&post(&question(true))).read_response(true);
        assert_bytes(&response.body(), &body[..bytes], place);
        // Complete, so the connection serves the next request.
        assert_eq!(client.send(&post(&question(true))).read_response(true).status, 200, "{place}");
    }
}

#[test]
fn a_cut_inside_a_character_leaves_half_of_it() {
    let (seen, _) = fetch("close:in-char=3", true);
    let error = std::str::from_utf8(&seen).unwrap_err();
    assert_eq!(error.valid_up_to(), seen.len() - 1);
    assert_eq!(error.error_len(), None, "an incomplete character, not a wrong one");
}

#[test]
fn cuts_of_a_body_that_is_no_stream() {
    let (wire, response) = Healthy::fetch(false);
    let (head, body) = (response.head.len(), response.body());
    let umlaut = find(&body, "ö".as_bytes()).unwrap();
    for (place, bytes) in [
        ("before-headers", 0),
        ("in-headers", head / 2),
        ("after-headers", head),
        ("after-event=1", head + body.len() / 2),
        ("in-event=1", head + body.len() / 2),
        ("in-char", head + umlaut + 1),
        ("after-byte=7", head + 7),
    ] {
        for (name, ending) in [("close", End::Fin), ("rst", End::Reset)] {
            let (seen, end) = fetch(&format!("{name}:{place}"), false);
            assert_eq!(end, ending, "{name}:{place}");
            assert_bytes(&seen, &wire[..bytes], place);
        }
    }
}

#[test]
fn http_errors_have_the_bodies_of_the_api() {
    let errors = [
        (400, "Bad Request", "invalid_request_error"),
        (401, "Unauthorized", "authentication_error"),
        (403, "Forbidden", "permission_error"),
        (404, "Not Found", "not_found_error"),
        (408, "Request Timeout", "timeout_error"),
        (409, "Conflict", "conflict_error"),
        (413, "Payload Too Large", "request_too_large"),
        (429, "Too Many Requests", "rate_limit_error"),
        (500, "Internal Server Error", "api_error"),
        (502, "Bad Gateway", "api_error"),
        (503, "Service Unavailable", "api_error"),
        (504, "Gateway Timeout", "timeout_error"),
        (529, "Overloaded", "overloaded_error"),
    ];
    for (status, reason, error_type) in errors {
        for stream in [true, false] {
            let server = Server::with_fault(&format!("http:status={status}"));
            let response = server.connect().send(&post(&question(stream))).read_response(true);
            assert!(
                response.head.starts_with(&format!("HTTP/1.1 {status} {reason}\r\n")),
                "{}",
                response.head
            );
            let body = response.json();
            assert_eq!((&body["type"], &body["error"]["type"]), (&"error".into(), &error_type.into()));
            assert_eq!(body["request_id"].as_str(), response.header("request-id"));
            assert_eq!(response.header("content-type"), Some("application/json"));
        }
    }
}

#[test]
fn the_headers_that_steer_a_retry() {
    let server = Server::with_fault(
        "http:status=429,retry-after=7,should-retry=true,message=\"Wait, please\",type=custom_error,\
         unified=rejected,resets-at=1999999999",
    );
    let response = server.connect().send(&post(&question(true))).read_response(true);
    assert_eq!(
        response.json()["error"],
        serde_json::json!({"type": "custom_error", "message": "Wait, please"})
    );
    for (name, value) in [
        ("retry-after", "7"),
        ("x-should-retry", "true"),
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-reset", "1999999999"),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
}

#[test]
fn an_error_event_comes_where_it_is_scripted() {
    let healthy = Healthy::stream();
    for (fault, before) in
        [("error-event", 0), ("error-event:after-event=4,type=api_error,message=Broken", 4)]
    {
        let server = Server::with_fault(fault);
        let response = server.connect().send(&post(&question(true))).read_response(true);
        let error: &[u8] = if before == 0 {
            b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
        } else {
            b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Broken\"}}\n\n"
        };
        let expected = [healthy.events[..before].concat().as_slice(), error].concat();
        assert_bytes(&response.body(), &expected, fault);
    }
    // Without a stream there are no events: the API answers with the status of the error.
    let server = Server::with_fault("error-event");
    let response = server.connect().send(&post(&question(false))).read_response(true);
    assert_eq!((response.status, &response.json()["error"]["type"]), (529, &"overloaded_error".into()));
}

#[test]
fn slow_holds_the_first_byte_back() {
    let server = Server::with_fault("slow:first-byte-ms=3600000");
    let mut client = server.connect();
    client.send(&post(&question(true)));
    server.wait_until(|journal| journal.requests.iter().any(|entry| entry.status == Some(200)));
    assert!(client.is_silent());
}

#[test]
fn slow_sends_one_event_and_then_waits() {
    let healthy = Healthy::stream();
    let server = Server::with_fault("slow:event-ms=3600000");
    let mut client = server.connect();
    client.send(&post(&question(true)));
    let sent = healthy.after(1);
    assert_bytes(&client.read_exactly(sent), &healthy.wire[..sent], "the first event");
    assert!(client.is_silent());
}

#[test]
fn slow_events_are_all_there_after_their_pauses() {
    let healthy = Healthy::stream();
    let server = Server::with_fault("slow:first-byte-ms=10,event-ms=10,jitter-ms=5");
    let before = Instant::now();
    let mut client = server.connect();
    client.send(&post(&question(true)));
    assert_bytes(&client.read_exactly(healthy.wire.len()), &healthy.wire, "slow");
    // Ten milliseconds before the head and before each of eight events.
    assert!(before.elapsed() >= Duration::from_millis(90), "{:?}", before.elapsed());
}

#[test]
fn slow_bytes_come_one_by_one() {
    let healthy = Healthy::stream();
    let server = Server::with_fault("slow:bytes-per-second=1");
    let mut client = server.connect();
    client.send(&post(&question(true)));
    let first = client.read_exactly(healthy.head + 6);
    assert_bytes(&first[healthy.head..], b"1\r\ne\r\n", "the first byte of the first event");
    assert!(client.is_silent());
    let fast = Server::with_fault("slow:bytes-per-second=100000");
    let response = fast.connect().send(&post(&question(true))).read_response(true);
    assert_eq!(response.body(), healthy.events.concat());
    assert!(response.chunks.iter().all(|chunk| chunk.len() <= 2000));
}

#[test]
fn slow_goes_together_with_another_fault() {
    let healthy = Healthy::stream();
    let server = Server::new(SCRIPT, &["slow:event-ms=5", "rst:after-event=3"]);
    let before = Instant::now();
    let (seen, end) = server.connect().send(&post(&question(true))).read_to_end();
    assert_eq!(end, End::Reset);
    assert_bytes(&seen, &healthy.wire[..healthy.after(3)], "three slow events");
    assert!(before.elapsed() >= Duration::from_millis(10));
}

#[test]
fn content_type_is_wrong_and_the_body_healthy() {
    let healthy = Healthy::stream();
    let server = Server::with_fault("content-type:value=text/html");
    let response = server.connect().send(&post(&question(true))).read_response(true);
    assert_eq!(response.header("content-type"), Some("text/html"));
    assert_eq!(response.chunks, healthy.events);
}

#[test]
fn html_is_a_page() {
    for (fault, status) in [("html", 200), ("html:status=502", 502)] {
        let server = Server::with_fault(fault);
        let response = server.connect().send(&post(&question(true))).read_response(true);
        assert_eq!(response.status, status);
        assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(response.body().starts_with(b"<!DOCTYPE html>\n<html>"));
    }
}

#[test]
fn empty_is_no_body() {
    for (stream, kind) in [(true, "text/event-stream; charset=utf-8"), (false, "application/json")] {
        let server = Server::with_fault("empty");
        let response = server.connect().send(&post(&question(stream))).read_response(true);
        assert_eq!((response.status, response.header("content-length")), (200, Some("0")));
        assert_eq!(response.header("content-type"), Some(kind));
    }
}

#[test]
fn content_length_is_wrong_by_so_much() {
    let body = Healthy::stream().events.concat();
    for delta in [-7i64, 5] {
        let (seen, end) = fetch(&format!("content-length:delta={delta}"), true);
        assert_eq!(end, End::Fin);
        let head_end = find(&seen, b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(seen[..head_end].to_vec()).unwrap();
        let claimed = body.len() as i64 + delta;
        assert!(head.contains(&format!("\r\ncontent-length: {claimed}\r\n")), "{head}");
        assert!(!head.contains("chunked"));
        assert_bytes(&seen[head_end..], &body, "the body is whole");
    }
}

#[test]
fn malformed_sse_is_one_event_without_its_form() {
    let healthy = Healthy::stream();
    let server = Server::with_fault("malformed-sse:event=2");
    let response = server.connect().send(&post(&question(true))).read_response(true);
    let mut expected = healthy.events.clone();
    expected[1] = String::from_utf8(expected[1].clone())
        .unwrap()
        .replace("event: ", "event ")
        .replace("data: ", "data ")
        .into_bytes();
    assert_eq!(response.chunks, expected);
}

#[test]
fn malformed_json_is_one_event_cut_short() {
    let healthy = Healthy::stream();
    let server = Server::with_fault("malformed-json:event=4");
    let response = server.connect().send(&post(&question(true))).read_response(true);
    for (number, (seen, expected)) in response.chunks.iter().zip(&healthy.events).enumerate() {
        if number == 3 {
            let text = String::from_utf8(seen.clone()).unwrap();
            let data = text.strip_suffix("\n\n").unwrap().split_once("data: ").unwrap().1;
            assert!(String::from_utf8_lossy(expected).contains(data), "a part of the healthy one");
            assert!(serde_json::from_str::<serde_json::Value>(data).is_err(), "{data}");
        } else {
            assert_eq!(seen, expected);
        }
    }
    let server = Server::with_fault("malformed-json:event=4");
    let response = server.connect().send(&post(&question(false))).read_response(true);
    assert!(serde_json::from_slice::<serde_json::Value>(&response.body()).is_err());
}

#[test]
fn invalid_utf8_is_one_bad_byte() {
    let healthy = Healthy::stream();
    let server = Server::with_fault("invalid-utf8:event=4");
    let response = server.connect().send(&post(&question(true))).read_response(true);
    let bad = &response.chunks[3];
    assert_eq!(bad.split(|byte| *byte == 0xFF).count(), 2, "one bad byte");
    let without: Vec<u8> = bad.iter().copied().filter(|byte| *byte != 0xFF).collect();
    assert_eq!(without, healthy.events[3]);
    assert_eq!(response.body().len(), healthy.events.concat().len() + 1);
}

#[test]
fn endless_pings_do_not_end() {
    const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";
    let healthy = Healthy::stream();
    let server = Server::with_fault("endless-pings:after-event=2,every-ms=1");
    let mut client = server.connect();
    client.send(&post(&question(true)));
    let sent = healthy.after(2);
    assert_bytes(&client.read_exactly(sent), &healthy.wire[..sent], "two events");
    for _ in 0..50 {
        assert_bytes(&client.read_exactly(framed(PING).len()), &framed(PING), "a ping");
    }
    drop(client);
    assert_eq!(server.ended(1).outcome, Outcome::Pinging);
}

#[test]
fn huge_text_is_as_large_as_promised() {
    let server = Server::with_fault("huge-text:megabytes=50");
    let response = server.connect().send(&post(&question(true))).read_response(true);
    let text = response.text();
    assert_eq!(text.len(), 50_000_000 + "Größe 🦀 ok".len());
    assert!(text.ends_with("Größe 🦀 ok"));
    assert!(response.chunks.len() > 700, "in deltas, not in one");
}

#[test]
fn refused_connections_are_refused_by_the_kernel() {
    let server = Server::with_fault("refuse");
    for _ in 0..3 {
        assert_eq!(TcpStream::connect(server.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
    // The port is held all the same: nobody else can get it and answer in our place.
    assert!(std::net::TcpListener::bind(server.address()).is_err());
}

#[test]
fn refused_after_so_many_requests() {
    let server = Server::with_fault("refuse:after-requests=2");
    for _ in 0..2 {
        let response = server.connect().send(&post(&question(true))).read_response(true);
        assert_eq!(response.status, 200);
    }
    let deadline = Instant::now() + DEADLINE;
    // A connection may still slip into the queue of the listener that is going away; it is reset, not answered.
    while let Ok(stream) = TcpStream::connect(server.address()) {
        assert!(Instant::now() < deadline, "still listening");
        drop(stream);
    }
    assert_eq!(server.stop().requests.len(), 2);
}

#[test]
fn a_scenario_can_refuse_too() {
    let server =
        Server::new("scenario.name = \"t\"\n[api]\nfaults = [\"refuse\"]\n[[api.turns]]\ntext = \"x\"", &[]);
    assert_eq!(TcpStream::connect(server.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn refused_for_a_time() {
    let server = Server::with_fault("refuse:for-ms=50");
    let deadline = Instant::now() + DEADLINE;
    let mut refused = 0;
    let stream = loop {
        match TcpStream::connect(server.address()) {
            Ok(stream) => break stream,
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionRefused),
        }
        refused += 1;
        assert!(Instant::now() < deadline, "never listens");
        std::thread::yield_now();
    };
    assert!(refused > 0);
    assert_eq!(Client::new(stream).send(&post(&question(true))).read_response(true).status, 200);
}

#[test]
fn faults_follow_each_other_attempt_by_attempt() {
    let server = Server::new(
        SCRIPT,
        &["http:status=529,times=2", "rst:before-headers,times=1", "http:status=503,times=1"],
    );
    let ask = || server.connect().send(&post(&question(true))).read_response(true).status;
    assert_eq!((ask(), ask()), (529, 529));
    assert_eq!(server.connect().send(&post(&question(true))).read_to_end(), (Vec::new(), End::Reset));
    assert_eq!((ask(), ask()), (503, 200));
    server.wait_until(|journal| journal.requests.iter().all(|entry| entry.duration_ms.is_some()));
    let attempts: Vec<_> = server.stop().requests.iter().map(|entry| entry.attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4, 5]);
}

#[test]
fn every_fault_of_the_catalogue_is_tested_here() {
    let source = include_str!("wire.rs");
    let untested: BTreeSet<_> = catalogue()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| {
            let forms = [format!("\"{name}:"), format!("\"{name}\""), format!("(\"{name}\", End::")];
            !forms.iter().any(|form| source.contains(form))
        })
        .collect();
    assert_eq!(untested, BTreeSet::new());
}
