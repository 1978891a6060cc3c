//! What the real CLI says when something around it fails, and what the verdict makes of it.

use clawgate::classify::Verdict;
use clawgate::judge::{self, Contracts, Options};
use clawgate::recording::{Facts, Recording};
use serde_json::{Value, json};

thread_local! {
    /// Opening the contracts takes longer than a verdict.
    static CONTRACTS: Contracts = Contracts::built_in();
}

/// A recording of a Claude CLI with these messages, to which `more` adds or replaces fields.
fn judged(messages: &[Value], stderr: &str, more: &Value) -> Verdict {
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    judged_output(&(lines.join("\n") + "\n"), stderr, more)
}

fn judged_output(stdout: &str, stderr: &str, more: &Value) -> Verdict {
    let mut facts = json!({
        "schema_version": 1, "target": "claude", "target_version": "2.1.325", "scenario": "s",
        "exit": {"code": 0}, "argv": ["claude", "-p", "Go on.", "--output-format", "stream-json"],
    });
    facts.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let facts = Facts::parse(facts.to_string().as_bytes()).unwrap();
    let recording = Recording::new(facts, stdout.into(), stderr.into());
    let judgement = CONTRACTS.with(|contracts| judge::recording(&recording, contracts, &Options::default()));
    judgement.unwrap().verdict.unwrap()
}

fn named(verdict: &Verdict) -> String {
    let detail = verdict.detail.as_ref().map(|detail| format!("/{detail}")).unwrap_or_default();
    format!("{}{detail}", verdict.class)
}

fn advisories(verdict: &Verdict) -> Vec<&'static str> {
    verdict.advisories.iter().map(|advisory| advisory.name()).collect()
}

fn rules(verdict: &Verdict) -> Vec<&str> {
    verdict.evidence.iter().map(|evidence| &*evidence.rule).collect()
}

fn init() -> Value {
    json!({"type": "system", "subtype": "init", "model": "m", "session_id": "s", "slash_commands": ["clear", "greet", "kit:shine"]})
}

fn said(text: &str) -> Value {
    json!({"type": "assistant", "message": {"id": "1", "model": "m", "content": [{"type": "text", "text": text}]}})
}

fn done(text: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": text, "stop_reason": "end_turn"})
}

fn retry(status: Option<i64>, error: &str) -> Value {
    json!({"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": status, "error": error})
}

/// A failed result as the CLI prints it, after the assistant message that carries the error.
fn failed(error: &str, status: Option<i64>, kind: Option<&str>, text: &str) -> [Value; 3] {
    let synthetic = json!({"model": "<synthetic>", "content": [{"type": "text", "text": text}]});
    [
        init(),
        json!({"type": "assistant", "error": error, "message": synthetic}),
        json!({
            "type": "result", "subtype": "success", "is_error": true, "num_turns": 1, "stop_reason": "stop_sequence",
            "terminal_reason": "api_error", "api_error_status": status, "api_error_type": kind, "result": text,
        }),
    ]
}

