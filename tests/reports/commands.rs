//! What a CI system or a terminal would obey, in everything that a target, an API or a recording controls: no command
//! lets it through in any of its formats, and what programs read keeps its value.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::clawgate;
use crate::files::write;

/// Long enough to be broken into lines, with a command wherever a line may begin.
fn hostile() -> String {
    let words = "::error::owned ##[error]owned ##vso[task.setvariable]owned ##teamcity[owned] ".repeat(8);
    format!(
        "\u{9b}31m\u{202e}\u{2066}\u{200b}\u{1b}[31m{words}\n::stop-commands::owned\r\n  ::error::owned\u{7f}"
    )
}

/// A recording of a stream, one of a document, an event log and a scenario that are hostile in every text.
fn project() -> TempDir {
    let (folder, evil) = (TempDir::new().unwrap(), hostile());
    let root = folder.path();
    let facts = |contract: &str| {
        json!({"schema_version": 1, "target": evil, "target_version": evil, "scenario": evil, "argv": ["x", evil],
            "exit": {"code": 1}, "contract": contract, "files": [{"path": evil}],
            "leftovers": [{"pid": 1, "command": evil}], "requests": [{"path": evil, "unmatched": {"because": [evil]}}]})
    };
    let stream = [
        json!({"type": "system", "subtype": "init", "session_id": evil, "model": evil, "tools": [evil], "cwd": evil}),
        json!({"type": evil, evil.clone(): evil}),
        json!({"type": "assistant", "message": {"role": evil, "content": [{"type": "text", "text": evil},
            {"type": "tool_use", "name": evil, "id": evil, "input": {evil.clone(): evil}}]}}),
        json!({"type": "result", "subtype": evil, "is_error": true, "result": evil, "errors": [evil], "num_turns": evil}),
    ];
    let lines: Vec<String> = stream.iter().map(Value::to_string).collect();
    // As the program printed it, and not as JSON escapes it.
    let text = format!("{}\n{}\n{}\n", lines.join("\n"), evil, lines[3].replace("\\u001b", "\u{1b}"));
    for (name, contract) in [("a", "claude-stream-json"), ("b", "claude-json")] {
        write(root, &format!("{name}/recording.json"), facts(contract).to_string());
        write(root, &format!("{name}/stdout"), if name == "a" { text.clone() } else { lines[3].clone() });
        write(root, &format!("{name}/stderr"), format!("{evil}\n::error::owned\n"));
    }
    write(root, "old/case.ndjson", &text);
    write(root, "new/case.ndjson", format!("{}\n{text}", lines[1].replace("owned", "owned more")));
    let event = json!({"topic": evil, "id": evil, "time": "2026-01-01T00:00:00Z", "from": evil, "payload": {"message": evil, evil.clone(): 1}});
    let joined = json!({"topic": "peer/joined", "id": "2", "time": "2026-01-01T00:00:01Z", "from": evil,
        "payload": {"role": evil, "name": evil, "mission": evil}});
    write(root, "log.jsonl", format!("{event}\n{joined}\n{evil}\n"));
    let known = format!(
        "[[known-failure]]\nclause = \"claude-stream-json/known-kinds\"\ncase = \"*\"\nreason = {}\n",
        toml(&evil)
    );
    write(root, "known.toml", known);
    let scenario = format!(
        "[scenario]\nname = \"mine/evil\"\ndescription = {0}\ncontract = \"claude-stream-json\"\n[run]\nprompt = {0}\n\
         [expect]\nverdict = \"limit\"\nstdout_contains = {0}\n[[api.turns]]\ntext = {0}\n",
        toml(&evil)
    );
    write(root, "evil.toml", scenario);
    folder
}

