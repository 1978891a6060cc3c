//! From a recording to what two runs of the same program have in common: a pure function.
//!
//! Relations stay: the same uuid is the same `<uuid:1>` wherever it stands. Placeholders are typed: a duration that is
//! no number any more is no `<ms>` and so is a change. The order of keys and the way in which a number is written do not
//! matter; the order of messages does, but for the groups that the scenario lets interleave.

use std::borrow::Cow;
use std::io::{self, Read as _};

use hmac_sha256::Hash as Sha256;
use serde_json::{Map, Value};

use super::entry::{Entry, read_entries};
use super::interleave::Interleave;
use super::placeholder::{Placeholders, whole_time, without_dates};
use super::volatile::{Class, Volatile};
use crate::recording::{Facts, Recording};
use crate::text::hex;

/// A longer string is cut; its digest keeps a change visible.
const LONGEST_STRING: usize = 2000;
/// So much of a cut string is shown.
const SHOWN: usize = 400;
/// Output beyond this is not compared but by its length and digest.
const MOST_OUTPUT: u64 = 64 << 20;

/// A recording without what differs from run to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Normal {
    pub target: String,
    pub scenario: String,
    /// The contract that it promises, if that is known.
    pub contract: Option<String>,
    /// The file of the scenario, from the folder of the snapshots; none when it is built in.
    pub owner: Option<String>,
    /// How the process ended; none when that is not known.
    pub exit: Option<Value>,
    /// What it printed to standard output.
    pub stdout: Vec<Entry>,
    /// What it printed to standard error.
    pub stderr: Vec<Entry>,
    /// What it asked the API.
    pub requests: Vec<Value>,
    /// The files that it wrote.
    pub files: Vec<Value>,
}

impl Normal {
    /// As the snapshot of a scenario in this file.
    pub(crate) fn owned_by(self, owner: Option<String>) -> Self {
        Self { owner, ..self }
    }
}

/// Normalises a recording. Only reading its output can fail.
pub(crate) fn normalise(recording: &Recording, volatile: &Volatile) -> io::Result<Normal> {
    let facts = &recording.facts;
    let interleave = Interleave::of_recording(facts);
    let mut stdout = interleave.sort(read(recording.stdout()?)?);
    let mut stderr = read(recording.stderr()?)?;
    let mut normaliser = Normaliser::new(facts, volatile, &stdout, &stderr);
    let mut requests = requests(facts);
    if !interleave.is_empty() {
        // Conversations at the same time ask in any order, and ids are numbered as they come.
        requests.sort_by_cached_key(|request| request.get("entry").map(ToString::to_string));
    }
    normaliser.entries(&mut stdout);
    normaliser.entries(&mut stderr);
    let mut requests: Vec<Value> = requests.iter().map(|request| normaliser.value(request)).collect();
    // A program tells the model which day it is.
    requests.iter_mut().filter_map(|request| request.get_mut("body")).for_each(forget_days);
    if !interleave.is_empty() {
        requests.sort_by_cached_key(ToString::to_string);
    }
    let mut files: Vec<Value> = files(facts, volatile).iter().map(|file| normaliser.value(file)).collect();
    files.sort_by_cached_key(ToString::to_string);
    Ok(Normal {
        target: facts.target.clone(),
        scenario: facts.scenario.clone(),
        contract: facts.contract().map(str::to_owned),
        owner: None,
        exit: exit(facts).map(|exit| normaliser.value(&exit)),
        stdout,
        stderr,
        requests,
        files,
    })
}

/// Normalises a plain file of messages, of which nothing but its content is known.
#[cfg(feature = "cli")]
pub(crate) fn normalise_output(name: &str, bytes: &[u8], volatile: &Volatile) -> Normal {
    let mut facts = Facts::default();
    name.clone_into(&mut facts.scenario);
    let mut stdout = read_entries(bytes);
    Normaliser::new(&facts, volatile, &stdout, &[]).entries(&mut stdout);
    Normal { scenario: facts.scenario, stdout, ..Normal::default() }
}

fn read(output: Box<dyn io::Read + '_>) -> io::Result<Vec<Entry>> {
    let mut bytes = Vec::new();
    let mut output = output;
    output.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    let mut entries = read_entries(&bytes);
    let mut rest = HashWriter(Sha256::new());
    let more = io::copy(&mut output, &mut rest)?;
    if more > 0 {
        let line = entries.last().map_or(1, Entry::line) + 1;
        let text = format!("<cut: {more} more bytes, sha256 {}>", hex(&rest.0.finalize()[..8]));
        entries.push(Entry::Text { text, line });
    }
    Ok(entries)
}

struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How the target ended. Where a timer ended it, whether it was quick enough to exit by itself is a matter of chance.
fn exit(facts: &Facts) -> Option<Value> {
    let exit = facts.to_value().get("exit")?.clone();
    Some(match exit.get("timed_out") {
        Some(timer) => serde_json::json!({ "timed_out": timer }),
        None => exit,
    })
}