/// What CLI 2.1.197, 2.1.238 and 2.1.325 were seen to print: the error of the assistant message, the status, the type
/// and the text of the result; then the verdict, who is blamed, and whether a retry may help.
#[test]
#[expect(clippy::too_many_lines, reason = "the list of failures is as long as it is")]
fn a_failed_request_is_named_by_what_the_cli_says_of_it() {
    let invalid = Some("invalid_request_error");
    let rows = [
        // What came back was cut or is no answer.
        (
            "unknown",
            None,
            None,
            "API Error: Stream ended without receiving any events",
            "api/connection",
            "provider",
            true,
        ),
        (
            "unknown",
            None,
            None,
            "API Error: JSON Parse error: Unexpected EOF",
            "api/connection",
            "provider",
            true,
        ),
        (
            "unknown",
            None,
            None,
            "API Error: Unexpected token '<', \"<html>\" is not valid JSON",
            "api/connection",
            "provider",
            true,
        ),
        ("unknown", None, None, "API Error: Content block not found", "api/connection", "provider", true),
        ("unknown", None, None, "API Error: terminated", "api/connection", "provider", true),
        (
            "unknown",
            None,
            None,
            "API Error: The socket connection was closed unexpectedly",
            "api/connection",
            "provider",
            true,
        ),
        (
            "unknown",
            None,
            None,
            "API Error: other side closed: Socket is closed",
            "api/connection",
            "provider",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: Connection to the API was lost (StreamTruncated). This is usually temporary — try again.",
            "api/connection",
            "provider",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.",
            "api/connection",
            "provider",
            true,
        ),
        ("unknown", None, None, "API Error: the model was odd", "api/unknown", "provider", false),
        // Nobody was reached.
        (
            "server_error",
            None,
            None,
            "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
            "api/connection",
            "environment",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: Unable to connect to API (ConnectionRefused)",
            "api/connection",
            "environment",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: Can't reach the API server — check your internet or DNS (EAI_AGAIN)",
            "api/connection",
            "environment",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: getaddrinfo ENOTFOUND api.example.invalid",
            "api/connection",
            "environment",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: No internet route — check your connection or VPN (ENETUNREACH)",
            "api/connection",
            "environment",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: Unable to connect to API (FailedToOpenSocket)",
            "api/connection",
            "environment",
            true,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: connect EHOSTUNREACH 10.0.0.1:443",
            "api/connection",
            "environment",
            true,
        ),
        // The address is wrong, and stays so.
        (
            "server_error",
            None,
            None,
            "API Error: Unable to connect to API (EPROTO)",
            "api/connection",
            "environment",
            false,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: Unable to connect to API (UNKNOWN_CERTIFICATE_VERIFICATION_ERROR)",
            "api/connection",
            "environment",
            false,
        ),
        (
            "server_error",
            None,
            None,
            "API Error: Unable to connect to API (ERR_INVALID_ARG_VALUE)",
            "api/connection",
            "environment",
            false,
        ),
        ("unknown", None, None, "API Error: Invalid URL", "api/connection", "environment", false),
        (
            "unknown",
            None,
            None,
            "API Error: \"not a url/v1/messages?beta=true\" cannot be parsed as a URL.",
            "api/connection",
            "environment",
            false,
        ),
        // A gateway that answers was reached.
        (
            "server_error",
            Some(502),
            None,
            "API Error: 502 connect ECONNREFUSED",
            "api/server_error",
            "provider",
            true,
        ),
        // The account, not the request.
        (
            "unknown",
            Some(400),
            invalid,
            "API Error: 400 You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
            "api/billing",
            "provider",
            false,
        ),
        (
            "unknown",
            None,
            None,
            "API Error: You have reached your specified API usage limits.",
            "api/billing",
            "provider",
            false,
        ),
        (
            "unknown",
            Some(400),
            invalid,
            "API Error: 400 Your credit balance is too low to access the Anthropic API.",
            "api/billing",
            "provider",
            false,
        ),
        ("billing_error", Some(400), invalid, "Credit balance is too low", "api/billing", "provider", false),
        (
            "invalid_request",
            Some(400),
            invalid,
            "Your ANTHROPIC_API_KEY belongs to a disabled organization · Update or unset the environment variable",
            "auth",
            "environment",
            false,
        ),
        (
            "unknown",
            Some(400),
            invalid,
            "API Error: 400 This organization has been disabled.",
            "auth",
            "environment",
            false,
        ),
        (
            "unknown",
            Some(407),
            invalid,
            "API Error: 407 Proxy Authentication Required",
            "auth",
            "environment",
            false,
        ),
        (
            "unknown",
            Some(400),
            invalid,
            "API Error: 400 tools.3.name: `disable_account` is too long",
            "api/invalid_request",
            "provider",
            false,
        ),
        (
            "unknown",
            Some(400),
            invalid,
            "API Error: 400 the limit of tools is 64",
            "api/invalid_request",
            "provider",
            false,
        ),
        // The request, not the context.
        (
            "invalid_request",
            Some(413),
            Some("request_too_large"),
            "Request too large (max 32MB). Remove older images or compact the conversation.",
            "api/invalid_request",
            "provider",
            false,
        ),
        (
            "unknown",
            None,
            Some("request_too_large"),
            "Prompt is too long",
            "api/invalid_request",
            "provider",
            false,
        ),
        (
            "invalid_request",
            Some(400),
            invalid,
            "Prompt is too long · the request is ~204291 tokens",
            "api/context_window",
            "provider",
            false,
        ),
        // The answer.
        (
            "unknown",
            Some(400),
            invalid,
            "API Error: 400 Output blocked by content filtering policy",
            "api/refusal",
            "provider",
            false,
        ),
        (
            "unknown",
            None,
            invalid,
            "API Error: Output blocked by content filtering policy",
            "api/refusal",
            "provider",
            false,
        ),
        (
            "unknown",
            None,
            None,
            "API Error: Output blocked by content filtering policy",
            "api/refusal",
            "provider",
            false,
        ),
    ];
    for (error, status, kind, text, class, blame, retryable) in rows {
        let verdict = judged(&failed(error, status, kind, text), "", &json!({"exit": {"code": 1}}));
        let seen = (named(&verdict), verdict.blame.to_string(), verdict.retryable);
        assert_eq!(seen, (class.to_owned(), blame.to_owned(), retryable), "{text}: {:?}", verdict.evidence);
        // In text mode there is nothing but the text.
        let argv = json!({"exit": {"code": 1}, "argv": ["claude", "-p", "Go on."]});
        let text_mode = judged_output(&format!("{text}\n"), "", &argv);
        if status.is_none() && kind.is_none() {
            assert_eq!(named(&text_mode), class, "text: {text}");
            assert_eq!(text_mode.blame.to_string(), blame, "text: {text}");
        }
    }
}

