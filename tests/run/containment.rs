//! Nothing that a target starts outlives its case, not even when clawgate itself is killed.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{clawgate, said};
use crate::files::read_json;
use crate::support::process;

pub(crate) fn facts(recording: &Path) -> Value {
    read_json(recording.join("recording.json"))
}

fn run(folder: &TempDir, case: &str, target: &str, args: &[&str]) -> Value {
    process(folder).args(["run", case, "--target", target, "--out", "out"]).args(args).output().unwrap();
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
        include_str!("../../targets/reference.toml").replace("[limits]", "[limits]\nmost_stdout = 3000000");
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
pub(crate) fn process_with(text: &str) -> Option<Pid> {
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
    let mut clawgate = process(&folder)
        .args(["run", "mine.toml", "--target", "reference+stalls", "--format", "json", "--out", "out"])
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

#[test]
fn a_room_goes_also_when_clawgate_is_killed_while_its_supervisor_answers() {
    let folder = TempDir::new().unwrap();
    // No descriptors came along with the second order, which cannot be obeyed either.
    for orders in [1, 2] {
        let room = folder.path().join("room");
        fs::create_dir_all(room.join("work")).unwrap();
        let prepare = json!({"Prepare": {"room": room, "most_bytes": 1 << 20}});
        let start = json!({"Start": {
            "program": "/bin/true", "args": [], "env": [], "cwd": {"Unix": b"/"}, "term_grace_ms": 0,
            "leftover_grace_ms": 0, "api_port": 1, "terminal": false,
        }});
        let (mut clawgate, supervisor) = UnixStream::pair().unwrap();
        for order in [prepare, start].iter().take(orders) {
            writeln!(clawgate, "{order}").unwrap();
        }
        drop(clawgate);
        let mut supervise = Command::new(cargo_bin("clawgate"));
        let status = supervise.args(["__supervise", "shared"]).stdin(OwnedFd::from(supervisor)).status();
        assert_eq!(status.unwrap().code(), Some(1), "there is nobody to answer");
        assert!(!room.exists(), "{orders}");
    }
}

/// A scenario that runs a shell script as its target; the contract is one that any output keeps.
pub(crate) fn script(folder: &TempDir, name: &str, script: &str, run: &str, expect: &str) {
    let text = format!(
        "[scenario]\nname = \"{name}\"\ncontract = \"claw-flat\"\n[run]\nprogram = \"/bin/sh\"\nbare = true\n\
         args = [\"-c\", {script:?}]\n{run}\n[expect]\n{expect}\n"
    );
    fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
}

/// Runs that scenario; the end of its case, and its facts.
pub(crate) fn run_script(folder: &TempDir, name: &str, args: &[&str]) -> (Value, Value) {
    let mut command = clawgate(folder);
    command.args(["run", &format!("{name}.toml"), "--format", "json", "--out", "out"]).args(args);
    let mut ends = said(&mut command).1.into_iter();
    let end = ends.find(|event| event["type"] == "case-finished").unwrap();
    let facts = facts(&folder.path().join(end["recording"].as_str().unwrap()));
    (end, facts)
}

#[test]
fn what_is_written_outside_is_seen_and_lost() {
    let folder = TempDir::new().unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
    let marks = [format!("/tmp/outside-{name}"), format!("/var/tmp/outside-{name}/inside")];
    let there = folder.path().join("there.txt");
    fs::write(&there, "as it was").unwrap();
    let writes = format!(
        "echo 1 > {}; mkdir {}; echo 2 > {}; cat {there}; echo 3 > {there}; echo in > in.txt; echo '{{}}'",
        marks[0],
        Path::new(&marks[1]).parent().unwrap().display(),
        marks[1],
        there = there.display(),
    );
    script(&folder, "writes", &writes, "", "stdout_contains = \"as it was\"");
    let (end, facts) = run_script(&folder, "writes", &[]);
    if facts["isolation"]["files"] != "overlay" {
        // Then the recording says why, and nothing is claimed.
        assert!(facts["isolation"]["files_reason"].is_string() && facts["outside"].is_null(), "{facts}");
        for mark in &marks {
            _ = fs::remove_file(mark);
        }
        return;
    }
    let outside: Vec<&str> =
        facts["outside"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    for mark in &marks {
        assert!(outside.contains(&mark.as_str()), "{outside:?}");
        assert!(!Path::new(mark).exists());
    }
    if folder.path().starts_with("/tmp") {
        assert!(outside.contains(&there.to_str().unwrap()), "{outside:?}");
        assert_eq!(fs::read_to_string(&there).unwrap(), "as it was");
    }
    // What is written inside is no such thing.
    assert_eq!(facts["files"][0]["path"], "work/in.txt");
    let failures = end["failures"].to_string();
    assert!(failures.contains("\"outside\"") && failures.contains(&marks[0]), "{failures}");
    assert!(!failures.contains("stdout does not contain"), "{failures}");
}

#[test]
fn one_case_after_the_other_finds_nothing_of_the_one_before() {
    let folder = TempDir::new().unwrap();
    let mark = format!("/tmp/again-{}", folder.path().file_name().unwrap().to_str().unwrap());
    let leaves = format!("test -e {mark} && echo stale; echo 1 > {mark}; setsid sleep 600 & echo '{{}}'");
    script(&folder, "leaves", &leaves, "", "leftovers = true");
    process(&folder)
        .args(["run", "leaves.toml", "--repeat", "3", "--jobs", "1", "--out", "out"])
        .output()
        .unwrap();
    let mut overlays = 0;
    for name in ["leaves", "leaves~2.1", "leaves~3.1"] {
        let recording = folder.path().join("out/reference").join(name);
        let facts = facts(&recording);
        assert_eq!(facts["leftovers"].as_array().unwrap().len(), 1, "{facts}");
        if facts["isolation"]["files"] == "overlay" {
            overlays += 1;
            assert_eq!(facts["outside"], serde_json::json!([mark]));
            assert_eq!(fs::read_to_string(recording.join("stdout")).unwrap(), "{}\n");
        }
    }
    assert!(overlays == 3 || overlays == 0, "{overlays}");
    _ = fs::remove_file(mark);
}

/// A command in which no user namespace can be made, and so no network. Where that is so anyway, it is the plain one.
pub(crate) fn without_namespaces(program: &Path) -> Command {
    let may = Command::new("unshare").args(["-Ur", "true"]).output().is_ok_and(|done| done.status.success());
    if !may {
        return Command::new(program);
    }
    let mut command = Command::new("unshare");
    command
        .args(["-Ur", "/bin/sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\""])
        .arg(program);
    command
}

/// Where what is not isolated is said: those that take notes which are no problems.
const REPORTS: [&str; 6] =
    ["terminal", "github", "junit=j.xml", "html=h.html", "markdown=m.md", "sarif=s.sarif"];

#[test]
fn a_kernel_without_namespaces_is_said_and_can_be_refused() {
    let folder = TempDir::new().unwrap();
    let clawgate = cargo_bin("clawgate");
    let run = |network: &str| {
        without_namespaces(&clawgate)
            .args(["run", "claude/answers/stream", "--network", network, "--out", network])
            .args(REPORTS.iter().flat_map(|report| ["--report", *report]))
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let auto = run("auto");
    assert_eq!(auto.status.code(), Some(0), "{}", String::from_utf8_lossy(&auto.stdout));
    let facts = facts(&folder.path().join("auto/reference/claude/answers/stream"));
    assert_eq!(facts["isolation"]["network"], "none");
    assert!(
        facts["isolation"]["reason"].as_str().unwrap().contains("the kernel does not allow it"),
        "{facts}"
    );
    assert_eq!(facts["containment"], "supervisor");
    // One line on the terminal, and the same in every report.
    let note = "targets were not kept apart from the machine's network, files, processes (the kernel does not allow it: ";
    let terminal = String::from_utf8(auto.stdout).unwrap();
    assert_eq!(terminal.matches(&format!("note: {note}")).count(), 1, "{terminal}");
    assert!(terminal.contains(&format!("::warning title=clawgate::{note}")), "{terminal}");
    for report in REPORTS.iter().filter_map(|report| report.split_once('=')) {
        let text = fs::read_to_string(folder.path().join(report.1)).unwrap();
        assert_eq!(text.matches("targets were not kept apart").count(), 1, "{report:?}: {text}");
    }
    let events = fs::read_to_string(folder.path().join("auto/events.ndjson")).unwrap();
    assert_eq!(events.matches("\"not_isolated\":").count(), 2, "{events}");
    let require = run("require");
    assert_eq!(require.status.code(), Some(3));
    let said = String::from_utf8(require.stdout).unwrap();
    assert!(said.contains("cannot be kept away from the network"), "{said}");
}

#[test]
fn a_terminal_is_one_and_what_is_typed_arrives() {
    let folder = TempDir::new().unwrap();
    let asks = "test -t 0 && test -t 1 && test -t 2 && : < /dev/tty && printf 'name? ' && read name && \
                echo \"hello $name\" && stty size && cat > /dev/null && echo over >&2";
    let run = "terminal = true\nsteps = [{ after = \"name? \", type = \"crab\\n\" }, { after = \"24 80\", close = \"stdin\" }]";
    script(&folder, "asks", asks, run, "exit = 0");
    let (_, facts) = run_script(&folder, "asks", &[]);
    assert_eq!(facts["exit"]["code"], 0, "{facts}");
    assert_eq!(facts["terminal"], serde_json::json!({"columns": 80, "rows": 24}));
    let stdout = fs::read_to_string(folder.path().join("out/reference/asks/stdout")).unwrap();
    // What was typed is not echoed, lines end as they were written, and both streams are one.
    assert_eq!(stdout, "name? hello crab\n24 80\nover\n");
}

#[test]
fn a_socket_that_is_left_is_among_the_files() {
    let folder = TempDir::new().unwrap();
    script(&folder, "pipes", "mkfifo a.pipe; ln -s a.pipe b.link; echo '{}'", "", "");
    let (_, facts) = run_script(&folder, "pipes", &[]);
    let kinds: Vec<_> =
        facts["files"].as_array().unwrap().iter().map(|file| (&file["path"], &file["kind"])).collect();
    let wanted = [("work/a.pipe".into(), "pipe".into()), ("work/b.link".into(), "link".into())];
    let wanted: Vec<(&Value, &Value)> = wanted.iter().map(|(path, kind)| (path, kind)).collect();
    assert_eq!(kinds, wanted);
}

#[test]
fn a_run_before_that_fails_is_said() {
    let folder = TempDir::new().unwrap();
    script(&folder, "second", "echo '{}'", "first = { args = [\"-c\", \"exit 7\"] }", "");
    let (end, _) = run_script(&folder, "second", &[]);
    assert_eq!(end["verdict"]["class"], "spawn");
    assert_eq!(end["verdict"]["detail"], "first_run");
}

/// A download may be called clawgate-linux-x64.
#[test]
fn clawgate_under_another_name_contains_as_well() {
    let folder = TempDir::new().unwrap();
    let renamed = folder.path().join("clawgate-of-another-name");
    fs::hard_link(cargo_bin("clawgate"), &renamed)
        .or_else(|_| fs::copy(cargo_bin("clawgate"), &renamed).map(drop))
        .unwrap();
    let ended = Command::new(&renamed)
        .args(["run", "claude/answers/stream", "--out", "out"])
        .current_dir(folder.path())
        .env_remove("CLAWGATE_BIN")
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    let facts = facts(&folder.path().join("out/reference/claude/answers/stream"));
    assert_eq!(facts["containment"], "supervisor");
}

#[test]
fn a_target_that_kills_its_supervisor_leaves_nothing_either() {
    for network in ["auto", "off"] {
        let folder = TempDir::new().unwrap();
        script(&folder, "killer", "setsid sleep 86421 & kill -9 $PPID; sleep 86422", "", "");
        let mut command = process(&folder);
        let output =
            command.args(["run", "killer.toml", "--network", network, "--timeout", "2"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        if network == "off" {
            assert_eq!(output.status.code(), Some(3), "{said}");
        } else {
            // Where it has processes of its own, the supervisor is none that it could signal.
            let isolation = facts(&folder.path().join("clawgate-out/reference/killer"))["isolation"].clone();
            let code = if isolation["processes"] == "namespace" { 100 } else { 3 };
            assert_eq!(output.status.code(), Some(code), "{said}");
        }
        assert_eq!(process_with("86421").or_else(|| process_with("86422")), None, "{network}");
    }
}
