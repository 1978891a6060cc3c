//! The real Claude CLI against the scripted API. Needs its native binary: `CLAWGATE_CLAUDE_BIN`.
//!
//! ```text
//! npm install --ignore-scripts @anthropic-ai/claude-code@2.1.197 @anthropic-ai/claude-code-linux-x64@2.1.197
//! CLAWGATE_CLAUDE_BIN=node_modules/@anthropic-ai/claude-code-linux-x64/claude cargo test --test mock_claude -- --ignored
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "test code: a failure here is a failed test"
)]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clawgate::harness::mock::journal::Kind;
use clawgate::harness::mock::{Fault, Journal, MockApi, Options, Scenario};
use clawgate::harness::scenario::library;
use serde_json::Value;

fn binary() -> PathBuf {
    let path =
        std::env::var_os("CLAWGATE_CLAUDE_BIN").expect("CLAWGATE_CLAUDE_BIN names the native Claude CLI");
    let path = PathBuf::from(path);
    assert!(path.is_file(), "{} is no file", path.display());
    path
}

struct Run {
    lines: Vec<Value>,
    exit: Option<i32>,
    journal: Journal,
}

impl Run {
    fn result(&self) -> &Value {
        self.lines.iter().rfind(|line| line["type"] == "result").expect("a result line")
    }

    fn entries(&self) -> Vec<String> {
        let turns = self.journal.requests.iter().filter(|entry| entry.kind == Kind::Turn);
        turns.map(|entry| entry.entry.clone().unwrap_or_default()).collect()
    }
}

