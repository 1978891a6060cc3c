//! Task topics: only the worker that a task was given to speaks about it.

use super::super::Rule;
use super::super::breach::{Grade, Observer};
use super::super::peer::{Role, key_of};
use super::super::record::Record;
use super::fields::said;
use super::{Court, SERVER, shown};

/// Tasks that are remembered of one worker.
const TASKS: usize = 64;

impl Court {
    pub(super) fn task(&mut self, record: &Record<'_>, id: &str, rest: &str, out: &mut impl Observer) {
        let Some(from) = record.publisher() else { return };
        if id == "assigned" || from == SERVER {
            self.assigned(record, rest);
            return;
        }
        let Some(peer) = self.peers.meet(&from) else { return };
        let peer = self.peers.get(peer);
        if peer.role == Role::Orchestrator || peer.tasks.contains(&key_of(id)) {
            return;
        }
        let unsure = peer.role == Role::Unknown || self.is_suffix || self.lost > 0;
        let grade = if unsure { Grade::Indeterminate } else { Grade::Full };
        self.blame(out, Rule::OwnTask, grade, record, "/topic", None, || {
            format!("{} publishes on task {}, which was not assigned to it", shown(&from), shown(id))
        });
    }

    fn assigned(&mut self, record: &Record<'_>, rest: &str) {
        let Some(task) = said(record.field("taskId").or_else(|| record.field("task_id"))) else { return };
        let assignee = said(record.field("assignee"));
        let Some(id) = self.peers.meet(assignee.as_deref().unwrap_or(rest)) else { return };
        let tasks = &mut self.peers.get_mut(id).tasks;
        let key = key_of(&task);
        if !tasks.contains(&key) {
            if tasks.len() >= TASKS {
                tasks.remove(0);
            }
            tasks.push(key);
        }
    }
}