/// What is not told of a request: when it came and how long it was says nothing, nor does where its body is.
const NOT_OF_A_REQUEST: [&str; 11] = [
    "number",
    "at_ms",
    "sent_bytes",
    "first_byte_ms",
    "duration_ms",
    "findings",
    "unmatched",
    "note",
    "body_file",
    "body_cut",
    "credential",
];

fn requests(facts: &Facts) -> Vec<Value> {
    let Some(Value::Array(requests)) = facts.other.get("requests") else { return Vec::new() };
    let told = |request: &Value| {
        let mut request = request.clone();
        if let Value::Object(fields) = &mut request {
            fields.retain(|key, value| !NOT_OF_A_REQUEST.contains(&key.as_str()) && !value.is_null());
            if let Some(Value::Object(headers)) = fields.get_mut("headers") {
                headers.retain(|name, _| name != "content-length");
            }
            // A body's length and digest follow from ids and paths in it.
            if let Some(Value::Object(body)) = fields.get_mut("body") {
                body.retain(|key, _| key != "bytes" && key != "sha256");
                body.values_mut().for_each(round_off);
            }
        }
        request
    };
    requests.iter().map(told).collect()
}

fn forget_days(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(without) = without_dates(text) {
                *text = without;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_days),
        Value::Object(fields) => fields.values_mut().for_each(forget_days),
        _ => {}
    }
}

/// A text that the journal cut may end within an id; it then ends before it.
fn round_off(value: &mut Value) {
    let Value::String(text) = value else { return };
    let Some(cut) = text.strip_suffix('…') else { return };
    let is_end = |c: char| c.is_whitespace() || "/<>\"'():,".contains(c);
    let kept = cut.rfind(is_end).map_or("", |at| cut.get(..=at).unwrap_or(cut));
    *text = format!("{kept}…");
}

/// Files in the working directory with their content, all others by their path: what a program notes down for itself
/// holds times and ids.
fn files(facts: &Facts, volatile: &Volatile) -> Vec<Value> {
    let Some(Value::Array(files)) = facts.other.get("files") else { return Vec::new() };
    let told = |file: &Value| {
        let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
        let own = path.strip_prefix("work/").is_none_or(|inside| inside.starts_with('.'));
        if own { serde_json::json!({ "path": path }) } else { file.clone() }
    };
    let stays = |file: &&Value| {
        let path = file.get("path").and_then(Value::as_str).unwrap_or_default();
        !volatile.is_passing(path)
    };
    files.iter().filter(stays).map(told).collect()
}

struct Normaliser<'v> {
    volatile: &'v Volatile,
    places: Placeholders,
    path: Vec<String>,
}

impl<'v> Normaliser<'v> {
    fn new(facts: &Facts, volatile: &'v Volatile, stdout: &[Entry], stderr: &[Entry]) -> Self {
        let mut places = Placeholders::default();
        places.know_rules(volatile);
        know_paths(&mut places, facts, stdout);
        let requests = facts.other.get("requests").and_then(Value::as_array);
        let host = |request: &Value| Some(request.get("headers")?.get("host")?.as_str()?.to_owned());
        if let Some(host) = requests.and_then(|requests| requests.iter().find_map(host)) {
            places.know_api(&host);
        }
        let mut normaliser = Self { volatile, places, path: Vec::new() };
        if volatile.has_ids() {
            for entry in stdout.iter().chain(stderr) {
                if let Entry::Message { value, .. } = entry {
                    normaliser.find_ids(value);
                }
            }
            // An id may be sent that is never printed.
            requests.into_iter().flatten().for_each(|request| normaliser.find_ids(request));
        }
        normaliser
    }

