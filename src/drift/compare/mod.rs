//! One case on both sides: a pure function from what was seen to what changed.

mod messages;
mod shapes;
mod streams;

use std::path::Path;

use serde_json::Value;

use super::change::{Change, Evidence};
use super::policy::CasePolicy;
use super::rows::Rows;
use super::side::{Groups, Side};
use crate::json::shape::Shape;
use crate::judge::named_after;
use crate::schema::policy::{Effect, Kind};

/// Compares the runs of a case on the old side with those on the new, by the contract that the old ones speak.
pub(crate) fn compare_case(case: &str, policy: &CasePolicy, old: &Side, new: &Side, rows: &mut Rows) {
    let (nothing, inputs) = (Groups::default(), (old.input.clone(), new.input.clone()));
    let mut comparison =
        Comparison { case, policy, rows, place: Place::default(), inputs, nothing: &nothing };
    comparison.rows.compared(policy.name());
    comparison.rows.versions.note(case, policy.name(), policy.policy(), [old, new]);
    comparison.exits(old, new);
    comparison.channels(old, new);
    comparison.requests(old, new);
    comparison.files(old, new);
    comparison.commands(new);
}

struct Comparison<'r> {
    case: &'r str,
    policy: &'r CasePolicy,
    rows: &'r mut Rows,
    place: Place<'r>,
    inputs: (Option<String>, Option<String>),
    nothing: &'r Groups,
}

/// What is being compared.
#[derive(Default)]
struct Place<'r> {
    /// The kind of message, the request or the stream.
    message: Option<String>,
    /// An old message of this kind, by which its schema is found.
    sample: Option<&'r Value>,
    is_request: bool,
}

/// What a place held before and after, as evidence.
struct Sides {
    old: Value,
    new: Value,
    old_line: Option<usize>,
    new_line: Option<usize>,
}

impl Sides {
    fn values(old: Value, new: Value) -> Self {
        Self { old, new, old_line: None, new_line: None }
    }

    fn shapes(old: Option<&Shape>, new: Option<&Shape>) -> Self {
        let value = |shape: Option<&Shape>| shape.map_or(Value::Null, |shape| shape.example.clone());
        let line = |shape: Option<&Shape>| shape.map(|shape| shape.line);
        Self { old: value(old), new: value(new), old_line: line(old), new_line: line(new) }
    }
}

impl Comparison<'_> {
    fn add(&mut self, kind: Kind, pointer: Option<&str>, identity: &str, sides: Sides, summary: String) {
        let shown = if self.place.is_request {
            match kind {
                Kind::RequestCount | Kind::RequestRemoved | Kind::RequestAdded => kind,
                _ => Kind::RequestChanged,
            }
        } else {
            kind
        };
        // A request's change is what the same change of a message is, and stays apart from others of its place.
        let identity =
            if shown == kind { identity.to_owned() } else { format!("{} {identity}", kind.name()) };
        let effect = self.effect(shown, pointer.unwrap_or_default(), &sides);
        let if_repeated = self.effect(Kind::MessageRepeated, "", &sides);
        let change = Change {
            message: self.place.message.clone(),
            pointer: pointer.map(str::to_owned),
            old: sides.old,
            new: sides.new,
            evidence: Evidence {
                old_line: sides.old_line,
                new_line: sides.new_line,
                old_input: self.inputs.0.clone(),
                new_input: self.inputs.1.clone(),
            },
            ..Change::new(shown, effect, summary)
        };
        self.rows.add(self.case, change, identity, if_repeated);
    }

    fn effect(&self, kind: Kind, pointer: &str, sides: &Sides) -> Effect {
        let is_boolean = sides.old.is_boolean() && sides.new.is_boolean();
        let sample = self.place.sample;
        let is_promised = || sample.is_none_or(|message| self.policy.promises(message, pointer, kind));
        self.policy.policy().effect(kind, pointer, is_boolean, is_promised)
    }

    fn exits(&mut self, old: &Side, new: &Side) {
        let exits = |side: &Side| -> Vec<Value> { side.exits.iter().map(ending).collect() };
        let (before, after) = (exits(old), exits(new));
        let (Some(first), Some(other)) = (before.first(), after.iter().find(|exit| !before.contains(exit)))
        else {
            return;
        };
        let summary = format!("exit code {} becomes {}", plain(first), plain(other));
        let identity = format!("{first} {other}");
        self.add(Kind::ExitCode, None, &identity, Sides::values(first.clone(), other.clone()), summary);
    }

    /// A file that is named after a command is held to that command.
    fn commands(&mut self, new: &Side) {
        let name = named_after(Path::new(self.case));
        for (value, line) in new.first.iter().filter(|_| new.is_fixture) {
            let said = self.policy.command_in(value, &name).filter(|said| *said != name);
            let Some(said) = said else { continue };
            self.place = Place::default();
            let summary = format!("the file is named after `{name}`, and holds the answer of `{said}`");
            let sides = Sides { new_line: Some(*line), ..Sides::values(name.as_str().into(), said.into()) };
            self.add(Kind::OtherCommand, None, "", sides, summary);
        }
    }

    fn files(&mut self, old: &Side, new: &Side) {
        let (before, after) = (&old.files, &new.files);
        for path in before.difference(after) {
            let sides = Sides::values(path.as_str().into(), Value::Null);
            self.add(Kind::FileRemoved, None, path, sides, format!("{path} is no longer written"));
        }
        for path in after.difference(before) {
            let sides = Sides::values(Value::Null, path.as_str().into());
            self.add(Kind::FileAdded, None, path, sides, format!("{path} is written"));
        }
    }
}

