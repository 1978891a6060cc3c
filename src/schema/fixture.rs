//! Fixtures: the runs that prove that a clause fires, and that it does not fire for nothing.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Map, Value};

use super::contract::Protocol;
use super::events::judge_log;
use super::facts::{End, Run};
use super::finding::Finding;
use super::include::Texts;
use super::library::ContractSet;
use super::load::Bundle;
use super::pass::judge_bytes;
use crate::document::{Document, FileError, Item, Table};
use crate::events::Profile;
use crate::json::pointer::unescape;
use crate::recording::{self, Exit};

/// A run written down in a few lines.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Sample {
    /// What it shows, for people.
    pub name: String,
    /// The command line, the program first; none when it is not known.
    pub argv: Option<Vec<String>>,
    /// Names of the variables that were set; none when they are not known.
    pub env: Option<Vec<String>>,
    /// The version of the target; none when it is not known.
    pub version: Option<String>,
    /// The reading that an event log is held to; none is the strict one.
    pub profile: Option<Profile>,
    /// How the run ended; none when it is not known.
    pub exit: Option<Exit>,
    /// What it printed to standard output.
    pub stdout: Vec<u8>,
    /// What it complained about; none when it is not known.
    pub stderr: Option<Vec<u8>>,
    /// What else was recorded, as `recording.json` has it; a request may have its body as `json`.
    pub recorded: Map<String, Value>,
}

impl Sample {
    /// The run that was recorded, with the bodies of its requests and its standard input in their places.
    pub fn of_recording(recording: &recording::Recording) -> io::Result<Self> {
        let read = |mut channel: Box<dyn io::Read + '_>| {
            let mut bytes = Vec::new();
            channel.read_to_end(&mut bytes).map(|_| bytes)
        };
        let facts = &recording.facts;
        let mut recorded = facts.other.clone();
        recorded.extend(facts.duration_ms.map(|ms| ("duration_ms".to_string(), ms.into())));
        if let Some(text) = recording.stdin()? {
            recorded.insert("stdin".into(), String::from_utf8_lossy(&text).into());
        }
        let requests = recorded.get_mut("requests").and_then(Value::as_array_mut);
        for (number, request) in requests.into_iter().flatten().enumerate() {
            if let Some(body) = recording.request_body(number)? {
                request["json"] = serde_json::from_slice(&body).unwrap_or_default();
            }
        }
        Ok(Self {
            name: facts.scenario.clone(),
            argv: Some(facts.argv.clone()),
            env: Some(facts.env_set.clone()),
            version: Some(facts.target_version.clone()),
            profile: None,
            exit: Some(facts.exit.clone()),
            stdout: read(recording.stdout()?)?,
            stderr: Some(read(recording.stderr()?)?),
            recorded,
        })
    }

    /// What is known of the run before its output is read.
    pub fn run(&self) -> Run {
        let recorded = Run::of(&self.facts());
        Run {
            argv: self.argv.clone(),
            env: self.env.clone(),
            version: self.version.clone(),
            env_values: Vec::new(),
            ..recorded
        }
    }

    fn facts(&self) -> recording::Facts {
        recording::Facts {
            target_version: self.version.clone().unwrap_or_default(),
            argv: self.argv.clone().unwrap_or_default(),
            env_set: self.env.clone().unwrap_or_default(),
            exit: self.exit.clone().unwrap_or_else(|| Exit::with_code(0)),
            duration_ms: self.recorded.get("duration_ms").and_then(Value::as_u64),
            other: self.recorded.clone(),
            ..recording::Facts::default()
        }
    }

    /// The run as a recording, with `target` and `scenario` for its names.
    pub fn recording(&self, target: &str, scenario: &str) -> recording::Recording {
        let (target, scenario) = (target.to_string(), scenario.to_string());
        let facts = recording::Facts { target, scenario, ..self.facts() };
        recording::Recording::new(facts, self.stdout.clone(), self.stderr.clone().unwrap_or_default())
    }

    /// The findings against this run.
    pub fn judge(&self, set: &ContractSet) -> Vec<Finding> {
        if set.protocol() == Protocol::Events {
            return judge_log(set, self.profile.unwrap_or_default(), &self.stdout);
        }
        let recording = self.recording("", "");
        judge_bytes(set, &self.run(), &self.stdout, &self.end(&recording))
    }

    /// What is known of the run when it is over; `recording` is its own.
    pub(crate) fn end<'s>(&'s self, recording: &'s recording::Recording) -> End<'s> {
        End::new(self.exit.clone(), Some(&self.stdout), self.stderr.as_deref()).recorded(Some(recording))
    }
}

