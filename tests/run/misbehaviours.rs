//! Every misbehaviour of the reference target is seen to fail the gate, end to end, by what it breaks and not by
//! accident.

use clawgate::internals::reference::MISBEHAVIOURS;
use tempfile::TempDir;

use crate::files::folder_with;
use crate::support::{json_lines, process};

/// For each misbehaviour: a case that shows it, and what has to be among the reasons: a clause, or a kind of failure
/// with a part of its message.
const CAUGHT: &[(&str, &str, &str)] = &[
    ("prose-on-stderr", "claw/mistakes/unknown-session", "claw-stdout/stdout-not-empty"),
    ("bypassed-formatter", "claw/mistakes/unknown-session", "claw-stdout/stdout-not-empty"),
    ("prose-on-stdout", "claw/status/ok", "claw-stdout/json-syntax"),
    ("compact-wins", "claw/prompt/compact", "claw-stdout/json-syntax"),
    ("flag-swallowed", "claw/prompt/answer", "claw-stdout/json-syntax"),
    ("double-envelope", "claw/status/ok", "claw-stdout/single-document"),
    ("empty-stdout", "claw/status/ok", "claw-stdout/stdout-not-empty"),
    ("error-on-stderr", "claw/mistakes/unknown-session", "claw-stdout/envelope-on-stdout"),
    ("prefix", "claw/status/ok", "claw-stdout/starts-at-byte-0"),
    ("error-exit-0", "claw/mistakes/unknown-session", "claw-stdout/error-exit-nonzero"),
    ("exit-code-lie", "claw/commands/tool-pool-ok", "claw-stdout/exit-code-echo"),
    ("text-exit-differs", "claw/commands/load-session-not-found-text", "claw-stdout/text-session-not-found"),
    ("usage-on-stderr", "claw/commands/load-session-no-argument", "claw-stdout/stdout-not-empty"),
    ("hang", "claw/status/ok", "claw-stdout/terminates"),
    ("fall-through", "claw/mistakes/unknown-command", "requests: expected 0"),
    ("untyped-error", "claw/mistakes/unknown-session", "claw-flat/error-fields"),
    ("kind-unknown", "claw/mistakes/unknown-session", "verdict: expected not_found"),
    ("duplicate-keys", "claw/status/ok", "claw-stdout/no-duplicate-keys"),
    ("sibling-drift", "claw/prompt/answer", "claw-flat/prompt-fields"),
    ("prose-in-json", "claw/status/ok", "claw-flat/status-fields"),
    ("lying-status", "claw/status/bad-config", "stdout: stdout does not contain"),
    ("secret-leak", "claw/status/ok", "secret: "),
    ("not-a-number", "claw/status/ok", "claw-stdout/strict-numbers"),
    ("lone-surrogate", "claw/status/ok", "claw-stdout/no-lone-surrogates"),
    ("fall-through", "claw/mistakes/flag-alone", "claw-flat/unknown-flag-refused"),
    ("fall-through", "claw/mistakes/unknown-word", "verdict: expected usage, found ok"),
    ("missing-value-ignored", "claw/mistakes/missing-value", "verdict: expected usage, found ok"),
    ("missing-value-ignored", "claw/commands/mistakes-missing-value", "verdict: expected usage, found ok"),
    ("usage-on-stderr", "claw/mistakes/missing-value", "claw-stdout/stdout-not-empty"),
    ("bytes-panic", "claw/mistakes/not-utf8", "verdict: expected usage, found crash (panic)"),
    ("cwd-panic", "claw/status/not-utf8-cwd", "verdict: expected ok, found crash (panic)"),
    ("cwd-panic", "claw/commands/not-utf8-cwd", "claw-stdout/exit-code-range"),
    (
        "lost-output-panics",
        "claw/one-document/full-device",
        "verdict: expected protocol, found crash (panic)",
    ),
    (
        "lost-output-panics",
        "claw/one-document/reader-leaves",
        "verdict: expected protocol, found crash (panic)",
    ),
    ("lost-output-hidden", "claw/commands/full-device", "exit: expected exit code 1, found exit code 0"),
    ("terminal-prefix", "claw/terminal/status", "claw-stdout/starts-at-byte-0"),
    ("no-result", "claude/answers/stream", "claude-stream-json/result-present"),
    ("second-result", "claude/answers/stream", "claude-stream-json/result-per-turn"),
    ("cut-line", "claude/answers/stream", "claude-stream-json/stream-not-cut"),
    ("missing-init", "claude/answers/stream", "claude-stream-json/init-before-result"),
    ("exit-0-on-error", "claude/http/429", "claude-stream-json/exit-nonzero-on-error"),
    ("error-masked", "claude/http/429", "claude-stream-json/api-error-status-means-error"),
    ("not-json", "claude/answers/stream", "claude-stream-json/line-is-json"),
    ("not-utf8", "claude/answers/stream", "claude-stream-json/line-is-utf8"),
    ("same-uuid", "claude/tools/bash", "claude-stream-json/unique-uuids"),
    ("other-session", "claude/answers/stream", "claude-stream-json/one-session"),
    ("tool-unanswered", "claude/tools/bash", "claude-stream-json/tool-use-answered"),
    ("denial-hidden", "claude/files/denied", "claude-stream-json/denied-is-listed"),
    ("talks-after-result", "claude/answers/stream", "claude-stream-json/conversation-ends-with-result"),
    ("retries-unasked", "claude/answers/stream", "requests: expected 1"),
    ("duplicate-keys", "claude/answers/stream", "claude-stream-json/no-duplicate-keys"),
    ("duplicate-keys", "claude/answers/json", "claude-json/no-duplicate-keys"),
    ("lone-return", "claude/answers/stream", "claude-stream-json/lines-end-in-newline"),
    ("prints-late", "claude/at-once", "claude-stream-json/printed-at-once"),
    // What is printed is not what was served.
    ("answer-replaced", "claude/answers/stream", "claude-stream-json/text-as-served"),
    ("answer-replaced", "claude/answers/json", "claude-json/result-as-served"),
    ("answer-replaced", "claude/answers/text", "claude-text/answer-as-served"),
    ("answer-replaced", "claude/sub-agents/text", "claude-text/answer-as-served"),
    ("answer-cut", "claude/answers/stream", "claude-stream-json/text-not-lost"),
    ("answer-cut", "claude/answers/json", "claude-json/result-as-served"),
    ("answer-cut", "claude/told/text", "claude-text/answer-not-lost"),
    ("answer-doubled", "claude/answers/stream", "claude-stream-json/text-as-served"),
    ("answer-doubled", "claude/answers/text", "claude-text/answer-as-served"),
    ("message-twice", "claude/answers/stream", "claude-stream-json/no-message-twice"),
    ("thinking-lost", "claude/told/stream", "claude-stream-json/thinking-not-lost"),
    ("thinking-altered", "claude/told/stream", "claude-stream-json/thinking-as-served"),
    ("tool-input-changed", "claude/told/stream", "claude-stream-json/tool-call-as-served"),
    ("tool-renamed", "claude/told/stream", "claude-stream-json/tool-call-as-served"),
    ("tool-result-altered", "claude/told/stream", "claude-stream-json/tool-result-as-given"),
    ("tool-error-hidden", "claude/told/stream", "claude-stream-json/tool-error-as-given"),
    ("report-lost", "claude/sub-agents/stream", "claude-stream-json/sub-agent-report"),
    ("reports-swapped", "claude/sub-agents/stream", "claude-stream-json/sub-agent-believed"),
    ("other-model-named", "claude/answers/stream", "claude-stream-json/model-as-served"),
    ("partial-altered", "claude/told/partial", "claude-stream-json/partial-text-joins"),
    ("partial-lost", "claude/told/partial", "claude-stream-json/partial-text-whole"),
    ("retry-untold", "claude/retry/rate-limit", "advisory: expected the advisory retried"),
    ("retry-status-off", "claude/retry/rate-limit", "claude-stream-json/retries-as-served"),
    // The result is not what happened.
    ("result-replaced", "claude/answers/stream", "claude-stream-json/result-as-served"),
    ("result-replaced", "claude/answers/json", "claude-json/result-as-served"),
    ("result-empty", "claude/answers/stream", "claude-stream-json/answer-in-result"),
    ("result-empty", "claude/answers/json", "claude-json/result-as-served"),
    ("result-first-chunk", "claude/answers/stream", "claude-stream-json/result-is-last-text"),
    ("result-first-chunk", "claude/answers/text", "claude-text/answer-not-lost"),
    ("stop-reason-off", "claude/answers/stream", "claude-stream-json/stop-reason-as-served"),
    ("stop-reason-off", "claude/answers/json", "claude-json/stop-reason-as-served"),
    ("usage-off", "claude/answers/stream", "claude-stream-json/usage-input-as-served"),
    ("usage-off", "claude/answers/json", "claude-json/usage-input-as-served"),
    ("usage-halved", "claude/told/stream", "claude-stream-json/usage-cache-read-input-as-served"),
    ("usage-zero", "claude/answers/stream", "claude-stream-json/usage-output-as-served"),
    ("usage-zero", "claude/answers/json", "claude-json/usage-output-as-served"),
    ("model-usage-off", "claude/sub-agents/stream", "claude-stream-json/model-usage-input-as-served"),
    ("model-usage-off", "claude/answers/json", "claude-json/model-usage-input-as-served"),
    ("other-model-counted", "claude/answers/stream", "claude-stream-json/models-as-asked"),
    ("cost-zero", "claude/answers/stream", "claude-stream-json/tokens-cost-something"),
    ("cost-zero", "claude/answers/json", "claude-json/tokens-cost-something"),
    ("turns-off", "claude/told/stream", "claude-stream-json/turns-as-said"),
    ("turns-off", "claude/told/json", "claude-json/turns-as-served"),
    ("api-time-off", "claude/answers/stream", "claude-stream-json/durations-fit"),
    ("duration-off", "claude/answers/stream", "claude-stream-json/duration-within-run"),
    ("duration-off", "claude/answers/json", "claude-json/duration-within-run"),
    ("status-off", "claude/http/429", "claude-stream-json/status-as-served"),
    ("failure-hidden", "claude/http/429", "claude-stream-json/failure-told"),
    ("task-never-ended", "claude/background/finished", "claude-stream-json/tasks-end"),
    // What is said over standard input.
    ("denied-runs", "claude/control/denied", "claude-stream-json/permission-denied-obeyed"),
    ("allowed-refused", "claude/control/allowed", "claude-stream-json/permission-allowed-obeyed"),
    ("input-unchanged", "claude/control/changed", "claude-stream-json/permission-changed-input-runs"),
    ("runs-unasked", "claude/control/late", "claude-stream-json/permission-awaited"),
    ("asks-twice", "claude/control/allowed", "claude-stream-json/permission-asked-once"),
    ("asks-other-input", "claude/control/late", "claude-stream-json/permission-input-as-called"),
    ("asks-after-result", "claude/control/allowed", "claude-stream-json/permission-of-open-call"),
    ("same-request-id", "claude/host", "claude-stream-json/control-requests-unique"),
    ("answers-other-id", "claude/orders/mode", "claude-stream-json/control-answers-asked"),
    ("answers-twice", "claude/orders/mode", "claude-stream-json/control-answers-once"),
    ("never-answers", "claude/orders/mode", "step: step 3 waited in vain"),
    ("interrupt-ignored", "claude/interrupted", "claude-stream-json/interrupt-ends-answer"),
    ("set-model-ignored", "claude/orders/model", "claude-stream-json/set-model-obeyed"),
    ("set-mode-ignored", "claude/orders/mode", "claude-stream-json/set-permission-mode-obeyed"),
    ("hook-unknown", "claude/host", "claude-stream-json/hook-callbacks-known"),
    ("hook-ignored", "claude/host", "claude-stream-json/hook-denial-obeyed"),
    ("mcp-other-server", "claude/host", "claude-stream-json/mcp-messages-to-known-servers"),
    ("mcp-result-lost", "claude/host", "claude-stream-json/host-result-as-given"),
    ("replay-lost", "claude/control/shown-again", "claude-stream-json/user-messages-shown-again"),
    // What was asked is not done.
    ("session-id-ignored", "claude/asked/session-id", "claude-stream-json/session-id-obeyed"),
    ("session-id-ignored", "claude/asked/session-id-json", "claude-json/session-id-obeyed"),
    ("resume-elsewhere", "claude/history/resumed", "claude-stream-json/resume-obeyed"),
    ("continue-ignored", "claude/history/continued", "claude-stream-json/session-continued"),
    ("fork-ignored", "claude/history/forked", "claude-stream-json/fork-obeyed"),
    ("fork-ignored", "claude/history/forked-json", "claude-json/fork-obeyed"),
    ("history-lost", "claude/history/resumed", "claude-stream-json/history-kept"),
    ("model-ignored", "claude/asked/model", "claude-stream-json/model-asked"),
    ("model-ignored", "claude/asked/model-json", "claude-json/model-asked"),
    ("max-turns-ignored", "claude/kept-within/max-turns", "claude-stream-json/max-turns-obeyed"),
    ("budget-ignored", "claude/kept-within/budget", "claude-stream-json/budget-obeyed"),
    ("schema-ignored", "claude/conforming/stream", "claude-stream-json/json-schema-obeyed"),
    ("schema-ignored", "claude/conforming/json", "claude-json/json-schema-obeyed"),
    (
        "permission-mode-ignored",
        "claude/asked/permission-mode-plan",
        "claude-stream-json/permission-mode-obeyed",
    ),
    ("allowed-tools-ignored", "claude/kept-within/allowed-tools", "claude-stream-json/allowed-tools-obeyed"),
    ("allowed-tools-ignored", "claude/kept-within/allowed-tools-json", "claude-json/allowed-tools-obeyed"),
    (
        "disallowed-tools-ignored",
        "claude/kept-within/disallowed-tools",
        "claude-stream-json/disallowed-tools-obeyed",
    ),
    ("system-prompt-ignored", "claude/asked/system-prompt", "claude-stream-json/system-prompt-sent"),
    ("system-prompt-ignored", "claude/asked/append-system-prompt-json", "claude-json/system-prompt-sent"),
    ("cwd-wrong", "claude/answers/stream", "claude-stream-json/cwd-in-init"),
    ("version-wrong", "claude/answers/stream", "claude-stream-json/version-in-init"),
    ("prompt-cut", "claude/asked/large-stdin", "claude-stream-json/stdin-sent"),
    ("prompt-mangled", "claude/asked/unicode", "claude-stream-json/prompt-sent"),
    ("prompt-mangled", "claude/asked/unicode-json", "claude-json/prompt-sent"),
    ("stdin-lost", "claude/asked/stdin-and-prompt", "claude-stream-json/stdin-sent"),
    ("stdin-lost", "claude/asked/stdin-and-prompt-text", "claude-text/stdin-sent"),
    ("slash-arguments-lost", "claude/asked/slash-arguments", "claude-stream-json/slash-arguments-sent"),
    ("key-other", "claude/answers/stream", "claude-stream-json/key-sent"),
    ("key-other", "claude/answers/text", "claude-text/key-sent"),
    ("late-exit", "claude/answers/stream", "claude-stream-json/exits-after-result"),
    ("crash", "claude/answers/stream", "verdict: expected ok, found crash (signal)"),
    ("panic", "claude/answers/stream", "verdict: expected ok, found crash (panic)"),
    ("endless-output", "claude/answers/stream", "verdict: expected ok, found timeout (output-limit)"),
    ("silent", "claude/answers/stream", "verdict: expected ok, found timeout (first-event)"),
    ("stalls", "claude/answers/stream", "verdict: expected ok, found timeout (idle)"),
    ("ignores-term", "claude/answers/stream", "verdict: expected ok, found timeout (first-event)"),
    ("closes-stdout", "claude/answers/stream", "verdict: expected ok, found truncated"),
    ("leaves-child", "claude/answers/stream", "leftover: left running: sleep 600"),
    ("leaves-child", "claude/answers/stream", "claude-stream-json/nothing-left-running"),
    ("leaves-child", "claude/answers/text", "claude-text/nothing-left-running"),
    ("leaves-session", "claude/answers/stream", "leftover: left running: sleep 600"),
    ("leaves-daemon", "claude/answers/stream", "leftover: left running: sleep 600"),
    ("leaves-socket", "claude/answers/stream", "leftover: left running: "),
    // MCP servers.
    ("mcp-dead-connected", "claude/mcp/exits", "claude-stream-json/mcp-connected-answered"),
    ("mcp-live-failed", "claude/mcp/stdio", "claude-stream-json/mcp-working-connected"),
    ("mcp-server-untold", "claude/mcp/stdio", "claude-stream-json/mcp-servers-told"),
    ("mcp-tool-invented", "claude/mcp/stdio", "claude-stream-json/mcp-tools-exist"),
    ("mcp-call-invented", "claude/mcp/stdio", "claude-stream-json/mcp-call-arrived"),
    ("mcp-call-invented", "claude/mcp/json", "claude-json/mcp-call-arrived"),
    ("mcp-call-invented", "claude/mcp/text", "claude-text/mcp-call-arrived"),
    ("mcp-call-twice", "claude/mcp/stdio", "claude-stream-json/mcp-call-as-asked"),
    ("mcp-call-twice", "claude/mcp/http", "claude-stream-json/mcp-call-as-asked"),
    ("mcp-call-twice", "claude/mcp/json", "claude-json/mcp-call-as-asked"),
    ("mcp-arguments-changed", "claude/mcp/stdio", "claude-stream-json/mcp-call-as-asked"),
    ("mcp-arguments-changed", "claude/mcp/text", "claude-text/mcp-call-as-asked"),
    ("mcp-result-invented", "claude/mcp/stdio", "claude-stream-json/mcp-result-as-given"),
    ("mcp-result-invented", "claude/mcp/json", "claude-json/mcp-result-as-given"),
    ("mcp-result-invented", "claude/mcp/text", "claude-text/mcp-result-as-given"),
    ("mcp-error-hidden", "claude/mcp/fails", "claude-stream-json/mcp-failure-as-given"),
    ("mcp-error-hidden", "claude/mcp/dies-in-a-call", "claude-stream-json/mcp-failure-as-given"),
    ("mcp-server-left", "claude/mcp/stays", "claude-stream-json/nothing-left-running"),
    ("mcp-server-left", "claude/mcp/ignores-term", "leftover: left running: "),
    ("cut-line", "claude/commands/long-list", "claude-commands/document-not-cut"),
    ("mcp-dead-connected", "claude/commands/servers", "stdout: stdout does not contain"),
    ("mcp-live-failed", "claude/commands/server-that-works", "stdout: stdout does not contain"),
    ("worker-no-boot", "events/worker/strict", "claws-events/boot-05"),
    ("worker-skips-phase", "events/worker/strict", "claws-events/ph-06"),
    ("worker-silent", "events/worker/strict", "claws-events/hb-04"),
    ("worker-forges-sender", "events/worker/strict", "claws-events/env-14"),
    ("worker-completes-twice", "events/worker/strict", "claws-events/cm-04"),
];

