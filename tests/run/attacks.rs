//! Targets that attack the machine, the harness or what it keeps: each with the promise that it tries to break.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;
use tempfile::TempDir;

use crate::containment::{facts, process_with, run_script, script, without_namespaces};
use crate::support::process;

fn stdout(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join("out/reference").join(name).join("stdout")).unwrap()
}

/// Whether the kernel lets a target be kept apart in every way; where it does not, the recording says why.
fn is_apart(facts: &Value) -> bool {
    let isolation = &facts["isolation"];
    let held = ["network", "processes"].iter().all(|part| isolation[part] == "namespace");
    if !held || isolation["files"] != "overlay" {
        let reasons = ["reason", "files_reason", "processes_reason"];
        assert!(reasons.iter().any(|reason| isolation[reason].is_string()), "{isolation}");
        return false;
    }
    true
}

/// A target whose version question attacks, as `targets/evil.toml` of a project.
fn evil_version(folder: &TempDir, script: &str) {
    let program = folder.path().join("evil");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let target = "[target]\nname = \"evil\"\nprogram = \"./evil\"\nversion = [\"--version\"]\n[env]\nPATH = \"/usr/bin:/bin\"\n\
                  [[speaks]]\ncontract = \"claw-flat\"\nargs = []\nprompt = [\"-p\", \"{prompt}\"]\n";
    fs::create_dir(folder.path().join("targets")).unwrap();
    fs::write(folder.path().join("targets/evil.toml"), target).unwrap();
    fs::write(folder.path().join("clawgate.toml"), "").unwrap();
}

#[test]
fn the_version_question_is_asked_once_in_a_room_and_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    // It writes, asks the network of the machine, and leaves a process that holds its output.
    let attack = format!(
        "echo 1.2.3; echo asked >> {home}/asked; touch /tmp/version-{name}; env > {home}/env; \
         bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null; \
         setsid sleep 86431 &",
        home = folder.path().display()
    );
    evil_version(&folder, &attack);
    let mut command = process(&folder);
    command.args(["run", "claw/prompt", "--target", "evil", "--jobs", "2", "--out", "out"]);
    let output = command.env("SECRET_OF_THE_PARENT", "x").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("evil (1.2.3)"), "{said}");
    assert_eq!(process_with("86431"), None, "what the version question started still runs");
    let recording = walk(&folder.path().join("out/evil")).expect("a recording");
    if !is_apart(&facts(&recording)) {
        return;
    }
    assert!(listener.accept().is_err(), "the version question reached the machine's network");
    assert!(!std::path::Path::new(&format!("/tmp/version-{name}")).exists());
    assert!(!folder.path().join("asked").exists() && !folder.path().join("env").exists());
}

/// The first recording below a folder.
fn walk(folder: &std::path::Path) -> Option<std::path::PathBuf> {
    if folder.join("recording.json").exists() {
        return Some(folder.to_owned());
    }
    let mut entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.into_iter().find_map(|entry| walk(&entry))
}

#[test]
fn a_target_sees_and_signals_no_process_but_its_own() {
    let folder = TempDir::new().unwrap();
    let attack = format!(
        "kill -0 {own} && echo sees; kill -STOP 1 2>/dev/null; kill -9 1 2>/dev/null; \
         cat /proc/1/environ /proc/{own}/environ 2>/dev/null; echo alive; ls /proc | grep -c '^[0-9]*$'",
        own = std::process::id()
    );
    script(&folder, "processes", &attack, "", "exit = 0");
    let (_, facts) = run_script(&folder, "processes", &[]);
    if is_apart(&facts) {
        let said = stdout(&folder, "processes");
        let mut lines = said.lines();
        assert_eq!(lines.next(), Some("alive"), "{said}");
        assert!(lines.next().unwrap().parse::<u32>().unwrap() < 8, "{said}");
    }
}

#[test]
fn nothing_can_be_written_but_the_room_and_its_layers() {
    let folder = TempDir::new().unwrap();
    // Beside the project, where no layer is: the build's own folder for tests.
    let project = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let golden = project.path().join("a.snap");
    fs::write(&golden, "as it was").unwrap();
    let attack = format!(
        "echo changed > {golden}; rm -f {golden}; touch {project}/new; touch /run/new; ls /run; touch in-the-room && echo '{{}}'",
        golden = golden.display(),
        project = project.path().display(),
    );
    script(&folder, "writes", &attack, "", "exit = 0");
    let (_, facts) = run_script(&folder, "writes", &[]);
    if is_apart(&facts) {
        assert_eq!(stdout(&folder, "writes"), "{}\n");
        assert_eq!(fs::read_to_string(&golden).unwrap(), "as it was");
        assert!(!project.path().join("new").exists());
        assert_eq!(facts["files"][0]["path"], "work/in-the-room");
    }
}

