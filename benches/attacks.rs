//! Targets that attack the machine, the harness or what it keeps, as a table: what each tries, what is promised, and what
//! came of it as root and as another user, with namespaces and without.
//!
//! `cargo bench --bench attacks`, or `cargo test --bench attacks` without the wait for an optimized build. Late is the time
//! from a case's deadline to its end; peak is the memory of clawgate and of its supervisors, whichever took more. After each
//! run nothing may be left: no process, no room, no mount, no recording in the making. Exits with 1 when a promise is broken;
//! times mean something on a quiet machine only.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark: it prints, and a failure ends it"
)]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const CLAWGATE: &str = env!("CARGO_BIN_EXE_clawgate");
/// Every attack has this long.
const WALL: Duration = Duration::from_secs(1);
/// From there to its end.
const MOST_LATE: Duration = Duration::from_millis(200);
const MOST_PEAK_KB: u64 = 64 << 10;
/// How long a clawgate that was killed may take until nothing of it is left.
const MOST_TO_VANISH: Duration = Duration::from_secs(5);
const KILLS: u32 = 10;
/// Somebody who is not root and owns nothing.
const OTHER_USER: u32 = 65534;
/// What only the user's environment holds, and no target may see.
const SECRET: &str = "only-for-the-user-to-know";

/// What a target does; `T` is a number by which its processes are known.
struct Attack {
    name: &'static str,
    script: &'static str,
    expect: &'static str,
}

const fn attack(name: &'static str, script: &'static str) -> Attack {
    Attack { name, script, expect: "" }
}

const ATTACKS: &[Attack] = &[
    attack("sleeps", "sleep T"),
    attack("a grandchild holds the pipe", "sleep T & sleep T"),
    attack("exits and leaves its pipes to a child", "sleep T & echo '{}'"),
    attack("a daemon without environment", "(setsid env -i sh -c 'cd /; sleep T & exit' &); sleep T"),
    attack("heeds no TERM", "trap '' TERM; (trap '' TERM; sleep T) & while :; do sleep 1; done # T"),
    attack("stops itself", "sleep T & kill -STOP $$"),
    attack("stops its supervisor", "sleep T & kill -STOP $PPID; sleep T"),
    attack("kills its supervisor", "setsid sleep T & kill -9 $PPID; sleep T"),
    attack("closes its output and stays", "exec 1>&- 2>&-; sleep T"),
    attack("1500 children", "i=0; while [ $i -lt 1500 ]; do sleep T & i=$((i+1)); done; wait"),
    attack(
        "200 processes that compute for ever",
        "i=0; while [ $i -lt 200 ]; do sh -c 'while :; do :; done' T & i=$((i+1)); done; sleep T",
    ),
    attack(
        "children that are replaced for ever",
        "export S='sh -c \"$S\" T & exit'; for i in 1 2 3 4; do setsid sh -c \"$S\" T & done; sleep T",
    ),
    attack(
        "a command line of a megabyte",
        "a=$(head -c 100000 /dev/zero | tr '\\0' a); sh -c 'sleep T' $a $a $a $a $a $a $a $a $a $a & sleep T",
    ),
    attack("floods of short lines", "yes 1 # T"),
    attack("a gigabyte without a newline", "head -c 1073741824 /dev/zero; sleep T"),
    attack(
        "one JSON string of 200 MB",
        "printf '{\"a\":\"'; head -c 200000000 /dev/zero | tr '\\0' a; printf '\"}\\n'; sleep T",
    ),
    attack("floods of errors", "yes 1 >&2 # T"),
    attack("a file of 300 MB", "head -c 300000000 /dev/zero > big; sleep T"),
    attack(
        "1000 files that say they are large",
        "i=0; while [ $i -lt 1000 ]; do truncate -s 16M f$i; i=$((i+1)); done; sleep T",
    ),
    attack(
        "20,000 directories with long names",
        "l=$(head -c 200 /dev/zero | tr '\\0' a); seq 20000 | sed \"s/$/$l/\" | xargs mkdir; sleep T",
    ),
    attack(
        "directories 5000 deep",
        "i=0; while [ $i -lt 5000 ]; do mkdir d && cd -P d || exit; i=$((i+1)); done 2>/dev/null; sleep T",
    ),
    attack(
        "files of mode 000",
        "mkdir -p d/e; echo x > f; echo x > d/e/g; chmod 000 f d/e/g d/e d .; sleep T",
    ),
    attack("files that cannot be changed", "mkdir d; echo x > d/f; chattr +i d/f d; sleep T"),
    Attack {
        name: "a pipe where a file is expected",
        script: "mkfifo out.txt; sleep T",
        expect: "files = { \"out.txt\" = \"x\" }",
    },
    Attack {
        name: "an endless device where a file is expected",
        script: "ln -s /dev/zero out.txt; sleep T",
        expect: "files = { \"out.txt\" = \"x\" }",
    },
    attack(
        "reads the environment of those above it",
        "p=$(sed -n 's/^PPid:.//p' /proc/$PPID/status); cat /proc/$PPID/environ /proc/$p/environ 2>/dev/null; sleep T",
    ),
    attack(
        "60 requests of 7 MB at once that never end",
        "python3 -c 'import os, socket, threading\nhost, port = os.environ[\"ANTHROPIC_BASE_URL\"].split(\"/\")[2].split(\":\")\n\
         def ask():\n  s = socket.create_connection((host, int(port)))\n  \
         s.sendall(b\"POST /v1/messages HTTP/1.1\\r\\ncontent-length: 7000000\\r\\n\\r\\n\" + b\"a\" * 6999999)\n\
         for i in range(60): threading.Thread(target=ask).start()' T & sleep T",
    ),
    attack(
        "puts a link where it is recorded",
        "for d in OUT/.partial-*; do mv $d $d-gone && ln -s OUT-elsewhere $d; done 2>/dev/null; sleep T",
    ),
];