/// Those that do no harm here: the one shows on a terminal only, and the other meets a reader that is quick enough.
const HARMLESS: &[(&str, &str)] =
    &[("terminal-prefix", "claw/status/ok"), ("drops-output", "claude/answers/stream")];

/// Seen only where the kernel gives the target a view of the file system of its own: tested in `containment`.
const ELSEWHERE: &[&str] = &["writes-outside"];

/// Those that break a clause which does not fail a gate: the documents contradict each other or leave it open. The finding is reported, and its level says why the case still passes.
const NOTICED: &[(&str, &str, &str)] = &[
    ("stderr-warning", "claw/status/ok", "claw-stdout/stderr-silent"),
    ("stderr-warning", "claw/quiet/format-twice", "claw-stdout/stderr-silent"),
    ("mcp-stderr", "claw/quiet/mcp-server", "claw-stdout/stderr-silent"),
    ("huge-stderr", "claw/status/ok", "claw-stdout/stderr-silent"),
];

/// The reference target's file with short timers and a small limit on output.
fn impatient() -> TempDir {
    let text = include_str!("../../targets/reference.toml")
        .replace("first_event_ms = 10000", "first_event_ms = 5000\nmost_stdout = 8000000")
        .replace("idle_ms = 10000", "idle_ms = 1500")
        .replace("after_result_ms = 5000", "after_result_ms = 400");
    folder_with(&[("targets/reference.toml", &text), ("clawgate.toml", "")])
}

