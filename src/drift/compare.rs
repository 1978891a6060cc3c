//! One case on both sides: a pure function from what was seen to what changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::change::{Evidence, Kind};
use super::policy::effect;
use super::rows::{Rows, Sighting};
use super::shape::{Shape, Types, Words, shortened};
use crate::golden::{Entry, Normal};

/// Compares the runs of a case on the old side with those on the new; each comes with the name of its file.
pub fn compare_case(case: &str, old: &[(String, Normal)], new: &[(String, Normal)], rows: &mut Rows) {
    let input = |side: &[(String, Normal)]| side.first().map(|(name, _)| name.clone());
    let mut comparison =
        Comparison { case, rows, message: None, is_request: false, inputs: (input(old), input(new)) };
    comparison.rows.compared();
    comparison.exits(old, new);
    comparison.channels(old, new);
    comparison.requests(old, new);
    comparison.files(old, new);
}

struct Comparison<'r> {
    case: &'r str,
    rows: &'r mut Rows,
    message: Option<String>,
    is_request: bool,
    inputs: (Option<String>, Option<String>),
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

/// One kind of message in all runs of a side.
#[derive(Default)]
struct Messages {
    shape: Shape,
    least: usize,
    most: usize,
}

impl Comparison<'_> {
    fn tell(&mut self, kind: Kind, pointer: Option<&str>, identity: &str, sides: Sides, summary: String) {
        let is_boolean = sides.old.is_boolean() && sides.new.is_boolean();
        let told = if self.is_request {
            match kind {
                Kind::RequestCount | Kind::RequestRemoved | Kind::RequestAdded => kind,
                _ => Kind::RequestChanged,
            }
        } else {
            kind
        };
        // A request's change is what the same change of a message is, and stays apart from others of its place.
        let identity = if told == kind { identity.to_owned() } else { format!("{} {identity}", kind.name()) };
        let sighting = Sighting {
            kind: told,
            effect: effect(told, pointer.unwrap_or_default(), is_boolean),
            message: self.message.clone(),
            pointer: pointer.map(str::to_owned),
            identity,
            summary,
            old: sides.old,
            new: sides.new,
            evidence: Evidence {
                old_line: sides.old_line,
                new_line: sides.new_line,
                old_input: self.inputs.0.clone(),
                new_input: self.inputs.1.clone(),
            },
        };
        self.rows.add(self.case, sighting);
    }

    fn exits(&mut self, old: &[(String, Normal)], new: &[(String, Normal)]) {
        let exits = |side: &[(String, Normal)]| -> Vec<Value> {
            side.iter().filter_map(|(_, normal)| normal.exit.as_ref().map(ending)).collect()
        };
        let (before, after) = (exits(old), exits(new));
        let (Some(first), Some(other)) = (before.first(), after.iter().find(|exit| !before.contains(exit)))
        else {
            return;
        };
        let summary = format!("exit code {} becomes {}", plain(first), plain(other));
        let identity = format!("{first} {other}");
        self.tell(Kind::ExitCode, None, &identity, Sides::values(first.clone(), other.clone()), summary);
    }

    /// Where messages and texts stand, and then the messages themselves.
    fn channels(&mut self, old: &[(String, Normal)], new: &[(String, Normal)]) {
        let (before, after) = (Streams::of(old), Streams::of(new));
        match (before.place(), after.place()) {
            (Some(was), Some(is)) if was != is => {
                let summary = format!("what stood on {was} stands on {is}");
                self.tell(Kind::Channel, None, was, Sides::values(was.into(), is.into()), summary);
                self.messages(before.on(was), after.on(is));
            }
            (Some(was), Some(_)) => {
                self.messages(before.on(was), after.on(was));
                if was == "stdout" {
                    self.text_among(&before, &after);
                }
            }
            (Some(was), None) => {
                let now = after.text("stdout");
                let what = if now.is_empty() { "nothing is printed" } else { "it is text" };
                let summary = format!("{was} was JSON, and now {what}");
                let sides = Sides::values(before.example(was), shortened(&now.clone().into()));
                self.tell(Kind::Form, None, what, sides, summary);
            }
            (None, Some(is)) if !before.text(is).is_empty() => {
                let sides = Sides::values(shortened(&before.text(is).into()), after.example(is));
                self.tell(Kind::Form, None, "json", sides, format!("{is} was text, and now is JSON"));
            }
            (None, Some(is)) => self.messages(Vec::new(), after.on(is)),
            (None, None) => self.text(&before, &after, "stdout"),
        }
        self.text(&before, &after, "stderr");
    }

    fn text_among(&mut self, before: &Streams<'_>, after: &Streams<'_>) {
        let (was, is) = (before.text("stdout"), after.text("stdout"));
        if was.is_empty() && !is.is_empty() {
            let sides = Sides::values(Value::Null, shortened(&is.into()));
            self.message = Some("stdout".into());
            self.tell(Kind::TextAmongMessages, None, "", sides, "text stands among the messages".into());
            self.message = None;
        } else {
            self.text(before, after, "stdout");
        }
    }

    fn text(&mut self, before: &Streams<'_>, after: &Streams<'_>, stream: &str) {
        let (was, is) = (before.text(stream), after.text(stream));
        if was == is {
            return;
        }
        let summary = match (was.is_empty(), is.is_empty()) {
            (true, _) => format!("{stream} was silent, and now says something"),
            (_, true) => format!("{stream} said something, and now is silent"),
            _ => format!("{stream} says something else"),
        };
        let sides = Sides::values(shortened(&was.into()), shortened(&is.into()));
        self.message = Some(stream.to_owned());
        self.tell(Kind::TextChanged, None, &summary.clone(), sides, summary);
        self.message = None;
    }

    fn messages(&mut self, old: Vec<Vec<&Entry>>, new: Vec<Vec<&Entry>>) {
        self.order(&old, &new);
        let (before, after) = (by_kind(&old), by_kind(&new));
        for (kind, was) in &before {
            self.rows.note_count(kind, was.most);
            self.message = Some(kind.clone());
            match after.get(kind) {
                Some(is) => {
                    if is.least > was.most || is.most < was.least {
                        let direction = if is.least > was.most { "more" } else { "fewer" };
                        let summary = format!("{} `{kind}` become {}", was.most, is.most);
                        let sides = Sides::values(was.most.into(), is.most.into());
                        self.tell(Kind::MessageCount, None, direction, sides, summary);
                    }
                    self.shapes(&was.shape, &is.shape, "");
                }
                None if was.least > 0 => {
                    let sides = Sides::shapes(Some(&was.shape), None);
                    self.tell(Kind::MessageRemoved, None, "", sides, format!("`{kind}` is no longer sent"));
                }
                None => {}
            }
        }
        for (kind, is) in after.iter().filter(|(kind, _)| !before.contains_key(*kind)) {
            self.message = Some(kind.clone());
            let sides = Sides::shapes(None, Some(&is.shape));
            self.tell(Kind::MessageAdded, None, "", sides, format!("`{kind}` is new"));
        }
        self.message = None;
    }

    /// The order in which kinds that both sides have appear for the first time.
    fn order(&mut self, old: &[Vec<&Entry>], new: &[Vec<&Entry>]) {
        let kinds = |run: &Vec<&Entry>| {
            let mut kinds: Vec<String> = Vec::new();
            for kind in run.iter().filter_map(|entry| entry.kind()) {
                if kinds.iter().all(|known| known != kind) {
                    kinds.push(kind.to_owned());
                }
            }
            kinds
        };
        let (before, after): (Vec<_>, Vec<_>) =
            (old.iter().map(kinds).collect(), new.iter().map(kinds).collect());
        let (Some(is), Some(first)) = (after.first(), before.first()) else { return };
        let shared = |run: &Vec<String>, other: &Vec<String>| -> Vec<String> {
            run.iter().filter(|kind| other.contains(kind)).cloned().collect()
        };
        let known = before.iter().any(|was| shared(was, is) == shared(is, was));
        if !known {
            let (was, is) = (shared(first, is), shared(is, first));
            let identity = format!("{was:?} {is:?}");
            let summary = format!("{} become {}", was.join(", "), is.join(", "));
            self.tell(Kind::Order, None, &identity, Sides::values(json!(was), json!(is)), summary);
        }
    }

    fn shapes(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        self.types(old, new, pointer);
        self.words(old, new, pointer);
        if old.objects > 0 && new.objects > 0 {
            if old.is_map() || new.is_map() {
                self.keys(old, new, pointer);
                self.shapes(&old.entries(), &new.entries(), &format!("{pointer}/*"));
            } else {
                self.fields(old, new, pointer);
            }
        }
        self.items(old, new, pointer);
    }

    fn types(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        let gained = new.types.without(old.types);
        if gained.is_empty() {
            return;
        }
        let (kind, summary) = if old.types == Types::NULL {
            (Kind::FieldFilled, format!("{pointer} was always null, and now is {}", gained.names()))
        } else if gained == Types::NULL {
            (Kind::FieldNull, format!("{pointer} was {}, and now is null", old.types.names()))
        } else {
            let gained = gained.without(Types::NULL);
            (
                Kind::FieldRetyped,
                format!("{pointer} was {}, and now is {}", old.types.names(), gained.names()),
            )
        };
        let identity = format!("{} {}", old.types.names(), new.types.names());
        self.tell(kind, Some(pointer), &identity, Sides::shapes(Some(old), Some(new)), summary);
    }

    fn words(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        let (was, is) = (&old.words, &new.words);
        let value = |set: &BTreeSet<String>| match set.len() {
            1 => set.first().map_or(Value::Null, |word| word.as_str().into()),
            _ => json!(set),
        };
        let at = Some(pointer);
        if !was.booleans.is_empty() && !is.booleans.is_empty() && was.booleans.is_disjoint(&is.booleans) {
            let (a, b) = (was.booleans.contains(&true), is.booleans.contains(&true));
            let summary = format!("{pointer} was {a}, and now is {b}");
            self.tell(Kind::ValueChanged, at, "boolean", Sides::values(a.into(), b.into()), summary);
        }
        if !was.numbers.is_empty() && !is.numbers.is_empty() && was.numbers.is_disjoint(&is.numbers) {
            let summary = format!("{pointer} is another number");
            self.tell(Kind::ValueChanged, at, "number", Sides::shapes(Some(old), Some(new)), summary);
        }
        let says = |words: &Words| words.text.is_some() || !words.words.is_empty();
        if was.text != is.text && says(was) && says(is) {
            let summary = format!("{pointer} is another text");
            self.tell(Kind::TextChanged, at, "", Sides::shapes(Some(old), Some(new)), summary);
            return;
        }
        if was.overflow || is.overflow || was.text.is_some() || was.words.is_empty() || is.words.is_empty() {
            return;
        }
        let gone: BTreeSet<String> = was.words.difference(&is.words).cloned().collect();
        let come: BTreeSet<String> = is.words.difference(&was.words).cloned().collect();
        if was.words.len() == 1 && is.words.len() == 1 && !gone.is_empty() {
            let (gone, come) = (value(&gone), value(&come));
            let summary = format!("{pointer} was {}, and now is {}", plain(&gone), plain(&come));
            self.tell(Kind::ValueChanged, at, &format!("{gone} {come}"), Sides::values(gone, come), summary);
            return;
        }
        for (kind, set, summary) in [
            (Kind::EnumValueRemoved, gone, "no longer holds"),
            (Kind::EnumValueAdded, come, "holds for the first time"),
        ] {
            if set.is_empty() {
                continue;
            }
            let listed = set.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let sides = match kind {
                Kind::EnumValueAdded => Sides::values(Value::Null, value(&set)),
                _ => Sides::values(value(&set), Value::Null),
            };
            self.tell(kind, at, &listed, sides, format!("{pointer} {summary}: {listed}"));
        }
    }

    fn keys(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        let keys = |shape: &Shape| shape.fields.keys().cloned().collect::<Vec<_>>();
        let (was, is) = (keys(old), keys(new));
        if was != is {
            let identity = format!("{was:?} {is:?}");
            let sides = Sides::values(json!(was), json!(is));
            self.tell(
                Kind::ValueChanged,
                Some(pointer),
                &identity,
                sides,
                format!("{pointer} has other keys"),
            );
        }
    }

    fn fields(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        for (name, was) in &old.fields {
            let at = format!("{pointer}/{}", escaped(name));
            match new.fields.get(name) {
                None => {
                    let sides = Sides::shapes(Some(was), None);
                    self.tell(Kind::FieldRemoved, Some(&at), "", sides, format!("{at} is gone"));
                }
                Some(is) => {
                    if was.count == old.objects && is.count < new.objects {
                        let summary = format!("{at} was always there, and now sometimes is not");
                        let sides = Sides::shapes(Some(was), Some(is));
                        self.tell(Kind::FieldOptional, Some(&at), "", sides, summary);
                    }
                    self.shapes(was, is, &at);
                }
            }
        }
        for (name, is) in new.fields.iter().filter(|(name, _)| !old.fields.contains_key(*name)) {
            let at = format!("{pointer}/{}", escaped(name));
            let sides = Sides::shapes(None, Some(is));
            self.tell(Kind::FieldAdded, Some(&at), "", sides, format!("{at} is new"));
        }
    }

    fn items(&mut self, old: &Shape, new: &Shape, pointer: &str) {
        let at = |kind: &str| match kind {
            "" => format!("{pointer}/*"),
            kind => format!("{pointer}/*:{}", escaped(kind)),
        };
        for (kind, was) in &old.items {
            match new.items.get(kind) {
                Some(is) => self.shapes(was, is, &at(kind)),
                None => {
                    let sides = Sides::shapes(Some(was), None);
                    let summary = format!("{pointer} no longer holds what {} was", at(kind));
                    self.tell(Kind::ElementRemoved, Some(&at(kind)), "", sides, summary);
                }
            }
        }
        for (kind, is) in new.items.iter().filter(|(kind, _)| !old.items.contains_key(*kind)) {
            let sides = Sides::shapes(None, Some(is));
            let summary = format!("{pointer} holds {} for the first time", at(kind));
            self.tell(Kind::ElementAdded, Some(&at(kind)), "", sides, summary);
        }
    }

    fn requests(&mut self, old: &[(String, Normal)], new: &[(String, Normal)]) {
        let (before, after) = (by_endpoint(old), by_endpoint(new));
        self.is_request = true;
        for (name, was) in &before {
            self.message = Some(format!("request {name}"));
            match after.get(name) {
                Some(is) => {
                    if is.least > was.most || is.most < was.least {
                        let direction = if is.least > was.most { "more" } else { "fewer" };
                        let summary = format!("{direction} requests {name}");
                        let sides = Sides::values(was.most.into(), is.most.into());
                        self.tell(Kind::RequestCount, None, direction, sides, summary);
                    }
                    self.shapes(&was.shape, &is.shape, "");
                }
                None if was.least > 0 => {
                    let sides = Sides::shapes(Some(&was.shape), None);
                    self.tell(Kind::RequestRemoved, None, "", sides, format!("{name} is no longer asked"));
                }
                None => {}
            }
        }
        for (name, is) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
            self.message = Some(format!("request {name}"));
            let sides = Sides::shapes(None, Some(&is.shape));
            self.tell(Kind::RequestAdded, None, "", sides, format!("{name} is asked"));
        }
        (self.is_request, self.message) = (false, None);
    }

    fn files(&mut self, old: &[(String, Normal)], new: &[(String, Normal)]) {
        let paths = |side: &[(String, Normal)]| -> BTreeSet<String> {
            let path = |file: &Value| file.get("path").and_then(Value::as_str).map(str::to_owned);
            side.iter().flat_map(|(_, normal)| normal.files.iter().filter_map(path)).collect()
        };
        let (before, after) = (paths(old), paths(new));
        for path in before.difference(&after) {
            let sides = Sides::values(path.as_str().into(), Value::Null);
            self.tell(Kind::FileRemoved, None, path, sides, format!("{path} is no longer written"));
        }
        for path in after.difference(&before) {
            let sides = Sides::values(Value::Null, path.as_str().into());
            self.tell(Kind::FileAdded, None, path, sides, format!("{path} is written"));
        }
    }
}

