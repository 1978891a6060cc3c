//! JSON files of the user, for the same typed readers as TOML ones.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::node::{Node as Part, Path};
use super::{Document, FileError, Table};
use crate::json::{Kind, Node, Scanner};

impl<'t> Document<'t> {
    /// Parses JSON. A key of `nullable` may be null, which is as if it were left out; elsewhere null is refused, and so
    /// is everything that another reader may understand otherwise, such as a key that stands twice.
    pub(crate) fn parse_json(
        file: &'t str,
        text: &'t str,
        nullable: &[&str],
    ) -> Result<Table<'t>, FileError> {
        let document = Document::new(file, text);
        let mut scanner = Scanner::default();
        let scanned = scanner
            .scan(text)
            .map_err(|error| document.error(error.offset..error.offset, "", format!("not JSON: {error}")))?;
        if let Some(odd) = scanned.oddities().first() {
            return Err(document.error(odd.offset..odd.offset, "", odd.kind.describe()));
        }
        let root = scanned.root();
        let reader = Reader { document, nullable };
        match reader.value(root)? {
            Some(DeValue::Table(entries)) => {
                Ok(Table::new(document, Path::default(), span(root), Part::entries(entries)))
            }
            _ => Err(document.error(span(root), "", "expected an object")),
        }
    }
}

struct Reader<'t, 'n> {
    document: Document<'t>,
    nullable: &'n [&'n str],
}

impl<'t> Reader<'t, '_> {
    /// The value in the form of TOML, which has no null.
    fn value(&self, node: Node<'_>) -> Result<Option<DeValue<'t>>, FileError> {
        Ok(Some(match node.kind() {
            Kind::Null => return Ok(None),
            Kind::Boolean => DeValue::Boolean(node.boolean() == Some(true)),
            Kind::String => DeValue::String(node.text().unwrap_or_default().into_owned().into()),
            Kind::Integer | Kind::Number => self.number(node)?,
            Kind::Array => {
                let mut items = DeArray::new();
                for item in node.items() {
                    let value = self.value(item)?.ok_or_else(|| self.null(item))?;
                    items.push(Spanned::new(span(item), value));
                }
                DeValue::Array(items)
            }
            Kind::Object => {
                let mut entries = DeTable::new();
                for (key, item) in node.members() {
                    let name = key.text().unwrap_or_default().into_owned();
                    let Some(value) = self.value(item)? else {
                        if self.nullable.contains(&name.as_str()) {
                            continue;
                        }
                        return Err(self.null(item));
                    };
                    entries.insert(Spanned::new(span(key), name.into()), Spanned::new(span(item), value));
                }
                DeValue::Table(entries)
            }
        }))
    }

    /// Every number of JSON is one of TOML.
    fn number(&self, node: Node<'_>) -> Result<DeValue<'t>, FileError> {
        let raw = self.document.text.get(span(node)).unwrap_or_default();
        let value = DeValue::parse(raw).map(Spanned::into_inner);
        value.map_err(|error| self.document.error(span(node), "", error.message()))
    }

    fn null(&self, node: Node<'_>) -> FileError {
        self.document.error(
            span(node),
            "",
            "expected a value, found null (leave the key out for the default)",
        )
    }
}

fn span(node: Node<'_>) -> Range<usize> {
    node.offset()..node.offset() + node.raw().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        Document::parse_json("a.json", text, &["maybe"]).unwrap_err().headline()
    }

    #[test]
    fn json_is_read_like_toml_with_places() {
        let text = "{\n  \"n\": 3, \"f\": 0.5,\n  \"list\": [{\"a\": \"\\u00e9\"}], \"maybe\": null\n}";
        let mut root = Document::parse_json("a.json", text, &["maybe"]).unwrap();
        assert_eq!(root.unsigned("n").unwrap(), Some(3));
        assert_eq!(root.number("f").unwrap(), Some(0.5));
        let mut items = root.list("list").unwrap();
        let mut item = items.remove(0).into_table().unwrap();
        let error = item.boolean("a").unwrap_err();
        assert!(
            error.headline().starts_with("a.json:3:18: ") && error.headline().ends_with("(at list[0].a)"),
            "{error}"
        );
        root.finish().unwrap();
    }

    #[test]
    fn what_is_not_plain_json_is_refused_with_its_place() {
        assert!(complaint("{\"a\": }").starts_with("a.json:1:7: not JSON"));
        assert!(complaint("[]").ends_with("expected an object"));
        assert!(complaint("{\"a\": null}").contains("a.json:1:7: expected a value, found null"));
        assert!(complaint("{\"a\": 1,\n \"a\": 2}").starts_with("a.json:2:2: duplicate key"));
    }
}
