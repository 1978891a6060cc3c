//! What a target printed at the place that a finding is about, as people can take it in: in a stream the line, with a
//! marker under what is meant; in a single document the value, since a line of it says nothing by itself.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::output::Line;
use super::quote::{Quote, quote_file};
use crate::run::{CaseFinished, Finding};
use crate::text::{Masked, clip, printable};

/// A larger document is not read again to show a value of it.
const LARGEST: u64 = 4 << 20;

/// What stands at a place in standard output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Printed {
    /// A part of the line.
    Line(Quote),
    /// The value in a document, on one line.
    Value(String),
}

/// What a finding is about, in at most so many columns; none where there is nothing to show.
pub(super) fn printed(stdout: &Path, finding: &Finding, columns: usize) -> Option<Printed> {
    let offset = finding.offset?;
    match (document(stdout), &finding.pointer) {
        // A pointer with a star is about several values.
        (Some(document), Some(pointer)) => {
            let value = document.pointer(pointer)?.to_string();
            return Some(Printed::Value(clip(&printable(&value), columns).into_owned()));
        }
        // It is about the run, and not about the first byte that it printed.
        (Some(_), None) if offset == 0 => return None,
        _ => {}
    }
    let quote = quote_file(stdout, offset, columns).ok().flatten()?;
    (!quote.text.is_empty()).then_some(Printed::Line(quote))
}

/// The one document that a file holds, if that is what it holds.
pub(super) fn document(file: &Path) -> Option<Value> {
    let mut text = Vec::new();
    Masked::new(File::open(file).ok()?).take(LARGEST + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > LARGEST {
        return None;
    }
    serde_json::from_slice(&text).ok()
}

/// What the sentence of a finding leaves open: where it is, what was expected and what was seen, as labels and texts.
pub(super) fn versus(finding: &Finding, found: Option<&Printed>) -> Vec<(&'static str, String)> {
    let says = |text: &str| {
        finding.message.contains(text.trim_start_matches("a field "))
            || text.starts_with("anything but ") && finding.message.ends_with(", expected another")
    };
    let mut left = Vec::new();
    if let (Some(Printed::Value(_)), Some(pointer)) = (found, &finding.pointer)
        && !says(pointer)
    {
        left.push(("at", pointer.clone()));
    }
    left.extend(finding.expected.clone().filter(|text| !says(text)).map(|text| ("expected", text)));
    match (&finding.seen, found) {
        (Some(seen), _) => {
            let seen = seen.to_string();
            left.extend(Some(seen).filter(|text| !says(text)).map(|text| ("seen", text)));
        }
        // Where something is missing, what it is missing from.
        (None, Some(Printed::Value(value))) => left.push(("seen", value.clone())),
        (None, _) => {}
    }
    left
}

/// The findings of a case that are about a line, which ends before the next one begins.
pub(super) fn about<'c>(
    case: &'c CaseFinished,
    line: &Line,
    next: Option<&Line>,
) -> impl Iterator<Item = &'c Finding> {
    let (number, bytes) = (line.number, line.offset..next.map_or(u64::MAX, |next| next.offset));
    case.findings.iter().filter(move |finding| match finding.offset {
        // A document begins on its first line, whatever line of it is meant.
        Some(offset) => bytes.contains(&offset),
        None => finding.line == Some(number),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, pointer: Option<&str>, offset: u64) -> Option<Printed> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stdout");
        std::fs::write(&file, text).unwrap();
        let finding = serde_json::json!({"clause": "c/d", "level": "must", "message": "m", "offset": offset, "pointer": pointer});
        printed(&file, &serde_json::from_value(finding).unwrap(), 60)
    }

    #[test]
    fn a_document_is_shown_by_its_value_and_a_stream_by_its_line() {
        let pretty = "{\n  \"error\": {\n    \"kind\": \"x\\u001b\"\n  }\n}\n";
        assert_eq!(
            shown(pretty, Some(""), 0),
            Some(Printed::Value(r#"{"error":{"kind":"x\u001b"}}"#.into()))
        );
        assert_eq!(shown(pretty, Some("/error/kind"), 29), Some(Printed::Value(r#""x\u001b""#.into())));
        assert_eq!(shown(pretty, Some("/gone"), 0), None);
        assert_eq!(shown(pretty, None, 0), None, "a line of a document says nothing by itself");
        let line = |text: &str| match shown(text, Some("/kind"), 8) {
            Some(Printed::Line(quote)) => quote.text,
            other => panic!("{other:?}"),
        };
        assert_eq!(line("{\"kind\":\"x\"}\n{\"kind\":\"y\"}\n"), "{\"kind\":\"x\"}");
        // What is wrong with the text itself is shown as text.
        assert!(matches!(shown("{\n}\nmore\n", None, 4), Some(Printed::Line(_))));
    }
}