#[test]
fn a_connection_that_failed_before_any_request_is_the_environments() {
    let lost = failed("server_error", None, None, "Request timed out");
    let blame = |requests: Value| {
        let verdict = judged(&lost, "", &json!({"exit": {"code": 1}, "requests": requests}));
        (named(&verdict), verdict.blame.to_string())
    };
    assert_eq!(blame(json!([])), ("api/connection".to_owned(), "environment".to_owned()));
    assert_eq!(blame(json!([{"number": 1}])), ("api/connection".to_owned(), "provider".to_owned()));
}

#[test]
fn a_timer_that_fired_while_the_provider_failed_is_the_providers() {
    for timer in ["wall", "idle"] {
        let exit = json!({"exit": {"code": 143, "timed_out": timer}, "requests": [{"number": 1}]});
        for (status, error, class, blame) in [
            (Some(529), "overloaded", "api/overloaded", "provider"),
            (Some(500), "server_error", "api/server_error", "provider"),
            (Some(429), "rate_limit", "rate_limit", "provider"),
            (Some(401), "authentication_failed", "auth", "environment"),
            (Some(407), "unknown", "auth", "environment"),
            (Some(503), "unknown", "api/server_error", "provider"),
            (None, "unknown", "api/connection", "provider"),
        ] {
            let again = retry(status, error);
            let verdict = judged(&[init(), again.clone(), again], "", &exit);
            assert_eq!(
                (named(&verdict).as_str(), verdict.blame.to_string().as_str()),
                (class, blame),
                "{error}"
            );
            assert_eq!(advisories(&verdict), ["timed_out", "retried"]);
            assert_eq!(rules(&verdict)[0], "api-retry");
            assert_eq!(rules(&verdict).last(), Some(&"timer"));
        }
    }
    // Nothing listens there at all.
    let refused = json!({"exit": {"timed_out": "wall"}, "requests": []});
    let refused = judged(&[init(), retry(None, "unknown")], "", &refused);
    assert_eq!((named(&refused), refused.blame.to_string()), ("api/connection".into(), "environment".into()));
}

