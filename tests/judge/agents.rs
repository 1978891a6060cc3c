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

/// The same of one that comes byte by byte.
fn piped(stream: &str) -> Judgement {
    let contracts = Contracts::built_in();
    let mut judge = judge::Judge::of_output(None, &contracts, &Options::default());
    stream.as_bytes().chunks(1).for_each(|byte| judge.push(byte, &mut |_| {}));
    judge.finish(judge::Ending::default(), &mut |_| {}).unwrap()
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
    for judgement in [bare(claude, Some(0)), named(claude, None), piped(claude)] {
        assert_eq!(
            (judgement.contract.as_deref(), judgement.contract_detected),
            (Some("claude-stream-json"), true)
        );
        assert_eq!(judgement.verdict.unwrap().class.name(), "ok");
    }
    // Nor is one that was cut in its first message.
    for cut in ["{\"type\":\"system\",\"subtype\":\"in", "{\"type\":\"assis"] {
        assert_eq!(bare(cut, None).verdict.unwrap().class.name(), "truncated", "{cut}");
    }
    let chosen = Contracts::only("claude-stream-json").unwrap();
    let judgement = judge::output(streams[0].as_bytes(), &chosen, &Options::default()).unwrap();
    assert!(!judgement.contract_detected && judgement.verdict.unwrap().class.name() == "truncated");
    // Two envelopes of claw are those of a claw, which prints one.
    let claw = "{\"kind\":\"status\",\"status\":\"ok\"}\n";
    assert_eq!(piped(&claw.repeat(2)).contract.as_deref(), Some("claw-flat"));
}

