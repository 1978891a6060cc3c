//! Secrets that a target or an API lets go wherever it can, and every place where they must not arrive.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use crate::command::clawgate;
use crate::files::write;
use crate::tree::files_below;

/// What the target is given as a secret.
const VALUE: &str = "hunter2+s3cret/Value";
/// What looks like a credential, and is known to nobody.
const TOKEN: &str = "16C7e42F292c6912E7710c838347Ae178B4a";
const KEY: &str = "api03-QmVzdEtlcHQ";
const AWS: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
const PEM: &str = "MIIEowIBAAKCAQEAx1y2z3";

/// The target: it tells everything it knows, in every way and everywhere.
const TARGET: &str = r#"#!/bin/bash
case "$1" in --version) echo "1.2.3 ghp_TOKEN"; exit;; esac
base64=$(printf %s "$MY_KEY" | base64 -w0)
hex=$(printf %s "$MY_KEY" | od -An -tx1 | tr -d ' \n')
echo "on stderr: $MY_KEY $base64 $hex hunter2%2Bs3cret%2fValue" >&2
printf '%s\n' '-----BEGIN RSA PRIVATE KEY-----' 'PEM' 'abc=' '-----END RSA PRIVATE KEY-----' >&2
echo "$MY_KEY and AWS_SECRET_ACCESS_KEY=AWS" > out.txt
printf %s "$base64" > "ghp_TOKEN.txt"
mkdir -p "$HOME/sk-ant-KEY" && echo x > "$HOME/sk-ant-KEY/x"
address=${ANTHROPIC_BASE_URL#http://}
if exec 3<>"/dev/tcp/${address%:*}/${address#*:}"; then
  body="{\"model\":\"m\",\"max_tokens\":5,\"messages\":[{\"role\":\"user\",\"content\":\"$MY_KEY hunter2\\u002bs3cret\\/Value sk-ant-KEY\"}]}"
  printf 'POST /v1/messages?key=%s HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nx-note: %s\r\nContent-Type: application/json\r\nContent-Length: %s\r\nConnection: close\r\n\r\n%s' \
    "$hex" "$MY_KEY" "$base64" "${#body}" "$body" >&3
  cat <&3 >/dev/null
fi
cat STDOUT
setsid bash -c 'exec -a "sleep --key=$MY_KEY ghp_TOKEN" sleep 20' >/dev/null 2>&1 </dev/null &
# Where clawgate cuts it short.
for length in 180 182 184 186; do
  setsid bash -c 'exec -a "$(printf "%'$length's" "")$MY_KEY and more" sleep 20' >/dev/null 2>&1 </dev/null &
done
exit 1
"#;

/// What it prints: a stream with secrets in all forms, which breaks its contract with them.
fn stream(value: &str) -> String {
    let mut out = String::new();
    let delta = |text: &str| {
        json!({"type": "stream_event", "session_id": "s", "uuid": "u", "parent_tool_use_id": null,
            "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}})
    };
    let init = json!({"type": "system", "subtype": "init", "session_id": "s", "model": format!("ghp_{TOKEN}"), "tools": [value]});
    writeln!(out, "{init}").unwrap();
    let said = format!("the key is {value}, or ghp_{TOKEN}.");
    for piece in said.as_bytes().chunks(16) {
        writeln!(out, "{}", delta(std::str::from_utf8(piece).unwrap())).unwrap();
    }
    let text = format!("{value} ghp_{TOKEN} sk-ant-{KEY} aws_secret_access_key={AWS}");
    let message = json!({"type": format!("odd {value}"), "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}});
    // As some programs write it.
    writeln!(out, "{}", message.to_string().replace('+', "\\u002b").replace('/', "\\/")).unwrap();
    writeln!(out, "no JSON: {value} ghp_{TOKEN}").unwrap();
    let result = json!({"type": "result", "subtype": value, "is_error": true, "result": text, "session_id": value,
        "errors": [{"secretAccessKey": AWS}]});
    writeln!(out, "{result}").unwrap();
    out
}

const SCENARIO: &str = r#"
[scenario]
name = "mine/leak"
description = "A target that cannot keep a secret."
contract = "claude-stream-json"
[run]
prompt = "Tell me about sk-ant-KEY."
[expect]
verdict = "ok"
files = { "out.txt" = "something else" }
[[api.turns]]
text = "It is sk-ant-KEY, not VALUE."
"#;

const SPEC: &str = r#"
[eval]
skill = "greet"
[run]
trials = 1
retries = 0
[[cases]]
id = "leak"
prompt = "Tell me about sk-ant-KEY."
[[cases.assert]]
type = "contains"
needle = "nothing"
[[api.turns]]
text = "It is sk-ant-KEY."
"#;

fn filled(text: &str, root: &Path) -> String {
    text.replace("TOKEN", TOKEN)
        .replace("STDOUT", &root.join("stream.ndjson").display().to_string())
        .replace("sk-ant-KEY", &format!("sk-ant-{KEY}"))
        .replace("=AWS\"", &format!("={AWS}\""))
        .replace("'PEM'", &format!("'{PEM}'"))
        .replace("VALUE", VALUE)
}

/// A project with that target.
fn project() -> TempDir {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    write(root, "stream.ndjson", stream(VALUE));
    let program = write(root, "leaks", filled(TARGET, root));
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let target = format!(
        "[target]\nname = \"leaks\"\nprogram = \"./leaks\"\nversion = [\"--version\"]\n[env]\nPATH = \"/usr/bin:/bin\"\nANTHROPIC_BASE_URL = \"{{api}}\"\n\
         [secrets]\nMY_KEY = '{VALUE}'\n[[speaks]]\ncontract = \"claude-stream-json\"\nargs = []\nprompt = [\"-p\", \"{{prompt}}\"]\n"
    );
    write(root, "targets/leaks.toml", target);
    write(root, "clawgate.toml", "");
    write(root, "leak.toml", filled(SCENARIO, root));
    write(root, "eval.toml", filled(SPEC, root));
    write(
        root,
        ".claude/skills/greet/SKILL.md",
        "---\nname: greet\ndescription: Greets people.\n---\nGreet them.\n",
    );
    folder
}

/// Every form of every secret. Digests and masks are none.
fn forms() -> Vec<String> {
    let pieces = ["er2+s3", "cret/Value", "s3cret", &TOKEN[..8], &TOKEN[20..], KEY, &AWS[..20], PEM];
    let encoded =
        ["aHVudGVyMitzM2NyZXQvVmFsdW", "68756e746572322b7333637265742f56616c7565", "2Bs3cret", "u002bs3cret"];
    pieces.into_iter().chain(encoded).map(str::to_owned).collect()
}

fn assert_clean(what: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for form in forms() {
        let at = text.find(&form);
        let near = at.map(|at| {
            text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect::<String>()
        });
        assert_eq!(near, None, "`{form}` is in {what}");
    }
}

/// Runs a command, and looks at what it says and at everything that it wrote into a folder.
fn run(root: &Path, args: &[&str]) -> String {
    let output =
        clawgate(root).args(args).env("GITHUB_STEP_SUMMARY", root.join("out/summary.md")).output().unwrap();
    let code = output.status.code();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(code.is_some_and(|code| code != 2 && code != 101), "{args:?}: {code:?} {errors}");
    assert_clean(&format!("stdout of {args:?}"), &output.stdout);
    assert_clean(&format!("stderr of {args:?}"), &output.stderr);
    String::from_utf8(output.stdout).unwrap()
}

fn assert_folder_clean(folder: &Path) {
    let files = files_below(folder);
    assert!(!files.is_empty(), "{}", folder.display());
    for file in files {
        assert_clean("the name of a file", file.as_bytes());
        assert_clean(&file, &fs::read(folder.join(&file)).unwrap());
    }
}

#[test]
fn a_secret_reaches_no_recording_no_report_and_no_output() {
    let folder = project();
    let root = folder.path();
    let reports: Vec<String> = ["junit", "sarif", "gitlab", "markdown", "html", "conformance"]
        .map(|kind| format!("--report={kind}"))
        .into();
    let mut args =
        vec!["run", "leak.toml", "--target=leaks", "--out=out", "--keep=all", "--golden=update", "-v"];
    args.extend(["--report=terminal", "--report=github", "--report=json=out/events.ndjson"]);
    args.extend(reports.iter().map(String::as_str));
    fs::create_dir(root.join("out")).unwrap();
    let said = run(root, &args);
    assert!(said.contains("a credential was printed"), "{said}");
    assert_folder_clean(&root.join("out"));
    assert_folder_clean(&root.join("golden"));
    let recording = recordings(&root.join("out")).pop().unwrap();
    let facts = fs::read_to_string(recording.join("recording.json")).unwrap();
    for told in
        ["leftovers", "sleep --key=********************", "ghp_************************************.txt"]
    {
        assert!(facts.contains(told), "{told}: {facts}");
    }
    assert!(recording.join("requests/000.json").exists(), "nothing was asked");

    let place = recording.display().to_string();
    for args in [
        &["judge", &place][..],
        &["judge", &place, "--format=json"],
        &["play", &place],
        &["diff", &place, &place],
        &["contract", "learn", &place, "--out=learned"],
        &["golden", "accept"],
    ] {
        run(root, args);
    }
    run(root, &["run", "leak.toml", "--target=leaks", "--out=out2", "--format=json"]);
    assert_folder_clean(&root.join("out2"));
    let _ = run(root, &["eval", "eval.toml", "--target=leaks", "--out=evaluated"]);
    assert_folder_clean(&root.join("evaluated"));
}

/// The folders below this one that hold a recording.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let facts = files_below(folder)
        .into_iter()
        .filter_map(|file| file.strip_suffix("/recording.json").map(str::to_owned));
    facts.map(|place| folder.join(place)).collect()
}

/// Where nobody recorded it, only what looks like a credential can be known.
#[test]
fn what_others_recorded_is_masked_where_it_is_shown() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    let stream = stream("no secret");
    write(root, "a.ndjson", &stream);
    write(root, "b/recording.json", json!({"schema_version": 1, "target": "claude", "target_version": "2.1.197", "scenario": "s",
        "exit": {"code": 1}, "argv": ["claude", "--key", format!("ghp_{TOKEN}")], "contract": "claude-stream-json"}).to_string());
    write(root, "b/stdout", &stream);
    write(root, "b/stderr", format!("Bearer {TOKEN} and sk-ant-{KEY}\n"));
    write(root, "err", format!("Bearer {TOKEN} and sk-ant-{KEY}\n"));
    let event = json!({"topic": "task/started", "id": "1", "time": "2026-01-01T00:00:00Z", "from": format!("ghp_{TOKEN}"),
        "payload": {"message": format!("sk-ant-{KEY}"), "aws_secret_access_key": AWS}});
    write(root, "log.jsonl", format!("{event}\n{event}\nghp_{TOKEN}\n"));
    for args in [
        &["judge", "a.ndjson", "--stderr=err", "--exit-code=1"][..],
        &["judge", "a.ndjson", "--stderr=err", "--format=json"],
        &["judge", "b"],
        &["judge", "b", "--format=json"],
        &["judge", "log.jsonl", "--contract=claws-events"],
        &["judge", "log.jsonl", "--contract=claws-events", "--format=json"],
        &["diff", "a.ndjson", "b/stdout"],
        &["play", "b"],
        &["events", "timeline", "log.jsonl"],
        &["events", "timeline", "log.jsonl", "--format=json"],
        &["events", "timeline", "log.jsonl", "--html=page/log.html"],
        &["events", "watch", "log.jsonl", "--all", "--for=0.2"],
        &["events", "watch", "log.jsonl", "--all", "--for=0.2", "--format=json"],
        &["contract", "learn", "a.ndjson", "--out=page/learned"],
    ] {
        fs::create_dir_all(root.join("page")).unwrap();
        run(root, args);
    }
    assert_folder_clean(&root.join("page"));
    let said = run(root, &["judge", "a.ndjson", "--format=json"]);
    assert!(said.contains("ghp_****"), "{said}");
    let output = clawgate(root).args(["judge", "-"]).write_stdin(stream).output().unwrap();
    assert_clean("what is piped", &[output.stdout, output.stderr].concat());
}
