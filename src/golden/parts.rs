//! What a snapshot holds, part by part in its order, so that nobody has to hold all of it.

use std::io;

use serde_json::Value;

use super::entry::Entry;
use super::reading::Go;

/// Whose snapshot it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub target: String,
    pub scenario: String,
    /// The contract that it promises, if that is known.
    pub contract: Option<String>,
    /// The file of the scenario, from the folder of the snapshots; none when it is built in.
    pub owner: Option<String>,
}

/// One part of what a run did.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'p> {
    /// How the process ended; missing when that is not known.
    Exit(&'p Value),
    /// What it printed to standard output.
    Stdout(&'p Entry),
    /// What it printed to standard error.
    Stderr(&'p Entry),
    /// What it asked the API.
    Request(&'p Value),
    /// A file that it wrote.
    File(&'p Value),
}

/// What a run did, which can be looked at again and again.
pub(crate) trait Parts {
    fn head(&self) -> &Head;

    /// Shows every part in order, until `each` has seen enough. Only reading what was recorded can fail.
    fn visit(&self, each: &mut dyn FnMut(Part<'_>) -> Go) -> io::Result<()>;
}

/// What a run did, all of it in memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Normal {
    pub head: Head,
    pub exit: Option<Value>,
    pub stdout: Vec<Entry>,
    pub stderr: Vec<Entry>,
    pub requests: Vec<Value>,
    pub files: Vec<Value>,
}

impl Normal {
    /// Takes everything into memory.
    pub(crate) fn of(parts: &dyn Parts) -> io::Result<Self> {
        let mut normal = Self { head: parts.head().clone(), ..Self::default() };
        parts.visit(&mut |part| {
            normal.add(part);
            Go::Continue(())
        })?;
        Ok(normal)
    }

    pub(super) fn add(&mut self, part: Part<'_>) {
        match part {
            Part::Exit(exit) => self.exit = Some(exit.clone()),
            Part::Stdout(entry) => self.stdout.push(entry.clone()),
            Part::Stderr(entry) => self.stderr.push(entry.clone()),
            Part::Request(request) => self.requests.push(request.clone()),
            Part::File(file) => self.files.push(file.clone()),
        }
    }
}

impl Parts for Normal {
    fn head(&self) -> &Head {
        &self.head
    }

    fn visit(&self, each: &mut dyn FnMut(Part<'_>) -> Go) -> io::Result<()> {
        let output = self.stdout.iter().map(Part::Stdout).chain(self.stderr.iter().map(Part::Stderr));
        let others = self.requests.iter().map(Part::Request).chain(self.files.iter().map(Part::File));
        _ = self.exit.iter().map(Part::Exit).chain(output).chain(others).try_for_each(each);
        Ok(())
    }
}
