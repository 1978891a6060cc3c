//! What every report tells of a failure: which command to mend, how it ended, what it complained of, and how to mend it.

use std::fs;
use std::path::Path;
use std::process::Command as Process;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{clawgate, corpus, said};
use crate::files::read_json;
use crate::run::failing_run;
use crate::support::json_lines;

/// A claw that prints one envelope over many lines, without what the contract asks for, complains on twelve lines and
/// exits with 0.
fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let envelope =
        json!({"kind": "unknown_option", "error": "no such thing", "hint": null, "list": [1, 2, 3]});
    let script = format!(
        "#!/bin/sh\ncat <<'END'\n{envelope:#}\nEND\nfor i in 1 2 3 4 5 6 7 8 9 10 11; do echo complaint $i >&2; done\n\
         printf '\\033[31m::error::owned\\033]0;x\\007 ##[error]owned <script>owned</script> ]]>\\n' >&2\n"
    );
    fs::write(root.join("draft"), script).unwrap();
    // By another process: a file that this one has open for writing cannot be run, and its other threads fork.
    let args = [Path::new("--mode=755"), &root.join("draft"), &root.join("claw.sh")];
    assert!(Process::new("install").args(args).status().unwrap().success());
    let target = format!(
        "[target]\nname = \"mine\"\ndescription = \"x\"\nprogram = '{}/claw.sh'\n[env]\nPATH = \"/usr/bin:/bin\"\nMODE = \"two words\"\n\
         [[speaks]]\ncontract = \"claw-flat\"\nargs = [\"--output-format\", \"json\"]\n",
        root.display()
    );
    fs::write(root.join("mine.toml"), target).unwrap();
    let scenario = "[scenario]\nname = \"mine/pretty\"\ndescription = \"x\"\ncontract = \"claw-flat\"\n\
         [run]\nargs = [\"show\", \"it's\", \"a\\nb \\u001b[31m ##[x]\"]\n[expect]\nverdict = \"usage\"\nexit = 1\n";
    fs::write(root.join("pretty.toml"), scenario).unwrap();
    folder
}

fn run(args: &[&str]) -> (TempDir, String) {
    failing_run(project(), ["pretty.toml", "--target", "mine.toml"], args)
}

/// The command line after the program, as bash reads it.
const COMMAND: &str = r"/claw.sh show 'it'\''s' $'a\nb \x1b[31m #\x23[x]' --output-format json";

/// How each command begins: whoever pastes it asks no real API with a key of his.
const SAFE: &str = "command: room=$(mktemp -d) && env -i HOME=";

/// What each report has to say; `decoded` is the report without the escapes of its format.
fn assert_told(decoded: &str) {
    for wanted in [
        "MODE='two words' ",
        COMMAND,
        "exit code 0",
        "complaint 4",
        "complaint 11",
        "Build every error through the one function",
        "clawgate explain claw-flat/error-fields",
        "Derive the exit code from the envelope",
        "the exit code is 0, expected another",
    ] {
        assert!(decoded.contains(wanted), "no {wanted} in:\n{decoded}");
    }
    for hidden in ['\u{1b}', '\u{7}'] {
        assert!(!decoded.contains(hidden), "{hidden:?} survives");
    }
    assert!(!decoded.contains("##["), "a command to a CI system survives");
}

/// Only the last ten lines are told where the whole of standard error is not.
fn assert_last_ten(told: &str) {
    let has = |line: &str| told.lines().any(|known| known.ends_with(line));
    assert!(has("complaint 3") && !has("complaint 2"), "{told}");
}

