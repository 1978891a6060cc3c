//! An agent of one's own: held to the part of the contract that it promises, and asked for what it claims.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::write;
use crate::support::{json_lines, process};

/// An agent that asks no API and speaks for itself: hardly more than the fields that the stream document names.
const AGENT: &str = r#"#!/bin/sh
case "$*" in *--version*) echo 2.1.300; exit;; esac
echo '{"type":"system","subtype":"init","session_id":"s1","cwd":"/work"}'
echo '{"type":"assistant","message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"Hello."}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Hello.","usage":{"input_tokens":1,"output_tokens":1}}'
"#;

/// Two cases that ask for nothing of the API; one of them needs hooks.
const SCENARIO: &str = r#"scenario = { name = "mine", contract = "claude-stream-json" }
[run]
prompt = "hi"
[expect]
requests = 0
[[variants]]
name = "plain"
[[variants]]
name = "hooked"
tags = ["hooks"]
"#;

fn script(folder: &Path, name: &str) {
    let path = write(folder, name, AGENT);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    script(folder.path(), "agent.sh");
    write(folder.path(), "mine.toml", SCENARIO);
    folder
}

#[test]
fn it_is_held_to_the_core_and_spared_what_it_never_claimed() {
    let folder = project();
    let args = ["run", "mine.toml", "--golden", "off", "--target", "agent=./agent.sh", "--format", "json"];
    let output = process(folder.path()).args(args).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        told.contains("1 case is left out on agent=./agent.sh, which does not claim what it needs"),
        "{told}"
    );
    assert!(told.contains("hooks 1 (`can` in its file claims it)"), "{told}");
    let lines = json_lines(output.stdout);
    let cases: Vec<_> = lines.iter().filter(|line| line["type"] == "case-finished").collect();
    assert_eq!(cases.len(), 1);
    assert_eq!((&cases[0]["case"], &cases[0]["contract"]), (&"mine/plain".into(), &"agent-core".into()));
}

#[test]
fn it_finds_its_files_with_the_room_and_the_api_filled_in() {
    let folder = project();
    let agent = AGENT.replace(
        "echo '{\"type\":\"system\"",
        "cat \"$HOME/.agent/conf\" settings >&2; echo '{\"type\":\"system\"",
    );
    let path = write(folder.path(), "agent.sh", agent);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let target = "target = { name = \"own\", program = \"./agent.sh\" }\nenv = { HOME = \"{home}\", PATH = \"/usr/bin:/bin\" }\n\
        [files]\n\"~/.agent/conf\" = 'home = \"{home}\", api = \"{api}/v1\"'\nsettings = { text = \"of the target\", mode = 0o600 }\n\
        [[speaks]]\ncontract = \"agent-core\"\nprompt = [\"{prompt}\"]\n";
    write(folder.path(), "own.toml", target);
    let told = |scenario: &str| {
        write(folder.path(), "mine.toml", scenario);
        let args =
            ["run", "mine.toml", "--golden", "off", "--target", "own.toml", "--out", "out", "--keep", "all"];
        let output = process(folder.path()).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
        fs::read_to_string(folder.path().join("out/own.toml/mine/plain/stderr")).unwrap()
    };
    let said = told(SCENARIO);
    assert!(
        said.contains("/home\", api = \"http://127.0.0.1:") && said.contains("/v1\"of the target"),
        "{said}"
    );
    // A case that brings the same file has its way.
    let said =
        told(&SCENARIO.replace("prompt = \"hi\"", "prompt = \"hi\"\nfiles = { settings = \"of the case\" }"));
    assert!(said.contains("/v1\"of the case"), "{said}");
}

#[test]
fn what_it_claims_it_is_asked_for() {
    let folder = project();
    let target = "[target]\nname = \"own\"\nprogram = \"./agent.sh\"\ncan = [\"hooks\"]\n[[speaks]]\ncontract = \"agent-core\"\nprompt = [\"{prompt}\"]\n";
    write(folder.path(), "own.toml", target);
    let list = |file: &str| {
        let args = ["run", "mine.toml", "--list", "--format", "json", "--target", file];
        said(clawgate(folder.path()).args(args)).1.len()
    };
    assert_eq!(list("own.toml"), 2);
    write(folder.path(), "none.toml", target.replace("can = [\"hooks\"]\n", "can = []\n"));
    assert_eq!(list("none.toml"), 1);
    // Who does not say what it can is asked everything.
    write(folder.path(), "all.toml", target.replace("can = [\"hooks\"]\n", ""));
    assert_eq!(list("all.toml"), 2);
    write(folder.path(), "typo.toml", target.replace("hooks", "hoks"));
    let typo = process(folder.path()).args(["run", "mine.toml", "--target", "typo.toml"]).output().unwrap();
    let told = String::from_utf8_lossy(&typo.stderr);
    assert!(told.contains("typo.toml:4:8: unknown ability `hoks`, did you mean `hooks`?"), "{told}");
}

#[test]
fn the_newest_installed_version_is_found_by_its_name_alone() {
    let folder = project();
    let cache = folder.path().join("cache");
    for version in ["2.1.99", "2.1.300"] {
        script(&cache, &format!("targets/claude@{version}/claude"));
    }
    let run = |args: &[&str]| {
        let mut command = process(folder.path());
        command.env("CLAWGATE_CACHE", &cache).env("PATH", "/nowhere").args(args);
        let output = command.output().unwrap();
        (json_lines(output.stdout), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let listed = run(&["target", "list", "--format", "json"]).0;
    let claude = listed.iter().find(|line| line["target"] == "claude").unwrap();
    assert_eq!(claude["installed"], serde_json::json!(["2.1.99", "2.1.300"]));
    assert!(claude["program"].as_str().unwrap().ends_with("claude@2.1.300/claude"), "{claude}");
    for (typed, label) in [("claude", "claude"), ("claude@latest", "claude@2.1.300")] {
        let (cases, told) = run(&["run", "mine.toml", "--list", "--format", "json", "--target", typed]);
        assert_eq!(cases.first().map(|case| case["target"].clone()), Some(label.into()), "{told}");
    }
    // What was just installed is not advised.
    let examined = run(&["target", "doctor", "claude", "--format", "json"]).0;
    let problem = examined[0]["problem"].as_str().unwrap();
    assert!(!problem.contains("install"), "{problem}");
}