#[test]
fn an_agent_that_nobody_knows_is_told_however_it_speaks_and_comes() {
    let begins = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/\"}\n";
    let says = "{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hi.\"}]}}\n";
    let more = [
        // Cut.
        "{\"type\":\"hello\"}\n{\"type\":\"said\",\"te",
        "{\"ev\":\"beg",
        "{\"type\":\"sta",
        "[{\"type\":\"begin\"},{\"type\":\"en",
        // Without a type, or with the type elsewhere.
        "{\"kind\":\"begin\"}\n{\"kind\":\"text\",\"text\":\"Hi.\"}\n{\"kind\":\"end\"}\n",
        "{\"event\":\"message\",\"data\":{\"text\":\"Hi.\"}}\n{\"event\":\"done\",\"data\":{}}\n",
        "{\"role\":\"user\",\"content\":\"?\"}\n{\"role\":\"assistant\",\"content\":\"Hi.\"}\n",
        "{\"type\":null,\"text\":\"Hi.\"}\n{\"type\":null}\n",
        "{\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"Hi.\"}}]}\n{\"id\":\"c\",\"choices\":[{\"finish_reason\":\"stop\"}]}\n",
        "Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"update\"}",
        // With the words of the API, or of the Claude CLI.
        "{\"type\":\"message_start\",\"message\":{\"role\":\"assistant\"}}\n{\"type\":\"message_stop\"}\n",
        "{\"type\":\"stream_event\",\"delta\":\"Hi\"}\n{\"type\":\"stream_event\",\"done\":true}\n",
        "{\"type\":\"begin\"}\n{\"type\":\"result\",\"subtype\":\"success\",\"text\":\"Hi.\"}\n",
        "{\"type\":\"result\",\"ok\":true,\"text\":\"Hi.\"}\n",
        "{\"type\":\"system\",\"text\":\"start\"}\n{\"type\":\"assistant\",\"content\":[]}\n{\"type\":\"result\",\"ok\":true}\n",
        "{\"type\":\"system\",\"subtype\":\"boot\"}\n{\"type\":\"say\",\"text\":\"Hi.\"}\n{\"type\":\"result\",\"subtype\":\"done\"}\n",
        &format!("{begins}{says}{{\"type\":\"done\",\"ok\":true}}\n"),
        &format!("{begins}{says}{{\"done\":true}}\n"),
        &format!("{begins}{says}{{\"type\":\"result\",\"status\":\"done\"}}\n"),
        &format!("{says}{{\"type\":\"end\"}}\n"),
        // Something before it.
        "starting up\n{\"type\":\"hello\"}\n{\"type\":\"bye\"}\n",
        "\u{feff}{\"type\":\"hello\"}\n{\"type\":\"bye\"}\n",
        "\u{1e}{\"type\":\"begin\"}\n\u{1e}{\"type\":\"end\"}\n",
        // Nothing.
        "",
        "\n\n",
    ];
    for stream in more {
        for judgement in [named(stream, None), bare(stream, None), bare(stream, Some(0)), piped(stream)] {
            let verdict = judgement.verdict.unwrap();
            let told = (verdict.class.name(), verdict.detail.as_deref());
            assert_eq!(told, ("protocol", Some("unknown-agent")), "{stream}");
            assert!(judgement.contract.is_none() && judgement.findings.is_empty(), "{stream}");
        }
    }
    // What is no stream of messages is none of anybody.
    for text in [
        "[{\"type\":\"begin\"},{\"type\":\"end\"}]\n",
        "[\n{\"type\":\"user\",\"text\":\"?\"},\n{\"type\":\"result\",\"ok\":true}\n]\n",
        "event: start\ndata: {\"type\":\"begin\"}\n\nevent: end\ndata: {\"type\":\"end\"}\n\n",
        "Hello.\nAll is do",
        "\"Hello, this is",
        "1\n2\n",
    ] {
        for judgement in [named(text, None), bare(text, None), bare(text, Some(0)), piped(text)] {
            assert_eq!(judgement.verdict.unwrap().class.name(), "protocol", "{text}");
        }
    }
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

/// The verdict on a run of a target that a timer ended: its class and detail, its advisories and the rule that decided.
fn timed(contract: &str, lines: &[Value], more: &Value) -> (String, Vec<String>, String) {
    let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    lines.push(String::new());
    timed_output(contract, lines.join("\n"), more)
}

fn timed_output(contract: &str, stdout: String, more: &Value) -> (String, Vec<String>, String) {
    let mut facts = json!({
        "schema_version": 1, "target": "mine", "scenario": "s", "contract": contract,
        "exit": {"code": 0, "timed_out": "wall"},
    });
    facts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let facts = clawgate::recording::Facts::parse(facts.to_string().as_bytes()).unwrap();
    let recording = Recording::new(facts, stdout.into_bytes(), Vec::new());
    let verdict = judge::recording(&recording, &Contracts::built_in(), &Options::default()).unwrap().verdict;
    let verdict = verdict.unwrap();
    let detail = verdict.detail.map(|detail| format!("/{detail}")).unwrap_or_default();
    let advisories = verdict.advisories.iter().map(|advisory| advisory.name().to_owned()).collect();
    (format!("{}{detail}", verdict.class), advisories, verdict.evidence[0].rule.to_string())
}

/// A message of copilot.
fn copilot(kind: &str, data: &Value) -> Value {
    json!({"type": kind, "data": data, "id": "1", "timestamp": "2026-11-19T18:00:00.000Z"})
}

fn length(lines: &[Value]) -> usize {
    lines.iter().map(|line| line.to_string().len() + 1).sum()
}

#[test]
fn an_end_that_a_timer_brought_about_is_none() {
    let start = copilot("session.tools_updated", &json!({"model": "m"}));
    let failing = copilot("model.call_failure", &json!({"statusCode": 429}));
    let said = copilot("assistant.message", &json!({"content": "Let me look."}));
    let end = json!({"type": "result", "sessionId": "s", "exitCode": 0});
    let judged = |lines: &[Value], more: &Value| timed("copilot-json", lines, more);
    let at = |lines: &[Value]| json!({"timed_out_at": [length(lines), 20_000.0]});

    // The CLI was waiting out a 429, was ended, and said that all was well.
    let waited = [start.clone(), failing.clone(), end.clone()];
    let limited = ("rate_limit".to_owned(), vec!["timed_out".to_owned()], "status-429".to_owned());
    assert_eq!(judged(&waited, &at(&waited[..2])), limited);
    assert_eq!(judged(&waited, &json!({})), limited, "and where nobody noted when the timer fired");
    // It was in the middle of its work.
    let working = [start.clone(), said.clone(), end.clone()];
    let timeout = ("timeout/wall".to_owned(), vec![], "timer".to_owned());
    assert_eq!(judged(&working, &at(&working[..2])), timeout);
    assert_eq!(judged(&[start.clone(), end.clone()], &json!({})), timeout);
    // It had said all, and stayed.
    let stayed = ("ok".to_owned(), vec!["late_exit".to_owned()], "end".to_owned());
    assert_eq!(judged(&working, &at(&working)), stayed);
    // A failure that it told of in time is its last word.
    let failed = json!({"type": "result", "sessionId": "s", "exitCode": 1});
    let told = [start, copilot("session.error", &json!({"statusCode": 401, "message": "no"})), failed, end];
    assert_eq!(judged(&told, &at(&told[..3])).0, "auth");
    // The same of a document.
    let document = json!({"session_id": "s", "response": "Hello.", "stats": {"models": {}}}).to_string();
    let when = |bytes: usize| json!({"timed_out_at": [bytes, 20_000.0]});
    assert_eq!(timed_output("gemini-json", document.clone(), &when(0)).0, "timeout/wall");
    assert_eq!(timed_output("gemini-json", document.clone(), &when(document.len())).0, "ok");
    let envelope = json!({"kind": "status", "status": "ok"}).to_string();
    let claw = |bytes: usize| {
        let mut more = when(bytes);
        more["argv"] = json!(["claw", "--output-format", "json", "status"]);
        more["target"] = "claw".into();
        timed_output("claw-flat", envelope.clone(), &more).0
    };
    assert_eq!((claw(0), claw(envelope.len())), ("timeout/wall".to_owned(), "ok".to_owned()));
    // And of the Claude CLI, which was sending a request again.
    let init = json!({"type": "system", "subtype": "init", "session_id": "s"});
    let retry = json!({"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"});
    let result =
        json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": ""});
    let lines = [init, retry, result];
    let claude = |key: &str, value: Value| {
        let mut more =
            json!({"target": "claude", "argv": ["claude", "-p", "--output-format", "stream-json"]});
        more[key] = value;
        timed("claude-stream-json", &lines, &more).0
    };
    assert_eq!(claude("timed_out_at", json!([length(&lines[..2]), 20_000.0])), "api/overloaded");
    assert_eq!(claude("stamp", json!(1)), "api/overloaded");
    assert_eq!(claude("exit", json!({"code": 0})), "no_output");
}

#[test]
fn a_provider_that_the_scripted_api_saw_fail_is_the_cause_of_a_timeout() {
    let asked = |kind: &str, status: Value, outcome: &str| json!({"kind": kind, "status": status, "outcome": outcome});
    let limited = || asked("turn", json!(429), "complete");
    let judged = |contract: &str, lines: &[Value], requests: &[Value], served: Value| {
        let argv = ["mine", "--output-format", "stream-json"];
        let exit = json!({"signal": 15, "timed_out": "idle"});
        let more = json!({"exit": exit, "requests": requests, "served": served, "argv": argv});
        timed(contract, lines, &more)
    };
    // Whatever it is that says nothing, and whether its contract tells of outcomes or not.
    for contract in [
        "opencode-json",
        "copilot-json",
        "codex-exec-json",
        "gemini-json",
        "agent-core",
        "claude-stream-json",
        "ndjson",
    ] {
        let class = |requests: &[Value]| judged(contract, &[], requests, json!([]));
        let advisories = vec!["timed_out".to_owned()];
        assert_eq!(
            class(&[limited()]),
            ("rate_limit".into(), advisories, "request-failed".into()),
            "{contract}"
        );
        for (status, outcome, expected) in [
            (json!(401), "complete", "auth"),
            (json!(500), "complete", "api/server_error"),
            (json!(529), "complete", "api/overloaded"),
            (json!(null), "reset", "api/connection"),
            (json!(200), "closed", "api/connection"),
            (json!(200), "stalled", "timeout/idle"),
            (json!(200), "client-left", "timeout/idle"),
        ] {
            assert_eq!(class(&[limited(), asked("turn", status, outcome)]).0, expected, "{contract}");
        }
        // Work on the side says nothing of the answer that is waited for.
        let answered = asked("turn", json!(200), "complete");
        assert_eq!(class(&[answered, asked("auxiliary", json!(429), "complete")]).0, "timeout/idle");
        assert_eq!(class(&[]).0, "timeout/idle");
    }
    // An error in the middle of an answer.
    let broke = json!([{"request": 0, "error": {"type": "overloaded_error", "message": "Overloaded"}}]);
    let answered = [asked("turn", json!(200), "complete")];
    assert_eq!(judged("opencode-json", &[], &answered, broke).0, "api/overloaded");
    // Who waits for a tool waits for no provider.
    let call = copilot("tool.execution_start", &json!({"toolCallId": "c", "toolName": "bash"}));
    assert_eq!(judged("copilot-json", &[call], &[limited()], json!([])).0, "timeout/idle");
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
