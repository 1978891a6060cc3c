//! The reports of a run as CI systems and people read them, also when the target is hostile.

use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use assert_cmd::cargo::cargo_bin;
use clawgate::internals::report::{Context, Terminal, Verbosity};
use clawgate::internals::run::Event;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{clawgate, corpus, said};
use crate::files::{folder_with, read_json};
use crate::scenario::WRONG;
use crate::support::{json_lines, process};

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Everything that some reader of a report would obey: a terminal, a browser, XML, a CI system, Markdown, the eye.
const HOSTILE: &str = "\u{1b}[31m\u{1b}]0;owned\u{7}</script><script>document.title='owned'</script>\
<img src=http://evil.invalid/x onerror=\"document.title='owned'\">]]>\n::error::owned\r\n##[error]owned | <b>&amp; \
`x` [l](http://evil.invalid/) @you \u{202e}\u{200b}\u{9b}31m --> end";

/// A project whose target prints all of that, and fails.
fn hostile_project() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let mut stdout = Vec::new();
    let mut line = |bytes: &[u8]| stdout.extend_from_slice(&[bytes, b"\n"].concat());
    line(json!({"type": HOSTILE, "subtype": HOSTILE}).to_string().as_bytes());
    line(HOSTILE.replace('\n', " ").as_bytes());
    line(b"::error::at the start of a line");
    line(b"\xff\xfe invalid \xc3( utf-8");
    line("x".repeat(1 << 20).as_bytes());
    let result =
        json!({"type": "result", "subtype": HOSTILE, "is_error": true, "result": HOSTILE, "usage": HOSTILE});
    line(result.to_string().as_bytes());
    fs::write(root.join("stdout"), stdout).unwrap();
    fs::write(root.join("stderr"), format!("{HOSTILE}\n").as_bytes()).unwrap();
    let script = format!("#!/bin/sh\ncat '{0}/stdout'\ncat '{0}/stderr' >&2\nexit 1\n", root.display());
    // By another process: a file that this one has open for writing cannot be run, and its other threads fork.
    fs::write(root.join("draft"), script).unwrap();
    let args = [Path::new("--mode=755"), &root.join("draft"), &root.join("hostile.sh")];
    assert!(Process::new("install").args(args).status().unwrap().success());
    let target = format!(
        "[target]\nname = \"hostile\"\ndescription = \"x\"\nprogram = '{}/hostile.sh'\n[env]\nPATH = \"/usr/bin:/bin\"\n\
         [[speaks]]\ncontract = \"claude-stream-json\"\nversion = \"2.1.197\"\nargs = [\"--output-format\", \"stream-json\", \"--verbose\"]\n\
         prompt = [\"-p\", \"{{prompt}}\"]\n",
        root.display()
    );
    fs::write(root.join("hostile.toml"), target).unwrap();
    let scenario = WRONG.replace("Expects what does not happen.", &toml_text(HOSTILE));
    fs::write(root.join("wrong.toml"), scenario).unwrap();
    folder
}

/// As it stands inside a basic string of TOML.
fn toml_text(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1]
        .chars()
        .map(|c| if c.is_control() { format!("\\u{:04x}", c as u32) } else { c.into() })
        .collect()
}

fn run_hostile(args: &[&str]) -> (TempDir, String) {
    failing_run(hostile_project(), ["wrong.toml", "--target", "hostile.toml"], args)
}

