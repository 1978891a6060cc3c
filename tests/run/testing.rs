//! The library as somebody uses it in tests of a command line of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clawgate::schema::Level;
use clawgate::testing::{ClawError, Cli, Script, Turn, run_claw_command};
use serde_json::json;

/// The reference target, as a program of the user's that speaks stream-json.
fn agent() -> Cli {
    agent_that("")
}

fn agent_that(misbehaves: &str) -> Cli {
    let program = assert_cmd::cargo::cargo_bin("clawgate");
    Cli::target(&format!("reference{misbehaves}={}", program.display())).unwrap()
}

#[test]
fn a_run_can_be_asked_for_everything_it_did() {
    let run = agent()
        .prompt("Write a file.")
        .api(
            Script::new()
                .turn(Turn::new().tool("Write", json!({"file_path": "note.txt", "content": "hello"})))
                .text("Done."),
        )
        .arg("--dangerously-skip-permissions")
        .run()
        .unwrap();
    run.assert_verdict("ok")
        .assert_no_findings()
        .assert_requests(2)
        .assert_tool("Write")
        .assert_file("note.txt", "hello")
        .assert_exit(0);
    assert_eq!(run.text(), Some("Done."));
    assert_eq!(run.transcript().first().unwrap()["subtype"], "init");
    assert_eq!(run.file("other.txt"), None);
}

#[test]
fn a_fault_gives_its_verdict_with_evidence() {
    let run = agent()
        .prompt("Hello?")
        .api(Script::new().turn(Turn::new().text("Hi.").fault("http:status=401".parse().unwrap())))
        .run()
        .unwrap();
    run.assert_verdict("auth").assert_exit(1);
    assert!(run.to_string().contains("because: api-error-status"), "{run}");
}

#[test]
fn an_event_log_has_findings_and_no_verdict() {
    let run = agent().contract("claws-events").arg("work").run().unwrap();
    assert!(run.verdict().is_none(), "{run}");
    run.assert_no_findings().assert_exit(0);
    let judgement = clawgate::judge::recording(
        &clawgate::recording::Recording::open(run.recording()).unwrap(),
        &clawgate::judge::Contracts::built_in(),
        &clawgate::judge::Options::default(),
    )
    .unwrap();
    let clauses = |findings: &[clawgate::schema::Finding]| -> Vec<String> {
        findings.iter().map(|finding| finding.clause.clone()).collect()
    };
    assert_eq!(clauses(run.findings()), clauses(&judgement.findings));
}

/// As the document's own test: what every envelope has.
#[test]
fn test_json_envelope_field_consistency() {
    for command in ["list-sessions", "command-graph", "tool-pool", "bootstrap-graph"] {
        let envelope = run_claw_command(agent().contract("claw-1.0").arg(command)).unwrap();
        for field in ["timestamp", "command", "exit_code", "output_format", "schema_version"] {
            assert!(envelope.get(field).is_some(), "{command}: no {field} in {envelope}");
        }
    }
    let error = run_claw_command(agent().contract("claw-2.0").args(["load-session", "nope"])).unwrap_err();
    assert_eq!((error.kind.as_str(), error.session_id.as_deref()), ("session_not_found", Some("nope")));
    assert_eq!((error.target.as_deref(), error.retryable), (Some("nope"), false));
    let loops = ["turn-loop", "hello", "--timeout-seconds", "0"];
    let error = run_claw_command(agent().contract("claw-1.0").args(loops)).unwrap_err();
    assert_eq!((error.kind.as_str(), error.safe_to_reuse_session, error.retryable), ("timeout", true, true));
}

