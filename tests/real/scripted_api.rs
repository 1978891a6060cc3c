//! The real Claude CLI against the scripted API. Needs its native binary: `CLAWGATE_CLAUDE_BIN`.
//!
//! ```text
//! npm install --ignore-scripts @anthropic-ai/claude-code@2.1.197 @anthropic-ai/claude-code-linux-x64@2.1.197
//! CLAWGATE_CLAUDE_BIN=node_modules/@anthropic-ai/claude-code-linux-x64/claude cargo test --test real -- --ignored scripted_api::
//! ```

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clawgate::internals::harness::mock::journal::Kind;
use clawgate::internals::harness::mock::{Fault, Journal, MockApi, Options};
use clawgate::internals::run::scenario::Scenario;
use clawgate::internals::run::scenario::library;
use serde_json::Value;

use crate::support::json_lines;

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

/// A scripted API and a throw-away home for the CLI.
struct Room {
    home: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    api: MockApi,
}

const QUIET: (&str, &str) = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");

impl Room {
    fn new(scenario: &str, faults: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        let script = Scenario::parse("scenario.toml", scenario).unwrap().script;
        let mut options = Options::default();
        options.faults = faults.iter().map(|fault| fault.parse::<Fault>().unwrap()).collect();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let api = runtime.block_on(MockApi::start(script, options)).unwrap();
        Room { home, runtime, api }
    }

    /// Runs the CLI with the settings that keep it on loopback.
    fn run(&self, arguments: &[&str], settings: &[(&str, &str)]) -> (Vec<Value>, Option<i32>) {
        let home = self.home.path();
        // A file, not a pipe: this version loses output on a slow pipe.
        let (stdout, stderr) = (home.join("stdout"), home.join("stderr"));
        let mut child = Command::new(binary())
            .args(arguments)
            .args(["--output-format", "stream-json", "--verbose"])
            .args(["--model", "claude-sonnet-4-6", "--strict-mcp-config"])
            .current_dir(home.join("work"))
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("CLAUDE_CODE_TMPDIR", home.join("tmp"))
            .env("ANTHROPIC_BASE_URL", self.api.base_url())
            .env("ANTHROPIC_API_KEY", "dummy-key-for-the-mock")
            // Anything that tried to leave loopback would fail at a port where nobody listens.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("NO_PROXY", "127.0.0.1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .env("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1")
            .env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")
            .env("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1")
            .env("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1")
            .env("MAX_THINKING_TOKENS", "0")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
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
                panic!("the CLI did not end; journal: {:#?}", self.api.journal());
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let text = fs::read_to_string(&stdout).unwrap();
        let lines = json_lines(text);
        assert!(!lines.is_empty(), "no output; stderr: {}", fs::read_to_string(&stderr).unwrap());
        (lines, status.code())
    }

    fn end(self, (lines, exit): (Vec<Value>, Option<i32>)) -> Run {
        let journal = self.runtime.block_on(self.api.stop());
        let shown = serde_json::to_string(&journal).unwrap();
        assert!(!shown.contains("dummy-key-for-the-mock"), "the key is in the journal");
        Run { lines, exit, journal }
    }
}

/// One run of a built-in scenario.
fn run(scenario: &str, faults: &[&str], extra: &[&str], settings: &[(&str, &str)]) -> Run {
    let room = Room::new(library::text(scenario).unwrap(), faults);
    let arguments = [&["-p", "Do as scripted.", "--no-session-persistence"], extra].concat();
    let seen = room.run(&arguments, settings);
    room.end(seen)
}

