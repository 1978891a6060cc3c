//! Where messages and texts stand.

use serde_json::Value;

use super::super::side::Side;
use super::{Comparison, Sides};
use crate::schema::policy::Kind;

impl<'r> Comparison<'r> {
    /// Where messages and texts stand, and then the messages themselves.
    pub(super) fn channels(&mut self, before: &'r Side, after: &'r Side) {
        let text = |side: &'r Side, name: &str| side.stream(name).text();
        match (before.place(), after.place()) {
            (Some(was), Some(is)) if was != is => {
                let summary = format!("what stood on {was} stands on {is}");
                self.add(Kind::Channel, None, was, Sides::values(was.into(), is.into()), summary);
                self.messages(&before.stream(was).messages, &after.stream(is).messages);
            }
            (Some(was), Some(_)) => {
                self.messages(&before.stream(was).messages, &after.stream(was).messages);
                if was == "stdout" {
                    self.text_among(before, after);
                }
            }
            (Some(was), None) => {
                let now = text(after, "stdout");
                let what = if now.is_empty() { "nothing is printed" } else { "it is text" };
                let summary = format!("{was} was JSON, and now {what}");
                let sides = Sides::values(before.stream(was).example.clone(), now.shown());
                self.add(Kind::Form, None, what, sides, summary);
            }
            (None, Some(is)) if !text(before, is).is_empty() => {
                let sides = Sides::values(text(before, is).shown(), after.stream(is).example.clone());
                self.add(Kind::Form, None, "json", sides, format!("{is} was text, and now is JSON"));
            }
            (None, Some(is)) => self.messages(self.nothing, &after.stream(is).messages),
            (None, None) => self.text(before, after, "stdout"),
        }
        self.text(before, after, "stderr");
    }

    fn text_among(&mut self, before: &Side, after: &Side) {
        let (was, is) = (before.stdout.text(), after.stdout.text());
        if was.is_empty() && !is.is_empty() {
            let sides = Sides::values(Value::Null, is.shown());
            self.place.message = Some("stdout".into());
            self.add(Kind::TextAmongMessages, None, "", sides, "text stands among the messages".into());
            self.place.message = None;
        } else {
            self.text(before, after, "stdout");
        }
    }

    fn text(&mut self, before: &Side, after: &Side, stream: &str) {
        let (was, is) = (before.stream(stream).text(), after.stream(stream).text());
        if was == is {
            return;
        }
        let summary = match (was.is_empty(), is.is_empty()) {
            (true, _) => format!("{stream} was silent, and now says something"),
            (_, true) => format!("{stream} said something, and now is silent"),
            _ => format!("{stream} says something else"),
        };
        let sides = Sides::values(was.shown(), is.shown());
        self.place.message = Some(stream.to_owned());
        self.add(Kind::TextChanged, None, &summary.clone(), sides, summary);
        self.place.message = None;
    }
}