/// Runs a project in which a case fails: its folder, and what was printed.
pub(crate) fn failing_run(folder: TempDir, cases: [&str; 3], args: &[&str]) -> (TempDir, String) {
    let output = clawgate(folder.path())
        .arg("run")
        .args(cases)
        .args(args)
        .env("GITHUB_STEP_SUMMARY", folder.path().join("summary.md"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(100), "{}", String::from_utf8_lossy(&output.stderr));
    (folder, String::from_utf8(output.stdout).unwrap())
}

/// What no report may hold, whatever else its format forbids.
fn assert_nothing_hidden(text: &str) {
    for (what, character) in [
        ("escape", '\u{1b}'),
        ("bell", '\u{7}'),
        ("override", '\u{202e}'),
        ("zero width", '\u{200b}'),
        ("CSI", '\u{9b}'),
    ] {
        assert!(!text.contains(character), "{what} survives");
    }
    assert!(text.contains("owned"), "the report says nothing of what was printed");
}

#[test]
fn a_hostile_target_cannot_command_the_terminal_or_the_ci_system() {
    for verbosity in ["--quiet", "--verbose"] {
        let (_folder, stdout) = run_hostile(&[verbosity]);
        assert_nothing_hidden(&stdout);
        assert!(!stdout.contains("##["), "a command of the old form");
        for line in stdout.lines() {
            assert!(!line.trim_start().starts_with("::"), "a workflow command: {line}");
            assert!(line.chars().count() <= 2000, "a line of {} characters", line.chars().count());
        }
    }
}

#[test]
fn a_hostile_target_leaves_junit_well_formed() {
    let (folder, _) = run_hostile(&["--report", "junit=j.xml"]);
    let text = read(folder.path(), "j.xml");
    assert_nothing_hidden(&text);
    let report = quick_junit::Report::deserialize_from_str(&text).unwrap();
    let suite = &report.test_suites[0];
    assert_eq!((report.test_suites.len(), suite.test_cases.len(), suite.failures), (1, 1, 1));
    assert!(suite.test_cases[0].system_out.as_ref().unwrap().as_str().contains("\\xff\\xfe invalid"));
    assert!(text.len() < 200_000, "{} bytes for one case", text.len());
}

#[test]
fn a_hostile_target_leaves_sarif_valid() {
    let (folder, _) = run_hostile(&["--report", "sarif=s.sarif"]);
    let text = read(folder.path(), "s.sarif");
    assert_nothing_hidden(&text);
    let report: Value = read_json(folder.path().join("s.sarif"));
    assert_sarif(&report);
    let results = report["runs"][0]["results"].as_array().unwrap();
    assert!(results.len() > 3);
    for result in results {
        // Brackets would be links of the target's making.
        let message = result["message"]["text"].as_str().unwrap();
        assert!(!message.replace("\\[", "").contains('['), "{message}");
    }
}

fn assert_sarif(report: &Value) {
    // Its one pattern has a stray bracket, which is none by today's rules.
    let text = include_str!("sarif-2.1.0.schema.json").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}\\\\]?$");
    let schema: Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::options().build(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(report)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    for run in report["runs"].as_array().unwrap() {
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        for result in run["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
        }
    }
}

#[test]
fn a_hostile_target_writes_no_annotation_of_its_own() {
    let (folder, stdout) = run_hostile(&["--report", "github", "--report", "terminal"]);
    assert_nothing_hidden(&stdout);
    let commands: Vec<&str> = stdout.lines().filter(|line| line.trim_start().starts_with("::")).collect();
    assert_eq!(commands.len(), 1, "{commands:?}");
    assert!(commands[0].starts_with("::error ") && !stdout.contains("##["), "{}", commands[0]);
    let properties = commands[0].trim_start_matches("::error ").split("::").next().unwrap();
    assert!(properties.split(',').all(|pair| pair.contains('=')), "{properties}");
    assert_markdown(&read(folder.path(), "summary.md"));
}

#[test]
fn a_hostile_target_is_plain_text_in_markdown_and_gitlab() {
    let (folder, _) = run_hostile(&["--report", "markdown=m.md", "--report", "gitlab=g.json"]);
    assert_markdown(&read(folder.path(), "m.md"));
    assert_nothing_hidden(&read(folder.path(), "g.json"));
    let issues: Value = read_json(folder.path().join("g.json"));
    for issue in issues.as_array().unwrap() {
        assert!(issue["description"].is_string() && issue["check_name"].is_string());
        assert!(
            ["info", "minor", "major", "critical", "blocker"].contains(&issue["severity"].as_str().unwrap())
        );
        assert!(issue["location"]["path"].is_string() && issue["location"]["lines"]["begin"].is_u64());
        assert_eq!(issue["fingerprint"].as_str().unwrap().len(), 32);
    }
}

fn assert_markdown(text: &str) {
    assert_nothing_hidden(text);
    for forbidden in ["<script", "<img", "<b>", "`x`", "[l](", "@you", "::error", "](http"] {
        assert!(!text.contains(forbidden), "{forbidden}");
    }
    // A table keeps its columns.
    let rows: Vec<usize> =
        text.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
    assert!(rows.len() >= 3 && rows.windows(2).all(|pair| pair[0] == pair[1]), "{rows:?}");
}

#[test]
fn a_hostile_target_has_no_markup_in_html() {
    let (folder, _) = run_hostile(&["--report", "html=r.html"]);
    let text = read(folder.path(), "r.html");
    assert_nothing_hidden(&text);
    assert_eq!(text.matches("<script").count(), 1);
    assert!(!text.contains("<img") && !text.contains("onerror=\""));
    assert!(text.contains("&lt;/script&gt;") && text.contains("\\xff\\xfe invalid"));
    assert!(text.len() < 400_000, "{} bytes for one case", text.len());
}

