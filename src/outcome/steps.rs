//! What an agent said and did, message by message, for whoever shows or counts it.

use serde_json::Value;

use super::table::{Join, Table, Take};
use crate::json::{JsonView, Pointer};
use crate::stream_json::Line;

/// One thing that an agent said or did.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// It said this; a piece goes on what was said before it.
    Text { text: String, is_piece: bool },
    /// It called a tool, with this input or null.
    Call { id: String, name: String, input: Value },
    /// A tool answered, with this text.
    Answer { id: String, failed: bool, output: String },
}

impl Table {
    /// Shows what a line of a stream says of the work.
    pub(crate) fn steps(&self, line: &Line<'_>, see: &mut dyn FnMut(Step)) {
        let Some(message) = line.message() else { return };
        let message = JsonView::Scanned(message.root());
        let text = |at: &Pointer| {
            let value = at.get(message);
            value.map(|value| value.text().map_or_else(|| value.to_value().to_string(), Into::into))
        };
        for take in self.of(message) {
            match take {
                Take::Text { at, join } => {
                    if let Some(text) = text(at) {
                        see(Step::Text { text, is_piece: *join == Join::Deltas });
                    }
                }
                Take::Call { id, name, input } => {
                    let input = input.as_ref().and_then(|at| at.get(message));
                    see(Step::Call {
                        id: text(id).unwrap_or_default(),
                        name: text(name).unwrap_or_default(),
                        input: input.map_or(Value::Null, |input| input.to_value().into_owned()),
                    });
                }
                Take::Answer { id, failed, output, .. } => see(Step::Answer {
                    id: text(id).unwrap_or_default(),
                    failed: failed.as_ref().is_some_and(|failed| failed.holds(message)),
                    output: output.as_ref().and_then(text).unwrap_or_default(),
                }),
                _ => {}
            }
        }
    }
}