/// The exit code, why the case failed, and every clause that was found broken.
fn reasons(target: &str, case: &str) -> (Option<i32>, Vec<String>, Vec<String>) {
    let folder = impatient();
    let output = process(&folder)
        .args(["run", case, "--target", target, "--format", "json", "--out", "out"])
        .output()
        .unwrap();
    let mut finished = json_lines(&output.stdout);
    finished.retain(|event| event["type"] == "case-finished");
    let [case] = &finished[..] else {
        panic!("{target}: {finished:?}{}", String::from_utf8_lossy(&output.stderr))
    };
    let failures = case["failures"].as_array().unwrap().iter();
    let said = failures.map(|failure| {
        format!("{}: {}", failure["kind"].as_str().unwrap(), failure["message"].as_str().unwrap())
    });
    let findings = case["findings"].as_array().unwrap().iter();
    let clauses = findings.map(|finding| finding["clause"].as_str().unwrap().to_owned());
    (output.status.code(), said.collect(), clauses.collect())
}

#[test]
fn every_misbehaviour_is_caught_by_what_it_breaks() {
    for (name, _) in MISBEHAVIOURS {
        let known = CAUGHT.iter().chain(NOTICED).any(|(caught, ..)| caught == name)
            || HARMLESS.iter().any(|(harmless, _)| harmless == name)
            || ELSEWHERE.contains(name);
        assert!(known, "nothing catches {name}");
    }
    let missed: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                scope.spawn(move || {
                    let mine = CAUGHT.iter().skip(worker).step_by(4);
                    mine.filter_map(|(name, case, wanted)| {
                        let (code, reasons, _) = reasons(&format!("reference+{name}"), case);
                        let is_caught = reasons.iter().any(|reason| reason.contains(wanted));
                        let fails = code == Some(100);
                        (!is_caught || !fails)
                            .then(|| format!("{name}: exit {code:?}, wanted {wanted}, got {reasons:#?}"))
                    })
                    .collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn what_no_document_settles_is_noticed_and_passes() {
    for (name, case, clause) in NOTICED {
        let (code, reasons, mut clauses) = reasons(&format!("reference+{name}"), case);
        clauses.dedup();
        assert_eq!(clauses, [*clause], "{name}");
        assert_eq!(code, Some(0), "{name}: {reasons:?}");
    }
}

#[test]
fn what_does_no_harm_here_passes() {
    for (name, case) in HARMLESS {
        let (code, reasons, clauses) = reasons(&format!("reference+{name}"), case);
        assert_eq!((code, &reasons[..], &clauses[..]), (Some(0), &[][..], &[][..]), "{name}");
    }
}

#[test]
fn without_a_misbehaviour_the_same_cases_pass() {
    let mut cases: Vec<&str> = CAUGHT.iter().chain(NOTICED).map(|(_, case, _)| *case).collect();
    cases.sort_unstable();
    cases.dedup();
    let folder = impatient();
    let mut command = process(&folder);
    let output =
        command.arg("run").args(&cases).args(["--fail-on", "should", "--out", "out"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}
