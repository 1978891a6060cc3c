//! What is typed or written wrong: one sentence that says what, where and what to do next, and the right exit code.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use crate::files::write;
use crate::support::process;

/// A target file with these lines behind its head.
fn target(lines: &str) -> String {
    format!(
        "target = {{ name = \"mine\", program = \"./agent.sh\" }}\n[[speaks]]\ncontract = \"claude-stream-json\"\n{lines}\n"
    )
}

/// A scenario file with these lines behind its head.
fn scenario(lines: &str) -> String {
    format!("scenario = {{ name = \"mine\", contract = \"claude-stream-json\" }}\n{lines}\n")
}

/// A project with everything that the table is wrong about.
fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("empty")).unwrap();
    write(root, "run.ndjson", "{}\n");
    write(root, "clawgate.toml", "");
    for (name, script) in
        [("agent.sh", "#!/bin/sh\n"), ("fails.sh", "#!/bin/sh\necho no such flag >&2\nexit 2\n")]
    {
        let path = write(root, name, script);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    write(root, "no-bit.sh", "#!/bin/sh\n");
    write(root, "targets/mine.toml", target("prompt = [\"{prompt}\"]"));
    write(root, "url.toml", target("env = { BASE = \"{url}\" }"));
    write(root, "silent.toml", target("prompt = [\"-p\"]"));
    write(root, "clause.toml", scenario("api = \"plain\"").replace("}\napi", ", api").replace("\"plain\"", "\"plain\" }\n[run]\nprompt = \"hi\"\n[expect]\nfindings = [\"claude-stream-json/result-presnt\"]"));
    write(root, "turnless.toml", scenario("[run]\nprompt = \"hi\""));
    write(root, "no-api-turns.toml", scenario("[run]\nprompt = \"hi\"\n[api]\nseed = 1"));
    for name in ["one.toml", "two.toml"] {
        write(root, &format!("twice/{name}"), scenario("[run]\nargs = [\"x\"]"));
    }
    folder
}

