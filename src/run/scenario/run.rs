//! `[run]`: what a target is made to do.

use std::ffi::OsString;

use super::bytes::{word, words};
use super::step::step;
use crate::document::{FileError, Item, Table};
use crate::harness::Bounds;
use crate::harness::room::RoomFile;
use crate::harness::user::Step;

/// What a target is made to do.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct RunPart {
    /// The question; passed as an argument, or on standard input where it cannot be one.
    pub prompt: Option<String>,
    /// Whether the question goes through standard input wherever the target reads it there.
    pub prompt_on_stdin: bool,
    /// The question is padded to this many bytes.
    pub prompt_bytes: Option<usize>,
    /// Further arguments, before the target's own.
    pub args: Vec<OsString>,
    /// Whether the target adds nothing of its own.
    pub bare: bool,
    /// Which form of output is asked for.
    pub output: OutputMode,
    /// What stands on standard input; it is closed without it.
    pub stdin: Option<String>,
    /// What the user does meanwhile.
    pub steps: Vec<Step>,
    /// Whether it runs on a terminal.
    pub terminal: bool,
    /// What is run before it, in the same room.
    pub first: Option<First>,
    /// What stands in the working directory, or in the home below `~/`.
    pub files: Vec<RoomFile>,
    /// Settings beside the target's own; an empty value takes one away.
    pub env: Vec<(String, String)>,
    /// The timers, in milliseconds: wall, first event, idle, after the result.
    pub timers: [Option<u64>; 4],
    /// The most that it may print.
    pub most_stdout: Option<u64>,
    /// What it may use of the machine.
    pub(crate) bounds: Bounds,
    /// Another program than the target's.
    pub program: Option<String>,
    /// Another working directory, relative to the usual one.
    pub cwd: Option<OsString>,
    /// Whether standard output is a device on which there is no space left.
    pub stdout_full: bool,
}

/// A run before the one that is judged: it leaves a session to resume, or files. It has to exit with 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct First {
    pub prompt: Option<String>,
    pub args: Vec<OsString>,
}

/// Which form of output is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputMode {
    /// That of the contract.
    #[default]
    Contract,
    Text,
}

const TIMERS: [&str; 4] = ["wall_ms", "first_event_ms", "idle_ms", "after_result_ms"];

impl RunPart {
    /// Reads a table; what it does not say is as in `base`.
    pub(super) fn read(mut table: Table<'_>, base: &Self) -> Result<Self, FileError> {
        let mut run = base.clone();
        if let Some(prompt) = table.string("prompt")? {
            run.prompt = Some(prompt);
        }
        if let Some(bytes) = table.unsigned("prompt_bytes")? {
            run.prompt_bytes = Some(bytes as usize);
        }
        if let Some(item) = table.take("args") {
            run.args = words(item)?;
        }
        run.bare = table.boolean("bare")?.unwrap_or(run.bare);
        if let Some(item) = table.take("output") {
            let place = item.place();
            run.output = match item.into_string()?.as_str() {
                "contract" => OutputMode::Contract,
                "text" => OutputMode::Text,
                other => {
                    return Err(place.complain(format!("expected \"contract\" or \"text\", found {other:?}")));
                }
            };
        }
        if let Some(text) = table.string("stdin")? {
            run.stdin = Some(text);
        }
        if let Some(item) = table.take("steps") {
            let mut has_answered = false;
            let steps = item.into_list()?.into_iter().map(|item| step(item, &mut has_answered));
            run.steps = steps.collect::<Result<_, _>>()?;
        }
        run.terminal = table.boolean("terminal")?.unwrap_or(run.terminal);
        if let Some(item) = table.take("first") {
            let mut table = item.into_table()?;
            let args = table.take("args").map(words).transpose()?.unwrap_or_default();
            run.first = Some(First { prompt: table.string("prompt")?, args });
            table.finish()?;
        }
        if let Some(item) = table.take("files") {
            for (path, item) in item.into_table()?.into_entries() {
                run.files.push(room_file(path, item)?);
            }
        }
        if let Some(item) = table.take("env") {
            for (name, item) in item.into_table()?.into_entries() {
                run.env.push((name, item.into_string()?));
            }
        }
        for (timer, name) in run.timers.iter_mut().zip(TIMERS) {
            *timer = table.unsigned(name)?.or(*timer);
        }
        run.most_stdout = table.unsigned("most_stdout")?.or(run.most_stdout);
        run.bounds.disk_bytes = table.unsigned("disk_bytes")?.or(run.bounds.disk_bytes);
        run.bounds.memory_bytes = table.unsigned("memory_bytes")?.or(run.bounds.memory_bytes);
        run.bounds.descriptors = table.unsigned("descriptors")?.or(run.bounds.descriptors);
        run.program = table.string("program")?.or(run.program);
        run.cwd = table.take("cwd").map(word).transpose()?.or(run.cwd);
        if let Some(item) = table.take("stdout") {
            let place = item.place();
            run.stdout_full = match item.into_string()?.as_str() {
                "read" => false,
                "full" => true,
                other => {
                    return Err(place.complain(format!("expected \"read\" or \"full\", found {other:?}")));
                }
            };
        }
        table.finish()?;
        Ok(run)
    }

    pub fn whole_prompt(&self) -> Option<String> {
        let prompt = self.prompt.clone()?;
        Some(match self.prompt_bytes {
            Some(bytes) if prompt.len() < bytes => {
                let padding = " lorem ipsum".chars().cycle().take(bytes - prompt.len());
                prompt + &padding.collect::<String>()
            }
            _ => prompt,
        })
    }
}

/// A list of strings.
pub(crate) fn strings(item: Item<'_>) -> Result<Vec<String>, FileError> {
    item.into_list()?.into_iter().map(Item::into_string).collect()
}

/// A file of a room: its text, or a table.
pub(crate) fn room_file(path: String, item: Item<'_>) -> Result<RoomFile, FileError> {
    if item.is_string() {
        return Ok(RoomFile::new(path, item.into_string()?));
    }
    let mut table = item.into_table()?;
    let mut file = RoomFile::new(path, table.string("text")?.unwrap_or_default());
    file.is_dir = table.boolean("directory")?.unwrap_or(false);
    file.mode = table.unsigned("mode")?.map(|mode| mode as u32);
    table.finish()?;
    Ok(file)
}