/// An exit code as a number, any other end as a text.
fn ending(exit: &Value) -> Value {
    let timer = exit.get("timed_out").and_then(Value::as_str);
    match (exit.get("code"), exit.get("signal"), timer) {
        (Some(code), _, None) => code.clone(),
        (Some(code), _, Some(timer)) => format!("{code} after the {timer} timer").into(),
        (None, Some(signal), None) => format!("signal {signal}").into(),
        (None, Some(signal), Some(timer)) => format!("signal {signal} after the {timer} timer").into(),
        (None, None, Some(timer)) => format!("the {timer} timer").into(),
        (None, None, None) => {
            let kind = exit.pointer("/spawn_error/kind").and_then(Value::as_str).unwrap_or("unknown");
            format!("not started ({kind})").into()
        }
    }
}

/// A value as it stands in a sentence.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::golden::{Go, Normal, Parts as _, Volatile, normalise_output};

    fn run(output: &str, code: i32) -> Vec<Normal> {
        let mut normal = normalise_output("c", output.as_bytes(), &Volatile::default());
        normal.exit = Some(json!({ "code": code }));
        vec![normal]
    }

    fn side(runs: &[Normal]) -> Side {
        let mut side = Side::default();
        for run in runs {
            side.begin_run("file");
            run.visit(&mut |part| {
                side.add(part);
                Go::Continue(())
            })
            .unwrap();
            side.end_run();
        }
        side
    }

    fn changes(old: &[Normal], new: &[Normal]) -> Vec<Change> {
        let policy = CasePolicy::standard().unwrap();
        let mut rows = Rows::default();
        compare_case("c", &policy, &side(old), &side(new), &mut rows);
        rows.finish(policy.policy()).changes
    }

    fn told(old: &str, new: &str) -> Vec<String> {
        let line = |change: Change| {
            let at = change.pointer.or(change.message).unwrap_or_default();
            format!("{} {} {at}", change.effect.name(), change.kind.name())
        };
        changes(&run(old, 0), &run(new, 0)).into_iter().map(line).collect()
    }

    #[test]
    fn each_change_of_a_document_is_named_once() {
        let old = r#"{"gone":{"x":1},"typed":1,"nul":"a b","same":[1],"flag":true,"status":"ok","word":"a"}"#;
        let new = r#"{"typed":"1","nul":null,"same":[1.0],"flag":false,"status":"error","word":"b","new":1}"#;
        assert_eq!(
            told(old, new),
            [
                "breaking field-removed /gone",
                "breaking field-retyped /typed",
                "breaking field-null /nul",
                "breaking value-changed /flag",
                "breaking value-changed /status",
                "additive field-added /new",
                "info value-changed /word",
            ]
        );
        assert!(told(old, old).is_empty());
    }

    #[test]
    fn the_messages_of_a_stream_are_compared_by_kind() {
        let init = r#"{"type":"system","subtype":"init","a":1}"#;
        let user = r#"{"type":"user","a":1}"#;
        let result = r#"{"type":"result","subtype":"success"}"#;
        let old = format!("{init}\n{user}\n{user}\n{result}\n");
        let new =
            format!("{user}\n{init}\n{{\"type\":\"user\"}}\n{result}\n{result}\n{{\"type\":\"later\"}}\n");
        assert_eq!(
            told(&old, &new),
            [
                "breaking message-repeated result/success",
                "breaking order ",
                "breaking field-optional /a",
                "additive message-added later",
            ]
        );
        assert_eq!(
            told(&old, &format!("{init}\n{user}\n{user}\n")),
            ["breaking message-removed result/success"]
        );
    }

    #[test]
    fn exits_and_streams_are_compared() {
        let change = &changes(&run("{}", 0), &run("{}", 2))[0];
        assert_eq!((change.kind, change.effect), (Kind::ExitCode, Effect::Breaking));
        assert_eq!((&change.old, &change.new), (&json!(0), &json!(2)));
        let mut moved = run("", 0);
        moved[0].stderr = run(r#"{"b":1}"#, 0)[0].stdout.clone();
        let kinds: Vec<&str> =
            changes(&run(r#"{"a":1}"#, 0), &moved).iter().map(|change| change.kind.name()).collect();
        assert_eq!(kinds, ["channel", "field-removed", "field-added"]);
        assert_eq!(told("{\"a\":1}", "oops"), ["breaking form "]);
        assert_eq!(told("{\"a\":1}", "oops\n{\"a\":1}\n"), ["breaking text-among-messages stdout"]);
    }

    #[test]
    fn maps_are_compared_by_their_entries() {
        let old = r#"{"usage":{"claude-a-1":{"in":1,"out":2}}}"#;
        let new = r#"{"usage":{"claude-b-2":{"in":1}}}"#;
        assert_eq!(told(r#"{"usage":{}}"#, new), ["info value-changed /usage"]);
        assert_eq!(told(old, new), ["breaking field-removed /usage/*/out", "info value-changed /usage"]);
    }

    #[test]
    fn an_odd_key_does_not_hide_what_is_lost_beside_it() {
        assert_eq!(told(r#"{"a":1,"x.y":1}"#, r#"{"x.y":1}"#), ["breaking field-removed /a"]);
        assert_eq!(told(r#"{"a/b":1}"#, "{}"), ["breaking field-removed /a~1b"]);
        let (old, new) = (r#"{"o":{"a":1,"x.y":1}}"#, r#"{"o":{"x.y":1}}"#);
        assert_eq!(told(old, new), ["breaking field-removed /o/a"]);
    }

    #[test]
    fn elements_are_compared_by_their_type() {
        let old = r#"{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"x"}]}"#;
        let new = r#"{"content":[{"type":"tool_use","id":"x","new":1},{"type":"text","text":"a"}]}"#;
        assert_eq!(told(old, new), ["additive field-added /content/*:tool_use/new"]);
    }

    #[test]
    fn what_is_the_same_in_other_words_is_no_change() {
        for (old, new) in [
            (r#"{"a":1,"b":[1,2]}"#, r#"{"b":[2,1],"a":1.0}"#),
            (r#"{"l":["x","y"]}"#, r#"{ "l" : ["y","x"] }"#),
            (r#"{"a":null}"#, "\n{\n\"a\":null}\n\n"),
        ] {
            assert!(told(old, new).is_empty(), "{old} {new}");
        }
    }

    #[test]
    fn null_absent_and_empty_are_three_things() {
        assert_eq!(told(r#"{"a":null}"#, "{}"), ["breaking field-removed /a"]);
        assert_eq!(told("{}", r#"{"a":null}"#), ["additive field-added /a"]);
        assert_eq!(told(r#"{"a":[1]}"#, r#"{"a":[]}"#), ["info element-removed /a/*"]);
        assert_eq!(told(r#"{"a":[]}"#, r#"{"a":null}"#), ["breaking field-null /a"]);
    }

    #[test]
    fn a_word_that_readers_branch_on_may_become_a_text() {
        let (ok, sorry) =
            (r#"{"status":"ok","note":"ok"}"#, r#"{"status":"it went wrong","note":"it is so"}"#);
        assert_eq!(told(ok, sorry), ["breaking value-changed /status", "info value-changed /note"]);
        // Texts change as they like.
        assert_eq!(told(r#"{"error":"it is a"}"#, r#"{"error":"it is b"}"#), ["info text-changed /error"]);
    }

    #[test]
    fn documents_on_one_line_are_several() {
        assert_eq!(told(r#"{"a":1}"#, r#"{"a":1}{"a":1}"#), ["breaking message-repeated document"]);
    }

    #[test]
    fn several_runs_are_one_side() {
        let mut old = run(r#"{"a":1,"b":1}"#, 0);
        old.extend(run(r#"{"a":1}"#, 1));
        assert!(changes(&old, &run(r#"{"a":1}"#, 1)).iter().all(|change| change.kind == Kind::FieldRemoved));
        assert!(
            changes(&run(r#"{"a":1,"b":1}"#, 0), &old)
                .iter()
                .any(|change| change.kind == Kind::FieldOptional)
        );
    }
}
