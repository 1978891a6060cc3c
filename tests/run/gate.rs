//! A project gets its gate: `init`, `clawgate.toml`, `--since`, completions and manual pages.

use std::fs;
use std::path::Path;
use std::process::Command as Process;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{ROOT, clawgate, corpus, said};

fn listed(command: &mut Command) -> Vec<String> {
    let (_, cases) = said(command.args(["--list", "--format", "json"]));
    let name =
        |case: &Value| format!("{} {}", case["case"].as_str().unwrap(), case["target"].as_str().unwrap());
    cases.iter().map(name).collect()
}

#[test]
fn init_gives_a_gate_that_runs_and_overwrites_nothing() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    clawgate(root)
        .args(["init", "--install", "https://git.example/clawgate"])
        .assert()
        .success()
        .stdout(contains("wrote .github/workflows/clawgate.yml"));
    clawgate(root).args(["run", "example"]).assert().success().stdout(contains("example/greeting"));
    clawgate(root).args(["run", "example", "--profile", "ci"]).assert().success();
    assert!(root.join("clawgate-out/junit.xml").is_file() && root.join("clawgate-out/report.html").is_file());
    fs::write(root.join("clawgate.toml"), "# mine\n").unwrap();
    clawgate(root).arg("init").assert().success().stdout(contains("kept  clawgate.toml"));
    assert_eq!(fs::read_to_string(root.join("clawgate.toml")).unwrap(), "# mine\n");
}

#[test]
fn init_sees_which_ci_system_there_is() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(".gitlab-ci.yml"), "test:\n  script: x\n").unwrap();
    clawgate(folder.path())
        .args(["init", "--install", "https://git.example/clawgate"])
        .assert()
        .success()
        .stdout(contains("kept  .gitlab-ci.yml").and(contains("add this job")).and(contains("codequality")));
    assert!(!folder.path().join(".github").exists());
    clawgate(folder.path()).args(["init", "nowhere"]).assert().code(2);
    clawgate(folder.path()).args(["init", "/proc", "--ci", "none"]).assert().code(3);
}

#[test]
fn a_flag_beats_a_variable_which_beats_the_profile_which_beats_the_default() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let list = |args: &[&str], variable: Option<&str>| {
        let mut command = clawgate(root);
        command.arg("run").args(args);
        if let Some(target) = variable {
            command.env("CLAWGATE_TARGET", target);
        }
        let cases = listed(&mut command);
        cases[0].rsplit_once(' ').unwrap().1.to_owned()
    };
    assert_eq!(list(&[], None), "reference");
    let text =
        "[profile.default]\ntarget = \"reference+crash\"\n[profile.other]\ntarget = [\"reference+panic\"]\n";
    fs::write(root.join("clawgate.toml"), text).unwrap();
    assert_eq!(list(&[], None), "reference+crash");
    assert_eq!(list(&["--profile", "other"], None), "reference+panic");
    assert_eq!(list(&["--profile", "other"], Some("reference+silent")), "reference+silent");
    assert_eq!(list(&["--target", "reference+hang"], Some("reference+silent")), "reference+hang");
}

#[test]
fn a_profile_says_what_is_run_and_reported_and_its_mistakes_have_a_place() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let text = "[profile.default]\ncases = [\"claude/answers/stream\"]\nout = \"o\"\nrepeat = 2\nreport = [\"junit=j.xml\"]\n";
    fs::write(root.join("clawgate.toml"), text).unwrap();
    clawgate(root).arg("run").assert().success().stdout(contains("2 passed"));
    assert!(root.join("j.xml").is_file() && root.join("o/events.ndjson").is_file());
    fs::write(root.join("clawgate.toml"), "[profile.default]\nretires = 1\n").unwrap();
    clawgate(root)
        .arg("run")
        .assert()
        .code(2)
        .stderr(contains("clawgate.toml:2:1: unknown key `retires`, did you mean `retries`?"));
    fs::write(root.join("clawgate.toml"), "[profile.default]\nreport = [\"juint\"]\n").unwrap();
    clawgate(root).arg("run").assert().code(2).stderr(contains("did you mean `junit`?"));
    clawgate(root)
        .args(["run", "--profile", "nightly"])
        .assert()
        .code(2)
        .stderr(contains("no profile `nightly`"));
}

