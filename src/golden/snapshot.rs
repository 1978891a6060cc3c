//! A golden snapshot as text, in insta's file format: a header between `---`, and the content.
//!
//! ```text
//! ---
//! source: clawgate
//! expression: claude/answers/stream on reference
//! info:
//!   format: 1
//!   target: reference
//!   case: claude/answers/stream
//!   contract: claude-stream-json
//!   scenario: ../scenarios/mine.toml      (unless it is built in: whose snapshot it is)
//! ---
//! == exit
//! {"code": 0}
//! == stdout
//! -- system/init
//! {"cwd": "<cwd>", "session_id": "<uuid:1>", …}
//! == stderr
//! | a line of text
//! == requests
//! == files
//! == end
//! ```
//!
//! The last line tells a whole snapshot from one that was cut while it was written.

use std::fmt::Write as _;

use serde_json::Value;

use super::entry::Entry;
use super::layout::lay_out;
use super::normalise::Normal;
use crate::text::printable;

/// The version of the content's form. A reader refuses only a newer one.
const FORMAT: u64 = 1;
const END: &str = "== end";

/// Why a text is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It has no header.
    #[error("no golden snapshot: it does not begin with a header between `---`")]
    Header,
    /// It ends before its last line, as a file does that was cut while it was written.
    #[error("half a snapshot: its last line is not `{END}`")]
    Cut,
    /// It comes from a newer version.
    #[error("format {found} is newer than {FORMAT}, the newest this clawgate reads: update clawgate")]
    Newer {
        /// The format that the file states.
        found: u64,
    },
    /// Something in it is not as clawgate writes it.
    #[error("line {line}: {reason}")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
}

impl Normal {
    /// The snapshot as text.
    pub(crate) fn to_snapshot(&self) -> String {
        let mut text = String::from("---\nsource: clawgate\n");
        let on = format!("{} on {}", self.scenario, self.target);
        // Writing to a string cannot fail.
        _ = writeln!(text, "expression: {}", yaml(&on));
        _ = writeln!(
            text,
            "info:\n  format: {FORMAT}\n  target: {}\n  case: {}",
            yaml(&self.target),
            yaml(&self.scenario)
        );
        if let Some(contract) = &self.contract {
            _ = writeln!(text, "  contract: {}", yaml(contract));
        }
        if let Some(owner) = &self.owner {
            _ = writeln!(text, "  scenario: {}", yaml(owner));
        }
        text.push_str("---\n== exit\n");
        if let Some(exit) = &self.exit {
            _ = writeln!(text, "{}", lay_out(exit));
        }
        for (name, entries) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            _ = writeln!(text, "== {name}");
            for entry in entries {
                write_entry(entry, &mut text);
            }
        }
        for (name, values) in [("requests", &self.requests), ("files", &self.files)] {
            _ = writeln!(text, "== {name}");
            for value in values {
                _ = writeln!(text, "{}", lay_out(value));
            }
        }
        text.push_str(END);
        text.push('\n');
        text
    }

    /// Reads the text of a snapshot back.
    pub(crate) fn from_snapshot(text: &str) -> Result<Self, SnapshotError> {
        let text = text.replace("\r\n", "\n");
        let rest = text.strip_prefix("---\n").ok_or(SnapshotError::Header)?;
        let (header, content) = rest.split_once("\n---\n").ok_or(SnapshotError::Header)?;
        if content.trim_end().lines().next_back() != Some(END) {
            return Err(SnapshotError::Cut);
        }
        let field = |name: &str| {
            let line =
                header.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(": "))?;
            // Quoted as JSON, which YAML allows; insta may have taken the quotes away or made them single.
            Some(serde_json::from_str(line).unwrap_or_else(|_| line.trim_matches('\'').to_owned()))
        };
        match field("format").and_then(|format| format.parse().ok()) {
            Some(found) if found > FORMAT => return Err(SnapshotError::Newer { found }),
            Some(_) => {}
            None => return Err(SnapshotError::Header),
        }
        let mut normal = Self {
            target: field("target").unwrap_or_default(),
            scenario: field("case").unwrap_or_default(),
            contract: field("contract"),
            owner: field("scenario"),
            ..Self::default()
        };
        normal.read_content(content, header.lines().count() + 3)?;
        Ok(normal)
    }

    fn read_content(&mut self, content: &str, first_line: usize) -> Result<(), SnapshotError> {
        let mut section = "";
        let mut lines = content.lines().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let damaged =
                |reason: &str| SnapshotError::Damaged { line: first_line + at, reason: reason.to_owned() };
            if let Some(name) = line.strip_prefix("== ") {
                section = name;
                continue;
            }
            let is_heading =
                |line: &str| line.starts_with("== ") || line.starts_with("-- ") || line.starts_with("| ");
            let mut block = |first: &str| {
                let mut text = first.to_owned();
                // A value ends where its brackets do, which is where a line begins with none of its indentation.
                while let Some((_, next)) = lines.next_if(|(_, next)| {
                    !is_heading(next) && (next.starts_with(' ') || next.starts_with(['}', ']']))
                }) {
                    text.push('\n');
                    text.push_str(next);
                }
                serde_json::from_str::<Value>(&text).map_err(|error| damaged(&format!("not JSON: {error}")))
            };
            match section {
                "stdout" | "stderr" => {
                    let entries = if section == "stdout" { &mut self.stdout } else { &mut self.stderr };
                    let number = entries.len() + 1;
                    if let Some(text) = line.strip_prefix("| ") {
                        entries.push(Entry::Text { text: text.to_owned(), line: number });
                    } else if line == "-- text" {
                        let (_, first) = lines.next().ok_or_else(|| damaged("nothing follows"))?;
                        let text = serde_json::from_str(first).map_err(|_| damaged("no string follows"))?;
                        entries.push(Entry::Text { text, line: number });
                    } else if let Some(kind) = line.strip_prefix("-- ") {
                        let (_, first) = lines.next().ok_or_else(|| damaged("nothing follows"))?;
                        let mut text = first.to_owned();
                        while let Some((_, next)) = lines.next_if(|(_, next)| !is_heading(next)) {
                            text.push('\n');
                            text.push_str(next);
                        }
                        let value = serde_json::from_str(&text)
                            .map_err(|error| damaged(&format!("the message is not JSON: {error}")))?;
                        entries.push(Entry::Message { kind: kind.to_owned(), value, line: number });
                    } else {
                        return Err(damaged("expected `-- KIND` or `| TEXT`"));
                    }
                }
                "exit" => self.exit = Some(block(line)?),
                "requests" => self.requests.push(block(line)?),
                "files" => self.files.push(block(line)?),
                _ => return Err(damaged("expected `== exit`, stdout, stderr, requests, files or end")),
            }
        }
        Ok(())
    }
}

