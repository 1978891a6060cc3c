//! Where messages and texts stand.

use serde_json::Value;

use super::{Comparison, Run, Sides};
use crate::golden::Entry;
use crate::json::shape::shortened;
use crate::schema::policy::Kind;

impl<'r> Comparison<'r> {
    /// Where messages and texts stand, and then the messages themselves.
    pub(super) fn channels(&mut self, old: &'r [Run], new: &'r [Run]) {
        let (before, after) = (Streams::of(old), Streams::of(new));
        match (before.place(), after.place()) {
            (Some(was), Some(is)) if was != is => {
                let summary = format!("what stood on {was} stands on {is}");
                self.add(Kind::Channel, None, was, Sides::values(was.into(), is.into()), summary);
                self.messages(&before.on(was), &after.on(is));
            }
            (Some(was), Some(_)) => {
                self.messages(&before.on(was), &after.on(was));
                if was == "stdout" {
                    self.text_among(&before, &after);
                }
            }
            (Some(was), None) => {
                let now = after.text("stdout");
                let what = if now.is_empty() { "nothing is printed" } else { "it is text" };
                let summary = format!("{was} was JSON, and now {what}");
                let sides = Sides::values(before.example(was), shortened(&now.clone().into()));
                self.add(Kind::Form, None, what, sides, summary);
            }
            (None, Some(is)) if !before.text(is).is_empty() => {
                let sides = Sides::values(shortened(&before.text(is).into()), after.example(is));
                self.add(Kind::Form, None, "json", sides, format!("{is} was text, and now is JSON"));
            }
            (None, Some(is)) => self.messages(&[], &after.on(is)),
            (None, None) => self.text(&before, &after, "stdout"),
        }
        self.text(&before, &after, "stderr");
    }

    fn text_among(&mut self, before: &Streams<'_>, after: &Streams<'_>) {
        let (was, is) = (before.text("stdout"), after.text("stdout"));
        if was.is_empty() && !is.is_empty() {
            let sides = Sides::values(Value::Null, shortened(&is.into()));
            self.place.message = Some("stdout".into());
            self.add(Kind::TextAmongMessages, None, "", sides, "text stands among the messages".into());
            self.place.message = None;
        } else {
            self.text(before, after, "stdout");
        }
    }

    fn text(&mut self, before: &Streams<'_>, after: &Streams<'_>, stream: &str) {
        let (was, is) = (before.text(stream), after.text(stream));
        if was == is {
            return;
        }
        let summary = match (was.is_empty(), is.is_empty()) {
            (true, _) => format!("{stream} was silent, and now says something"),
            (_, true) => format!("{stream} said something, and now is silent"),
            _ => format!("{stream} says something else"),
        };
        let sides = Sides::values(shortened(&was.into()), shortened(&is.into()));
        self.place.message = Some(stream.to_owned());
        self.add(Kind::TextChanged, None, &summary.clone(), sides, summary);
        self.place.message = None;
    }
}

/// The entries of all runs of one side.
struct Streams<'n> {
    stdout: Vec<&'n [Entry]>,
    stderr: Vec<&'n [Entry]>,
}

impl<'n> Streams<'n> {
    fn of(side: &'n [Run]) -> Self {
        Self {
            stdout: side.iter().map(|(_, normal)| normal.stdout.as_slice()).collect(),
            stderr: side.iter().map(|(_, normal)| normal.stderr.as_slice()).collect(),
        }
    }

    fn stream(&self, name: &str) -> &[&'n [Entry]] {
        if name == "stdout" { &self.stdout } else { &self.stderr }
    }

    /// The stream that messages stand on.
    fn place(&self) -> Option<&'static str> {
        let holds = |name: &&str| self.stream(name).iter().any(|run| run.iter().any(|e| e.kind().is_some()));
        ["stdout", "stderr"].into_iter().find(holds)
    }

    fn on(&self, name: &str) -> Vec<Vec<&'n Entry>> {
        let messages = |run: &&'n [Entry]| run.iter().filter(|entry| entry.kind().is_some()).collect();
        self.stream(name).iter().map(messages).collect()
    }

    fn example(&self, name: &str) -> Value {
        let value = |entry: &&Entry| match entry {
            Entry::Message { value, .. } => Some(shortened(value)),
            Entry::Text { .. } => None,
        };
        self.on(name).iter().flatten().find_map(value).unwrap_or_default()
    }

    /// The text of the first run that says something.
    fn text(&self, name: &str) -> String {
        let text = |run: &&[Entry]| {
            let lines = run.iter().filter_map(|entry| match entry {
                Entry::Text { text, .. } => Some(text.as_str()),
                Entry::Message { .. } => None,
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        self.stream(name).iter().map(text).find(|text| !text.is_empty()).unwrap_or_default()
    }
}
