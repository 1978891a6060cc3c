//! The scenarios on real Claude CLIs, each in a network of its own. `CLAWGATE_CLAUDE_BINS` names the binaries, with
//! colons between them.

use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

/// One of each kind, so that a version takes a minute or two.
const CHOSEN: &[&str] = &[
    "claude/answers/stream",
    "claude/answers/json",
    "claude/asks",
    "claude/background",
    "claude/conversation/typed",
    "claude/credentials/missing",
    "claude/files/denied",
    "claude/hooks",
    "claude/http/400",
    "claude/http/429",
    "claude/http/529",
    "claude/large/stream",
    "claude/limits/budget",
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
        let output = Command::new(cargo_bin("clawgate"))
            .arg("run")
            .args(CHOSEN)
            .args(["--target", "claude", "--out", "out"])
            .env("CLAWGATE_CLAUDE_BIN", binary)
            .current_dir(folder.path())
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

#[test]
#[ignore = "needs npm and its registry; .ci/run runs it"]
fn a_version_is_installed_into_the_cache_and_answers() {
    let folder = TempDir::new().unwrap();
    let cache = folder.path().join("cache");
    let clawgate = |args: &[&str]| {
        let output = Command::new(cargo_bin("clawgate"))
            .args(args)
            .env("CLAWGATE_CACHE", &cache)
            .env_remove("CLAWGATE_CLAUDE_BIN")
            .current_dir(folder.path())
            .output()
            .unwrap();
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
