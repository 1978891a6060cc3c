//! A worker's boot: what it holds, that it comes first, once and soon.

use super::super::peers::{PeerId, Role};
use super::super::topic::Fact;
use super::super::violation::Occurrence;
use super::super::worker::Boot;
use super::super::{Profile, Rule};
use super::fields::nonblank;
use super::report::{Report, shown};
use super::session::Session;
use super::shape::Shape;
use crate::time;

impl Session {
    /// A worker speaks; it must have booted.
    pub(super) fn before_boot(&mut self, report: &mut Report<'_>, id: PeerId) {
        let worker = &mut self.peers[id].worker;
        if worker.boot != Boot::Missing {
            return;
        }
        if worker.spoken_for {
            // The published tooling speaks for terminals that never boot.
            return;
        }
        worker.boot = Boot::SpokeFirst;
        let message = format_args!("{} speaks before its boot", shown(&self.peers[id].name));
        report.topic((Rule::BootFirst, self.certainty(id)), message);
    }

    pub(super) fn boot(&mut self, report: &mut Report<'_>, id: PeerId) {
        let record = report.record;
        let peer = &self.peers[id];
        let peer_left = peer.left;
        if peer_left || peer.worker.end.complete.is_some() {
            // The same id for another worker, or the same worker anew.
            self.end_worker(id, report.out);
            if !peer_left {
                report.out.ended(&self.peers[id].name);
            }
            self.peers[id].renew();
        } else if peer.worker.has_booted() {
            let message = format_args!("{} boots a second time in one life", shown(&peer.name));
            report.topic(Rule::BootOnce, message);
            self.peers[id].worker.rebooted = true;
            return;
        }
        self.boot_fields(report, id);
        self.boot_delay(report, id);
        let peer = &mut self.peers[id];
        peer.role = peer.role.or(Role::of(record.field("role")));
        peer.worker.boot_line = record.line;
        peer.worker.heartbeats.last = record.time;
        self.boot_parent(report, id);
        self.peers[id].worker.boot = Boot::Done;
        self.starts_running(id);
        let name = record.envelope.and_then(|envelope| nonblank(envelope.from_name)).unwrap_or_default();
        let mission = nonblank(record.field("mission_summary")).unwrap_or_default();
        let peer = &self.peers[id];
        let parent = peer.parent.as_deref();
        report.occurred(&peer.name, Occurrence::Booted { parent, mission: &mission, name: &name });
        self.replaces(id);
        self.watch_heartbeat(id);
    }

    fn boot_fields(&self, report: &mut Report<'_>, id: PeerId) {
        report.is_broken |= !Shape::of_fact(Fact::Boot).check(report, self.profile, &[]);
        let peer = &self.peers[id];
        let claimed = Role::of(report.value("role"));
        if claimed.is_some() && peer.joined && claimed != peer.role {
            report.field(Rule::BootRole, "role", "role is not the one it joined with");
        }
    }

    fn boot_delay(&self, report: &mut Report<'_>, id: PeerId) {
        let peer = &self.peers[id];
        if peer.worker.boot == Boot::SpokeFirst {
            return;
        }
        let delay = report.record.time.zip(peer.joined_at).map(|(now, joined)| now.saturating_sub(joined));
        if let Some(delay) = delay.filter(|delay| *delay > self.limits.boot) {
            let delay = time::span(delay);
            report.topic(Rule::BootPrompt, format_args!("the boot comes {delay} after the hello"));
        }
    }

    fn boot_parent(&mut self, report: &mut Report<'_>, id: PeerId) {
        let outer = report.record.parent();
        let inner = nonblank(report.value("parent_peer_id"));
        if let (Some(outer), Some(inner)) = (&outer, &inner)
            && outer != inner
        {
            let (inner, outer) = (shown(inner), shown(outer));
            let message = format_args!("parent_peer_id is {inner} and parent_id is {outer}");
            report.field(Rule::BootParent, "parent_peer_id", message);
        }
        let stated = report.record.envelope.and_then(|envelope| envelope.parent_id);
        // The document shows the envelope's as one that may be left out; the published tooling always does.
        let may_be_absent = self.profile != Profile::Strict;
        let lacks = match stated {
            Some(node) => node.is_null() && self.profile != Profile::Origin,
            None => !may_be_absent && report.record.envelope.is_some(),
        };
        if inner.is_some() && lacks {
            let what = if stated.is_some() { "null" } else { "missing" };
            let message = format_args!("parent_peer_id names a parent, and parent_id is {what}");
            report.envelope(Rule::BootParent, "parent_id", stated, message);
        }
        let unnamed = report.value("parent_peer_id").filter(|_| inner.is_none());
        if unnamed.is_some() && outer.is_some() && self.profile != Profile::Origin {
            let message = "parent_id names a parent, and parent_peer_id names none";
            report.field(Rule::BootParent, "parent_peer_id", message);
        }
        if let Some(parent) = outer.or(inner) {
            self.adopt(report, id, &parent);
        }
    }

    /// A boot answers an order to spawn, and replaces a stale worker of the same parent.
    fn replaces(&mut self, id: PeerId) {
        let Some(parent) = self.peers[id].parent.clone() else { return };
        if let Some(parent) = self.peers.find(&parent) {
            self.peers[parent].worker.orders.spawn = None;
        }
        self.last_boot = Some(self.place.0);
    }
}