/// Who runs clawgate, and what it may use of the kernel.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    user: Option<u32>,
    network: &'static str,
}

fn modes() -> Vec<Mode> {
    let users: &[(&str, Option<u32>)] = if rustix::process::geteuid().is_root() {
        &[("root", None), ("another user", Some(OTHER_USER))]
    } else {
        &[("this user", None)]
    };
    let mode = |name, user, network| Mode { name, user, network };
    users.iter().flat_map(|(name, user)| [mode(*name, *user, "auto"), mode(*name, *user, "off")]).collect()
}

impl Mode {
    fn describe(self) -> String {
        format!("{}, {}", self.name, if self.network == "off" { "no namespaces" } else { "namespaces" })
    }
}

/// Where one run happens; nobody else writes into any of it.
struct Scene {
    folder: TempDir,
    /// Where rooms are made.
    ground: TempDir,
    token: String,
}

impl Scene {
    fn new(mode: Mode) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let ground = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let scene = Self {
            folder: TempDir::new().unwrap(),
            ground,
            token: format!("{}{:03}", 7_000_000 + std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)),
        };
        for folder in [&scene.folder, &scene.ground] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        }
        fs::create_dir(scene.elsewhere()).unwrap();
        fs::set_permissions(scene.elsewhere(), fs::Permissions::from_mode(0o777)).unwrap();
        // The build's own folder may be closed to others.
        if mode.user.is_some() {
            fs::copy(CLAWGATE, scene.folder.path().join("clawgate")).unwrap();
        }
        scene
    }

    /// Where a link of the attack leads, and nothing may ever be written.
    fn elsewhere(&self) -> PathBuf {
        self.folder.path().join("out-elsewhere")
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn write(&self, name: &str, script: &str, expect: &str, wall: Duration) {
        let out = self.out().display().to_string();
        let script = script.replace(" T", &format!(" {}", self.token)).replace("OUT", &out);
        let text = format!(
            "[scenario]\nname = \"{name}\"\ncontract = \"claw-flat\"\n[run]\nprogram = \"/bin/sh\"\nbare = true\n\
             args = [\"-c\", {script:?}]\nwall_ms = {}\n[expect]\n{expect}\n",
            wall.as_millis()
        );
        fs::write(self.folder.path().join(format!("{name}.toml")), text).unwrap();
    }

    /// Starts clawgate there, with no more descriptors than most systems give.
    fn start(&self, mode: Mode, args: &[&str]) -> Child {
        let own = self.folder.path().join("clawgate");
        let program = if own.exists() { own } else { PathBuf::from(CLAWGATE) };
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", "ulimit -n 1024; exec \"$@\"", "sh"])
            .arg(program)
            .args(["run", "--format", "json", "--out", "out", "--network", mode.network])
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("A_KEY", SECRET)])
            .env("TMPDIR", self.ground.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(user) = mode.user {
            command.uid(user).gid(user);
        }
        command.spawn().unwrap()
    }

    /// What is left of a run; nothing when the promise is kept.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let running = processes().filter(|pid| command_line(*pid).contains(&self.token)).count();
        if running > 0 {
            left.push(format!("{running} processes"));
        }
        left.extend(names(self.ground.path()));
        left.extend(names(&self.elsewhere()));
        // What a target has moved away is its own doing, and swept by the next run.
        let is_partial = |name: &String| name.starts_with(".partial-") && !name.ends_with("-gone");
        left.extend(names(&self.out()).filter(is_partial));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let ground = self.ground.path().to_str().unwrap();
        left.extend(mounts.lines().filter(|line| line.contains(ground)).map(|_| "a mount".to_owned()));
        left
    }

    /// What is left once everything has had the time to go.
    fn left_in_the_end(&self) -> (Duration, Vec<String>) {
        let since = Instant::now();
        loop {
            // The room of a case whose supervisor had not heard of it is empty, and waits for the next start too.
            let is_for_next = |name: &String| {
                let room = self.ground.path().join(name);
                name.starts_with(".partial-")
                    || fs::read_dir(room).is_ok_and(|mut inside| inside.next().is_none())
            };
            let left: Vec<String> = self.left().into_iter().filter(|name| !is_for_next(name)).collect();
            if left.is_empty() || since.elapsed() > MOST_TO_VANISH {
                return (since.elapsed(), left);
            }
            std::thread::yield_now();
        }
    }
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn processes() -> impl Iterator<Item = u32> {
    names(Path::new("/proc")).filter_map(|name| name.parse().ok())
}

