//! The tree of workers.

use std::sync::Arc;

use crate::json::Node;

use super::super::peers::{PeerId, Role};
use super::super::{Profile, Rule};
use super::report::{Report, shown};
use super::session::Session;

/// A chain of parents longer than this is not walked to its end.
const DEPTH: usize = 64;

impl Session {
    /// Takes over a peer's parent the first time it is named, and compares it later.
    pub(super) fn adopt(&mut self, report: &mut Report<'_>, id: PeerId, parent: &str) {
        let peer = &self.peers[id];
        if let Some(known) = &peer.parent {
            if **known != *parent && !peer.reported.parent_changed {
                let message = format_args!("the parent was {} and is now {}", shown(known), shown(parent));
                report.envelope(Rule::ParentConstant, "parent_id", None, message);
                self.peers[id].reported.parent_changed = true;
            }
            return;
        }
        if *peer.name == *parent {
            let message = format_args!("{} is its own parent", shown(parent));
            report.envelope(Rule::ParentAcyclic, "parent_id", None, message);
        } else if let Some(known) = self.peers.find(parent) {
            if self.peers[known].role == Some(Role::Observer) {
                let message = format_args!("the parent {} is an observer", shown(parent));
                report.envelope(Rule::ParentRole, "parent_id", None, message);
            }
            if self.descends(known, id) {
                let message = format_args!("{} is a descendant of {}", shown(parent), shown(&peer.name));
                report.envelope(Rule::ParentAcyclic, "parent_id", None, message);
            }
        } else if self.has_joins {
            // Only where the server announces peers can one be missing.
            let grade = self.certainty_among_peers(id);
            let message = format_args!("the parent {} never joined", shown(parent));
            report.envelope((Rule::ParentKnown, grade), "parent_id", None, message);
        }
        if parent.len() <= self.limits.name {
            // The name of a known parent is shared, not copied.
            let known = self.peers.find(parent).map(|known| Arc::clone(&self.peers[known].name));
            self.rehome(id, known.unwrap_or_else(|| Arc::from(parent)));
        }
    }

    /// Gives a worker its parent, and the parent its child.
    fn rehome(&mut self, id: PeerId, parent: Arc<str>) {
        let worker = &self.peers[id].worker;
        let runs = worker.has_booted() && !worker.end.counted;
        if runs && let Some(parent) = self.peers.find(&parent) {
            let children = &mut self.peers[parent].children;
            children.ever = children.ever.saturating_add(1);
            children.running = children.running.saturating_add(1);
            self.orphans = self.orphans.saturating_sub(1);
        }
        self.peers[id].parent = Some(parent);
    }

    /// A worker whose parent is known says that it has none.
    pub(super) fn disowned(&mut self, report: &mut Report<'_>, id: PeerId) {
        let stated = report.record.envelope.and_then(|envelope| envelope.parent_id);
        if stated.is_some_and(Node::is_null)
            && self.profile != Profile::Origin
            && let Some(parent) = &self.peers[id].parent
            && !self.peers[id].reported.parent_changed
        {
            let message = format_args!("the parent was {} and parent_id is null", shown(parent));
            report.envelope(Rule::ParentConstant, "parent_id", stated, message);
            self.peers[id].reported.parent_changed = true;
        }
    }

    /// Whether a peer has another among its ancestors.
    fn descends(&self, from: PeerId, ancestor: PeerId) -> bool {
        let mut at = from;
        for _ in 0..DEPTH {
            if at == ancestor {
                return true;
            }
            let parent = self.peers[at].parent.as_deref();
            match parent.and_then(|parent| self.peers.find(parent)) {
                Some(next) if next != at => at = next,
                _ => return false,
            }
        }
        false
    }
}
