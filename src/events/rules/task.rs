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
        if from == SERVER {
            self.assigned(report.record, id, rest);
            return;
        }
        let Some(publisher) = self.peers.meet(&from) else { return };
        // An orchestrator speaks of every task, and gives them out. Somebody whose role is not known may be one.
        let role = self.peers[publisher].role;
        if role == Some(Role::Orchestrator) || (role.is_none() && id == "assigned") {
            self.assigned(report.record, id, rest);
            return;
        }
        let peer = &self.peers[publisher];
        if peer.tasks.contains(&key_of(id)) {
            self.after_complete(report, publisher);
            return;
        }
        let unsure = peer.role.is_none() || self.start_is_missing || self.lost_line > 0;
        let grade = if unsure { Grade::Indeterminate } else { Grade::Full };
        let (from, task) = (shown(&from), shown(id));
        let message = if id == "assigned" {
            format!("{from} assigns a task, which is the orchestrator's to do")
        } else {
            format!("{from} publishes on task {task}, which was not assigned to it")
        };
        report.topic((Rule::OwnTask, grade), message);
    }

    /// Remembers whom a task is given to: `task.assigned.<peer>`, as the published server writes it, or any news of
    /// `task.<id>` that names an assignee.
    fn assigned(&mut self, record: &Record<'_>, topic_id: &str, rest: &str) {
        let named = |keys: &[&str]| keys.iter().find_map(|key| nonblank(record.field(key)));
        let is_served = topic_id == "assigned";
        let stated = named(&["taskId", "task_id"]);
        let task = if is_served { stated } else { Some(topic_id.into()) };
        let assignee = named(&["assignee", "assigned_to", "assignedTo", "peerId", "peer_id", "worker"]);
        let assignee = assignee.or_else(|| is_served.then(|| rest.into()));
        let (Some(task), Some(assignee)) = (task, assignee) else { return };
        let Some(id) = self.peers.meet(&assignee) else { return };
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