#[test]
fn a_report_that_cannot_be_written_loses_neither_the_others_nor_the_verdict() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (kind, path, reason) in [
        ("junit", "/dev/full", "no space left"),
        ("html", "/dev/full", "no space left"),
        ("json", "/dev/full", "no space left"),
        ("markdown", "missing/m.md", "there is no folder `missing`"),
        ("sarif", "folder", ""),
        ("gitlab", "/proc/version", ""),
    ] {
        let wish = format!("{kind}={path}");
        clawgate(folder.path())
            .args(["run", "claude/answers/stream", "--report", &wish, "--report", "junit=fine.xml"])
            .assert()
            .code(3)
            .stdout(contains("1 passed"))
            .stderr(contains(format!("the report {kind} is lost: {path}")).and(contains(reason)));
        assert!(read(folder.path(), "fine.xml").contains("tests=\"1\""), "{wish}");
        fs::remove_file(folder.path().join("fine.xml")).unwrap();
        let last = read(folder.path(), "clawgate-out/events.ndjson");
        assert!(last.lines().last().unwrap().contains("run-finished"), "{wish}");
    }
    // The terminal itself.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = process(folder.path())
        .args(["run", "claude/answers/stream", "--report", "junit=fine.xml"])
        .stdout(Stdio::from(full))
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(read(folder.path(), "fine.xml").contains("tests=\"1\""));
}

#[test]
fn a_reader_that_leaves_early_does_not_turn_red_into_green() {
    let folder = folder_with(&[("wrong.toml", WRONG)]);
    let command = format!("set -o pipefail; '{}' run wrong.toml | true", cargo_bin("clawgate").display());
    let status = Process::new("bash").current_dir(folder.path()).args(["-c", &command]).status().unwrap();
    assert_eq!(status.code(), Some(100));
}

#[test]
fn reports_are_made_where_they_are_wished_and_wishes_that_clash_are_refused() {
    let folder = TempDir::new().unwrap();
    let run =
        |args: &[&str]| clawgate(folder.path()).args(["run", "claude/answers/stream"]).args(args).assert();
    run(&["--report", "html", "--report", "junit", "--report", "sarif"])
        .success()
        .stdout(contains("1 passed"));
    for file in ["report.html", "junit.xml", "report.sarif", "events.ndjson"] {
        assert!(folder.path().join("clawgate-out").join(file).is_file(), "{file}");
    }
    run(&["--report", "json"]).success().stdout(predicate::str::starts_with("{\"type\":\"run-started\""));
    run(&["--report", "markdown=-"]).success().stdout(predicate::str::starts_with("# ✅ clawgate: 1 passed"));
    run(&["--report", "json", "--report", "terminal"]).code(2).stderr(contains("json and terminal at once"));
    run(&["--report", "junit=x", "--report", "html=x"])
        .code(2)
        .stderr(contains("cannot both be written to x"));
    run(&["--report", "juint"]).code(2).stderr(contains("did you mean `junit`?"));
    run(&["--baseline", "nowhere.sarif"]).code(2).stderr(contains("nowhere.sarif"));
    // Annotations come by themselves in Actions only.
    fs::write(folder.path().join("wrong.toml"), WRONG).unwrap();
    let wrong = |github: &str| {
        let output =
            clawgate(folder.path()).args(["run", "wrong.toml"]).env("GITHUB_ACTIONS", github).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert!(wrong("true").contains("::error file=wrong.toml,line=3,title=mine/wrong on reference::"));
    assert!(!wrong("").contains("::error"));
}

#[test]
fn sarif_knows_what_is_new_and_keeps_its_fingerprints() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    fs::write(folder.path().join("deep/wrong.toml"), WRONG).unwrap();
    let run = |args: &[&str]| {
        clawgate(folder.path().join("deep"))
            .args(["run", "wrong.toml", "--report", "sarif=s.sarif"])
            .args(args)
            .assert()
            .code(100);
        read_json::<Value>(folder.path().join("deep/s.sarif"))
    };
    let first = run(&[]);
    assert_sarif(&first);
    let result = &first["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"], json!({"uri": "deep/wrong.toml", "uriBaseId": "%SRCROOT%"}));
    assert_eq!((&place["region"]["startLine"], &result["ruleId"]), (&json!(3), &json!("run/verdict")));
    fs::copy(folder.path().join("deep/s.sarif"), folder.path().join("deep/old.sarif")).unwrap();
    // The scenario moves down in its file: the problem is the same.
    fs::write(folder.path().join("deep/wrong.toml"), format!("\n\n{WRONG}")).unwrap();
    let second = run(&["--baseline", "old.sarif"]);
    assert_sarif(&second);
    assert_eq!(second["runs"][0]["results"][0]["baselineState"], "unchanged");
    let third = run(&["--baseline", "old.sarif", "--target", "reference+missing-init"]);
    assert_sarif(&third);
    let states: Vec<&str> = third["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["baselineState"].as_str().unwrap())
        .collect();
    assert!(states.contains(&"new") && states.contains(&"absent"), "{states:?}");
}

#[test]
fn attempts_are_told_inside_their_case() {
    let folder = folder_with(&[("wrong.toml", WRONG)]);
    clawgate(folder.path())
        .args(["run", "wrong.toml", "--retries", "2", "--report", "junit=j.xml", "--report", "html=r.html"])
        .assert()
        .code(100);
    assert_eq!(read(folder.path(), "j.xml").matches("<rerunFailure").count(), 2);
    assert!(read(folder.path(), "r.html").contains("attempts"));
}

