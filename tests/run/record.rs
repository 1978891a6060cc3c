//! `clawgate record` and `clawgate bundle`: against a stand-in for the API on loopback, which may be anything.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::{folder_with, read_json};
use crate::schema::assert_fit;
use crate::support::process;
use crate::tree::files_below;

/// A stand-in that has a tool called, and then answers.
const STAND_IN: &str = r#"
[scenario]
name = "stand-in"
[[api.turns]]
thinking = "Hm."
text = "Let me look."
tool = { name = "Bash", input = { command = "echo found" } }
usage = { input_tokens = 12, output_tokens = 7, cache_read_input_tokens = 3 }
[[api.turns]]
text = "It is there."
chunk = 3
"#;

/// The command line that is recorded.
const ASKS: [&str; 6] = ["{program}", "-p", "Where is it?", "--output-format", "stream-json", "--verbose"];

/// A running `clawgate mock`, ended with the value.
struct StandIn {
    child: Child,
    url: String,
}

impl StandIn {
    fn start(folder: &Path) -> Self {
        let mut command = process(folder);
        command.args(["mock", "stand-in.toml", "--quiet"]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// An API that answers every request with these bytes and ends the connection; what it was asked comes out.
fn says(bytes: Vec<u8>, end: fn(TcpStream)) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, (tell, asked)) = (listener.local_addr().unwrap(), channel());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            // The heads of our programs and of the proxy are followed by as much as they announce.
            let mut chunk = [0; 4096];
            while !is_whole(&request) {
                match stream.read(&mut chunk) {
                    Ok(length @ 1..) => request.extend_from_slice(&chunk[..length]),
                    _ => break,
                }
            }
            _ = tell.send(String::from_utf8_lossy(&request).into_owned());
            _ = stream.write_all(&bytes);
            end(stream);
        }
    });
    (address, asked)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    body.len() >= length.parse::<usize>().unwrap()
}

/// Records the reference: the exit code, what was said, and the facts of the recording.
fn recorded(folder: &Path, upstream: &str, more: &[&str], key: &str) -> (Option<i32>, String, Value) {
    let mut command = clawgate(folder);
    command.args(["record", "--upstream", upstream, "--target", "reference", "--name", "it"]).args(more);
    let output = command.env("ANTHROPIC_API_KEY", key).arg("--").args(ASKS).output().unwrap();
    let facts = read_json(folder.join("clawgate-out/recorded/it/recording.json"));
    (output.status.code(), String::from_utf8(output.stderr).unwrap(), facts)
}

#[test]
fn a_recording_becomes_a_scenario_that_passes_and_a_stale_one_is_told() {
    let folder = folder_with(&[("stand-in.toml", STAND_IN)]);
    let at = folder.path();
    let stand_in = StandIn::start(at);
    let record =
        ["record", "--upstream", &stand_in.url, "--target", "reference", "--as", "scenario", "mine/found"];
    let (code, lines) = said(clawgate(at).args(record).args(["--format", "json", "--"]).args(ASKS));
    assert_eq!(code, Some(0));
    assert_fit(&lines, "record");
    assert_eq!(lines[0]["verdict"], "ok");
    let place = at.join(lines[0]["recording"].as_str().unwrap());
    let files = [
        "answers/000",
        "answers/001",
        "recording.json",
        "requests/000.json",
        "requests/001.json",
        "stderr",
        "stdout",
    ];
    assert_eq!(files_below(&place), files);
    let facts: Value = read_json(place.join("recording.json"));
    let served = &facts["served"][0];
    assert_eq!(served["content"][2]["input"], json!({"command": "echo found"}));
    assert_eq!((&served["turn"], &served["answer"]), (&json!("turn-1"), &json!("answers/000")));
    assert_eq!(served["usage"]["cache_read_input_tokens"], 3);
    assert!(fs::read_to_string(place.join("answers/000")).unwrap().starts_with("event: message_start"));
    // It has to fit its snapshot, which was made of the recording.
    assert!(at.join("golden/reference/mine/found.snap").is_file());
    clawgate(at).args(["run", "scenarios/mine/found.toml"]).assert().success();
    clawgate(at)
        .args(record)
        .arg("--")
        .args(ASKS)
        .assert()
        .code(2)
        .stderr(contains("--force writes over it"));

    let text = fs::read_to_string(at.join("scenarios/mine/found.toml")).unwrap();
    assert!(text.contains("contains = \"found\"") && text.contains("user = \"Where is it?\""), "{text}");
    fs::write(at.join("scenarios/mine/found.toml"), text.replace("Where is it?\" }", "Where was it?\" }"))
        .unwrap();
    let stale = clawgate(at).args(["run", "scenarios/mine/found.toml", "--golden", "off"]).assert().code(100);
    let told = "answered by no turn; the nearest is `turn-1`: user: expected";
    stale.stdout(contains(told).and(contains("contains \"Where was it?\", found \"Where is it?\"")));
}

