//! The tree of workers.

use std::sync::Arc;

use super::super::Rule;
use super::super::breach::{Grade, Observer};
use super::super::peer::PeerId;
use super::super::record::Record;
use super::fields::said;
use super::{Court, shown};

/// A chain of parents longer than this is not walked to its end.
const DEPTH: usize = 64;

impl Court {
    /// The parent that a message names, after the boot.
    pub(super) fn parent(&mut self, record: &Record<'_>, id: PeerId, out: &mut impl Observer) {
        if let Some(parent) = record.envelope.and_then(|envelope| envelope.parent_id)
            && let Some(parent) = said(Some(parent))
        {
            self.adopt(record, id, &parent, out);
        }
    }

    /// Takes over a peer's parent the first time it is named, and compares it later.
    pub(super) fn adopt(&mut self, record: &Record<'_>, id: PeerId, parent: &str, out: &mut impl Observer) {
        let peer = self.peers.get(id);
        let pointer = || format!("{}/parent_id", record.envelope_at);
        if let Some(known) = &peer.parent {
            if **known != *parent && !peer.told.parent_changed {
                self.blame(out, Rule::ParentConstant, Grade::Full, record, &pointer(), None, || {
                    format!("the parent was {} and is now {}", shown(known), shown(parent))
                });
                self.peers.get_mut(id).told.parent_changed = true;
            }
            return;
        }
        if *peer.name == *parent {
            self.blame(out, Rule::ParentAcyclic, Grade::Full, record, &pointer(), None, || {
                format!("{} is its own parent", shown(parent))
            });
        } else if let Some(known) = self.peers.find(parent) {
            if self.descends(known, id) {
                self.blame(out, Rule::ParentAcyclic, Grade::Full, record, &pointer(), None, || {
                    format!("{} is a descendant of {}", shown(parent), shown(&peer.name))
                });
            }
        } else if self.session.joined {
            // Only where the server announces peers can one be missing.
            let grade = if self.peers.forgotten > 0 { Grade::Indeterminate } else { self.sure(id) };
            self.blame(out, Rule::ParentKnown, grade, record, &pointer(), None, || {
                format!("the parent {} never joined", shown(parent))
            });
        }
        if parent.len() <= self.limits.name {
            self.peers.get_mut(id).parent = Some(Arc::from(parent));
        }
    }

    /// Whether a peer has another among its ancestors.
    fn descends(&self, from: PeerId, ancestor: PeerId) -> bool {
        let mut at = from;
        for _ in 0..DEPTH {
            if at == ancestor {
                return true;
            }
            let Some(parent) = self.peers.get(at).parent.as_deref() else { return false };
            let Some(next) = self.peers.find(parent) else { return false };
            if next == at {
                return false;
            }
            at = next;
        }
        false
    }
}
