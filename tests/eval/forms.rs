//! Evaluations in the forms that people already have.

use serde_json::{Value, json};

use super::project::Project;
use crate::files::read_json;

const CLAUDITOR: &str = r#"{
  "skill_name": "greet",
  "description": "Greets like a pirate.",
  "test_args": "Ann --loud",
  "user_prompt": "Greet Ann loudly.",
  "system_prompt": null,
  "input_files": ["assets/names.txt"],
  "assertions": [
    {"id": "ahoy", "type": "contains", "needle": "Ahoy", "name": "says it"},
    {"id": "no-trace", "type": "not_contains", "needle": "Traceback"},
    {"id": "word", "type": "regex", "pattern": "(?i)\\bahoy\\b"},
    {"id": "two", "type": "min_count", "pattern": "o", "count": 1},
    {"id": "least", "type": "min_length", "length": 5},
    {"id": "most", "type": "max_length", "length": 5000},
    {"id": "urls", "type": "has_urls", "count": 1},
    {"id": "entries", "type": "has_entries"},
    {"id": "mail", "type": "has_format", "format": "email", "count": 1}
  ],
  "sections": [{"name": "People", "tiers": [{"label": "default", "description": "x", "min_entries": 1, "max_entries": null,
    "fields": [{"id": "person", "name": "name", "required": true, "format": "email"}]}]}],
  "grading_criteria": [{"id": "loud", "criterion": "Is it loud?"}],
  "grading_model": "claude-sonnet-4-6",
  "grading_provider": "auto",
  "trigger_tests": {"should_trigger": ["Say hello to Bob"], "should_not_trigger": ["How is the weather?"]},
  "variance": {"n_runs": 2, "min_stability": 0.5},
  "grade_thresholds": {"min_pass_rate": 1.0, "min_mean_score": 0.5},
  "allow_hang_heuristic": false,
  "timeout": 60,
  "transport": "auto",
  "harness": "claude-code",
  "sync_tasks": false,
  "output_file": null,
  "output_files": []
}"#;

const MODEL: &str = r#"
[scenario]
name = "model"

[[api.turns]]
when = { prompt = "ARGUMENTS: Ann --loud" }
text = "**1. Ahoy**, Ann! Write to ann@example.com or see https://example.com."

[[api.turns]]
when = { prompt = "Extract entries" }
tool = { name = "StructuredOutput", input = { People = { default = [{ name = "ann@example.com" }] } } }

[[api.turns]]
when = { prompt = "Judge the work" }
tool = { name = "StructuredOutput", input = { expectations = [{ id = "loud", passed = true, score = 0.9, evidence = "Ahoy" }] } }

[[api.turns]]
when = { prompt = "Say hello to Bob", tool_result = "pirates" }
text = "Ahoy, Bob!"

[[api.turns]]
when = { prompt = "Say hello to Bob" }
tool = { name = "Skill", input = { skill = "greet" } }

[[api.turns]]
text = "Hello."
"#;

#[test]
fn clauditors_form_runs_with_all_its_fields() {
    let project = Project::new();
    project.write(".claude/skills/greet/assets/names.txt", "Ann");
    project.write(".claude/skills/greet/SKILL.eval.json", CLAUDITOR);
    project.write("model.toml", MODEL);
    let said = project.eval(&[".claude/skills/greet/SKILL.eval.json", "--script", "model.toml"]);
    let report = said.report();
    assert_eq!(said.code, Some(0), "{report:#}\n{}", said.stdout);
    let with = &report["overall"]["with_skill"];
    assert_eq!((&with["pass_rate"]["passed"], &with["pass_rate"]["measured"]), (&json!(2), &json!(2)));
    assert_eq!(with["skill_used"], 2);
    assert_eq!(report["overall"]["without_skill"]["pass_rate"]["passed"], 0);
    // Nine about the text, two about the sections, and what a model judges.
    assert_eq!(report["cases"][0]["assertions"].as_array().unwrap().len(), 12);
    assert_eq!(report["triggers"]["recall"]["rate"], 1.0);
    // The directory stands for the file in it.
    let said = project.eval(&[".claude/skills/greet", "--script", "model.toml", "-n", "1", "--only-with"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn skill_creators_form_runs() {
    let project = Project::new();
    project.write(".claude/skills/greet/evals/files/names.txt", "Ann");
    project.write(
        ".claude/skills/greet/evals/evals.json",
        r#"{"skill_name": "greet", "evals": [{"id": 7, "prompt": "Say hello to Bob", "expected_output": "A greeting",
            "files": ["evals/files/names.txt"], "expectations": ["It begins with Ahoy"]}]}"#,
    );
    project.write("model.toml", &MODEL.replace("id = \"loud\"", "id = \"expectation-1\""));
    let said = project.eval(&[".claude/skills/greet", "--script", "model.toml", "-n", "2"]);
    let report = said.report();
    assert_eq!(said.code, Some(0), "{report:#}");
    assert_eq!(report["overall"]["with_skill"]["pass_rate"]["passed"], 2);
    let folder = project.path().join("clawgate-out/eval/greet/iteration-1");
    assert!(folder.join("eval-7/with_skill/run-2/grading.json").is_file());
    let metadata: Value = read_json(folder.join("eval-7/eval_metadata.json"));
    assert_eq!(metadata["eval_id"], 7);
}