fn write_entry(entry: &Entry, out: &mut String) {
    // Writing to a string cannot fail.
    match entry {
        Entry::Message { kind, value, .. } => _ = writeln!(out, "-- {}\n{}", printable(kind), lay_out(value)),
        Entry::Text { text, .. } if printable(text) == text.as_str() && text.trim_end() == text => {
            _ = writeln!(out, "| {text}");
        }
        Entry::Text { text, .. } => _ = writeln!(out, "-- text\n{}", lay_out(&text.as_str().into())),
    }
}

/// A YAML scalar: plain where nothing in it means something to YAML.
fn yaml(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " /._@+-".contains(c);
    let plain = !text.is_empty()
        && text.chars().all(is_plain)
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.trim() == text;
    if plain { text.to_owned() } else { lay_out(&text.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sample() -> Normal {
        let message = |kind: &str, value: Value, line| Entry::Message { kind: kind.into(), value, line };
        let text = |text: &str, line| Entry::Text { text: text.into(), line };
        Normal {
            target: "reference".into(),
            scenario: "odd: name".into(),
            owner: None,
            contract: Some("claude-stream-json".into()),
            exit: Some(json!({"code": 0})),
            stdout: vec![
                message("system/init", json!({"tools": ["a".repeat(50), "b".repeat(50), "c"], "x": {}}), 1),
                text("== stdout", 2),
                text("-- x\u{1b}[0m ", 3),
                message("document", json!([1, "\n== end"]), 4),
            ],
            stderr: vec![text("| hi", 1), text("", 2)],
            requests: vec![json!({"path": "/v1", "long": "z".repeat(200)}), json!({"a": 1})],
            files: vec![json!({"path": "work/a"})],
        }
    }

    #[test]
    fn a_snapshot_reads_back_as_it_was() {
        let normal = sample();
        let text = normal.to_snapshot();
        assert_eq!(Normal::from_snapshot(&text).unwrap(), normal, "{text}");
        assert_eq!(Normal::from_snapshot(&text.replace('\n', "\r\n")).unwrap(), normal);
        let empty = Normal { target: "t".into(), scenario: "s".into(), ..Normal::default() };
        assert_eq!(Normal::from_snapshot(&empty.to_snapshot()).unwrap(), empty);
    }

    #[test]
    fn half_a_snapshot_is_none() {
        let text = sample().to_snapshot();
        for cut in 0..text.trim_end().len() {
            if let Some(half) = text.get(..cut) {
                assert!(Normal::from_snapshot(half).is_err(), "{half}");
            }
        }
    }

    #[test]
    fn a_damaged_or_newer_snapshot_says_where() {
        let text = sample().to_snapshot();
        let newer = text.replace("format: 1", "format: 2");
        assert_eq!(Normal::from_snapshot(&newer), Err(SnapshotError::Newer { found: 2 }));
        let damaged = text.replace("{\"code\": 0}", "{\"code\": }");
        assert!(Normal::from_snapshot(&damaged).unwrap_err().to_string().starts_with("line 11: not JSON"));
    }
}