#[test]
fn a_secret_in_a_header_a_body_and_a_stream_is_nowhere_on_disk() {
    const KEY: &str = "plain-looking-credential-4711";
    const COOKIE: &str = "learned-from-a-cookie-0815";
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
    let delta = |text: &str| {
        event(
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        )
    };
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}});
    let mut body = event(json!({"type": "message_start", "message": message}));
    body += &event(
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    for piece in
        ["Your key is plain-loo", "king-cred", "ential-4711, the cookie learned-from-", "a-cookie-0815."]
    {
        body += &delta(piece);
    }
    body += &event(json!({"type": "content_block_stop", "index": 0}));
    let end = json!({"stop_reason": "end_turn", "stop_sequence": null});
    body += &event(json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}));
    body += &event(json!({"type": "message_stop"}));
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nset-cookie: session={COOKIE}; Path=/\r\nx-echo: {KEY}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let (address, asked) = says((head + &body).into_bytes(), drop);
    let folder = TempDir::new().unwrap();
    let (code, errors, facts) = recorded(folder.path(), &format!("http://{address}/base"), &[], KEY);
    assert_eq!(code, Some(0), "{errors}");
    // Whoever was asked got it as it is, under his own name, and was asked for an answer that can be read.
    let asked = asked.recv().unwrap();
    assert!(
        asked.starts_with("POST /base/v1/messages") && asked.contains(&format!("x-api-key: {KEY}\r\n")),
        "{asked}"
    );
    assert!(
        asked.contains(&format!("host: {address}\r\n")) && asked.contains("accept-encoding: identity\r\n"),
        "{asked}"
    );
    let text = facts["served"][0]["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        text,
        format!("Your key is {}, the cookie {}.", "*".repeat(KEY.len()), "*".repeat(COOKIE.len()))
    );
    assert_eq!(facts["served"][0]["headers"]["set-cookie"], "[redacted]");
    let files = files_below(folder.path());
    assert!(files.iter().any(|file| file.ends_with("answers/000")), "{files:?}");
    for file in files {
        let text = fs::read_to_string(folder.path().join(&file)).unwrap();
        for piece in [KEY, COOKIE, "plain-loo", "king-cred", "ential-4711", "learned-from", "a-cookie-0815"] {
            assert!(!text.contains(piece), "{piece} in {file}");
        }
    }
}

