//! Snapshots of a user's own target: it holds still from its first run, also where its cases fail, and cannot touch what it
//! is compared with.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::folder_with;
use crate::tree::files_below;

/// Speaks as the Claude CLI does, with a duration, a session and a task that are others each time.
const STREAMS: &str = r#"#!/bin/sh
random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
id="$(random 4)-0000-4000-8000-$(random 6)"
task="b$(random 4)"
echo '{"type":"system","subtype":"init","session_id":"'$id'","cwd":"'$PWD'"}'
echo '{"type":"system","subtype":"task_started","session_id":"'$id'","task_id":"'$task'","description":"about '$task'"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"Hello.","duration_ms":'$(od -An -N2 -tu2 /dev/urandom | tr -d ' \n')',"session_id":"'$id'"}'
"#;

/// Lists sessions as claw-1.0 does, of which one is another each time.
const LISTS: &str = r#"#!/bin/sh
session="sess_$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')"
echo '{"timestamp":"'$(date -u +%FT%TZ)'","command":"list-sessions","exit_code":0,"output_format":"json","schema_version":"1.0",
"directory":"'$PWD'","sessions_count":1,"duration_ms":'$(od -An -N2 -tu2 /dev/urandom | tr -d ' \n')',"sessions":[{"session_id":"'$session'","path":"'$PWD/$session'.jsonl"}]}'
"#;

fn scenario(contract: &str) -> String {
    format!(
        "[scenario]\nname = \"mine\"\ncontract = \"{contract}\"\n[run]\nargs = [\"list-sessions\"]\n[expect]\nverdict = \"ok\"\nexit = 0\n"
    )
}

fn target(contract: &str) -> String {
    format!(
        "[target]\nname = \"mine\"\nprogram = \"./agent\"\n[env]\nPATH = \"/usr/local/bin:/usr/bin:/bin\"\n[[speaks]]\ncontract = \"{contract}\"\nargs = [\"--output-format\", \"json\"]\n"
    )
}

/// A folder with an agent, its target file and one case.
fn project(contract: &str, agent: &str) -> TempDir {
    let folder = folder_with(&[("mine.toml", &target(contract)), ("case.toml", &scenario(contract))]);
    act(folder.path(), agent);
    folder
}

