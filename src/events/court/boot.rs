//! A worker's boot: what it holds, that it comes first, once and soon.

use crate::json::{Kind, Node};

use super::super::breach::{Grade, Happening, Observer};
use super::super::peer::{PeerId, Role};
use super::super::record::Record;
use super::super::{Profile, Rule};
use super::fields::{be, list, missing, said};
use super::{Court, Timer, shown};
use crate::time;

/// What the document's table requires.
const REQUIRED: [&str; 7] =
    ["model", "role", "mission_summary", "cwd", "terminal_id", "parent_peer_id", "capabilities"];

impl Court {
    /// A worker speaks; it must have booted.
    pub(super) fn before_boot(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let life = &self.peers.get(id).life;
        if life.booted || life.early {
            return;
        }
        let grade = self.sure(id);
        self.peers.get_mut(id).life.early = true;
        self.blame(out, Rule::BootFirst, grade, record, "/topic", None, || {
            format!("{} speaks before its boot", shown(&self.peers.get(id).name))
        });
    }

    pub(super) fn boot(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let peer = self.peers.get(id);
        if peer.left || peer.life.complete_line.is_some() {
            // The same id for another worker, or the same worker anew.
            self.end_life(id, out);
            let peer = self.peers.get_mut(id);
            peer.renew();
            peer.left = false;
            peer.parent = None;
        } else if peer.life.booted {
            self.blame(out, Rule::BootOnce, Grade::Full, record, "/topic", None, || {
                format!("{} boots a second time in one life", shown(&peer.name))
            });
            return;
        }
        self.boot_fields(record, id, out);
        self.boot_delay(record, id, out);
        let role = record.field("role").and_then(Node::text).and_then(|role| Role::from_name(&role));
        let peer = self.peers.get_mut(id);
        if peer.role == Role::Unknown {
            peer.role = role.unwrap_or_default();
        }
        peer.life.booted = true;
        peer.life.heartbeat = record.time;
        self.running += 1;
        self.boot_parent(record, id, out);
        let name = record.envelope.and_then(|envelope| said(envelope.from_name)).unwrap_or_default();
        let mission = said(record.field("mission_summary")).unwrap_or_default();
        let peer = self.peers.get(id);
        out.happening(
            &peer.name,
            record.time,
            record.line,
            Happening::Booted { parent: peer.parent.as_deref(), mission: &mission, name: &name },
        );
        self.respawned(id);
        self.watch_heartbeat(id);
    }

    fn boot_fields(&self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let required = if self.profile == Profile::Origin { &REQUIRED[..] } else { &REQUIRED[..5] };
        let missing = missing(record, required);
        if !missing.is_empty() {
            self.blame(out, Rule::BootFields, Grade::Full, record, "", record.data, || {
                format!("{} {} missing from the boot", list(&missing), be(&missing))
            });
        }
        let mut wrong = Vec::new();
        for key in &REQUIRED[..5] {
            if record.field(key).is_some_and(|node| node.kind() != Kind::String) {
                wrong.push(*key);
            }
        }
        if record.field("parent_peer_id").is_some_and(|node| !node.is_null() && node.text().is_none()) {
            wrong.push("parent_peer_id");
        }
        if record.field("capabilities").is_some_and(|node| {
            node.kind() != Kind::Array || node.items().any(|item| item.kind() != Kind::String)
        }) {
            wrong.push("capabilities");
        }
        if let Some(first) = wrong.first() {
            self.blame(out, Rule::BootTypes, Grade::Full, record, first, record.field(first), || {
                format!("{} {} of the wrong type", list(&wrong), be(&wrong))
            });
        }
        let Some(role) = record.field("role").and_then(Node::text) else { return };
        let announced = self.peers.get(id).role;
        let claimed = Role::from_name(&role);
        if claimed.is_none() || (self.peers.get(id).joined && claimed != Some(announced)) {
            self.blame(out, Rule::BootRole, Grade::Full, record, "role", record.field("role"), || {
                match claimed {
                    None => "role is none of orchestrator, worker, observer".into(),
                    Some(_) => "role is not the one it joined with".into(),
                }
            });
        }
    }

    fn boot_delay(&self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let peer = self.peers.get(id);
        if peer.life.early {
            return;
        }
        let delay = record.time.zip(peer.joined_at).map(|(now, joined)| now.saturating_sub(joined));
        if let Some(delay) = delay.filter(|delay| *delay > self.limits.boot) {
            self.blame(out, Rule::BootPrompt, Grade::Full, record, "/topic", None, || {
                format!("the boot comes {} after the hello", time::span(delay))
            });
        }
    }

    fn boot_parent(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        let outer = record.envelope.and_then(|envelope| said(envelope.parent_id));
        let inner = said(record.field("parent_peer_id"));
        if let (Some(outer), Some(inner)) = (&outer, &inner)
            && outer != inner
        {
            let seen = record.field("parent_peer_id");
            self.blame(out, Rule::BootParent, Grade::Full, record, "parent_peer_id", seen, || {
                format!("parent_peer_id is {} and parent_id is {}", shown(inner), shown(outer))
            });
        }
        if let Some(parent) = outer.or(inner) {
            self.adopt(record, id, &parent, out);
        }
    }

    /// A boot answers an order to spawn, and replaces a stale worker of the same parent.
    fn respawned(&mut self, id: PeerId) {
        let Some(parent) = self.peers.get(id).parent.clone() else { return };
        if let Some(parent) = self.peers.find(&parent) {
            self.peers.get_mut(parent).life.spawn = None;
        }
        self.last_boot = Some(self.line);
    }

    /// Sets the heartbeat timer unless one is already running that fires soon enough.
    pub(super) fn watch_heartbeat(&mut self, id: PeerId) {
        let life = &mut self.peers.get_mut(id).life;
        let Some(due) = life.heartbeat.map(|last| last.saturating_add(self.limits.heartbeat)) else { return };
        if life.heartbeat_armed.is_none_or(|armed| armed > due) {
            life.heartbeat_armed = Some(due);
            self.arm(id, due, Timer::Heartbeat);
        }
    }
}
