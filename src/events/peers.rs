//! The peers of a session, and what has to be remembered of each.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use crate::json::Node;

use super::Limits;
use super::named::named;
use super::record::Record;
use super::worker::Worker;
use crate::time::Millis;

/// The index of a peer in [`Peers`].
pub(crate) type PeerId = u32;

named! {
    /// What a peer may do; one without a role has not said it yet.
    pub(crate) enum Role {
        Orchestrator "orchestrator",
        Worker "worker",
        Observer "observer",
    }
}

impl Role {
    /// The role that a value names.
    pub(crate) fn of(node: Option<Node<'_>>) -> Option<Self> {
        Self::from_name(&node?.text()?)
    }
}

/// An id of any length in eight bytes. The hash is keyed by nothing, so that a log is always judged alike.
pub(crate) fn key_of(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// A program on the bus: an orchestrator, a worker or an observer.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) name: Arc<str>,
    pub(crate) role: Option<Role>,
    /// Announced by the server.
    pub(crate) joined: bool,
    pub(crate) joined_at: Option<Millis>,
    pub(crate) left: bool,
    pub(crate) last_seen: Option<Millis>,
    /// When this life of the id began, as far as the log tells.
    pub(crate) since: Option<Millis>,
    /// The line of its latest record.
    pub(crate) last_line: u64,
    pub(crate) parent: Option<Arc<str>>,
    /// Workers that named it as their parent, and those of them that run.
    pub(crate) children: Children,
    /// Tasks that were assigned to it.
    pub(crate) tasks: Vec<u64>,
    pub(crate) reported: Reported,
    pub(crate) worker: Worker,
    /// Counts the workers that had this id, so that a timer of an earlier one does not fire.
    pub(crate) generation: u32,
}

/// The workers that a peer is the parent of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Children {
    pub(crate) ever: u32,
    pub(crate) running: u32,
}

/// What is reported once for a peer, and already was.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Reported {
    pub(crate) role_unknown: bool,
    pub(crate) not_joined: bool,
    pub(crate) after_left: bool,
    pub(crate) root_parent: bool,
    pub(crate) parent_changed: bool,
    pub(crate) left_twice: bool,
}

impl Peer {
    /// Begins anew: another worker has this id, or the same one was started again.
    pub(crate) fn renew(&mut self) {
        self.worker = Worker::default();
        self.generation = self.generation.wrapping_add(1);
        self.left = false;
        self.parent = None;
        self.since = None;
    }

    /// Whether it is a worker, told by its role or by what it does.
    pub(crate) fn is_worker(&self) -> bool {
        self.role == Some(Role::Worker) || (self.role.is_none() && self.worker.has_booted())
    }

    /// Remembers when and where it was heard.
    pub(crate) fn heard(&mut self, record: &Record<'_>) {
        self.last_seen = record.time.or(self.last_seen);
        self.since = self.since.or(record.time);
        self.last_line = record.line;
    }
}

/// The peers of one session, bounded.
#[derive(Debug)]
pub(crate) struct Peers {
    index: HashMap<Arc<str>, PeerId>,
    slots: Vec<Peer>,
    /// Peers that left, oldest first, with their generation.
    gone: VecDeque<(PeerId, u32)>,
    /// Workers that completed in a log that tells of no leaves, oldest first.
    done: VecDeque<(PeerId, u32)>,
    free: Vec<PeerId>,
    limits: Limits,
    /// Whoever was looked up last: one record asks for the same peer several times.
    recent: Cell<Option<PeerId>>,
    /// How many peers could not be kept, or were dropped after they left.
    pub(crate) forgotten: u64,
    /// Whether a peer could not be kept although it had not ended.
    pub(crate) overflow: Option<Overflow>,
    /// Whether that was reported.
    pub(crate) overflow_told: bool,
}

/// Why a peer is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// There are too many at once.
    Peers,
    /// Its id is too long.
    Name,
}