fn act(folder: &Path, agent: &str) {
    fs::write(folder.join("agent"), agent).unwrap();
    fs::set_permissions(folder.join("agent"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs the case, and returns the exit code and what is wrong with its snapshot.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, Vec<Value>) {
    let mut command = clawgate(folder);
    command.args(["run", "case.toml", "--target", "mine.toml", "--format", "json"]).args(args);
    let (code, lines) = said(&mut command);
    let failures = lines.iter().filter_map(|line| line["failures"].as_array()).flatten();
    (code, failures.filter(|failure| failure["kind"] == "golden").cloned().collect())
}

#[test]
fn whoever_speaks_a_contract_holds_still_from_the_first_run() {
    for (contract, agent) in [("claude-stream-json", STREAMS), ("claw-1.0", LISTS)] {
        let folder = project(contract, agent);
        run(folder.path(), &["--golden", "update"]);
        assert_eq!(files_below(&folder.path().join("golden")), ["mine/mine.snap"], "{contract}");
        for _ in 0..3 {
            assert_eq!(run(folder.path(), &[]).1, [] as [Value; 0], "{contract}");
        }
        // It still sees what is no matter of chance.
        act(
            folder.path(),
            &agent.replace("Hello.", "Hi.").replace("sessions_count\":1", "sessions_count\":2"),
        );
        let (code, found) = run(folder.path(), &[]);
        assert_eq!((code, found.len()), (Some(100), 1), "{contract}: {found:?}");
    }
}

#[test]
fn a_failing_case_has_a_snapshot_that_waits_and_is_decided() {
    // It exits with 3, whatever it says.
    let failing = format!("{STREAMS}exit 3\n");
    let folder = project("claude-stream-json", &failing);
    let update = ["run", "case.toml", "--target", "mine.toml", "--golden", "update"];
    let updated = clawgate(folder.path()).args(update).assert().code(100);
    let wrote =
        "golden: 1 new, 0 changed, 0 as they were\n  new     golden/mine/mine.snap (of a case that failed)\n";
    updated.stderr(contains(wrote));
    assert_eq!(run(folder.path(), &[]), (Some(100), vec![]));
    act(folder.path(), &failing.replace("Hello.", "Goodbye."));
    let (_, found) = run(folder.path(), &[]);
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.ends_with("; decide with: clawgate golden review mine/mine.snap"), "{message}");
    assert!(folder.path().join("golden/mine/mine.snap.new").exists());
    // The terminal shows it, and so does the command that the message names.
    let shown = clawgate(folder.path()).args(["run", "case.toml", "--target", "mine.toml"]).assert();
    shown.stdout(contains("-  \"result\": \"Hello.\"")).stdout(contains("+  \"result\": \"Goodbye.\""));
    let review = clawgate(folder.path()).args(["golden", "review", "mine/mine.snap"]).assert().code(100);
    review.stdout(contains("Goodbye."));
    clawgate(folder.path()).args(["golden", "accept"]).assert().success();
    assert_eq!(run(folder.path(), &[]).1, [] as [Value; 0]);
}

#[test]
fn a_damaged_snapshot_is_told_and_what_was_found_waits() {
    let folder = project("claude-stream-json", STREAMS);
    run(folder.path(), &["--golden", "update"]);
    let snapshot = folder.path().join("golden/mine/mine.snap");
    let whole = fs::read_to_string(&snapshot).unwrap();
    fs::write(&snapshot, &whole[..whole.len() / 2]).unwrap();
    let message = run(folder.path(), &[]).1[0]["message"].to_string();
    assert!(message.contains("half a snapshot") && message.contains("golden review"), "{message}");
    clawgate(folder.path()).args(["golden", "accept"]).assert().success();
    assert_eq!(fs::read_to_string(&snapshot).unwrap(), whole);
    // In the format of a newer clawgate it is left alone.
    fs::write(&snapshot, whole.replace("format: 1", "format: 99")).unwrap();
    for mode in ["check", "update"] {
        let message = run(folder.path(), &["--golden", mode]).1[0]["message"].to_string();
        assert!(message.contains("update clawgate") && !message.contains("golden review"), "{message}");
    }
    assert!(fs::read_to_string(&snapshot).unwrap().contains("format: 99"));
}

#[test]
fn a_difference_that_comes_back_points_to_what_differs_from_run_to_run() {
    let folder = project("claude-stream-json", STREAMS);
    let volatile = |at: &str| STREAMS.replace("\"Hello.\"", &format!("\"Hello {at}.\""));
    act(folder.path(), &volatile("one"));
    run(folder.path(), &["--golden", "update"]);
    for (at, is_told) in [("two", false), ("three", true)] {
        act(folder.path(), &volatile(at));
        let message = run(folder.path(), &[]).1[0]["message"].as_str().unwrap().to_owned();
        let command = "clawgate golden learn-volatile case.toml --target mine.toml --case mine";
        assert_eq!(message.ends_with(command), is_told, "{at}: {message}");
        clawgate(folder.path()).args(["golden", "accept"]).assert().success();
    }
    // Elsewhere it is news.
    act(folder.path(), &volatile("three").replace("\"is_error\":false", "\"is_error\":true"));
    let message = run(folder.path(), &[]).1[0]["message"].to_string();
    assert!(!message.contains("learn-volatile"), "{message}");
    // The command that is named does what it is named for.
    act(folder.path(), &STREAMS.replace("\"Hello.\"", "\"Hello '$(random 3)'.\""));
    let learn = ["golden", "learn-volatile", "case.toml", "--target", "mine.toml", "--case", "mine"];
    clawgate(folder.path()).args(learn).assert().success().stdout(contains("+fields = [\"/result\"]"));
    // Where repetitions of one run differ it is told at once.
    let (_, found) = run(folder.path(), &["--golden", "update", "--repeat", "2"]);
    assert!(found[0]["message"].as_str().unwrap().contains("differs from the first"), "{found:?}");
}

#[test]
fn a_target_cannot_change_what_it_is_compared_with() {
    let folder = project("claude-stream-json", STREAMS);
    let path = folder.path().display().to_string();
    let other = STREAMS.replace("Hello.", "Goodbye.");
    // What it would like its snapshot to be.
    act(folder.path(), &other);
    run(folder.path(), &["--golden", "update", "--golden-dir", "liked"]);
    act(folder.path(), STREAMS);
    run(folder.path(), &["--golden", "update"]);
    let good = fs::read_to_string(folder.path().join("golden/mine/mine.snap")).unwrap();
    for harm in [
        format!("rm -rf {path}/golden/mine\n"),
        format!("rm {path}/golden/mine/mine.snap\n"),
        format!("cp {path}/liked/mine/mine.snap {path}/golden/mine/mine.snap\n"),
    ] {
        act(folder.path(), &format!("{other}{harm}"));
        let (code, found) = run(folder.path(), &["--network", "off"]);
        assert_eq!((code, found.len()), (Some(100), 1), "{harm}");
        let message = found[0]["message"].to_string();
        assert!(message.contains("while the run went on"), "{harm}: {message}");
        fs::create_dir_all(folder.path().join("golden/mine")).unwrap();
        fs::write(folder.path().join("golden/mine/mine.snap"), &good).unwrap();
    }
    // Neither can one that is done with its own prepare the next run.
    act(folder.path(), &format!("{STREAMS}cp {path}/liked/mine/mine.snap {path}/golden/mine/mine.snap\n"));
    let touched = clawgate(folder.path())
        .args(["run", "case.toml", "--target", "mine.toml", "--network", "off", "--golden", "check"])
        .assert();
    touched.code(100).stdout(contains("golden/mine/mine.snap: was changed, removed or put there"));
}
