//! A worker's boot: what it holds, that it comes first, once and soon.

use crate::json::{Kind, Node};

use super::super::peers::{PeerId, Role};
use super::super::violation::Occurrence;
use super::super::worker::Boot;
use super::super::{Profile, Rule};
use super::fields::{list_is, missing, nonblank};
use super::report::{Report, shown};
use super::session::Session;
use crate::time;

/// What the document's table requires, texts first. The published server asks for the last two as well.
const REQUIRED: [&str; 7] =
    ["model", "role", "mission_summary", "cwd", "terminal_id", "parent_peer_id", "capabilities"];
const TEXTS: usize = 5;

impl Session {
    /// A worker speaks; it must have booted.
    pub(super) fn before_boot(&mut self, report: &mut Report<'_>, id: PeerId) {
        if self.peers[id].worker.boot != Boot::Missing {
            return;
        }
        self.peers[id].worker.boot = Boot::SpokeFirst;
        let message = format_args!("{} speaks before its boot", shown(&self.peers[id].name));
        report.topic((Rule::BootFirst, self.certainty(id)), message);
    }

    pub(super) fn boot(&mut self, report: &mut Report<'_>, id: PeerId) {
        let record = report.record;
        let peer = &self.peers[id];
        if peer.left || peer.worker.end.complete.is_some() {
            // The same id for another worker, or the same worker anew.
            self.end_worker(id, report.out);
            self.peers[id].renew();
        } else if peer.worker.has_booted() {
            let message = format_args!("{} boots a second time in one life", shown(&peer.name));
            report.topic(Rule::BootOnce, message);
            return;
        }
        self.boot_fields(report, id);
        self.boot_delay(report, id);
        let peer = &mut self.peers[id];
        peer.role = peer.role.or(Role::of(record.field("role")));
        peer.worker.boot = Boot::Done;
        peer.worker.heartbeats.last = record.time;
        self.running += 1;
        self.boot_parent(report, id);
        let name = record.envelope.and_then(|envelope| nonblank(envelope.from_name)).unwrap_or_default();
        let mission = nonblank(record.field("mission_summary")).unwrap_or_default();
        let peer = &self.peers[id];
        let parent = peer.parent.as_deref();
        report.occurred(&peer.name, Occurrence::Booted { parent, mission: &mission, name: &name });
        self.replaces(id);
        self.watch_heartbeat(id);
    }

    fn boot_fields(&self, report: &mut Report<'_>, id: PeerId) {
        let record = report.record;
        let required = if self.profile == Profile::Origin { &REQUIRED[..] } else { &REQUIRED[..TEXTS] };
        report.missing(Rule::BootFields, &missing(record, required), "boot");
        let is_text = |node: Node<'_>| node.kind() == Kind::String;
        let is_sound = |key: &str, node: Node<'_>| match key {
            "parent_peer_id" => node.is_null() || is_text(node),
            "capabilities" => node.kind() == Kind::Array && node.items().all(is_text),
            _ => is_text(node),
        };
        let is_wrong = |key: &&str| record.field(key).is_some_and(|node| !is_sound(key, node));
        let wrong: Vec<_> = REQUIRED.into_iter().filter(is_wrong).collect();
        if let Some(first) = wrong.first() {
            report.field(Rule::BootTypes, first, format_args!("{} of the wrong type", list_is(&wrong)));
        }
        if !record.field("role").is_some_and(is_text) {
            return;
        }
        let peer = &self.peers[id];
        match Role::of(record.field("role")) {
            None => report.field(Rule::BootRole, "role", "role is none of orchestrator, worker, observer"),
            claimed if peer.joined && claimed != peer.role => {
                report.field(Rule::BootRole, "role", "role is not the one it joined with");
            }
            Some(_) => {}
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
