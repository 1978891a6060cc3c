//! Puts typed placeholders where values differ from run to run.

use std::io::{self, Read};

use hmac_sha256::Hash as Sha256;
use serde_json::{Map, Value};

use super::entry::{DOCUMENT, Entry, has_kind, kind_of};
use super::interleave::{Interleave, Neighbours};
use super::observed::{room, sent};
use super::placeholder::{Placeholders, whole_time};
use super::reading::{Go, Printed, read_printed, reread};
use super::volatile::{Class, Volatile};
use crate::json::{JsonView, Kind, Scanner};
use crate::recording::Facts;
use crate::text::hex;

/// A longer string is cut; its digest keeps a change visible.
const LONGEST_STRING: usize = 2000;
/// So much of a cut string is shown.
const SHOWN: usize = 400;

/// Replaces what differs from run to run, and knows what it has replaced by what.
pub(super) struct Normaliser<'v> {
    volatile: &'v Volatile,
    places: Placeholders,
    path: Vec<String>,
}

impl<'v> Normaliser<'v> {
    pub(super) fn new(facts: &Facts, volatile: &'v Volatile) -> Self {
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
    pub(super) fn survey<O: Read, E: Read>(
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
    pub(super) fn entries(
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

    pub(super) fn value(&mut self, value: JsonView<'_>) -> Value {
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