#[test]
fn what_is_wrong_with_a_run_says_what_to_do_next() {
    let folder = TempDir::new().unwrap();
    for (args, code, reason) in [
        (&["--profile", "ci"][..], 2, "there is no profile `ci`: profiles stand in clawgate.toml"),
        (
            &["claude/anwsers"],
            4,
            "no case on reference is selected by `claude/anwsers`; did you mean `claude/answers",
        ),
        // One that is right does not excuse one that is wrong.
        (&["claude/answers", "zebra"], 4, "no case on reference is selected by `zebra`"),
        (&["missing.toml"], 2, "missing.toml: there is no such file; what ends in .toml is a scenario file"),
        (&["--durations", "missing.json"], 2, "every run leaves its durations in OUT/last-run.json"),
        (&["--baseline", "missing.sarif"], 2, "--baseline takes what an earlier --report sarif=PATH wrote"),
        (&["--since", "main"], 2, "--since main: not a git repository"),
        (&["--rerun", "failed"], 4, "there is no last run in clawgate-out: run without --rerun first"),
        (&["--target", "claw=./missing"], 3, "./missing does not exist; to get it: "),
        (&["--report", "junit=x,html=x"], 2, "junit and html cannot both be written to x"),
        (&["--shard", "4/3"], 2, "expected K/N with K from 1 to N, such as 2/5"),
    ] {
        let mut command = clawgate(folder.path());
        command.env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap()).arg("run").args(args);
        command.assert().code(code).stderr(contains(reason));
    }
}