#[test]
fn the_terminal_and_annotations_say_which_command_to_mend() {
    let (folder, stdout) = run(&["--report", "terminal", "--report", "github"]);
    assert_told(&stdout);
    let (annotation, terminal): (Vec<&str>, Vec<&str>) =
        stdout.lines().partition(|line| line.starts_with("::error "));
    let terminal = terminal.join("\n");
    assert_told(&terminal);
    assert_last_ten(&terminal);
    assert_eq!(annotation.len(), 1);
    assert!(terminal.lines().all(|line| !line.trim_start().starts_with("::")), "{terminal}");
    assert_told(&annotation[0].replace("%0A", "\n").replace("%25", "%"));
    // A document is shown by the value, and never as its first line.
    assert!(!terminal.contains("│ {"), "{terminal}");
    assert!(terminal.contains(r#"seen: {"kind":"unknown_option","error":"no"#), "{terminal}");
    let summary = fs::read_to_string(folder.path().join("summary.md")).unwrap();
    assert!(!summary.contains("<script") && !summary.contains("::error"));
    assert_told(&plain(&summary));
}

/// Markdown, HTML or XML without its entities.
fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for code in 33..127_u8 {
        text = text.replace(&format!("&#{code};"), &char::from(code).to_string());
    }
    for (name, character) in [("lt", "<"), ("gt", ">"), ("quot", "\""), ("amp", "&")] {
        text = text.replace(&format!("&{name};"), character);
    }
    text
}

#[test]
fn reports_in_files_say_which_command_to_mend() {
    let reports =
        ["junit=j.xml", "sarif=s.sarif", "gitlab=g.json", "markdown=m.md", "html=r.html", "json=e.ndjson"];
    let wishes: Vec<&str> = reports.iter().flat_map(|wish| ["--report", wish]).collect();
    let (folder, _) = run(&wishes);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    for name in ["j.xml", "m.md", "r.html"] {
        assert_told(&plain(&read(name)));
    }
    assert!(quick_junit::Report::deserialize_from_str(&read("j.xml")).is_ok());
    assert!(!read("m.md").contains("<script") && read("r.html").matches("<script").count() == 1);
    let sarif: Value = read_json(folder.path().join("s.sarif"));
    let results = sarif["runs"][0]["results"].as_array().unwrap().iter();
    let texts: Vec<&str> = results
        .filter(|result| result["level"] == "error")
        .map(|result| result["message"]["text"].as_str().unwrap())
        .collect();
    assert!(texts.len() >= 3);
    for text in &texts {
        assert!(!text.replace("\\[", "").contains('['), "a link: {text}");
        assert!(
            text.contains(SAFE) && text.contains("MODE='two words' ") && text.contains("complaint 11"),
            "{text}"
        );
    }
    assert_told(&texts.join("\n").replace("\\[", "[").replace("\\]", "]"));
    let gitlab: Value = read_json(folder.path().join("g.json"));
    let issues = gitlab.as_array().unwrap();
    let failing = issues.iter().filter(|issue| issue["severity"] == "critical");
    let bodies: Vec<String> = failing
        .map(|issue| {
            let description = issue["description"].as_str().unwrap();
            assert!(
                description.contains(SAFE)
                    && description.contains("MODE='two words' ")
                    && !description.contains('\n')
            );
            format!("{description}\n{}", plain(issue["content"]["body"].as_str().unwrap()))
        })
        .collect();
    assert_told(&bodies.join("\n"));
    let events = json_lines(read("e.ndjson"));
    let case = events.iter().find(|event| event["type"] == "case-finished").unwrap();
    let process = &case["process"];
    assert!(process["command"].as_str().unwrap().ends_with(COMMAND));
    assert_eq!((&process["exit_code"], &process["exit"]), (&json!(0), &json!("exit code 0")));
    assert_eq!((process["stderr"].as_array().unwrap().len(), &process["more_stderr"]), (10, &json!(true)));
    assert_told(&format!("{case:#}").replace("\\\\", "\\"));
}

#[test]
fn a_document_over_many_lines_is_one_thing_in_html() {
    let (folder, _) = run(&["--report", "html=r.html"]);
    let text = fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(!text.contains("not JSON"));
    let chips = text.matches("class=\"chip ").count();
    assert_eq!(chips, 1, "a chip for the document, none for its lines");
}

#[test]
fn judge_says_which_command_to_mend_and_points_into_the_document() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("kept");
    fs::create_dir(&place).unwrap();
    let from = corpus("claw-py-71830d7d/list-sessions");
    fs::copy(from.join("recording.json"), place.join("recording.json")).unwrap();
    // As the program prints it when it is not asked for one line.
    let envelope: Value = read_json(from.join("stdout"));
    fs::write(place.join("stdout"), format!("{envelope:#}\n")).unwrap();
    fs::write(place.join("stderr"), "one\n\u{1b}[31m::error::two\n").unwrap();
    let output = clawgate(folder.path()).args(["judge", "kept"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(100), "{text}");
    for wanted in [
        "  command   room=$(mktemp -d) && env -i HOME=\"$room\" PATH=\"$PATH\" claw list-sessions --output-format json\n",
        "  ended     exit code 0\n",
        "  stderr    │ one\n            │ \\u{1b}[31m::error::two\n",
        "must      claw-1.0/session-object /sessions/0 is a string, expected an object\n",
        "\n            clawgate explain claw-1.0/session-object\n",
    ] {
        assert!(text.contains(wanted), "no {wanted} in:\n{text}");
    }
    assert!(!text.contains("line 1"), "{text}");
    // Of a bare file only what was said of it is known.
    fs::write(folder.path().join("e.txt"), "why\n").unwrap();
    let args = ["judge", "kept/stdout", "--contract", "claw-1.0", "--exit-code", "3", "--stderr", "e.txt"];
    let output = clawgate(folder.path()).args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("  ended     exit code 3\n  stderr    │ why\n") && !text.contains("command "),
        "{text}"
    );
}

/// A file that an earlier clawgate wrote has neither process nor clauses; the catalogue helps out.
#[test]
fn events_of_an_earlier_version_are_still_told_with_what_is_known() {
    let (folder, _) = run(&["-q"]);
    let file = folder.path().join("clawgate-out/events.ndjson");
    let mut events = json_lines(fs::read_to_string(&file).unwrap());
    for event in &mut events {
        for field in ["process", "clauses"] {
            event.as_object_mut().unwrap().remove(field);
        }
    }
    let text: Vec<String> = events.iter().map(Value::to_string).collect();
    fs::write(&file, text.join("\n")).unwrap();
    let mut merge = clawgate(folder.path());
    let output = merge.args(["merge", "clawgate-out", "-q"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("clawgate explain claw-flat/error-fields"), "{stdout}");
    assert!(stdout.contains("Build every error through the one function") && !stdout.contains("command:"));
    // A case that passed says nothing of its process.
    let mut passing = clawgate(folder.path());
    let (_, lines) = said(passing.args(["run", "claude/answers/stream", "--format", "json"]));
    assert!(lines.iter().all(|event| event.get("process").is_none() && event.get("clauses").is_none()));
}
