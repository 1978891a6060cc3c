//! Nothing that a target starts outlives its case, not even when clawgate itself is killed.

#![expect(clippy::unwrap_used, reason = "test code: a failure here is a failed test")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;

fn facts(recording: &Path) -> Value {
    serde_json::from_slice(&fs::read(recording.join("recording.json")).unwrap()).unwrap()
}

fn run(folder: &TempDir, case: &str, target: &str, args: &[&str]) -> Value {
    Command::new(cargo_bin("clawgate"))
        .args(["run", case, "--target", target, "--out", "out"])
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap();
    facts(&folder.path().join("out").join(target).join(case))
}

#[test]
fn what_is_left_running_is_named_and_ended() {
    for wrong in ["leaves-child", "leaves-session", "leaves-daemon", "leaves-socket"] {
        for network in ["auto", "off"] {
            let folder = TempDir::new().unwrap();
            let target = format!("reference+{wrong}");
            let facts = run(&folder, "claude/answers/stream", &target, &["--network", network]);
            assert_eq!(facts["exit"]["code"], 0, "{wrong}: the target itself ended as it should");
            let left = facts["leftovers"].as_array().unwrap();
            assert_eq!(left.len(), 1, "{wrong}: {facts}");
            let pid = left[0]["pid"].as_u64().unwrap();
            let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            assert!(
                !command.contains("sleep") && !command.contains("clawgate"),
                "{wrong}: {pid} runs: {command}"
            );
            if wrong == "leaves-socket" && facts["isolation"]["network"] == "namespace" {
                assert_eq!(facts["listening"].as_array().unwrap().len(), 1, "{facts}");
            }
        }
    }
}

#[test]
fn a_target_that_prints_for_ever_is_stopped_and_judged_on_what_it_printed() {
    let folder = TempDir::new().unwrap();
    let text =
        include_str!("../targets/reference.toml").replace("[limits]", "[limits]\nmost_stdout = 3000000");
    fs::create_dir(folder.path().join("targets")).unwrap();
    fs::write(folder.path().join("targets/reference.toml"), text).unwrap();
    fs::write(folder.path().join("clawgate.toml"), "").unwrap();
    let facts = run(&folder, "claude/answers/stream", "reference+endless-output", &[]);
    assert_eq!(facts["exit"]["timed_out"], "output-limit");
    let printed =
        fs::metadata(folder.path().join("out/reference+endless-output/claude/answers/stream/stdout"));
    assert_eq!(printed.unwrap().len(), 3_000_000);
}

#[test]
fn a_huge_standard_error_is_cut_and_counted() {
    let folder = TempDir::new().unwrap();
    let facts = run(&folder, "claude/answers/stream", "reference+huge-stderr", &[]);
    assert_eq!(facts["counts"]["stderr_bytes"], 24 << 20);
    let kept = fs::metadata(folder.path().join("out/reference+huge-stderr/claude/answers/stream/stderr"));
    assert_eq!(kept.unwrap().len(), 16 << 20);
}

/// The process whose command line holds this text, and is not clawgate's own.
fn process_with(text: &str) -> Option<Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found = pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == text.as_bytes())
    });
    found.find_map(Pid::from_raw)
}

#[test]
fn killing_clawgate_leaves_no_target_and_no_half_recording() {
    let folder = TempDir::new().unwrap();
    let prompt = format!("a prompt that is only here: {}", folder.path().display());
    let scenario = format!(
        "[scenario]\nname = \"mine\"\ncontract = \"claude-stream-json\"\napi = \"plain\"\n[run]\nprompt = {prompt:?}\n\
         [[overrides]]\ntarget = \"none\"\n"
    );
    fs::write(folder.path().join("mine.toml"), scenario).unwrap();
    let mut clawgate = Command::new(cargo_bin("clawgate"))
        .args(["run", "mine.toml", "--target", "reference+stalls", "--format", "json", "--out", "out"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(clawgate.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("case-started")));
    // It is about to be started: looked for until it is there.
    let target = loop {
        if let Some(target) = process_with(&prompt) {
            break target;
        }
        assert!(clawgate.try_wait().unwrap().is_none(), "clawgate ended early");
        std::thread::yield_now();
    };
    let ends = pidfd_open(target, PidfdFlags::empty()).unwrap();
    clawgate.kill().unwrap();
    clawgate.wait().unwrap();
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(&ends, PollFlags::IN)], Some(&limit)).unwrap();
    assert_eq!(ended, 1, "the target still runs");
    assert!(!folder.path().join("out/reference+stalls/mine").exists());
}
