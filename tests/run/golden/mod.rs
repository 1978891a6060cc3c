//! Golden snapshots as a user meets them: `clawgate run --golden`, and `clawgate golden` on a real terminal.

mod learn;
mod own;
mod review;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use tempfile::TempDir;

use crate::command::{ROOT, clawgate, said};
use crate::schema::assert_fit;
use crate::support::process;
use crate::tree::files_below;

const ONE: &str = "claude/answers/stream";

/// A folder with the snapshots of some cases.
fn with_snapshots(cases: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    clawgate(folder.path()).arg("run").args(cases).args(["--golden", "update"]).assert().success();
    folder
}

/// Has a run differ from its snapshot, and returns what waits.
fn change(folder: &Path) -> PathBuf {
    let snapshot = folder.join(format!("golden/reference/{ONE}.snap"));
    let text = fs::read_to_string(&snapshot).unwrap();
    fs::write(&snapshot, text.replace("\"num_turns\": 1", "\"num_turns\": 7")).unwrap();
    // The report for people breaks lines; the events do not.
    let changed = "stream.snap differs in 1 line, first at line ";
    let lines = r#"expected `\"num_turns\": 7,`, found `\"num_turns\": 1,`"#;
    let run = clawgate(folder).args(["run", ONE, "--format", "json"]).assert().code(100);
    run.stdout(contains(changed)).stdout(contains(lines));
    let pending = folder.join(format!("golden/reference/{ONE}.snap.new"));
    assert!(pending.exists());
    pending
}

