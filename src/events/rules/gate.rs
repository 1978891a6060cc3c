//! Illegal transitions that the server has to report with `system.gate.fired`.

use super::super::Rule;
use super::super::peers::PeerId;
use super::super::timers::Timer;
use super::super::violation::Observer;
use super::report::{Report, shown};
use super::session::Session;

/// How many illegal transitions are remembered at once.
const KEPT: usize = 64;

/// Illegal transitions that the server has not reported yet.
#[derive(Debug, Default)]
pub(super) struct Ungated {
    /// Whether the server reports any at all; one that never does is no worse for one more.
    has_gates: bool,
    /// The line and the offset of each, with its peer's name.
    waiting: Vec<(u64, u64, Box<str>)>,
    /// Those whose time has passed.
    overdue: Vec<(u64, u64, Box<str>)>,
}

impl Session {
    /// A worker made an illegal transition.
    pub(super) fn await_gate(&mut self, report: &Report<'_>, id: PeerId) {
        if self.ungated.waiting.len() < KEPT {
            let (line, offset) = (report.record.line, report.record.offset);
            self.ungated.waiting.push((line, offset, (*self.peers[id].name).into()));
            if let Some(now) = report.record.time {
                self.arm(id, now.saturating_add(self.limits.gate), Timer::Gate(line));
            }
        }
    }

    /// The server reports that it stopped a peer.
    pub(super) fn gate_fired(&mut self, name: &str) {
        self.ungated.has_gates = true;
        let waiting = &mut self.ungated.waiting;
        if let Some(at) = waiting.iter().position(|(.., peer)| **peer == *name) {
            waiting.remove(at);
        }
    }

    pub(super) fn gate_due(&mut self, line: u64) {
        let ungated = &mut self.ungated;
        if let Some(at) = ungated.waiting.iter().position(|(waiting, ..)| *waiting == line) {
            let late = ungated.waiting.remove(at);
            if ungated.overdue.len() < KEPT {
                ungated.overdue.push(late);
            }
        }
    }

    /// Reports what the server did not, at the end of its session.
    pub(super) fn end_gates(&mut self, out: &mut dyn Observer) {
        let overdue = std::mem::take(&mut self.ungated.overdue);
        if self.ungated.has_gates {
            for (line, offset, peer) in overdue {
                let message =
                    format_args!("the server did not report the illegal transition of {}", shown(&peer));
                self.report(out, Rule::GateFired, (line, offset), None, message);
            }
        }
    }
}