/// How an upstream goes wrong, and what the program and the recording make of it: the outcome of the request, its status,
/// and the fault that a script of it plays.
#[test]
fn what_goes_wrong_upstream_goes_wrong_for_the_program_and_is_written_down() {
    /// What is left of the connection when the upstream has said its words.
    type End = fn(TcpStream);
    let reset: End = |stream| {
        rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO)).unwrap();
    };
    let start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\
                 \"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n";
    let stream = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{start}\r\n",
        start.len()
    );
    let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow, please"}})
        .to_string();
    let limited =
        format!("HTTP/1.1 429 Too Many\r\nretry-after: 7\r\ncontent-length: {}\r\n\r\n{error}", error.len());
    let gzip = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: application/json\r\n\r\n\x1f\x8b\x08secret-in-gzip";
    let table: [(&[u8], End, &str, Value, &str); 6] = [
        (stream.as_bytes(), drop, "closed", json!(200), "close:after-event=1,times=1"),
        (stream.as_bytes(), reset, "reset", json!(200), "rst:after-event=1,times=1"),
        (b"", drop, "closed", Value::Null, "close:before-headers,times=1"),
        (b"SSH-2.0-what\r\n\r\nis this", drop, "closed", Value::Null, "close:before-headers,times=1"),
        (
            limited.as_bytes(),
            drop,
            "complete",
            json!(429),
            "http:status=429,retry-after=7,type=rate_limit_error,message=\"slow, please\",times=1",
        ),
        (gzip, drop, "complete", json!(200), ""),
    ];
    for (bytes, end, outcome, status, fault) in table {
        let folder = TempDir::new().unwrap();
        let (address, _asked) = says(bytes.to_vec(), end);
        let (code, errors, facts) = recorded(folder.path(), &format!("http://{address}"), &[], "dummy");
        assert_eq!(code, Some(0), "{outcome} {errors}");
        let request = &facts["requests"][0];
        let told = (&request["outcome"], &request["status"], request["fault"].as_str().unwrap_or_default());
        assert_eq!(told, (&json!(outcome), &status, fault), "{request:#}");
        assert_ne!(facts["exit"]["code"], 0, "the program noticed nothing of {outcome} {fault}");
        let place = folder.path().join("clawgate-out/recorded/it");
        for file in files_below(&place) {
            let text = fs::read(place.join(&file)).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains("secret-in-gzip"), "{file}");
        }
    }
    // Where nobody listens that is said, and the program meets a connection that breaks.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = TempDir::new().unwrap();
    let (code, errors, _) = recorded(folder.path(), &format!("http://{nobody}"), &[], "dummy");
    assert_eq!(code, Some(3));
    assert!(errors.contains(&format!("http://{nobody} cannot be reached")), "{errors}");
    // One that never ends is ended with the program.
    let (address, _asked) = says(stream.into_bytes(), std::mem::forget);
    let folder = TempDir::new().unwrap();
    let (code, errors, facts) =
        recorded(folder.path(), &format!("http://{address}"), &["--timeout", "1"], "dummy");
    assert_eq!((code, &facts["exit"]["timed_out"]), (Some(0), &json!("wall")), "{errors}");
}

#[test]
fn wrong_wishes_are_told_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    let tried = |args: &[&str]| clawgate(folder.path()).arg("record").args(args).assert();
    if cfg!(not(feature = "net")) {
        tried(&["--", "true"])
            .code(2)
            .stderr(contains("--features net").and(contains("https://api.anthropic.com")));
    }
    tried(&["--upstream", "api.test", "--", "true"]).code(2).stderr(contains("expected http://HOST"));
    tried(&["--upstream", "http://u:p@h", "--", "true"]).code(2).stderr(contains("no key"));
    let here = ["--upstream", "http://127.0.0.1:9"];
    let with = |more: &[&'static str]| [&here[..], more].concat();
    tried(&with(&["--as", "test", "x", "--", "true"])).code(2).stderr(contains("--as scenario NAME"));
    tried(&with(&["--as", "scenario", "../x", "--", "true"])).code(2).stderr(contains("expected a name"));
    tried(&with(&["--env", "NOT_SET_ANYWHERE", "--", "true"])).code(2).stderr(contains("it is not set"));
    tried(&with(&["--", "no-such-program-anywhere"])).code(3).stderr(contains("not on the PATH"));
    tried(&with(&["--", "{program}"])).code(2).stderr(contains("name it with --target"));
    // It runs, and asks nothing.
    tried(&with(&["--", "true"])).code(3).stderr(contains("asked nothing of the proxy"));
}

