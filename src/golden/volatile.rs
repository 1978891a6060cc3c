//! What differs from run to run, as a target's file says it.
//!
//! ```toml
//! [[volatile]]
//! as = "ms"                              # a number, zero or more
//! fields = ["duration_ms", "/usage/duration_ms"]
//!
//! [[volatile]]
//! as = "id:task"                         # the same id is the same `<task:1>`, also inside of texts
//! fields = ["task_id"]
//!
//! [[volatile]]
//! as = "file"                            # a file that is there or not by chance, and is not compared
//! paths = ["tmp/probe-*/*"]              # in the room; `*` is anything within a name
//! ```
//!
//! A field is a name, wherever it stands, or a pointer from the message's root in which `*` stands for any element.
//! UUIDs, times of day, ids of the API, the room's paths and the API's address need no entry.

use crate::document::{FileError, Item, Table};
use crate::json::pointer;
use crate::text::glob;

/// The rules of a target.
#[derive(Debug, Clone, Default)]
pub struct Volatile {
    rules: Vec<Rule>,
    /// Patterns of paths of files that are there or not by chance.
    passing: Vec<String>,
}

#[derive(Debug, Clone)]
struct Rule {
    class: Class,
    fields: Vec<String>,
}

/// What a volatile field has to hold; anything else stays as it is, and so is a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// A duration: a number, zero or more.
    Milliseconds,
    /// Any number, also a negative one.
    Number,
    /// A time: RFC 3339, or seconds or milliseconds since 1970.
    Time,
    /// Any string, whatever it says.
    Text,
    /// A string that means the same wherever it stands.
    Id(String),
}

const CLASSES: &str = "\"ms\", \"number\", \"time\", \"text\", \"file\" or \"id:NAME\"";

impl Class {
    /// Its name in a target's file.
    pub fn name(&self) -> String {
        match self {
            Self::Milliseconds => "ms".into(),
            Self::Number => "number".into(),
            Self::Time => "time".into(),
            Self::Text => "text".into(),
            Self::Id(label) => format!("id:{label}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ms" => Self::Milliseconds,
            "number" => Self::Number,
            "time" => Self::Time,
            "text" => Self::Text,
            other => {
                let label = other.strip_prefix("id:")?;
                let is_word = !label.is_empty() && label.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                // The names of the placeholders that are built in mean something else.
                if !is_word || super::placeholder::is_reserved(label) {
                    return None;
                }
                Self::Id(label.to_owned())
            }
        })
    }
}

impl Volatile {
    /// Reads the `[[volatile]]` tables of a target's file.
    pub(crate) fn read(items: Vec<Item<'_>>) -> Result<Self, FileError> {
        let mut all = Self::default();
        for item in items {
            all.read_one(item.into_table()?)?;
        }
        Ok(all)
    }

    fn read_one(&mut self, mut table: Table<'_>) -> Result<(), FileError> {
        let class = table.require("as", CLASSES)?;
        let place = class.place();
        let name = class.into_string()?;
        if name == "file" {
            self.passing.extend(listed(
                &mut table,
                "paths",
                "paths of files in the room, such as \"tmp/probe-*\"",
            )?);
        } else {
            let class = Class::parse(&name)
                .ok_or_else(|| place.complain(format!("expected {CLASSES}, found {name:?}")))?;
            let fields = listed(&mut table, "fields", "names of fields, or pointers to them")?;
            self.rules.push(Rule { class, fields });
        }
        table.finish()
    }

    /// Whether a file is there or not by chance.
    pub(super) fn is_passing(&self, path: &str) -> bool {
        let hits = |pattern: &String| {
            let (mut wanted, mut found) = (pattern.split('/'), path.split('/'));
            loop {
                match (wanted.next(), found.next()) {
                    (None, None) => return true,
                    (Some(wanted), Some(found)) if glob(wanted, found) => {}
                    _ => return false,
                }
            }
        };
        self.passing.iter().any(hits)
    }

    /// The rule for a field: its name, and the keys on the way to it from the message's root.
    pub(super) fn class(&self, path: &[String]) -> Option<&Class> {
        let name = path.last()?;
        let hits = |field: &String| match field.strip_prefix('/') {
            Some(pattern) => pointer::fits(pattern, path.iter().map(String::as_str)),
            None => field == name,
        };
        self.rules.iter().find(|rule| rule.fields.iter().any(hits)).map(|rule| &rule.class)
    }

    /// Whether any field holds ids.
    pub(super) fn has_ids(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.class, Class::Id(_)))
    }

    /// The names of fields that hold durations.
    pub(super) fn durations(&self) -> Vec<String> {
        let rules = self.rules.iter().filter(|rule| rule.class == Class::Milliseconds);
        rules.flat_map(|rule| &rule.fields).filter(|field| !field.starts_with('/')).cloned().collect()
    }

    /// With one rule more.
    pub fn add(&mut self, class: Class, fields: Vec<String>) {
        self.rules.push(Rule { class, fields });
    }
}

fn listed(table: &mut Table<'_>, key: &'static str, what: &str) -> Result<Vec<String>, FileError> {
    let list = table.require(key, what)?;
    let place = list.place();
    let list = list.into_list()?.into_iter().map(Item::into_string).collect::<Result<Vec<_>, _>>()?;
    if list.is_empty() || list.iter().any(String::is_empty) {
        return Err(place.complain(format!("expected at least one of the {what}")));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn read(text: &str) -> Result<Volatile, String> {
        let mut root = Document::parse("t.toml", text).unwrap();
        let items = root.list("volatile").unwrap();
        Volatile::read(items).map_err(|error| error.to_string())
    }

    #[test]
    fn a_field_is_a_name_or_a_pointer() {
        let rules = read(
            "[[volatile]]\nas = \"ms\"\nfields = [\"duration_ms\"]\n[[volatile]]\nas = \"id:task\"\nfields = [\"/tasks/*/id\"]",
        )
        .unwrap();
        let class =
            |path: &[&str]| rules.class(&path.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
        assert_eq!(class(&["usage", "duration_ms"]), Some(&Class::Milliseconds));
        assert_eq!(class(&["tasks", "0", "id"]), Some(&Class::Id("task".into())));
        assert_eq!(class(&["tasks", "id"]), None);
        assert_eq!(class(&["tasks", "0", "id", "x"]), None);
    }

    #[test]
    fn a_file_may_be_there_by_chance() {
        let rules = read("[[volatile]]\nas = \"file\"\npaths = [\"tmp/x-*/probe-*-*/y\"]").unwrap();
        assert!(rules.is_passing("tmp/x-1000/probe-a-b/y") && rules.is_passing("tmp/x-/probe--/y"));
        for other in ["tmp/x-1000/probe-a/y", "tmp/x-1/z/probe-a-b/y", "tmp/x-1/probe-a-b/y/z", "work/y", ""]
        {
            assert!(!rules.is_passing(other), "{other}");
        }
        assert!(
            read("[[volatile]]\nas = \"file\"\nfields = [\"x\"]")
                .unwrap_err()
                .contains("missing key `paths`")
        );
    }

    #[test]
    fn complaints_say_what_is_possible() {
        let wrong =
            |class: &str| read(&format!("[[volatile]]\nas = {class:?}\nfields = [\"x\"]")).unwrap_err();
        assert!(wrong("msec").starts_with("t.toml:2:6: expected \"ms\", "), "{}", wrong("msec"));
        assert!(wrong("id:uuid").contains("found \"id:uuid\""));
        assert!(read("[[volatile]]\nas = \"ms\"\nfields = []").unwrap_err().contains("at least one"));
    }
}
