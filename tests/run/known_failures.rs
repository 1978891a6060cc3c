//! `--known-failures` and `--update-known-failures`: a target with many reds starts green today, and only gets better.

use std::fs;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::folder_with;
use crate::schema::assert_fit;

/// A target whose errors exit with 0: each of its cases breaks a clause, and some more than that.
const BAD: &str = "reference+error-exit-0";
const LIST: &str = "known-failures.toml";

fn run(folder: &Path, args: &[&str]) -> assert_cmd::assert::Assert {
    let common = ["--target", BAD, "--golden", "off"];
    clawgate(folder).arg("run").args(args).args(common).assert()
}

fn finished(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["type"] == "case-finished").collect()
}

/// The folder with the list that an update wrote for `claw/mistakes`.
fn listed() -> TempDir {
    let folder = TempDir::new().unwrap();
    run(folder.path(), &["claw/mistakes"]).code(100);
    run(folder.path(), &["claw/mistakes", "--update-known-failures"]).success();
    folder
}

fn edit(folder: &Path, change: impl FnOnce(&str) -> String) {
    let path = folder.join(LIST);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, change(&text)).unwrap();
}

/// The list without the first entry that holds all of these words.
fn without(text: &str, words: &[&str]) -> String {
    let mut blocks: Vec<&str> = text.split("\n\n").collect();
    let at = blocks.iter().position(|block| words.iter().all(|word| block.contains(word))).unwrap();
    blocks.remove(at);
    blocks.join("\n\n")
}

const KNOWN: [&str; 3] = ["claw/mistakes", "--known-failures", LIST];

#[test]
fn what_fails_is_listed_and_then_passes_as_known() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), &["claw/mistakes", "--update-known-failures"])
        .success()
        .stdout(contains("known ").and(contains("with known failures)")))
        .stderr(
            contains("wrote known-failures.toml: ").and(contains("--known-failures known-failures.toml")),
        );
    run(folder.path(), &["claw/mistakes"]).code(100);
    run(folder.path(), &KNOWN).success().stdout(contains("FAIL").not());
    // By the environment and by a profile too.
    let by_environment = clawgate(folder.path())
        .args(["run", "claw/mistakes", "--target", BAD, "--golden", "off"])
        .env("CLAWGATE_KNOWN_FAILURES", LIST)
        .assert();
    by_environment.success();
    fs::write(
        folder.path().join("clawgate.toml"),
        "[profile.ci]\nknown-failures = \"known-failures.toml\"\n",
    )
    .unwrap();
    run(folder.path(), &["claw/mistakes"]).code(100);
    run(folder.path(), &["claw/mistakes", "--profile", "ci"]).success();
    // Written again it is the same, and says so.
    let before = fs::read_to_string(folder.path().join(LIST)).unwrap();
    let again = [&KNOWN[..], &["--update-known-failures"]].concat();
    run(folder.path(), &again).success().stderr(contains("is as it was"));
    assert_eq!(fs::read_to_string(folder.path().join(LIST)).unwrap(), before);
    // Nothing in it is of this machine, and its entries are in order.
    let cases: Vec<&str> = before.lines().filter(|line| line.starts_with("case = ")).collect();
    assert!(cases.len() > 8 && cases.is_sorted(), "{before}");
    // What a run reads, `judge` reads, and finds the same in the recordings, which name the target alone.
    edit(folder.path(), |text| text.replace(BAD, "reference*"));
    let (code, lines) = said(clawgate(folder.path()).args([
        "judge",
        "clawgate-out",
        "--known-failures",
        LIST,
        "--format",
        "json",
        "--allow",
        "usage",
        "--allow",
        "timeout",
        "--allow",
        "not_found",
        "--allow",
        "error",
    ]));
    assert_eq!(code, Some(0), "{lines:?}");
}

#[test]
fn the_events_say_what_is_known_and_why() {
    let folder = listed();
    let (code, events) = said(
        clawgate(folder.path())
            .arg("run")
            .args(KNOWN)
            .args(["--target", BAD, "--golden", "off", "--format", "json"]),
    );
    assert_eq!(code, Some(0));
    assert_fit(&events, "run");
    let known: Vec<&Value> = finished(&events).into_iter().filter(|case| case["known"].is_array()).collect();
    assert!(known.len() > 5);
    for case in &known {
        assert_eq!((&case["status"], &case["failures"]), (&"pass".into(), &Value::Array(Vec::new())));
        for failure in case["known"].as_array().unwrap() {
            assert!(failure["known"].as_str().unwrap().starts_with("failed when"), "{failure}");
        }
    }
    assert_eq!(events.last().unwrap()["known"], known.len());
    let clauses = known.iter().flat_map(|case| case["findings"].as_array().unwrap());
    assert!(clauses.filter(|finding| finding["level"] == "must").all(|finding| finding["known"].is_string()));
}

