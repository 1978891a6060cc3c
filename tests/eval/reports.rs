//! The reports of evaluations for CI systems: a case, a control, the triggers and the whole are a test each, which fails
//! when the gate does.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::process::Command as Process;

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::Value;

use super::project::{MODEL, Project, Said};

fn spec(head: &str, rest: &str) -> String {
    format!(
        "[eval]\nskill = \"greet\"\n[run]\nbackoff_ms = 1\nretries = 0\n{head}\n{MODEL}\n{rest}\n\
         [[cases]]\nid = \"ann\"\nprompt = \"Say hello to Ann\"\n\
         [[cases.assert]]\nid = \"pirate\"\ntype = \"contains\"\nneedle = \"Ahoy\"\n"
    )
}

/// Evaluates, and answers with what became of each test: pass, fail, error or skip, with the reason.
fn evaluate(project: &Project, more: &[&str]) -> (Said, Vec<(String, &'static str, String)>) {
    let args = ["e.toml", "--target", "reference", "--report", "junit=j.xml"];
    let said = project.run(&[&args[..], more].concat());
    let text = fs::read_to_string(project.path().join("j.xml")).unwrap();
    let report = Report::deserialize_from_str(&text).unwrap();
    let mut tests = Vec::new();
    for test in report.test_suites.iter().flat_map(|suite| &suite.test_cases) {
        let name = test.name.as_str().to_owned();
        let (status, message) = match &test.status {
            TestCaseStatus::Success { .. } => ("pass", None),
            TestCaseStatus::Skipped { message, .. } => ("skip", message.clone()),
            TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, message, .. } => {
                ("fail", message.clone())
            }
            TestCaseStatus::NonSuccess { kind: NonSuccessKind::Error, message, .. } => {
                ("error", message.clone())
            }
        };
        tests.push((name, status, message.map_or(String::new(), |message| message.as_str().to_owned())));
    }
    (said, tests)
}

