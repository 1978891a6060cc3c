//! Whole evaluations on the reference target with a scripted model: the numbers are those of the script.

use std::fs;

use serde_json::{Value, json};

use super::project::{MODEL, Project};
use crate::files::read_json;
use crate::schema::{assert_fit, schema};
use crate::support::process;

const CASE: &str = r#"
[[cases]]
id = "ann"
prompt = "Say hello to Ann"
[[cases.assert]]
id = "pirate"
type = "contains"
needle = "Ahoy"
[[cases.assert]]
id = "polite"
type = "not_contains"
needle = "@#!"
"#;

fn spec(head: &str, rest: &str) -> String {
    format!("[eval]\nskill = \"greet\"\n[run]\nbackoff_ms = 1\n{head}\n{MODEL}\n{rest}\n{CASE}")
}

/// Without the skill nobody says Ahoy.
const WITHOUT: &str = "[[rules]]\nwith_skill = false\ncase = \"ann\"\napi = \"plain\"\n";

fn trials<'e>(events: &'e [Value], case: &str) -> Vec<&'e Value> {
    let is_of = |event: &&Value| event["type"] == "trial-finished" && event["case"] == case;
    events.iter().filter(is_of).collect()
}

#[test]
fn the_numbers_are_those_of_the_script() {
    let project = Project::new();
    let rules = format!(
        "{WITHOUT}\n[[rules]]\ncase = \"ann\"\ntrials = [2]\napi = \"plain\"\n\
         [[rules]]\ncase = \"ann\"\ntrials = [3]\nattempts = [1]\nfaults = [\"http:status=529\"]\n\
         [[rules]]\ncase = \"ann\"\ntrials = [4]\nfaults = [\"http:status=429\"]\n\
         [triggers]\ntrials = 2\nshould = [\"Say hello, please\", \"Is the weather a greeting?\"]\n\
         should_not = [\"How is the weather?\", \"Say hello to nobody\"]\n\
         [thresholds]\nmin_pass_rate = 0.75\nmin_measured = 0.8\nmin_precision = 0.5\nmin_recall = 0.5\n"
    );
    project.write("e.toml", &spec("trials = 5", &rules));
    let said = project.eval(&["e.toml"]);
    let (events, report) = (said.events(), said.report());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(report["status"], "pass");

    // Trial 2 answers at once without the skill, 3 is overloaded once, 4 is limited for good.
    let with = &report["overall"]["with_skill"];
    assert_eq!(with["pass_rate"]["passed"], 3);
    assert_eq!(with["pass_rate"]["measured"], 4);
    assert_eq!((&with["planned"], &with["not_measured"]), (&json!(5), &json!(1)));
    assert_eq!((&with["skill_used"], &with["skill_unused"]), (&json!(3), &json!(1)));
    assert_eq!(with["verdicts"], json!({"ok": 4, "rate_limit": 1}));
    let without = &report["overall"]["without_skill"]["pass_rate"];
    assert_eq!((&without["passed"], &without["measured"]), (&json!(0), &json!(5)));
    assert_eq!(report["overall"]["delta"]["difference"], 0.75);
    assert_eq!(report["not_measured"], json!({"rate_limit": 1}));

    let by_number = |number: u64| {
        let is_it = |trial: &&&Value| trial["trial"] == number && trial["arm"] == "with_skill";
        *trials(&events, "ann").iter().find(is_it).unwrap()
    };
    assert_eq!(by_number(2)["status"], "fail");
    assert_eq!(by_number(2)["skill"], "loaded");
    assert_eq!(by_number(3)["status"], "pass");
    assert_eq!(by_number(3)["attempts"][0]["verdict"]["detail"], "overloaded");
    assert_eq!(by_number(3)["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(by_number(4)["status"], "not-measured");
    assert_eq!(by_number(4)["attempts"].as_array().unwrap().len(), 3);

    // Two of four prompts that should trigger do; two of four that did should.
    let triggers = &report["triggers"];
    assert_eq!((&triggers["recall"]["passed"], &triggers["recall"]["measured"]), (&json!(2), &json!(4)));
    assert_eq!(
        (&triggers["precision"]["passed"], &triggers["precision"]["measured"]),
        (&json!(2), &json!(4))
    );
    assert_eq!(triggers["wrong"].as_array().unwrap().len(), 2);

    // `polite` holds with the skill and without; `pirate` with it only sometimes.
    let assertion = |id: &str| {
        let all = report["cases"][0]["assertions"].as_array().unwrap();
        all.iter().find(|assertion| assertion["id"] == id).unwrap().clone()
    };
    assert_eq!(assertion("polite")["never_fails"], true);
    assert_eq!(assertion("pirate")["flaky"], true);
    assert_eq!(assertion("pirate")["never_fails"], false);
    for control in report["controls"].as_array().unwrap() {
        assert_eq!(control["as_known"], true);
    }
}

#[test]
fn a_threshold_that_is_not_reached_fails() {
    let project = Project::new();
    project.write(
        "e.toml",
        &spec("trials = 2\nwithout = false", "[[rules]]\ncase = \"ann\"\ntrials = [1]\napi = \"plain\"\n"),
    );
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(100), "{}", said.stderr);
    assert_eq!(said.report()["status"], "fail");
    let said = project.eval(&["e.toml", "--min-pass-rate", "0.5"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let same =
        "[thresholds]\nmin_delta = 0.5\n[[rules]]\nwith_skill = false\ncase = \"ann\"\napi = \"says.toml\"\n";
    project.write("says.toml", "[scenario]\nname = \"says\"\n[[api.turns]]\ntext = \"Ahoy!\"\n");
    project.write("e.toml", &spec("trials = 2", same));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(100), "the skill makes no difference here: {}", said.stdout);
    assert!(said.report()["failures"].to_string().contains("adds +0.00"), "{}", said.stdout);
}

#[test]
fn what_was_not_measured_lowers_no_rate_and_is_no_pass() {
    let project = Project::new();
    let limited = "[[rules]]\ncase = \"ann\"\nfaults = [\"http:status=429\"]\n";
    project.write("e.toml", &spec("trials = 2\nretries = 0\nwithout = false", limited));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let report = said.report();
    assert_eq!(report["status"], "incomplete");
    assert_eq!(report["overall"]["with_skill"]["pass_rate"]["rate"], Value::Null);
    let folder = project.path().join("clawgate-out/eval/greet/iteration-1/eval-ann/with_skill/run-1");
    assert!(folder.join("trial.json").is_file() && !folder.join("grading.json").exists());
}

#[test]
fn a_control_that_comes_out_wrong_makes_the_report_invalid() {
    let project = Project::new();
    let wrong = "[[rules]]\ncase = \"control-pass\"\nfaults = [\"error-event:after-event=1\"]\n";
    // The model says something else where it is known what it says.
    let other = "[[cases]]\nid = \"known\"\ncontrol = \"pass\"\nprompt = \"How is the weather?\"\n\
                 [[cases.assert]]\ntype = \"contains\"\nneedle = \"sunny\"\n";
    project.write("e.toml", &(spec("trials = 1", "") + other));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert_eq!(said.report()["status"], "invalid");
    // A control of which nothing is known is not one that is right.
    project.write("e.toml", &spec("trials = 1\nretries = 0", wrong));
    let said = project.eval(&["e.toml"]);
    assert_eq!((said.code, &said.report()["status"]), (Some(3), &json!("incomplete")), "{}", said.stdout);
}

#[test]
fn questions_denials_lost_work_and_missing_skills_are_named() {
    let project = Project::new();
    project.write(
        "asks.toml",
        "[scenario]\nname = \"asks\"\n[[api.turns]]\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n\
         [[api.turns]]\ntext = \"Which of the two do you want me to greet?\"\n",
    );
    project.write(
        "denied.toml",
        "[scenario]\nname = \"denied\"\n[[api.turns]]\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n\
         [[api.turns]]\ntool = { name = \"Write\", input = { file_path = \"a.txt\", content = \"Ahoy\" } }\n\
         [[api.turns]]\ntext = \"Ahoy, I could not write it.\"\n",
    );
    project.write(
        "lost.toml",
        "[scenario]\nname = \"lost\"\n[[api.turns]]\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n\
         [[api.turns]]\ntool = { name = \"Bash\", input = { command = \"sleep 60\", description = \"w\", run_in_background = true } }\n\
         [[api.turns]]\ntext = \"Ahoy, it runs.\"\n",
    );
    let mut rules = String::new();
    for (number, name) in [(1, "asks"), (2, "denied"), (3, "lost")] {
        rules += "[[rules]]\ncase = \"ann\"\n";
        rules += &["trials = [", &number.to_string(), "]\napi = \"", name, ".toml\"\n"].concat();
    }
    project.write("e.toml", &spec("trials = 3\nwithout = false\npermission_mode = \"default\"", &rules));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(100), "{}", said.stderr);
    let events = said.events();
    let mut found: Vec<(u64, String, String)> = trials(&events, "ann")
        .iter()
        .map(|trial| {
            let reason = trial["reason"].as_str().unwrap().to_owned();
            (trial["trial"].as_u64().unwrap(), trial["verdict"]["class"].as_str().unwrap().to_owned(), reason)
        })
        .collect();
    found.sort();
    let classes: Vec<&str> = found.iter().map(|(_, class, _)| class.as_str()).collect();
    assert_eq!(classes, ["interactive", "permission", "background-task"]);
    assert!(found[1].2.contains("Write was denied"), "{}", found[1].2);

    // Where nobody says that the skill is loaded, nothing was measured, whatever the model said.
    project.write("e.toml", &spec("trials = 1\nwithout = false", ""));
    let said = project.run(&["e.toml", "--target", "reference+missing-init", "--format", "json"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let events = said.events();
    let trial = trials(&events, "ann")[0];
    assert_eq!((&trial["status"], &trial["skill"]), (&json!("not-measured"), &json!("not-loaded")));
}

#[test]
fn files_go_in_and_come_out() {
    let project = Project::new();
    project.write("data.bin", "binary");
    project.write(
        "writes.toml",
        "[scenario]\nname = \"writes\"\n[[api.turns]]\ntool = { name = \"Skill\", input = { skill = \"greet\" } }\n\
         [[api.turns]]\ntool = { name = \"Bash\", input = { command = \"cat in/data.bin note.txt > out.md; echo '{\\\"n\\\": [1, 2]}' > n.json\" } }\n\
         [[api.turns]]\ntext = \"Written.\"\n",
    );
    let case = r#"
[[cases]]
id = "files"
prompt = "Say hello in a file"
output = "*.md"
files = { "note.txt" = "-note", "in/data.bin" = { copy = "data.bin" } }
assert = [
  { type = "equals", text = "binary-note" },
  { type = "contains", in = "final", needle = "Written" },
  { type = "file", path = "out.md", contains = "note" },
  { type = "no_file", path = "other.md" },
  { type = "json", in = "n.json", path = "$.n[1]", equals = 2 },
  { type = "json_schema", in = "n.json", schema = { type = "object", required = ["n"] } },
  { type = "tool_order", tools = ["Skill", "Bash"] },
  { type = "tool_used", tool = "Bash", input_pattern = "cat in/data" },
  { type = "tool_not_used", tool = "Write" },
  { type = "tool_at_most", count = 2 },
  { type = "skill_used" },
  { type = "exit", code = 0 },
  { type = "verdict", class = ["ok"] },
  { type = "max_cost_usd", usd = 1 },
  { type = "max_tokens", count = 100000 },
  { type = "max_turns", count = 5 },
  { type = "max_seconds", seconds = 60 },
]
"#;
    let text = format!(
        "[eval]\nskill = \"greet\"\napi = \"writes.toml\"\n[run]\ntrials = 1\nwithout = false\nallowed_tools = [\"Bash\"]\n{case}"
    );
    project.write("e.toml", &text);
    let said = project.eval(&["e.toml"]);
    let events = said.events();
    let trial = trials(&events, "files")[0];
    assert_eq!(trial["status"], "pass", "{trial:#}");
    assert_eq!(trial["assertions"].as_array().unwrap().len(), 17);
    let run = project.path().join("clawgate-out/eval/greet/iteration-1/eval-files/with_skill/run-1");
    assert_eq!(fs::read_to_string(run.join("outputs/out.md")).unwrap(), "binary-note");
    assert!(fs::read_to_string(run.join("transcript.md")).unwrap().contains("Agent calls Bash"));

    // Each of them can fail.
    let opposite = case
        .replace("binary-note", "x")
        .replace("needle = \"Written\"", "needle = \"x\"")
        .replace("contains = \"note\"", "contains = \"x\"")
        .replace("path = \"other.md\"", "path = \"out.md\"")
        .replace("equals = 2", "equals = 3")
        .replace("required = [\"n\"]", "required = [\"m\"]")
        .replace("[\"Skill\", \"Bash\"]", "[\"Bash\", \"Skill\"]")
        .replace("cat in/data", "rm")
        .replace("tool = \"Write\"", "tool = \"Bash\"")
        .replace("count = 2 }", "count = 1 }")
        .replace("skill_used", "skill_not_used")
        .replace("code = 0", "code = 1")
        .replace("class = [\"ok\"]", "class = \"limit\"")
        .replace("usd = 1", "usd = 0")
        .replace("count = 100000", "count = 1")
        .replace("count = 5", "count = 1")
        .replace("seconds = 60", "seconds = 0.0");
    project.write("e.toml", &text.replace(case, &opposite));
    let said = project.eval(&["grade", "clawgate-out/eval/greet/iteration-1"].map(|word| word));
    assert_eq!(said.code, Some(2), "`grade` takes no target: {}", said.stdout);
    let said = project.run(&["grade", "clawgate-out/eval/greet/iteration-1", "--format", "json"]);
    let events = said.events();
    let assertions = trials(&events, "files")[0]["assertions"].as_array().unwrap().clone();
    assert_eq!(assertions.len(), 17);
    for assertion in assertions {
        assert_eq!(assertion["status"], "fail", "{assertion}");
    }
}

#[test]
fn a_model_judges_expectations_and_its_failures_are_not_the_skills() {
    let project = Project::new();
    let answer = |id: &str, passed: bool, evidence: &str| {
        format!(
            "[scenario]\nname = \"judge-{id}\"\n[[api.turns]]\ntool = {{ name = \"StructuredOutput\", input = {{ expectations = \
             [{{ id = \"{id}\", passed = {passed}, score = {}, evidence = \"{evidence}\" }}] }} }}\n",
            u8::from(passed)
        )
    };
    project.write("yes.toml", &answer("expectation-1", true, "Ahoy, Ann!"));
    project.write("no.toml", &answer("expectation-1", false, "it is rude"));
    let rules = "[[rules]]\njudge = true\ntrials = [1]\napi = \"yes.toml\"\n[[rules]]\njudge = true\ntrials = [2]\napi = \"no.toml\"\n\
                 [[rules]]\njudge = true\ntrials = [3]\nfaults = [\"http:status=429\"]\n\
                 [[rules]]\njudge = true\ntrials = [4]\napi = \"plain\"\n";
    let text = spec("trials = 4\nwithout = false\nretries = 0", rules)
        .replace("id = \"ann\"\n", "id = \"ann\"\nexpectations = [\"It is a friendly greeting.\"]\n");
    project.write("e.toml", &text);
    let said = project.eval(&["e.toml", "--jobs", "1"]);
    let (events, report) = (said.events(), said.report());
    let all = trials(&events, "ann");
    let statuses: Vec<&Value> = all.iter().map(|trial| &trial["status"]).collect();
    assert_eq!(statuses, ["pass", "fail", "not-measured", "not-measured"], "{all:#?}");
    assert_eq!(all[0]["expectations"][0]["quoted"], true);
    assert_eq!(all[1]["reason"], "It is a friendly greeting.: it is rude");
    assert!(all[2]["reason"].as_str().unwrap().contains("the judge failed: rate_limit"));
    assert!(all[3]["reason"].as_str().unwrap().contains("no structured answer"), "{}", all[3]["reason"]);
    let rate = &report["overall"]["with_skill"]["pass_rate"];
    assert_eq!((&rate["passed"], &rate["measured"]), (&json!(1), &json!(2)));
}

#[test]
fn an_earlier_evaluation_is_compared_only_when_it_was_the_same() {
    let project = Project::new();
    let good = spec("trials = 8\nwithout = false", "");
    project.write("e.toml", &good);
    assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    // Another skill under the same evaluation is what a comparison is for.
    project.write(
        ".claude/skills/greet/SKILL.md",
        &super::project::SKILL.replace("manner of pirates", "way of clerks"),
    );
    let first = "clawgate-out/eval/greet/iteration-1";
    let said = project.eval(&["e.toml", "--baseline", first, "--min-pass-rate", "0"]);
    let report = said.report();
    assert_eq!(report["baseline"]["not_compared"], Value::Null);
    assert_eq!((said.code, &report["baseline"]["regression"]), (Some(100), &json!(true)), "{report:#}");
    // Another model is not.
    let said = project.eval(&["e.toml", "--baseline", first, "--model", "other"]);
    assert_eq!(said.code, Some(3));
    assert!(said.stderr.contains("cannot be compared: another model"), "{}", said.stderr);
    let history = fs::read_to_string(project.path().join("clawgate-out/eval/greet/history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 2, "nothing was run for the other model");
}

#[test]
fn a_budget_ends_a_run_that_can_be_gone_on_with() {
    let project = Project::new();
    project.write("e.toml", &spec("trials = 6\nwithout = false", ""));
    let said = project.eval(&["e.toml", "--max-total-tokens", "150", "--jobs", "1"]);
    let report = said.report();
    assert_eq!((said.code, &report["complete"]), (Some(3), &json!(false)), "{report:#}");
    assert!(report["halted"].as_str().unwrap().contains("of 150 tokens"), "{}", report["halted"]);
    let said = project.eval(&["e.toml", "--resume"]);
    assert_eq!((said.code, &said.report()["number"]), (Some(0), &json!(1)), "{}", said.stderr);
    let said = project.eval(&["e.toml", "--resume"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("no unfinished evaluation"), "{}", said.stderr);
}

#[test]
fn files_for_skill_creators_tools_are_as_they_expect_them() {
    let project = Project::new();
    project.write("e.toml", &spec("trials = 2", WITHOUT));
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let folder = project.path().join("clawgate-out/eval/greet/iteration-1");
    let read = |path: &str| -> Value { read_json(folder.join(path)) };
    let benchmark = read("benchmark.json");
    assert_eq!(benchmark["metadata"]["skill_name"], "greet");
    assert_eq!(benchmark["runs"].as_array().unwrap().len(), 4);
    let run = &benchmark["runs"][0];
    assert_eq!((&run["configuration"], &run["run_number"]), (&json!("with_skill"), &json!(1)));
    assert_eq!((&run["result"]["passed"], &run["result"]["total"]), (&json!(2), &json!(2)));
    assert_eq!(benchmark["run_summary"]["with_skill"]["pass_rate"]["mean"], 1.0);
    assert_eq!(benchmark["run_summary"]["without_skill"]["pass_rate"]["mean"], 0.5);
    assert_eq!(benchmark["run_summary"]["delta"]["pass_rate"], "+0.50");
    let grading = read("eval-ann/with_skill/run-1/grading.json");
    assert_eq!(grading["summary"], json!({"passed": 2, "failed": 0, "total": 2, "pass_rate": 1.0}));
    assert_eq!(grading["expectations"][0]["passed"], true);
    assert!(
        grading["expectations"][0]["text"].is_string() && grading["expectations"][0]["evidence"].is_string()
    );
    assert!(read("eval-ann/with_skill/run-1/timing.json")["total_tokens"].as_u64().unwrap() > 0);
    assert_eq!(read("eval-ann/eval_metadata.json")["eval_name"], "ann");
}

#[test]
fn what_a_target_says_is_only_text_in_the_reports() {
    let project = Project::new();
    project.write(
        "evil.toml",
        "[scenario]\nname = \"evil\"\n[[api.turns]]\ntext = \"<script>alert(1)</script>\\u001b[31m sk-ant-api03-secretsecret\"\n",
    );
    let rules = "[[rules]]\ncase = \"ann\"\napi = \"evil.toml\"\n";
    let text = spec("trials = 1\nwithout = false", rules)
        .replace("type = \"contains\"", "type = \"equals\"")
        .replace("needle = \"Ahoy\"", "text = \"x\"");
    project.write("e.toml", &text);
    let said = project.run(&["e.toml", "--target", "reference"]);
    assert_eq!(said.code, Some(100), "{}", said.stderr);
    assert!(!said.stdout.contains('\u{1b}'), "{:?}", said.stdout);
    let folder = project.path().join("clawgate-out/eval/greet/iteration-1");
    let html = fs::read_to_string(folder.join("report.html")).unwrap();
    // Our own script runs, by its digest, and no other.
    assert!(html.contains("&lt;script&gt;alert") && !html.contains("<script>alert"));
    assert!(html.contains("default-src 'none'") && html.contains("script-src 'sha256-"));
    assert_eq!(html.matches("<script").count(), 1);
    let transcript = fs::read_to_string(folder.join("eval-ann/with_skill/run-1/transcript.md")).unwrap();
    assert!(transcript.contains("sk-ant-***") && !transcript.contains("secretsecret"), "{transcript}");
}

#[test]
fn everything_for_programs_fits_the_published_schema() {
    let project = Project::new();
    let rules = "[triggers]\nshould = [\"Say hello\"]\nshould_not = [\"How is the weather?\"]\n\
                 [[rules]]\ncase = \"ann\"\ntrials = [2]\nfaults = [\"http:status=429\"]\n";
    project.write("e.toml", &spec("trials = 2\nretries = 1", rules));
    let mut events = project.eval(&["e.toml"]).events();
    events.extend(project.eval(&["e.toml"]).events());
    project.write(".claude/commands/old.md", "no frontmatter");
    events.extend(project.run(&["lint", ".", "--format", "json"]).events());
    let kinds: std::collections::BTreeSet<&str> =
        events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["eval-finished", "eval-started", "lint", "trial-finished"]
    );
    assert_fit(&events, "eval");
    let mut broken = events[0].clone();
    broken["surprise"] = json!(1);
    assert!(!schema("eval").is_valid(&broken));
}

/// Why a target that asks the real API has the machine's network.
const REAL_API: &str = "the real API is outside of the machine";

#[test]
fn the_real_api_gets_what_is_named_and_nothing_else() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    let project = Project::new();
    let model = project.write(
        "model.toml",
        &format!("[scenario]\nname = \"m\"\n{MODEL}\n[[api.turns]]\ntext = \"clawgate-control-7341\"\n"),
    );
    // It stands for the real one: some address that the environment names.
    let mut api = process(project.path())
        .arg("mock")
        .arg(&model)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(api.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let start = line.find("http://").unwrap_or_else(|| panic!("{line}"));
    let url = line[start..].split_whitespace().next().unwrap().trim_end_matches(['"', ',', '}']);
    project.write("e.toml", &spec("trials = 1\nwithout = false", "").replace(MODEL, ""));
    let output = project
        .command(&[
            "e.toml",
            "--target",
            "reference",
            "--api",
            "real",
            "--pass-env",
            "MY_SETTING",
            "--format",
            "json",
        ])
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "sk-ant-the-users-own-key")
        .env("MY_SETTING", "a-value-to-pass")
        .env("NOT_NAMED", "a-value-to-keep")
        .output()
        .unwrap();
    api.kill().unwrap();
    api.wait().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let recording = "clawgate-out/eval/greet/iteration-1/eval-ann/with_skill/run-1/attempt-1/recording.json";
    let text = fs::read_to_string(project.path().join(recording)).unwrap();
    let facts: Value = serde_json::from_str(&text).unwrap();
    let names = facts["env_set"].to_string();
    assert!(
        names.contains("MY_SETTING") && names.contains("ANTHROPIC_API_KEY") && !names.contains("NOT_NAMED")
    );
    assert!(!text.contains("the-users-own-key") && !text.contains("a-value-to"));
    // The network is the machine's, and that is said; nothing else of it is.
    let isolation = &facts["isolation"];
    assert_eq!(
        (&isolation["network"], &isolation["reason"]),
        (&"none".into(), &REAL_API.into()),
        "{isolation}"
    );
    let may_be_apart = isolation["processes"] == "namespace" && isolation["files"] == "overlay";
    assert!(may_be_apart || isolation["processes_reason"].is_string(), "{isolation}");
    let finished: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert!(finished.to_string().contains("not kept apart from the machine's network"), "{finished}");

    let said = project.eval(&["e.toml", "--api", "real"]);
    assert_eq!(said.code, Some(3));
    assert!(said.stderr.contains("ANTHROPIC_API_KEY"), "{}", said.stderr);
}
