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
    // Values that begin with a minus, and numbers of every flag.
    ("run --timeout -1", "expected seconds as a number", 2),
    ("audit --min-score -1", "expected a score from 0 to 1", 2),
    ("mock --port -1", "expected a whole number from 0 to 65535", 2),
    ("mock --seed x", "expected a whole number from 0 to", 2),
    ("audit --seed x", "expected a whole number from 0 to", 2),
    ("play run.ndjson --speed -1", "expected a number from 0", 2),
    ("events watch run.ndjson --for abc", "expected seconds as a number", 2),
    ("events watch run.ndjson --for 1e99", "expected seconds as a number", 2),
    ("events probe --socket s --latency x", "expected a whole number from 1 to 60000", 2),
    ("events probe --socket s --speed 0", "expected a number from 1 to 1000", 2),
    ("matrix claude@2.1.1..2.1.2 --bisect -1", "expected a whole number from 0", 2),
    ("eval empty --min-pass-rate -1", "expected a number from 0 to 1", 2),
    ("eval empty --max-total-tokens -5", "expected a whole number from 1 to", 2),
    ("record --timeout 0 -- ./agent.sh", "expected a whole number from 1 to 86400", 2),
    ("CLAWGATE_COLOR=blue run --list", "'--color <WHEN> (CLAWGATE_COLOR says so)'", 2),
    ("judge run.ndjson --env =x", "expected NAME=VALUE", 2),
    // What is named as something that it is not.
    ("run run.ndjson", "run.ndjson: is no scenario, which is a file that ends in .toml", 2),
    ("run empty", "empty: is a directory: name the scenario files in it", 2),
    ("judge run.ndjson/", "`run.ndjson` is a file and holds no others", 2),
    ("contract show run.ndjson", "is a file, and a contract is a directory with a contract.toml", 2),
    ("explain claude-stream-json", "is a contract: `clawgate contract show claude-stream-json`", 2),
    ("explain /result-presnt", "did you mean `result-present`?", 2),
    ("play run.ndjson", "run.ndjson: neither a recording (a folder with a recording.json)", 2),
    ("play claude/control", "choose one of: claude/control/", 2),
    ("play claude/control/allowd", "did you mean `claude/control/allowed`?", 2),
    ("play claude/control/allowed --out run.ndjson", "run.ndjson: is a file, and a directory is expected", 3),
    ("play claude/control/allowed --target mien", "did you mean `mine`?", 2),
    ("mcp MISSING", "MISSING: neither a file nor a built-in scenario; built in are: claude/mcp", 2),
    ("mcp claude/mpc", "did you mean `claude/mcp`?", 2),
    ("mcp claude/answers", "has no [mcp.NAME]", 2),
    ("mcp claude/mcp --server fils", "no server `fils`", 2),
    ("mcp claude/mcp --fault nope", "unknown fault `nope`", 2),
    ("mcp claude/mcp --journal run.ndjson/x", "`run.ndjson` is a file and holds no others", 3),
    ("mcp claude/mcp-two", "--server says which of these", 2),
    ("sweep plain --case nope", "plain has no case nope; --list lists them", 4),
    ("eval empty", "empty: not an evaluation", 2),
    ("eval empty --pass-env X", "--pass-env is for trials on the real API", 2),
    ("eval lint empty", "empty: there is no SKILL.md in it", 4),
    ("eval init MISSING", "no skill `MISSING`", 2),
    ("eval grade empty", "empty/iteration.json: there is no such file", 2),
    ("eval run.ndjson --arm x,nope=y", "expected skill=", 2),
    ("drift", "<TARGET[@VERSION]>", 2),
    ("drift claude", "which version of claude do you rely on?", 2),
    ("drift claude@x", "claude@x: `x` is no whole version", 2),
    ("drift mien@1.0.0", "did you mean `mine`?", 2),
    ("diff reference refernce --case claude/answers/stream", "did you mean `reference`?", 2),
    ("bundle MISSING", "MISSING: there is no such file", 2),
    ("bundle empty", "there is no recording: a folder with a recording.json", 4),
    ("bundle empty --out b.zip --har b.zip", "--out and --har cannot both be written to b.zip", 2),
    ("record --name ../x -- ./agent.sh", "expected a name of letters", 2),
    ("record --upstream x -- ./agent.sh", "expected http://HOST", 2),
    ("record --upstream http://127.0.0.1:1 --env =x -- ./agent.sh", "expected NAME or NAME=VALUE", 2),
    (
        "record --upstream http://127.0.0.1:1 --stdin MISSING -- ./agent.sh",
        "MISSING: there is no such file",
        2,
    ),
    ("record --upstream http://127.0.0.1:1 --as scenari x -- ./agent.sh", "expected --as scenario NAME", 2),
    ("record --upstream http://127.0.0.1:1 -- nope-cmd", "`nope-cmd` is not on the PATH", 3),
    ("record --upstream http://127.0.0.1:1 -- ./no-bit.sh", "no-bit.sh has no execute bit", 3),
    ("record --upstream http://127.0.0.1:1 -- ./agent.sh", "the program asked nothing of the proxy", 3),
    ("events probe --socket MISSING", "MISSING: there is no such file or directory", 3),
    ("events probe --socket run.ndjson", "run.ndjson: nobody listens there; start the server", 3),
    ("events probe --socket s nope", "no probe is called nope", 4),
    ("events probe --socket s -- nope-cmd", "nope-cmd cannot be started: it is not on the PATH", 3),
    (
        "events serve --socket run.ndjson -- true",
        "cannot listen on run.ndjson: is there already, and is no socket",
        3,
    ),
    ("events serve --socket no/such -- true", "cannot listen on no/such: there is no folder `no`", 3),
    ("events serve --socket s --wrong nope", "invalid value 'nope' for '--wrong", 2),
    ("events serve --socket s --orders MISSING -- true", "MISSING: there is no such file", 2),
    ("events serve --socket s -- nope-cmd", "nope-cmd cannot be started: it is not on the PATH", 3),
    ("init empty --install https://x.example --drift claude@x", "the whole version that you rely on", 2),
    ("init empty --install https://x.example --drift nope@1.0.0", "--drift: unknown target `nope`", 2),
    ("contract learn run.ndjson --out learned --extends nope", "nope: neither a built-in contract", 2),
    // Snapshots that are not where somebody says would compare nothing.
    ("run --golden-dir MISSING claude/answers/stream", "MISSING: there is no such folder of snapshots", 2),
    (
        "run --golden-dir run.ndjson claude/answers/stream",
        "run.ndjson: is a file, and a directory is expected",
        2,
    ),
    (
        "run --golden update --golden-dir run.ndjson/x claude/answers/stream",
        "`run.ndjson` is a file and holds no others",
        3,
    ),
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
    ("run --target claude@", "claude@: `` is no whole version", 2),
    ("run --target claude@2.x", "`2.x` is no whole version", 2),
    ("run --target claude=", "claude=: expected the path of a program after `=`", 2),
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
        let is_plain = ["os error", "invalid digit", "invalid float", "unexpected argument '-", "panicked"]
            .iter()
            .all(|word| !text.contains(word));
        if found != Some(*code) || !text.contains(expected) || !is_plain {
            wrong.push(format!("clawgate {typed}\n  expected {code}: {expected}\n  found {found:?}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_wrong_destroys_and_leaves_nothing() {
    let folder = project();
    let kept = fs::read(folder.path().join("run.ndjson")).unwrap();
    for typed in [
        "events serve --socket run.ndjson -- true",
        "contract learn run.ndjson --out learned --extends nope",
        "init empty --install https://x.example --drift nope@1.0.0",
        "diff reference refernce --case claude/answers/stream --out diffed",
    ] {
        let (code, text) = said(typed, folder.path());
        assert!(matches!(code, Some(2 | 3)), "{typed}: {code:?} {text}");
        assert!(!text.contains("running"), "{typed}: {text}");
    }
    assert_eq!(fs::read(folder.path().join("run.ndjson")).unwrap(), kept);
    assert!(!folder.path().join("learned").exists());
    assert_eq!(fs::read_dir(folder.path().join("empty")).unwrap().count(), 0);

    // A device is written to, not replaced by a file.
    assert_eq!(said("run claude/answers/stream --out out", folder.path()).0, Some(0));
    std::os::unix::fs::symlink("/dev/full", folder.path().join("full")).unwrap();
    let (code, text) = said("bundle out --out full", folder.path());
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("full: there is no space left on its disk"), "{text}");
    assert!(fs::symlink_metadata(folder.path().join("full")).unwrap().is_symlink());
}

#[test]
fn a_clause_is_explained_without_its_contract() {
    let output = process(".").args(["explain", "result-present"]).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("claude-stream-json/result-present"), "{text}");
}
