//! The corpus knows, for each recording of claw, which promises it keeps; the clauses must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clawgate::internals::schema::{Run, judge_output};
use clawgate::recording::Recording;
use clawgate::schema::ContractSet;

use crate::command::{ROOT, corpus};

/// Which clauses stand for a check of `verdicts.tsv`: it deviates when one of them is broken.
const CHECKS: &[(&str, &[&str])] = &[
    (
        "S1.single_json",
        &[
            "claw-stdout/stdout-not-empty",
            "claw-stdout/envelope-on-stdout",
            "claw-stdout/starts-at-byte-0",
            "claw-stdout/single-document",
            "claw-stdout/only-newline-after",
            "claw-stdout/json-syntax",
            "claw-stdout/complete-document",
            "claw-stdout/utf8",
            "claw-stdout/strict-numbers",
            "claw-stdout/no-lone-surrogates",
            "claw-stdout/no-duplicate-keys",
            "claw-stdout/json-object",
        ],
    ),
    ("S1.terminates", &["claw-stdout/terminates"]),
    ("S2.stderr_silent", &["claw-stdout/stderr-silent"]),
    ("S0.exit_in_0_1_2", &["claw-stdout/exit-code-range"]),
    ("S0.exit_code_matches", &["claw-stdout/exit-code-echo"]),
    ("S2.error_exit_nonzero", &["claw-stdout/error-exit-nonzero"]),
    ("S2.exit2_is_timeout", &["claw-stdout/exit-2-is-timeout", "claw-stdout/exit-2-says-timeout"]),
    ("S0.common_fields", &["claw-1.0/common-fields"]),
    ("S0.error_nested", &["claw-1.0/error-fields"]),
    ("S0.kind_enum", &["claw-1.0/error-kind"]),
    ("S0.nf_kind_enum", &["claw-1.0/not-found-kind"]),
    ("S0.not_found", &["claw-1.0/not-found-fields", "claw-1.0/not-found-identity"]),
    ("S0.turn", &["claw-1.0/turn-fields"]),
    ("S0.list-sessions.session_object", &["claw-1.0/session-object"]),
    ("S0.route.score_float", &["claw-1.0/route-score"]),
    ("S0.cmd.bootstrap", &["claw-1.0/cmd-bootstrap"]),
    ("S0.cmd.delete-session", &["claw-1.0/cmd-delete-session"]),
    ("S0.cmd.exec-command", &["claw-1.0/cmd-exec-command"]),
    ("S0.cmd.exec-tool", &["claw-1.0/cmd-exec-tool"]),
    ("S0.cmd.flush-transcript", &["claw-1.0/cmd-flush-transcript"]),
    ("S0.cmd.list-sessions", &["claw-1.0/cmd-list-sessions"]),
    ("S0.cmd.route", &["claw-1.0/cmd-route"]),
    ("S0.cmd.show-tool", &["claw-1.0/cmd-show-tool"]),
    ("S0.cmd.tool-pool", &["claw-1.0/cmd-tool-pool"]),
    ("S1.flat_error", &["claw-flat/error-fields"]),
    ("S1.kind_selected", &["claw-flat/error-kind-selected"]),
    ("S2.kind_set", &["claw-flat/error-kind-complete"]),
    ("S1.prompt", &["claw-flat/prompt-fields"]),
    ("S1.compact", &["claw-flat/compact-fields"]),
    ("S1.usage", &["claw-flat/usage-fields"]),
    ("S1.estimated_cost_fmt", &["claw-flat/estimated-cost"]),
    ("S1.status", &["claw-flat/status-fields"]),
    ("S1.status.usage", &["claw-flat/status-usage"]),
    ("S1.status.workspace", &["claw-flat/status-workspace"]),
    ("X.hint_null", &["claw-flat/error-hint"]),
    ("X.kind_unknown_fallthrough", &["claw-flat/error-kind-specific"]),
    ("X.kind_is_resource_not_error", &["claw-flat/error-kind-is-class"]),
];

/// Rows on which we differ, and why.
const DIFFERENCES: &[(&str, &str, &str, &str)] = &[
    ("claw-rust-69c326c2", "status_nohome", "S1.status.workspace", OUTSIDE_A_REPOSITORY),
    ("claw-rust-head", "status_nohome", "S1.status.workspace", OUTSIDE_A_REPOSITORY),
];

const OUTSIDE_A_REPOSITORY: &str =
    "project_root and git_branch are null outside a repository; the example only shows a run inside one";

const CONTRACTS: [&str; 4] = ["claw-stdout", "claw-1.0", "claw-flat", "claw-2.0"];

/// The flags of claw, as its target's file has them.
fn declared_flags() -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join("targets/claw.toml")).unwrap();
    let target: toml::Table = text.parse().unwrap();
    let flags = target["speaks"][0]["flags"].as_array().unwrap();
    flags.iter().map(|flag| flag.as_str().unwrap().to_owned()).collect()
}

/// The clauses that a recording breaks, of all claw contracts.
fn broken(directory: &Path, sets: &[ContractSet]) -> BTreeSet<String> {
    let recording = Recording::open(directory).unwrap_or_else(|error| panic!("{error}"));
    let read = |name: &str| fs::read(directory.join(name)).unwrap_or_default();
    let (stdout, stderr) = (read("stdout"), read("stderr"));
    let mut run = Run::of(&recording.facts);
    run.flags = Some(declared_flags());
    let findings = |set| judge_output(set, &run, Some(recording.facts.exit.clone()), &stdout, Some(&stderr));
    sets.iter().flat_map(findings).map(|finding| finding.clause).collect()
}

