//! The scenarios on the real Claude CLI, in a network of its own. `CLAWGATE_CLAUDE_BIN` names the binary.

use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

/// One of each kind, so that the whole takes a minute or two.
const CHOSEN: &[&str] = &[
    "claude/answers",
    "claude/asks",
    "claude/background/lost",
    "claude/conversation/typed",
    "claude/credentials",
    "claude/files/denied",
    "claude/hooks",
    "claude/http/401",
    "claude/http/429",
    "claude/http/529",
    "claude/limits/budget",
    "claude/process",
    "claude/prompts",
    "claude/refusal",
    "claude/retry/rate-limit",
    "claude/skills",
    "claude/structured",
    "claude/sub-agent/answers",
    "claude/tools",
    "claude/transport/refused",
    "claude/transport/reset-mid-block",
    "claude/usage/unknown-flag",
    "claude/usage/unknown-session",
];

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn the_real_cli_is_as_expected() {
    let folder = TempDir::new().unwrap();
    let output = Command::new(cargo_bin("clawgate"))
        .arg("run")
        .args(CHOSEN)
        .args(["--target", "claude", "--out", "out"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", String::from_utf8_lossy(&output.stderr));
}
