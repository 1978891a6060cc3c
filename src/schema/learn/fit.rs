//! Whether a run speaks the protocol of a learned contract at all: what is not there breaks no schema.

use serde_json::Value;

use super::super::contract::{Contract, Protocol};
use super::super::finding::{Evidence, Finding, Level};
use super::super::fixture::Sample;

/// How a run fits a learned contract.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub(crate) enum Fit {
    /// It did not ask for the output that the contract is about.
    NotAsked,
    /// It holds messages and nothing else.
    Messages,
    /// It holds something else, or nothing.
    Misfit(Box<Finding>),
}

impl Fit {
    /// Looks at what a run printed. What the messages are like is for the clauses to say.
    pub(crate) fn of(contract: &Contract, sample: &Sample) -> Self {
        let words = sample.argv.as_deref().and_then(|argv| argv.get(1..));
        if contract.protocol == Protocol::Document
            && words.is_some_and(|words| !contract.invocation.read(words, &sample.run()).json)
        {
            return Self::NotAsked;
        }
        let text = String::from_utf8_lossy(&sample.stdout);
        let is_message =
            |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
        let misfit = |message: String, line| {
            let evidence = Evidence { message, line, ..Evidence::default() };
            let clause = format!("{}/known-kinds", contract.name);
            Self::Misfit(Box::new(evidence.finding(clause, Level::Note)))
        };
        if text.trim().is_empty() {
            return misfit("the run printed nothing".into(), None);
        }
        match contract.protocol {
            Protocol::Document if is_message(&text) => Self::Messages,
            Protocol::Document | Protocol::Text => misfit("stdout is not one JSON object".into(), None),
            Protocol::Stream | Protocol::Events => {
                let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
                match lines.find(|(_, line)| !is_message(line)) {
                    Some((at, _)) => misfit("the line is no JSON object".into(), Some(at as u64 + 1)),
                    None => Self::Messages,
                }
            }
        }
    }
}
