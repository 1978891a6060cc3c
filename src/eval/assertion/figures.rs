//! Assertions about exit, cost, tokens, turns and time.

use super::Found;
use crate::recording::Exit;

pub(super) fn exit(exit: &Exit, wanted: i32) -> Found {
    let found = match (exit.code, exit.signal) {
        (Some(code), _) => format!("the exit code is {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "no exit was seen".into(),
    };
    Found::when(exit.code == Some(wanted), found)
}

pub(super) fn cost(found: f64, most: f64) -> Found {
    Found::when(found <= most, format!("${found:.4}"))
}

pub(super) fn at_most(found: u64, most: u64, noun: &str) -> Found {
    Found::when(found <= most, format!("{found} {noun}"))
}

pub(super) fn seconds(found: f64, most: f64) -> Found {
    Found::when(found <= most, format!("{found:.1} s"))
}
