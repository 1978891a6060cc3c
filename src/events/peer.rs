//! The peers of a session, and what has to be remembered of each.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::breach::Breach;
use super::phase::Visited;
use super::{Limits, Phase};
use crate::time::Millis;

/// The place of a peer in its table.
pub(crate) type PeerId = u32;

/// What a peer may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    #[default]
    Unknown,
    Orchestrator,
    Worker,
    Observer,
}

impl Role {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "orchestrator" => Self::Orchestrator,
            "worker" => Self::Worker,
            "observer" => Self::Observer,
            _ => return None,
        })
    }
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) key: u64,
    pub(crate) at: Option<Millis>,
    pub(crate) line: u64,
}

/// An id of any length in eight bytes. The hash is keyed by nothing, so that a log is always judged alike.
pub(crate) fn key_of(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// One peer.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: Arc<str>,
    pub(crate) role: Role,
    /// Announced by the server.
    pub(crate) joined: bool,
    pub(crate) joined_at: Option<Millis>,
    pub(crate) left: bool,
    pub(crate) last_seen: Option<Millis>,
    /// The line of its latest record.
    pub(crate) last_line: u64,
    pub(crate) parent: Option<Arc<str>>,
    /// Tasks that were assigned to it.
    pub(crate) tasks: Vec<u64>,
    /// Findings that are made once for a peer.
    pub(crate) told: Told,
    pub(crate) life: Life,
    /// Counts lives, so that a timer of an earlier one does not fire.
    pub(crate) lives: u32,
}

/// What was already said about a peer.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Told {
    pub(crate) role_unknown: bool,
    pub(crate) not_joined: bool,
    pub(crate) after_left: bool,
    pub(crate) root_parent: bool,
    pub(crate) parent_changed: bool,
}

/// A worker's life from boot to complete or leave.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Life {
    pub(crate) booted: bool,
    /// Spoke before its boot, which was reported.
    pub(crate) early: bool,
    pub(crate) phase: Option<Phase>,
    pub(crate) entered: Option<Millis>,
    pub(crate) visited: Visited,
    /// A phase message could not be used, so that what follows may refer to it.
    pub(crate) phase_unsure: bool,
    /// Something about the phases was already reported, so that their lists cannot be right.
    pub(crate) phases_tainted: bool,
    pub(crate) recovering_from: Option<Phase>,
    pub(crate) failed_line: Option<(u64, u64)>,
    pub(crate) fatal_line: Option<u64>,
    pub(crate) last_will: bool,
    pub(crate) complete_line: Option<u64>,
    /// That it went on after its complete was reported.
    pub(crate) afterlife_told: bool,
    /// No longer counted as running.
    pub(crate) settled: bool,
    /// What came after a fatal ERROR; a complete that follows is the graver sign of the same mistake.
    pub(crate) after_fatal: Option<Box<Breach>>,
    pub(crate) heartbeat: Option<Millis>,
    /// Whether the gap since then was reported.
    pub(crate) gap_told: bool,
    pub(crate) silence_told: bool,
    pub(crate) tokens: Option<f64>,
    pub(crate) cost: Option<f64>,
    /// The id of the latest event.
    pub(crate) last_event: Option<u64>,
    pub(crate) requests: Vec<Request>,
    pub(crate) answered: VecDeque<u64>,
    pub(crate) paused: bool,
    /// A phase that the orchestrator forces.
    pub(crate) forced: Option<(Phase, u64)>,
    pub(crate) abort: Option<u64>,
    pub(crate) spawn: Option<u64>,
    pub(crate) stale: Option<u64>,
    /// When the timers of this life will next be looked at.
    pub(crate) heartbeat_armed: Option<Millis>,
    pub(crate) silence_armed: Option<Millis>,
}

impl Life {
    /// Whether the worker has said its last word.
    pub(crate) fn is_over(&self) -> bool {
        self.complete_line.is_some() || self.phase.is_some_and(Phase::is_terminal)
    }

    /// Whether it has to give heartbeats.
    pub(crate) fn must_beat(&self) -> bool {
        self.booted && !self.is_over()
    }
}

impl Peer {
    /// Ends the life and begins another.
    pub(crate) fn renew(&mut self) {
        self.life = Life::default();
        self.lives = self.lives.wrapping_add(1);
    }

    /// Whether it is a worker, told by its role or by what it does.
    pub(crate) fn is_worker(&self) -> bool {
        self.role == Role::Worker || (self.role == Role::Unknown && self.life.booted)
    }
}

/// The peers of one session, bounded.
#[derive(Debug)]
pub(crate) struct Peers {
    index: HashMap<Arc<str>, PeerId>,
    slots: Vec<Peer>,
    /// Peers that left, oldest first, with the number of their life.
    gone: VecDeque<(PeerId, u32)>,
    free: Vec<PeerId>,
    limits: Limits,
    /// Whoever was looked up last: one record asks for the same peer several times.
    recent: Cell<Option<PeerId>>,
    /// How many peers could not be kept, or were dropped after they left.
    pub(crate) forgotten: u64,
}

impl Peers {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            index: HashMap::new(),
            slots: Vec::new(),
            gone: VecDeque::new(),
            free: Vec::new(),
            limits,
            recent: Cell::new(None),
            forgotten: 0,
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<PeerId> {
        if let Some(recent) = self.recent.get()
            && *self.get(recent).name == *name
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
        if name.is_empty() || name.len() > self.limits.name || self.index.len() >= self.limits.peers {
            self.forgotten += 1;
            return None;
        }
        let name: Arc<str> = name.into();
        let mut peer = Peer {
            name: Arc::clone(&name),
            role: Role::Unknown,
            joined: false,
            joined_at: None,
            left: false,
            last_seen: None,
            last_line: 0,
            parent: None,
            tasks: Vec::new(),
            told: Told::default(),
            life: Life::default(),
            lives: 0,
        };
        let id = if let Some(id) = self.free.pop() {
            let slot = &mut self.slots[id as usize];
            peer.lives = slot.lives.wrapping_add(1);
            *slot = peer;
            id
        } else {
            self.slots.push(peer);
            (self.slots.len() - 1) as PeerId
        };
        self.index.insert(name, id);
        Some(id)
    }

    pub(crate) fn get(&self, id: PeerId) -> &Peer {
        &self.slots[id as usize]
    }

    pub(crate) fn get_mut(&mut self, id: PeerId) -> &mut Peer {
        &mut self.slots[id as usize]
    }

    /// Remembers that a peer has left; the oldest of many such are forgotten.
    pub(crate) fn leave(&mut self, id: PeerId) {
        let peer = self.get_mut(id);
        peer.left = true;
        let life = peer.lives;
        self.gone.push_back((id, life));
        while self.gone.len() > self.limits.gone {
            let Some((id, life)) = self.gone.pop_front() else { break };
            let peer = self.get(id);
            if peer.left && peer.lives == life {
                let name = Arc::clone(&peer.name);
                self.index.remove(&name);
                self.recent.set(None);
                self.free.push(id);
                self.forgotten += 1;
            }
        }
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
