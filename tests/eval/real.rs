//! The real Claude CLI with a scripted model: the numbers are exactly those of the script. `CLAWGATE_CLAUDE_BIN` names
//! the binary.

use serde_json::{Value, json};

use super::project::Project;

#[test]
#[ignore = "needs the real Claude CLI; .ci/run runs it"]
fn the_real_cli_comes_to_the_numbers_of_the_script() {
    let project = Project::new();
    project.write("e.toml", include_str!("../data/eval/real.toml"));
    let said = project.run(&["e.toml", "--target", "claude", "--format", "json"]);
    let (events, report) = (said.events(), said.report());
    assert_eq!((said.code, &report["status"]), (Some(100), &json!("fail")), "{report:#}");

    let trial = |case: &str, number: u64| {
        let is_it = |event: &&Value| {
            event["case"] == case && event["trial"] == number && event["arm"] == "with_skill"
        };
        events.iter().find(is_it).unwrap().clone()
    };
    for (case, number, status, class, skill) in [
        ("works", 1, "pass", "ok", "used"),
        ("works", 2, "pass", "ok", "used"),
        ("never", 1, "fail", "ok", "loaded"),
        ("asks", 1, "fail", "interactive", "used"),
        ("loses", 1, "fail", "background-task", "used"),
        ("denied", 1, "fail", "permission", "used"),
        ("trigger-1", 1, "pass", "ok", "used"),
        ("trigger-2", 1, "fail", "ok", "loaded"),
        ("trigger-3", 1, "pass", "ok", "loaded"),
    ] {
        let trial = trial(case, number);
        let found = (&trial["status"], &trial["verdict"]["class"], &trial["skill"]);
        assert_eq!(found, (&json!(status), &json!(class), &json!(skill)), "{case}: {trial:#}");
    }
    // The limit in the middle was waited out, and the judge's evidence stands in what it judged.
    let limited = trial("works", 2);
    assert_eq!(limited["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(limited["attempts"][0]["verdict"]["class"], "rate_limit");
    assert_eq!(limited["expectations"][0]["quoted"], true);
    assert_eq!(trial("denied", 1)["denied"], json!(["Write"]));

    let rate = |rate: &Value| (rate["passed"].as_u64().unwrap(), rate["measured"].as_u64().unwrap());
    assert_eq!(rate(&report["overall"]["with_skill"]["pass_rate"]), (2, 6));
    assert_eq!(rate(&report["overall"]["without_skill"]["pass_rate"]), (0, 6));
    assert_eq!(rate(&report["triggers"]["precision"]), (1, 1));
    assert_eq!(rate(&report["triggers"]["recall"]), (1, 2));
    assert_eq!(report["not_measured"], json!({}));
    for control in report["controls"].as_array().unwrap() {
        assert_eq!(control["as_known"], true, "{control}");
    }
}
