//! From a recording to what two runs of the same program have in common: a pure function.
//!
//! Relations stay: the same uuid is the same `<uuid:1>` wherever it stands. Placeholders are typed: a duration that is
//! no number any more is no `<ms>` and so is a change. The order of keys and the way in which a number is written do not
//! matter; the order of messages does, but for the groups that the scenario lets interleave.

use std::io;
#[cfg(feature = "cli")]
use std::io::Read;

use serde_json::Value;

#[cfg(feature = "cli")]
use super::entry::Entry;
use super::interleave::Interleave;
use super::normaliser::Normaliser;
use super::observed::{exit, files, forget_days, requests};
use super::parts::{Head, Normal, Part, Parts};
use super::reading::Go;
use super::volatile::Volatile;
#[cfg(feature = "cli")]
use crate::recording::Facts;
use crate::recording::Recording;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::entry::Entry;
    use crate::golden::volatile::Class;
    use crate::recording::Facts;
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