/// The good and bad runs of one clause.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ClauseFixtures {
    /// Runs that keep the clause.
    pub good: Vec<Sample>,
    /// Runs that break it.
    pub bad: Vec<Sample>,
}

/// All fixtures of a contract.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Fixtures {
    /// Runs that break nothing.
    pub base: BTreeMap<String, Sample>,
    /// The runs of each clause, by its id.
    pub clauses: BTreeMap<String, ClauseFixtures>,
    /// The runs of each row of `[outcome]`, by its id.
    pub outcomes: BTreeMap<String, OutcomeFixtures>,
}

/// The runs of one row of `[outcome]`.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OutcomeFixtures {
    /// Runs whose verdict it decides.
    pub decides: Vec<Sample>,
    /// Runs of which it says nothing.
    pub silent: Vec<Sample>,
}

impl Fixtures {
    /// Reads the fixtures in a contract's files.
    pub fn load(bundle: &Bundle) -> Result<Self, FileError> {
        let mut fixtures = Self::default();
        let texts = Texts::of(bundle)?;
        let sections = texts.sections()?;
        // What is printed by a run of the included contract, as this one prints it.
        let adapt = |sample: &mut Sample, name: &str| {
            let edits = if bundle.is_included(name) { sections.edits() } else { &[] };
            edits.iter().try_for_each(|edit| sample.edit(edit))
        };
        for name in bundle.names() {
            let Some(rest) = name.strip_prefix("fixtures/base/") else { continue };
            let (key, mut sample) = if let Some(directory) = rest.strip_suffix("/recording.json") {
                (directory, from_recording(bundle, directory)?)
            } else if let Some(key) = rest.strip_suffix(".toml") {
                let label = bundle.label(name);
                let tree = Document::parse(&label, bundle.text(name)?)?;
                let mut sample = Sample { name: key.to_string(), ..Sample::default() };
                let fields = tree;
                sample.read(&fields)?;
                fields.finish()?;
                (key, sample)
            } else {
                continue;
            };
            adapt(&mut sample, name)?;
            fixtures.base.insert(key.to_string(), sample);
        }
        for name in bundle.names() {
            let Some(rest) = name.strip_prefix("fixtures/").and_then(|rest| rest.strip_suffix(".toml"))
            else {
                continue;
            };
            let row = rest.strip_prefix("outcome/");
            if row.is_none() && rest.contains('/') {
                continue;
            }
            let label = bundle.label(name);
            let tree = Document::parse(&label, bundle.text(name)?)?;
            let fields = tree;
            let list = |key| {
                let nodes = fields.get(key).map_or(Ok(Vec::new()), |node: Item<'_>| node.list())?;
                let adapt = |sample: &mut Sample| adapt(sample, name);
                nodes.iter().map(|node| fixtures.sample(node, &adapt)).collect::<Result<Vec<_>, _>>()
            };
            if let Some(row) = row {
                let found = OutcomeFixtures { decides: list("decides")?, silent: list("silent")? };
                fixtures.outcomes.insert(row.to_string(), found);
            } else {
                let found = ClauseFixtures { good: list("good")?, bad: list("bad")? };
                fixtures.clauses.insert(rest.to_string(), found);
            }
            fields.finish()?;
        }
        Ok(fixtures)
    }

    fn sample(
        &self,
        node: &Item<'_>,
        adapt: &dyn Fn(&mut Sample) -> Result<(), FileError>,
    ) -> Result<Sample, FileError> {
        let fields = node.table()?;
        let mut sample = match fields.get("base") {
            Some(base) => {
                let name = base.str()?;
                self.base.get(name).cloned().ok_or_else(|| base.complain(format_args!("no base `{name}`")))?
            }
            None => Sample::default(),
        };
        if let Some(name) = fields.get("name") {
            sample.name = name.text()?;
        }
        sample.read(&fields)?;
        // What derives from a base was adapted there.
        if fields.get("stdout").is_some() {
            adapt(&mut sample)?;
        }
        if let Some(edits) = fields.get("edit") {
            for edit in edits.list()? {
                sample.edit(&edit)?;
            }
        }
        fields.finish()?;
        Ok(sample)
    }
}

fn from_recording(bundle: &Bundle, directory: &str) -> Result<Sample, FileError> {
    let file = format!("fixtures/base/{directory}/recording.json");
    let facts = recording::Facts::parse(bundle.text(&file)?.as_bytes())
        .map_err(|error| FileError::whole(bundle.label(&file), error))?;
    let bytes =
        |name: &str| bundle.bytes(&format!("fixtures/base/{directory}/{name}")).unwrap_or_default().to_vec();
    let mut recorded = facts.other;
    recorded.extend(facts.duration_ms.map(|duration| ("duration_ms".to_string(), duration.into())));
    Ok(Sample {
        name: directory.to_string(),
        argv: Some(facts.argv),
        env: Some(facts.env_set),
        version: Some(facts.target_version),
        profile: None,
        exit: Some(facts.exit),
        stdout: bytes("stdout"),
        stderr: Some(bytes("stderr")),
        recorded,
    })
}

impl Sample {
    fn read(&mut self, fields: &Table<'_>) -> Result<(), FileError> {
        if let Some(argv) = fields.get("argv") {
            self.argv = Some(argv.strings()?);
        }
        if let Some(env) = fields.get("env") {
            self.env = Some(env.strings()?);
        }
        if let Some(version) = fields.get("version") {
            self.version = Some(version.text()?);
        }
        if let Some(profile) = fields.get("profile") {
            let name = profile.str()?;
            let known = Profile::from_name(name).ok_or_else(|| {
                profile.complain(format_args!("`{name}` is none of strict, lenient, origin"))
            })?;
            self.profile = Some(known);
        }
        let integer = |key| {
            let node: Option<Item<'_>> = fields.get(key);
            node.map(|node| i32::try_from(node.integer()?).map_err(|_| node.complain("too large")))
                .transpose()
        };
        let (code, signal) = (integer("exit")?, integer("signal")?);
        let timed_out = fields.get("timed-out").map(|node| node.text()).transpose()?;
        if code.is_some() || signal.is_some() || timed_out.is_some() {
            let mut exit = Exit { code, signal, ..Exit::default() };
            exit.timed_out = timed_out.as_deref().map(recording::Timer::from_name);
            self.exit = Some(exit);
        }
        let channel = |text: &'static str, hex: &'static str| match (fields.get(text), fields.get(hex)) {
            (Some(text), None) => Ok(Some(text.str()?.as_bytes().to_vec())),
            (None, Some(hex)) => unhex(&hex).map(Some),
            (None, None) => Ok(None),
            (Some(_), Some(hex)) => Err(hex.complain("either the text or the bytes, not both")),
        };
        if let Some(stdout) = channel("stdout", "stdout-hex")? {
            self.stdout = stdout;
        }
        if let Some(stderr) = channel("stderr", "stderr-hex")? {
            self.stderr = Some(stderr);
        }
        if let Some(recorded) = fields.get("recorded") {
            for (name, value) in recorded.table()?.into_entries() {
                self.recorded.insert(name, value.json()?);
            }
        }
        Ok(())
    }