#[test]
fn a_provider_that_has_answered_since_is_no_cause_of_a_timeout() {
    let exit = json!({"exit": {"signal": 9, "timed_out": "idle"}});
    let began = json!({"type": "stream_event", "event": {"type": "message_start"}});
    for answered in [said("Here I am."), began] {
        let stalled = judged(&[init(), retry(Some(529), "overloaded"), answered], "", &exit);
        assert_eq!((named(&stalled).as_str(), advisories(&stalled)), ("timeout/idle", vec!["retried"]));
    }
    assert_eq!(named(&judged(&[init()], "", &exit)), "timeout/idle");
    // Without a timer it was not the provider that ended the process.
    let killed = judged(&[init(), retry(Some(529), "overloaded")], "", &json!({"exit": {"signal": 9}}));
    assert_eq!(named(&killed), "crash/signal");
    // A pass after the first result may be ended by a timer as well.
    let again = [init(), said("1"), done("1"), said("2"), retry(Some(529), "overloaded")];
    assert_eq!(named(&judged(&again, "", &exit)), "api/overloaded");
}

#[test]
fn our_own_refusal_of_a_request_is_the_harness_and_names_the_turn() {
    let unmatched = json!([
        {"number": 1, "method": "POST", "path": "/v1/messages", "kind": "turn", "unmatched": null},
        {"number": 2, "method": "POST", "path": "/v1/messages", "kind": "unmatched",
         "unmatched": {"request": "{\"messages\":[]}", "nearest": "turn-1", "line": 8, "because": ["turn: expected 1, found 2"]}},
    ]);
    let refusal =
        failed("unknown", Some(400), Some("invalid_request_error"), "API Error: 400 clawgate: no turn");
    let plausible = vec![init(), said("All done."), done("All done.")];
    for (messages, code) in [(refusal.to_vec(), 1), (plausible, 0)] {
        let more = json!({"exit": {"code": code}, "requests": unmatched.clone()});
        let verdict = judged(&messages, "", &more);
        assert_eq!(named(&verdict), "harness/unmatched-request");
        assert_eq!((verdict.blame.to_string().as_str(), verdict.counts), ("harness", false));
        let told: Vec<_> = verdict.evidence.iter().filter_map(|evidence| evidence.value.as_str()).collect();
        assert_eq!(
            told,
            [
                "request 2: POST /v1/messages",
                "turn-1 (line 8): turn: expected 1, found 2",
                "{\"messages\":[]}"
            ]
        );
        // Another protocol is no excuse.
        let claw = json!({"exit": {"code": code}, "requests": unmatched, "target": "claw", "argv": ["claw", "--output-format", "json", "-p", "x"]});
        assert_eq!(named(&judged_output("{\"message\":\"x\"}\n", "", &claw)), "harness/unmatched-request");
    }
    let matched = json!({"requests": [{"number": 1, "kind": "turn", "unmatched": null}]});
    assert_eq!(named(&judged(&[init(), said("x"), done("x")], "", &matched)), "ok");
}

#[test]
fn an_uncaught_exception_is_a_crash_with_the_last_words() {
    let trace = "warming up\nTraceback (most recent call last):\n  File \"cli.py\", line 3, in <module>\nKeyError: 'model'\n";
    for (target, argv) in [
        ("claude", json!(["claude", "-p", "x", "--output-format", "stream-json"])),
        ("claw", json!(["claw", "--output-format", "json", "status"])),
    ] {
        let more = json!({"exit": {"code": 1}, "target": target, "argv": argv});
        let verdict = judged_output("", trace, &more);
        assert_eq!(named(&verdict), "crash/exception", "{target}");
        assert_eq!(rules(&verdict), ["uncaught-exception", "stderr"]);
        assert!(verdict.evidence[1].value.as_str().unwrap().ends_with("KeyError: 'model'"));
        // A trace of a process that ends well was caught, and a message is none.
        assert_ne!(
            named(&judged_output("", trace, &json!({"target": target, "argv": argv}))),
            "crash/exception"
        );
        assert_ne!(named(&judged_output("", "error: no such option\n", &more)), "crash/exception");
    }
    let long = format!("{}\nthread 'main' panicked at src/main.rs:2:5:\nboom", "noise\n".repeat(1000));
    let verdict = judged(&[init()], &long, &json!({"exit": {"code": 134}}));
    let words = verdict.evidence[1].value.as_str().unwrap();
    assert!(words.starts_with("noise\n") && words.ends_with("boom"), "{words}");
    // A result that was printed says more than the trace after it.
    let late = judged(&[init(), said("x"), done("x")], trace, &json!({"exit": {"code": 1}}));
    assert_eq!(named(&late), "crash/exit-code");
}

