//! Work that runs beside the main loop: sub-agents, background commands, workflows.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::Node;
use crate::stream_json::{Block, TaskNotification, TaskStarted, TaskUpdated};

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The stream does not say that it ended.
    Unfinished,
    /// It finished its work.
    Completed,
    /// It ended with an error.
    Failed,
    /// It was ended from outside.
    Stopped,
    /// The main agent itself ended it.
    StoppedByAgent,
}

/// A task and its fate.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Task {
    /// The task's id, when it is known.
    pub id: Option<String>,
    /// The tool call that launched it.
    pub tool_use_id: Option<String>,
    /// What it was called.
    pub description: Option<String>,
    /// Whether the main loop went on without waiting for it.
    pub background: bool,
    /// How the task ended, as far as the stream says.
    pub fate: Fate,
    /// The line that launched it.
    pub line: u64,
}

impl Task {
    /// Whether this was background work that did not finish.
    pub fn is_lost(&self) -> bool {
        self.background && matches!(self.fate, Fate::Unfinished | Fate::Failed | Fate::Stopped)
    }
}

#[derive(Debug, Default)]
pub(super) struct Tasks {
    pub(super) all: Vec<Task>,
    /// Tasks beyond the limit.
    pub(super) untracked: u64,
}

impl Tasks {
    fn find(&mut self, id: Option<&str>, tool_use_id: Option<&str>) -> Option<&mut Task> {
        // The latest first: ids are looked up soon after they appear.
        self.all.iter_mut().rev().find(|task| {
            (id.is_some() && task.id.as_deref() == id)
                || (tool_use_id.is_some() && task.tool_use_id.as_deref() == tool_use_id)
        })
    }

    fn add(&mut self, task: Task, limit: usize) {
        if self.all.len() < limit {
            self.all.push(task);
        } else {
            self.untracked += 1;
        }
    }

    /// A tool call that asks to run in the background.
    pub(super) fn launched(&mut self, tool_use_id: Option<&str>, line: u64, limit: usize) {
        let tool_use_id = tool_use_id.map(str::to_owned);
        let task =
            Task { id: None, tool_use_id, description: None, background: true, fate: Fate::Unfinished, line };
        self.add(task, limit);
    }

    pub(super) fn started(&mut self, started: TaskStarted<'_>, line: u64, limit: usize) {
        let id = started.task_id().map(Cow::into_owned);
        let tool_use_id = started.tool_use_id();
        let description = started.description().map(Cow::into_owned);
        let background = started.is_backgrounded() == Some(true)
            || started.task_type().is_some_and(|kind| kind == "local_workflow");
        if let Some(task) = self.find(None, tool_use_id.as_deref()) {
            task.id = id;
            task.description = description;
            task.background |= background;
            return;
        }
        let tool_use_id = tool_use_id.map(Cow::into_owned);
        self.add(Task { id, tool_use_id, description, background, fate: Fate::Unfinished, line }, limit);
    }

    pub(super) fn updated(&mut self, updated: TaskUpdated<'_>) {
        let status = updated.patch().and_then(|patch| patch.get("status")).and_then(Node::text);
        self.end(updated.task_id().as_deref(), None, status.as_deref());
        let backgrounded = updated.patch().and_then(|patch| patch.get("is_backgrounded"));
        if backgrounded.and_then(Node::boolean) == Some(true)
            && let Some(task) = self.find(updated.task_id().as_deref(), None)
        {
            task.background = true;
        }
    }

    pub(super) fn notified(&mut self, notice: TaskNotification<'_>) {
        let status = notice.status();
        self.end(notice.task_id().as_deref(), notice.tool_use_id().as_deref(), status.as_deref());
    }

    fn end(&mut self, id: Option<&str>, tool_use_id: Option<&str>, status: Option<&str>) {
        let Some(fate) = status.and_then(fate_of) else { return };
        if let Some(task) = self.find(id, tool_use_id)
            && task.fate != Fate::StoppedByAgent
        {
            task.fate = fate;
        }
    }

    /// The agent asks for a task to be ended.
    pub(super) fn stop_requested(&mut self, input: Node<'_>) {
        for key in ["task_id", "shell_id", "bash_id"] {
            let id = input.get(key).and_then(Node::text);
            if id.is_some()
                && let Some(task) = self.find(id.as_deref(), None)
                && task.fate == Fate::Unfinished
            {
                task.fate = Fate::StoppedByAgent;
            }
        }
    }

    /// The result of a tool call: it may say that the work went to the background, or that it never did, or how a
    /// task fares.
    pub(super) fn tool_result(&mut self, result: Block<'_>, details: Option<Node<'_>>) {
        let tool_use_id = result.tool_use_id.and_then(Node::text);
        if let Some(details) = details {
            self.look_at(details);
        }
        let Some(task) = self.find(None, tool_use_id.as_deref()) else { return };
        if task.fate != Fate::Unfinished {
            return;
        }
        let id = details.and_then(|details| {
            details.get("backgroundTaskId").or_else(|| details.get("agentId")).and_then(Node::text)
        });
        let went_to_background = details.is_some_and(|details| {
            details.get("isAsync").and_then(Node::boolean) == Some(true)
                || details.get("backgroundTaskId").is_some_and(|id| !id.is_null())
        }) || says_launched(result);
        // Without a word on what became of it, a call that asked for the background got it: its end is told elsewhere.
        let said_nothing = details.is_none() && task.background && !result.is_failed();
        if went_to_background || said_nothing {
            task.background = true;
            task.id = task.id.take().or_else(|| id.map(Cow::into_owned));
        } else {
            // The call was answered with its outcome (or refused), so nothing is left running.
            task.background = false;
            task.fate = if result.is_failed() { Fate::Failed } else { Fate::Completed };
        }
    }

    /// The answer of a tool that reads a task's output.
    fn look_at(&mut self, details: Node<'_>) {
        let task = details.get("task").unwrap_or(details);
        let id = task.get("task_id").or_else(|| task.get("shellId")).and_then(Node::text);
        let status = task.get("status").and_then(Node::text);
        if id.is_some() {
            self.end(id.as_deref(), None, status.as_deref());
        }
    }
}

fn fate_of(status: &str) -> Option<Fate> {
    match status {
        "completed" => Some(Fate::Completed),
        "failed" => Some(Fate::Failed),
        "stopped" | "killed" => Some(Fate::Stopped),
        _ => None,
    }
}

/// Older versions say in words only that work went to the background.
fn says_launched(result: Block<'_>) -> bool {
    const WORDS: [&str; 2] = ["Command running in background", "Async agent launched"];
    result.result_text().is_some_and(|text| WORDS.iter().any(|words| text.starts_with(words)))
}
