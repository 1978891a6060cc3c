//! Other surroundings for a program than its own: another day, locale and time zone. Home, directory and process are
//! others in every run anyway.
//!
//! The clock is moved by libfaketime, which stands before the C library of a program; the kernel's time namespaces move
//! no time of day. Timers keep their pace: only the time of day is another.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where distributions put the library.
const PLACES: [&str; 7] = [
    "/usr/lib/x86_64-linux-gnu/faketime",
    "/usr/lib/aarch64-linux-gnu/faketime",
    "/usr/lib64/faketime",
    "/usr/lib/faketime",
    "/usr/local/lib/faketime",
    "/usr/lib64",
    "/usr/lib",
];
/// The one for programs with threads is better for every program.
const NAMES: [&str; 2] = ["libfaketimeMT.so.1", "libfaketime.so.1"];

/// How far the clock is moved and in which zone it is, one after the other. The hour, the day, the month and the year are
/// others, later and earlier.
const CLOCKS: [(&str, &str); 2] = [("+41.3d", "Asia/Kolkata"), ("-400.6d", "America/Los_Angeles")];
/// Locales that every system has.
const PLAIN: [&str; 2] = ["C", "POSIX"];

/// What can be made other here.
#[derive(Debug)]
pub(crate) struct Environment {
    clock: Result<PathBuf, NoClock>,
    locale: Option<String>,
}

/// Why the clock cannot be moved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoClock {
    /// The library is not there.
    #[error(
        "libfaketime is not installed (apt install faketime, dnf install libfaketime, or name it with CLAWGATE_FAKETIME)"
    )]
    NoLibrary,
    /// What the user named is not there.
    #[error("CLAWGATE_FAKETIME names {}, which does not exist", .0.display())]
    NotThere(PathBuf),
    /// The library cannot reach the program.
    #[error("{} is linked statically, where libfaketime cannot reach it", .0.display())]
    Static(PathBuf),
}

impl Environment {
    /// What can be made other for a program.
    pub(crate) fn of(program: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let named = variable("CLAWGATE_FAKETIME").map(PathBuf::from);
        let clock = match named {
            Some(path) if path.is_file() => Ok(path),
            Some(path) => Err(NoClock::NotThere(path)),
            None => installed().ok_or(NoClock::NoLibrary),
        };
        let clock = match clock {
            Ok(_) if is_static(program) => Err(NoClock::Static(program.to_owned())),
            other => other,
        };
        Self { clock, locale: foreign_locale() }
    }

    /// Why the clock is not moved, if it is not.
    pub(crate) fn no_clock(&self) -> Option<&NoClock> {
        self.clock.as_ref().err()
    }

    /// Whether the locales are no others than those that every system has.
    pub(crate) fn only_plain_locales(&self) -> bool {
        self.locale.is_none()
    }

    /// The environment of a repetition, which begin with 1; the first has none but its own.
    pub(crate) fn env(&self, repetition: u32) -> Vec<(String, String)> {
        let Some(at) = repetition.checked_sub(2).map(|at| at as usize % CLOCKS.len()) else {
            return Vec::new();
        };
        let (clock, zone) = CLOCKS[at];
        // One that is not installed would make programs complain, which they never do otherwise.
        let locale = self.locale.as_deref().filter(|_| at == 0).unwrap_or(PLAIN[at]);
        let mut env = vec![("LC_ALL", locale.to_owned()), ("TZ", zone.to_owned())];
        if let Ok(library) = &self.clock {
            env.extend([
                ("LD_PRELOAD", library.display().to_string()),
                ("FAKETIME", clock.to_owned()),
                ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
                ("NO_FAKE_STAT", "1".to_owned()),
            ]);
        }
        env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// A locale that is installed and not English.
fn foreign_locale() -> Option<String> {
    let listed = Command::new("locale").arg("-a").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let is_foreign = |name: &&str| {
        let is_plain = name.split('.').next().is_none_or(|name| PLAIN.contains(&name));
        !is_plain && !name.starts_with("en") && name.to_lowercase().replace('-', "").ends_with("utf8")
    };
    listed.lines().find(is_foreign).map(str::to_owned)
}

fn installed() -> Option<PathBuf> {
    let in_folder =
        |folder: &&str| NAMES.iter().map(|name| Path::new(folder).join(name)).find(|path| path.is_file());
    PLACES.iter().find_map(in_folder)
}

/// Whether a program is an executable of 64 bits that names no loader. Nothing stands before the libraries of such a one.
fn is_static(program: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(program).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && names_no_loader(&start)
}

fn names_no_loader(start: &[u8]) -> bool {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let field = start.get(at..at.checked_add(bytes)?)?;
        let value = field.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        usize::try_from(value).ok()
    };
    let is_elf = start.starts_with(b"\x7fELF") && start.get(4) == Some(&2) && start.get(5) == Some(&1);
    let (true, Some(table), Some(size), Some(count)) =
        (is_elf, number(0x20, 8), number(0x36, 2), number(0x38, 2))
    else {
        return false;
    };
    let kinds = (0..count).map_while(|at| number(table.checked_add(at.checked_mul(size)?)?, 4));
    let kinds: Vec<usize> = kinds.collect();
    // What does not fit into the beginning of a file is not known.
    kinds.len() == count && !kinds.contains(&(INTERPRETER as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_is_the_targets_own_and_every_other_time_is_another() {
        let here = Environment { clock: Ok("/lib/faketime.so".into()), locale: Some("de_DE.utf8".into()) };
        assert!(here.env(1).is_empty());
        let value = |repetition, name: &str| {
            here.env(repetition).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
        };
        for name in ["LC_ALL", "TZ", "FAKETIME"] {
            assert!(value(2, name).is_some() && value(2, name) != value(3, name), "{name}");
            assert_eq!(value(4, name), value(2, name));
        }
        assert_eq!(value(2, "LD_PRELOAD").as_deref(), Some("/lib/faketime.so"));
        let without = Environment { clock: Err(NoClock::NoLibrary), locale: None };
        assert_eq!(without.env(2).len(), 2);
        assert_ne!(without.env(2), without.env(3));
        assert!(without.no_clock().unwrap().to_string().contains("apt install faketime"));
    }

    #[test]
    fn a_static_program_is_known_by_its_header() {
        let mut header = vec![0; 0x40 + 2 * 0x38];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (header[0x20], header[0x36], header[0x38]) = (0x40, 0x38, 2);
        (header[0x40], header[0x40 + 0x38]) = (1, 6);
        assert!(names_no_loader(&header));
        header[0x40 + 0x38] = 3;
        assert!(!names_no_loader(&header));
        assert!(
            !names_no_loader(&header[..0x50]) && !names_no_loader(b"#!/bin/sh\n") && !names_no_loader(b"")
        );
        // A table that claims to be far outside is not looked for.
        header[0x27] = 0xff;
        assert!(!names_no_loader(&header));
        assert!(!is_static(Path::new("/bin/sh")) && !is_static(Path::new("/nowhere")));
    }
}