fn assert_clean(run: &Run) {
    let summary = run.journal.summary();
    assert!(summary.is_clean(), "{summary:#?}\n{:#?}", run.journal);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn a_plain_run_completes() {
    let run = run("plain", &[], &[], &[QUIET]);
    assert_eq!(run.exit, Some(0));
    assert_eq!(run.result()["result"], "Hello from the scripted API. Grüße aus dem Süden! 🦀");
    assert_eq!(run.result()["is_error"], false);
    assert_eq!(run.entries(), ["turn-1"]);
    assert_clean(&run);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn a_tool_is_run_and_its_result_comes_back() {
    let run = run("tool-use", &[], &["--allowedTools", "Bash"], &[QUIET]);
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
    let run = run("sub-agent", &[], &["--allowedTools", "Agent", "Task"], &[QUIET]);
    assert_eq!(run.exit, Some(0), "{:#?}", run.lines);
    assert_eq!(run.result()["result"], "The sub-agent counted three files.");
    assert_eq!(run.entries(), ["delegates", "agent-answers", "concludes"]);
    assert_clean(&run);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn retries_reach_the_answer() {
    let run = run("retry", &[], &[], &[QUIET, ("CLAUDE_CODE_MAX_RETRIES", "3")]);
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
        let run = run("plain", &[fault], &[], &[QUIET]);
        assert_eq!(run.exit, Some(1), "{fault}: {:#?}", run.result());
        assert_eq!(run.result()["is_error"], true, "{fault}");
        let said = run.result()["result"].as_str().unwrap();
        assert!(said.to_lowercase().contains(&text.to_lowercase()), "{fault}: {said}");
        assert_eq!(run.result()["api_error_status"], status, "{fault}");
    }
}

const ASIDE: &str = r#"
[scenario]
name = "aside"
[[api.turns]]
name = "searches"
when = { user = "search, please" }
tool = { name = "WebSearch", input = { query = "a scripted query" } }
[[api.turns]]
name = "runs"
when = { user = "run, please" }
tool = { name = "Bash", input = { command = "echo hi", description = "Say hi" } }
[[api.turns]]
name = "talks"
when = { turn = "any" }
text = "Fine, and how are you? This is long enough to be worth a summary."
"#;

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn work_on_the_side_uses_up_no_turn() {
    // Searches, labels for tool calls and a compaction.
    let room = Room::new(ASIDE, &[]);
    let session = "11111111-1111-4111-8111-111111111111";
    let allowed = ["--allowedTools", "WebSearch", "Bash"];
    let settings = [QUIET, ("CLAUDE_CODE_EMIT_TOOL_USE_SUMMARIES", "1")];
    room.run(&[&["-p", "Hello", "--session-id", session], &allowed[..]].concat(), &settings);
    let mut last = None;
    for prompt in ["search, please", "run, please", "and so on", "/compact", "go on"] {
        last = Some(room.run(&[&["-p", prompt, "--resume", session], &allowed[..]].concat(), &settings));
    }
    let run = room.end(last.unwrap());
    assert_eq!(run.exit, Some(0), "{:#?}", run.lines);
    assert_eq!(run.entries(), ["talks", "searches", "talks", "runs", "talks", "talks", "talks"]);
    let aside = run.journal.requests.iter().filter(|entry| entry.kind == Kind::Auxiliary);
    let mut kinds: Vec<_> = aside.filter_map(|entry| entry.entry.as_deref()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["compaction", "tool-summary", "web-search"], "{:#?}", run.journal.requests);
    assert_clean(&run);
}

#[test]
#[ignore = "needs the native Claude CLI in CLAWGATE_CLAUDE_BIN"]
fn a_title_uses_up_no_turn() {
    // Without the setting that keeps it quiet the CLI asks for a title, which repeats the prompt. 2.1.325 does not.
    let run = run("plain", &[], &[], &[]);
    assert_eq!((run.exit, run.entries()), (Some(0), vec!["turn-1".to_owned()]), "{:#?}", run.lines);
    if run.lines.iter().any(|line| line["claude_code_version"] == "2.1.197") {
        let titles = run.journal.requests.iter().filter(|entry| entry.entry.as_deref() == Some("title"));
        assert_eq!(titles.count(), 1, "{:#?}", run.journal.requests);
    }
    assert_clean(&run);
}