#[test]
fn in_ones_own_surroundings_a_program_finds_what_is_there() {
    let folder = folder_with(&[("stand-in.toml", STAND_IN), ("mine.txt", "mine")]);
    let stand_in = StandIn::start(folder.path());
    let mut command = clawgate(folder.path());
    command.args(["record", "--own", "--upstream", &stand_in.url, "--name", "own", "--", "sh", "-c"]);
    command.args(["cat mine.txt; echo $ANTHROPIC_BASE_URL; echo key $MY_TOKEN"]);
    command.env("MY_TOKEN", "a-token-of-my-own-1234").assert().code(3);
    let place = folder.path().join("clawgate-out/recorded/own");
    let stdout = fs::read_to_string(place.join("stdout")).unwrap();
    assert!(stdout.starts_with("minehttp://127.0.0.1:") && !stdout.contains(&stand_in.url), "{stdout}");
    assert!(stdout.contains("key **********************") && !stdout.contains("my-own"), "{stdout}");
}

#[test]
fn a_bundle_is_read_by_every_command_and_a_hostile_one_is_refused() {
    let folder = folder_with(&[("stand-in.toml", STAND_IN)]);
    let at = folder.path();
    let stand_in = StandIn::start(at);
    let (code, ..) = recorded(at, &stand_in.url, &[], "dummy-key-12345");
    assert_eq!(code, Some(0));
    drop(stand_in);
    let (code, lines) =
        said(clawgate(at).args(["bundle", "clawgate-out/recorded/it", "--har", "t.har", "--format", "json"]));
    assert_eq!(code, Some(0));
    assert_fit(&lines, "bundle");
    assert_eq!(lines[0]["recordings"], json!(["it"]));
    let har: Value = read_json(at.join("t.har"));
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert!(entries[0]["response"]["content"]["text"].as_str().unwrap().contains("Let me look."));
    assert!(entries[1]["request"]["postData"]["text"].as_str().unwrap().contains("echo found"));

    let (code, judged) = said(clawgate(at).args(["judge", "bundle.zip", "--format", "json"]));
    assert_eq!((code, &judged[0]["verdict"]["class"]), (Some(0), &json!("ok")));
    assert_eq!(judged[0]["input"], "bundle.zip/it");
    clawgate(at).args(["diff", "clawgate-out/recorded/it", "bundle.zip"]).assert().success();
    let stdout = fs::read(at.join("clawgate-out/recorded/it/stdout")).unwrap();
    clawgate(at).args(["play", "bundle.zip", "--speed", "0"]).assert().success().stdout(stdout);
    let held = ["mock", "bundle.zip", "--stdin", "--format", "json"];
    let (code, lines) = said(clawgate(at).args(held).write_stdin(""));
    assert_eq!((code, &lines.last().unwrap()["unused"]), (Some(0), &json!(["turn-1", "turn-2"])));
    // Packed again it is the same.
    clawgate(at).args(["bundle", "bundle.zip", "--out", "again.zip"]).assert().success();
    clawgate(at).args(["judge", "again.zip"]).assert().success();

    let whole = fs::read(at.join("bundle.zip")).unwrap();
    let mut led_away = whole.clone();
    // The name of a file, wherever it stands.
    for place in 0..whole.len() - 14 {
        if &whole[place..place + 14] == b"it/traffic.har" {
            led_away[place..place + 14].copy_from_slice(b"../traffic.har");
        }
    }
    for (bytes, told) in
        [(&led_away[..], "leads out of the bundle"), (&whole[..whole.len() / 2], "it is cut off")]
    {
        fs::write(at.join("bad.zip"), bytes).unwrap();
        for command in ["judge", "play", "mock"] {
            let refused = clawgate(at).args([command, "bad.zip"]).assert().code(2);
            refused.stderr(contains("bad.zip: ").and(contains(told)));
        }
    }
    assert!(!at.join("traffic.har").exists());
}