/// Each arm of the document's handler, on a program that does nothing else.
#[test]
fn the_documents_handler_tells_every_failure_apart() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("shell.toml");
    let text = "[target]\nname = \"shell\"\nprogram = \"/bin/sh\"\n[[speaks]]\ncontract = \"claw-flat\"\n";
    std::fs::write(&target, text).unwrap();
    let shell = |script: &str| Cli::target(target.to_str().unwrap()).unwrap().args(["-c", script]);
    let error = |script: &str| run_claw_command(shell(script)).unwrap_err();
    let kind = |script: &str| error(script).kind;

    assert_eq!(run_claw_command(shell("echo '{\"loaded\":true}'")).unwrap(), json!({"loaded": true}));
    assert_eq!(kind("echo '{\"type\":\"error\",\"kind\":\"parse\",\"error\":\"x\"}'; exit 1"), "parse");
    assert_eq!(
        kind("echo '{\"type\":\"error\",\"kind\":\"parse\",\"error\":\"x\"}'"),
        "parse",
        "exit 0 hides nothing"
    );
    assert_eq!(kind("echo '{}'; exit 1"), "unknown");
    assert_eq!(kind("echo '{}'; exit 7"), "unexpected_exit_code");
    assert_eq!(kind("echo '{\"turns\":[]}'; exit 2"), "timeout");
    let prose: ClawError = error("echo Done.");
    assert_eq!((prose.kind.as_str(), prose.retryable), ("parse_failure", false));
    assert_eq!(prose.hint.as_deref(), Some("Check that --output-format json is being passed"));
    let impatient = shell("exec sleep 600").timeout(std::time::Duration::from_millis(200));
    let impatient = run_claw_command(impatient).unwrap_err();
    assert_eq!((impatient.kind.as_str(), impatient.retryable), ("subprocess_timeout", true));
    assert_eq!(impatient.to_string(), "subprocess_timeout: Command exceeded its wall timeout\n(retryable)",);
    let missing = Cli::target("claw=./no-such-claw").unwrap().arg("status");
    let missing = run_claw_command(missing).unwrap_err();
    assert!(missing.message.contains("no-such-claw"), "{missing}");
}

#[test]
fn a_broken_contract_is_a_finding_and_a_failed_assertion_says_why() {
    let run = agent_that("+no-result").prompt("Hello?").api(Script::new().text("Hi.")).run().unwrap();
    assert_ne!(run.verdict().unwrap().class.name(), "ok");
    let message = |demand: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(demand)).expect_err("the demand is not met");
        panic.downcast_ref::<String>().expect("a panic with a message").clone()
    };
    let complaint = message(&|| {
        run.assert_verdict("ok");
    });
    assert!(complaint.starts_with("expected the verdict `ok`, found `"), "{complaint}");
    assert!(complaint.contains("because: ") && complaint.contains("recording: "), "{complaint}");
    let complaint = message(&|| {
        run.assert_finding("claude-stream-json/no-such-clause");
    });
    assert!(complaint.contains("no-such-clause"), "{complaint}");
    assert!(catch_unwind(AssertUnwindSafe(|| run.assert_no_findings().assert_verdict("ok").exit())).is_err());
    // The recording outlives the test that failed.
    let kept = complaint.lines().find_map(|line| line.strip_prefix("recording: ")).unwrap();
    assert!(std::path::Path::new(kept).join("stdout").is_file());
    std::fs::remove_dir_all(kept).unwrap();
}

#[test]
fn two_runs_look_the_same_once_normalised() {
    let run = || agent().prompt("Hello?").api(Script::new().text("Hi.")).run().unwrap();
    let (one, other) = (run(), run());
    assert_ne!(one.stdout(), other.stdout());
    assert_eq!(one.normalised(), other.normalised());
    assert!(one.normalised().contains("<uuid:1>"), "{}", one.normalised());
}

#[tokio::test]
async fn a_run_can_be_awaited() {
    let run = agent().prompt("Hello?").api(Script::new().text("Hi.")).run_async().await.unwrap();
    run.assert_verdict("ok");
}

#[tokio::test]
async fn a_blocking_run_works_in_an_async_test_too() {
    agent().prompt("Hello?").api(Script::new().text("Hi.")).run().unwrap().assert_verdict("ok");
}

#[test]
fn what_cannot_be_run_is_an_error_that_says_why() {
    let missing = Cli::target("claude=/no/such/program").unwrap().run().unwrap_err().to_string();
    assert!(missing.contains("/no/such/program does not exist"), "{missing}");
    let unknown = Cli::target("cluade").unwrap_err().to_string();
    assert!(unknown.contains("did you mean `claude`?"), "{unknown}");
    let contract = agent().contract("claw-3.0").run().unwrap_err().to_string();
    assert!(contract.contains("does not promise `claw-3.0`; it promises claude-stream-json"), "{contract}");
}

