//! The scenarios on real Claude CLIs, each in a network of its own. `CLAWGATE_CLAUDE_BINS` names the binaries, with
//! colons between them.

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{json_lines, process};

/// One of each kind, so that a version takes a minute or two.
const CHOSEN: &[&str] = &[
    "claude/answers/stream",
    "claude/answers/json",
    "claude/asks",
    "claude/background",
    "claude/commands/long-list",
    "claude/commands/servers",
    "claude/control/changed",
    "claude/control/denied",
    "claude/control/never",
    "claude/control/twice",
    "claude/conversation/typed",
    "claude/credentials/missing",
    "claude/files/denied",
    "claude/hooks",
    "claude/host",
    "claude/http/400",
    "claude/http/429",
    "claude/http/529",
    "claude/interrupted",
    "claude/interrupts/goes-on",
    "claude/large/stream",
    "claude/limits/budget",
    "claude/mcp/stdio",
    "claude/mcp/dies-in-a-call-http",
    "claude/mcp/session-forgotten",
    "claude/mcp-two/one-dead",
    "claude/orders/mode",
    "claude/orders/model",
    "claude/process/killed",
    "claude/process/closed-stdout",
    "claude/prompts/large",
    "claude/prompts/dash",
    "claude/refusal",
    "claude/resume/goes-on",
    "claude/retry/rate-limit",
    "claude/skills",
    "claude/structured/fits",
    "claude/sub-agent/answers",
    "claude/tools/bash",
    "claude/tools/max-turns-json",
    "claude/tools/partial",
    "claude/transport/refused",
    "claude/transport/reset-mid-block",
    "claude/usage/unknown-flag",
    "claude/usage/unknown-session",
];

#[test]
#[ignore = "needs real Claude CLIs; .ci/run runs it"]
fn every_version_is_as_expected() {
    let binaries = std::env::var("CLAWGATE_CLAUDE_BINS").unwrap();
    for binary in binaries.split(':') {
        let folder = TempDir::new().unwrap();
        let output = process(folder.path())
            .arg("run")
            .args(CHOSEN)
            .args(["--target", "claude", "--out", "out"])
            .env("CLAWGATE_CLAUDE_BIN", binary)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{binary}: {shown}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// A few, each of another kind, five times on the oldest version and on the newest: normalised they are the same.
#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn runs_of_the_same_binary_are_the_same() {
    const STEADY: &[&str] = &[
        "claude/answers/stream",
        "claude/background/in-front",
        "claude/files/denied",
        "claude/hooks/session-start",
        "claude/http/429",
        "claude/limits/budget-json",
        "claude/refusal",
        "claude/retry/rate-limit",
        "claude/structured/fits",
        "claude/sub-agent/answers",
        "claude/sub-agent/json",
        "claude/tools/bash",
    ];
    let binaries = std::env::var("CLAWGATE_CLAUDE_BINS").unwrap();
    let oldest = binaries.split(':').next().unwrap();
    let newest = binaries.rsplit(':').next().unwrap();
    let run = |folder: &TempDir, binary: &str, more: &[&str]| {
        let output = process(folder.path())
            .arg("run")
            .args(STEADY)
            .args(["--target", "claude"])
            .args(more)
            .env("CLAWGATE_CLAUDE_BIN", binary)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    };
    for binary in [oldest, newest] {
        let folder = TempDir::new().unwrap();
        run(&folder, binary, &["--golden", "update"]);
        run(&folder, binary, &["--golden", "check", "--repeat", "4"]);
    }
}

/// A script, the last script, a binary: what stands between them is found.
#[test]
#[ignore = "needs npm and its registry; .ci/run runs it"]
fn a_matrix_goes_over_scripts_and_binaries() {
    let folder = TempDir::new().unwrap();
    let output = process(folder.path())
        .args([
            "matrix",
            "claude@2.1.0..2.1.197",
            "--sample",
            "3",
            "--bisect",
            "1",
            "--discard",
            "--format",
            "json",
        ])
        .args(["--case", "claude/answers/stream", "--case", "claude/tools/max-turns"])
        .env("CLAWGATE_CACHE", folder.path().join("cache"))
        .output()
        .unwrap();
    let (shown, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{shown}{said}");
    let lines = json_lines(shown.as_bytes());
    for pointer in ["/stop_reason", "/terminal_reason", "/ttft_ms"] {
        let is_told = |line: &&Value| {
            line["kind"] == "field-added" && line["message"] == "result/success" && line["pointer"] == pointer
        };
        assert_eq!(lines.iter().filter(is_told).count(), 1, "{pointer}: {shown}{said}");
    }
    assert!(said.contains("installing @anthropic-ai/claude-code@2.1.0"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path().join("cache/targets")).unwrap().count(), 0);
}

#[test]
#[ignore = "needs npm and its registry; .ci/run runs it"]
fn a_version_is_installed_into_the_cache_and_answers() {
    let folder = TempDir::new().unwrap();
    let cache = folder.path().join("cache");
    let clawgate = |args: &[&str]| {
        let output = process(folder.path()).args(args).env("CLAWGATE_CACHE", &cache).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let installed = clawgate(&["target", "install", "claude@2.1.197"]);
    assert!(installed.trim().starts_with(cache.to_str().unwrap()), "{installed}");
    // A second time there is nothing to do.
    assert_eq!(clawgate(&["target", "install", "claude@2.1.197"]), installed);
    let doctor = clawgate(&["target", "doctor", "claude@2.1.197"]);
    assert!(
        doctor.starts_with("claude@2.1.197: fine: ") && doctor.trim_end().ends_with("2.1.197"),
        "{doctor}"
    );
}
