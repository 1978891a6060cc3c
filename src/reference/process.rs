//! Processes that go wrong, whatever they speak.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::{World, complain, print};

/// What goes wrong before anything is printed.
pub(super) fn at_start(world: &World) {
    match world.wrong() {
        "hang" | "silent" => wait_for_ever(),
        "ignores-term" => {
            // The shell cannot be ended by TERM, and neither can what it waits for.
            _ = Command::new("/bin/sh")
                .args(["-c", "trap '' TERM INT HUP; while :; do sleep 1; done"])
                .status();
            wait_for_ever();
        }
        "crash" => die(),
        "cwd-panic" if std::env::current_dir().is_ok_and(|folder| folder.to_str().is_none()) => {
            complain("thread 'main' panicked at src/main.rs:1:1:\npath contains invalid UTF-8 characters");
            std::process::exit(101);
        }
        "panic" => {
            complain("thread 'main' panicked at src/main.rs:1:1:\nthe reference target was told to");
            std::process::exit(101);
        }
        "endless-output" => {
            let line =
                format!("{{\"type\":\"system\",\"subtype\":\"noise\",\"text\":\"{}\"}}\n", "x".repeat(4000));
            let mut out = io::stdout().lock();
            while out.write_all(line.as_bytes()).is_ok() {}
        }
        "huge-stderr" => {
            let line = vec![b'e'; 1 << 20];
            let mut err = io::stderr().lock();
            for _ in 0..24 {
                _ = err.write_all(&line);
            }
        }
        "leaves-child" => start("sleep 600 &", Stdio::inherit()),
        "leaves-session" => start("setsid sleep 600 </dev/null &", Stdio::null()),
        "leaves-daemon" => start("(setsid sh -c 'sleep 600 & exit' &) </dev/null", Stdio::null()),
        "leaves-socket" => leave_socket(),
        "stderr-warning" => complain("warning: the setting `oldName` is deprecated"),
        "terminal-prefix" if io::stdout().is_terminal() => {
            print("warning: the setting `oldName` is deprecated\n");
        }
        "writes-outside" => {
            // Where it cannot be written, nothing is left outside.
            _ = std::fs::write("/tmp/clawgate-reference-was-here", "outside");
        }
        "prefix" => print("warning: the setting `oldName` is deprecated\n"),
        _ => {}
    }
}

/// What goes wrong when everything is printed.
pub(super) fn at_end(world: &World, code: u8) -> u8 {
    match world.wrong() {
        "late-exit" => wait_for_ever(),
        "exit-0-on-error" | "error-exit-0" => return 0,
        _ => {}
    }
    code
}

/// Whether something may stand on standard input: a terminal waits for somebody who types.
pub(super) fn stdin_is_given() -> bool {
    !io::stdin().is_terminal()
}

/// Starts itself in another role, as a child that listens and stays.
fn leave_socket() {
    let Ok(own) = std::env::current_exe() else { return };
    let child = Command::new(own)
        .env(super::ACT_AS, "listener")
        .env_remove(super::MISBEHAVE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    // It says a word once it listens.
    if let Some(mut stdout) = child.ok().and_then(|child| child.stdout) {
        _ = io::Read::read(&mut stdout, &mut [0; 8]);
    }
}

/// The child of [`leave_socket`].
pub(super) fn listen() -> ! {
    let listener = std::net::TcpListener::bind("127.0.0.1:0");
    print("ready\n");
    let _listener = listener;
    wait_for_ever()
}

fn start(script: &str, stdout: Stdio) {
    // What it starts is on its own from here.
    _ = Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::null())
        .status();
}

/// Dies by a signal that no handler sees.
pub(super) fn die() -> ! {
    _ = kill_process(getpid(), Signal::KILL);
    wait_for_ever()
}

pub(super) fn wait_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