#[test]
fn a_process_that_lingers_after_its_last_word_is_late() {
    let run = [init(), said("x"), done("x")];
    let ends = |duration: u64, exit: Value| {
        let more = json!({"exit": exit, "duration_ms": duration, "arrivals": [[0, 100.0], [50, 1000.0]]});
        let verdict = judged(&run, "", &more);
        (named(&verdict), advisories(&verdict), rules(&verdict).join(" "))
    };
    assert_eq!(ends(6100, json!({"code": 0})), ("ok".into(), vec!["late_exit"], "result late-exit".into()));
    assert_eq!(ends(5900, json!({"code": 0})), ("ok".into(), vec![], "result".into()));
    assert_eq!(ends(9000, json!({"signal": 9, "timed_out": "after-result"})).1, ["late_exit"]);
    assert_eq!(ends(9000, json!({"code": 1})).0, "crash/exit-code");
    // Without a result there is nothing to be late after.
    let more = json!({"duration_ms": 9000, "arrivals": [[0, 100.0]]});
    assert_eq!(advisories(&judged(&[init()], "", &more)), [""; 0]);
    let claw = json!({"target": "claw", "argv": ["claw", "--output-format", "json", "status"], "duration_ms": 9000, "arrivals": [[0, 1.0]]});
    assert_eq!(
        advisories(&judged_output("{\"kind\":\"status\",\"status\":\"ok\"}\n", "", &claw)),
        ["late_exit"]
    );
}

#[test]
fn what_a_question_to_the_user_got_for_an_answer_decides() {
    let ask = json!({"type": "assistant", "message": {"model": "m", "content": [{"type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": {}}]}});
    let answer = |text: &str, is_error: bool| json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "q", "content": text, "is_error": is_error}]}});
    let class = |messages: &[Value]| {
        let all = [&[init()], messages, &[said("I chose red."), done("I chose red.")]].concat();
        named(&judged(&all, "", &json!({})))
    };
    for text in [
        "The user did not answer the questions.",
        "No answer was given.",
        "User declined to answer questions",
        "",
    ] {
        assert_eq!(class(&[ask.clone(), answer(text, false)]), "interactive", "{text}");
    }
    assert_eq!(
        class(&[ask.clone(), answer("Tool permission request failed: Stream closed", true)]),
        "interactive"
    );
    assert_eq!(class(std::slice::from_ref(&ask)), "interactive");
    for text in [
        "User has answered your questions: \"Which color?\"=\"red\".",
        "\"Shall I?\"=\"no answer needed\"",
        "red",
    ] {
        assert_eq!(class(&[ask.clone(), answer(text, false)]), "ok", "{text}");
    }
    // A call that failed may be put again; an answer to the next question is none to this one.
    let answered = answer("red", false);
    let refused = answer("InputValidationError", true);
    assert_eq!(class(&[ask.clone(), refused, ask.clone(), answered.clone()]), "ok");
    assert_eq!(
        class(&[ask.clone(), answer("The user did not answer.", false), ask, answered]),
        "interactive"
    );
}