/// Runs the CLI in a throw-away home with the settings that keep it on loopback.
fn run(scenario: &str, faults: &[&str], retries: u32, extra: &[&str]) -> Run {
    run_with(scenario, faults, retries, extra, &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")])
}

fn run_with(scenario: &str, faults: &[&str], retries: u32, extra: &[&str], settings: &[(&str, &str)]) -> Run {
    let home = tempfile::tempdir().unwrap();
    let work = home.path().join("work");
    fs::create_dir(&work).unwrap();
    let text = library::text(scenario).unwrap();
    let script = Scenario::parse(scenario, text).unwrap().script;
    let faults = faults.iter().map(|fault| fault.parse::<Fault>().unwrap()).collect();
    let mut options = Options::default();
    options.faults = faults;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let api = runtime.block_on(MockApi::start(script, options)).unwrap();

    // A file, not a pipe: this version loses output on a slow pipe.
    let stdout = home.path().join("stdout");
    let mut child = Command::new(binary())
        .args(["-p", "Do as scripted.", "--output-format", "stream-json", "--verbose"])
        .args(["--model", "claude-sonnet-4-6", "--no-session-persistence", "--strict-mcp-config"])
        .args(extra)
        .current_dir(&work)
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("CLAUDE_CODE_TMPDIR", home.path().join("tmp"))
        .env("ANTHROPIC_BASE_URL", api.base_url())
        .env("ANTHROPIC_API_KEY", "dummy-key-for-the-mock")
        // Anything that tried to leave loopback would fail at a port where nobody listens.
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1")
        .envs(settings.iter().copied())
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", retries.to_string())
        .env("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1")
        .env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")
        .env("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1")
        .env("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1")
        .env("MAX_THINKING_TOKENS", "0")
        .stdin(Stdio::null())
        .stdout(File::create(&stdout).unwrap())
        .stderr(File::create(home.path().join("stderr")).unwrap())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(90);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the CLI did not end; journal: {:#?}", api.journal());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let journal = runtime.block_on(api.stop());
    let text = fs::read_to_string(&stdout).unwrap();
    let stderr = fs::read_to_string(home.path().join("stderr")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!lines.is_empty(), "no output; stderr: {stderr}");
    let shown = serde_json::to_string(&journal).unwrap();
    assert!(!shown.contains("dummy-key-for-the-mock"), "the key is in the journal");
    Run { lines, exit: status.code(), journal }
}

fn assert_clean(run: &Run) {
    let summary = run.journal.summary();
    assert!(summary.is_clean(), "{summary:#?}\n{:#?}", run.journal);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn a_plain_run_completes() {
    let run = run("plain", &[], 0, &[]);
    assert_eq!(run.exit, Some(0));
    assert_eq!(run.result()["result"], "Hello from the scripted API. Grüße aus dem Süden! 🦀");
    assert_eq!(run.result()["is_error"], false);
    assert_eq!(run.entries(), ["turn-1"]);
    assert_clean(&run);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn a_tool_is_run_and_its_result_comes_back() {
    let run = run("tool-use", &[], 0, &["--allowedTools", "Bash"]);
    assert_eq!(run.exit, Some(0), "{:#?}", run.lines);
    assert_eq!(run.result()["result"], "The command printed scripted-output.");
    assert_eq!(run.entries(), ["calls", "reports"]);
    let calls =
        run.lines.iter().flat_map(|line| line["message"]["content"].as_array().cloned().unwrap_or_default());
    let call = calls.into_iter().find(|block| block["type"] == "tool_use").unwrap();
    assert_eq!(call["input"]["command"], "echo scripted-output", "the split input is whole again");
    assert_clean(&run);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn a_sub_agent_has_a_conversation_of_its_own() {
    let run = run("sub-agent", &[], 0, &["--allowedTools", "Agent", "Task"]);
    assert_eq!(run.exit, Some(0), "{:#?}", run.lines);
    assert_eq!(run.result()["result"], "The sub-agent counted three files.");
    assert_eq!(run.entries(), ["delegates", "agent-answers", "concludes"]);
    assert_clean(&run);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn retries_reach_the_answer() {
    let run = run("retry", &[], 3, &[]);
    assert_eq!(run.exit, Some(0), "{:#?}", run.lines);
    assert_eq!(run.result()["result"], "Third time lucky.");
    assert_eq!(run.entries(), ["turn-1", "turn-1", "turn-1"]);
    let statuses: Vec<_> = run
        .journal
        .requests
        .iter()
        .filter(|entry| entry.kind == Kind::Turn)
        .map(|entry| entry.status)
        .collect();
    assert_eq!(statuses, [Some(529), Some(500), Some(200)]);
    let retried: Vec<_> = run
        .lines
        .iter()
        .filter(|line| line["subtype"] == "api_retry")
        .map(|line| line["error_status"].clone())
        .collect();
    assert_eq!(retried, [529, 500]);
    assert_clean(&run);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn faults_are_seen_for_what_they_are() {
    for (fault, text, status) in [
        ("http:status=429,message=\"Slow down, please\"", "Slow down, please", Value::from(429)),
        ("http:status=401", "API key", Value::from(401)),
        ("close:in-event=4", "Connection", Value::Null),
        ("rst:before-headers", "ECONNRESET", Value::Null),
        ("html", "without receiving any events", Value::Null),
    ] {
        let run = run("plain", &[fault], 0, &[]);
        assert_eq!(run.exit, Some(1), "{fault}: {:#?}", run.result());
        assert_eq!(run.result()["is_error"], true, "{fault}");
        let said = run.result()["result"].as_str().unwrap();
        assert!(said.to_lowercase().contains(&text.to_lowercase()), "{fault}: {said}");
        assert_eq!(run.result()["api_error_status"], status, "{fault}");
    }
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn work_on_the_side_uses_up_no_turn() {
    // Without the setting that keeps it quiet the CLI asks for a title, which repeats the prompt. 2.1.325 does not.
    let run = run_with("plain", &[], 0, &[], &[]);
    assert_eq!(run.exit, Some(0), "{:#?}", run.lines);
    assert_eq!(run.entries(), ["turn-1"]);
    let aside: Vec<_> = run.journal.requests.iter().filter(|entry| entry.kind == Kind::Auxiliary).collect();
    if run.lines.iter().any(|line| line["claude_code_version"] == "2.1.197") {
        let title = aside.iter().find(|entry| entry.entry.as_deref() == Some("title"));
        assert!(title.is_some(), "{:#?}", run.journal.requests);
    }
    assert_clean(&run);
}
