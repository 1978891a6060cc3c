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
//! as = "number"                          # what stands in a text: the group of the expression is the value
//! matches = ['thread \'[^\']*\' \((\d+)\)']
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
    pub(crate) by: By,
    /// Names, pointers, expressions or paths, as `by` says.
    pub(crate) places: Vec<String>,
}

/// How an entry says where the values stand; its name is the key in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Names of fields, or pointers to them.
    Fields,
    /// Regular expressions, whose one group is the value, wherever it stands in a text or a path.
    Matches,
    /// Paths of files in the room.
    Paths,
}

impl By {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Fields => "fields",
            Self::Matches => "matches",
            Self::Paths => "paths",
        }
    }
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
        let by = match class {
            Class::File => By::Paths,
            // Whether a time goes back is told of whole values only.
            Class::Time => By::Fields,
            _ if table.get(By::Matches.key()).is_some() => By::Matches,
            _ => By::Fields,
        };
        let node = table.need(by.key())?;
        let what = match by {
            By::Fields => "names of fields, or pointers to them",
            By::Matches => "regular expressions with one group, such as \"pid (\\\\d+)\"",
            By::Paths => "paths of files in the room, such as \"tmp/probe-*\"",
        };
        let places = node.strings()?;
        let is_wrong = |place: &String| place.is_empty() || (by == By::Matches && !has_one_group(place));
        if places.is_empty() || places.iter().any(is_wrong) {
            return Err(node.complain(format_args!("expected at least one of the {what}")));
        }
        table.finish()?;
        Ok(Self { class, by, places })
    }
}

/// Whether an expression compiles and says which part of what it finds is the value.
fn has_one_group(pattern: &str) -> bool {
    regex::Regex::new(pattern).is_ok_and(|pattern| pattern.captures_len() == 2)
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
        let entry = |class, by, place: &str| VolatileEntry { class, by, places: vec![place.to_owned()] };
        assert_eq!(
            read(text).unwrap(),
            [entry(Class::Id("task".into()), By::Fields, "/a/*"), entry(Class::File, By::Paths, "tmp/x")]
        );
        let no_paths = read("[[volatile]]\nas = \"file\"\nfields = [\"x\"]").unwrap_err();
        assert!(no_paths.contains("missing key `paths`"), "{no_paths}");
        let matching =
            |pattern: &str| read(&format!("[[volatile]]\nas = \"number\"\nmatches = ['{pattern}']"));
        assert_eq!(matching("pid ([0-9]+)").unwrap()[0].by, By::Matches);
        for wrong in ["pid [0-9]+", "(pid) ([0-9]+)", "pid ("] {
            assert!(matching(wrong).unwrap_err().contains("with one group"), "{wrong}");
        }
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
