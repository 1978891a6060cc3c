//! `clawgate mock` and `clawgate sweep` as a user types them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use assert_cmd::prelude::OutputAssertExt;
use predicates::prelude::*;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::{self, Client, post, question};
use crate::schema::assert_fit;
use crate::support::{json_lines, process};

fn clawgate(arguments: &[&str]) -> Command {
    let mut command = process(env!("CARGO_MANIFEST_DIR"));
    command.args(arguments);
    command
}

/// A running `clawgate mock` and the first line it printed. It is killed if a test fails before it ends.
struct Running {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    first: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Stdio::null())
    }

    fn start_with(arguments: &[&str], stdin: Stdio) -> Self {
        let mut command = clawgate(arguments);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        Running { child, out, first }
    }

    fn connect(&self) -> Client {
        let address = self.first.trim().strip_prefix("http://").unwrap();
        Client::new(TcpStream::connect(address).unwrap())
    }

    /// Sends the signal and waits: exit code, the rest of standard output, standard error.
    fn end(mut self, signal: Signal) -> (Option<i32>, String, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (self.child.wait().unwrap().code(), rest, errors)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone in the usual case.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Lines of output, each valid against the schema that is published for them.
fn lines(output: &str, schema: &str) -> Vec<Value> {
    let lines = json_lines(output);
    assert_fit(&lines, schema);
    lines
}

#[test]
fn serves_until_interrupted_and_sums_up() {
    for signal in [Signal::INT, Signal::TERM] {
        let mock = Running::start(&["mock", "plain"]);
        let response = mock.connect().send(&post(&question(true))).read_response(true);
        assert!(response.text().starts_with("Hello from the scripted API."));
        let (code, rest, errors) = mock.end(signal);
        assert_eq!(code, Some(0), "{errors}");
        assert_eq!(rest, "1 requests: 1 turns, 0 auxiliary, 0 unmatched, 0 invalid, 0 with a fault\n");
        assert!(errors.contains("POST /v1/messages turn-1 200"), "{errors}");
    }
}

#[test]
fn an_interrupt_ends_a_stalled_connection_too() {
    let mock = Running::start(&["mock", "plain", "--fault", "stall:after-headers"]);
    let mut client = mock.connect();
    client.send(&post(&question(true))).read_response(false);
    let (code, rest, errors) = mock.end(Signal::INT);
    assert_eq!(code, Some(0));
    assert!(rest.starts_with("1 requests: 1 turns"), "{rest}");
    assert!(errors.contains("stalled"), "{errors}");
    assert!(client.read_to_end().0.is_empty());
}

#[test]
fn a_reader_that_has_left_is_no_failure() {
    let mut child = clawgate(&["sweep", "plain", "--list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn json_is_one_object_a_line_and_holds_no_key() {
    let mock = Running::start(&["mock", "tool-use", "--format", "json"]);
    let first = mock.first.clone();
    let listening: Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&listening["type"], &listening["scenario"]), (&"listening".into(), &"tool-use".into()));
    let address = listening["base_url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let mut client = Client::new(TcpStream::connect(address).unwrap());
    client.send(&post(&question(true))).read_response(true);
    let (code, rest, errors) = mock.end(Signal::INT);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(!rest.contains("dummy-key"), "{rest}");
    lines(&first, "mock");
    let lines = lines(&rest, "mock");
    assert_eq!((&lines[0]["type"], &lines[0]["entry"]), (&"request".into(), &"calls".into()));
    assert_eq!(lines[1]["type"], "summary");
    assert_eq!(lines[1]["unused"], serde_json::json!(["reports"]));
    assert_eq!(lines.len(), 2);
}

/// A mock that a program holds by its standard input.
struct Held {
    mock: Running,
    address: String,
}

impl Held {
    fn start(arguments: &[&str]) -> Self {
        let more = ["--stdin", "--format", "json", "--strict"];
        let mock = Running::start_with(&[&["mock"], arguments, &more].concat(), Stdio::piped());
        let listening: Value = serde_json::from_str(&mock.first).unwrap();
        let address = listening["base_url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self { mock, address }
    }

    fn send(&self, body: &Value) {
        let mut client = Client::new(TcpStream::connect(&self.address).unwrap());
        client.send(&post(body)).read_response(true);
    }

    /// Asks for the summary so far: the lines up to it.
    fn ask(&mut self) -> Vec<Value> {
        self.mock.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut said = String::new();
        while !said.contains(r#""type":"summary""#) {
            assert_ne!(self.mock.out.read_line(&mut said).unwrap(), 0, "{said}");
        }
        lines(&said, "mock")
    }

    /// Closes standard input: exit code and the lines that are left.
    fn close(mut self) -> (Option<i32>, Vec<Value>) {
        drop(self.mock.child.stdin.take());
        let mut rest = String::new();
        self.mock.out.read_to_string(&mut rest).unwrap();
        (self.mock.child.wait().unwrap().code(), lines(&rest, "mock"))
    }
}

#[test]
fn a_line_on_standard_input_asks_for_what_came_so_far_and_its_end_stops() {
    let mut held = Held::start(&["plain"]);
    let unused = |lines: &[Value]| lines.last().unwrap()["unused"].clone();
    assert_eq!(unused(&held.ask()), serde_json::json!(["turn-1"]), "nobody asked yet");
    held.send(&question(true));
    let so_far = held.ask();
    assert_eq!((so_far.len(), &so_far[0]["outcome"]), (2, &"complete".into()));
    assert_eq!(unused(&so_far), serde_json::json!([]));
    assert_eq!(held.ask().len(), 1, "a request is told of once");
    let (code, rest) = held.close();
    assert_eq!((code, rest.len()), (Some(0), 1));
    assert_eq!(Held::start(&["plain"]).close().0, Some(100), "a turn that nobody asked for");
}

#[test]
fn a_reader_that_is_busy_does_not_keep_the_api_from_answering() {
    let mut held = Held::start(&["plain", "--bodies"]);
    let mut body = question(true);
    body["messages"][0]["content"] = "x".repeat(50_000).into();
    // More than a pipe holds, before a line of it is read.
    (0..8).for_each(|_| held.send(&body));
    assert_eq!(held.ask().len(), 9);
}

#[test]
fn without_the_flag_standard_input_holds_nothing() {
    let mock = Running::start(&["mock", "plain"]);
    mock.connect().send(&post(&question(true))).read_response(true);
    assert_eq!(mock.end(Signal::INT).0, Some(0));
}

#[test]
fn bodies_are_given_whole_and_without_their_key() {
    let mut held = Held::start(&["plain", "--bodies"]);
    let mut body = question(true);
    body["messages"][0]["content"] = format!("{} and dummy-key-of-the-test", "é".repeat(300)).into();
    held.send(&body);
    let content = &held.ask()[0]["content"];
    let said = content["messages"][0]["content"].as_str().unwrap();
    assert!(said.starts_with(&"é".repeat(300)), "{said}");
    assert_eq!(content["model"], body["model"]);
    assert!(!content.to_string().contains("dummy-key"), "{content}");
    let mut plain = Held::start(&["plain"]);
    plain.send(&question(true));
    assert_eq!(plain.ask()[0].get("content"), None, "only when they are asked for");
    clawgate(&["mock", "--bodies"]).assert().code(2).stderr(predicate::str::contains("--format json"));
}

#[test]
fn a_scenario_that_a_program_wrote_is_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.json");
    let name = file.to_str().unwrap();
    fs::write(
        &file,
        r#"{"scenario": {"name": "mine"}, "api": {"turns": [{"text": "\ud83e\udd80 \u007f"}]}}"#,
    )
    .unwrap();
    let mut held = Held::start(&[name]);
    held.send(&question(true));
    assert_eq!(held.ask()[1]["turns"], 1);
    fs::write(&file, "{\"scenario\": {\"name\": \"mine\"},\n \"api\": {\"turns\": [{\"txet\": 1}]}}")
        .unwrap();
    clawgate(&["mock", name]).assert().code(2).stderr(predicate::str::contains(format!(
        "error: {name}:2:21: unknown key `txet`, did you mean `text`? (at api.turns[0].txet)"
    )));
    // As a case, too.
    let case = serde_json::json!({
        "scenario": {"name": "mine", "contract": "claude-stream-json"}, "run": {"prompt": "Hi"},
        "api": {"turns": [{"text": "Hello."}]},
    });
    fs::write(&file, case.to_string()).unwrap();
    clawgate(&["run", name])
        .current_dir(folder.path())
        .assert()
        .code(0)
        .stdout(predicate::str::contains("1 passed"));
}

#[test]
fn every_kind_of_request_has_the_published_form() {
    let mock = Running::start(&["mock", "plain", "--format", "json", "--fault", "http:status=500,times=1"]);
    let listening: Value = serde_json::from_str(&mock.first).unwrap();
    let address = listening["base_url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let mut client = Client::new(TcpStream::connect(address).unwrap());
    client.send(&post(&question(true))).read_response(true);
    let mut body = question(true);
    body["messages"] = serde_json::json!([
        {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": 7},
    ]);
    client.send(&post(&body)).read_response(true);
    body["messages"] = serde_json::json!([{"role": "user", "content": "Warmup"}]);
    client.send(&post(&body)).read_response(true);
    let (_, rest, _) = mock.end(Signal::TERM);
    let lines = lines(&rest, "mock");
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().unwrap_or("summary")).collect();
    assert_eq!(kinds, ["turn", "unmatched", "auxiliary", "summary"]);
    assert_eq!(lines[1]["findings"][0]["pointer"], "/messages/2/content");
}

#[test]
fn strict_fails_when_the_script_did_not_fit() {
    let mock = Running::start(&["mock", "tool-use", "--strict"]);
    let (code, rest, _) = mock.end(Signal::INT);
    assert_eq!(code, Some(100));
    assert!(rest.contains("unused turn: calls\nunused turn: reports\n"), "{rest}");
}

#[test]
fn an_unmatched_request_is_shown_with_the_nearest_turn() {
    let mock = Running::start(&["mock", "plain"]);
    let mut body = question(true);
    body["messages"] = serde_json::json!([
        {"role": "user", "content": "a"}, {"role": "assistant", "content": "b\u{1b}[31m"}, {"role": "user", "content": "c"},
    ]);
    mock.connect().send(&post(&body)).read_response(true);
    let (_, rest, _) = mock.end(Signal::INT);
    assert!(
        rest.contains("nearest is turn turn-1 (line 8), which it misses by\n    turn: expected 1, found 2\n"),
        "{rest}"
    );
    assert!(rest.contains("\"content\":\"a\""), "{rest}");
    assert!(!rest.contains('\u{1b}'), "terminal escapes of a client do not survive");
}

#[test]
fn faults_by_name() {
    let mock = Running::start(&[
        "mock",
        "--fault",
        "http:status=529,times=1",
        "--fault",
        "rst:after-event=2,times=1",
    ]);
    assert_eq!(mock.connect().send(&post(&question(true))).read_response(true).status, 529);
    let (bytes, end) = mock.connect().send(&post(&question(true))).read_to_end();
    assert_eq!(end, client::End::Reset);
    assert!(!bytes.is_empty());
    assert_eq!(mock.connect().send(&post(&question(true))).read_response(true).status, 200);
    let (_, rest, _) = mock.end(Signal::INT);
    assert!(
        rest.contains("3 requests: 3 turns, 0 auxiliary, 0 unmatched, 0 invalid, 2 with a fault"),
        "{rest}"
    );
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let fetch = |seed: &str| {
        let mock = Running::start(&["mock", "tool-use", "--seed", seed]);
        mock.connect().send(&post(&question(true))).read_response(true).body()
    };
    assert_eq!(fetch("5"), fetch("5"));
    assert_ne!(fetch("5"), fetch("6"));
}

#[test]
fn a_port_in_use_is_the_environments_fault() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    clawgate(&["mock", "--port", &port]).assert().code(3).stdout("").stderr(predicate::str::contains(format!(
        "error: port {port} on 127.0.0.1 is in use; choose another one, or none to get a free one (--port N"
    )));
}

#[test]
fn mistakes_in_a_scenario_are_shown_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let name = file.to_str().unwrap();
    let head = "[scenario]\nname = \"mine\"\n\n";
    for (text, place, message) in [
        (
            "[[api.turns]]\ntxet = \"x\"\n",
            "5:1",
            "unknown key `txet`, did you mean `text`? (at api.turns[0].txet)",
        ),
        ("[[api.turns]]\ntext = 7\n", "5:8", "expected a string, found the number 7 (at api.turns[0].text)"),
        ("[[api.turns]]\ntext = \"x\n", "5:10", "invalid basic string"),
        ("[api]\nseed = -1\n", "5:8", "expected a whole number, zero or more, found the number -1"),
        ("[api]\n", "4:1", "a script needs at least one [[api.turns]]"),
        (
            "[[api.turns]]\nfault = \"stlal:after-event=1\"\n",
            "5:9",
            "unknown fault `stlal`, did you mean `stall`?",
        ),
        ("[[api.turns]]\nfaults = [\"http:status=500\", \"http:status=529\"]\n", "5:30", "never reached"),
        ("[[api.turns]]\nwhen = { turn = 0 }\n", "5:17", "turns are counted from 1"),
        ("[[api.turns]]\nwhen = { pointer = { \"a\" = 1 } }\n", "5:28", "a JSON pointer begins with `/`"),
        (
            "[[api.turns]]\nheaders = { content-length = \"3\" }\n",
            "5:30",
            "`content-length` is the transport's",
        ),
        ("[[api.turns]]\nblocks = [{ text = \"a\", thinking = \"b\" }]\n", "5:11", "expected exactly one of"),
        ("[[api.turns]]\nname = \"a\"\n[[api.turns]]\nname = \"a\"\n", "6:1", "a second turn named `a`"),
        ("[[api.turns]]\nchunk = 0\n", "5:9", "expected a number of characters"),
        (
            "[[api.turns]]\nwhen = { auxiliary = \"titel\" }\n",
            "5:22",
            "unknown kind `titel`, expected one of: title",
        ),
    ] {
        fs::write(&file, format!("{head}{text}")).unwrap();
        clawgate(&["mock", name]).assert().code(2).stdout("").stderr(
            predicate::str::contains(format!("error: {name}:{place}: "))
                .and(predicate::str::contains(message)),
        );
    }
    fs::write(&file, b"[scenario]\nname = \"\xff\"\n").unwrap();
    clawgate(&["mock", name]).assert().code(2).stderr(predicate::str::contains(":2:9: expected UTF-8 text"));
    fs::write(&file, "[scenario]\nname = \"mine\"\n[[api.turns]]\nstop_reason = \"tired\"\n").unwrap();
    clawgate(&["mock", name]).assert().code(2).stderr(predicate::str::contains(format!(
        "error: {name}:3:1: turn `turn-1` is not what the Messages API sends: \"tired\" is not one of"
    )));
}

#[test]
fn a_mistake_is_drawn_under_its_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("mine.toml"),
        "[scenario]\nname = \"mine\"\n\n[[api.turns]]\ntxet = \"x\"\n",
    )
    .unwrap();
    let output = clawgate(&["mock", "mine.toml"]).current_dir(folder.path()).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap());
}