/// As a basic string of TOML.
fn toml(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", c as u32),
        c => c.into(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Nothing in a text may be obeyed. GitHub's own report may begin lines with its three commands.
fn assert_obeyed_by_nobody(what: &str, text: &str, is_github: bool) {
    for line in text.lines() {
        let start = line.trim_start();
        let is_ours = is_github
            && ["::error ", "::warning ", "::notice "].iter().any(|command| line.starts_with(command));
        assert!(!start.starts_with("::") || is_ours, "{what}: {line}");
        for command in ["##[", "##vso[", "##teamcity["] {
            assert!(!line.contains(command), "{what}: {command} in {line}");
        }
        let hidden = line.chars().find(|c| c.is_control() || "\u{202e}\u{2066}\u{200b}".contains(*c));
        assert_eq!(hidden, None, "{what}: {line}");
    }
}

fn run(root: &Path, args: &[&str]) -> String {
    let output = clawgate(root).args(args).env("COLUMNS", "60").output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_ne!(output.status.code(), Some(101), "{err}");
    assert_obeyed_by_nobody(&format!("{args:?}"), &out, args.contains(&"--report=github"));
    assert_obeyed_by_nobody(&format!("stderr of {args:?}"), &err, false);
    assert!(out.contains("owned") || err.contains("owned"), "{args:?} says nothing of it: {out}{err}");
    out
}

#[test]
fn no_command_passes_on_what_a_terminal_or_a_ci_system_obeys() {
    let folder = project();
    let root = folder.path();
    let evil = hostile();
    let mut shown = String::new();
    for args in [
        &["judge", "a"][..],
        &["judge", "b"],
        &["judge", "old/case.ndjson", "--stderr=a/stderr", "--exit-code=1"],
        &["judge", "a", "--known-failures=known.toml"],
        &["judge", "log.jsonl", "--contract=claws-events"],
        &["diff", "old", "new"],
        &["diff", "a", "b"],
        &["diff", "old", "new", "--format=markdown"],
        &["events", "timeline", "log.jsonl"],
        &["events", "watch", "log.jsonl", "--all", "--for=0.2"],
        &["contract", "learn", "old/case.ndjson", "--out=learned"],
        &["run", "evil.toml", "--out=out", "-v"],
        &["run", "evil.toml", "--out=out", "--report=github"],
        &["run", "evil.toml", "--out=out", "--report=junit=-"],
        &["run", "evil.toml", "--out=out", "--report=markdown=-"],
        &["run", "evil.toml", "--out=out", "--report=html=-"],
        &["run", "evil.toml", "--list"],
        // What a script passes on of what it found.
        &["record", "--name", evil.as_str(), "--", "true"],
        &[evil.as_str()],
    ] {
        shown += &run(root, args);
    }
    assert!(shown.contains(": :error") && shown.contains("# #[error]"), "{shown}");
}

#[test]
fn json_of_every_command_is_obeyed_by_nobody_and_keeps_its_values() {
    let folder = project();
    let root = folder.path();
    let evil = hostile();
    for args in [
        &["judge", "a", "--format=json"][..],
        &["judge", "b", "--format=json"],
        &["judge", "old/case.ndjson", "--format=json"],
        &["judge", "log.jsonl", "--contract=claws-events", "--format=json"],
        &["diff", "old", "new", "--format=json"],
        &["events", "timeline", "log.jsonl", "--format=json"],
        &["events", "watch", "log.jsonl", "--all", "--for=0.2", "--format=json"],
        &["run", "evil.toml", "--out=out", "--format=json"],
        &["run", "evil.toml", "--out=out", "--report=sarif=-"],
        &["run", "evil.toml", "--out=out", "--report=gitlab=-"],
        &["run", "evil.toml", "--list", "--format=json"],
    ] {
        let out = run(root, args);
        let documents: Vec<Value> = serde_json::Deserializer::from_str(&out)
            .into_iter()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{args:?}: {error}"));
        // SARIF and GitLab are read by people.
        if !args.iter().any(|arg| arg.starts_with("--report")) && args[0] != "events" {
            let texts = documents.iter().flat_map(texts).filter(|text| text.contains('\u{9b}')).count();
            assert!(texts > 0, "{args:?} changed what it says: {out}");
        }
        assert!(!documents.is_empty());
    }
    let out = run(root, &["judge", "b", "--format=json"]);
    let judged: Value = serde_json::from_str(&out).unwrap();
    let begins: String = evil.chars().take(60).collect();
    assert!(texts(&judged).any(|text| text.contains(&begins)), "{judged}");
    let text = fs::read_to_string(root.join("out/reference/mine/evil/recording.json")).unwrap();
    assert!(text.contains("owned"), "{text}");
}

/// Every text in a value.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(texts)),
        Value::Object(members) => Box::new(
            members.iter().flat_map(|(name, value)| std::iter::once(name.as_str()).chain(texts(value))),
        ),
        _ => Box::new(std::iter::empty()),
    }
}
