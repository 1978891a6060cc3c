//! More than two ways of trying every case: versions of the skill, models, targets, no skill.

use std::fs;

use serde_json::json;

use super::project::{MODEL, Project};
use crate::schema::assert_fit;

const CLERK: &str = "---\nname: greet\ndescription: Greets people as clerks do.\n---\n\
                     Greet in the way of clerks: begin with Good day.\n";

const CASE: &str = "[[cases]]\nid = \"ann\"\nprompt = \"Say hello\"\n\
                    [[cases.assert]]\nid = \"pirate\"\ntype = \"contains\"\nneedle = \"Ahoy\"\n";

const ARMS: &str = "[[arms]]\nname = \"clerk\"\nskill = \"clerk\"\n\
                    [[arms]]\nname = \"small\"\nmodel = \"claude-small-1\"\n\
                    [[arms]]\nname = \"bare-small\"\nmodel = \"claude-small-1\"\nskill = false\n";

fn project(arms: &str, rules: &str) -> Project {
    let project = Project::new();
    project.write("clerk/SKILL.md", CLERK);
    let head = "[eval]\nskill = \"greet\"\n[run]\ntrials = 2\nbackoff_ms = 1\n";
    project.write("e.toml", &format!("{head}{arms}\n{MODEL}\n{rules}\n{CASE}"));
    project
}

#[test]
fn every_arm_is_measured_and_compared_with_the_skill() {
    let project = project(ARMS, "[[rules]]\narm = \"small\"\ntrials = [2]\napi = \"plain\"\n");
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let report = said.report();
    assert_fit(&said.events(), "eval");
    let overall = &report["overall"];
    assert_eq!(overall["with_skill"]["pass_rate"]["rate"], 1.0);
    assert_eq!(overall["delta"]["difference"], 1.0);
    let arms = overall["arms"].as_array().unwrap();
    let found: Vec<_> = arms
        .iter()
        .map(|arm| (arm["name"].as_str().unwrap(), &arm["pass_rate"]["rate"], &arm["delta"]["difference"]))
        .collect();
    let expected = [
        ("clerk", &json!(0.0), &json!(1.0)),
        ("small", &json!(0.5), &json!(0.5)),
        ("bare-small", &json!(0.0), &json!(1.0)),
    ];
    assert_eq!(found, expected);
    assert_eq!(report["cases"][0]["assertions"][0]["arms"]["clerk"]["passed"], 0);
    // Another model is other machinery: it has controls of its own. Another version of the skill has not.
    let controls: Vec<_> = report["controls"].as_array().unwrap().iter().map(|c| c["arm"].clone()).collect();
    let (small, bare) = (json!("small"), json!("bare-small"));
    assert_eq!(controls, [json!(null), json!(null), small.clone(), small, bare.clone(), bare]);
    let stamps = report["stamp"]["arms"].as_array().unwrap();
    assert_eq!(stamps[2]["skill"]["at"].as_str().map(|path| path.ends_with("clerk")), Some(true));
    assert_ne!(stamps[0]["skill_digest"], stamps[2]["skill_digest"]);
    let folder = project.path().join("clawgate-out/eval/greet/iteration-1/eval-ann");
    for arm in ["with_skill", "without_skill", "clerk", "small", "bare-small"] {
        assert!(folder.join(arm).join("run-2/trial.json").is_file(), "{arm}");
    }
    // What was run is what is graded again, whatever the file says now.
    let text = fs::read_to_string(project.path().join("e.toml")).unwrap().replace(ARMS, "");
    fs::write(project.path().join("e.toml"), text.replace("[[rules]]\narm = \"small\"", "[[rules]]"))
        .unwrap();
    let again = project.run(&["grade", "clawgate-out/eval/greet/iteration-1", "--format", "json"]);
    assert_eq!(again.report()["overall"]["arms"], overall["arms"]);
}

#[test]
fn an_arm_is_named_on_the_command_line_for_every_form() {
    let project = project("", "");
    let said = project.eval(&["e.toml", "--only-with", "--arm", "old,skill=clerk", "-n", "1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let overall = &said.report()["overall"];
    assert!(overall["without_skill"].is_null());
    assert_eq!(overall["arms"][0]["name"], "old");
    let text = project.run(&["--target", "reference", "e.toml", "--arm", "old,skill=clerk", "-n", "1"]);
    assert!(text.stdout.contains("old 0 % (0 of 1"), "{}", text.stdout);
    for (arm, complaint) in [
        ("old", "name a skill, a description, a model or a target"),
        ("old,skill=nowhere", "nowhere"),
        ("with_skill,model=m", "is there already"),
    ] {
        let said = project.eval(&["e.toml", "--arm", arm]);
        assert_eq!(said.code, Some(2), "{arm}");
        assert!(said.stderr.contains(complaint), "{arm}: {}", said.stderr);
    }
}

#[test]
fn a_broken_target_in_one_arm_makes_nothing_else_believable() {
    let project = project("[[arms]]\nname = \"liar\"\ntarget = \"reference+no-result\"\n", "");
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let report = said.report();
    assert!(report["warnings"].to_string().contains("control-pass/liar"), "{}", report["warnings"]);
    assert_eq!(report["overall"]["with_skill"]["pass_rate"]["rate"], 1.0);
}

#[test]
fn an_arm_that_nobody_knows_is_a_mistake_in_the_file() {
    let project = project(ARMS, "[[rules]]\narm = \"smal\"\napi = \"plain\"\n");
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("no arm `smal`, did you mean `small`?"), "{}", said.stderr);
}