#[test]
fn unknown_names_are_answered_with_a_suggestion() {
    let says = |arguments: &[&str], text: &str| {
        clawgate(arguments).assert().code(2).stderr(predicate::str::contains(text));
    };
    says(&["mock", "plian"], "did you mean `plain`?");
    says(
        &["mock", "zzzzzz"],
        "built in are: copilot, faults, opencode, plain, qwen, retry, sub-agent, tool-use",
    );
    says(&["mock", "./missing.toml"], "./missing.toml: there is no such file");
    says(&["mock", "--fault", "stlal"], "did you mean `stall`?");
    says(&["mock", "--fault", "rst:after-event=99"], "has no such place (10 events");
    says(
        &["mock", "--fault", "rst:after-event=1,turn=trun-1"],
        "there is no turn `trun-1`, did you mean `turn-1`?",
    );
    let told = predicate::str::contains("plain has no case nope");
    clawgate(&["sweep", "plain", "--case", "nope"]).assert().code(4).stderr(told);
}

#[test]
fn help_names_every_fault() {
    let output = clawgate(&["mock", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for (name, example) in clawgate::internals::harness::mock::fault::catalogue() {
        assert!(text.contains(&format!("--fault {example}")), "{name}");
    }
}

#[test]
fn list_names_the_built_in_scenarios() {
    clawgate(&["mock", "--list"])
        .assert()
        .code(0)
        .stdout(predicate::str::contains("sub-agent    The main conversation"));
}

#[test]
fn a_sweep_shows_every_case_on_the_wire() {
    // All of them but the 50 MB, which the wire test shows.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.toml");
    fs::write(&file, "[scenario]\nname = \"small\"\n[[api.turns]]\nname = \"only\"\ntext = \"é\"\n").unwrap();
    let output = clawgate(&["sweep", file.to_str().unwrap(), "--format", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let lines = lines(&String::from_utf8(output.stdout).unwrap(), "sweep");
    let (summary, cases) = lines.split_last().unwrap();
    assert_eq!(summary["passed"].as_u64().unwrap(), cases.len() as u64);
    let ends: std::collections::BTreeSet<_> =
        cases.iter().map(|case| case["wire"]["end"].as_str().unwrap()).collect();
    assert_eq!(
        ends.into_iter().collect::<Vec<_>>(),
        ["closed", "complete", "pinging", "refused", "reset", "stalled"]
    );
}

#[test]
fn a_sweep_id_replays_its_case() {
    let id = "tool-use::calls::rst:in-event=3";
    clawgate(&["sweep", "tool-use", "--case", id]).assert().code(0).stdout(
        predicate::str::contains(format!("pass {id}  "))
            .and(predicate::str::contains("1 passed, 0 failed, 0 skipped")),
    );
    let listed =
        clawgate(&["sweep", "tool-use", "--list", "--case", id, "--format", "json"]).output().unwrap();
    let case: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(case["replay"], "clawgate mock tool-use --fault rst:in-event=3,turn=calls");
    // The command beside it does what it says.
    let mock = Running::start(&["mock", "tool-use", "--fault", case["fault"].as_str().unwrap()]);
    let (_, end) = mock.connect().send(&post(&question(true))).read_to_end();
    assert_eq!(end, client::End::Reset);
}

#[test]
fn a_filter_that_selects_nothing_is_told_apart() {
    clawgate(&["sweep", "plain", "--filter", "zebra"]).assert().code(4);
}
