//! Commands that run in the background while the conversation goes on.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use super::super::World;
use super::output::Output;

/// How long a command may take once the conversation is over, unless
/// [`CEILING`] says otherwise. The real one is more patient; a test need not be.
const PATIENCE: u64 = 500;
/// The setting that says how many milliseconds are waited.
const CEILING: &str = "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS";

/// A command in the background.
pub(super) struct Task {
    id: String,
    tool_use_id: String,
    description: String,
    child: Option<Child>,
}

impl Task {
    /// Starts a command and says so.
    pub(super) fn start(
        number: usize,
        call: &str,
        command: &str,
        description: &str,
        output: &mut Output,
    ) -> Self {
        let id = format!("task-{number}");
        output.message(json!({
            "type": "system", "subtype": "task_started", "task_id": id, "tool_use_id": call,
            "description": description, "task_type": "local_bash",
        }));
        let child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A shell may start what it was asked for as a child of its own; both are ended together.
            .process_group(0)
            .spawn();
        Self { id, tool_use_id: call.into(), description: description.into(), child: child.ok() }
    }

    /// What the model is told when it has finished.
    pub(super) fn notice(&self) -> String {
        format!(
            "<task-notification>\n<task-id>{}</task-id>\n<status>completed</status>\n<summary>{}</summary>\n</task-notification>",
            self.id, self.description
        )
    }

    /// What its tool call answers.
    pub(super) fn receipt(&self) -> String {
        format!("Command running in background with ID: {}. You will be notified when it completes.", self.id)
    }

    /// Waits for a moment, ends it if need be, and says what became of it. Whether it finished by itself.
    pub(super) fn settle(mut self, world: &World, output: &mut Output) -> bool {
        let ceiling = world.variable(CEILING).and_then(|ms| ms.parse().ok()).unwrap_or(PATIENCE);
        let limit = Instant::now() + Duration::from_millis(ceiling);
        let mut finished = false;
        if let Some(child) = &mut self.child {
            while Instant::now() < limit && !finished {
                finished = matches!(child.try_wait(), Ok(Some(_)));
                std::thread::sleep(Duration::from_millis(5));
            }
            if !finished {
                _ = kill_process_group(Pid::from_child(child), Signal::KILL);
                _ = child.wait();
            }
        }
        let (patch, status) = if finished { ("completed", "completed") } else { ("killed", "stopped") };
        output.message(json!({
            "type": "system", "subtype": "task_updated", "task_id": self.id,
            "patch": {"status": patch, "end_time": crate::time::now()},
        }));
        output.message(json!({
            "type": "system", "subtype": "task_notification", "task_id": self.id, "tool_use_id": self.tool_use_id,
            "status": status, "output_file": "", "summary": self.description,
        }));
        finished
    }
}