#[test]
fn the_snapshots_in_this_repository_hold_and_each_has_its_case() {
    let folder = TempDir::new().unwrap();
    let golden = format!("{ROOT}/golden");
    let args = ["run", "--golden", "check", "--golden-dir", &golden, "--repeat", "2"];
    let output = clawgate(folder.path()).args(args).env("CI", "1").output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let failed: Vec<&str> =
        shown.lines().filter(|line| !line.starts_with(" pass") && !line.starts_with(" skip")).collect();
    assert_eq!(output.status.code(), Some(0), "{failed:#?}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_snapshots_nothing_is_compared_or_written() {
    let folder = TempDir::new().unwrap();
    clawgate(folder.path()).args(["run", ONE]).assert().success();
    assert!(!folder.path().join("golden").exists());
    // Whoever asks for the comparison gets it.
    clawgate(folder.path())
        .args(["run", ONE, "--golden", "check"])
        .assert()
        .code(100)
        .stdout(contains("there is no golden/reference/claude/answers/stream.snap"));
    assert_eq!(files_below(&folder.path().join("golden")), ["reference/claude/answers/stream.snap.new"]);
    // It may be gone where that is allowed.
    clawgate(folder.path()).args(["run", ONE, "--golden", "check", "--allow-missing"]).assert().success();
}

#[test]
fn a_folder_of_snapshots_is_strict() {
    let folder = with_snapshots(&["claude/answers"]);
    clawgate(folder.path()).args(["run", "claude/answers"]).assert().success();
    // A case without a snapshot, and one that misbehaves: both fail.
    clawgate(folder.path()).args(["run", "claude/tools"]).assert().code(100).stdout(contains("there is no "));
    let args = ["run", ONE, "--target", "reference+no-result"];
    let wrong = clawgate(folder.path()).args(args).output().unwrap();
    assert_eq!(wrong.status.code(), Some(100));
    assert!(
        String::from_utf8_lossy(&wrong.stdout)
            .contains("golden: golden/reference/claude/answers/stream.snap differs")
    );
    // What is not as expected anyway is not offered as a snapshot.
    assert!(!folder.path().join(format!("golden/reference/{ONE}.snap.new")).exists());
    let args = ["run", ONE, "--golden", "update", "--target", "reference+no-result"];
    clawgate(folder.path()).args(args).assert().code(2).stderr(contains("misbehaves on purpose"));
}

#[test]
fn a_report_shows_the_whole_difference() {
    let folder = with_snapshots(&[ONE]);
    change(folder.path());
    let run = clawgate(folder.path()).args(["run", ONE, "--report", "html=report.html"]).assert();
    run.code(100);
    let page = fs::read_to_string(folder.path().join("report.html")).unwrap();
    let diff = &page[page.find("<pre class=\"diff\">").expect("the difference is shown")..];
    let diff = &diff[..diff.find("</pre>").unwrap()];
    for (class, line) in [("gone", "-  &quot;num_turns&quot;: 7,"), ("new", "+  &quot;num_turns&quot;: 1,")] {
        assert!(diff.contains(&format!("<span class=\"{class}\">{line}</span>")), "{diff}");
    }
}

#[test]
fn accept_and_reject_decide() {
    let folder = with_snapshots(&[ONE]);
    let pending = change(folder.path());
    clawgate(folder.path())
        .args(["golden", "reject", "other"])
        .assert()
        .code(4)
        .stderr(contains("1 wait for a decision in golden, and none of their paths holds `other`"));
    clawgate(folder.path())
        .args(["golden", "reject"])
        .assert()
        .success()
        .stdout(contains("rejected golden/reference/"));
    assert!(!pending.exists());
    clawgate(folder.path()).args(["run", ONE]).assert().code(100);
    let (_, lines) = said(clawgate(folder.path()).args(["golden", "accept", "--format", "json"]));
    assert_fit(&lines, "golden");
    assert_eq!((lines.len(), &lines[0]["type"]), (1, &"accepted".into()));
    clawgate(folder.path()).args(["run", ONE]).assert().success();
    clawgate(folder.path()).args(["golden", "accept"]).assert().success().stdout(contains("nothing waits"));
}

#[test]
fn regression_snapshots_that_are_not_there_were_nothing_that_waits() {
    let folder = with_snapshots(&[ONE]);
    for command in ["review", "accept", "reject"] {
        let golden = |args: &[&str]| clawgate(folder.path()).args(["golden", command]).args(args).assert();
        golden(&["/nonexistent"]).code(4).stderr(contains("0 wait").and(contains("--golden-dir")));
        golden(&["--golden-dir", "none"])
            .code(2)
            .stderr(contains("none: there is no such folder of snapshots").and(contains("--golden update")));
    }
}

#[test]
fn a_build_server_writes_nothing_and_refuses_orphans() {
    let folder = with_snapshots(&[ONE]);
    let golden = folder.path().join("golden");
    let before = files_below(&golden);
    let snapshot = golden.join(format!("reference/{ONE}.snap"));
    let text = fs::read_to_string(&snapshot).unwrap();
    fs::write(&snapshot, text.replace("\"num_turns\": 1", "\"num_turns\": 7")).unwrap();
    let ci = |args: &[&str]| clawgate(folder.path()).args(args).env("CI", "true").assert();
    ci(&["run", ONE]).code(100).stdout(contains("differs in 1 line, "));
    assert_eq!(files_below(&golden), before);
    ci(&["run", ONE, "--golden", "update"]).code(2).stderr(contains("CI is set"));
    fs::write(&snapshot, &text).unwrap();
    fs::write(golden.join("reference/claude/gone.snap"), &text).unwrap();
    ci(&["run", ONE]).code(100).stdout(contains("claude/gone.snap: no case has this snapshot"));
    // Every reader is told, not the exit code alone.
    let args = ["run", ONE, "--format", "json", "--report", "junit=j.xml"];
    let (_, events) = said(clawgate(folder.path()).args(args).env("CI", "true"));
    assert_fit(&events, "run");
    let end = events.last().unwrap();
    assert_eq!(
        (&end["exit_code"], end["snapshots"].as_array().map(Vec::len)),
        (&100.into(), Some(1)),
        "{end}"
    );
    let junit = fs::read_to_string(folder.path().join("j.xml")).unwrap();
    assert!(junit.contains("failures=\"1\"") && junit.contains("no case has this snapshot"), "{junit}");
    // So it does at home, unless that is allowed; and it can be removed.
    let home = |args: &[&str]| clawgate(folder.path()).args(["run", ONE]).args(args).assert();
    home(&[]).code(100).stdout(contains("--allow-missing accepts that its case is gone"));
    for allowed in [["--golden=check", "--allow-missing"], ["--golden=update", "--keep=none"]] {
        home(&allowed)
            .success()
            .stderr(contains("no case has this snapshot; remove it with: clawgate golden prune"));
    }
    let dry = clawgate(folder.path()).args(["golden", "prune", "--dry-run"]).assert().success();
    dry.stdout(contains("unreferenced golden/reference/claude/gone.snap"));
    assert!(golden.join("reference/claude/gone.snap").exists());
    clawgate(folder.path()).args(["golden", "prune"]).assert().success().stdout(contains("pruned "));
    assert_eq!(files_below(&golden), before);
    ci(&["run", ONE]).success();
}

/// A scenario that is not of the project, with a snapshot in it.
#[test]
fn what_belongs_to_another_set_of_scenarios_is_never_pruned() {
    let folder = TempDir::new().unwrap();
    let (project, others) = (folder.path().join("project"), folder.path().join("others"));
    for path in [&project, &others] {
        fs::create_dir(path).unwrap();
    }
    let scenario = |name: &str| {
        format!(
            "[scenario]\nname = \"{name}\"\ncontract = \"claude-stream-json\"\napi = \"plain\"\n[run]\nprompt = \"Say hello.\"\n"
        )
    };
    let (theirs, ours) = (others.join("theirs.toml"), project.join("ours.toml"));
    fs::write(&theirs, scenario("theirs")).unwrap();
    fs::write(&ours, scenario("ours")).unwrap();
    let run = |args: &[&str], env: &str| clawgate(&project).args(args).env("CI", env).assert();
    run(&["run", "../others/theirs.toml", "ours.toml", "theirs", "ours", "--golden", "update"], "").success();
    let snapshots = project.join("golden");
    let before = files_below(&snapshots);
    assert_eq!(before.len(), 2);

    // Neither a run nor prune knows these files, and both leave them alone.
    run(&["run", ONE, "--golden", "update"], "").success();
    run(&["run", ONE], "true").success();
    run(&["golden", "prune"], "").success().stdout(contains("every snapshot in golden has a case"));
    for path in &before {
        assert!(files_below(&snapshots).contains(path), "{path:?}");
    }
    // On another machine, where the others are not, neither.
    fs::rename(&others, folder.path().join("away")).unwrap();
    let said = run(&["golden", "prune"], "").success();
    said.stderr(contains(
        "theirs.snap: left alone: it belongs to ../../others/theirs.toml, which is not here",
    ));
    run(&["run", ONE], "true").success();
    // A case that is gone from its file, and a file that is gone from the project, leave orphans.
    fs::rename(folder.path().join("away"), &others).unwrap();
    fs::write(&theirs, scenario("renamed")).unwrap();
    run(&["run", ONE], "true").code(100).stdout(contains("theirs.snap: no case has this snapshot"));
    run(&["golden", "prune"], "").success().stdout(contains("pruned golden/reference/theirs.snap"));
    fs::remove_file(&ours).unwrap();
    run(&["golden", "prune"], "").success().stdout(contains("pruned golden/reference/ours.snap"));
}

#[test]
fn a_half_written_or_secret_one_is_refused_and_kept() {
    let folder = with_snapshots(&[ONE]);
    let pending = change(folder.path());
    let whole = fs::read_to_string(&pending).unwrap();
    fs::write(&pending, &whole[..whole.len() / 2]).unwrap();
    clawgate(folder.path()).args(["golden", "accept"]).assert().code(2).stderr(contains("half a snapshot"));
    assert!(pending.exists());
    let secret = whole.replace("Say hello.", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz");
    fs::write(&pending, secret).unwrap();
    clawgate(folder.path())
        .args(["golden", "accept"])
        .assert()
        .code(100)
        .stderr(contains("looks like a credential"));
    let snapshot = fs::read_to_string(folder.path().join(format!("golden/reference/{ONE}.snap"))).unwrap();
    assert!(snapshot.contains("\"num_turns\": 7") && !snapshot.contains("sk-ant"));
    // A snapshot that is damaged fails its case and says why.
    let path = folder.path().join(format!("golden/reference/{ONE}.snap"));
    fs::write(&path, &snapshot[..snapshot.len() / 2]).unwrap();
    clawgate(folder.path())
        .args(["run", ONE, "--format", "json"])
        .assert()
        .code(100)
        .stdout(contains("half a snapshot"));
}

#[test]
fn a_read_only_folder_loses_nothing() {
    let folder = with_snapshots(&[ONE]);
    let pending = change(folder.path());
    let before = fs::read_to_string(&pending).unwrap();
    let inside = pending.parent().unwrap();
    fs::set_permissions(inside, fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write anywhere, so it becomes somebody else.
    let mut accept = process(folder.path());
    accept.args(["golden", "accept"]);
    if rustix::process::getuid().is_root() {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        accept.uid(65_534).gid(65_534);
    }
    let output = accept.output().unwrap();
    fs::set_permissions(inside, fs::Permissions::from_mode(0o755)).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("answers: permission denied"), "{said}");
    assert_eq!(fs::read_to_string(&pending).unwrap(), before);
}

#[test]
fn two_runs_at_once_leave_whole_files() {
    let folder = with_snapshots(&["claude/answers"]);
    for path in files_below(&folder.path().join("golden")) {
        let path = folder.path().join("golden").join(path);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("Hello", "Goodbye")).unwrap();
    }
    let run = |out: &str| {
        let mut run = process(folder.path());
        run.args(["run", "claude/answers", "--repeat", "3", "--out", out]);
        run.stdout(Stdio::null()).spawn().unwrap()
    };
    let (mut one, mut two) = (run("one"), run("two"));
    assert_eq!(one.wait().unwrap().code(), Some(100));
    assert_eq!(two.wait().unwrap().code(), Some(100));
    let left = files_below(&folder.path().join("golden"));
    assert!(left.iter().all(|path| path.contains(".snap")), "{left:?}");
    clawgate(folder.path()).args(["golden", "accept"]).assert().success();
    clawgate(folder.path()).args(["run", "claude/answers"]).assert().success();
}

#[test]
fn insta_reads_the_same_content() {
    let folder = with_snapshots(&[ONE]);
    let path = folder.path().join(format!("golden/reference/{ONE}.snap"));
    let text = fs::read_to_string(&path).unwrap();
    let content = text.splitn(3, "---\n").nth(2).unwrap().trim_end();
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(path.parent().unwrap());
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("stream", content));
}