/// The schema of the common form of `JUnit` files; `.ci/run` fetches it.
#[test]
#[ignore = "needs xmllint and a schema; .ci/run runs it"]
fn junit_is_valid_by_its_published_schema() {
    let schema = std::env::var("CLAWGATE_JUNIT_XSD").expect("tests/reports/junit-xsd.sh says how to set it");
    let lint = |folder: &Path| {
        let output = Process::new("xmllint")
            .args(["--noout", "--schema", &schema])
            .arg(folder.join("j.xml"))
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let valid = |folder: &Path| {
        let (fine, said) = lint(folder);
        assert!(fine, "{said}");
    };
    valid(run_hostile(&["--report", "junit=j.xml"]).0.path());
    // Attempts, a flaky case, a skipped one, a harness that failed, and names that nobody expects.
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::write(root.join("wrong.toml"), WRONG).unwrap();
    let args =
        ["run", "--retries", "1", "--report", "junit=j.xml", "--target", "reference,reference+no-result"];
    clawgate(root).args(args).args(["claude/answers", "claude/http"]).assert().code(100);
    valid(root);
    clawgate(root).args(["run", "claude/answers/stream", "claude/hooks", "-q"]).assert().success();
    let text = odd_events(&read(root, "clawgate-out/events.ndjson"));
    fs::write(root.join("clawgate-out/events.ndjson"), text).unwrap();
    clawgate(root).args(["merge", "clawgate-out", "-q", "--report", "junit=j.xml"]).assert().code(3);
    let text = read(root, "j.xml");
    for tag in ["<flakyFailure", "<skipped", "<error"] {
        assert!(text.contains(tag), "{tag}: {text}");
    }
    valid(root);
    // A schema that takes everything would prove nothing.
    fs::write(root.join("j.xml"), "<testsuites><testsuite name=\"x\"/></testsuites>").unwrap();
    assert!(!lint(root).0);
    fs::write(root.join("j.xml"), "<testsuites skipped=\"1\"/>").unwrap();
    assert!(!lint(root).0);
}

/// The events of a run of three cases, changed: one is flaky, one skipped, and of one the harness failed, each with a
/// name that XML, a file system and the eye have trouble with.
fn odd_events(text: &str) -> String {
    let mut events = json_lines(text);
    let failure = json!({"kind": "verdict", "message": HOSTILE});
    let names =
        [format!("{HOSTILE}/a b/ü"), "x/".repeat(2000), "\u{0}\u{b}\u{fffe}\u{ffff} \u{1f600}".to_owned()];
    let odd = [
        json!({"status": "flaky", "attempts": 2, "earlier": [{"failures": [failure], "duration_ms": 1.5, "recording": null}]}),
        json!({"status": "skipped", "reason": HOSTILE, "recording": null}),
        json!({"status": "fail", "failures": [{"kind": "harness", "message": "\u{0}\u{1b}[31m"}]}),
    ];
    let finished = events.iter_mut().filter(|event| event["type"] == "case-finished");
    for ((case, odd), name) in finished.zip(odd).zip(names) {
        case["case"] = name.into();
        for (key, value) in odd.as_object().unwrap() {
            case[key] = value.clone();
        }
    }
    let last = events.last_mut().unwrap();
    for (key, value) in [
        ("passed", 0),
        ("flaky", 1),
        ("skipped", 1),
        ("failed", 1),
        ("harness_failures", 1),
        ("exit_code", 3),
    ] {
        last[key] = value.into();
    }
    events.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// What cannot be shown in every format, in every format at once.
#[test]
fn odd_names_and_states_are_inert_in_every_report() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    clawgate(root).args(["run", "claude/answers/stream", "claude/hooks", "-q"]).assert().success();
    let text = odd_events(&read(root, "clawgate-out/events.ndjson"));
    fs::write(root.join("clawgate-out/events.ndjson"), text).unwrap();
    let reports =
        ["junit=j.xml", "sarif=s.sarif", "gitlab=g.json", "markdown=m.md", "html=r.html", "conformance=c.md"];
    let wishes = reports.iter().flat_map(|wish| ["--report", wish]);
    let output = clawgate(root)
        .args(["merge", "clawgate-out", "--verbose", "--report", "terminal", "--report", "github"])
        .args(wishes)
        .env("GITHUB_STEP_SUMMARY", root.join("summary.md"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let files = ["j.xml", "s.sarif", "g.json", "m.md", "r.html", "c.md", "summary.md"];
    let texts: Vec<(&str, String)> = files.iter().map(|file| (*file, read(root, file))).collect();
    for (file, text) in texts.iter().map(|(file, text)| (*file, text)).chain([("terminal", &stdout)]) {
        for hidden in
            ['\u{0}', '\u{b}', '\u{1b}', '\u{7}', '\u{202e}', '\u{200b}', '\u{9b}', '\u{fffe}', '\u{ffff}']
        {
            assert!(!text.contains(hidden), "{file} holds {hidden:?}");
        }
    }
    let report = quick_junit::Report::deserialize_from_str(&texts[0].1).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (3, 0, 1));
    assert_sarif(&read_json(root.join("s.sarif")));
    assert!(!stdout.contains("##["), "{stdout}");
    for line in stdout.lines().filter(|line| line.trim_start().starts_with("::")) {
        assert!(line.starts_with("::error ") || line.starts_with("::warning "), "{line}");
    }
    assert_eq!(texts[4].1.matches("<script").count(), 1);
}

#[test]
fn conformance_tells_each_target_what_it_keeps_breaks_and_was_never_asked() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let corpus = corpus("claw-rust-head");
    fs::create_dir(root.join("kept")).unwrap();
    for case in ["acp", "agents_bogus"] {
        fs::create_dir(root.join("kept").join(case)).unwrap();
        for file in fs::read_dir(corpus.join(case)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), root.join("kept").join(case).join(file.file_name())).unwrap();
        }
    }
    let run = |args: &[&str]| clawgate(root).arg("run").args(args).assert();
    let cases = [
        "claude/answers/stream",
        "claude/http/429",
        "claude/protocol/prose",
        "claude/files/allowed",
        "claw/mistakes",
    ];
    let targets = ["--target", "reference,reference+no-result", "--report", "conformance=c.md"];
    run(&[&cases[..], &targets, &["--recorded", "claw-flat=kept"]].concat()).code(100);
    let text = read(root, "c.md");
    let row = |start: &str| {
        text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no row {start}"))
    };
    let cells = |start: &str| {
        row(start).split('|').skip(3).take(2).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    };
    // Pass, fail, expected by a scenario, not exercised; the second target prints no result.
    assert_eq!(cells("| <code>result-fields</code> "), ["✅", "·"]);
    assert_eq!(cells("| <code>result-present</code> "), ["✅", "❌"]);
    assert_eq!(cells("| <code>line-is-json</code> "), ["☑️", "☑️"]);
    assert_eq!(cells("| <code>control-request-fields</code> "), ["·", "·"]);
    // What was recorded is a column of its own, told as such, and fails nothing.
    assert!(row("| <code>claw&#64;rust-head</code> ").contains("recordings in <code>kept</code> | 2 | "));
    assert!(text.contains("| clause | level | <code>reference</code> | <code>reference&#43;no-result</code> | <code>claw&#64;rust-head</code> | what"));
    // Deviations say why: the scenario, the contract.
    assert!(row("| <code>claude-stream-json/line-is-json</code> ").contains("Its scenario expects it&#58; "));
    let broken = row("| <code>claude-stream-json/result-present</code> ");
    assert!(broken.contains("reference&#43;no-result") && broken.contains("Fails a gate. "), "{broken}");
    assert!(
        row("| <code>claw-flat/error-kind-complete</code> ")
            .contains("The documents contradict each other. One document")
    );
    // It does not change unless what it says does.
    run(&[&cases[..], &targets, &["--recorded", "claw-flat=kept", "--jobs", "1", "--out", "other"]].concat())
        .code(100);
    assert_eq!(read(root, "c.md"), text);
    // The mistakes that one can make.
    run(&["claude/answers/stream", "--recorded", "claw-flat=kept"])
        .code(2)
        .stderr(contains("--report conformance=PATH"));
    for (wish, reason) in [
        ("claw-flat", "such as claw-flat=recordings/"),
        ("claw-flat=nowhere", "nowhere: "),
        ("claw-flat=clawgate-out/empty", "there is no recording"),
        ("claw-flut=kept", "claw-flut"),
    ] {
        fs::create_dir_all(root.join("clawgate-out/empty")).unwrap();
        run(&["claude/answers/stream", "--report", "conformance=d.md", "--recorded", wish])
            .code(2)
            .stderr(contains(reason));
    }
}

