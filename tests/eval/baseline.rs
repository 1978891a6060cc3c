//! What an evaluation is compared with is looked at before the first trial.

use std::fs;

use serde_json::json;

use super::project::{MODEL, Project};

fn project() -> Project {
    let project = Project::new();
    let case = "[[cases]]\nid = \"ann\"\nprompt = \"Say hello\"\nassert = [{ type = \"contains\", needle = \"Ahoy\" }]\n";
    let spec = format!("[eval]\nskill = \"greet\"\n[run]\ntrials = 2\nwithout = false\n{MODEL}\n{case}");
    project.write("e.toml", &spec);
    project
}

#[test]
fn a_baseline_that_cannot_be_compared_is_refused_before_anything_runs() {
    let project = project();
    fs::create_dir(project.path().join("empty")).unwrap();
    project.write("torn/report.json", "{\"stamp\": ");
    project.write("other/report.json", "{\"status\": \"pass\"}");
    assert_eq!(project.eval(&["e.toml", "--out", "kept"]).code, Some(0));
    let kept: serde_json::Value =
        serde_json::from_slice(&fs::read(project.path().join("kept/greet/iteration-1/report.json")).unwrap())
            .unwrap();
    for (folder, pointer, value) in [
        ("counts", "/overall/with_skill/pass_rate", json!({"passed": "1", "measured": 2})),
        ("more", "/overall/with_skill/pass_rate/passed", json!(9)),
        ("newer", "/schema_version", json!(99)),
    ] {
        let mut report = kept.clone();
        *report.pointer_mut(pointer).unwrap() = value;
        project.write(&format!("{folder}/report.json"), &report.to_string());
    }
    for (folder, reason) in [
        ("nowhere", "no report.json in it"),
        ("empty", "no report.json in it"),
        ("torn", "no report.json in it"),
        ("other", "cannot be read"),
        ("counts", "its pass rate is no two counts"),
        ("more", "more trials passed than were measured"),
        ("newer", "it is of a newer clawgate"),
    ] {
        let said = project.eval(&["e.toml", "--baseline", folder]);
        assert_eq!(said.code, Some(2), "{folder}: {}", said.stdout);
        assert!(said.stderr.contains(reason) && said.stderr.contains(folder), "{}", said.stderr);
        assert!(!project.path().join("clawgate-out").exists(), "nothing was run");
    }
}

#[test]
fn a_baseline_that_says_nothing_is_refused_and_a_good_one_is_taken() {
    let project = project();
    assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    let first = "clawgate-out/eval/greet/iteration-1";
    assert_eq!(project.eval(&["e.toml", "--baseline", first]).code, Some(0));
    let path = project.path().join(first).join("report.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"status\": \"pass\"", "\"status\": \"invalid\"")).unwrap();
    let said = project.eval(&["e.toml", "--baseline", first]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert!(said.stderr.contains("cannot be compared: it is invalid"), "{}", said.stderr);
    assert!(!project.path().join("clawgate-out/eval/greet/iteration-3").exists());
}