#[test]
fn an_offer_after_finished_work_is_no_question() {
    let text = "All set up. Would you like me to deploy it?";
    let call = |tool: &str| json!({"type": "assistant", "message": {"model": "m", "content": [{"type": "tool_use", "id": "t", "name": tool, "input": {}}]}});
    let answer = |is_error: bool| json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": is_error}]}});
    let class = |tools: &[Value], files: Value| {
        let all = [&[init()], tools, &[said(text), done(text)]].concat();
        named(&judged(&all, "", &json!({"files": files})))
    };
    assert_eq!(class(&[], json!([])), "interactive", "nothing shows that it is done");
    assert_eq!(class(&[call("Read"), answer(false)], json!([])), "interactive", "looking is not doing");
    assert_eq!(class(&[call("Edit"), answer(true)], json!([])), "interactive", "it failed");
    assert_eq!(class(&[call("Edit"), answer(false)], json!([])), "ok");
    assert_eq!(class(&[], json!([{"path": "work/deploy.yml"}])), "ok");
    assert_eq!(class(&[], json!([{"path": "home/.claude.json"}])), "interactive", "its own files");
    // What it waits for is asked all the same.
    let asks = [
        init(),
        call("Edit"),
        answer(false),
        said("x"),
        done("I've made a start. Should I proceed with the rest?"),
    ];
    assert_eq!(named(&judged(&asks, "", &json!({}))), "interactive");
}

#[test]
fn a_command_of_the_cli_itself_may_say_nothing_and_says_when_it_failed() {
    let local = |source: &str, text: &str| json!({"type": "assistant", "local_command_source": source, "message": {"model": "<synthetic>", "content": [{"type": "text", "text": text}]}});
    let result = |text: &str| json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 0, "result": text, "stop_reason": null});
    let reset = json!({"type": "conversation_reset", "new_conversation_id": "n", "trigger": "clear", "session_id": "old"});
    let cleared = judged(
        &[reset, init(), result("")],
        "",
        &json!({"requests": [{"number": 1, "method": "HEAD", "path": "/"}]}),
    );
    assert_eq!((named(&cleared).as_str(), advisories(&cleared)), ("ok", vec![]));
    // A model that was asked and says nothing is no local command.
    let silent = judged(
        &[init(), result("")],
        "",
        &json!({"requests": [{"number": 1, "path": "/v1/messages", "kind": "turn"}]}),
    );
    assert_eq!(named(&silent), "no_output");

    for (source, text) in [
        (
            "<local-command-stderr>Error: No messages to compact</local-command-stderr>",
            "Error: No messages to compact",
        ),
        ("<local-command-stderr>it broke</local-command-stderr>", "it broke"),
        ("<local-command-stdout>x</local-command-stdout>", "/help isn't available in this environment."),
        ("<local-command-stdout>x</local-command-stdout>", "Unknown output style \"nosuch\"."),
        ("", "Invalid argument: nosuch. Valid options are: low, high"),
    ] {
        let failed = judged(&[init(), local(source, text), result("")], "", &json!({}));
        assert_eq!(
            (named(&failed).as_str(), advisories(&failed)),
            ("ok", vec!["local_command_failed"]),
            "{text}"
        );
        assert_eq!(rules(&failed).last(), Some(&"local-command-failed"));
    }
    for text in ["Set model to `haiku`", "No goal set. Usage: `/goal <condition>`", "(no content)"] {
        let fine = judged(&[init(), local("", text), result(text)], "", &json!({}));
        assert_eq!((named(&fine).as_str(), advisories(&fine)), ("ok", vec![]), "{text}");
    }
}

#[test]
fn a_slash_command_that_nobody_knows_is_told_of() {
    let asked = |prompt: &str, messages: &[Value]| {
        let more = json!({"argv": ["claude", "-p", prompt, "--output-format", "stream-json"]});
        let verdict = judged(messages, "", &more);
        (named(&verdict), advisories(&verdict))
    };
    let answered = [init(), said("There is none."), done("There is none.")];
    assert_eq!(asked("/nosuch thing", &answered), ("ok".into(), vec!["not_found"]));
    for prompt in ["/greet me", "/shine", "/kit:shine", "/home/me is full", "What does /nosuch do?"] {
        assert_eq!(asked(prompt, &answered), ("ok".into(), vec![]), "{prompt}");
    }
    // Before 2.1.274 the CLI said so itself.
    let refused = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 0, "result": "Unknown command: /nosuch", "stop_reason": null});
    assert_eq!(asked("/nosuch", &[init(), refused]), ("not_found".into(), vec![]));
}