    fn edit(&mut self, node: &Item<'_>) -> Result<(), FileError> {
        let fields = node.table()?;
        if let Some(pointer) = fields.get("recorded") {
            let mut recorded = Value::Object(std::mem::take(&mut self.recorded));
            if fields.get("drop").map_or(Ok(false), |node| node.bool())? {
                remove(&mut recorded, pointer.str()?)
                    .ok_or_else(|| pointer.complain("there is nothing there"))?;
            } else {
                set(&mut recorded, pointer.str()?, new_value(node, &fields)?)
                    .ok_or_else(|| pointer.complain("there is no such place"))?;
            }
            self.recorded = recorded.as_object_mut().map(std::mem::take).unwrap_or_default();
            return fields.finish();
        }
        let line = fields.get("line").map_or(Ok(1), |node| node.unsigned())?.max(1) as usize - 1;
        let mut lines: Vec<Vec<u8>> =
            self.stdout.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let missing = || node.complain(format_args!("there is no line {}", line + 1));
        if let Some(insert) = fields.get("insert") {
            let text = format!("{}\n", insert.str()?).into_bytes();
            lines.insert(line.min(lines.len()), text);
        } else if let Some(drop) = fields.get("drop") {
            if drop.bool()? && line < lines.len() {
                lines.remove(line);
            } else {
                return Err(missing());
            }
        } else if let Some(to) = fields.get("move") {
            let to = to.unsigned()?.max(1) as usize - 1;
            if line >= lines.len() || to >= lines.len() {
                return Err(missing());
            }
            let moved = lines.remove(line);
            lines.insert(to, moved);
        } else if let Some(text) = fields.get("text") {
            let slot = lines.get_mut(line).ok_or_else(missing)?;
            *slot = format!("{}\n", text.str()?).into_bytes();
        } else {
            let slot = lines.get_mut(line).ok_or_else(missing)?;
            let mut value: Value = serde_json::from_slice(slot)
                .map_err(|error| node.complain(format_args!("line {} is not JSON: {error}", line + 1)))?;
            if let Some(pointer) = fields.get("remove") {
                remove(&mut value, pointer.str()?)
                    .ok_or_else(|| pointer.complain("there is nothing there"))?;
            } else {
                let pointer = fields.need("set")?;
                set(&mut value, pointer.str()?, new_value(node, &fields)?)
                    .ok_or_else(|| pointer.complain("there is no such place"))?;
            }
            *slot = format!("{value}\n").into_bytes();
        }
        fields.finish()?;
        self.stdout = lines.concat();
        Ok(())
    }
}

/// What an edit puts in a place; `json` is for what TOML cannot write.
fn new_value(node: &Item<'_>, fields: &Table<'_>) -> Result<Value, FileError> {
    match (fields.get("to"), fields.get("json")) {
        (Some(to), None) => to.json(),
        (None, Some(json)) => serde_json::from_str(json.str()?)
            .map_err(|error| json.complain(format_args!("not JSON: {error}"))),
        _ => Err(node.complain("an edit needs either `to` or `json`")),
    }
}

fn unhex(node: &Item<'_>) -> Result<Vec<u8>, FileError> {
    let digits: String = node.str()?.split_whitespace().collect();
    let pairs = (0..digits.len()).step_by(2).map(|at| digits.get(at..at + 2));
    pairs
        .map(|pair| pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect::<Option<_>>()
        .ok_or_else(|| node.complain("expected pairs of hexadecimal digits"))
}

fn parent<'v>(value: &'v mut Value, pointer: &str) -> Option<(&'v mut Value, String)> {
    let (parent, key) = pointer.rsplit_once('/')?;
    Some((value.pointer_mut(parent)?, unescape(key)))
}

/// Removes the value at a pointer.
pub(crate) fn remove(value: &mut Value, pointer: &str) -> Option<Value> {
    match parent(value, pointer)? {
        (Value::Object(map), key) => map.shift_remove(&key),
        (Value::Array(list), key) => {
            let index = key.parse().ok().filter(|index| *index < list.len())?;
            Some(list.remove(index))
        }
        _ => None,
    }
}

/// Puts a value at a pointer, replacing what is there or adding a member or an element.
pub(crate) fn set(value: &mut Value, pointer: &str, new: Value) -> Option<()> {
    if pointer.is_empty() {
        *value = new;
        return Some(());
    }
    match parent(value, pointer)? {
        (Value::Object(map), key) => {
            map.insert(key, new);
        }
        (Value::Array(list), key) => {
            let index: usize = key.parse().ok()?;
            match list.get_mut(index) {
                Some(slot) => *slot = new,
                None => list.push(new),
            }
        }
        _ => return None,
    }
    Some(())
}