#[test]
fn too_little_coverage_is_no_success_and_no_failure_of_the_target() {
    let folder = TempDir::new().unwrap();
    let run = |args: &[&str]| clawgate(folder.path()).args(["run", "-q"]).args(args).assert();
    run(&["claude/answers/stream", "--min-coverage", "5"]).success();
    run(&["claude/answers/stream", "--min-coverage", "95"])
        .code(3)
        .stdout(contains("1 passed"))
        .stderr(contains("too little was measured: ").and(contains("--min-coverage is 95 %")));
    run(&["claude/answers/stream", "--min-coverage", "101"]).code(2).stderr(contains("expected per cent"));
    // More cases show more, and a log of events counts like any other run.
    let share = |args: &[&str]| {
        let output =
            clawgate(folder.path()).args(["run", "-q", "--min-coverage", "100"]).args(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let number = |text: &str| text.rsplit(' ').next().unwrap().parse::<usize>().unwrap();
        let (part, rest) = said.split_once("measured: ").unwrap().1.split_once(" of ").unwrap();
        (number(part), rest.split(' ').next().unwrap().parse::<usize>().unwrap())
    };
    let (one, all) = share(&["claude/answers/stream"]);
    let (more, same) = share(&["claude/answers/stream", "claude/tools/bash", "claude/http/429"]);
    assert!(one > 0 && one < more && more < all && all == same, "{one} {more} {all}");
    let (told, rules) = share(&["events/replayed"]);
    assert!(told > 20 && told < rules && rules > 100, "{told} of {rules}");
    // A merged run is measured by the same recordings.
    let merge = |wanted: &str| {
        clawgate(folder.path()).args(["merge", "clawgate-out", "-q", "--min-coverage", wanted]).assert()
    };
    merge("5").success();
    merge("100").code(3);
}

/// What is there to be copied stays on one line, however long that is.
fn is_command(line: &str) -> bool {
    let labels = ["command: ", "explain: clawgate ", "again: clawgate ", "recording: "];
    labels.iter().any(|label| line.trim_start().starts_with(label))
}

/// What a terminal of so many columns shows of a fixed run.
fn shown(columns: usize, verbosity: Verbosity) -> String {
    let folder = TempDir::new().unwrap();
    let recording = folder.path().join("rec");
    fs::create_dir(&recording).unwrap();
    let line = "{\"type\":\"result\",\"subtype\":\"success\",\"usage\":{\"input_tokens\":12,\"output_tokens\":\"many\"}}\n";
    fs::write(recording.join("stdout"), format!("{{\"type\":\"system\"}}\n{line}")).unwrap();
    let offset = 18 + line.find("\"many\"").unwrap();
    let plain = |case: &str, status: &str, class: &str| {
        json!({"type": "case-finished", "case": case, "target": "claude", "repetition": 1, "status": status, "attempts": 1,
            "verdict": {"class": class, "detail": null, "blame": "none", "retryable": false, "counts": true, "evidence": []},
            "duration_ms": 48.2, "replay": format!("clawgate run {case} --target claude"), "expected": "ok"})
    };
    let mut failed = plain("claude/tools/bash", "fail", "truncated");
    failed["description"] = "A tool is called, and its result is used in the answer.".into();
    failed["verdict"]["evidence"] = json!([{"rule": "no-result", "basis": "structured", "line": 2, "pointer": null, "value": "2 messages, none of them a result"}]);
    failed["failures"] = json!([
        {"kind": "verdict", "message": "expected ok, found truncated: no-result \"2 messages, none of them a result\""},
        {"kind": "finding", "clause": "claude-stream-json/result-fields",
            "message": "claude-stream-json/result-fields: /usage/output_tokens is a string"},
        {"kind": "leftover", "message": "left running: sleep (process 77)"},
    ]);
    failed["findings"] = json!([{"clause": "claude-stream-json/result-fields", "level": "must",
        "message": "/usage/output_tokens is a string", "line": 2, "offset": offset, "pointer": "/usage/output_tokens",
        "seen": "many", "expected": "an integer"}]);
    failed["recording"] = "rec".into();
    let mut skipped = plain("claude/hooks", "skipped", "ok");
    skipped["reason"] = "versions before 2.1.0 have no hooks".into();
    let events = [
        json!({"type": "run-started", "schema_version": 1, "cases": 4, "jobs": 2,
            "targets": [{"target": "claude", "version": "2.1.197"}], "out": "clawgate-out"}),
        plain("claude/answers/stream", "pass", "ok"),
        failed,
        plain("claude/http/with-a-name-that-is-longer-than-most-names-of-cases-are", "flaky", "rate_limit"),
        skipped,
        json!({"type": "run-finished", "passed": 1, "failed": 1, "flaky": 1, "skipped": 1, "harness_failures": 0,
            "interrupted": false, "duration_ms": 3600, "exit_code": 100}),
    ];
    let mut terminal = Terminal::new(Some(columns), verbosity);
    let context = Context::new(folder.path().to_owned());
    let mut out = anstream::StripStream::new(Vec::new());
    for event in events {
        let event: Event = serde_json::from_value(event).unwrap();
        terminal.on_event(&mut out, &event, &context).unwrap();
    }
    let text = String::from_utf8(out.into_inner()).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= columns || is_command(line), "wider than {columns}: {line}");
    }
    text
}