#[test]
fn claw_says_in_text_mode_what_does_not_exist() {
    let text = |stdout: &str, stderr: &str, code: i32| {
        let more = json!({"exit": {"code": code}, "target": "claw", "argv": ["claw", "load-session", "x"]});
        named(&judged_output(stdout, stderr, &more))
    };
    assert_eq!(text("session not found: x\n", "", 0), "not_found");
    assert_eq!(text("", "error: session 'x' not found in .claw/sessions\n", 0), "not_found");
    assert_eq!(text("", "error: \"session 'x' not found in .port_sessions\"\n", 1), "not_found");
    assert_eq!(text("", "failed to restore session: session not found: x\nHint: none\n", 1), "not_found");
    assert_eq!(text("", "[error-kind: missing_credentials]\nerror: no key\n", 1), "auth");
    assert_eq!(text("Loaded session x: 3 messages\n", "", 0), "ok");
    assert_eq!(text("The report\n\nsession x was not found by him\n", "", 0), "ok");
    assert_eq!(text("", "error: it broke\n", 1), "error");
}

#[test]
fn the_verdict_on_claw_carries_what_an_error_handler_needs() {
    let json_mode = |envelope: &Value| {
        let more = json!({"exit": {"code": 1}, "target": "claw", "argv": ["claw", "--output-format", "json", "load-session", "x"]});
        judged_output(&format!("{envelope}\n"), "", &more)
    };
    let long = "x".repeat(5000);
    let nested = json_mode(&json!({"error": {
        "kind": "session_not_found", "operation": "session_store.load_session", "target": "x", "retryable": true,
        "message": long, "hint": "list them",
    }}));
    let fields = nested.claw.as_ref().unwrap();
    assert_eq!(fields.message.as_deref(), Some(long.as_str()), "whole");
    assert_eq!(fields.operation.as_deref(), Some("session_store.load_session"));
    assert_eq!(fields.target.as_deref(), Some("x"));
    assert!(!nested.retryable, "it does not exist the next time either");
    let flat = json_mode(&json!({"type": "error", "kind": "filesystem", "error": "disk full"}));
    let fields = flat.claw.as_ref().unwrap();
    assert_eq!((fields.message.as_deref(), fields.operation.as_deref()), (Some("disk full"), None));
    assert!(flat.retryable);
    let refused = json_mode(
        &json!({"type": "error", "kind": "api_connection_error", "error": "tcp connect error: Connection refused (os error 111)"}),
    );
    assert_eq!((named(&refused), refused.blame.to_string()), ("api/connection".into(), "environment".into()));
}

#[test]
fn without_messages_a_command_of_the_cli_is_told_from_an_answer() {
    let asked = json!([{"number": 1, "path": "/v1/messages", "kind": "turn"}]);
    let text = |prompt: &str, stdout: &str, requests: &Value| {
        let more = json!({"argv": ["claude", "-p", prompt], "requests": requests});
        named(&judged_output(stdout, "", &more))
    };
    assert_eq!(text("/clear", "\n", &json!([])), "ok");
    let more = json!({"argv": ["claude", "-p", "/help"], "requests": []});
    let failed = judged_output("/help isn't available in this environment.\n", "", &more);
    assert_eq!(advisories(&failed), ["local_command_failed"]);
    assert_eq!(text("/greet", "\n", &asked), "no_output");
    assert_eq!(text("Say hello.", "\n", &json!([])), "no_output");
    assert_eq!(text("/nosuch", "Unknown command: /nosuch\n", &json!([])), "not_found");
    assert_eq!(text("/nosuch", "Unknown command: /nosuch\n", &asked), "ok", "a model says so");

    let document = |turns: u64, tokens: u64| {
        let result = json!({
            "type": "result", "subtype": "success", "is_error": false, "num_turns": turns, "stop_reason": "end_turn",
            "result": "Unknown command: /nosuch", "usage": {"input_tokens": tokens, "output_tokens": tokens},
        });
        let more = json!({"argv": ["claude", "-p", "/nosuch", "--output-format", "json"]});
        named(&judged_output(&format!("{result}\n"), "", &more))
    };
    assert_eq!(document(0, 0), "not_found");
    assert_eq!(document(1, 5), "ok", "a model says so");
}
