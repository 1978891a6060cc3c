//! Runs of the real Claude CLI, judged. `CLAWGATE_CLAUDE_BIN` names the binary; `.ci/claude-cli` installs it.
//!
//! The CLI runs in a network namespace of its own with nothing but loopback, with a cleared environment, a throw-away
//! home and no real key.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::process;

/// A command that runs the real CLI with these arguments and settings, away from any network.
fn claude(home: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> Command {
    let binary = std::env::var_os("CLAWGATE_CLAUDE_BIN").expect("CLAWGATE_CLAUDE_BIN names the Claude CLI");
    let mut command = Command::new("unshare");
    command
        .args(["--net", "--map-root-user", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(binary)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", home)
        .env("CLAUDE_CODE_TMPDIR", home)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_MAX_RETRIES", "0")
        .envs(settings.iter().copied())
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

const STREAM: [&str; 5] = ["-p", "say hi", "--output-format", "stream-json", "--verbose"];

/// Runs the CLI into files and judges them.
fn judged(settings: &[(&str, &str)], arguments: &[&str]) -> Value {
    let home = TempDir::new().unwrap();
    let (stdout, stderr) = (home.path().join("out.ndjson"), home.path().join("err"));
    let status = claude(home.path(), settings, arguments)
        .stdout(File::create(&stdout).unwrap())
        .stderr(File::create(&stderr).unwrap())
        .status()
        .unwrap();
    let output = process(home.path())
        .args(["judge", "--format", "json", "--exit-code", &status.code().unwrap().to_string(), "--stderr"])
        .args([&stderr, &stdout])
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| {
        panic!("{error}: {line}\n{}", fs::read_to_string(&stdout).unwrap_or_default())
    })
}

fn class(judgement: &Value) -> (&str, Option<&str>) {
    (judgement["verdict"]["class"].as_str().unwrap(), judgement["verdict"]["detail"].as_str())
}

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn without_a_key_the_environment_is_to_blame() {
    let judgement = judged(&[], &STREAM);
    assert_eq!(class(&judgement), ("auth", None), "{judgement}");
    assert_eq!(judgement["verdict"]["blame"], "environment");
    assert_eq!(
        judgement["session"]["cli_version"].as_str().map(|version| version.starts_with("2.")),
        Some(true)
    );
}

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn an_api_that_cannot_be_reached_may_be_tried_again() {
    let settings = [("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"), ("ANTHROPIC_API_KEY", "dummy")];
    let judgement = judged(&settings, &STREAM);
    assert_eq!(class(&judgement), ("api", Some("connection")), "{judgement}");
    assert_eq!(judgement["verdict"]["retryable"], true);
}

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn a_flag_that_the_cli_does_not_know_is_a_usage_error() {
    let judgement =
        judged(&[], &["-p", "x", "--output-format", "stream-json", "--verbose", "--no-such-flag"]);
    assert_eq!(class(&judgement), ("usage", None), "{judgement}");
}

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn a_pipe_from_the_cli_is_judged_live() {
    let home = TempDir::new().unwrap();
    let mut target =
        claude(home.path(), &[], &STREAM).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let output =
        process(home.path()).args(["judge", "-"]).stdin(target.stdout.take().unwrap()).output().unwrap();
    target.wait().unwrap();
    assert_eq!(output.status.code(), Some(100));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("auth") && shown.contains("blame: environment"), "{shown}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("session starts"));
}

/// Recorded against a stand-in, served again by the scenario that was made of it: the CLI does the same, as its snapshot of
/// the recording says.
#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn what_was_recorded_once_is_served_again_with_the_same_snapshot() {
    let binary = std::env::var_os("CLAWGATE_CLAUDE_BIN").expect("CLAWGATE_CLAUDE_BIN names the Claude CLI");
    let folder = TempDir::new().unwrap();
    let stand_in = "scenario.name = \"stand-in\"\n[[api.turns]]\nthinking = \"Hm.\"\ntext = \"Let me look.\"\n\
                    tool = { name = \"Bash\", input = { command = \"echo found\" } }\n\
                    [[api.turns]]\nchunk = 3\ntext = \"The key sk-ant-api03-torn-over-many-pieces is there.\"\n";
    fs::write(folder.path().join("stand-in.toml"), stand_in).unwrap();
    let mut mock = process(folder.path());
    let mock = mock
        .args(["mock", "stand-in.toml", "--stdin", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut mock = mock.stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(mock.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let mut record = process(folder.path());
    record.args([
        "record",
        "--upstream",
        url.trim(),
        "--target",
        "claude",
        "--as",
        "scenario",
        "found",
        "--",
    ]);
    let asks =
        ["-p", "Where is it?", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash"];
    let output = record.arg(&binary).args(asks).args(["--model", "claude-haiku-4-5"]).output().unwrap();
    // Its standard input ends, and so does it.
    drop(mock.stdin.take());
    mock.wait().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The last answer has the key; some versions ask for a title before.
    let answers = fs::read_dir(folder.path().join("clawgate-out/recorded/found/answers")).unwrap();
    let last = answers.map(|answer| answer.unwrap().path()).max().unwrap();
    let answer = fs::read_to_string(last).unwrap();
    assert!(!answer.contains("tor") && answer.contains("***"), "{answer}");
    let mut run = process(folder.path());
    let output = run
        .args(["run", "scenarios/found.toml", "--target", "claude"])
        .env("CLAWGATE_CLAUDE_BIN", &binary)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let snapshot = fs::read_to_string(folder.path().join("golden/claude/found.snap")).unwrap();
    assert!(snapshot.contains("Let me look.") && snapshot.contains("found"), "{snapshot}");
}