/// What is typed, a part of what is said, and the exit code.
const TABLE: &[(&str, &str, i32)] = &[
    // Commands and flags.
    ("rnu", "a similar subcommand exists: 'run'", 2),
    ("jugde x", "'judge'", 2),
    ("run --timeout 30s", "expected seconds as a number without a unit, such as 30", 2),
    ("run --timeout 0", "expected seconds as a number", 2),
    ("run --jobs abc", "expected a whole number from 1 to 65535", 2),
    ("run --jobs 0", "expected a whole number from 1 to 65535", 2),
    ("CLAWGATE_JOBS=abc run", "'--jobs <N> (CLAWGATE_JOBS says so)': expected a whole number", 2),
    ("CLAWGATE_RETRIES=-1 run", "(CLAWGATE_RETRIES says so)", 2),
    ("CLAWGATE_TIMEOUT=1m run", "(CLAWGATE_TIMEOUT says so)", 2),
    ("run --shard 3/2", "expected K/N with K from 1 to N", 2),
    ("run --min-coverage lots", "expected per cent, such as 80", 2),
    ("run --report htm", "did you mean `html`?", 2),
    ("run --golden up", "a similar value exists: 'update'", 2),
    ("judge run.ndjson --exit-code x", "expected a whole number from -1 to 255", 2),
    ("judge run.ndjson --allow okk", "there is no class `okk`", 2),
    ("judge run.ndjson --env FOO", "expected NAME=VALUE", 2),
    ("audit --min-score 2", "expected a score from 0 to 1", 2),
    ("mock --port 99999", "expected a whole number from 0 to 65535", 2),
    ("mock --fault nope", "unknown fault `nope`", 2),
    ("run --profile ic", "no profile `ic`; clawgate.toml has default", 2),
    // Files that are not there, or are something else.
    ("judge MISSING", "MISSING: there is no such file or directory (looked in ", 2),
    ("judge run.ndjsn", "run.ndjsn: there is no such file or directory; did you mean `run.ndjson`?", 2),
    ("judge rnu/run.ndjson", "there is no folder `rnu`", 2),
    ("judge run.ndjson/x", "`run.ndjson` is a file and holds no others", 2),
    ("judge empty", "there is no recording and no .ndjson", 4),
    ("judge run.ndjson --stderr MISSING", "MISSING: there is no such file", 2),
    ("judge run.ndjson --stderr empty", "empty: is a directory, and a file is expected", 2),
    ("judge run.ndjson --known-failures empty", "empty: is a directory, and a file is expected", 2),
    ("judge run.ndjson --known-failures MISSING", "MISSING: there is no such file", 2),
    ("run --known-failures MISSING", "write one with: clawgate run --update-known-failures", 2),
    ("run MISSING.toml", "MISSING.toml: there is no such file", 2),
    ("run --durations MISSING", "MISSING: there is no such file", 2),
    ("run --baseline MISSING", "MISSING: there is no such file", 2),
    ("run --recorded claw-flat=MISSING --report conformance=c.md", "MISSING: there is no such file", 2),
    ("run --out run.ndjson claude/answers/stream", "--out run.ndjson: is a file, and a directory", 2),
    ("run --report html=no/where.html claude/answers/stream", "no/where.html: there is no folder `no`", 3),
    ("run --report html=empty claude/answers/stream", "empty: is a directory, and a file is expected", 3),
    ("diff run.ndjson MISSING", "MISSING: no such file or directory, and unknown target `MISSING`", 2),
    ("diff run.ndjson run.ndjson --consumer MISSING", "MISSING: there is no such file", 2),
    ("eval MISSING", "MISSING: there is no such file", 2),
    ("eval run.ndjson", "not an evaluation: expected evals.json", 2),
    ("eval lint MISSING", "MISSING: there is no such file", 2),
    ("contract learn MISSING --out out", "MISSING: there is no such file", 2),
    ("events timeline MISSING", "MISSING: there is no such file", 2),
    ("events timeline empty", "no segments such as", 2),
    ("events watch MISSING", "MISSING: there is no such file", 2),
    ("play MISSING", "MISSING: neither a recording nor a case that runs on reference", 2),
    ("play empty", "empty/recording.json: there is no such file", 2),
    ("merge MISSING", "MISSING: there is no such file", 2),
    ("merge run.ndjson", "run.ndjson: is a file, and a directory is expected", 2),
    ("mock MISSING.toml", "MISSING.toml: there is no such file", 2),
    ("mock empty", "empty: is a directory, and a file is expected", 2),
    ("sweep empty", "empty: is a directory, and a file is expected", 2),
    (
        "golden accept",
        "golden: there is no such folder of snapshots; take them with: clawgate run --golden update",
        2,
    ),
    ("golden review --golden-dir MISSING", "MISSING: there is no such folder of snapshots", 2),
    ("golden prune", "golden: there is no such file or directory", 2),
    ("golden learn-volatile MISSING", "MISSING: there is no such file", 2),
    // Targets.
    ("run --target mien", "unknown target `mien`; did you mean `mine`?", 2),
    ("run --target MISSING.toml", "MISSING.toml: there is no such file", 2),
    ("run --target ./agent.sh", "which protocol does it speak? Choose one, and type:\n  --target ", 2),
    ("run --target ./agnet.sh", "there is no such file or directory; did you mean `./agent.sh`?", 2),
    ("run --target ./empty", "./empty: is a directory; a target is", 2),
    ("run --target claude=./no-bit.sh", "no-bit.sh has no execute bit; to get it: chmod +x", 3),
    ("run --target claude=./empty", "empty is a directory, and a program is expected", 3),
    ("run --target claude=./fails.sh", "fails.sh --version: exit code 2: no such flag; mend that", 3),
    ("run --target url.toml", "url.toml:4:16: unknown placeholder `{url}`; filled in are {api}", 2),
    ("run --target silent.toml", "silent.toml:4:10: expected `{prompt}` in one of them", 2),
    (
        "run --target claude@latest",
        "no version is installed; to get it: clawgate target install claude@latest",
        3,
    ),
    ("target install claude", "such as claude@2.1.197 or claude@latest", 2),
    ("target install claude@new", "`new` is no whole version", 2),
    ("target doctor nope", "unknown target `nope`; there are ", 2),
    ("matrix claude@abc", "expected a range of versions", 2),
    // Scenarios.
    (
        "run clause.toml",
        "unknown clause `claude-stream-json/result-presnt`; did you mean `claude-stream-json/result-present`?",
        2,
    ),
    ("run turnless.toml", "turnless.toml:1: mine asks a question and has no turn that answers it", 2),
    ("run no-api-turns.toml", "a script needs at least one [[api.turns]]", 2),
    (
        "run twice/one.toml twice/two.toml",
        "two cases are named `mine`: in twice/one.toml:1 and in twice/two.toml:1",
        2,
    ),
    ("run nothing-like-it", "no case on reference is selected by `nothing-like-it`", 4),
    // Contracts and clauses.
    ("contract show claw-fla", "did you mean `claw-flat`?", 2),
    ("explain resultpresent", "no contract has a clause `resultpresent`; did you mean `result-present`?", 2),
    ("explain claude-stream-json/resultpresent", "did you mean `result-present`?", 2),
    ("explain nope/x", "neither a built-in contract nor a directory", 2),
    ("audit nope", "neither a built-in contract nor a directory", 2),
];

/// The exit code and everything that was printed.
fn said(typed: &str, folder: &Path) -> (Option<i32>, String) {
    let mut command = process(folder);
    command.env("CLAWGATE_CACHE", folder.join("cache"));
    for word in typed.split(' ') {
        match word.split_once('=').filter(|(name, _)| name.starts_with("CLAWGATE_")) {
            Some((name, value)) => command.env(name, value),
            None => command.arg(word),
        };
    }
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_is_wrong_is_said_with_what_to_do_next() {
    let folder = project();
    let mut wrong = Vec::new();
    for (typed, expected, code) in TABLE {
        let (found, text) = said(typed, folder.path());
        // Numbers of the operating system, and words of the parser's making, help nobody.
        let is_plain = ["os error", "invalid digit", "panicked"].iter().all(|word| !text.contains(word));
        if found != Some(*code) || !text.contains(expected) || !is_plain {
            wrong.push(format!("clawgate {typed}\n  expected {code}: {expected}\n  found {found:?}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_clause_is_explained_without_its_contract() {
    let output = process(".").args(["explain", "result-present"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("claude-stream-json/result-present"), "{text}");
}