fn command_line(pid: u32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).into_owned()
}

/// The most memory that clawgate or one of its supervisors has taken until now.
fn peak_kb(clawgate: u32) -> u64 {
    let of = |pid: u32| -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let mut ours = vec![clawgate];
    let mut peak = 0;
    while let Some(pid) = ours.pop() {
        peak = peak.max(of(pid).unwrap_or(0));
        let children = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let lists = children.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
        let pids: Vec<u32> = lists
            .flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect();
        ours.extend(pids.into_iter().filter(|pid| command_line(*pid).contains("\0__supervise\0")));
    }
    peak
}

/// What came of an attack: a cell of the table, and whether the promises were kept.
fn suffer(attack: &Attack, mode: Mode) -> (String, bool) {
    let scene = Scene::new(mode);
    scene.write("attack", attack.script, attack.expect, WALL);
    let mut clawgate = scene.start(mode, &["attack.toml"]);
    let (pid, is_over) = (clawgate.id(), AtomicBool::new(false));
    let mut took = None;
    let peak = std::thread::scope(|scope| {
        let watches = scope.spawn(|| {
            let mut peak = 0;
            while !is_over.load(Ordering::Relaxed) {
                peak = peak.max(peak_kb(pid));
                std::thread::sleep(Duration::from_millis(5));
            }
            peak
        });
        let mut started = Instant::now();
        for line in BufReader::new(clawgate.stdout.take().unwrap()).lines() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            match event["type"].as_str() {
                Some("case-started") => started = Instant::now(),
                Some("case-finished") => {
                    // From its start to its verdict; a case that could not be run has no such times.
                    let ms = ["duration_ms", "verdict_ms"]
                        .iter()
                        .filter_map(|name| event[name].as_f64())
                        .sum::<f64>();
                    let whole = started.elapsed();
                    took = Some(if ms > 0.0 { Duration::from_secs_f64(ms / 1e3) } else { whole });
                }
                _ => {}
            }
        }
        is_over.store(true, Ordering::Relaxed);
        watches.join().unwrap()
    });
    let code = clawgate.wait().unwrap().code();
    let mut broken = scene.left();
    let late = took.unwrap_or_default().saturating_sub(WALL);
    if late > MOST_LATE {
        broken.push("late".into());
    }
    if peak > MOST_PEAK_KB {
        broken.push("too much memory".into());
    }
    if took.is_none() || !matches!(code, Some(0 | 3 | 100)) {
        broken.push(format!("exit {code:?}"));
    }
    let recorded = scene.out().join("reference/attack/stdout");
    if fs::read(recorded).is_ok_and(|said| memchr::memmem::find(&said, SECRET.as_bytes()).is_some()) {
        broken.push("a secret".into());
    }
    let figures = format!("{} ms, {} MB", late.as_millis(), peak >> 10);
    let is_kept = broken.is_empty();
    (if is_kept { figures } else { format!("{figures}: **{}**", broken.join(", ")) }, is_kept)
}