#[test]
fn a_full_disk_is_the_targets_own() {
    let folder = TempDir::new().unwrap();
    let fills = "head -c 30000000 /dev/zero > big || echo full; head -c 30000000 /dev/zero > /tmp/big || echo full; echo '{}'";
    script(&folder, "fills", fills, "disk_bytes = 20000000", "exit = 0");
    let (_, facts) = run_script(&folder, "fills", &[]);
    if is_apart(&facts) {
        assert_eq!(stdout(&folder, "fills"), "full\nfull\n{}\n");
        assert!(facts["files"][0]["bytes"].as_u64().unwrap() < 20_100_000, "{facts}");
    }
}

#[test]
fn too_much_memory_ends_the_target_and_few_descriptors_stay_few() {
    let folder = TempDir::new().unwrap();
    let grows = "x=$(head -c 300000000 /dev/zero | tr '\\0' a); sleep 30; echo '{}'";
    script(&folder, "grows", grows, "memory_bytes = 100000000", "");
    let (end, facts) = run_script(&folder, "grows", &[]);
    assert_eq!(facts["exit"]["timed_out"], "memory-limit", "{facts}");
    assert_eq!(end["status"], "fail", "{end}");
    script(&folder, "opens", "ulimit -Hn; cat /proc/self/oom_score_adj; echo '{}'", "descriptors = 10", "");
    let (_, facts) = run_script(&folder, "opens", &[]);
    assert_eq!(facts["exit"]["code"], 0);
    assert_eq!(stdout(&folder, "opens"), "10\n1000\n{}\n");
}

#[test]
fn a_network_that_is_required_stays_one_where_connections_are_refused_for_a_while() {
    let folder = TempDir::new().unwrap();
    let text = "[scenario]\nname = \"late\"\ncontract = \"claude-stream-json\"\napi = \"plain\"\n[run]\nprompt = \"hi\"\n\
                env = { CLAUDE_CODE_MAX_RETRIES = \"10\" }\n[[variants]]\nname = \"refused\"\nfault = \"refuse:for-ms=300\"\n";
    fs::write(folder.path().join("late.toml"), text).unwrap();
    let mut command = process(&folder);
    let output = command.args(["run", "late.toml", "--network", "require", "--out", "out"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let Some(recording) = walk(&folder.path().join("out")) else {
        // The kernel does not allow it, and that is said.
        assert_eq!(output.status.code(), Some(3), "{said}");
        return;
    };
    let facts = facts(&recording);
    assert_eq!(facts["isolation"]["network"], "namespace", "{facts}");
    assert!(!facts["requests"].as_array().unwrap().is_empty(), "the API never listened again: {facts}");
}

#[test]
fn what_cannot_be_kept_apart_can_be_refused_as_a_whole() {
    let folder = TempDir::new().unwrap();
    let clawgate = cargo_bin("clawgate");
    let output = without_namespaces(&clawgate)
        .args(["run", "claude/answers/stream", "--isolation", "require"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot be kept apart from the machine's network"), "{said}");
}

#[test]
fn a_supervisor_that_is_stopped_hangs_nobody_and_hides_nothing() {
    let folder = TempDir::new().unwrap();
    let attack = "setsid sh -c 'cd /; exec env -i sleep 86441' & kill -STOP $PPID; sleep 86442";
    script(&folder, "stops", attack, "wall_ms = 500", "");
    for network in ["auto", "off"] {
        let output = process(&folder)
            .args(["run", "stops.toml", "--network", network, "--out", "out"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!([3, 100].contains(&output.status.code().unwrap()), "{network}");
        assert_eq!(process_with("86441").or_else(|| process_with("86442")), None, "{network}");
    }
}

#[test]
fn a_file_that_is_expected_is_a_file() {
    let folder = TempDir::new().unwrap();
    let text =
        fs::write(folder.path().join("text"), "the text").map(|()| folder.path().join("text")).unwrap();
    for (name, makes) in [
        ("pipe", "mkfifo out.txt".to_owned()),
        ("endless", "ln -s /dev/zero out.txt".to_owned()),
        ("borrowed", format!("ln -s {} out.txt", text.display())),
    ] {
        let expect = "files = { \"out.txt\" = \"the text\" }";
        script(&folder, name, &format!("{makes}; echo '{{}}'"), "", expect);
        let (end, _) = run_script(&folder, name, &[]);
        let failures = end["failures"].to_string();
        assert!(failures.contains("out.txt is no file but a"), "{name}: {failures}");
    }
}

/// The rooms of this user that are there.
fn rooms() -> Vec<std::path::PathBuf> {
    let places =
        ["/dev/shm", "/tmp"].iter().flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten());
    let rooms = places.filter(|entry| entry.file_name().to_string_lossy().starts_with("clawgate-"));
    rooms.map(|entry| entry.path()).collect()
}

#[test]
fn a_clawgate_that_is_killed_leaves_no_room() {
    for network in ["auto", "off"] {
        let folder = TempDir::new().unwrap();
        // It tells when the room is full.
        let fills = "echo x > file; mkdir -p a/b; chmod 000 a; echo filled; sleep 86451";
        script(&folder, "lives", fills, "", "");
        let mut command = process(&folder);
        command.args(["run", "lives.toml", "--network", network, "--out", "out", "--format", "json"]);
        let mut clawgate = command.stdout(Stdio::piped()).spawn().unwrap();
        let target = loop {
            if let Some(target) = process_with("86451") {
                break target;
            }
            assert!(clawgate.try_wait().unwrap().is_none(), "clawgate ended early");
            std::thread::yield_now();
        };
        let room = fs::read_link(format!("/proc/{}/cwd", target.as_raw_nonzero())).unwrap();
        let room = room.parent().unwrap().to_owned();
        // The supervisor holds the other end of this until it is gone.
        let supervisors = children_of(clawgate.id());
        clawgate.kill().unwrap();
        clawgate.wait().unwrap();
        for supervisor in supervisors {
            wait_for_end(supervisor);
        }
        assert!(!rooms().contains(&room), "{network}: {} is still there", room.display());
        let mut rest = String::new();
        clawgate.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    }
}

fn children_of(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| list.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<u32>>())
        .collect()
}

fn wait_for_end(pid: u32) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let Ok(ends) = pidfd_open(Pid::from_raw(pid.cast_signed()).unwrap(), PidfdFlags::empty()) else { return };
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(&ends, PollFlags::IN)], Some(&limit)).unwrap(), 1, "{pid} still runs");
}

