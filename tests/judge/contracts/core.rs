//! `agent-core`: what an agent with no more than the documented fields keeps, and what it does not.

use std::fs;

use clawgate::internals::schema::bundle;
use clawgate::schema::{Contract, Level};
use tempfile::TempDir;

use crate::command::{clawgate, said};

/// The messages of the stream document, with no other fields than it names.
const MINIMAL: &str = r#"{"type":"system","subtype":"init","session_id":"abc123","cwd":"/tmp/work"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Here are 5 venues near you..."},{"type":"tool_use","id":"toolu_01","name":"WebSearch","input":{"query":"parks"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"none"}]}}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}
{"type":"result","subtype":"success","is_error":false,"usage":{"input_tokens":1423,"output_tokens":512}}
"#;

/// How `judge` ends, and how many must clauses are broken.
fn judged(stream: &str, contract: &str, exit: &str) -> (Option<i32>, usize) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("run.ndjson"), stream).unwrap();
    let args = ["judge", "run.ndjson", "--exit-code", exit, "--format", "json", "--contract", contract];
    let (code, lines) = said(clawgate(folder.path()).args(args));
    let findings = lines[0]["findings"].as_array().unwrap();
    (code, findings.iter().filter(|finding| finding["level"] == "must").count())
}

#[test]
fn a_minimal_agent_keeps_it_and_not_the_whole() {
    assert_eq!(judged(MINIMAL, "agent-core", "0"), (Some(0), 0));
    let (code, broken) = judged(MINIMAL, "claude-stream-json", "0");
    assert!(code == Some(100) && broken > 20, "{broken}");
    // A part is no licence.
    let (code, broken) = judged(&MINIMAL.replace(",\"is_error\":false", ""), "agent-core", "0");
    assert_eq!((code, broken), (Some(100), 1));
}

#[test]
fn whoever_keeps_the_whole_keeps_the_part() {
    let (core, whole) = (bundle("agent-core").unwrap(), bundle("claude-stream-json").unwrap());
    let (core, whole) = (Contract::load(&core).unwrap(), Contract::load(&whole).unwrap());
    let ids: Vec<&str> = whole.clauses().iter().map(|clause| clause.id.as_str()).collect();
    // What it says in other words, since the whole says it of more fields.
    let own = ["error-has-text"];
    for clause in core.clauses() {
        assert!(ids.contains(&clause.id.as_str()) || own.contains(&clause.id.as_str()), "{}", clause.id);
        assert_eq!(clause.level, Level::Must, "{}", clause.id);
    }
    // Every good stream of the whole is one of the part.
    for (base, exit) in
        [("plain", "0"), ("tools", "0"), ("hooks", "0"), ("max-turns", "1"), ("api-error", "1")]
    {
        let path = format!("{}/schemas/claude-stream-json/fixtures/base/{base}.toml", crate::command::ROOT);
        let text = fs::read_to_string(path).unwrap();
        let stdout = text.split("stdout = '''\n").nth(1).unwrap().split("'''").next().unwrap();
        assert_eq!(judged(stdout, "agent-core", exit).1, 0, "{base}");
    }
}
