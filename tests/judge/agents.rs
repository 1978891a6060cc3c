//! Runs of other agents, judged by the outcomes of their contracts: recordings, bare files, and agents that nobody knows.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use clawgate::judge::{self, Contracts, Judgement, Options};
use clawgate::recording::Recording;

use crate::command::{clawgate, said};
use crate::files::write;

struct Labelled {
    place: PathBuf,
    name: String,
    contract: String,
    class: String,
    detail: Option<String>,
}

fn corpus() -> Vec<Labelled> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/agents");
    let labels = fs::read_to_string(root.join("labels.txt")).unwrap();
    let labels = labels.lines().filter(|line| !line.starts_with('#'));
    let read = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (name, contract, class) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        Labelled { place: root.join(&name), name, contract, class, detail: words.next() }
    };
    labels.map(read).collect()
}

/// What differs from the label; nothing when it is right.
fn complaint(run: &Labelled, judgement: &Judgement) -> Option<String> {
    let verdict = judgement.verdict.as_ref().unwrap();
    let is_told = run.contract != "-";
    let contract_is_right = !is_told || judgement.contract.as_deref() == Some(run.contract.as_str());
    let is_right = contract_is_right
        && judgement.contract_detected == is_told
        && verdict.class.name() == run.class
        && verdict.detail == run.detail;
    (!is_right).then(|| format!("{}: {:?} {verdict:?}", run.name, judgement.contract))
}

