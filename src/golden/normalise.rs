//! From a recording to what two runs of the same program have in common: a pure function.
//!
//! Relations stay: the same uuid is the same `<uuid:1>` wherever it stands. Placeholders are typed: a duration that is
//! no number any more is no `<ms>` and so is a change. The order of keys and the way in which a number is written do not
//! matter; the order of messages does, but for the groups that the scenario lets interleave.

use std::borrow::Cow;
use std::io::{self, Read};

use hmac_sha256::Hash as Sha256;
use serde_json::{Map, Value};

use super::entry::{DOCUMENT, Entry, has_kind, kind_of};
use super::interleave::{Interleave, Neighbours};
use super::parts::{Head, Normal, Part, Parts};
use super::placeholder::{Placeholders, whole_time, without_dates};
use super::reading::{Go, Printed, read_printed, reread};
use super::volatile::{Class, Volatile};
use crate::json::{JsonView, Kind, Scanner};
use crate::recording::{Facts, Recording};
use crate::text::hex;

/// A longer string is cut; its digest keeps a change visible.
const LONGEST_STRING: usize = 2000;
/// So much of a cut string is shown.
const SHOWN: usize = 400;

/// A recording without what differs from run to run. It is read and normalised each time that it is visited, and never
/// in memory as a whole.
pub(crate) struct Normalised<'r> {
    head: Head,
    recording: &'r Recording,
    volatile: &'r Volatile,
}

impl<'r> Normalised<'r> {
    pub(crate) fn new(recording: &'r Recording, volatile: &'r Volatile) -> Self {
        let facts = &recording.facts;
        let head = Head {
            target: facts.target.clone(),
            scenario: facts.scenario.clone(),
            contract: facts.contract().map(str::to_owned),
            owner: None,
        };
        Self { head, recording, volatile }
    }

    /// As the snapshot of a scenario in this file.
    pub(crate) fn owned_by(self, owner: Option<String>) -> Self {
        Self { head: Head { owner, ..self.head }, ..self }
    }
}

impl Parts for Normalised<'_> {
    fn head(&self) -> &Head {
        &self.head
    }

    fn visit(&self, each: &mut dyn FnMut(Part<'_>) -> Go) -> io::Result<()> {
        let facts = &self.recording.facts;
        let interleave = Interleave::of_recording(facts);
        let (stdout, stderr) = (|| self.recording.stdout(), || self.recording.stderr());
        let mut normaliser = Normaliser::new(facts, self.volatile);
        let kinds = normaliser.survey(facts, &stdout, &stderr)?;
        // It is told first, and nothing in it is numbered but where nothing else is told.
        let exit = exit(facts).map(|exit| normaliser.value((&exit).into()));
        let mut go = exit.map_or(Go::Continue(()), |exit| each(Part::Exit(&exit)));
        if go.is_continue() {
            go = normaliser
                .entries(stdout()?, kinds[0], &interleave, &mut |entry| each(Part::Stdout(entry)))?;
        }
        if go.is_continue() {
            let none = Interleave::default();
            go = normaliser.entries(stderr()?, kinds[1], &none, &mut |entry| each(Part::Stderr(entry)))?;
        }
        if go.is_break() {
            return Ok(());
        }
        let mut asked = requests(facts);
        if !interleave.is_empty() {
            // Conversations at the same time ask in any order, and ids are numbered as they come.
            asked.sort_by_cached_key(|request| request.get("entry").map(ToString::to_string));
        }
        let mut requests: Vec<Value> = asked.iter().map(|request| normaliser.value(request.into())).collect();
        // A program tells the model which day it is.
        requests.iter_mut().filter_map(|request| request.get_mut("body")).for_each(forget_days);
        if !interleave.is_empty() {
            requests.sort_by_cached_key(ToString::to_string);
        }
        let mut files: Vec<Value> =
            files(facts, self.volatile).iter().map(|file| normaliser.value(file.into())).collect();
        files.sort_by_cached_key(ToString::to_string);
        let mut parts = requests.iter().map(Part::Request).chain(files.iter().map(Part::File));
        _ = parts.try_for_each(each);
        Ok(())
    }
}

/// Normalises a recording as a whole, in memory. Only reading its output can fail.
pub(crate) fn normalise(recording: &Recording, volatile: &Volatile) -> io::Result<Normal> {
    Normal::of(&Normalised::new(recording, volatile))
}

