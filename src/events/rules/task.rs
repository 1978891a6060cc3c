//! Task topics: only the worker that a task was given to speaks about it.

use super::super::Rule;
use super::super::peers::{Role, key_of};
use super::super::record::Record;
use super::super::violation::Grade;
use super::fields::nonblank;
use super::report::{Report, shown};
use super::session::{SERVER, Session};

/// Tasks that are remembered of one worker.
const TASKS: usize = 64;

impl Session {
    pub(super) fn task(&mut self, report: &mut Report<'_>, id: &str, rest: &str) {
        let Some(from) = report.record.publisher() else { return };
        if id == "assigned" || from == SERVER {
            self.assigned(report.record, rest);
            return;
        }
        let Some(peer) = self.peers.meet(&from) else { return };
        let peer = &self.peers[peer];
        if peer.role == Some(Role::Orchestrator) || peer.tasks.contains(&key_of(id)) {
            return;
        }
        let unsure = peer.role.is_none() || self.start_is_missing || self.lost_line > 0;
        let grade = if unsure { Grade::Indeterminate } else { Grade::Full };
        let (from, id) = (shown(&from), shown(id));
        let message = format_args!("{from} publishes on task {id}, which was not assigned to it");
        report.topic((Rule::OwnTask, grade), message);
    }

    fn assigned(&mut self, record: &Record<'_>, rest: &str) {
        let Some(task) = nonblank(record.field("taskId").or_else(|| record.field("task_id"))) else { return };
        let assignee = nonblank(record.field("assignee"));
        let Some(id) = self.peers.meet(assignee.as_deref().unwrap_or(rest)) else { return };
        let tasks = &mut self.peers[id].tasks;
        let key = key_of(&task);
        if !tasks.contains(&key) {
            if tasks.len() >= TASKS {
                tasks.remove(0);
            }
            tasks.push(key);
        }
    }
}