    /// Ids may stand in a text before the field that declares them.
    fn find_ids(&mut self, value: &Value) {
        if let (Value::String(id), Some(Class::Id(label))) = (value, self.volatile.class(&self.path)) {
            self.places.know_id(id, label);
        }
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    self.path.push(key.clone());
                    self.find_ids(value);
                    self.path.pop();
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.path.push("*".into());
                    self.find_ids(item);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn entries(&mut self, entries: &mut [Entry]) {
        for entry in entries {
            match entry {
                Entry::Message { value, .. } => *value = self.value(value),
                Entry::Text { text, .. } => *text = self.string(text),
            }
        }
    }

    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_by_key(|(key, _)| *key);
                let mut out = Map::with_capacity(sorted.len());
                for (key, value) in sorted {
                    self.path.push(key.clone());
                    let value = self.member(value);
                    self.path.pop();
                    let mut key = self.places.text(key);
                    while out.contains_key(&key) {
                        key.push('~');
                    }
                    out.insert(key, value);
                }
                Value::Object(out)
            }
            Value::Array(items) => {
                let each = |item: &Value| {
                    self.path.push("*".into());
                    let item = self.member(item);
                    self.path.pop();
                    item
                };
                Value::Array(items.iter().map(each).collect())
            }
            Value::String(text) => Value::String(self.string(text)),
            Value::Number(number) => plain(number),
            other => other.clone(),
        }
    }

    /// The value of a field, by its rule where it has the type that the rule asks for.
    fn member(&mut self, value: &Value) -> Value {
        let Some(class) = self.volatile.class(&self.path) else { return self.value(value) };
        let placeholder = match (class, value) {
            (Class::Milliseconds, Value::Number(number)) if number.as_f64().is_some_and(|ms| ms >= 0.0) => {
                "<ms>"
            }
            (Class::Number, Value::Number(_)) => "<number>",
            (Class::Time, Value::Number(number)) if number.as_f64().is_some_and(|time| time >= 1e9) => {
                "<time>"
            }
            (Class::Time, Value::String(text)) => match whole_time(text) {
                Some(millis) => self.places.time(millis),
                None => return self.value(value),
            },
            (Class::Text, Value::String(_)) => "<text>",
            _ => return self.value(value),
        };
        placeholder.into()
    }

    fn string(&mut self, text: &str) -> String {
        let text = self.places.text(text);
        if text.len() <= LONGEST_STRING {
            return text;
        }
        let shown: String = text.chars().take(SHOWN).collect();
        let digest = hex(&Sha256::hash(text.as_bytes())[..8]);
        format!("{shown}<cut: {} characters in all, sha256 {digest}>", text.chars().count())
    }
}

/// The directories of the clean room; without one the directory that the program says it is in.
fn know_paths(places: &mut Placeholders, facts: &Facts, stdout: &[Entry]) {
    if let Some(room) = facts.other.get("room").and_then(Value::as_str) {
        for (inside, placeholder) in
            [("/work", "<cwd>"), ("/home", "<home>"), ("/tmp", "<tmp>"), ("", "<room>")]
        {
            let path = format!("{room}{inside}");
            places.know(&path, placeholder);
            // The Claude CLI names a project's folder after its path.
            let slug: String =
                path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            places.know(&slug, &placeholder.replace('>', ":slug>"));
        }
        return;
    }
    let cwd = |entry: &Entry| match entry {
        Entry::Message { value, .. } => value.get("cwd")?.as_str().map(str::to_owned),
        Entry::Text { .. } => None,
    };
    if let Some(cwd) = stdout.iter().find_map(cwd).filter(|cwd| cwd.len() > 3 && cwd.starts_with('/')) {
        places.know(&cwd, "<cwd>");
    }
}

