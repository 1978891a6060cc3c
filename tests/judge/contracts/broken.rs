//! A broken contract of a user is an error with file, line and reason, never a panic or a hang.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use predicates::prelude::*;

use crate::command::{ROOT, clawgate, said};
use crate::files::folder_with;

const CONTRACT: &str = r#"[contract]
name = "mine"
title = "my own"
protocol = "document"

[[kind]]
name = "answer"
when = { "/message" = { present = true } }

[[clause]]
id = "shape"
level = "must"
source = "me"
since = "1"
check = { schema = "answer.schema.json", on = "answer" }
text = "It has a message."
why = "Readers."
fix = "Print it."
"#;

const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["message"],
  "properties": {
    "message": { "type": "string" }
  }
}
"#;

/// A directory with the contract `mine` in it.
fn directory(contract: &str, schema: &str) -> tempfile::TempDir {
    folder_with(&[("mine/contract.toml", contract), ("mine/answer.schema.json", schema)])
}

/// Shows the contract and answers with the complaint.
fn complaint(contract: &str, schema: &str) -> String {
    let directory = directory(contract, schema);
    let start = Instant::now();
    let output = clawgate(directory.path().join("mine"))
        .args(["contract", "show", "."])
        .timeout(Duration::from_secs(60))
        .output()
        .unwrap();
    assert!(start.elapsed() < Duration::from_secs(30), "it hangs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}{}", String::from_utf8_lossy(&output.stdout));
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// Whether a complaint names the file and line, and says what is wrong there.
fn says(text: &str, wanted: &str) -> bool {
    match wanted.split_once(": ") {
        Some((line, reason)) => text.contains(&format!("{line}:")) && text.contains(reason),
        None => text.contains(wanted),
    }
}

#[test]
fn a_complaint_about_a_contract_points_into_it() {
    let text = complaint(&CONTRACT.replace("on = \"answer\"", "on = \"answr\""), SCHEMA);
    let (_, shown) = text.split_once("contract.toml").unwrap();
    let line = CONTRACT.lines().nth(14).unwrap().replace("\"answer\"", "\"answr\"");
    let column = line.find("\"answr\"").unwrap();
    let marker = " ".repeat(column) + "^^^^^^^";
    let headline =
        format!(":15:{}: no kind `answr`, did you mean `answer`? (at clause[0].check.on)", column + 1);
    assert_eq!(shown.trim_end(), format!("{headline}\n   |\n15 | {line}\n   | {marker}"));
}

#[test]
fn a_good_contract_of_a_user_works() {
    let directory = directory(CONTRACT, SCHEMA);
    for path in [".", "contract.toml", "./contract.toml"] {
        let mut command = clawgate(directory.path().join("mine"));
        command
            .args(["contract", "show", path])
            .assert()
            .success()
            .stdout(predicate::str::contains("It has a message."));
    }
}

#[test]
fn complaints_about_contract_files_name_the_line() {
    let swap = |from: &str, to: &str| {
        assert!(CONTRACT.contains(from), "{from}");
        complaint(&CONTRACT.replace(from, to), SCHEMA)
    };
    for (from, to, wanted) in [
        ("title = \"my own\"", "title = = 1", "contract.toml:3: "),
        ("title = \"my own\"", "titel = \"my own\"", "contract.toml:1: missing key `title`"),
        (
            "protocol = \"document\"",
            "protocol = \"xml\"",
            "contract.toml:4: `xml` is none of document, stream",
        ),
        (
            "level = \"must\"",
            "level = \"always\"",
            "contract.toml:12: a level is must, should, note or ambiguous",
        ),
        ("why = \"Readers.\"", "reason = \"x\"\nwhy = \"y\"", "contract.toml:17: unknown key `reason`"),
        ("on = \"answer\"", "on = \"answr\"", "contract.toml:15: no kind `answr`, did you mean `answer`?"),
        (
            "answer.schema.json",
            "answers.schema.json",
            "contract.toml:15: no file `answers.schema.json`, did you mean",
        ),
        (
            "answer.schema.json",
            "answer.schema.json#/$defs/x",
            "contract.toml:15: `answer.schema.json` has nothing at",
        ),
        (
            "{ schema = \"answer.schema.json\", on = \"answer\" }",
            "{ rule = \"implise\" }",
            "contract.toml:15: unknown rule `implise`, did you mean `implies`?",
        ),
        (
            "{ schema = \"answer.schema.json\", on = \"answer\" }",
            "{ rule = \"matches\", at = \"/a\", regex = \"(a{1000}){1000}{1000}\" }",
            "contract.toml:15: the regular expression does not compile",
        ),
        (
            "{ schema = \"answer.schema.json\", on = \"answer\" }",
            "{ rule = \"matches\", at = \"/a\", regex = \"(?<=x)a\" }",
            "contract.toml:15: the regular expression does not compile",
        ),
        (
            "{ schema = \"answer.schema.json\", on = \"answer\" }",
            "{ rule = \"implies\", then = { exti = 0 } }",
            "contract.toml:15: `exti` is neither a pointer nor a fact, did you mean `exit`?",
        ),
        (
            "{ schema = \"answer.schema.json\", on = \"answer\" }",
            "{ rule = \"one-of\", at = \"/a\" }",
            "contract.toml:15: `one-of` needs either",
        ),
        ("id = \"shape\"", "id = \"The Shape\"", "contract.toml:11: `The Shape` is no id"),
        (
            "when = { \"/message\"",
            "when = { \"message\"",
            "contract.toml:8: `message` is neither a pointer nor a fact",
        ),
    ] {
        let text = swap(from, to);
        assert!(says(&text, wanted), "{wanted}\n{text}");
    }
    let twice = format!("{CONTRACT}\n{}", &CONTRACT[CONTRACT.find("[[clause]]").unwrap()..]);
    assert!(says(&complaint(&twice, SCHEMA), "contract.toml:21: the clause `shape` is already on line 10"));
    assert!(complaint("", SCHEMA).contains("missing key `contract`"));
    assert!(complaint("\u{0}\u{1}", SCHEMA).contains("contract.toml:1:"));
    let deep = format!("{CONTRACT}\n[detect]\nwhen = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert!(complaint(&deep, SCHEMA).contains("contract.toml:"));
}

#[test]
fn complaints_about_schemas_name_file_and_line() {
    let swap = |from: &str, to: &str| complaint(CONTRACT, &SCHEMA.replace(from, to));
    for (from, to, wanted) in [
        ("\"type\": \"object\",", "\"type\": \"object\"", "answer.schema.json:3: not JSON"),
        ("\"type\": \"string\"", "\"type\": \"sting\"", "answer.schema.json:5: not a schema"),
        (
            "\"type\": \"string\"",
            "\"$ref\": \"#/$defs/nowhere\"",
            "answer.schema.json:5: `#/$defs/nowhere` leads to nothing",
        ),
        (
            "\"type\": \"string\"",
            "\"$ref\": \"https://example.org/x.json\"",
            "answer.schema.json:5: `https://example.org/x.json` leads to nothing",
        ),
        ("\"type\": \"string\"", "\"$ref\": \"file:///etc/passwd\"", "leads to nothing in this contract"),
        ("\"type\": \"string\"", "\"pattern\": \"(?<=x)a\"", "answer.schema.json:5: not a schema"),
        (
            "\"type\": \"string\"",
            "\"pattern\": \"((a{1000}){1000}){100}\"",
            "answer.schema.json:5: not a schema",
        ),
        ("\"type\": \"string\"", "\"format\": \"telephone\"", "answer.schema.json"),
        ("\"type\": \"string\"", "\"multipleOf\": 0", "answer.schema.json:5: not a schema"),
    ] {
        let text = swap(from, to);
        assert!(says(&text, wanted), "{wanted}\n{text}");
    }
    let deep = format!("{}{}", "{\"not\":".repeat(20_000), "}".repeat(20_000));
    assert!(says(&complaint(CONTRACT, &deep), "answer.schema.json:1: not JSON: recursion limit"));
}

#[test]
fn a_schema_that_would_take_forever_is_refused() {
    let mut definitions = String::new();
    for level in 0..40 {
        let next = level + 1;
        let _ = writeln!(
            definitions,
            "\"d{level}\": {{\"allOf\": [{{\"$ref\": \"#/$defs/d{next}\"}}, {{\"$ref\": \"#/$defs/d{next}\"}}]}},"
        );
    }
    let schema = format!(
        "{{\"$ref\": \"#/$defs/d0\", \"$defs\": {{\n{definitions}\"d40\": {{\"type\": \"object\"}}}}}}"
    );
    assert!(complaint(CONTRACT, &schema).contains("checks one value against more than 10000 schemas"));
    let own_tail =
        r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}"##;
    let directory = directory(CONTRACT, own_tail);
    // A cycle promises nothing; it must only not hang.
    let mut command = clawgate(directory.path().join("mine"));
    let output = command.args(["contract", "show", "."]).timeout(Duration::from_secs(30)).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
}

#[test]
fn a_contract_that_is_not_there_is_one_sentence() {
    for (name, wanted) in [
        ("claw-flta", "did you mean `claw-flat`?"),
        ("/nonexistent/x", "neither a built-in contract nor a directory"),
    ] {
        let mut command = clawgate(ROOT);
        command.args(["contract", "show", name]).assert().code(2).stderr(predicate::str::contains(wanted));
    }
    let mut command = clawgate(ROOT);
    command.args(["contract", "show"]).arg(Path::new(ROOT).join("src"));
    command.assert().code(2).stderr(predicate::str::contains("no contract.toml in this directory"));
}

#[test]
fn regression_a_contract_that_extends_nothing_known_was_an_error_without_its_place() {
    let extending = |parent: &str| {
        let head = format!("protocol = \"document\"\nextends = [{parent:?}]\n");
        directory(&CONTRACT.replacen("protocol = \"document\"\n", &head, 1), SCHEMA)
    };
    let judge = |directory: &tempfile::TempDir| {
        fs::write(directory.path().join("a.json"), "{\"message\":\"hi\"}\n").unwrap();
        clawgate(directory.path()).args(["judge", "a.json", "--contract", "./mine"]).assert()
    };
    let complaint = "mine/contract.toml:5:11: extends `nope`: neither a built-in contract nor a directory";
    judge(&extending("nope")).code(2).stderr(predicate::str::contains(complaint));
    judge(&extending("claw-stdout")).code(0);
}

#[test]
fn regression_a_contract_whose_name_is_not_its_directorys_was_taken() {
    let text = complaint(&CONTRACT.replacen("name = \"mine\"", "name = \"yours\"", 1), SCHEMA);
    assert!(
        text.contains("contract.toml:2:8: a contract has the name of its directory, which is `mine`"),
        "{text}"
    );
    // An old version that stands aside is compared all the same.
    let (old, new) = (directory(CONTRACT, SCHEMA), directory(CONTRACT, SCHEMA));
    let aside = old.path().join("mine.old");
    fs::rename(old.path().join("mine"), &aside).unwrap();
    let mut command = clawgate(ROOT);
    command.args(["contract", "diff"]).arg(aside).arg(new.path().join("mine"));
    command.assert().success();
}

/// A contract that includes `mine`, with these lines in its `[include]`.
fn including(more: &str) -> String {
    format!(
        "[contract]\nname = \"next\"\ntitle = \"the next\"\nprotocol = \"document\"\n\n[include]\n{more}\n"
    )
}

#[test]
fn a_contract_that_includes_another_says_only_what_is_different() {
    let own = "\n[[clause]]\nid = \"shape\"\nlevel = \"note\"\nsource = \"me\"\nsince = \"2\"\n\
               check = { schema = \"answer.schema.json\", on = \"answer\" }\ntext = \"It may have a message.\"\n\
               why = \"Readers.\"\nfix = \"Print it.\"\n";
    let next = including("contract = \"mine\"") + own;
    let folder = folder_with(&[
        ("mine/contract.toml", CONTRACT),
        ("mine/answer.schema.json", SCHEMA),
        ("same/contract.toml", &including("contract = \"mine\"").replace("\"next\"", "\"same\"")),
        ("next/contract.toml", &next),
        ("run.json", "{\"message\": 3}\n"),
    ]);
    let judged = |contract: &str| {
        let path = folder.path().join(contract);
        let output = clawgate(folder.path())
            .args(["judge", "run.json", "--format", "json", "--contract"])
            .arg(path)
            .output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    };
    let same = judged("same");
    assert!(same.contains("\"same/shape\"") && same.contains("\"level\":\"must\""), "{same}");
    let next = judged("next");
    assert!(next.contains("\"next/shape\"") && !next.contains("\"level\":\"must\""), "{next}");
}

#[test]
fn a_contract_can_take_over_a_section_alone() {
    let volatile = "\n[[volatile]]\nas = \"ms\"\nfields = [\"took\"]\n";
    let clause = &CONTRACT[CONTRACT.find("[[kind]]").unwrap()..];
    let folder = folder_with(&[
        ("mine/contract.toml", &format!("{CONTRACT}{volatile}")),
        ("mine/answer.schema.json", SCHEMA),
        (
            "next/contract.toml",
            &format!("{}{clause}", including("contract = \"mine\"\nonly = [\"volatile\"]")),
        ),
        ("next/answer.schema.json", SCHEMA),
        (
            "bare/contract.toml",
            &including("contract = \"mine\"\nonly = [\"volatile\"]").replace("next", "bare"),
        ),
    ]);
    let shown = |contract: &str| {
        let (code, lines) =
            said(clawgate(folder.path()).args(["contract", "show", contract, "--format", "json"]));
        assert_eq!(code, Some(0), "{lines:?}");
        lines
    };
    assert_eq!(shown("./next")[0]["volatile"], shown("./mine")[0]["volatile"]);
    // Clauses are not taken over, nor are files.
    let bare = clawgate(folder.path()).args(["contract", "show", "./bare"]).assert().code(2);
    bare.stderr(predicate::str::contains("a contract needs at least one"));
}

#[test]
fn what_is_wrong_with_an_include_is_said_at_its_line() {
    let of = |more: &str, mine: &str| {
        let folder = folder_with(&[
            ("mine/contract.toml", mine),
            ("mine/answer.schema.json", SCHEMA),
            ("next/contract.toml", &including(more)),
        ]);
        let output = clawgate(folder.path()).args(["contract", "show", "./next"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = of("contract = \"yours\"", CONTRACT);
    assert!(
        says(&text, "next/contract.toml:7: includes `yours`: neither a built-in contract nor a directory"),
        "{text}"
    );
    let text = of("contract = \"mine\"\nwithout = [\"shap\"]", CONTRACT);
    assert!(says(&text, "next/contract.toml:8: the contract that is included has no such clause"), "{text}");
    let text = of("contract = \"mine\"\nonly = [\"volatil\"]", CONTRACT);
    assert!(
        says(&text, "next/contract.toml:8: the contract that is included has no section `volatil`"),
        "{text}"
    );
    // Two that include each other would go on for ever.
    let text = of("contract = \"mine\"", &format!("{CONTRACT}\n[include]\ncontract = \"next\"\n"));
    assert!(says(&text, "next/contract.toml:7: `mine` itself includes another contract"), "{text}");
    let text = of("contract = \"mine\"\nwithuot = []", CONTRACT);
    assert!(says(&text, "next/contract.toml:8: unknown key `withuot`, did you mean `without`?"), "{text}");
}