/// The test below in a process of its own, since what it needs is found by a variable.
#[test]
fn a_recorded_command_line_can_be_stood_in_for() {
    let name = "testing::with_clawgate_at_hand::the_stand_in_is_the_recorded_run";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--ignored"])
        .env("CLAWGATE_BIN", assert_cmd::cargo::cargo_bin("clawgate"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

mod with_clawgate_at_hand {
    use std::process::Command;

    use clawgate::testing::FakeCli;

    use super::*;

    #[test]
    #[ignore = "run by the test above"]
    fn the_stand_in_is_the_recorded_run() {
        let folder = tempfile::tempdir().unwrap();
        let fault = "http:status=401".parse().unwrap();
        let script = Script::new().turn(Turn::new().text("Hi.").fault(fault));
        let run = agent().prompt("Hello?").api(script).keep_in(folder.path()).run().unwrap();
        let fake = FakeCli::of(run.recording()).unwrap();
        let plain = fake.start().unwrap();
        let output = Command::new(plain.program()).args(["-p", "it's ignored"]).output().unwrap();
        assert_eq!((output.stdout.as_slice(), output.status.code()), (run.stdout(), Some(1)));
        let broken = fake.fault("cut:after=10").start().unwrap();
        assert_eq!(Command::new(broken.program()).output().unwrap().stdout, &run.stdout()[..10]);
        assert!(FakeCli::of(folder.path().join("nothing")).is_err());
    }
}

#[test]
fn a_mock_of_ones_own_answers_and_its_expectation_has_to_be_met() {
    use clawgate::testing::wiremock::{Mock, ResponseTemplate, matchers};
    let asked = |times: u64| {
        let limited = move || {
            let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Not now."}});
            let reply =
                ResponseTemplate::new(429).insert_header("x-should-retry", "false").set_body_json(body);
            let mock = Mock::given(matchers::path("/v1/messages")).respond_with(reply);
            mock.named("limited").expect(times)
        };
        let script = Script::new().turn(Turn::new().text("Hi.").optional()).mount(limited);
        agent().prompt("Hello?").api(script).run().unwrap()
    };
    asked(1).assert_verdict("rate_limit").assert_no_findings();
    let run = asked(2);
    let panic = catch_unwind(AssertUnwindSafe(|| _ = run.assert_no_findings())).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    let expected = "unmet-expectation: mounted mock `limited` got 1 matching requests, expected == 2";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_test_program_without_the_supervisor_says_what_is_not_isolated() {
    let name = "testing::a_run_can_be_asked_for_everything_it_did";
    let program = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env_remove("CLAWGATE_BIN")
        .output()
        .unwrap();
    let said = String::from_utf8(program.stderr).unwrap();
    let note = "clawgate: targets were not kept apart from the machine's network, files, processes (needs the supervisor \
                process); with CLAWGATE_BIN";
    assert_eq!(said.matches(note).count(), 1, "{said}");
}

#[test]
#[ignore = "needs CLAWGATE_BIN, and the Codex CLI and the Gemini CLI in CLAWGATE_CACHE; .ci/run runs it"]
fn other_agents_are_asked_the_same() {
    assert!(std::env::var_os("CLAWGATE_BIN").is_some(), "they are to be kept apart from the network");
    for (target, called, input, printed) in [
        ("codex@0.166.0", "exec_command", json!({"cmd": "echo from-a-tool"}), "command_execution"),
        ("gemini@0.61.0", "list_directory", json!({"dir_path": "."}), "list_directory"),
    ] {
        let ask = || Cli::target(target).unwrap().prompt("Look around.");
        let script = Script::new().turn(Turn::new().tool(called, input)).text("Done.");
        let run = ask().api(script).run().unwrap();
        run.assert_verdict("ok").assert_requests(2).assert_tool(printed).assert_exit(0);
        // Not `assert_no_findings`: what Codex runs commands with leaves a folder in /tmp.
        assert!(run.findings().iter().all(|finding| finding.level != Level::Must), "{run}");
        assert_eq!((run.text(), run.tool_calls().len()), (Some("Done."), 1), "{run}");
        let limited = "http:status=429".parse().unwrap();
        let run = ask().api(Script::new().text("Done.")).fault(limited).run().unwrap();
        run.assert_verdict("rate_limit").assert_requests(1);
    }
}
