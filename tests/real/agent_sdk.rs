//! The published Claude Agent SDKs, as programs that start the CLI and speak with it: on the reference target and on the real
//! CLI, through `clawgate play`, and with what goes wrong in between. `tests/sdk/install.sh` installs them, pinned.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sdk::setting;
use crate::support::process;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sdk").join(name)
}

fn python() -> Command {
    let mut command = Command::new(setting("CLAWGATE_SDK_PYTHON"));
    command.arg(example("permission.py"));
    command
}

/// Modules are looked for beside the script, so it runs beside them.
fn typescript(folder: &Path) -> Command {
    let node = setting("CLAWGATE_SDK_NODE");
    for name in ["permission.mts", "permission.toml", "claude"] {
        std::fs::copy(example(name), folder.join(name)).unwrap();
    }
    let modules = folder.join("node_modules");
    if !modules.exists() {
        std::os::unix::fs::symlink(node.join("node_modules"), modules).unwrap();
    }
    let compiled = Command::new("node")
        .arg(node.join("node_modules/typescript/bin/tsc"))
        .args(["--noCheck", "--module", "nodenext", "--target", "es2022", "permission.mts"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
    let mut command = Command::new("node");
    command.arg(folder.join("permission.mjs"));
    command
}

/// What the program has seen, with each of these faults or none.
fn seen(command: &mut Command, folder: &Path, target: &str, faults: &[&str]) -> Value {
    let output = command
        .args(faults)
        .env("CLAWGATE", env!("CARGO_BIN_EXE_clawgate"))
        .env("CLAWGATE_TARGET", target)
        .env("CLAWGATE_OUT", folder.join("conversations"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The whole of it, as both SDKs see it.
fn check_whole(seen: &Value, what: &str) {
    assert_eq!(seen["asked"], json!(["Write", "mcp__calculator__add"]), "{what}: {seen}");
    assert_eq!((&seen["hooks"], &seen["added"]), (&json!(["Write"]), &json!(1)), "{what}: {seen}");
    assert_eq!(seen["result"], "It is 42.", "{what}: {seen}");
}

fn check_judged(folder: &Path) {
    let output = process(folder).args(["judge", "conversations"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

fn targets() -> Vec<String> {
    let real = std::env::var("CLAWGATE_CLAUDE_BIN").map(|program| format!("claude={program}"));
    std::iter::once("reference".to_owned()).chain(real).collect()
}

#[test]
#[ignore = "needs the Python package `claude-agent-sdk`: see tests/sdk/install.sh"]
fn the_python_agent_sdk_speaks_with_the_reference_and_the_cli() {
    for target in targets() {
        let folder = TempDir::new().unwrap();
        let seen = seen(&mut python(), folder.path(), &target, &[]);
        check_whole(&seen, &target);
        assert_eq!(seen["error"], Value::Null, "{target}");
        check_judged(folder.path());
    }
}

#[test]
#[ignore = "needs the npm package `@anthropic-ai/claude-agent-sdk`: see tests/sdk/install.sh"]
fn the_typescript_agent_sdk_speaks_with_the_reference_and_the_cli() {
    for target in targets() {
        let folder = TempDir::new().unwrap();
        let seen = seen(&mut typescript(folder.path()), folder.path(), &target, &[]);
        check_whole(&seen, &target);
        assert_eq!(seen["error"], Value::Null, "{target}");
        check_judged(folder.path());
    }
}

/// Those that a program survives.
const HARMLESS: [&str; 4] = ["unknown-message", "garbage-line", "result-twice", "late-exit:ms=100"];
/// Those after which there is no result, and an error says so.
const NO_RESULT: [&str; 3] = ["no-result", "cut-message", "cut:after=700"];

#[test]
#[ignore = "needs the Python package `claude-agent-sdk`: see tests/sdk/install.sh"]
fn the_python_agent_sdk_meets_what_goes_wrong() {
    let folder = TempDir::new().unwrap();
    let others = ["error-response", "wrong-id", "no-response", "request-twice", "crash"];
    let faults = [&HARMLESS[..], &NO_RESULT[..], &others[..]].concat();
    let seen = seen(&mut python(), folder.path(), "reference", &faults);
    for fault in HARMLESS {
        check_whole(&seen[fault], fault);
    }
    // Whether the program or its patience ends first.
    for fault in NO_RESULT.into_iter().chain(["wrong-id", "no-response"]) {
        assert_eq!(seen[fault]["result"], Value::Null, "{fault}: {}", seen[fault]);
        assert!(seen[fault]["error"].is_string(), "{fault}: {}", seen[fault]);
    }
    assert_eq!(seen["error-response"]["error"], "Exception");
    // Of what is asked twice under one id both are answered; the tool is never run.
    assert_eq!(seen["request-twice"]["asked"][1], "Write");
    // The result had come: that the program was killed after it is not told.
    assert_eq!((&seen["crash"]["result"], &seen["crash"]["error"]), (&json!("It is 42."), &Value::Null));
}

#[test]
#[ignore = "needs the npm package `@anthropic-ai/claude-agent-sdk`: see tests/sdk/install.sh"]
fn the_typescript_agent_sdk_meets_what_goes_wrong() {
    let folder = TempDir::new().unwrap();
    let others = ["error-response", "wrong-id", "no-response", "request-twice", "crash"];
    let faults = [&HARMLESS[..], &NO_RESULT[..], &others[..]].concat();
    let seen = seen(&mut typescript(folder.path()), folder.path(), "reference", &faults);
    // An answer to `initialize` that is an error, somebody else's or none is not noticed.
    for fault in HARMLESS.into_iter().chain(["error-response", "wrong-id", "no-response"]) {
        check_whole(&seen[fault], fault);
    }
    for fault in NO_RESULT {
        assert_eq!(seen[fault]["result"], Value::Null, "{fault}: {}", seen[fault]);
    }
    assert_eq!(seen["request-twice"]["asked"][1], "Write");
    assert!(seen["crash"]["error"].as_str().unwrap().contains("SIGKILL"), "{}", seen["crash"]);
}