#[test]
fn the_terminal_is_right_at_60_columns() {
    insta::assert_snapshot!(shown(60, Verbosity::Normal));
}

#[test]
fn the_terminal_is_right_at_100_columns() {
    insta::assert_snapshot!(shown(100, Verbosity::Normal));
}

#[test]
fn the_terminal_is_right_at_200_columns() {
    insta::assert_snapshot!(shown(200, Verbosity::Normal));
}

#[test]
fn quiet_tells_failures_and_verbose_tells_what_verdicts_rest_on() {
    let quiet = shown(100, Verbosity::Quiet);
    assert!(!quiet.contains("claude/answers/stream") && quiet.contains("FAIL") && quiet.contains("1 failed"));
    let verbose = shown(100, Verbosity::Verbose);
    assert!(verbose.contains("because no-result") && verbose.contains("recording rec"));
}

/// What a terminal of 60 columns gets, in one go.
fn in_a_terminal(folder: &Path, args: &str, environment: &[(&str, &str)]) -> String {
    let command = format!("stty cols 60 rows 40; exec '{}' {args}", cargo_bin("clawgate").display());
    let mut process = Process::new("script");
    process.current_dir(folder).args(["-qefc", &command, "/dev/null"]).stdin(Stdio::null());
    process.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("GITHUB_ACTIONS");
    process.envs(environment.iter().copied());
    String::from_utf8(process.output().unwrap().stdout).unwrap()
}