/// A number as it is written shortest: 1.0 and 1e0 are 1.
fn plain(number: &serde_json::Number) -> Value {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => (float as i64).into(),
        _ => Value::Number(number.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn recording(room: &str, stdout: &str) -> Recording {
        let facts = json!({
            "schema_version": 1, "target": "claude", "target_version": "", "scenario": "s", "exit": {"code": 0},
            "room": room,
            "requests": [{"number": 1, "at_ms": 3.0, "path": "/v1/messages", "headers": {"host": "127.0.0.1:99"},
                          "body": {"bytes": 1, "user": format!("see {room}/work")}}],
            "files": [{"path": "work/a.txt", "bytes": 1, "sha256": "x"}, {"path": "home/.log", "bytes": 9}],
        });
        let facts = Facts::parse(facts.to_string().as_bytes()).unwrap();
        Recording::new(facts, stdout.as_bytes().to_vec(), b"at 127.0.0.1:99\n".to_vec())
    }

    fn rules() -> Volatile {
        let mut volatile = Volatile::default();
        volatile.add(Class::Milliseconds, vec!["duration_ms".into()]);
        volatile.add(Class::Id("task".into()), vec!["task_id".into()]);
        volatile.add(Class::Time, vec!["end_time".into()]);
        volatile
    }

    fn normal(room: &str, stdout: &str) -> Normal {
        normalise(&recording(room, stdout), &rules()).unwrap()
    }

    #[test]
    fn two_runs_of_the_same_program_are_the_same() {
        let run = |room: &str, uuid: &str, task: &str, ms: &str| {
            let first = format!(r#"{{"type":"user","text":"started {task}","uuid":"{uuid}","cost":{ms}.0}}"#);
            let second = format!(
                r#"{{"duration_ms":{ms}0,"type":"result","cwd":"{room}/work","task_id":"{task}","refers":"{uuid}"}}"#
            );
            let mut normal = normal(room, &format!("{first}\n{second}\n"));
            // What does not vary in these runs.
            normal.stdout.iter_mut().for_each(|entry| {
                if let Entry::Message { value, .. } = entry {
                    value.as_object_mut().unwrap().shift_remove("cost");
                }
            });
            normal
        };
        let a = run("/tmp/a", "0000c1a0-0000-4000-8000-00000000000a", "b77x", "1");
        let b = run("/tmp/b", "1111c1a0-0000-4000-8000-00000000000b", "c99y", "2");
        assert_eq!(a, b);
        let Entry::Message { value, .. } = &a.stdout[1] else { panic!("a message") };
        let expected = json!({"cwd": "<cwd>", "duration_ms": "<ms>", "refers": "<uuid:1>", "task_id": "<task:1>", "type": "result"});
        assert_eq!(*value, expected);
        assert_eq!(
            a.requests,
            [json!({"body": {"user": "see <cwd>"}, "headers": {"host": "<api>"}, "path": "/v1/messages"})]
        );
        assert_eq!(
            a.files,
            [json!({"bytes": 1, "path": "work/a.txt", "sha256": "x"}), json!({"path": "home/.log"})]
        );
    }

    #[test]
    fn an_id_that_is_only_sent_is_the_same_everywhere() {
        let run = |task: &str| {
            let mut recording = recording("/tmp/a", "{}\n");
            let other = &mut recording.facts.other;
            other.insert("requests".into(), json!([{"agent": task, "headers": {"task_id": task}}]));
            other.insert("files".into(), json!([{"path": format!("home/{task}.log")}]));
            normalise(&recording, &rules()).unwrap()
        };
        let a = run("b77x");
        assert_eq!(a, run("c99y"));
        assert_eq!(a.requests, [json!({"agent": "<task:1>", "headers": {"task_id": "<task:1>"}})]);
        assert_eq!(a.files, [json!({"path": "home/<task:1>.log"})]);
    }

    #[test]
    fn how_a_run_dies_that_a_timer_ended_is_not_compared() {
        let run = |exit: Value| {
            let facts = json!({"schema_version": 1, "target": "", "target_version": "", "scenario": "s", "exit": exit});
            let facts = Facts::parse(facts.to_string().as_bytes()).unwrap();
            normalise(&Recording::new(facts, Vec::new(), Vec::new()), &rules()).unwrap().exit
        };
        assert_eq!(
            run(json!({"code": 143, "timed_out": "idle"})),
            run(json!({"signal": 9, "timed_out": "idle"}))
        );
        assert_ne!(
            run(json!({"code": 143, "timed_out": "idle"})),
            run(json!({"code": 143, "timed_out": "wall"}))
        );
        assert_ne!(run(json!({"code": 143})), run(json!({"signal": 9})));
    }

    #[test]
    fn a_value_that_lost_its_type_is_a_change() {
        let value = |text: &str| match &normal("/tmp/a", text).stdout[0] {
            Entry::Message { value, .. } => value.clone(),
            Entry::Text { .. } => panic!("a message"),
        };
        assert_eq!(value(r#"{"type":"result","duration_ms":3.5}"#)["duration_ms"], "<ms>");
        assert_eq!(value(r#"{"type":"result","duration_ms":"3.5"}"#)["duration_ms"], "3.5");
        assert_eq!(value(r#"{"type":"result","duration_ms":null}"#)["duration_ms"], Value::Null);
        assert_eq!(value(r#"{"type":"result","duration_ms":-1}"#)["duration_ms"], -1);
        assert_eq!(value(r#"{"type":"result","end_time":"soon"}"#)["end_time"], "soon");
    }

    #[test]
    fn relations_and_order_matter_and_keys_and_numbers_do_not() {
        let (one, two) = ("0000c1a0-0000-4000-8000-00000000000a", "0000c1a0-0000-4000-8000-00000000000b");
        let pair =
            |a: &str, b: &str| normal("/r", &format!("{{\"type\":\"user\",\"a\":\"{a}\",\"b\":\"{b}\"}}"));
        assert_eq!(pair(one, one), pair(two, two));
        assert_ne!(pair(one, one), pair(one, two));
        let a = r#"{"type":"user","n":1.0,"m":2e3}"#;
        let b = r#"{"m":2000,"n":1,"type":"user"}"#;
        assert_eq!(normal("/r", a), normal("/r", b));
        let c = r#"{"type":"system"}"#;
        assert_ne!(normal("/r", &format!("{a}\n{c}\n")), normal("/r", &format!("{c}\n{a}\n")));
    }

    #[test]
    fn long_strings_are_cut_and_still_compared() {
        let long =
            |end: &str| normal("/r", &format!("{{\"type\":\"user\",\"t\":\"{}{end}\"}}", "x".repeat(5000)));
        assert_ne!(long("a"), long("b"));
        let Entry::Message { value, .. } = &long("a").stdout[0] else { panic!("a message") };
        assert!(value["t"].as_str().unwrap().len() < 600);
    }
}
