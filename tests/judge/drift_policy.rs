//! What the versioning policy asks for, cases that are gone, and fixtures that are named after their commands.

use std::fs;
use std::path::{Path, PathBuf};

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::{Value, json};
use tempfile::TempDir;

use clawgate::judge::{self, Contracts, Options};

use crate::command::{ROOT, clawgate, said};
use crate::schema::assert_fit;

fn page() -> PathBuf {
    Path::new(ROOT).join("examples/fixtures")
}

fn fixture(command: &str) -> Value {
    let path = page().join("tests/fixtures/json").join(format!("{command}.json"));
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A folder for each side, with these envelopes as files.
fn sides(old: &[(&str, &Value)], new: &[(&str, &Value)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (side, files) in [("old", old), ("new", new)] {
        fs::create_dir(folder.path().join(side)).unwrap();
        for (name, value) in files {
            fs::write(folder.path().join(side).join(name), value.to_string()).unwrap();
        }
    }
    folder
}

fn diff(folder: &TempDir, more: &[&str]) -> (Option<i32>, Vec<Value>) {
    let (code, lines) =
        said(clawgate(folder.path()).args(["diff", "old", "new", "--format", "json"]).args(more));
    assert_fit(&lines, "diff");
    (code, lines)
}

fn changed(command: &str, edits: &[(&str, Option<Value>)]) -> Value {
    let mut value = fixture(command);
    for (field, new) in edits {
        match new {
            Some(new) => value[*field] = new.clone(),
            None => _ = value.as_object_mut().unwrap().shift_remove(*field),
        }
    }
    value
}

/// The exit code, and the bump that the summary names.
fn bump(new: &Value) -> (Option<i32>, Value) {
    let old = fixture("list-sessions");
    let folder = sides(&[("list-sessions.json", &old)], &[("list-sessions.json", new)]);
    let (code, lines) = diff(&folder, &[]);
    (code, lines.last().unwrap()["bumps"].clone())
}

fn asked(level: &str, new: &str, made: bool) -> Value {
    json!([{"contract": "claw-1.0", "asked": level, "version_at": "/schema_version", "old": "1.0", "new": new, "made": made}])
}

const GONE: (&str, Option<Value>) = ("sessions_count", None);

fn version(version: &str) -> (&'static str, Option<Value>) {
    ("schema_version", Some(version.into()))
}

#[test]
fn the_bump_is_named_and_recognised() {
    assert_eq!(bump(&fixture("list-sessions")), (Some(0), json!([])));
    let gone = |versions: &str| changed("list-sessions", &[GONE, version(versions)]);
    assert_eq!(bump(&gone("1.0")), (Some(100), asked("major", "1.0", false)));
    assert_eq!(bump(&gone("1.1")), (Some(100), asked("major", "1.1", false)));
    assert_eq!(bump(&gone("2.0")), (Some(0), asked("major", "2.0", true)));
    let added = changed("list-sessions", &[("colour", Some("red".into()))]);
    assert_eq!(bump(&added), (Some(0), asked("none", "1.0", false)));
    // A bump that announces nothing breaks readers for nothing.
    assert_eq!(bump(&changed("list-sessions", &[version("2.0")])).0, Some(100));
    let added = changed("list-sessions", &[("colour", Some("red".into())), version("2.0")]);
    assert_eq!(bump(&added), (Some(100), asked("none", "2.0", false)));
    // A version that is gone announces nothing.
    assert_eq!(bump(&changed("list-sessions", &[GONE, ("schema_version", None)])).0, Some(100));
}

#[test]
fn people_are_told_what_to_bump() {
    let old = fixture("list-sessions");
    let told = |new: &Value, format: &str| {
        let folder = sides(&[("list-sessions.json", &old)], &[("list-sessions.json", new)]);
        clawgate(folder.path()).args(["diff", "old", "new", "--format", format]).assert()
    };
    let (silent, loud) =
        (changed("list-sessions", &[GONE]), changed("list-sessions", &[GONE, version("2.0")]));
    let asks = "claw-1.0 asks for a major bump of /schema_version from 1.0 to 2.0, but it is still 1.0";
    told(&silent, "human").code(100).stdout(contains(asks));
    told(&loud, "human")
        .code(0)
        .stdout(contains("and it was made: 1.0 became 2.0"))
        .stdout(contains("announced"));
    told(&loud, "markdown").code(0).stdout(contains("&#40;announced&#41;"));
}

#[test]
fn a_bump_announces_only_the_commands_that_carry_it() {
    let route = changed("route", &[("match_count", None)]);
    let list = changed("list-sessions", &[GONE, version("2.0")]);
    let (old_list, old_route) = (fixture("list-sessions"), fixture("route"));
    let old = [("list-sessions.json", &old_list), ("route.json", &old_route)];
    let folder = sides(&old, &[("list-sessions.json", &list), ("route.json", &route)]);
    let (code, lines) = diff(&folder, &[]);
    let announced = |pointer: &str| {
        lines.iter().find(|line| line["pointer"] == pointer).map(|line| line["announced"].clone())
    };
    assert_eq!(
        (announced("/sessions_count"), announced("/match_count")),
        (Some(true.into()), Some(false.into()))
    );
    assert_eq!((code, &lines.last().unwrap()["bumps"][0]["made"]), (Some(100), &false.into()));
}

#[test]
fn what_is_met_before_the_version_is_not_announced() {
    let folder = TempDir::new().unwrap();
    for (side, version, code) in [("old", "1.0", 0), ("new", "2.0", 1)] {
        let place = folder.path().join(side).join("case");
        fs::create_dir_all(&place).unwrap();
        let facts = json!({"schema_version": 1, "target": "claw", "target_version": "", "scenario": "case",
            "exit": {"code": code}, "contract": "claw-1.0"});
        fs::write(place.join("recording.json"), facts.to_string()).unwrap();
        let stdout = changed("list-sessions", &[("schema_version", Some(version.into()))]);
        fs::write(place.join("stdout"), stdout.to_string()).unwrap();
    }
    let (code, lines) = diff(&folder, &[]);
    assert_eq!(code, Some(100));
    let exit = lines.iter().find(|line| line["kind"] == "exit-code").unwrap();
    assert_eq!(exit["announced"], false);
}

#[test]
fn a_fixture_that_is_gone_fails_unless_that_is_allowed() {
    let (list, route) = (fixture("list-sessions"), fixture("route"));
    let both = [("list-sessions.json", &list), ("route.json", &route)];
    let folder = sides(&both, &both[..1]);
    let gone = clawgate(folder.path()).args(["diff", "old", "new"]).assert().code(100);
    gone.stderr(contains("such as `route`").and(contains("--allow-missing")));
    assert_eq!(diff(&folder, &["--allow-missing"]).0, Some(0));
    // What is new is no loss.
    assert_eq!(diff(&sides(&both[..1], &both), &[]).0, Some(0));
}

#[test]
fn a_file_that_is_named_after_a_command_is_held_to_it() {
    let (list, route) = (fixture("list-sessions"), fixture("route"));
    let folder = sides(&[("list-sessions.json", &route)], &[("list-sessions.json", &route)]);
    let (code, lines) = diff(&folder, &[]);
    assert_eq!(
        (code, &lines[0]["kind"], &lines[0]["new"]),
        (Some(100), &"other-command".into(), &"route".into())
    );
    let judged = |name: &str| {
        let (code, lines) = said(clawgate(folder.path()).args(["judge", name, "--format", "json"]));
        let clauses =
            lines[0]["findings"].as_array().unwrap().iter().map(|finding| finding["clause"].clone());
        (code, clauses.collect::<Vec<_>>())
    };
    let (code, clauses) = judged("new/list-sessions.json");
    assert_eq!(code, Some(100));
    assert!(clauses.contains(&"claw-1.0/command-echo".into()), "{clauses:?}");
    // Any other name says nothing, and its own is right.
    for name in ["other.json", "route.json", "route.none.json"] {
        fs::write(folder.path().join(name), format!("{route}\n")).unwrap();
        assert_eq!(judged(name), (Some(0), Vec::new()), "{name}");
    }
    // The envelope of the old side spoke of another command: that is a change of what readers branch on.
    let folder = sides(
        &[("x.json", &list)],
        &[("x.json", &changed("list-sessions", &[("command", Some("route".into()))]))],
    );
    assert_eq!(diff(&folder, &[]).0, Some(100));
}

/// The commands of the page about fixtures, and what they exit with.
#[test]
fn the_page_about_fixtures_holds() {
    let folder = TempDir::new().unwrap();
    for below in ["tests/fixtures/json", "renamed", "announced"] {
        fs::create_dir_all(folder.path().join(below)).unwrap();
        for entry in fs::read_dir(page().join(below)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(below).join(entry.file_name())).unwrap();
        }
    }
    let text = fs::read_to_string(page().join("README.md")).unwrap();
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("$ clawgate ")).collect();
    assert_eq!(commands.len(), 6);
    for command in commands {
        let (words, code) = command.split_once(" # exits with ").unwrap_or((command, "0"));
        let output = clawgate(folder.path()).args(words.split(' ')).output().unwrap();
        assert_eq!(
            output.status.code(),
            code.parse().ok(),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let conformance = fs::read_to_string(folder.path().join("conformance.md")).unwrap();
    assert!(conformance.contains("<code>tests/fixtures/json</code>"), "a column of its own");
    let learned = fs::read_to_string(folder.path().join("learned/contract.toml")).unwrap();
    for command in ["list-sessions", "route", "bootstrap-graph"] {
        assert!(learned.contains(&format!("id = \"{command}\"")), "{learned}");
        assert!(learned.contains(&format!("\"/command\" = \"{command}\"")), "{learned}");
    }
}

/// The test that the page shows.
#[test]
fn test_json_envelope_field_consistency() {
    let contracts = Contracts::only("claw-1.0").unwrap();
    let fixtures = judge::find(&page().join("tests/fixtures/json")).unwrap();
    assert_eq!(fixtures.len(), 13);
    for fixture in fixtures {
        let judgement = judge::file(Path::new(&fixture.name), &contracts, &Options::default()).unwrap();
        let broken: Vec<_> = judgement.findings.iter().filter(|finding| finding.fails()).collect();
        assert!(broken.is_empty(), "{}: {broken:#?}", fixture.name);
    }
}