#[test]
fn a_terminal_gets_colour_and_progress_that_never_wraps() {
    let folder = folder_with(&[("wrong.toml", WRONG)]);
    let text = in_a_terminal(folder.path(), "run wrong.toml", &[]);
    assert!(text.contains("\u{1b}[1m\u{1b}[31m") && text.contains("FAIL"), "{text:?}");
    // What is running is drawn over, and gone at the end.
    assert!(text.contains("\r0/1 · mine/wrong on reference\u{1b}[K"), "{text:?}");
    for line in text.split(['\n', '\r']) {
        let visible = anstream::adapter::strip_str(line).to_string();
        assert!(is_command(&visible) || visible.chars().count() <= 60, "wider than 60: {visible}");
    }
    let plain = in_a_terminal(folder.path(), "run wrong.toml", &[("NO_COLOR", "1")]);
    assert!(!plain.contains("\u{1b}[1m") && !plain.contains("\u{1b}[3"), "{plain:?}");
    let quiet = in_a_terminal(folder.path(), "run wrong.toml --quiet", &[]);
    assert!(!quiet.contains("0/1 ·"));
}

/// A report without what differs between any two runs: times, folders of shards, room numbers.
fn comparable(folder: &Path, name: &str) -> String {
    let text = read(folder, name);
    let text = regex::Regex::new(r"\b(one|s[123])/").unwrap().replace_all(&text, "OUT/").into_owned();
    let text = regex::Regex::new("clawgate-(room-)?[A-Za-z0-9]{6}\\b")
        .unwrap()
        .replace_all(&text, "ROOM")
        .into_owned();
    let times = r#"\d+(\.\d+)? (ms|s)\b|time="[0-9.]+"|\d{4}-\d\d-\d\dT[0-9:.]+Z"#;
    regex::Regex::new(times).unwrap().replace_all(&text, "TIME").into_owned()
}

#[test]
fn shards_run_apart_and_merged_are_the_report_of_one_run() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let cases = ["claude/answers", "claude/http", "claw/prompt", "--target", "reference,reference+no-result"];
    clawgate(root).arg("run").args(cases).args(["--out", "one"]).assert().code(100);
    let mut shards = Vec::new();
    for part in 1..=3 {
        let mut shard = process(root);
        shard.arg("run").args(cases).args(["--out", &format!("s{part}")]);
        shard.env("CI_NODE_INDEX", part.to_string()).env("CI_NODE_TOTAL", "3");
        shards.push(shard.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }
    for mut shard in shards {
        assert!([0, 100].contains(&shard.wait().unwrap().code().unwrap()));
    }
    let reports = ["junit", "sarif", "markdown", "gitlab"];
    let merge = |folders: &[&str], into: &str| {
        let wishes = reports.iter().flat_map(|kind| ["--report".to_owned(), format!("{kind}={into}.{kind}")]);
        clawgate(root).arg("merge").args(folders).args(wishes).args(["--quiet"]).assert()
    };
    merge(&["one"], "single").code(100);
    merge(&["s3", "s1", "s2"], "merged").code(100).stdout(contains("failed"));
    for kind in reports {
        let (single, merged) =
            (comparable(root, &format!("single.{kind}")), comparable(root, &format!("merged.{kind}")));
        let differing = single.lines().zip(merged.lines()).find(|(one, other)| one != other);
        assert_eq!((differing, single.len()), (None, merged.len()), "{kind}");
    }
    assert!(read(root, "clawgate-merged/last-run.json").contains("claude/http/429"));
    // What is not whole is refused.
    merge(&["s1", "s2"], "x").code(3).stderr(contains("of 3 parts one is missing: 3"));
    merge(&["s1", "s2", "s2", "s3"], "x").code(2).stderr(contains("both part 2 of 3"));
    merge(&["s1", "one"], "x").code(2).stderr(contains("not parts of the same run"));
    merge(&["nowhere"], "x").code(2).stderr(contains("nowhere"));
    let other = ["run", "claw/prompt", "--shard", "3/3", "--out", "other"];
    clawgate(root).args(other).output().unwrap();
    merge(&["s1", "s2", "other"], "x").code(2).stderr(contains("they ran other cases"));
    let events = read(root, "s3/events.ndjson");
    let changed = events.replacen("\"status\":\"pass\"", "\"status\":\"fail\"", 1);
    assert_ne!(changed, events);
    fs::write(root.join("s3/events.ndjson"), changed).unwrap();
    merge(&["s1", "s2", "s3"], "x").code(2).stderr(contains("run-finished counts"));
    let cut = events.trim_end().rsplit_once('\n').unwrap().0;
    fs::write(root.join("s3/events.ndjson"), cut).unwrap();
    merge(&["s1", "s2", "s3"], "x").code(3).stderr(contains("did not finish"));
    fs::write(root.join("s3/events.ndjson"), format!("{cut}\nnonsense\n")).unwrap();
    merge(&["s1", "s2", "s3"], "x").code(2).stderr(contains("events.ndjson:"));
}

