//! Workers that outlive their server: under the published tooling a worker has the id of its terminal, and goes on after
//! the server was started anew.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::peers::{PeerId, Role};
use super::super::record::Record;
use super::super::topic::Fact;
use super::super::worker::{Boot, Orders, Worker};
use super::session::Session;

/// The workers that ran when a session ended, by their names, until they boot anew.
pub(super) type Survivors = HashMap<Arc<str>, Survivor>;

/// What is known of a worker that may go on in the next session.
#[derive(Debug)]
pub(super) struct Survivor {
    worker: Worker,
    role: Option<Role>,
    parent: Option<Arc<str>>,
}

impl Session {
    /// Takes what is known of a worker that runs. Where a server announces who joins, whoever goes on joins anew.
    pub(super) fn survive(&mut self, id: PeerId) {
        let peer = &mut self.peers[id];
        let is_full = self.survivors.len() >= self.limits.peers;
        if self.has_joins || is_full || peer.left || !peer.worker.has_booted() || peer.worker.is_over() {
            return;
        }
        let name = Arc::clone(&peer.name);
        let (role, parent) = (peer.role, peer.parent.clone());
        let survivor = Survivor { worker: std::mem::take(&mut peer.worker), role, parent };
        self.survivors.insert(name, survivor);
    }

    /// Goes on with a worker of the session before, if this is one: it speaks, and did not boot again.
    pub(super) fn resume(&mut self, record: &Record<'_>, id: PeerId, fact: Option<Fact>) {
        if self.survivors.is_empty() {
            return;
        }
        let Some(survivor) = self.survivors.remove(&self.peers[id].name) else { return };
        let peer = &mut self.peers[id];
        if fact == Some(Fact::Boot) || peer.worker.boot != Boot::Missing {
            // Another worker has its id, or it was started anew itself.
            return;
        }
        let spoken_for = peer.worker.spoken_for;
        peer.worker = survivor.worker;
        peer.role = peer.role.or(survivor.role);
        peer.parent = peer.parent.take().or(survivor.parent);
        let worker = &mut peer.worker;
        worker.spoken_for |= spoken_for;
        // Nothing could be said while there was no server, and what was ordered of it then is not known.
        worker.missed = true;
        worker.orders = Orders::default();
        worker.last_event = None;
        worker.end.counted = false;
        let beats = &mut worker.heartbeats;
        beats.last = record.time;
        (beats.timer, beats.silence_timer) = (None, None);
        let cost = beats.cost.unwrap_or_default();
        self.costs.all += cost;
        self.costs.running += cost;
        self.starts_running(id);
        self.watch_heartbeat(id);
    }
}
