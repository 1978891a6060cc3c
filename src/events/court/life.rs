//! The end of a worker's life, of a session and of the log.

use super::super::Rule;
use super::super::breach::{Breach, Grade, Observer};
use super::super::peer::PeerId;
use super::{Court, shown};

impl Court {
    /// A worker no longer counts as running.
    pub(super) fn settle(&mut self, id: PeerId) {
        let life = &mut self.peers.get_mut(id).life;
        if life.booted && !std::mem::replace(&mut life.settled, true) {
            self.running = self.running.saturating_sub(1);
        }
    }

    /// Reports what could only be known at the end of a life.
    pub(super) fn end_life(&mut self, id: PeerId, out: &mut impl Observer) {
        self.settle(id);
        let peer = self.peers.get_mut(id);
        if let Some(held) = peer.life.after_fatal.take() {
            let rule = held.rule;
            self.push(out, rule, || *held);
        }
        let life = &self.peers.get(id).life;
        if let Some(place) = life.failed_line
            && life.fatal_line.is_none()
            && !life.last_will
        {
            self.tell(out, Rule::FailedWithoutFatal, Grade::Full, place, Some(id), || {
                "the worker entered FAILED without a fatal ERROR".into()
            });
        }
    }

    /// Ends every life. The end of a log is no leave: who still runs is noted, not blamed.
    pub(super) fn end_lives(&mut self, is_end: bool, out: &mut impl Observer) {
        for id in self.peers.ids() {
            if self.peers.get(id).left {
                continue;
            }
            self.end_life(id, out);
            let peer = self.peers.get(id);
            if is_end && peer.is_worker() && peer.life.booted && !peer.life.is_over() {
                self.tell(out, Rule::LeftUnfinished, Grade::Note, (self.line, self.offset), Some(id), || {
                    format!("{} still runs at the end of the log", shown(&peer.name))
                });
            }
        }
    }

    /// The log ends.
    pub(crate) fn finish(&mut self, out: &mut impl Observer) {
        self.end_lives(true, out);
        if self.log.worker && !self.log.joined && !self.log.left {
            self.push(out, Rule::LeftUnfinished, || Breach {
                rule: Rule::LeftUnfinished,
                grade: Grade::Indeterminate,
                message:
                    "the log has neither joins nor leaves, so that nobody's coming and going can be judged"
                        .into(),
                line: self.line.max(1),
                offset: self.offset,
                time: self.clock,
                peer: None,
                pointer: None,
                seen: None,
                consequences: [
                    Rule::BootMissing,
                    Rule::JoinedFirst,
                    Rule::LeftLast,
                    Rule::ParentKnown,
                    Rule::Shutdown,
                ]
                .map(|rule| (rule, self.line.max(1)))
                .to_vec(),
            });
        }
    }
}
