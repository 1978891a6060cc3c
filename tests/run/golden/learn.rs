//! `clawgate golden learn-volatile`: what differs from run to run, as a patch to the target's file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use predicates::str::contains;
use tempfile::TempDir;

use super::ONE;
use crate::command::clawgate;
use crate::files::folder_with;

/// Prints what it sees of its surroundings, in words that no rule knows.
const WITNESS: &str = r#"#!/bin/sh
secretly() { printf %s "$1" | md5sum | cut -c1-12; }
printf '{"home":"%s","directory":"%s","process":%s,"locale":"%s","zone":"%s","day":"%s","steady":1}\n' \
    "$(secretly "$HOME")" "$(secretly "$PWD")" "$$" "$LC_ALL" "$TZ" "$(date -u '+day %j of %Y')"
"#;

const WITNESS_TARGET: &str = r#"
[target]
name = "witness"
program = "./witness"
[env]
PATH = "/usr/local/bin:/usr/bin:/bin"
HOME = "{home}"
LC_ALL = "C.UTF-8"
TZ = "UTC"
[[speaks]]
contract = "claw-flat"
prompt = ["-p", "{prompt}"]
"#;

/// What `golden learn-volatile` proposes for the witness, and what it says beside it.
fn learned_of_the_witness(faketime: Option<&str>) -> (String, String) {
    let folder = folder_with(&[("witness", WITNESS), ("witness.toml", WITNESS_TARGET)]);
    fs::set_permissions(folder.path().join("witness"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = clawgate(folder.path());
    command.args(["golden", "learn-volatile", "--target", "witness.toml", "--case", "claw/prompt/answer"]);
    command.envs(faketime.map(|path| ("CLAWGATE_FAKETIME", path)));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

fn proposes(patch: &str, field: &str) -> bool {
    patch.contains(&format!("\"{field}\"")) || patch.contains(&format!("\"/{field}\""))
}

#[test]
fn surroundings_really_are_others() {
    let (patch, said) = learned_of_the_witness(Some("/nowhere/libfaketime.so"));
    for field in ["home", "directory", "process", "locale", "zone"] {
        assert!(proposes(&patch, field), "{field}: {patch}{said}");
    }
    assert!(!proposes(&patch, "steady") && !proposes(&patch, "day"), "{patch}");
    assert!(said.contains("the clock was not moved: CLAWGATE_FAKETIME names /nowhere"), "{said}");
    assert!(said.contains("process, locale and time zone"), "{said}");
}

#[test]
fn what_is_proposed_is_a_patch_and_what_is_declared_is_not_proposed() {
    let (patch, said) = learned_of_the_witness(Some("/nowhere/libfaketime.so"));
    assert!(patch.starts_with("--- witness.toml\n+++ witness.toml\n@@"), "{patch}{said}");
    assert!(patch.contains("+as = \"id:directory\"\n+fields = [\"directory\"]"), "{patch}");
    // What differs in the answers of the reference, its contract declares.
    let folder = TempDir::new().unwrap();
    let args = ["golden", "learn-volatile", "--case", ONE];
    clawgate(folder.path()).args(args).assert().success().stdout("").stderr(contains("nothing differs"));
}

#[test]
#[ignore = "needs libfaketime; .ci/run runs it"]
fn the_clock_really_is_another() {
    let (patch, said) = learned_of_the_witness(None);
    assert!(proposes(&patch, "day") && !proposes(&patch, "steady"), "{patch}{said}");
    assert!(!said.contains("the clock was not moved"), "{said}");
}
