//! What differs from run to run, as target files and contracts say it.
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

use super::{FileError, Item, Table};

/// One entry: what it is, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VolatileEntry {
    /// What the values have to be.
    pub(crate) class: Class,
    /// Names of fields or pointers to them; of [`Class::File`] paths in the room.
    pub(crate) places: Vec<String>,
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
    /// No field but a file that is there or not by chance.
    File,
}

const CLASSES: &str = "\"ms\", \"number\", \"time\", \"text\", \"file\" or \"id:NAME\"";

/// The placeholders that are built in, and how ids of the Messages API begin: no `id:NAME` can have such a name.
const RESERVED: [&str; 18] = [
    "uuid", "time", "date", "ms", "number", "text", "cwd", "home", "tmp", "room", "api", "loopback",
    "literal", "cut", "toolu", "srvtoolu", "msg", "req",
];

impl Class {
    /// Its name in files.
    pub fn name(&self) -> String {
        match self {
            Self::Milliseconds => "ms".into(),
            Self::Number => "number".into(),
            Self::Time => "time".into(),
            Self::Text => "text".into(),
            Self::File => "file".into(),
            Self::Id(label) => format!("id:{label}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ms" => Self::Milliseconds,
            "number" => Self::Number,
            "time" => Self::Time,
            "text" => Self::Text,
            "file" => Self::File,
            other => {
                let label = other.strip_prefix("id:")?;
                let is_word = !label.is_empty() && label.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if !is_word || is_reserved(label) {
                    return None;
                }
                Self::Id(label.to_owned())
            }
        })
    }
}

/// Whether a placeholder of this name is built in and means something else.
pub(crate) fn is_reserved(label: &str) -> bool {
    RESERVED.contains(&label)
}

impl VolatileEntry {
    /// Reads the `[[volatile]]` tables of a file.
    pub(crate) fn read_all(items: Vec<Item<'_>>) -> Result<Vec<Self>, FileError> {
        items.into_iter().map(|item| Self::read(item.into_table()?)).collect()
    }

    fn read(mut table: Table<'_>) -> Result<Self, FileError> {
        let class = table.require("as", CLASSES)?;
        let place = class.place();
        let name = class.into_string()?;
        let class = Class::parse(&name)
            .ok_or_else(|| place.complain(format!("expected {CLASSES}, found {name:?}")))?;
        let places = if class == Class::File {
            listed(&mut table, "paths", "paths of files in the room, such as \"tmp/probe-*\"")?
        } else {
            listed(&mut table, "fields", "names of fields, or pointers to them")?
        };
        table.finish()?;
        Ok(Self { class, places })
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

    fn read(text: &str) -> Result<Vec<VolatileEntry>, String> {
        let mut root = Document::parse("t.toml", text).unwrap();
        let items = root.list("volatile").unwrap();
        VolatileEntry::read_all(items).map_err(|error| error.to_string())
    }

    #[test]
    fn an_entry_has_a_class_and_places() {
        let text = "[[volatile]]\nas = \"id:task\"\nfields = [\"/a/*\"]\n[[volatile]]\nas = \"file\"\npaths = [\"tmp/x\"]";
        let entry = |class, place: &str| VolatileEntry { class, places: vec![place.to_owned()] };
        assert_eq!(
            read(text).unwrap(),
            [entry(Class::Id("task".into()), "/a/*"), entry(Class::File, "tmp/x")]
        );
        let no_paths = read("[[volatile]]\nas = \"file\"\nfields = [\"x\"]").unwrap_err();
        assert!(no_paths.contains("missing key `paths`"), "{no_paths}");
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