#[test]
fn recordings_of_other_agents_have_the_verdicts_that_they_are_labelled_with() {
    let contracts = Contracts::built_in();
    let runs = corpus();
    assert!(runs.len() > 60, "{}", runs.len());
    let judged = runs.iter().filter_map(|run| {
        let recording = Recording::open(&run.place).unwrap();
        complaint(run, &judge::recording(&recording, &contracts, &Options::default()).unwrap())
    });
    let wrong: Vec<String> = judged.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bare_files_of_other_agents_are_told_apart_and_called_a_guess() {
    let contracts = Contracts::built_in();
    let judged = corpus().into_iter().filter_map(|run| {
        let facts: Value =
            serde_json::from_slice(&fs::read(run.place.join("recording.json")).unwrap()).unwrap();
        let mut options =
            Options::with_exit_code(i32::try_from(facts["exit"]["code"].as_i64().unwrap()).unwrap());
        options.stderr = Some(fs::read(run.place.join("stderr")).unwrap());
        complaint(&run, &judge::file(&run.place.join("stdout"), &contracts, &options).unwrap())
    });
    let wrong: Vec<String> = judged.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_tokens_tools_and_session_of_other_agents_are_told() {
    let told = |name: &str| {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/agents").join(name);
        let args = ["judge", "--format", "json", place.to_str().unwrap()];
        let folder = TempDir::new().unwrap();
        let (code, lines) = said(clawgate(folder.path()).args(args));
        (code, lines[0].clone())
    };
    let (code, codex) = told("codex/tool");
    let session = &codex["session"];
    assert_eq!((code, &codex["contract_detected"], &codex["run"]), (Some(0), &json!(true), &Value::Null));
    assert_eq!(session["final_text"], "Hello from the mock.");
    assert_eq!(session["session_id"], "01a1e634-3d6d-75a1-a914-a57b3081d04b");
    assert_eq!(session["usage"], json!({"input": 16, "output": 10, "cache_creation": 0, "cache_read": 6}));
    assert_eq!(session["tools"]["command_execution"], json!({"calls": 1, "errors": 0, "unanswered": 0}));
    assert_eq!(told("codex/think-2").1["session"]["thinking"], "hmm");
    let gemini = told("gemini/tool").1;
    let usage = &gemini["session"]["usage"];
    assert_eq!((&usage["input"], &usage["output"]), (&json!(22), &json!(10)));
    assert_eq!(gemini["session"]["final_text"], "Hello from the mock.", "pieces are joined");
    assert_eq!(gemini["session"]["model"], "gemini-2.5-flash");
    assert_eq!(told("opencode/text").1["session"]["cost_usd"], 0.0);
    let retried = told("codex/cut-retry-2").1;
    assert_eq!(retried["verdict"]["advisories"], json!(["retried"]));
    let waiting = told("codex/refused-2").1;
    assert_eq!(waiting["verdict"]["advisories"], json!(["timed_out", "retried"]));
}

#[test]
fn the_faults_of_real_agents_are_findings() {
    let contracts = Contracts::built_in();
    let broken = |name: &str| {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/agents").join(name);
        let recording = Recording::open(&place).unwrap();
        let judgement = judge::recording(&recording, &contracts, &Options::default()).unwrap();
        let mut clauses: Vec<String> = judgement.findings.into_iter().map(|finding| finding.clause).collect();
        clauses.sort();
        clauses.dedup();
        clauses.join(" ")
    };
    assert_eq!(broken("gemini/429"), "gemini-stream-json/exit-documented");
    assert_eq!(
        broken("gemini/cut"),
        "gemini-stream-json/error-has-reason gemini-stream-json/exit-nonzero-on-error"
    );
    assert_eq!(
        broken("gemini/no-auth"),
        "gemini-stream-json/exit-documented gemini-stream-json/stdout-not-empty"
    );
    assert_eq!(
        broken("gemini/json-429"),
        "gemini-json/document-on-stdout gemini-json/exit-documented gemini-json/stderr-holds-no-document"
    );
    assert_eq!(broken("codex/429"), "");
    // Qwen Code keeps the core of the dialect.
    for run in ["qwen/text", "qwen/tool"] {
        assert_eq!(broken(run), "", "{run}");
    }
}

/// The verdict on a bare stream, with the code that the process ended with, if that is known.
fn bare(stream: &str, exit: Option<i32>) -> Judgement {
    let options = exit.map_or_else(Options::default, Options::with_exit_code);
    judge::output(stream.as_bytes(), &Contracts::built_in(), &options).unwrap()
}

/// The same of a file that its name tells to be a stream.
fn named(stream: &str, exit: Option<i32>) -> Judgement {
    let folder = TempDir::new().unwrap();
    let file = write(folder.path(), "run.ndjson", stream);
    let options = exit.map_or_else(Options::default, Options::with_exit_code);
    judge::file(&file, &Contracts::built_in(), &options).unwrap()
}

#[test]
fn the_stream_of_an_agent_that_nobody_knows_is_neither_cut_nor_a_success() {
    let streams = [
        "{\"type\":\"hello\"}\n{\"type\":\"said\",\"text\":\"Hi.\"}\n{\"type\":\"bye\"}\n",
        // Some words are those of the Claude CLI, and mean something else.
        "{\"type\":\"begin\"}\n{\"type\":\"result\",\"ok\":true,\"text\":\"Hi.\"}\n",
        "{\"type\":\"begin\"}\n{\"type\":\"assistant\",\"text\":\"Hi.\"}\n{\"type\":\"result\",\"status\":\"done\"}\n",
        // Others name the kind of a message otherwise, or not at all.
        "{\"ev\":\"begin\"}\n{\"ev\":\"say\",\"text\":\"Hi.\"}\n{\"ev\":\"end\",\"ok\":true}\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"update\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"end_turn\"}}\n",
        "{\"type\":1,\"text\":\"Hi.\"}\n{\"type\":2}\n",
        "{\"ev\":\"begin\"}\n{\"ev\":\"say\",\"te",
        "{\"type\":\"user\",\"text\":\"?\"}\n{\"type\":\"assistant\",\"message\":\"Hi.\"}\n{\"type\":\"result\",\"result\":\"Hi.\",\"is_error\":false}\n",
        "{\"type\":\"start\"}\n{\"type\":\"result\",\"subtype\":\"done\",\"text\":\"Hi.\"}\n",
    ];
    for stream in streams {
        for exit in [None, Some(0), Some(1)] {
            let judgement = named(stream, exit);
            let verdict = judgement.verdict.unwrap();
            let told = (verdict.class.name(), verdict.detail.as_deref());
            assert_eq!(told, ("protocol", Some("unknown-agent")), "{stream}");
            assert_eq!(judgement.contract, None, "{stream}");
            assert!(judgement.run.is_none() && judgement.findings.is_empty());
        }
    }
    let timed_out = bare(streams[0], Some(124)).verdict.unwrap();
    assert_eq!(timed_out.class.name(), "timeout");
    // A new message before those of the Claude CLI does not make it another agent.
    let claude = "{\"type\":\"news\"}\n{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":1,\"result\":\"Hi.\",\"stop_reason\":\"end_turn\"}\n";
    assert_eq!(bare(claude, Some(0)).contract.as_deref(), Some("claude-stream-json"));
}

#[test]
fn a_known_agent_is_held_to_the_whole_table_of_verdicts() {
    let start = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
    let said = "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_0\",\"type\":\"agent_message\",\"text\":\"Hi.\"}}\n";
    let done = "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"cached_input_tokens\":0,\"output_tokens\":1}}\n";
    let whole = format!("{start}{said}{done}");
    let class = |stream: &str, exit: Option<i32>| {
        let verdict = bare(stream, exit).verdict.unwrap();
        (verdict.class.name(), verdict.detail)
    };
    let with = |detail: &str| Some(detail.to_owned());
    assert_eq!(class(&whole, Some(0)), ("ok", None));
    assert_eq!(class(&whole, None), ("ok", None));
    assert_eq!(class(&whole, Some(1)), ("crash", with("exit-code")));
    assert_eq!(class(&format!("{start}{said}"), Some(0)), ("truncated", None));
    assert_eq!(class(&format!("{start}{said}"), Some(139)), ("crash", with("signal")));
    assert_eq!(class(&format!("{start}{said}"), Some(124)), ("timeout", with("wall")));
    assert_eq!(class(&format!("{start}{done}"), Some(0)), ("no_output", None));
    // What was told of a failure counts where nothing ended the run, and not where it went on.
    let failing = "{\"type\":\"error\",\"message\":\"unexpected status 429 Too Many Requests\"}\n";
    assert_eq!(class(&format!("{start}{failing}"), Some(1)), ("rate_limit", None));
    assert_eq!(class(&format!("{start}{failing}"), Some(124)), ("rate_limit", None));
    assert_eq!(class(&format!("{start}{failing}{said}{done}"), Some(0)), ("ok", None));
    assert_eq!(class(&format!("{start}{failing}{said}"), Some(124)), ("timeout", with("wall")));
}

#[test]
fn a_contract_whose_outcome_is_wrong_is_refused_at_its_line() {
    let folder = TempDir::new().unwrap();
    let complain = |outcome: &str| {
        let clause = "[[clause]]\nid = \"a\"\nlevel = \"must\"\nsource = \"s\"\nsince = \"1\"\ntext = \"t\"\nwhy = \"w\"\nfix = \"f\"\ncheck = { rule = \"framing\", oddity = \"empty\" }\n";
        let head = "[contract]\nname = \"own\"\ntitle = \"t\"\nprotocol = \"stream\"\n[[kind]]\nname = \"done\"\nwhen = { \"/type\" = \"done\" }\n";
        write(folder.path(), "own/contract.toml", format!("{head}{outcome}\n{clause}"));
        Contracts::only(&folder.path().join("own").display().to_string()).unwrap_err().to_string()
    };
    let row = |more: &str| format!("[[outcome.row]]\nid = \"x\"\ntext = \"t\"\n{more}");
    for (outcome, words) in [
        ("[outcome]\nend = { on = \"dome\" }".to_owned(), "there is no kind `dome`, did you mean `done`?"),
        ("[outcome]\nends = { on = \"done\" }".to_owned(), "unknown key `ends`"),
        (
            row("class = \"ratelimit\"\nexit = 1"),
            "is no class that a row can mean, did you mean `rate_limit`?",
        ),
        (row("class = \"auth\""), "a row looks at a message"),
        (row("class = \"auth\"\nexit = 1\nwhen = { \"/a\" = 1 }"), "say with `on` in which"),
        (
            row("class = \"auth\"\nexit = 1\n")
                + &row("class = \"usage\"\nexit = 2").replace("\"x\"", "\"y\""),
            "`usage` comes before `auth`",
        ),
    ] {
        let told = complain(&outcome);
        assert!(told.contains(words) && told.contains("contract.toml:"), "{told}");
    }
}
