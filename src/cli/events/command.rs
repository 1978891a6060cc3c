//! A program that a command starts beside itself: the server that is probed, or the worker that is driven.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::super::CommandError;
use crate::text::{printable, trouble};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// From being asked to end to being ended.
const PATIENCE: Duration = Duration::from_secs(3);

/// A program that runs; it is ended when this is dropped.
pub(super) struct Started {
    child: Child,
    name: String,
}

impl Started {
    /// Starts a command. What it prints goes to standard error: standard output is ours.
    pub(super) fn start(command: &[OsString], env: &[(&str, String)]) -> Result<Self, CommandError> {
        let (program, args) =
            command.split_first().ok_or_else(|| CommandError::Usage("no command after --".into()))?;
        let name = program.to_string_lossy().into_owned();
        let failed = |error: io::Error| {
            let why = if error.kind() == io::ErrorKind::NotFound && !name.contains('/') {
                "it is not on the PATH".to_owned()
            } else {
                trouble(Path::new(&name), &error)
            };
            CommandError::Environment(format!("{} cannot be started: {why}", printable(&name)))
        };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(io::stderr());
        command.envs(env.iter().map(|(name, value)| (name, value)));
        let child = command.spawn().map_err(failed)?;
        Ok(Self { child, name })
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for its end.
    pub(super) async fn wait(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks it to end, and ends it if it does not.
    fn end(&mut self) {
        if self.ended().is_some() {
            return;
        }
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself just now.
            let _ = kill_process(pid, Signal::TERM);
        }
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && self.ended().is_none() {
            std::thread::sleep(LOOK);
        }
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}
