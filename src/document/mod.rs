//! A TOML or JSON file that a person wrote, read key by key so that every complaint names file, line, column and path.
//!
//! A [`Table`] remembers the keys it was asked for; [`Table::finish`] refuses the others and suggests the nearest:
//!
//! ```text
//! my.toml:7:1: unknown key `txet`, did you mean `text`? (at api.turns[0].txet)
//!   |
//! 7 | txet = "Hello."
//!   | ^^^^
//! ```

#[cfg(feature = "testing")]
mod accepted;
mod error;
#[cfg(feature = "cli")]
mod inline;
mod input;
mod item;
#[cfg(feature = "testing")]
mod json;
mod late;
mod node;
mod packed;
#[cfg(feature = "cli")]
mod quoted;
mod table;
#[cfg(feature = "contracts")]
mod volatile;

#[cfg(feature = "testing")]
pub(crate) use accepted::Accepted;
pub use error::FileError;
use error::FilePlace;
#[cfg(feature = "cli")]
pub(crate) use inline::toml_value;
#[cfg(feature = "testing")]
pub(crate) use input::read_to_string;
pub(crate) use input::{open, read};
pub(crate) use item::Item;
#[cfg(feature = "testing")]
pub(crate) use item::Place;
pub(crate) use late::LateJson;
pub(crate) use packed::Packed;
#[cfg(feature = "cli")]
pub(crate) use quoted::quoted;
pub(crate) use table::Table;
#[cfg(feature = "testing")]
pub(crate) use volatile::By;
#[cfg(feature = "testing")]
pub use volatile::Class;
#[cfg(feature = "contracts")]
pub(crate) use volatile::VolatileEntry;
#[cfg(feature = "testing")]
pub(crate) use volatile::is_reserved;

use std::fmt::Display;
use std::ops::Range;

use node::{Node, Path};
use toml::de::DeTable;

/// The text of a file and its name: what is needed to turn a span into a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
    /// The same as a part of this binary, with its tree. Our tests have read all of it, so that what costs much to check can
    /// wait for its use.
    pub(crate) packed: Option<Packed>,
}

impl<'t> Document<'t> {
    /// A text of the user; `file` is only used to name it in errors.
    pub(crate) fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, text, packed: None }
    }

    /// Parses `text`; `file` is only used to name it in errors.
    pub(crate) fn parse(file: &'t str, text: &'t str) -> Result<Table<'t>, FileError> {
        Self::new(file, text).read()
    }

    /// Parses it.
    pub(crate) fn read(self) -> Result<Table<'t>, FileError> {
        let document = self;
        if let Some(packed) = self.packed {
            let (span, root) = packed.root();
            return Ok(Table::new(document, Path::default(), span, root.entries()));
        }
        match DeTable::parse(document.text) {
            Ok(root) => {
                let span = root.span();
                Ok(Table::new(document, Path::default(), span, Node::entries(root.into_inner())))
            }
            Err(error) => Err(document.error(error.span().unwrap_or(0..0), "", error.message())),
        }
    }

    fn line(&self, span: &Range<usize>) -> usize {
        memchr::memchr_iter(b'\n', &self.text.as_bytes()[..span.start.min(self.text.len())]).count() + 1
    }

    /// A complaint about a part of the text.
    pub(crate) fn error(&self, span: Range<usize>, path: &str, message: impl Display) -> FileError {
        let start = span.start.min(self.text.len());
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[line_start..].chars().count() + 1;
        // Of a line that nobody can take in, what stands around the place.
        let cut = if column > 120 { column - 60 } else { 0 };
        let source_line = self.text[line_start..].lines().next().unwrap_or_default();
        let covered =
            self.text.get(span.clone()).and_then(|covered| covered.lines().next()).unwrap_or_default();
        let place = FilePlace {
            line: self.line(&span),
            column,
            path: path.to_owned(),
            width: covered.chars().count().clamp(1, 60),
            source_line: source_line.chars().skip(cut).take(160).collect(),
            cut,
        };
        FileError { place: Some(Box::new(place)), ..FileError::whole(self.file, message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_named_with_its_place_and_a_suggestion() {
        let mut root = Document::parse("my.toml", "a = 1\n\n[api]\n  txet = \"x\"\n").unwrap();
        root.unsigned("a").unwrap();
        let mut api = root.take("api").unwrap().into_table().unwrap();
        api.string("text").unwrap();
        let error = api.finish().unwrap_err();
        assert_eq!(error.headline(), "my.toml:4:3: unknown key `txet`, did you mean `text`? (at api.txet)");
        insta::assert_snapshot!(error.to_string(), @r#"
        my.toml:4:3: unknown key `txet`, did you mean `text`? (at api.txet)
          |
        4 |   txet = "x"
          |   ^^^^
        "#);
    }

    #[test]
    fn a_key_like_no_other_lists_what_is_expected() {
        let mut root = Document::parse("my.toml", "zebra = 1").unwrap();
        root.string("name").unwrap();
        root.string("text").unwrap();
        assert_eq!(root.finish().unwrap_err().message, "unknown key `zebra`, expected one of: name, text");
    }

    #[test]
    fn a_wrong_type_says_what_was_expected_and_found() {
        let mut root = Document::parse("my.toml", "list = [\n 1,\n \"x\"]").unwrap();
        let mut items = root.list("list").unwrap();
        let error = items.pop().unwrap().unsigned().unwrap_err();
        let says = "my.toml:3:2: expected a whole number, zero or more, found the string \"x\" (at list[1])";
        assert_eq!(error.headline(), says);
    }

    #[test]
    fn broken_toml_has_a_place_too() {
        let error = Document::parse("my.toml", "a = 1\nb = [1,\n").unwrap_err();
        assert_eq!((error.file.as_str(), error.line()), ("my.toml", Some(2)));
    }

    #[test]
    fn columns_count_characters() {
        let mut root = Document::parse("my.toml", "x = { \"é\" = 1, b = 2 }").unwrap();
        let mut table = root.take("x").unwrap().into_table().unwrap();
        table.string("é").unwrap_err();
        assert!(table.finish().unwrap_err().headline().starts_with("my.toml:1:16: "));
    }

    #[test]
    fn a_line_that_is_too_long_is_shown_around_the_place() {
        let text = format!("a = {}x", "[".repeat(70_000));
        let error = Document::parse("my.toml", &text).unwrap_err().to_string();
        assert!(error.len() < 600, "{}", error.len());
        let text = format!("x = [{}wrong]", "\"é\", ".repeat(500));
        let shown = Document::parse("my.toml", &text).unwrap_err().to_string();
        let (line, marker) = (shown.lines().nth(2).unwrap(), shown.lines().nth(3).unwrap());
        let at = marker.find('^').unwrap();
        assert!(line.chars().skip(at).collect::<String>().starts_with("wrong"), "{shown}");
    }

    #[test]
    fn json_keeps_the_order_of_the_file() {
        let mut root = Document::parse("my.toml", "x = { b = 1, a = [true, 1.5] }").unwrap();
        let json = root.take("x").unwrap().json().unwrap();
        assert_eq!(json.to_string(), r#"{"b":1,"a":[true,1.5]}"#);
    }
}
