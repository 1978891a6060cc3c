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

use super::{FileError, Item};

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
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "only who compares runs needs it"))]
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
    #[cfg(feature = "testing")]
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
    pub(crate) fn read_all(items: &[Item<'_>]) -> Result<Vec<Self>, FileError> {
        items.iter().map(Self::read).collect()
    }

    fn read(item: &Item<'_>) -> Result<Self, FileError> {
        let table = item.table()?;
        let node = table.need("as")?;
        let name = node.text()?;
        let class = Class::parse(&name)
            .ok_or_else(|| node.complain(format_args!("expected {CLASSES}, found {name:?}")))?;
        let (key, what) = match class {
            Class::File => ("paths", "paths of files in the room, such as \"tmp/probe-*\""),
            _ => ("fields", "names of fields, or pointers to them"),
        };
        let node = table.need(key)?;
        let places = node.strings()?;
        if places.is_empty() || places.iter().any(String::is_empty) {
            return Err(node.complain(format_args!("expected at least one of the {what}")));
        }
        table.finish()?;
        Ok(Self { class, places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn read(text: &str) -> Result<Vec<VolatileEntry>, String> {
        let mut root = Document::parse("t.toml", text).unwrap();
        let items = root.list("volatile").unwrap();
        VolatileEntry::read_all(&items).map_err(|error| error.to_string())
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