#[test]
fn the_environment_of_clawgate_is_nobodys_to_read() {
    let folder = TempDir::new().unwrap();
    // As another process of the same user would, without a namespace between them.
    let reads = "cat /proc/$(cat /proc/$PPID/status | sed -n 's/^PPid:[^0-9]*//p')/environ | tr '\\0' '\\n'; echo '{}'";
    script(&folder, "reads", reads, "", "");
    let output = as_other_user(&folder, &["run", "reads.toml", "--network", "off", "--out", "out"]);
    let Some(output) = output else { return };
    let said = fs::read_to_string(folder.path().join("out/reference/reads/stdout")).unwrap();
    assert!(said.contains("{}") && !said.contains("KEY_OF_THE_USER"), "{said} {output:?}");
}

/// Runs clawgate as a user who is not root, where that can be arranged.
fn as_other_user(folder: &TempDir, args: &[&str]) -> Option<std::process::Output> {
    let mut command = if rustix::process::geteuid().is_root() {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let binary = folder.path().join("clawgate");
        fs::copy(cargo_bin("clawgate"), &binary).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(binary);
        command
    } else {
        Command::new(cargo_bin("clawgate"))
    };
    command.args(args).current_dir(folder.path()).env("KEY_OF_THE_USER", "x").env_remove("CLAWGATE_BIN");
    command.output().ok()
}

/// Where the places outside cannot be covered, everything but the room stays read-only all the same.
#[test]
fn regression_a_room_without_layers_could_not_be_written() {
    let folder = TempDir::new().unwrap();
    script(&folder, "writes", "echo x > in.txt && mkdir -p \"$TMPDIR/a\" && echo '{}'", "", "exit = 0");
    // Layers over layers: the kernel allows two.
    let layers = "mount -t tmpfs x \"$1\" && for i in 1 2; do mkdir \"$1\"/u$i \"$1\"/w$i && mount -t overlay x -o \
                  lowerdir=/var/tmp,upperdir=\"$1\"/u$i,workdir=\"$1\"/w$i,userxattr /var/tmp || exit 77; done; shift; exec \"$@\"";
    let scratch = folder.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let output = Command::new("unshare")
        .args(["-Urm", "/bin/sh", "-c", layers, "sh"])
        .arg(&scratch)
        .arg(cargo_bin("clawgate"))
        .args(["run", "writes.toml", "--out", "out"])
        .current_dir(folder.path())
        .output();
    let Ok(output) = output else { return };
    if !folder.path().join("out/reference/writes").exists() {
        // No namespaces or no layers here at all.
        assert_ne!(output.status.code(), Some(0));
        return;
    }
    let facts = facts(&folder.path().join("out/reference/writes"));
    assert_eq!(facts["isolation"]["files"], "none", "{facts}");
    assert_eq!(facts["exit"]["code"], 0, "{facts}");
    assert_eq!(stdout(&folder, "writes"), "{}\n");
}