/// Normalises a plain output, of which nothing but its content is known. It is opened twice.
#[cfg(feature = "cli")]
pub(crate) fn visit_output<R: Read>(
    open: impl Fn() -> io::Result<R>,
    volatile: &Volatile,
    each: &mut dyn FnMut(&Entry) -> Go,
) -> io::Result<()> {
    let facts = Facts::default();
    let mut normaliser = Normaliser::new(&facts, volatile);
    let kinds = normaliser.survey(&facts, &open, &|| Ok(io::empty()))?;
    normaliser.entries(open()?, kinds[0], &Interleave::default(), each).map(drop)
}

/// As [`visit_output`], of an output in memory.
#[cfg(all(test, feature = "cli"))]
pub(crate) fn normalise_output(name: &str, bytes: &[u8], volatile: &Volatile) -> Normal {
    let head = Head { scenario: name.to_owned(), ..Head::default() };
    let mut normal = Normal { head, ..Normal::default() };
    let mut take = |entry: &Entry| {
        normal.stdout.push(entry.clone());
        Go::Continue(())
    };
    // Memory can be read.
    _ = visit_output(|| Ok(bytes), volatile, &mut take);
    normal
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
    sent(facts).iter().map(told).collect()
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
    fn new(facts: &Facts, volatile: &'v Volatile) -> Self {
        let mut places = Placeholders::default();
        places.know_rules(volatile);
        if let Some(room) = room(facts) {
            know_room(&mut places, room);
        }
        let host = |request: &Value| Some(request.get("headers")?.get("host")?.as_str()?.to_owned());
        if let Some(host) = sent(facts).iter().find_map(host) {
            places.know_api(&host);
        }
        Self { volatile, places, path: Vec::new() }
    }

    /// Looks at the output for what has to be known from its start: where the program is, which ids there are, and, of
    /// standard output and standard error, whether their messages have kinds.
    fn survey<O: Read, E: Read>(
        &mut self,
        facts: &Facts,
        stdout: &dyn Fn() -> io::Result<O>,
        stderr: &dyn Fn() -> io::Result<E>,
    ) -> io::Result<[bool; 2]> {
        let mut wants_cwd = room(facts).is_none();
        let kinds = [self.look_over(stdout()?, &mut wants_cwd)?, self.look_over(stderr()?, &mut false)?];
        if self.volatile.has_ids() {
            // An id may be sent that is never printed.
            for request in sent(facts) {
                self.find_ids(request.into());
            }
            self.places.settle();
        }
        Ok(kinds)
    }

    fn look_over(&mut self, output: impl Read, wants_cwd: &mut bool) -> io::Result<bool> {
        let mut have_kinds = false;
        let wants_ids = self.volatile.has_ids();
        read_printed(output, &mut |printed| {
            let Printed::Message { value, .. } = printed else { return Go::Continue(()) };
            have_kinds = have_kinds || has_kind(value);
            // Without a clean room the directory that the program says it is in.
            if *wants_cwd && let Some(cwd) = value.get("cwd").and_then(JsonView::text) {
                *wants_cwd = false;
                if cwd.len() > 3 && cwd.starts_with('/') {
                    self.places.know(&cwd, "<cwd>");
                }
            }
            if wants_ids {
                self.find_ids(value);
            }
            if have_kinds && !*wants_cwd && !wants_ids { Go::Break(()) } else { Go::Continue(()) }
        })?;
        Ok(have_kinds)
    }

    /// Ids may stand in a text before the field that declares them.
    fn find_ids(&mut self, value: JsonView<'_>) {
        match value.kind() {
            Kind::String => {
                if let Some(Class::Id(label)) = self.volatile.class(&self.path)
                    && let Some(id) = value.text()
                {
                    self.places.know_id(&id, label);
                }
            }
            Kind::Object => {
                for (key, value) in value.members() {
                    self.path.push(key.into_owned());
                    self.find_ids(value);
                    self.path.pop();
                }
            }
            Kind::Array => {
                for item in value.items() {
                    self.path.push("*".into());
                    self.find_ids(item);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    /// Normalises an output, entry by entry; messages that may interleave in the order of their groups.
    fn entries(
        &mut self,
        output: impl Read,
        have_kinds: bool,
        interleave: &Interleave,
        each: &mut dyn FnMut(&Entry) -> Go,
    ) -> io::Result<Go> {
        let mut neighbours = Neighbours::default();
        let mut scanner = Scanner::default();
        let mut go = Go::Continue(());
        let mut release =
            |this: &mut Self, neighbours: &mut Neighbours, each: &mut dyn FnMut(&Entry) -> Go| {
                for (text, line) in neighbours.release() {
                    let mut go = Go::Continue(());
                    reread(&mut scanner, &text, line, &mut |printed| {
                        go = each(&this.entry(printed, have_kinds));
                        go
                    });
                    go?;
                }
                Go::Continue(())
            };
        read_printed(output, &mut |printed| {
            if let Printed::Message { value, text, line } = &printed
                && !interleave.is_empty()
                && let Some(group) = interleave.group(&kind(*value, have_kinds))
            {
                if neighbours.hold(group, interleave.is_any_order(group), text, *line) {
                    go = release(self, &mut neighbours, each);
                }
                return go;
            }
            go = release(self, &mut neighbours, each);
            if go.is_continue() {
                go = each(&self.entry(printed, have_kinds));
            }
            go
        })?;
        if go.is_continue() {
            go = release(self, &mut neighbours, each);
        }
        Ok(go)
    }

    fn entry(&mut self, printed: Printed<'_>, have_kinds: bool) -> Entry {
        match printed {
            Printed::Message { value, line, .. } => {
                Entry::Message { kind: kind(value, have_kinds), value: self.value(value), line }
            }
            Printed::Text { text, line } => Entry::Text { text: self.string(text), line },
        }
    }

    fn value(&mut self, value: JsonView<'_>) -> Value {
        match value.kind() {
            Kind::Object => {
                let mut sorted: Vec<_> = value.members().collect();
                sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
                let mut out = Map::with_capacity(sorted.len());
                for (key, value) in sorted {
                    self.path.push(key.into_owned());
                    let value = self.member(value);
                    let mut key = self.path.pop().map(|key| self.places.text(&key)).unwrap_or_default();
                    while out.contains_key(&key) {
                        key.push('~');
                    }
                    out.insert(key, value);
                }
                Value::Object(out)
            }
            Kind::Array => {
                let each = |item: JsonView<'_>| {
                    self.path.push("*".into());
                    let item = self.member(item);
                    self.path.pop();
                    item
                };
                Value::Array(value.items().map(each).collect())
            }
            Kind::String => Value::String(self.string(&value.text().unwrap_or_default())),
            Kind::Number | Kind::Integer => value.number().map_or(Value::Null, |number| plain(&number)),
            Kind::Boolean | Kind::Null => value.to_value().into_owned(),
        }
    }

    /// The value of a field, by its rule where it has the type that the rule asks for.
    fn member(&mut self, value: JsonView<'_>) -> Value {
        let Some(class) = self.volatile.class(&self.path) else { return self.value(value) };
        let is = |kind| value.kind() == kind;
        let at_least = |least: f64| is(Kind::Number) && value.float().is_some_and(|number| number >= least);
        let placeholder = match class {
            Class::Milliseconds if at_least(0.0) => "<ms>".into(),
            Class::Number if is(Kind::Number) => "<number>".into(),
            Class::Time if at_least(1e9) => "<time>".into(),
            Class::Time => match value.text().and_then(|text| whole_time(&text)) {
                Some(millis) => self.places.time(millis).into(),
                None => return self.value(value),
            },
            Class::Text if is(Kind::String) => "<text>".into(),
            // One that is not looked for in texts is numbered where it stands.
            Class::Id(label) => match value.text() {
                Some(id) if id.len() > 2 && !self.places.knows_id(&id) => self.places.id(label, &id),
                _ => return self.value(value),
            },
            _ => return self.value(value),
        };
        Value::String(placeholder)
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

/// The kind of a message, in an output where messages have kinds or do not.
fn kind(message: JsonView<'_>, have_kinds: bool) -> String {
    if have_kinds { kind_of(message) } else { DOCUMENT.to_owned() }
}

/// What was asked of the API, as it was recorded.
fn sent(facts: &Facts) -> &[Value] {
    facts.other.get("requests").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn room(facts: &Facts) -> Option<&str> {
    facts.other.get("room").and_then(Value::as_str)
}

/// The directories of the clean room.
fn know_room(places: &mut Placeholders, room: &str) {
    for (inside, placeholder) in [("/work", "<cwd>"), ("/home", "<home>"), ("/tmp", "<tmp>"), ("", "<room>")]
    {
        let path = format!("{room}{inside}");
        places.know(&path, placeholder);
        // The Claude CLI names a project's folder after its path.
        let slug: String = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        places.know(&slug, &placeholder.replace('>', ":slug>"));
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
