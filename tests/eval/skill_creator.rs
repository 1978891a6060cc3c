//! What skill-creator's viewer and scripts read of ours: the fields that they need, and the tools themselves where a
//! copy of them is at hand.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::project::{MODEL, Project};
use crate::files::read_json;

/// Two cases, one of which writes files, with a control and a trigger that write one too.
fn evaluated(trials: u32) -> Project {
    let project = Project::new();
    let write = "[[api.turns]]\nname = \"write\"\nwhen = { prompt = \"Write\", turn = 1 }\n\
                 tools = [{ name = \"Write\", input = { file_path = \"hello.txt\", content = \"Ahoy\" } },\n\
                          { name = \"Write\", input = { file_path = \"out/deep.md\", content = \"# Deep\" } }]\n\
                 [[api.turns]]\nwhen = { prompt = \"Write\", turn = 2 }\ntext = \"Written.\"\n";
    let spec = format!(
        "[eval]\nskill = \"greet\"\n[run]\ntrials = {trials}\nrequire_use = false\npermission_mode = \"bypassPermissions\"\n{write}{MODEL}\n\
         [[cases]]\nid = \"ann\"\nprompt = \"Say hello\"\nassert = [{{ type = \"contains\", needle = \"Ahoy\" }}, {{ type = \"min_length\", length = 3 }}]\n\
         [[cases]]\nid = \"file\"\nprompt = \"Write it down\"\nfiles = {{ \"out/old.txt\" = \"x\" }}\nassert = [{{ type = \"file\", path = \"hello.txt\", contains = \"Ahoy\" }}]\n\
         [triggers]\nshould_not = [\"Write the weather down\"]\ntrials = 1\n[thresholds]\nmin_pass_rate = 0.5\n"
    );
    project.write("e.toml", &spec);
    let said = project.eval(&["e.toml"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stderr, said.stdout);
    project
}

fn iteration(project: &Project) -> std::path::PathBuf {
    project.path().join("clawgate-out/eval/greet/iteration-1")
}

/// Every folder below that has `outputs`, as the viewer looks for runs: it goes no deeper where it finds one.
fn runs(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    if folder.join("outputs").is_dir() {
        found.push(folder.to_owned());
        return;
    }
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries.iter().filter(|entry| entry.is_dir()) {
        runs(entry, found);
    }
}

#[test]
fn every_run_has_what_the_viewer_looks_for() {
    let project = evaluated(2);
    let mut found = Vec::new();
    runs(&iteration(&project), &mut found);
    assert_eq!(found.iter().filter(|run| run.to_string_lossy().contains("/eval-")).count(), 8);
    for run in &found {
        // The viewer sorts by number, and a name among the numbers ends it.
        let about: Value = read_json(run.parent().unwrap().join("eval_metadata.json"));
        assert!(about["eval_id"].is_u64(), "{}: {about}", run.display());
        assert!(about["prompt"].as_str().is_some_and(|prompt| !prompt.is_empty()), "{about}");
        if run.to_string_lossy().contains("/eval-") {
            let grading: Value = read_json(run.join("grading.json"));
            assert!(grading["summary"]["pass_rate"].is_number(), "{grading}");
            for expectation in grading["expectations"].as_array().unwrap() {
                assert!(expectation["text"].is_string() && expectation["passed"].is_boolean());
                assert!(expectation["evidence"].is_string());
            }
            // Where the grading has times the scripts do not look for tokens elsewhere.
            assert_eq!(grading["timing"], Value::Null);
            let timing: Value = read_json(run.join("timing.json"));
            assert!(
                timing["total_tokens"].as_u64().unwrap() > 0 && timing["total_duration_seconds"].is_number()
            );
        }
    }
    let said = iteration(&project).join("eval-ann/with_skill/run-1/outputs/response.md");
    assert!(fs::read_to_string(said).unwrap().contains("Ahoy, Ann!"));
    let outputs = iteration(&project).join("eval-file/with_skill/run-1/outputs");
    assert_eq!(fs::read_to_string(outputs.join("hello.txt")).unwrap(), "Ahoy");
    // Only what is directly in the folder is shown.
    assert_eq!(fs::read_to_string(outputs.join("out__deep.md")).unwrap(), "# Deep");
    assert_eq!(fs::read_to_string(outputs.join("out/deep.md")).unwrap(), "# Deep");
}

#[test]
#[ignore = "needs skill-creator of github.com/anthropics/skills in CLAWGATE_SKILL_CREATOR, and python3"]
fn the_viewer_and_the_aggregation_of_skill_creator_read_ours() {
    let tools = std::path::PathBuf::from(std::env::var_os("CLAWGATE_SKILL_CREATOR").unwrap());
    let project = evaluated(3);
    let folder = iteration(&project);
    let python = |script: &str, args: &[&str]| {
        let output =
            Command::new("python3").arg(tools.join(script)).arg(&folder).args(args).output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}: {text}");
        text
    };
    let (sum, page) = (project.path().join("sum.json"), project.path().join("review.html"));
    let said = python("scripts/aggregate_benchmark.py", &["-o", sum.to_str().unwrap()]);
    assert!(!said.contains("Warning"), "{said}");
    let (theirs, ours): (Value, Value) = (read_json(sum), read_json(folder.join("benchmark.json")));
    // Whole numbers are written without a point there.
    let plain = |summary: &Value| -> Value {
        serde_json::from_str(&summary.to_string().replace(".0,", ",").replace(".0}", "}")).unwrap()
    };
    assert_eq!(plain(&theirs["run_summary"]), plain(&ours["run_summary"]));
    assert_eq!(theirs["metadata"]["evals_run"], json!([1, 2]));
    let key = |run: &Value| {
        (run["eval_id"].to_string(), run["configuration"].to_string(), run["run_number"].as_u64())
    };
    let sorted = |runs: &Value| {
        let mut runs = runs.as_array().unwrap().clone();
        runs.sort_by_key(key);
        runs.into_iter()
            .map(|run| (key(&run), run["result"].clone(), run["expectations"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(sorted(&theirs["runs"]), sorted(&ours["runs"]));

    let benchmark = folder.join("benchmark.json");
    let page_args = ["--static", page.to_str().unwrap(), "--benchmark", benchmark.to_str().unwrap()];
    python("eval-viewer/generate_review.py", &page_args);
    let html = fs::read_to_string(&page).unwrap();
    let data = html.split("const EMBEDDED_DATA = ").nth(1).unwrap();
    let mut data = serde_json::Deserializer::from_str(data).into_iter::<Value>();
    let data = data.next().unwrap().unwrap();
    let runs = data["runs"].as_array().unwrap();
    assert!(runs.iter().all(|run| run["prompt"] != "(No prompt found)"), "{runs:#?}");
    let written = runs.iter().find(|run| run["id"] == "eval-file-with_skill-run-1").unwrap();
    let names: Vec<&str> =
        written["outputs"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["hello.txt", "out__deep.md", "response.md"]);
    assert_eq!(written["grading"]["summary"]["pass_rate"], 1.0);
}