/// A layer over a whole place would show what a mount below it hides, which the kernel refuses: directories have one each.
#[test]
fn a_mount_below_a_place_that_is_covered_is_seen_and_kept_as_it_was() {
    for (user, room) in [("me", "/dev/shm"), ("me", "/tmp"), ("other", "/tmp")] {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let there = folder.path().display();
        let attack = format!(
            "cd {there}; cat mounted/inside sub/inside beside; test -e socket && echo leads outside; \
             echo 1 > mounted/new; echo 2 > sub/new; echo 3 > beside-new; echo 4 > beside; echo '{{}}'"
        );
        script(&folder, "writes", &attack, "", "exit = 0");
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::create_dir(folder.path().join("mounted")).unwrap();
        fs::write(folder.path().join("sub/inside"), "in a folder\n").unwrap();
        fs::write(folder.path().join("beside"), "beside it\n").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        for writable in [".", "sub", "sub/inside", "beside"] {
            fs::set_permissions(folder.path().join(writable), fs::Permissions::from_mode(0o777)).unwrap();
        }
        let binary = folder.path().join("clawgate");
        fs::copy(cargo_bin("clawgate"), &binary).unwrap();
        let become_user = match user {
            "other" => "setpriv --reuid 65534 --regid 65534 --clear-groups",
            _ => "",
        };
        let mounts = format!(
            "mount -t tmpfs -o mode=777 x mounted || exit 77; echo mounted > mounted/inside; \
             {become_user} ./clawgate run writes.toml --out out; cat mounted/*"
        );
        let is_root = rustix::process::geteuid().is_root();
        if user == "other" && !is_root {
            continue;
        }
        let output = Command::new("unshare")
            .args([if is_root { "-m" } else { "-Urm" }, "/bin/sh", "-c", &mounts])
            .current_dir(folder.path())
            .env_remove("CLAWGATE_BIN")
            .envs((room != "/dev/shm").then_some(("TMPDIR", room)))
            .output()
            .unwrap();
        if output.status.code() == Some(77) {
            return;
        }
        let facts = facts(&folder.path().join("out/reference/writes"));
        if facts["isolation"]["network"] != "namespace" {
            return;
        }
        let isolation = &facts["isolation"];
        assert_eq!((&isolation["files"], &isolation["files_reason"]), (&"overlay".into(), &Value::Null));
        assert_eq!(stdout(&folder, "writes"), "mounted\nin a folder\nbeside it\n{}\n", "{user} {room}");
        let written = ["beside-new", "mounted/new", "sub/new"].map(|name| format!("{there}/{name}"));
        assert_eq!(facts["outside"], serde_json::json!(written), "{user} {room}");
        // Nothing of it is there afterwards.
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.ends_with("\nmounted\n"), "{said}");
        assert!(!folder.path().join("sub/new").exists() && !folder.path().join("beside-new").exists());
        assert_eq!(fs::read_to_string(folder.path().join("beside")).unwrap(), "beside it\n");
    }
}

/// A folder for recordings, and a scenario that says `{}` at once.
fn quick(folder: &TempDir) {
    script(folder, "quick", "echo '{}'", "", "exit = 0");
}

