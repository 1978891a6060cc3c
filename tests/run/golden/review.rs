//! `clawgate golden review`, on a terminal of its own and without one.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use predicates::str::contains;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;

use super::{ONE, change, with_snapshots};
use crate::command::{clawgate, said};
use crate::schema::assert_fit;
use crate::support::process;
use crate::tree::files_below;

#[test]
fn without_a_terminal_everything_is_shown_and_nothing_decided() {
    let folder = with_snapshots(&[ONE]);
    let pending = change(folder.path());
    let review = clawgate(folder.path()).args(["golden", "review"]).assert().code(100);
    review.stdout(contains("info      result/success /num_turns")).stderr(contains("clawgate golden accept"));
    let snapshot = pending.with_extension("");
    let text = fs::read_to_string(&snapshot).unwrap();
    // What a reader loses is breaking, and what comes new is additive.
    for (old, new, effect) in [
        ("  \"num_turns\": 7,\n", "  \"num_turns\": 1,\n  \"gone\": 1,\n", "breaking"),
        ("  \"num_turns\": 7,\n", "", "additive"),
    ] {
        fs::write(&snapshot, text.replace(old, new)).unwrap();
        let (code, lines) = said(clawgate(folder.path()).args(["golden", "review", "--format", "json"]));
        assert_fit(&lines, "golden");
        assert_eq!((code, &lines[0]["effect"]), (Some(100), &effect.into()), "{lines:?}");
        let shown = clawgate(folder.path()).args(["golden", "review"]).assert();
        shown.stdout(contains(format!("{effect:<9} result/success /")));
    }
    assert!(pending.exists());
}

/// A program on a terminal of its own.
struct OnTerminal {
    master: File,
    child: std::process::Child,
    seen: String,
}

impl OnTerminal {
    fn start(folder: &Path, args: &[&str], width: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let child = process(folder)
            .args(args)
            .env("TERM", "xterm-256color")
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave)
            .spawn()
            .unwrap();
        Self { master: master.into(), child, seen: String::new() }
    }

    /// Reads until the text was seen, and forgets everything up to it.
    fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let mut bytes = [0; 4096];
            let read = self.master.read(&mut bytes).unwrap_or(0);
            assert!(read > 0, "the program ended before it said {text:?}: {}", self.seen);
            self.seen += &String::from_utf8_lossy(&bytes[..read]);
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// Three cases that wait, each with one changed line.
fn three_waiting() -> TempDir {
    let folder = with_snapshots(&["claude/answers"]);
    for path in files_below(&folder.path().join("golden")) {
        let path = folder.path().join("golden").join(path);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("Hello", "Goodbye")).unwrap();
    }
    clawgate(folder.path()).args(["run", "claude/answers"]).assert().code(100);
    folder
}

#[test]
fn a_review_is_one_key_a_decision() {
    let folder = three_waiting();
    let mut terminal = OnTerminal::start(folder.path(), &["golden", "review"], 120);
    let first = terminal.until("q quit");
    assert!(first.contains("answers/json.snap") && first.contains("changed (1 of 3)"), "{first}");
    assert!(first.contains("- ") && first.contains("Goodbye from the scripted API"), "{first}");
    // Keys that mean nothing, an arrow, and text that was pasted.
    for nothing in [&b"x"[..], b"\x1b[A", b"aaa"] {
        terminal.press(nothing);
        terminal.until("(a, r, s or q) ");
    }
    terminal.press(b"a");
    let second = terminal.until("q quit");
    assert!(second.contains("accept") && second.contains("(2 of 3)"), "{second}");
    terminal.press(b"r");
    let third = terminal.until("q quit");
    assert!(third.contains("reject") && third.contains("(3 of 3)"), "{third}");
    terminal.press(b"q");
    terminal.until("1 accepted, 1 rejected, 1 left");
    assert_eq!(terminal.end(), Some(0));
    let golden = folder.path().join("golden/reference/claude/answers");
    let text = |name: &str| fs::read_to_string(golden.join(name)).unwrap();
    assert!(text("json.snap").contains("Hello") && !golden.join("json.snap.new").exists());
    assert!(text("stream.snap").contains("Goodbye") && !golden.join("stream.snap.new").exists());
    assert!(text("text.snap").contains("Goodbye") && golden.join("text.snap.new").exists());
}

#[test]
fn a_review_fits_narrow_terminals_and_can_be_interrupted() {
    let folder = three_waiting();
    for width in [24, 200] {
        let mut terminal = OnTerminal::start(folder.path(), &["golden", "review"], width);
        let page = terminal.until("a accept");
        let plain = anstream::adapter::strip_str(&page).to_string();
        // The path may be longer; no line of the difference is.
        let longest =
            plain.lines().filter(|line| !line.contains(".snap")).map(|line| line.chars().count()).max();
        assert!(longest <= Some(usize::from(width)), "{width}: {plain}");
        terminal.until("quit");
        terminal.press(b"\x03");
        assert_eq!(terminal.end(), Some(130));
    }
    assert_eq!(files_below(&folder.path().join("golden")).len(), 6);
}

#[test]
fn what_changed_or_vanished_since_it_was_shown_is_not_decided() {
    let folder = three_waiting();
    let golden = folder.path().join("golden/reference/claude/answers");
    let mut terminal = OnTerminal::start(folder.path(), &["golden", "review"], 80);
    terminal.until("q quit");
    // Another run replaces what is on the screen.
    let newer = fs::read_to_string(golden.join("json.snap.new")).unwrap().replace("Hello", "Farewell");
    fs::write(golden.join("json.snap.new"), &newer).unwrap();
    terminal.press(b"a");
    terminal.until("changed or gone since it was shown");
    terminal.until("q quit");
    fs::remove_file(golden.join("stream.snap.new")).unwrap();
    terminal.press(b"r");
    terminal.until("changed or gone since it was shown");
    terminal.until("q quit");
    terminal.press(b"s");
    terminal.until("0 accepted, 0 rejected, 3 left");
    assert_eq!(terminal.end(), Some(3));
    assert_eq!(fs::read_to_string(golden.join("json.snap.new")).unwrap(), newer);
    assert!(fs::read_to_string(golden.join("json.snap")).unwrap().contains("Goodbye"));
}