/// The entries of all runs of one side.
struct Streams<'n> {
    stdout: Vec<&'n [Entry]>,
    stderr: Vec<&'n [Entry]>,
}

impl<'n> Streams<'n> {
    fn of(side: &'n [(String, Normal)]) -> Self {
        Self {
            stdout: side.iter().map(|(_, normal)| normal.stdout.as_slice()).collect(),
            stderr: side.iter().map(|(_, normal)| normal.stderr.as_slice()).collect(),
        }
    }

    fn stream(&self, name: &str) -> &[&'n [Entry]] {
        if name == "stdout" { &self.stdout } else { &self.stderr }
    }

    /// The stream that messages stand on.
    fn place(&self) -> Option<&'static str> {
        let holds = |name: &&str| self.stream(name).iter().any(|run| run.iter().any(|e| e.kind().is_some()));
        ["stdout", "stderr"].into_iter().find(holds)
    }

    fn on(&self, name: &str) -> Vec<Vec<&'n Entry>> {
        let messages = |run: &&'n [Entry]| run.iter().filter(|entry| entry.kind().is_some()).collect();
        self.stream(name).iter().map(messages).collect()
    }

    fn example(&self, name: &str) -> Value {
        let value = |entry: &&Entry| match entry {
            Entry::Message { value, .. } => Some(shortened(value)),
            Entry::Text { .. } => None,
        };
        self.on(name).iter().flatten().find_map(value).unwrap_or_default()
    }

    /// The text of the first run that says something.
    fn text(&self, name: &str) -> String {
        let text = |run: &&[Entry]| {
            let lines = run.iter().filter_map(|entry| match entry {
                Entry::Text { text, .. } => Some(text.as_str()),
                Entry::Message { .. } => None,
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        self.stream(name).iter().map(text).find(|text| !text.is_empty()).unwrap_or_default()
    }
}

fn by_kind(runs: &[Vec<&Entry>]) -> BTreeMap<String, Messages> {
    let values = runs.iter().map(|run| {
        run.iter().filter_map(|entry| match entry {
            Entry::Message { kind, value, line } => Some((kind.clone(), value, *line)),
            Entry::Text { .. } => None,
        })
    });
    gathered(values)
}

fn by_endpoint(side: &[(String, Normal)]) -> BTreeMap<String, Messages> {
    let name = |request: &Value| {
        let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or("?");
        let path = text("path").split('?').next().unwrap_or_default();
        format!("{} {path}", text("method"))
    };
    let values = side.iter().map(|(_, normal)| {
        normal.requests.iter().enumerate().map(|(at, request)| (name(request), request, at + 1))
    });
    gathered(values)
}

/// Values by their names, with how many of each a run had at least and at most.
fn gathered<'v, R>(runs: impl Iterator<Item = R>) -> BTreeMap<String, Messages>
where
    R: Iterator<Item = (String, &'v Value, usize)>,
{
    let mut all: BTreeMap<String, Messages> = BTreeMap::new();
    for (number, run) in runs.enumerate() {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (name, value, line) in run {
            *counts.entry(name.clone()).or_default() += 1;
            let messages = all.entry(name).or_insert_with(|| Messages {
                // A run before this one had none.
                least: if number == 0 { usize::MAX } else { 0 },
                ..Messages::default()
            });
            messages.shape.add(value, line);
        }
        for (name, messages) in &mut all {
            let count = counts.get(name).copied().unwrap_or(0);
            messages.least = messages.least.min(count);
            messages.most = messages.most.max(count);
        }
    }
    all
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
        (None, None, None) => "not started".into(),
    }
}

/// A value as it stands in a sentence.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A key as a part of a pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::super::change::{Change, Effect};
    use super::*;
    use crate::golden::{Volatile, normalise_output};

    fn run(output: &str, code: i32) -> Vec<(String, Normal)> {
        let mut normal = normalise_output("c", output.as_bytes(), &Volatile::default());
        normal.exit = Some(json!({ "code": code }));
        vec![("file".into(), normal)]
    }

    fn changes(old: &[(String, Normal)], new: &[(String, Normal)]) -> Vec<Change> {
        let mut rows = Rows::default();
        compare_case("c", old, new, &mut rows);
        rows.finish().changes
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
        moved[0].1.stderr = run(r#"{"b":1}"#, 0)[0].1.stdout.clone();
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
        assert_eq!(told(old, new), ["breaking field-removed /usage/*/out", "info value-changed /usage"]);
    }

    #[test]
    fn elements_are_compared_by_their_type() {
        let old = r#"{"content":[{"type":"text","text":"a"},{"type":"tool_use","id":"x"}]}"#;
        let new = r#"{"content":[{"type":"tool_use","id":"x","new":1},{"type":"text","text":"a"}]}"#;
        assert_eq!(told(old, new), ["additive field-added /content/*:tool_use/new"]);
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