#[test]
fn a_command_is_a_skill_too() {
    let project = Project::new();
    project.write(".claude/commands/salute.md", "Salute in the manner of sailors. $ARGUMENTS");
    project.write(
        "salute.eval.json",
        r#"{"test_args": "Ann", "assertions": [{"id": "a", "type": "contains", "needle": "Aye"}]}"#,
    );
    project.write("model.toml", "[scenario]\nname = \"m\"\n[[api.turns]]\nwhen = { prompt = \"manner of sailors\" }\ntext = \"Aye!\"\n[[api.turns]]\ntext = \"Hi.\"\n");
    let said = project.eval(&["salute.eval.json", "--script", "model.toml", "-n", "1"]);
    assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
    assert_eq!(said.report()["overall"]["with_skill"]["skill_used"], 1);
}

#[test]
fn mistakes_in_a_file_have_a_place_and_a_suggestion() {
    let project = Project::new();
    let complaint = |name: &str, text: &str| {
        project.write(name, text);
        let said = project.eval(&[name]);
        assert_eq!(said.code, Some(2), "{name}: {}", said.stderr);
        said.stderr
    };
    let changed = |from: &str, to: &str| {
        let text = CLAUDITOR.replace("\"input_files\": [\"assets/names.txt\"],", "");
        assert!(text.contains(from));
        complaint("x.eval.json", &text.replace(from, to))
    };
    for (from, to, expected) in [
        (
            "\"needle\": \"Ahoy\"",
            "\"value\": \"Ahoy\"",
            "x.eval.json:9:49: unknown key `value`, did you mean `needle`?",
        ),
        ("\"test_args\"", "\"test_arg\"", "unknown key `test_arg`, did you mean `test_args`?"),
        ("\"format\": \"email\", \"count\"", "\"format\": \"emial\", \"count\"", "did you mean `email`?"),
        (
            "\"type\": \"has_urls\"",
            "\"type\": \"has_url\"",
            "unknown type `has_url`, did you mean `has_urls`?",
        ),
        ("\"length\": 5}", "\"length\": \"5\"}", "expected a whole number"),
        ("\"id\": \"loud\"", "\"id\": \"ahoy\"", "duplicate id `ahoy`"),
        ("\"timeout\": 60", "\"timeout\": 0", "more than 0"),
        ("\"transport\": \"auto\"", "\"transport\": null", "found null"),
        ("\"harness\": \"claude-code\"", "\"harness\": \"vim\"", "expected one of: claude-code"),
        (
            "\"count\": 1},\n    {\"id\": \"entries\"",
            "\"minimum\": 1},\n    {\"id\": \"entries\"",
            "did you mean `count`?",
        ),
        ("(?i)", "(", "not a regular expression"),
    ] {
        let said = changed(from, to);
        assert!(said.contains(expected), "{from} -> {to}: {said}");
    }
    let said = complaint("evals.json", r#"{"skill_name": "greet", "evals": [{"id": 1, "promt": "x"}]}"#);
    assert!(said.contains("missing key `prompt`"), "{said}");
    let said = complaint("e.toml", "[eval]\nskill = \"greet\"\n[run]\ntrial = 3\n");
    assert!(said.contains("e.toml:4:1: unknown key `trial`, did you mean `trials`?"), "{said}");
    let said = complaint("e.toml", "[eval]\nskill = \"greet\"\n[[cases]]\nprompt = \"x\"\n");
    assert!(said.contains("cannot fail"), "{said}");
    let said = complaint(
        "e.toml",
        "[eval]\nskill = \"greet\"\n[[rules]]\ncase = \"triger-1\"\n[triggers]\nshould = [\"x\"]\n",
    );
    assert!(said.contains("no case `triger-1`, did you mean `trigger-1`?"), "{said}");
    let said = complaint("e.toml", "[eval]\nskill = \"gret\"\n[triggers]\nshould = [\"x\"]\n");
    assert!(said.contains("did you mean `greet`?"), "{said}");
    let said = complaint("e.toml", "[eval]\nskill = \"greet\"\n[triggers]\nshould = [\"x\"]\n");
    assert!(said.contains("--script FILE"), "{said}");
    assert!(!project.path().join("clawgate-out/eval/greet/iteration-1").exists());
}
