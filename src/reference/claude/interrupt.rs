//! Ctrl-C in the middle of an answer: the conversation is said to be over, and the exit code is 0.

use std::time::Instant;

use super::super::{World, interrupt};
use super::ending::{interrupted, interruption};
use super::flags::Flags;
use super::output::Output;

/// Ends the conversation on Ctrl-C from now on.
pub(super) fn listen(world: &World, flags: &Flags) {
    let mut output = Output::new(world, flags).aside();
    let started = Instant::now();
    interrupt::on_interrupt(move || {
        output.message(interruption());
        let result = interrupted(2, started);
        output.result(result);
        output.finish();
        0
    });
}
