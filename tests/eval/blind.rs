//! Blind comparisons: the judge sees two answers without a word of where they come from, in both orders.

use serde_json::{Value, json};

use super::project::{MODEL, Project, Said};
use crate::schema::assert_fit;

/// What the judge says to two answers, by what stands first.
fn prefers(first: &str, better: &str, evidence: &str) -> String {
    format!(
        "[[api.turns]]\noptional = true\nwhen = {{ prompt = \"## Answer A\\n{first}\" }}\n\
         tool = {{ name = \"StructuredOutput\", input = {{ better = \"{better}\", evidence = \"{evidence}\" }} }}\n"
    )
}

fn compared(judge: &str, rest: &str, args: &[&str]) -> (Project, Said) {
    let project = Project::new();
    project.write("judge.toml", &format!("[scenario]\nname = \"judge\"\n{judge}"));
    let rules = "[[rules]]\njudge = true\ncase = \"blind-ann\"\napi = \"judge.toml\"\n";
    let text = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 2\nretries = 0\n{rest}\n{MODEL}\n{rules}\n[[cases]]\nid = \"ann\"\n\
         prompt = \"Say hello\"\nassert = [{{ type = \"min_length\", length = 3 }}]\n"
    );
    project.write("e.toml", &text);
    let said = project.eval(&[&["e.toml"], args].concat());
    (project, said)
}

fn blind(report: &Value) -> Vec<Value> {
    let found = &report["blind"]["without_skill"];
    ["better", "worse", "equal", "wavering", "not_judged"].map(|key| found[key].clone()).to_vec()
}

#[test]
fn only_a_preference_in_both_orders_counts() {
    let (ours, theirs) = ("Ahoy, Ann!", "Hello, Ann.");
    let on = "[judge]\nblind = true\n[thresholds]\nmin_preference = 0.5\n";
    for (judge, expected, code) in [
        // It likes ours wherever it stands.
        (prefers("Ahoy", "A", ours) + &prefers("Hello", "B", ours), json!([2, 0, 0, 0, 0]), 0),
        (prefers("Ahoy", "B", theirs) + &prefers("Hello", "A", theirs), json!([0, 2, 0, 0, 0]), 100),
        // It likes what stands first, and so it likes nothing.
        (prefers("Ahoy", "A", ours) + &prefers("Hello", "A", theirs), json!([0, 0, 0, 2, 0]), 3),
        (prefers("Ahoy", "neither", "x") + &prefers("Hello", "neither", "x"), json!([0, 0, 2, 0, 0]), 3),
        // What it quotes stands in neither.
        (prefers("Ahoy", "A", "Welcome") + &prefers("Hello", "B", "Welcome"), json!([0, 0, 0, 0, 2]), 3),
    ] {
        let (_, said) = compared(&judge, on, &[]);
        let report = said.report();
        assert_eq!((said.code, json!(blind(&report))), (Some(code), expected), "{judge}\n{}", said.stdout);
        assert_fit(&said.events(), "eval");
        // It says nothing of how often the case passes.
        assert_eq!(report["overall"]["with_skill"]["pass_rate"]["passed"], 2);
        assert_eq!(report["models"], json!(["claude-haiku-4-5"]));
        assert!(!report["warnings"].to_string().contains("judge.toml"), "{}", report["warnings"]);
    }
}

#[test]
fn the_judge_is_not_told_which_is_which_and_a_flag_asks_for_it() {
    let judge = prefers("Ahoy", "A", "Ahoy, Ann!") + &prefers("Hello", "B", "Ahoy, Ann!");
    let (project, said) = compared(&judge, "", &["--blind"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let folder = project.path().join("clawgate-out/eval/greet/iteration-1");
    let asked =
        std::fs::read_to_string(folder.join("blind-ann/without_skill/run-1/compare-1/stdin")).unwrap();
    assert!(!asked.contains("Skill") && !asked.contains("skill") && !asked.contains("greet"), "{asked}");
    let summary = std::fs::read_to_string(folder.join("summary.md")).unwrap();
    assert!(summary.contains("blind: better than without skill in 100 % (2 of 2"), "{summary}");
    // Graded again it is the same, though the file does not ask for it.
    let again = project.run(&["grade", "clawgate-out/eval/greet/iteration-1"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(again.stdout.contains("blind: better than without skill in 100 %"), "{}", again.stdout);
    // Without it nobody compares, and with one arm there is nothing to compare with.
    let (_, said) = compared(&judge, "", &[]);
    assert_eq!(said.report()["blind"], Value::Null);
    let (_, said) = compared(&judge, "", &["--blind", "--only-with"]);
    assert!(said.code == Some(2) && said.stderr.contains("need another arm"), "{}", said.stderr);
    let (_, said) = compared(&judge, "[thresholds]\nmin_preference = 0.5\n", &[]);
    assert!(said.code == Some(2) && said.stderr.contains("needs `blind = true`"), "{}", said.stderr);
}