fn complaint(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_folder_has_one_run_at_a_time_and_the_second_says_who_has_it() {
    let folder = TempDir::new().unwrap();
    quick(&folder);
    script(&folder, "stays", "sleep 86461", "", "");
    let run = |name: &str| {
        let mut command = process(&folder);
        command.args(["run", name, "--out", "out"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut first = run("stays.toml").spawn().unwrap();
    while process_with("86461").is_none() {
        assert!(first.try_wait().unwrap().is_none(), "clawgate ended early");
        std::thread::yield_now();
    }
    let second = run("quick.toml").output().unwrap();
    assert_eq!(second.status.code(), Some(3));
    let said = complaint(&second);
    assert!(said.contains(&format!("out: process {} (since ", first.id())), "{said}");
    assert!(said.contains("wait for its end, or name another folder with --out"), "{said}");
    first.kill().unwrap();
    first.wait().unwrap();
    // However the first one ended, the folder is free.
    assert_ne!(run("quick.toml").output().unwrap().status.code(), Some(3));
}

#[test]
fn a_folder_of_somebody_else_is_not_written_into() {
    let folder = TempDir::new().unwrap();
    quick(&folder);
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("thesis.txt"), "years of work").unwrap();
    let run = || process(&folder).args(["run", "quick.toml", "--out", "theirs"]).output().unwrap();
    let refused = run();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = complaint(&refused);
    assert!(said.contains("theirs: holds what is not clawgate's, such as theirs/thesis.txt"), "{said}");
    let names = |path: &std::path::Path| fs::read_dir(path).unwrap().count();
    assert_eq!(names(&theirs), 1);
    let recording = {
        let run = process(&folder).args(["run", "quick.toml", "--out", "out"]).output().unwrap();
        assert_ne!(run.status.code(), Some(3));
        "out/reference/quick"
    };
    let learn = process(&folder).args(["contract", "learn", recording, "--out", "theirs"]).output().unwrap();
    assert_eq!(learn.status.code(), Some(2), "{learn:?}");
    assert!(complaint(&learn).contains("theirs: holds what was not learned"), "{learn:?}");
    assert_eq!(names(&theirs), 1);
    // Whoever asks for it gets it.
    assert!(said.contains("touch theirs/.clawgate"), "{said}");
    fs::write(theirs.join(".clawgate"), "").unwrap();
    assert_ne!(run().status.code(), Some(2));
    assert!(theirs.join("reference/quick/recording.json").exists());
    // A contract that was learned is learned again, and one that somebody wrote is not.
    let learn = || process(&folder).args(["contract", "learn", recording, "--out", "mine"]).output().unwrap();
    assert_eq!((learn().status.code(), learn().status.code()), (Some(0), Some(0)));
    fs::write(folder.path().join("mine/contract.toml"), "# by hand\n").unwrap();
    assert_eq!(learn().status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.path().join("mine/contract.toml")).unwrap(), "# by hand\n");
}

#[test]
fn nothing_of_a_run_is_written_through_a_link() {
    let folder = TempDir::new().unwrap();
    quick(&folder);
    let (out, notes) = (folder.path().join("out"), folder.path().join("notes"));
    fs::create_dir(&out).unwrap();
    for name in [".clawgate", "events.ndjson"] {
        fs::write(&notes, "mine").unwrap();
        std::os::unix::fs::symlink("../notes", out.join(name)).unwrap();
        let output = process(&folder).args(["run", "quick.toml", "--out", "out"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", complaint(&output));
        assert!(complaint(&output).contains(&format!("out/{name}: is a link")), "{}", complaint(&output));
        assert_eq!(fs::read_to_string(&notes).unwrap(), "mine", "{name}");
        fs::remove_file(out.join(name)).unwrap();
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_one_line_before_the_first_case() {
    let folder = TempDir::new().unwrap();
    quick(&folder);
    // Nobody can make a folder there, root included.
    let refused = process(&folder).args(["run", "quick.toml", "--out", "/proc/out"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&refused.stdout), "");
    let said = complaint(&refused);
    assert!(said.lines().count() == 1 && said.contains("/proc/out: "), "{said}");
}

#[test]
fn what_a_killed_run_left_of_a_recording_goes_with_the_next_start() {
    let folder = TempDir::new().unwrap();
    quick(&folder);
    let stale = folder.path().join("out/.partial-stale");
    fs::create_dir_all(stale.join("outputs/deep")).unwrap();
    fs::write(folder.path().join("out/.clawgate"), "").unwrap();
    let held = folder.path().join("out/.partial-held");
    fs::create_dir(&held).unwrap();
    let lock = fs::File::open(&held).unwrap();
    lock.lock().unwrap();
    process(&folder).args(["run", "quick.toml", "--out", "out"]).output().unwrap();
    assert!(!stale.exists(), "it is still there");
    assert!(held.exists(), "it was taken from somebody who uses it");
}

#[test]
fn a_recording_is_not_written_through_a_link() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    let swaps = format!(
        "cd {0}/out && for d in .partial-*; do mv $d gone && ln -s {0}/elsewhere $d; done; echo '{{}}'",
        folder.path().display()
    );
    script(&folder, "swaps", &swaps, "", "");
    // Without namespaces the target can do this to its own user.
    let output =
        process(&folder).args(["run", "swaps.toml", "--network", "off", "--out", "out"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_dir(folder.path().join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn what_has_no_end_is_refused_as_an_input() {
    let folder = TempDir::new().unwrap();
    quick(&folder);
    let zero = "/dev/zero";
    fs::create_dir_all(folder.path().join("mine")).unwrap();
    let link = |name: &str| std::os::unix::fs::symlink(zero, folder.path().join(name)).unwrap();
    link("endless.toml");
    link("mine/contract.toml");
    for args in [
        &["judge", zero][..],
        &["judge", "--known-failures", zero, "quick.toml"],
        &["judge", "--stderr", zero, "quick.toml"],
        &["run", "endless.toml"],
        &["run", "--target", "./endless.toml"],
        &["run", "quick.toml", "--known-failures", zero],
        &["run", "quick.toml", "--durations", zero],
        &["eval", zero],
        &["contract", "learn", zero, "--out", "learned"],
        &["events", "timeline", zero],
        &["diff", zero, zero],
        &["diff", "quick.toml", "quick.toml", "--known-changes", zero],
    ] {
        let output = process(&folder).args(args).output().unwrap();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("is a device and has no end: name a file"), "{args:?}: {said}");
    }
    for args in [&["contract", "show", "./mine"][..], &["judge", "--contract", "./mine", "quick.toml"]] {
        let output = process(&folder).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", complaint(&output));
    }
    link("clawgate.toml");
    let output = process(&folder).args(["run", "quick.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).contains("clawgate.toml: is a device"), "{}", complaint(&output));
}

#[test]
fn what_is_not_to_be_had_is_said_and_nothing_breaks_off() {
    let folder = TempDir::new().unwrap();
    quick(&folder);
    // What is missing first differs from limit to limit: an allocation, a thread, a thread's stack, the C library's own.
    for kib in (60_000..=500_000).step_by(20_000) {
        let limit = format!("ulimit -v {kib}");
        let started = format!("{limit}; exec \"$@\"");
        let output = Command::new("/bin/sh")
            .args(["-c", &started, "sh"])
            .arg(cargo_bin("clawgate"))
            .args(["run", "quick.toml", "--out", "out", "--jobs", "8", "--repeat", "8"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = complaint(&output);
        assert!(!said.contains("panicked") && !said.contains("memory allocation"), "{limit}: {said}");
        assert!(matches!(output.status.code(), Some(0 | 3 | 100)), "{limit}: {:?} {said}", output.status);
    }
}

#[test]
fn what_a_target_locks_away_is_recorded_all_the_same() {
    let folder = TempDir::new().unwrap();
    let locks = "mkdir -p d/e; echo x > d/e/f; echo y > g; chmod 000 d/e/f g d/e d; echo '{}'";
    script(&folder, "locks", locks, "", "exit = 0");
    let output = as_other_user(&folder, &["run", "locks.toml", "--out", "out"]).unwrap();
    let facts = facts(&folder.path().join("out/reference/locks"));
    let files: Vec<_> = facts["files"].as_array().unwrap().iter().collect();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["work/d/e/f", "work/g"], "{output:?}");
    assert!(files.iter().all(|file| file["sha256"].is_string()), "{facts}");
}

#[test]
fn a_supervisor_that_was_stopped_goes_on_at_the_deadline() {
    let folder = TempDir::new().unwrap();
    script(&folder, "stops", "kill -STOP $PPID; sleep 86481", "wall_ms = 300", "verdict = \"timeout\"");
    let (end, facts) = run_script(&folder, "stops", &["--network", "off"]);
    assert_eq!(facts["exit"]["timed_out"], "wall", "{end}");
    assert_eq!(process_with("86481"), None);
}

#[test]
fn root_without_namespaces_keeps_its_environment_to_itself() {
    let folder = TempDir::new().unwrap();
    let reads = "p=$(sed -n 's/^PPid:.//p' /proc/$PPID/status); \
                 cat /proc/$PPID/environ /proc/$p/environ 2>/dev/null | grep -ac of-the-user-alone; echo '{}'";
    script(&folder, "reads", reads, "", "");
    let mut command = process(&folder);
    command.args(["run", "reads.toml", "--network", "off", "--out", "out"]).env("A_KEY", "of-the-user-alone");
    command.output().unwrap();
    let said = stdout(&folder, "reads");
    assert_eq!(said, "0\n{}\n");
}

#[test]
fn a_killed_installation_leaves_no_npm_and_its_folder_goes_with_the_next() {
    let folder = TempDir::new().unwrap();
    let npm = folder.path().join("npm");
    let write = |script: &str| {
        fs::write(&npm, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let install = || {
        let mut command = process(&folder);
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        command.args(["target", "install", "claude@2.1.197"]).env("PATH", path);
        command.env("CLAWGATE_CACHE", folder.path().join("cache")).stderr(Stdio::null());
        command
    };
    write("exec sleep 86491");
    let mut clawgate = install().spawn().unwrap();
    let running = loop {
        if let Some(running) = process_with("86491") {
            break running;
        }
        assert!(clawgate.try_wait().unwrap().is_none(), "clawgate ended early");
        std::thread::yield_now();
    };
    clawgate.kill().unwrap();
    clawgate.wait().unwrap();
    wait_for_end(running.as_raw_nonzero().get().cast_unsigned());
    let building = || {
        let mut entries = walkdir(&folder.path().join("cache"));
        entries.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with(".installing-"));
        entries.len()
    };
    assert_eq!(building(), 1);
    write("exit 1");
    assert_eq!(install().output().unwrap().status.code(), Some(3));
    assert_eq!(building(), 0);
}

/// Every directory below a folder.
fn walkdir(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    let below: Vec<_> = folders.iter().flat_map(|folder| walkdir(folder)).collect();
    folders.into_iter().chain(below).collect()
}

#[test]
fn nobody_answers_in_the_place_of_a_supervisor() {
    let folder = TempDir::new().unwrap();
    let steals = "import ctypes, os\nkernel = ctypes.CDLL(None)\nholder = kernel.syscall(434, os.getppid(), 0)\n\
                  print(kernel.syscall(438, holder, 0, 0))\n";
    fs::write(folder.path().join("steals.py"), steals).unwrap();
    let run = format!("exec python3 {}/steals.py", folder.path().display());
    script(&folder, "steals", &run, "", "");
    as_other_user(&folder, &["run", "steals.toml", "--network", "off", "--out", "out"]).unwrap();
    let said = stdout(&folder, "steals");
    // No python, or no answer of the kernel but a refusal.
    assert!(said.is_empty() || said == "-1\n", "it has the socket: {said}");
}

#[test]
fn the_settings_of_the_kernel_can_be_read_and_not_written() {
    let folder = TempDir::new().unwrap();
    // What stands there is written again, so that nothing comes of it where it can be.
    let writes = "for f in kernel/core_pattern kernel/hostname vm/swappiness; do \
                  value=$(cat /proc/sys/$f) && echo \"$value\" > /proc/sys/$f && echo \"wrote $f\"; done; \
                  for f in /proc/sysrq-trigger /proc/mtrr; do (: >> $f) && echo \"opened $f\"; done; echo '{}'";
    script(&folder, "settings", writes, "", "exit = 0");
    let (_, facts) = run_script(&folder, "settings", &[]);
    if is_apart(&facts) {
        assert_eq!(stdout(&folder, "settings"), "{}\n");
    }
}

#[test]
fn of_the_devices_only_the_harmless_ones_are_there() {
    let folder = TempDir::new().unwrap();
    let looks = "ls -A /dev /dev/pts | tr '\\n' ' '; echo; echo lost > /dev/null; head -c 3 /dev/zero | wc -c; \
                 head -c 3 /dev/urandom | wc -c; (echo shared > /dev/shm/mine) && cat /dev/shm/mine; \
                 (rm -f /dev/null; chmod 000 /dev/zero; : > /dev/new) && echo changed; echo '{}'";
    script(&folder, "devices", looks, "", "exit = 0\noutside = true");
    let (_, facts) = run_script(&folder, "devices", &[]);
    if is_apart(&facts) {
        let said = stdout(&folder, "devices");
        let (listed, rest) = said.split_once('\n').unwrap();
        let mut names: Vec<&str> = listed.split_ascii_whitespace().collect();
        names.sort_unstable();
        let expected = [
            "/dev/pts:",
            "/dev:",
            "fd",
            "full",
            "null",
            "ptmx",
            "ptmx",
            "pts",
            "random",
            "shm",
            "stderr",
            "stdin",
            "stdout",
            "tty",
            "urandom",
            "zero",
        ];
        assert_eq!(names, expected);
        assert_eq!(rest, "3\n3\nshared\n{}\n");
        assert_eq!(facts["outside"], serde_json::json!(["/dev/shm/mine"]));
    }
}

#[test]
fn what_is_shared_without_a_file_goes_with_its_case() {
    let folder = TempDir::new().unwrap();
    // One supervisor holds both; `ipcmk` may be missing.
    let shares =
        "wc -l < /proc/sysvipc/shm; ipcmk -M 4096 >/dev/null 2>&1 && wc -l < /proc/sysvipc/shm; echo '{}'";
    script(&folder, "a", shares, "", "exit = 0");
    script(&folder, "b", shares, "", "exit = 0");
    let run =
        process(&folder).args(["run", "a.toml", "b.toml", "--jobs", "1", "--out", "out"]).output().unwrap();
    assert!(run.status.code().is_some());
    if is_apart(&facts(&folder.path().join("out/reference/a"))) {
        for name in ["a", "b"] {
            let said = stdout(&folder, name);
            assert!(["1\n2\n{}\n", "1\n{}\n"].contains(&said.as_str()), "{name}: {said}");
        }
    }
}

#[test]
fn a_socket_that_somebody_listens_at_is_out_of_reach_wherever_it_is() {
    let folder = TempDir::new().unwrap();
    // Where no layer is: the build's own folder for tests.
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = place.path().join("agent");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let asks = format!(
        "test -S {path} && echo sees; python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")' \
         2>/dev/null && echo asked; echo '{{}}'",
        path = path.display()
    );
    script(&folder, "asks", &asks, "", "exit = 0");
    let (_, facts) = run_script(&folder, "asks", &[]);
    if is_apart(&facts) {
        assert_eq!(stdout(&folder, "asks"), "{}\n");
        assert!(listener.accept().is_err(), "the target reached it");
    }
}

#[test]
fn what_the_users_shell_has_open_is_not_for_the_target() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("keys"), "of-the-user-alone").unwrap();
    script(&folder, "reads", "cat <&7; echo no >&8; ls /proc/self/fd | wc -l; echo '{}'", "", "");
    for network in ["auto", "off"] {
        let started = "exec 7<keys 8>pipe 251</dev/null; exec \"$@\"";
        let run = Command::new("/bin/bash")
            .args(["-c", started, "sh"])
            .arg(cargo_bin("clawgate"))
            .args(["run", "reads.toml", "--network", network, "--out", "out"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(matches!(run.status.code(), Some(0 | 100)), "{network}: {}", complaint(&run));
        // Its three streams, and the list itself.
        assert_eq!(stdout(&folder, "reads"), "4\n{}\n", "{network}");
        assert_eq!(fs::read_to_string(folder.path().join("pipe")).unwrap(), "", "{network}");
    }
}

#[test]
fn the_users_terminal_is_not_the_targets() {
    let folder = TempDir::new().unwrap();
    let writes = "(echo from-the-target > /dev/tty) 2>/dev/null && echo wrote; echo '{}'";
    script(&folder, "writes", writes, "", "");
    for network in ["auto", "off"] {
        // A clawgate that runs on a terminal: another one's.
        let clawgate = cargo_bin("clawgate");
        let runs = format!(
            "cd {} && env -u CLAWGATE_ACT_AS {} run writes.toml --network {network} --out inner; echo as-the-user > /dev/tty",
            folder.path().display(),
            clawgate.display(),
        );
        script(&folder, "user", &runs, "terminal = true\nwall_ms = 60000", "");
        run_script(&folder, "user", &["--network", "off"]);
        let screen = stdout(&folder, "user");
        assert!(screen.contains("as-the-user") && !screen.contains("from-the-target"), "{network}: {screen}");
        let said = fs::read_to_string(folder.path().join("inner/reference/writes/stdout")).unwrap();
        assert_eq!(said, "{}\n", "{network}");
    }
}

#[test]
fn a_target_that_takes_the_descriptors_of_its_supervisor_hides_nothing() {
    let folder = TempDir::new().unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    // It is a child of its supervisor, and has the same user.
    let blinds = format!(
        "prlimit --pid $PPID --nofile=3:3 || exit 77; touch /tmp/hidden-{name}; setsid sleep 20 & echo '{{}}'"
    );
    script(&folder, "blinds", &blinds, "", "");
    // What it leaves to the next: a niceness, and a limit.
    script(
        &folder,
        "changes",
        "(chrt --idle -p 0 $PPID; renice -n 19 -p $PPID; prlimit --pid $PPID --fsize=0:0) >&2; echo '{}'",
        "",
        "",
    );
    script(&folder, "inherits", "ulimit -f; nice; chrt -p $$ | head -n 1; echo '{}'", "", "");
    for network in ["auto", "off"] {
        let run = |scenarios: &[&str]| {
            let mut command = process(&folder);
            command.args(["run", "--jobs", "1", "--out", "out", "--network", network]).args(scenarios);
            command.output().unwrap()
        };
        let output = run(&["blinds.toml"]);
        assert_ne!(output.status.code(), Some(0), "{network}: {}", complaint(&output));
        run(&["inherits.toml"]);
        let before = stdout(&folder, "inherits");
        let output = run(&["changes.toml", "inherits.toml"]);
        assert!(matches!(output.status.code(), Some(0 | 100)), "{network}: {}", complaint(&output));
        // The third line names the process.
        let said = stdout(&folder, "inherits");
        assert!(said.lines().take(2).eq(before.lines().take(2)), "{network}: {said}");
        assert!(!said.contains("IDLE"), "{network}: {said}");
    }
    _ = fs::remove_file(format!("/tmp/hidden-{name}"));
}

/// Most schedulers share time out among sessions, so that processes of a target that compute hold up nobody else.
#[test]
fn a_target_has_a_session_of_its_own() {
    let folder = TempDir::new().unwrap();
    script(&folder, "whose", "[ $(cut -d ' ' -f 6 /proc/$$/stat) = $$ ] && echo own; exit", "", "");
    for network in ["auto", "off"] {
        run_script(&folder, "whose", &["--network", network]);
        assert_eq!(stdout(&folder, "whose"), "own\n", "{network}");
    }
}

#[test]
fn memory_that_runs_out_ends_the_target_or_its_supervisor_and_never_clawgate() {
    let folder = TempDir::new().unwrap();
    // A target can take back what it has inherited, and has to find somebody above it who is ended before clawgate is.
    let asks = "for p in self $PPID; do cat /proc/$p/oom_score_adj; done; \
                (echo 0 > /proc/$PPID/oom_score_adj) 2>/dev/null; cat /proc/$PPID/oom_score_adj; echo '{}'";
    script(&folder, "asks", asks, "", "exit = 0");
    for network in ["auto", "off"] {
        as_other_user(&folder, &["run", "asks.toml", "--network", network, "--out", "out"]).unwrap();
        assert_eq!(stdout(&folder, "asks"), "1000\n1000\n1000\n{}\n", "{network}");
    }
}