/// Kills clawgate in the middle of cases that leave much behind, so many times.
fn killed(mode: Mode) -> (String, bool) {
    let mut broken = Vec::new();
    let mut longest = Duration::ZERO;
    for round in 0..KILLS {
        let scene = Scene::new(mode);
        scene.write(
            "fills",
            "mkdir -p a/b; echo x > a/b/c; chmod 000 a; setsid env -i sleep T & sleep T",
            "",
            WALL / 5,
        );
        scene.write("quick", "echo '{}'", "", WALL);
        let mut clawgate = scene.start(mode, &["fills.toml", "--repeat", "50", "--jobs", "2"]);
        // Any moment will do: the low bits of a clock are as good as dice.
        let dice = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
        std::thread::sleep(Duration::from_millis(u64::from(dice % 997) + u64::from(round)));
        clawgate.kill().unwrap();
        clawgate.wait().unwrap();
        let (took, left) = scene.left_in_the_end();
        longest = longest.max(took);
        broken.extend(left);
        // What is left of its recordings goes with the next start.
        scene.start(mode, &["quick.toml"]).wait_with_output().unwrap();
        broken.extend(scene.left());
    }
    let figures = format!("{} ms", longest.as_millis());
    let is_kept = broken.is_empty();
    (if is_kept { figures } else { format!("{figures}: **{}**", broken.join(", ")) }, is_kept)
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    let modes = modes();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load {}; figures: from the deadline to the end of the case, and peak memory", load.trim_end());
    println!("promised: at most {} ms, {} MB, and nothing left\n", MOST_LATE.as_millis(), MOST_PEAK_KB >> 10);
    let heads: Vec<String> = modes.iter().map(|mode| mode.describe()).collect();
    println!("| attack | {} |\n|---|{}", heads.join(" | "), "---|".repeat(modes.len()));
    let mut all_kept = true;
    let mut row = |name: &str, cell: &dyn Fn(Mode) -> (String, bool)| {
        if !is_wanted(name) {
            return;
        }
        let cells: Vec<(String, bool)> = modes.iter().map(|mode| cell(*mode)).collect();
        all_kept &= cells.iter().all(|(_, is_kept)| *is_kept);
        let cells: Vec<&str> = cells.iter().map(|(cell, _)| cell.as_str()).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    for attack in ATTACKS {
        row(attack.name, &|mode| suffer(attack, mode));
    }
    row("clawgate is killed, ten times; until nothing runs and no room is full", &killed);
    if all_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
