//! What people look at: the page with all arms side by side, the notes that go from round to round, the summary for a
//! pull request and the badge.

use std::fs;

use super::project::{MODEL, Project};

const EVIL: &str = "<script>alert(1)</script>";

fn project() -> Project {
    let project = Project::new();
    let write = "[[api.turns]]\nwhen = { prompt = \"Write\", turn = 1 }\n\
                 tools = [{ name = \"Write\", input = { file_path = \"page.html\", content = \"<script>alert(1)</script>\" } },\n\
                          { name = \"Write\", input = { file_path = \"nul.bin\", content = \"a\\u0000b\" } }]\n\
                 [[api.turns]]\nwhen = { prompt = \"Write\", turn = 2 }\ntext = \"<script>alert(1)</script> done\"\n";
    let spec = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = 2\nrequire_use = false\npermission_mode = \"bypassPermissions\"\n{write}{MODEL}\n\
         [[cases]]\nid = \"ann\"\nprompt = \"Say hello <script>alert(1)</script>\"\nassert = [{{ type = \"contains\", needle = \"Ahoy\" }}]\n\
         [[cases]]\nid = \"file\"\nprompt = \"Write it down\"\nassert = [{{ type = \"contains\", needle = \"done\" }}]\n"
    );
    project.write("e.toml", &spec);
    project
}

#[test]
fn the_page_has_all_arms_with_output_files_transcript_and_judgement() {
    let project = project();
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let folder = project.path().join("clawgate-out/eval/greet/iteration-1");
    let html = fs::read_to_string(folder.join("report.html")).unwrap();
    for expected in [
        "data-status=\"pass fail\"",
        "Ahoy, Ann!",
        "Hello, Ann.",
        "page.html",
        "nul.bin",
        "not a text, 3 bytes",
        "Agent calls Skill",
        "contains &quot;Ahoy&quot;",
        "missing &quot;Ahoy&quot;",
        "data-run=\"eval-ann-with_skill-run-1\"",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    assert!(!html.contains(EVIL) && html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!html.contains("http://") && !html.contains("https://"), "one file, no network");
    assert_eq!(html.matches("<main>").count(), html.matches("</main>").count());
}

#[test]
fn notes_are_kept_for_the_next_round() {
    let project = project();
    assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    let folder = project.path().join("clawgate-out/eval/greet");
    let note = r#"{"reviews": [{"run_id": "eval-ann-with_skill-run-1", "feedback": "Too loud <b>here</b>", "timestamp": "x"},
                  {"run_id": "eval-ann-with_skill-run-2", "feedback": " "}], "status": "complete"}"#;
    fs::write(folder.join("iteration-1/feedback.json"), note).unwrap();
    assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    let html = fs::read_to_string(folder.join("iteration-2/report.html")).unwrap();
    assert_eq!(html.matches("Noted in iteration 1:").count(), 1);
    assert!(html.contains("Too loud &lt;b&gt;here&lt;/b&gt;"));
    // What is no such file has no notes, and does no harm.
    fs::write(folder.join("iteration-2/feedback.json"), "[").unwrap();
    assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    let html = fs::read_to_string(folder.join("iteration-3/report.html")).unwrap();
    assert!(html.contains("Noted in iteration 1:"));
}

#[test]
fn a_pull_request_gets_rates_differences_and_cost_and_a_readme_its_badge() {
    let project = project();
    for _ in 0..2 {
        assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    }
    let folder = project.path().join("clawgate-out/eval/greet");
    let summary = fs::read_to_string(folder.join("iteration-2/summary.md")).unwrap();
    for expected in [
        "### ✅ greet: pass",
        "| case | with skill | without skill | median cost | median time |",
        "| ann | 100 % (2 of 2, 34–100 %) | 0 % (0 of 2, 0–66 %)<br>Δ +1.00",
        "| **all** | 100 % (4 of 4",
        "Trend: 100 % → 100 %.",
        "(+0.0000 against the last) and",
        "tokens spent · iteration 2",
    ] {
        assert!(summary.contains(expected), "{expected}:\n{summary}");
    }
    let badge = fs::read_to_string(folder.join("badge.svg")).unwrap();
    assert!(
        badge.starts_with("<svg xmlns=") && badge.contains("greet: 100 % of 4") && badge.contains("#0b7a43")
    );
    // A red one is red.
    let text = fs::read_to_string(project.path().join("e.toml")).unwrap().replace("Ahoy\" }]", "Never\" }]");
    project.write("e.toml", &text);
    assert_eq!(project.eval(&["e.toml"]).code, Some(100));
    let badge = fs::read_to_string(folder.join("badge.svg")).unwrap();
    assert!(badge.contains("greet: 50 % of 4") && badge.contains("#c01f34"), "{badge}");
    let summary = fs::read_to_string(folder.join("iteration-3/summary.md")).unwrap();
    assert!(summary.contains("### ❌ greet: fail") && !summary.contains("Trend"), "{summary}");
}