#[test]
fn a_new_failure_of_a_known_case_fails() {
    let folder = listed();
    edit(folder.path(), |text| {
        without(text, &["claw/mistakes/unknown-flag", "claw-stdout/error-exit-nonzero"])
    });
    let output = run(folder.path(), &KNOWN).code(100);
    output.stdout(contains("FAIL claw/mistakes/unknown-flag").and(contains("1 failed")));
    // Another outcome than the one that is listed is another failure.
    let folder = listed();
    edit(folder.path(), |text| text.replacen("found exit code 0", "found exit code 7", 1));
    run(folder.path(), &KNOWN).code(100).stdout(contains("stale").and(contains("1 failed")));
}

#[test]
fn an_entry_that_is_stale_or_expired_fails_with_its_place_in_every_report() {
    let folder = listed();
    let lines = fs::read_to_string(folder.path().join(LIST)).unwrap().lines().count();
    let stale = "\n[[known-failure]]\nclause = \"claw-stdout/terminates\"\ncase = \"claw/mistakes/*\"\nreason = \"r\"\n";
    edit(folder.path(), |text| text.to_owned() + stale);
    let place = format!("{LIST}:{}", lines + 2);
    let reports =
        ["junit=j.xml", "sarif=s.sarif", "markdown=m.md", "html=h.html", "gitlab=g.json", "github=gh.txt"];
    let reports: Vec<&str> = reports.iter().flat_map(|report| ["--report", report]).collect();
    let more = [&KNOWN[..], &["--report", "terminal"], &reports].concat();
    run(folder.path(), &more).code(100).stdout(contains(format!("stale {place}: the known failure of")));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("j.xml").contains(&format!("<testcase name=\"{place}\"")));
    assert!(read("j.xml").contains("known failure: exit: "), "known in the test tab");
    assert!(read("m.md").contains("Stale known failures") && read("m.md").contains("Known failures in"));
    assert!(read("h.html").contains("1 stale known failure") && read("h.html").contains(">known<"));
    assert!(read("gh.txt").contains(&format!("::error file={LIST},line={},", lines + 2)));
    assert!(read("g.json").contains("run/known-failures"));
    let sarif: Value = serde_json::from_str(&read("s.sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let (stale, known): (Vec<&Value>, Vec<&Value>) =
        results.iter().partition(|result| result["ruleId"] == "run/known-failures");
    assert_eq!(stale[0]["locations"][0]["physicalLocation"]["region"]["startLine"], lines + 2);
    assert!(
        known
            .iter()
            .filter(|result| result["level"] == "error")
            .all(|result| result["suppressions"].is_array())
    );
    assert!(known.iter().any(|result| result["ruleId"] == "run/exit"));
    // An update takes it off, and nothing else.
    let expired = "\n[[known-failure]]\nfailure = \"leftover\"\ncase = \"claw/mistakes/*\"\nreason = \"r\"\nexpires = 2001-01-01\n";
    let update = [&KNOWN[..], &["--update-known-failures"]].concat();
    run(folder.path(), &update).success().stderr(contains("0 added, 1 stale removed"));
    edit(folder.path(), |text| text.to_owned() + expired);
    run(folder.path(), &update).code(100).stdout(contains("expired on 2001-01-01"));
    run(folder.path(), &KNOWN).code(100);
}

#[test]
fn what_was_not_run_is_not_stale() {
    let folder = listed();
    for filter in ["claw/mistakes/unknown-flag", "claw/status"] {
        run(folder.path(), &[filter, "--known-failures", LIST]).success();
    }
    let other =
        ["run", "claw/mistakes", "--target", "reference", "--golden", "off", "--known-failures", LIST];
    clawgate(folder.path()).args(other).assert().success();
    // A case that does not exist at all is nobody's, whatever is run.
    edit(folder.path(), |text| text.replace("claw/mistakes/unknown-flag", "claw/mistakes/no-such-case"));
    run(folder.path(), &["claw/status", "--known-failures", LIST]).code(100).stdout(contains("stale"));
}

#[test]
fn a_failure_that_an_expired_entry_names_is_not_listed_again() {
    let folder = listed();
    edit(folder.path(), |text| text.replacen("reason = ", "expires = 2001-01-01\nreason = ", 1));
    let update = [&KNOWN[..], &["--update-known-failures"]].concat();
    run(folder.path(), &update).code(100).stdout(contains("1 failed").and(contains("expired on 2001-01-01")));
}

#[test]
fn shards_find_together_what_is_stale() {
    let folder = listed();
    let wide = |clause: &str| {
        format!("\n[[known-failure]]\nclause = \"{clause}\"\ncase = \"claw/mistakes/*\"\nreason = \"r\"\n")
    };
    edit(folder.path(), |text| {
        text.to_owned() + &wide("claw-stdout/error-exit-nonzero") + &wide("claw-stdout/terminates")
    });
    for shard in ["1/3", "2/3", "3/3"] {
        let out = format!("part-{}", &shard[..1]);
        run(folder.path(), &[&KNOWN[..], &["--shard", shard, "--out", &out]].concat()).success();
    }
    let merge = ["merge", "part-1", "part-2", "part-3"];
    let merged = clawgate(folder.path()).args(merge).assert().code(100);
    merged.stdout(contains("the known failure of claw-stdout/terminates matched nothing").count(1));
    edit(folder.path(), |text| without(text, &["claw-stdout/terminates"]) + "\n");
    for shard in ["1/3", "2/3", "3/3"] {
        let out = format!("part-{}", &shard[..1]);
        run(folder.path(), &[&KNOWN[..], &["--shard", shard, "--out", &out]].concat()).success();
    }
    clawgate(folder.path()).args(merge).assert().success().stdout(contains("with known failures)"));
}

#[test]
fn what_is_known_is_neither_tried_again_nor_the_end_of_a_run() {
    let folder = listed();
    let args = [
        &KNOWN[..],
        &["--retries", "2", "--fail-fast", "--format", "json", "--target", BAD, "--golden", "off"],
    ]
    .concat();
    let (code, events) = said(clawgate(folder.path()).arg("run").args(args));
    assert_eq!(code, Some(0));
    assert!(finished(&events).iter().all(|case| case["attempts"] == 1 && case["status"] == "pass"));
    run(folder.path(), &["--rerun", "failed", "--known-failures", LIST]).code(4);
}

#[test]
fn a_should_that_fails_can_be_known() {
    let folder = TempDir::new().unwrap();
    let run = |more: &[&str]| {
        clawgate(folder.path())
            .args(["run", "claw/prompt/verb", "--target", "reference+prose-in-json", "--golden", "off"])
            .args(more)
            .assert()
    };
    run(&["--update-known-failures"]).success();
    run(&["--known-failures", LIST]).success();
    run(&["--known-failures", LIST, "--fail-on", "should"])
        .code(100)
        .stdout(contains("claw-flat/answer-has-usage"));
    run(&["--known-failures", LIST, "--fail-on", "should", "--update-known-failures"])
        .success()
        .stderr(contains("1 added, 0 stale removed"));
    run(&["--known-failures", LIST, "--fail-on", "should"]).success();
    // An entry about what only warns here is no less needed there.
    run(&["--known-failures", LIST]).success();
}

#[test]
fn neither_the_harness_nor_the_environment_can_be_waived() {
    let folder = folder_with(&[("program", "#!/no/such/interpreter\n")]);
    make_executable(&folder.path().join("program"));
    let target = ["--target", "claw=./program", "--golden", "off"];
    let update = clawgate(folder.path())
        .args(["run", "claw/status/ok", "--update-known-failures"])
        .args(target)
        .assert();
    assert_ne!(update.get_output().status.code(), Some(0));
    assert!(!folder.path().join(LIST).exists());
    let all = "[[known-failure]]\nfailure = \"verdict\"\nreason = \"r\"\n";
    fs::write(folder.path().join(LIST), all).unwrap();
    let waived = clawgate(folder.path())
        .args(["run", "claw/status/ok", "--known-failures", LIST])
        .args(target)
        .assert();
    assert_ne!(waived.get_output().status.code(), Some(0));
    fs::write(folder.path().join(LIST), all.replace("verdict", "harness")).unwrap();
    run(folder.path(), &KNOWN).code(2).stderr(contains("known-failures.toml:2:11: `harness` is no failure"));
    run(folder.path(), &["claw/mistakes", "--known-failures", "none.toml"])
        .code(2)
        .stderr(contains("--update-known-failures"));
    run(folder.path(), &["claw/mistakes", "--known-failures", "."])
        .code(2)
        .stderr(contains(".: is a directory, and a file is expected").and(contains("os error").not()));
    clawgate(folder.path())
        .args(["run", "claw/mistakes", "--update-known-failures"])
        .env("CI", "true")
        .assert()
        .code(2)
        .stderr(contains("CI is set"));
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
