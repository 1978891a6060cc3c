//! A reader's manifest: the fields it needs and what it does without, so that a change can be told from one that
//! breaks it.
//!
//! ```toml
//! [consumer]
//! name = "dashboard"
//! exit_code = true                # it looks at the exit code
//! text = "fails"                  # or "skips" lines that are no JSON
//! order = true                    # it relies on the order of messages
//!
//! [[reads]]
//! message = "result/*"            # a glob over kinds of messages
//! required = true                 # it cannot do without the message
//! once = true                     # it relies on one at most
//! [reads.fields]
//! "/is_error" = "boolean"         # needed, and of this type
//! "/result" = "string or absent"  # tolerated when it is missing
//! "/usage/input_tokens" = "number or null"
//! ```

use serde::Serialize;
use serde_json::Value;

use super::{Change, Effect, Kind};
use crate::document::{Document, FileError, Item, Table};
use crate::json::shape::Types;
use crate::text::glob;

/// The manifests that are built in.
const BUILT_IN: [(&str, &str); 1] = [("documented", include_str!("../../consumers/documented.toml"))];

/// A program that reads what a target prints, and what it needs of that.
#[derive(Debug, Clone)]
pub(crate) struct Consumer {
    pub name: String,
    reads_exit_code: bool,
    skips_text: bool,
    relies_on_order: bool,
    reads: Vec<Reads>,
}

#[derive(Debug, Clone)]
struct Reads {
    message: String,
    required: bool,
    once: bool,
    fields: Vec<(String, Accepts)>,
}

/// What a reader takes at a place.
#[derive(Debug, Clone, Copy, Default)]
struct Accepts {
    types: Types,
    absent: bool,
    anything: bool,
}

/// A change that breaks a reader.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Broken {
    pub kind: Kind,
    /// The kind of message.
    pub message: Option<String>,
    /// Where in the message, as a JSON pointer.
    pub pointer: Option<String>,
    /// Why that breaks the reader.
    pub because: String,
    /// The cases that show it.
    pub cases: Vec<String>,
}

impl Consumer {
    /// Reads a manifest; `file` names it in errors.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let mut root = Document::parse(file, text)?;
        let mut head = root.require("consumer", "a table with the reader's name")?.into_table()?;
        let mut consumer = Self {
            name: head.require("name", "what the reader is called")?.into_string()?,
            reads_exit_code: head.boolean("exit_code")?.unwrap_or(true),
            skips_text: match head.take("text") {
                None => false,
                Some(item) => choice(item, "skips", "fails")?,
            },
            relies_on_order: head.boolean("order")?.unwrap_or(true),
            reads: Vec::new(),
        };
        head.string("description")?;
        head.finish()?;
        let whole = root.complain("a reader needs at least one [[reads]] with a message and its fields");
        for item in root.list("reads")? {
            consumer.reads.push(reads(item.into_table()?)?);
        }
        root.finish()?;
        if consumer.reads.is_empty() { Err(whole) } else { Ok(consumer) }
    }

    /// A manifest that is built in.
    pub(crate) fn built_in(name: &str) -> Option<Result<Self, FileError>> {
        let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(&format!("consumers/{name}.toml"), text))
    }

    /// The names of the manifests that are built in.
    pub(crate) fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The changes that break it.
    pub(crate) fn broken_by(&self, changes: &[Change]) -> Vec<Broken> {
        let broken = |change: &Change| {
            Some(Broken {
                kind: change.kind,
                message: change.message.clone(),
                pointer: change.pointer.clone(),
                because: self.because(change)?,
                cases: change.cases.clone(),
            })
        };
        changes.iter().filter_map(broken).collect()
    }

    /// Why a change breaks it, if it does.
    fn because(&self, change: &Change) -> Option<String> {
        match change.kind {
            Kind::ExitCode if self.reads_exit_code => Some("it reads the exit code".into()),
            Kind::Channel | Kind::Form => Some(format!("it reads messages: {}", change.summary)),
            Kind::TextAmongMessages if !self.skips_text => Some("it does not skip text".into()),
            Kind::Order if self.relies_on_order => Some("it relies on the order of messages".into()),
            Kind::MessageRemoved => {
                let read = self.of(change).find(|reads| reads.required)?;
                Some(format!("it cannot do without `{}`", read.message))
            }
            Kind::MessageRepeated => {
                let read = self.of(change).find(|reads| reads.once)?;
                Some(format!("it relies on one `{}` at most", read.message))
            }
            Kind::FieldRemoved | Kind::FieldOptional | Kind::FieldNull | Kind::FieldRetyped => {
                let pointer = change.pointer.as_deref()?;
                self.of(change).flat_map(|reads| &reads.fields).find_map(|field| lost(field, pointer, change))
            }
            Kind::ValueChanged if change.effect == Effect::Breaking => {
                let pointer = change.pointer.as_deref()?;
                let read = self.of(change).flat_map(|reads| &reads.fields).any(|(field, _)| field == pointer);
                read.then(|| format!("it reads {pointer}, which means something else"))
            }
            _ => None,
        }
    }

    fn of<'c>(&'c self, change: &'c Change) -> impl Iterator<Item = &'c Reads> {
        let message = change.message.as_deref().unwrap_or_default();
        self.reads.iter().filter(move |reads| glob(&reads.message, message))
    }
}