#[test]
fn the_published_schema_of_the_configuration_says_what_the_reader_takes() {
    let schema: Value =
        serde_json::from_str(include_str!("../../schemas/clawgate/config.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let valid = |text: &str| validator.is_valid(&toml::from_str::<Value>(text).unwrap());
    let takes = |text: &str| clawgate::internals::config::Config::parse("clawgate.toml", text).is_ok();
    assert!(valid(include_str!("../../src/cli/starter/clawgate.toml")));
    for (text, good) in [
        ("", true),
        ("[profile.ci]\ntarget = \"claw\"\ntimeout = 1.5", true),
        ("[profile.ci]\njobs = 0", false),
        ("[profile.ci]\ntimeout = 0", false),
        ("[profile.ci]\nfail-on = \"note\"", false),
        ("[profile.ci]\nreport = [1]", false),
        ("[profile.ci]\nfail_on = \"must\"", false),
        ("[profiles.ci]\n", false),
    ] {
        assert_eq!((valid(text), takes(text)), (good, good), "{text}");
    }
    // Every key of the one is a key of the other.
    for (key, sample) in [
        ("target", "\"x\""),
        ("cases", "[]"),
        ("scenarios", "[]"),
        ("jobs", "1"),
        ("timeout", "1"),
        ("retries", "1"),
        ("repeat", "1"),
        ("fail-fast", "true"),
        ("fail-on", "\"must\""),
        ("known-failures", "\"x\""),
        ("out", "\"x\""),
        ("keep", "\"all\""),
        ("network", "\"off\""),
        ("isolation", "\"require\""),
        ("disk-bytes", "1000000000"),
        ("report", "[]"),
        ("durations", "\"x\""),
    ] {
        let text = format!("[profile.x]\n{key} = {sample}");
        assert!(valid(&text) && takes(&text), "{text}");
    }
    assert_eq!(schema["$defs"]["profile"]["properties"].as_object().unwrap().len(), 17);
}

fn git(folder: &Path, args: &[&str]) {
    let mut git = Process::new("git");
    git.current_dir(folder).args(["-c", "user.name=x", "-c", "user.email=x@x"]).args(args);
    assert!(git.output().unwrap().status.success(), "git {args:?}");
}

#[test]
fn since_runs_what_a_change_touches_and_everything_in_doubt() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    clawgate(root).args(["init", "--ci", "none"]).assert().success();
    let example = fs::read_to_string(root.join("scenarios/example.toml")).unwrap();
    fs::write(root.join("scenarios/second.toml"), example.replace("example/", "second/")).unwrap();
    fs::write(root.join(".gitignore"), "clawgate-out\n").unwrap();
    git(root, &["init", "-q", "-b", "main"]);
    let says = contains("nothing to count changes from").and(contains("commit once"));
    clawgate(root).args(["run", "--changed"]).assert().code(2).stderr(says);
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "start"]);
    let since = || listed(clawgate(root).args(["run", "--since", "main"]));
    clawgate(root).args(["run", "--since", "main"]).assert().code(4).stderr(contains("no case is touched"));
    fs::write(root.join("README.md"), "words\n").unwrap();
    assert!(since().is_empty(), "documentation touches nothing");
    fs::write(root.join("scenarios/second.toml"), example.replace("example/", "second/") + "\n").unwrap();
    assert_eq!(since(), ["second/greeting reference"]);
    let changed = || listed(clawgate(root).args(["run", "--changed"]));
    assert_eq!(changed(), ["second/greeting reference"], "what is not committed yet");
    git(root, &["checkout", "-qb", "branch"]);
    git(root, &["commit", "-qam", "change"]);
    assert_eq!(since(), ["second/greeting reference"], "also when it is committed");
    assert!(changed().is_empty(), "what is committed is no change any more");
    clawgate(root).args(["run", "--changed"]).assert().code(4).stderr(contains("no case is touched"));
    clawgate(root).args(["run", "--changed", "--since", "main"]).assert().code(2);
    fs::write(root.join("program.rs"), "fn main() {}\n").unwrap();
    assert!(since().len() > 100, "a file of the program touches everything");
    fs::remove_file(root.join("program.rs")).unwrap();
    clawgate(root).args(["run", "--since", "nowhere"]).assert().code(2).stderr(contains("nowhere"));
    // Where the scenarios are is for the profile to say.
    fs::rename(root.join("scenarios"), root.join("cases")).unwrap();
    fs::write(root.join("clawgate.toml"), "[profile.default]\nscenarios = [\"cases\"]\n").unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", "elsewhere"]);
    git(root, &["branch", "-f", "main"]);
    fs::write(root.join("cases/second.toml"), example.replace("example/", "second/")).unwrap();
    assert_eq!(since(), ["second/greeting reference"]);
}

#[test]
fn what_cannot_be_written_is_the_environments_fault_whoever_writes_it() {
    let folder = TempDir::new().unwrap();
    let (log, recordings) = (corpus("claws-events/01-VALID-golden-run.jsonl"), corpus("claude-2.1.0"));
    fs::write(folder.path().join("file"), "").unwrap();
    for (command, input) in [
        (&["man", "--out", "file/x"][..], None),
        (&["init", "/proc", "--ci", "none"], None),
        (&["events", "timeline", "--html", "file/x"], Some(log)),
        (&["contract", "learn", "--out", "file/x"], Some(recordings)),
        (&["audit", "blind", "--write-survivors", "file/x"], None),
    ] {
        // A contract that lets something through.
        let blind = Path::new(ROOT).join("tests/data/blind");
        let words =
            command.iter().map(|word| if *word == "blind" { blind.as_os_str() } else { word.as_ref() });
        let output = clawgate(folder.path()).args(words).args(input).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{command:?}: {said}");
        assert!(said.contains("file/x") || said.contains("/proc/"), "{command:?}: {said}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        clawgate(folder.path())
            .args(["completions", shell])
            .assert()
            .success()
            .stdout(contains("merge").and(contains("known-failures")));
    }
    clawgate(folder.path()).arg("man").assert().success().stdout(contains("clawgate\\-merge"));
    clawgate(folder.path()).args(["man", "--out", "man1"]).assert().success();
    assert!(fs::read_to_string(folder.path().join("man1/clawgate-run.1")).unwrap().contains("report"));
}