#[test]
fn parts_that_are_cut_by_durations_are_balanced_and_whole() {
    let folder = TempDir::new().unwrap();
    let durations = json!({"cases": [
        {"target": "reference", "case": "claude/http/429", "status": "pass", "duration_ms": 9000},
        {"target": "reference", "case": "claude/http/500", "status": "pass", "duration_ms": 10},
    ]});
    fs::write(folder.path().join("d.json"), durations.to_string()).unwrap();
    let listed = |part: &str| -> Vec<String> {
        let mut command = clawgate(folder.path());
        command.args(["run", "claude/http", "--list", "--format", "json"]);
        command.args(["--durations", "d.json", "--shard", part]);
        said(&mut command).1.iter().map(|case| case["case"].to_string()).collect()
    };
    let (one, two) = (listed("1/2"), listed("2/2"));
    let slow = if one.contains(&"\"claude/http/429\"".to_owned()) { &one } else { &two };
    assert_eq!(slow.len(), 1, "the slow case is a part of its own: {one:?} {two:?}");
    let mut all = [one.clone(), two].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 14);
    fs::write(folder.path().join("empty.json"), "{}").unwrap();
    clawgate(folder.path())
        .args(["run", "--list", "--durations", "empty.json", "--shard", "1/2"])
        .assert()
        .code(2)
        .stderr(contains("holds no durations"));
}

/// Shards as files, and what may have become of them on the way.
#[test]
fn parts_that_are_damaged_unfinished_or_overwritten_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    // More parts than cases: those without a case are parts all the same, and no success by themselves.
    for part in 1..=5 {
        let shard = format!("{part}/5");
        clawgate(root)
            .args(["run", "claude/answers", "-q", "--shard", &shard, "--out", &format!("s{part}")])
            .assert()
            .success();
    }
    let empty = (1..=5).find(|part| !read(root, &format!("s{part}/events.ndjson")).contains("case-finished"));
    let empty = format!("s{}", empty.unwrap());
    let merge = |args: &[&str]| clawgate(root).args(["merge", "-q"]).args(args).assert();
    merge(&["."]).success().stdout(contains("3 passed"));
    // What it wrote itself is no part of the next.
    merge(&["."]).success().stdout(contains("3 passed"));
    merge(&["s1", "s2", "s3", "s4", "s5", "--out", "s1"])
        .code(2)
        .stderr(contains("--out names another folder"));
    assert!(!root.join("s1/junit.xml").exists() && read(root, "s1/events.ndjson").contains("\"of\":5"));
    let others: Vec<String> = (1..=5).map(|part| format!("s{part}")).filter(|part| *part != empty).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    merge(&others).code(3).stderr(contains("one is missing"));
    merge(&["nowhere"]).code(2).stderr(contains("nowhere"));
    fs::create_dir(root.join("bare")).unwrap();
    merge(&["bare"]).code(2).stderr(contains("name the --out folders of the runs"));
    let whole = read(root, "s1/events.ndjson");
    for (text, code, reason) in [
        (&whole[..whole.len() - 30], 3, "s1: the run did not finish"),
        (&whole[..=whole.find('\n').unwrap()], 3, "s1: the run did not finish"),
        ("", 3, "s1: the run did not finish"),
        ("garbage\n", 2, "s1/events.ndjson:1: not an event of a run"),
        ("{\"type\":\"run-finished\"}\n", 2, "the first event is not run-started"),
        (&format!("{whole}{whole}"), 2, "an event after the last one"),
    ] {
        fs::write(root.join("s1/events.ndjson"), text).unwrap();
        merge(&["s1", "s2", "s3", "s4", "s5"]).code(code).stderr(contains(reason));
    }
    fs::write(root.join("s1/events.ndjson"), b"\xff\xfe\n").unwrap();
    merge(&["s1", "s2", "s3", "s4", "s5"]).code(2).stderr(contains("s1/events.ndjson:1"));
}