/// What a change of the field at `pointer` takes away from a field that is read.
fn lost((field, accepts): &(String, Accepts), pointer: &str, change: &Change) -> Option<String> {
    let rest = field.strip_prefix(pointer)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let fits = match (change.kind, rest.is_empty()) {
        (Kind::FieldNull, true) => accepts.takes(&Value::Null),
        (Kind::FieldRetyped, true) => accepts.takes(&change.new),
        // Its parent is gone, or is nothing that has members.
        _ => accepts.absent || accepts.anything,
    };
    (!fits).then(|| format!("it needs {field}: {}", change.summary))
}

impl Accepts {
    fn takes(self, value: &Value) -> bool {
        self.anything || Types::of(value).without(self.types).is_empty()
    }
}

fn reads(mut table: Table<'_>) -> Result<Reads, FileError> {
    let message =
        table.require("message", "a glob over kinds of messages, such as \"result/*\"")?.into_string()?;
    let required = table.boolean("required")?.unwrap_or(false);
    let once = table.boolean("once")?.unwrap_or(false);
    let mut fields = Vec::new();
    if let Some(item) = table.take("fields") {
        for (field, item) in item.into_table()?.into_entries() {
            if !field.starts_with('/') {
                return Err(item.complain(format!("expected a pointer such as \"/{field}\"")));
            }
            fields.push((field, accepts(item)?));
        }
    }
    table.finish()?;
    Ok(Reads { message, required, once, fields })
}

fn accepts(item: Item<'_>) -> Result<Accepts, FileError> {
    let place = item.place();
    let mut accepts = Accepts::default();
    for word in item.into_string()?.split(" or ").map(str::trim) {
        match (word, Types::parse(word)) {
            (_, Some(types)) => accepts.types.add(types),
            ("absent", _) => accepts.absent = true,
            ("anything", _) => accepts.anything = true,
            _ => {
                let message = format!(
                    "unknown type `{word}`, expected {}, absent or anything, joined by ` or `",
                    Types::ALL.names(", ")
                );
                return Err(place.complain(message));
            }
        }
    }
    Ok(accepts)
}

fn choice(item: Item<'_>, yes: &str, no: &str) -> Result<bool, FileError> {
    let place = item.place();
    match item.into_string()? {
        text if text == yes => Ok(true),
        text if text == no => Ok(false),
        text => Err(place.complain(format!("expected {yes:?} or {no:?}, found {text:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn change(kind: Kind, message: &str, pointer: &str, new: Value) -> Change {
        let (message, pointer) = (Some(message.into()), Some(pointer.into()));
        Change { message, pointer, new, ..Change::new(kind, Effect::Breaking, "it changed".into()) }
    }

    #[test]
    fn the_documented_reader_breaks_where_it_reads() {
        let reader = Consumer::built_in("documented").unwrap().unwrap();
        let breaks = |change: Change| !reader.broken_by(&[change]).is_empty();
        assert!(breaks(change(Kind::FieldRemoved, "result/success", "/usage", Value::Null)));
        assert!(breaks(change(Kind::FieldNull, "assistant", "/message/stop_reason", Value::Null)));
        assert!(breaks(change(Kind::FieldRetyped, "result/success", "/num_turns", json!("3"))));
        assert!(breaks(change(Kind::MessageRemoved, "result/success", "", Value::Null)));
        assert!(!breaks(change(Kind::FieldRemoved, "result/success", "/is_error", Value::Null)));
        assert!(!breaks(change(Kind::FieldRemoved, "result/success", "/usage/service_tier", Value::Null)));
        assert!(!breaks(change(Kind::FieldRemoved, "result/success", "/us", Value::Null)));
        assert!(!breaks(change(Kind::MessageRemoved, "system/init", "", Value::Null)));
        assert!(!breaks(change(Kind::ExitCode, "", "", json!(1))));
    }

    #[test]
    fn complaints_say_where() {
        let complaint = |text: &str| Consumer::parse("c.toml", text).unwrap_err().to_string();
        let head = "consumer = { name = \"x\" }\n[[reads]]\nmessage = \"a\"\n";
        assert!(complaint("consumer = { name = \"x\" }").contains("at least one [[reads]]"));
        assert!(
            complaint(&format!("{head}fields = {{ \"/a\" = \"text\" }}")).contains("unknown type `text`")
        );
        assert!(complaint(&format!("{head}fields = {{ a = \"string\" }}")).contains("such as \"/a\""));
    }
}