fn status_of<'t>(tests: &'t [(String, &'static str, String)], name: &str) -> (&'static str, &'t str) {
    let test = tests.iter().find(|test| test.0 == format!("greet/{name}"));
    test.map_or(("missing", ""), |test| (test.1, test.2.as_str()))
}

#[test]
fn a_test_fails_when_the_gate_does() {
    let project = Project::new();
    let once = "[[rules]]\ncase = \"ann\"\ntrials = [2]\napi = \"plain\"\n\
                [triggers]\ntrials = 1\nshould = [\"Say hello\", \"How is the weather?\"]\n";
    project.write("e.toml", &spec("trials = 4\nwithout = false", once));
    let (said, tests) = evaluate(&project, &[]);
    assert_eq!(said.code, Some(100), "{}", said.stderr);
    let (status, message) = status_of(&tests, "ann");
    assert_eq!(status, "fail");
    assert!(
        message.starts_with("pass rate 75 %, at least 100 % wanted; trial 2: contains \"Ahoy\""),
        "{message}"
    );
    assert_eq!(status_of(&tests, "triggers"), ("fail", "recall 0.50, at least 1.00 wanted"));
    for passed in ["control/control-pass", "control/control-fail", "evaluation"] {
        assert_eq!(status_of(&tests, passed).0, "pass", "{passed}");
    }
    assert_eq!(tests.len(), 5);
    // What holds in three of four trials is enough here, although an assertion failed in one.
    project.write(
        "e.toml",
        &spec("trials = 4\nwithout = false", "[[rules]]\ncase = \"ann\"\ntrials = [2]\napi = \"plain\"\n"),
    );
    let (said, tests) = evaluate(&project, &["--min-pass-rate", "0.75"]);
    assert_eq!((said.code, status_of(&tests, "ann").0), (Some(0), "pass"), "{}", said.stdout);
    // The difference that the skill makes is about the whole.
    let demanding =
        "[thresholds]\nmin_delta = 0.5\n[[rules]]\nwith_skill = false\ncase = \"ann\"\napi = \"says.toml\"\n";
    project.write("says.toml", "[scenario]\nname = \"says\"\n[[api.turns]]\ntext = \"Ahoy!\"\n");
    project.write("e.toml", &spec("trials = 2", demanding));
    let (said, tests) = evaluate(&project, &[]);
    assert_eq!((said.code, status_of(&tests, "ann").0), (Some(100), "pass"));
    assert_eq!(status_of(&tests, "evaluation"), ("fail", "the skill adds +0.00, at least +0.50 wanted"));
}

#[test]
fn what_was_not_measured_is_an_error_and_what_was_not_run_is_skipped() {
    let project = Project::new();
    project.write(
        "e.toml",
        &spec("trials = 2\nwithout = false", "[[rules]]\ncase = \"ann\"\nfaults = [\"http:status=429\"]\n"),
    );
    let (said, tests) = evaluate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let (status, message) = status_of(&tests, "ann");
    assert_eq!(status, "error");
    assert!(message.starts_with("0 of 2 trials measured; trial 1: rate_limit"), "{message}");
    // A budget that ends after the controls.
    project.write("e.toml", &spec("trials = 2\nwithout = false", ""));
    let (said, tests) = evaluate(&project, &["--max-total-tokens", "31", "--jobs", "1"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let (status, message) = status_of(&tests, "ann");
    assert_eq!(status, "skip", "{message}");
    assert!(message.contains("the budget is used up"), "{message}");
    assert_eq!(status_of(&tests, "evaluation").0, "error");
}

#[test]
fn a_wrong_control_is_an_error() {
    let project = Project::new();
    let other = "[[cases]]\nid = \"known\"\ncontrol = \"pass\"\nprompt = \"How is the weather?\"\n\
                 [[cases.assert]]\ntype = \"contains\"\nneedle = \"sunny\"\n";
    project.write("e.toml", &(spec("trials = 1\nwithout = false", "") + other));
    let (said, tests) = evaluate(&project, &[]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let (status, message) = status_of(&tests, "control/known");
    assert_eq!(status, "error");
    assert!(
        message.contains("came out wrong") && message.contains("nothing here can be believed"),
        "{message}"
    );
}

/// Everything that a reader of a report would obey.
const HOSTILE: &str = "\u{1b}[31m</script><script>x()</script>]]>\n::error::owned\r\n##[error]owned | <b>`x` [l](http://e.invalid) @you \u{202e}";

#[test]
fn hostile_text_is_inert_in_every_report() {
    let project = Project::new();
    let says = toml_text(HOSTILE);
    project.write("evil.toml", &format!("[scenario]\nname = \"evil\"\n[[api.turns]]\ntext = {says}\n"));
    let text = spec("trials = 1\nwithout = false", "[[rules]]\ncase = \"ann\"\napi = \"evil.toml\"\n")
        .replace("type = \"contains\"\nneedle = \"Ahoy\"", "type = \"equals\"\ntext = \"x\"")
        .replace("prompt = \"Say hello to Ann\"", &format!("prompt = {says}"))
        .replace("id = \"pirate\"", &format!("id = {says}"));
    project.write("e.toml", &text);
    let kinds = ["junit=j.xml", "sarif=s.sarif", "markdown=m.md", "gitlab=g.json", "github"];
    let mut args = vec!["e.toml", "--target", "reference"];
    for kind in kinds {
        args.extend(["--report", kind]);
    }
    let said = project.run(&args);
    assert_eq!(said.code, Some(100), "{}", said.stderr);
    let read = |name: &str| fs::read_to_string(project.path().join(name)).unwrap();
    let mut all = vec![("stdout", said.stdout.clone())];
    all.extend(["j.xml", "s.sarif", "m.md", "g.json"].map(|name| (name, read(name))));
    for (name, text) in &all {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{name}");
        assert!(text.contains("owned"), "{name} says nothing of it");
    }
    let commands: Vec<&str> =
        said.stdout.lines().filter(|line| line.trim_start().starts_with("::")).collect();
    assert_eq!(commands.len(), 1, "{commands:?}");
    assert!(commands[0].starts_with("::error ") && !said.stdout.contains("##["), "{}", commands[0]);
    let report = Report::deserialize_from_str(&all[1].1).unwrap();
    assert_eq!((report.tests, report.failures), (4, 1));
    for forbidden in ["<script", "<b>", "`x`", "[l](", "@you", "::error"] {
        assert!(!all[3].1.contains(forbidden), "{forbidden}");
    }
    for name in ["s.sarif", "g.json"] {
        serde_json::from_str::<Value>(&read(name)).unwrap();
    }
}

/// As it stands in a TOML file.
fn toml_text(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

#[test]
fn reports_that_evaluations_do_not_have_are_refused_before_anything_runs() {
    let project = Project::new();
    project.write("e.toml", &spec("trials = 1", ""));
    for (kind, expected) in [
        ("html", "report.html is written into the iteration anyway"),
        ("json", "use --format json"),
        ("conformance", "it is about contracts"),
        ("juint", "did you mean `junit`?"),
    ] {
        let said = project.run(&["e.toml", "--report", kind]);
        assert_eq!(said.code, Some(2), "{kind}: {}", said.stderr);
        assert!(said.stderr.contains(expected), "{kind}: {}", said.stderr);
    }
    let said = project.run(&["e.toml", "--report", "markdown=-"]);
    assert_eq!(said.code, Some(2), "people and Markdown cannot share standard output: {}", said.stdout);
    assert!(!project.path().join("clawgate-out/eval/greet").exists());
    // One that cannot be written loses neither the others nor the verdict.
    let said = project.run(&["e.toml", "--only-with", "--report", "junit=/dev/full", "--report", "gitlab"]);
    assert_eq!(said.code, Some(3), "{}", said.stdout);
    assert!(said.stderr.contains("the report junit is lost: /dev/full"), "{}", said.stderr);
    assert!(project.path().join("clawgate-out/eval/gl-code-quality-report.json").is_file());
}

#[test]
fn grading_again_reports_too() {
    let project = Project::new();
    project.write("e.toml", &spec("trials = 1\nwithout = false", ""));
    assert_eq!(project.eval(&["e.toml"]).code, Some(0));
    project.write("e.toml", &spec("trials = 1\nwithout = false", "").replace("Ahoy\"\n", "Avast\"\n"));
    let iteration = "clawgate-out/eval/greet/iteration-1";
    let said = project.run(&["grade", iteration, "--report", "junit=again.xml"]);
    assert_eq!(said.code, Some(100), "{}", said.stderr);
    let text = fs::read_to_string(project.path().join("again.xml")).unwrap();
    assert!(text.contains("failures=\"1\"") && text.contains("clawgate eval grade"), "{text}");
}

#[test]
#[ignore = "needs xmllint and the schema; .ci/run has them"]
fn junit_is_valid_by_its_published_schema() {
    let project = Project::new();
    let rules = "[[rules]]\ncase = \"ann\"\nfaults = [\"http:status=429\"]\n[triggers]\ntrials = 1\nshould = [\"How is the weather?\"]\n";
    project.write("e.toml", &spec("trials = 2\nwithout = false", rules));
    evaluate(&project, &[]);
    let schema = std::env::var("CLAWGATE_JUNIT_XSD").expect("tests/reports/junit-xsd.sh says how to set it");
    let checked = Process::new("xmllint")
        .args(["--noout", "--schema", &schema])
        .arg(project.path().join("j.xml"))
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