fn sets() -> Vec<ContractSet> {
    CONTRACTS.iter().map(|name| ContractSet::open(name).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn clauses_agree_with_the_verdicts_of_the_corpus() {
    let sets = sets();
    let mut rows = 0_usize;
    let mut wrong = Vec::new();
    let mut listed = 0_usize;
    for target in ["claw-py-71830d7d", "claw-py-97c4b130", "claw-rust-69c326c2", "claw-rust-head"] {
        let table = fs::read_to_string(corpus(target).join("verdicts.tsv")).unwrap();
        let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for row in table.lines().skip(1) {
            let [case, _, check, verdict, detail] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            // The documents say nothing about it, so neither can we.
            if verdict == "undefined" {
                continue;
            }
            rows += 1;
            let clauses = CHECKS.iter().find(|(name, _)| *name == check).map(|(_, clauses)| *clauses);
            let clauses = clauses.unwrap_or_else(|| panic!("no clause stands for {check}"));
            let broken = seen.entry(case).or_insert_with(|| broken(&corpus(target).join(case), &sets));
            let deviates = clauses.iter().any(|clause| broken.contains(*clause));
            if deviates == (verdict == "deviates") {
                continue;
            }
            let known = |row: &&(&str, &str, &str, &str)| (row.0, row.1, row.2) == (target, case, check);
            if DIFFERENCES.iter().any(|row| known(&row)) {
                listed += 1;
            } else {
                wrong.push(format!("{target} {case} {check}: {verdict} {detail}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {rows} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(listed, DIFFERENCES.len(), "a listed difference is gone");
    assert!(listed * 100 < rows, "{listed} of {rows} rows differ");
}

/// The violations that the Rust claw of August 2026 ships with, as numbered in the research, and the clause that finds
/// each. Left out are 9 (a swallowed SIGINT), 16 (arguable) and 19 (the file that was skipped is in no recording).
const LIVE: &[(u8, &str, &str)] = &[
    (2, "resume_two_cmds", "claw-stdout/single-document"),
    (2, "resume_then_fail_mid", "claw-stdout/single-document"),
    (3, "mock_bash_permission_prompt_approved", "claw-stdout/starts-at-byte-0"),
    (3, "mock_bash_perm_nostdin", "claw-stdout/starts-at-byte-0"),
    (4, "bad_asktool", "claw-stdout/starts-at-byte-0"),
    (5, "diff_nogit", "claw-stdout/error-exit-nonzero"),
    (5, "resume_cmd_clear", "claw-stdout/error-exit-nonzero"),
    (5, "resume_cmd_session_delete_nope", "claw-stdout/error-exit-nonzero"),
    (5, "resume_cmd_session_switch_nope", "claw-stdout/error-exit-nonzero"),
    (5, "resume_cmd_mcp_show_nope", "claw-stdout/error-exit-nonzero"),
    (6, "acp", "claw-stdout/exit-2-says-timeout"),
    (6, "resume_cmd_commit", "claw-stdout/exit-2-is-timeout"),
    (7, "x_unknown_flag_with_creds", "claw-flat/unknown-flag-refused"),
    (7, "x_unknown_sub_digits_with_creds", "claw-flat/unknown-command-refused"),
    (7, "x_unknown_sub_model_flag", "claw-flat/unknown-command-refused"),
    (8, "bad_trunc", "claw-flat/answer-has-usage"),
    (10, "bad_stallhdr", "claw-stdout/terminates"),
    (10, "bad_loop", "claw-stdout/terminates"),
    (11, "bad_s500_compact", "claw-stdout/terminates"),
    (12, "x_mcp_stdout_hang", "claw-stdout/terminates"),
    (13, "p_base_commit_stale", "claw-stdout/stderr-silent"),
    (13, "fmt_dup_text_json", "claw-stdout/stderr-silent"),
    (15, "x_state_passthrough_array", "claw-stdout/json-object"),
    (17, "mock_print_flag", "claw-stdout/json-syntax"),
    (18, "resume_cmd_clear_confirm", "claw-flat/status-everywhere"),
    (20, "resume_cmd_permissions", "claw-flat/error-kind-specific"),
];

/// Number, argv, exit code, stdout, stderr and the clause.
type Described = (u8, &'static [&'static str], i32, &'static str, &'static str, &'static str);

/// Violations whose recording is not in the corpus, as the run was described: exit code, stdout, stderr.
const DESCRIBED: &[Described] = &[
    (
        1,
        &["claw", "doctor", "--output-format", "json"],
        1,
        "{\"kind\":\"doctor\",\"status\":\"error\",\"has_failures\":true}\n{\"type\":\"error\",\"error\":\"doctor found failing checks\",\"kind\":\"unknown\",\"hint\":null}\n",
        "",
        "claw-stdout/single-document",
    ),
    (
        14,
        &["claw", "status", "--output-format", "json"],
        101,
        "",
        "thread 'main' panicked at src/main.rs:1:1:\nfailed printing to stdout: Broken pipe\n",
        "claw-stdout/exit-code-range",
    ),
];

#[test]
fn the_violations_that_ship_are_found() {
    let sets = sets();
    for (number, case, clause) in LIVE {
        let broken = broken(&corpus("claw-rust-head").join(case), &sets);
        assert!(broken.contains(*clause), "#{number} {case}: {clause} is not among {broken:?}");
    }
    for (number, argv, exit, stdout, stderr, clause) in DESCRIBED {
        let mut run = Run::default();
        run.argv = Some(argv.iter().map(ToString::to_string).collect());
        let exit = clawgate::recording::Exit::with_code(*exit);
        let findings = judge_output(&sets[0], &run, Some(exit), stdout.as_bytes(), Some(stderr.as_bytes()));
        assert!(findings.iter().any(|finding| finding.clause == *clause), "#{number}: {findings:?}");
    }
}
