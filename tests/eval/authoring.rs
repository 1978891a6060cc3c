//! What an author has besides running: a first evaluation, a plan with its price, single cases, and sets of triggers.

use super::project::{MODEL, Project};
use crate::schema::assert_fit;

#[test]
fn a_first_evaluation_is_written_once_and_runs() {
    let project = Project::new();
    let said = project.run(&["init", ".claude/skills/greet"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("next: clawgate eval .claude/skills/greet/eval.toml"), "{}", said.stdout);
    assert_eq!(project.run(&["lint", "--strict"]).code, Some(0));
    let said = project.eval(&[".claude/skills/greet"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stderr, said.stdout);
    let report = said.report();
    assert_eq!(report["overall"]["delta"]["difference"], 1.0);
    assert_eq!(report["triggers"]["recall"]["rate"], 1.0);
    assert!(!report["warnings"].to_string().contains("nobody used"), "{:#}", report["warnings"]);
    // What is there stays.
    let said = project.run(&["init", "greet"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("--to"), "{}", said.stderr);
    assert_eq!(project.run(&["init", "greet", "--to", "other.toml"]).code, Some(0));
    assert_eq!(project.eval(&["other.toml"]).code, Some(0));
    let said = project.run(&["init", "gret"]);
    assert!(said.code == Some(2) && said.stderr.contains("did you mean `greet`?"), "{}", said.stderr);
}

fn two_cases(project: &Project) {
    let case = |id: &str| {
        format!(
            "[[cases]]\nid = \"{id}\"\nprompt = \"Say hello\"\nassert = [{{ type = \"contains\", needle = \"Ahoy\" }}]\n"
        )
    };
    project.write(
        "e.toml",
        &format!("[eval]\nskill = \"greet\"\n[run]\ntrials = 2\n{MODEL}\n{}{}", case("ann"), case("bob")),
    );
}

#[test]
fn single_cases_are_chosen_and_are_not_taken_for_the_whole() {
    let project = Project::new();
    two_cases(&project);
    let said = project.eval(&["e.toml", "--case", "b*"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let report = said.report();
    assert_eq!(report["cases"].as_array().unwrap().len(), 1);
    assert_eq!(report["cases"][0]["case"], "bob");
    assert!(!report["warnings"].to_string().contains("nobody used"));
    assert_eq!(project.run(&["grade", "clawgate-out/eval/greet/iteration-1"]).code, Some(0));
    let said = project.eval(&["e.toml", "--baseline", "clawgate-out/eval/greet/iteration-1"]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    let said = project.eval(&["e.toml", "--case", "bop"]);
    assert_eq!(said.code, Some(4), "{}", said.stdout);
    assert!(said.stderr.contains("did you mean `bob`?"), "{}", said.stderr);
}

#[test]
fn a_dry_run_says_what_it_would_take_and_runs_nothing() {
    let project = Project::new();
    two_cases(&project);
    let said = project.run(&["e.toml", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for expected in ["10 trials on reference", "2 × ann · with_skill", "not known", "at most $10.00"] {
        assert!(said.stdout.contains(expected), "{expected}: {}", said.stdout);
    }
    assert!(!project.path().join("clawgate-out").exists());
    assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    let said = project.eval(&["e.toml", "--dry-run", "--trials", "4"]);
    let planned = said.events().remove(0);
    assert_fit(std::slice::from_ref(&planned), "eval");
    assert_eq!((&planned["trials"], &planned["from_iteration"]), (&18.into(), &1.into()));
    assert!(planned["cost_usd"].as_f64().unwrap() > 0.0);
    assert!(!project.path().join("clawgate-out/eval/greet/iteration-2").exists());
}

/// The model uses the skill when its description speaks of crews, which the command line tells it.
const TRIGGERS: &str = r#"
[[api.turns]]
when = { user = "crew" }
tool = { name = "Skill", input = { skill = "greet" } }
[[api.turns]]
when = { turn = "any" }
text = "Well."
"#;

const SET: &str = r#"[{"query": "Greet my crew", "should_trigger": true}, {"query": "Hail the crew", "should_trigger": true},
 {"query": "Salute everybody", "should_trigger": true}, {"query": "Say hi to the crew", "should_trigger": true},
 {"query": "What is the weather?", "should_trigger": false}, {"query": "Add two numbers", "should_trigger": false}]"#;

#[test]
fn a_set_of_triggers_is_taken_as_skill_creator_writes_it() {
    let project = Project::new();
    project.write(".claude/skills/greet/evals/triggers.json", SET);
    project.write("model.toml", &format!("[scenario]\nname = \"m\"\n{TRIGGERS}"));
    let args = [".claude/skills/greet/evals/triggers.json", "--script", "model.toml", "--trials", "1"];
    let said = project.eval(&args);
    assert_eq!(said.code, Some(100), "{}", said.stderr);
    let triggers = &said.report()["triggers"];
    assert_eq!((&triggers["recall"]["passed"], &triggers["recall"]["measured"]), (&3.into(), &4.into()));
    assert_eq!(triggers["precision"]["rate"], 1.0);
    for (set, expected) in [
        ("[]", "the set is empty"),
        ("[{\"query\": \"x\"}]", "should_trigger"),
        ("[{\"query\": \"x\", \"should_triger\": true}]", "should_trig"),
        (
            "[{\"query\": \"x\", \"should_trigger\": true}, {\"query\": \"x\", \"should_trigger\": false}]",
            "twice",
        ),
    ] {
        project.write(".claude/skills/greet/evals/triggers.json", set);
        let said = project.eval(&args);
        assert_eq!(said.code, Some(2), "{set}: {}", said.stdout);
        assert!(said.stderr.contains(expected), "{set}: {}", said.stderr);
    }
    project.write("set.json", SET);
    let said = project.eval(&["set.json", "--script", "model.toml"]);
    assert!(said.code == Some(2) && said.stderr.contains("[triggers] set = FILE"), "{}", said.stderr);
}

#[test]
fn descriptions_are_compared_on_prompts_that_were_held_out() {
    let project = Project::new();
    project.write("set.json", SET);
    project.write("eager.toml", "[scenario]\nname = \"eager\"\n[[api.turns]]\nwhen = { user = \"?\" }\ntext = \"Rain.\"\n\
        [[api.turns]]\nwhen = { user = \"Add\" }\ntext = \"4\"\n[[api.turns]]\nwhen = { turn = 1 }\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n\
        [[api.turns]]\nwhen = { turn = 2 }\ntext = \"Ahoy!\"\n");
    let spec = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 1\n{TRIGGERS}\n[triggers]\nset = \"set.json\"\nholdout = 0.5\n\
         [[arms]]\nname = \"wide\"\ndescription = \"Greets crews: and everybody else.\"\n\
         [[rules]]\narm = \"wide\"\napi = \"eager.toml\"\n[thresholds]\nmin_recall = 0.5\n"
    );
    project.write("e.toml", &spec);
    let said = project.eval(&["e.toml"]);
    let report = said.report();
    assert_eq!(said.code, Some(0), "{}{:#}", said.stderr, report["failures"]);
    assert_fit(&said.events(), "eval");
    let wide = &report["triggers"]["arms"]["wide"]["halves"];
    assert_eq!((&wide["chosen_on"]["rate"], &wide["held_out"]["rate"]), (&1.0.into(), &1.0.into()));
    assert_eq!((&wide["chosen_on"]["measured"], &wide["held_out"]["measured"]), (&3.into(), &3.into()));
    let own = &report["triggers"]["halves"];
    let right = own["chosen_on"]["passed"].as_u64().unwrap() + own["held_out"]["passed"].as_u64().unwrap();
    assert_eq!(right, 5, "one of six is not about the crew");
    let digests: Vec<_> =
        report["stamp"]["arms"].as_array().unwrap().iter().map(|arm| arm["skill_digest"].clone()).collect();
    assert_ne!(digests[0], digests[2], "another description is another skill");
}
