//! A request as every API means it: who said what, which tools were called, and what they returned.

use std::borrow::Cow;

/// What a request for an answer says.
#[derive(Debug, Default)]
pub(crate) struct Conversation<'b> {
    /// The sub-agent that asks.
    pub(crate) agent: Option<&'b str>,
    pub(crate) model: &'b str,
    /// Whether a stream is asked for.
    pub(crate) stream: bool,
    /// The limit on output.
    pub(crate) max_tokens: Option<u64>,
    /// All system text, wherever it stands.
    pub(crate) system: Vec<&'b str>,
    /// What was said, without the system text.
    pub(crate) said: Vec<Said<'b>>,
    /// How many messages or items the request lists.
    pub(crate) listed: usize,
    /// How many tools are offered.
    pub(crate) tools: usize,
    /// The type of the first tool, where it has one.
    pub(crate) first_tool: &'b str,
}

/// Who says something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Speaker {
    #[default]
    User,
    Model,
    /// In a role that no API knows.
    Other,
}

/// One message.
#[derive(Debug, Default)]
pub(crate) struct Said<'b> {
    pub(crate) by: Speaker,
    pub(crate) text: Vec<&'b str>,
    /// The tools that the model called.
    pub(crate) calls: Vec<Call<'b>>,
    /// What the tools returned.
    pub(crate) results: Vec<Returned<'b>>,
}

/// A tool that the model called.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Call<'b> {
    /// Its id; its name where the API knows no ids.
    pub(crate) id: &'b str,
    pub(crate) name: &'b str,
}

/// What a tool returned.
#[derive(Debug, Clone, Default)]
pub(crate) struct Returned<'b> {
    /// The id of the call.
    pub(crate) call: &'b str,
    pub(crate) text: Cow<'b, str>,
    /// Whether it reports an error, where the API can say so.
    pub(crate) is_error: bool,
}

impl<'b> Conversation<'b> {
    /// Adds a part to what this speaker is saying, or begins a new message of his. For APIs that list parts, not messages.
    pub(crate) fn saying(&mut self, by: Speaker) -> &mut Said<'b> {
        if self.said.last().is_none_or(|last| last.by != by) {
            self.said.push(Said { by, ..Said::default() });
        }
        let last = self.said.len() - 1;
        &mut self.said[last]
    }

    /// The name of the tool that a call asked for; empty when there is no such call.
    pub(crate) fn tool_of(&self, call: &str) -> &'b str {
        let mut calls = self.said.iter().flat_map(|said| &said.calls);
        calls.find(|known| known.id == call).map_or("", |known| known.name)
    }

    /// The calls that nothing answers before the model speaks again, and the results that answer no call, by their ids.
    pub(crate) fn loose_ends(&self) -> (Vec<&'b str>, Vec<&'b str>) {
        let (mut open, mut unanswered, mut unasked): (Vec<&str>, Vec<&str>, Vec<&str>) = Default::default();
        for said in &self.said {
            if said.by == Speaker::Model {
                unanswered.append(&mut open);
            }
            open.extend(said.calls.iter().map(|call| call.id));
            for result in &said.results {
                match open.iter().position(|id| *id == result.call) {
                    Some(at) => _ = open.remove(at),
                    None => unasked.push(result.call),
                }
            }
        }
        unanswered.append(&mut open);
        (unanswered, unasked)
    }
}

/// Texts below each other, empty ones left out.
pub(crate) fn joined<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut joined = String::new();
    for text in texts {
        if !joined.is_empty() && !text.is_empty() {
            joined.push('\n');
        }
        joined.push_str(text);
    }
    joined
}