impl Peers {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            index: HashMap::new(),
            slots: Vec::new(),
            gone: VecDeque::new(),
            done: VecDeque::new(),
            free: Vec::new(),
            limits,
            recent: Cell::new(None),
            forgotten: 0,
            overflow: None,
            overflow_told: false,
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<PeerId> {
        if let Some(recent) = self.recent.get()
            && *self[recent].name == *name
        {
            return Some(recent);
        }
        let found = self.index.get(name).copied();
        if found.is_some() {
            self.recent.set(found);
        }
        found
    }

    /// The peer of this name, made known if there is room.
    pub(crate) fn meet(&mut self, name: &str) -> Option<PeerId> {
        if let Some(id) = self.find(name) {
            return Some(id);
        }
        let too_long = name.len() > self.limits.name;
        if name.is_empty() || too_long || (self.index.len() >= self.limits.peers && !self.make_room()) {
            if !name.is_empty() {
                let why = if too_long { Overflow::Name } else { Overflow::Peers };
                self.overflow = self.overflow.or(Some(why));
            }
            self.forgotten += 1;
            return None;
        }
        let name: Arc<str> = name.into();
        let mut peer = Peer { name: Arc::clone(&name), ..Peer::default() };
        let id = if let Some(id) = self.free.pop() {
            let slot = &mut self.slots[id as usize];
            peer.generation = slot.generation.wrapping_add(1);
            *slot = peer;
            id
        } else {
            self.slots.push(peer);
            (self.slots.len() - 1) as PeerId
        };
        self.index.insert(name, id);
        Some(id)
    }

    /// Remembers that a peer has left; the oldest of many such are forgotten.
    pub(crate) fn leave(&mut self, id: PeerId) {
        self[id].left = true;
        self.gone.push_back((id, self[id].generation));
        while self.gone.len() > self.limits.gone && self.forget_gone() {}
    }

    /// Remembers that a worker completed in a log that may never tell that it left.
    pub(crate) fn complete(&mut self, id: PeerId) {
        self.done.push_back((id, self[id].generation));
        while self.done.len() > self.limits.done && self.forget_done() {}
    }

    /// Forgets whoever has ended, the longest gone first; answers whether there is room now.
    fn make_room(&mut self) -> bool {
        while self.index.len() >= self.limits.peers {
            if !self.forget_gone() && !self.forget_done() {
                return false;
            }
        }
        true
    }

    /// Forgets the peer that left first; answers whether there was one to look at.
    fn forget_gone(&mut self) -> bool {
        let Some((id, generation)) = self.gone.pop_front() else { return false };
        if self[id].left && self[id].generation == generation {
            self.forget(id);
            self.forgotten += 1;
        }
        true
    }

    fn forget_done(&mut self) -> bool {
        let Some((id, generation)) = self.done.pop_front() else { return false };
        let peer = &self[id];
        if !peer.left && peer.generation == generation && peer.worker.end.complete.is_some() {
            self.forget(id);
            self.forgotten += 1;
        }
        true
    }

    /// Forgets a peer: whoever has its id next is another.
    pub(crate) fn forget(&mut self, id: PeerId) {
        let name = Arc::clone(&self[id].name);
        self.index.remove(&name);
        self.recent.set(None);
        // What was remembered of it goes now, not when the place is used again.
        let generation = self[id].generation.wrapping_add(1);
        self[id] = Peer { generation, left: true, ..Peer::default() };
        self.free.push(id);
    }

    /// Everybody, in the order in which they were met as far as places were not used again.
    pub(crate) fn ids(&self) -> Vec<PeerId> {
        let mut ids: Vec<_> = self.index.values().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }
}

impl Index<PeerId> for Peers {
    type Output = Peer;

    fn index(&self, id: PeerId) -> &Peer {
        &self.slots[id as usize]
    }
}

impl IndexMut<PeerId> for Peers {
    fn index_mut(&mut self, id: PeerId) -> &mut Peer {
        &mut self.slots[id as usize]
    }
}
