//! `during`: a time that lies within the run, as the clock of the harness saw it.

use serde_json::Value;

use super::{
    Evidence, Fact, Facts, Loaded, Message, Names, Pointer, Rule, Selector, Sink, Table, Watch, pointer,
};
use crate::time::{self, Millis};

#[derive(Debug)]
struct During {
    on: Selector,
    at: Pointer,
    /// How far two clocks of one machine may differ.
    slack_ms: Millis,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    Ok(Box::new(During {
        on: Selector::load(fields, "on", names)?,
        at: pointer(&fields.need("at")?)?,
        slack_ms: fields.get("slack-ms").map_or(Ok(0), |node| node.integer())?,
    }))
}

impl Rule for During {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, earliest: None, latest: None })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn needs_recording(&self) -> bool {
        true
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

/// The earliest and the latest time are enough: what is between them is within the run if they are.
struct Watching<'r> {
    rule: &'r During,
    earliest: Option<(Millis, Evidence)>,
    latest: Option<(Millis, Evidence)>,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        if !self.rule.on.takes(message) {
            return;
        }
        // That it is a time at all is the schema's business.
        let Some(value) = self.rule.at.get(message.value) else { return };
        let Some((time, _)) = value.text().and_then(|text| time::parse(&text)) else { return };
        let evidence = || message.evidence_at(self.rule.at.text(), Some(value), String::new());
        if self.earliest.as_ref().is_none_or(|(known, _)| time < *known) {
            self.earliest = Some((time, evidence()));
        }
        if self.latest.as_ref().is_none_or(|(known, _)| time > *known) {
            self.latest = Some((time, evidence()));
        }
    }

    fn looked(&self, facts: &Facts) -> bool {
        self.earliest.is_some() && facts.get(Fact::StartedAt).is_some()
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let started = facts.get(Fact::StartedAt).and_then(|at| time::parse(at.as_str()?));
        let duration = facts.get(Fact::Duration).and_then(Value::as_i64);
        let (Some((started, _)), Some(duration)) = (started, duration) else { return };
        let slack = self.rule.slack_ms;
        let shown = facts.get(Fact::StartedAt).map(ToString::to_string).unwrap_or_default();
        let run = format!("a time within the run, which began at {shown} and took {duration} ms");
        for (time, evidence) in self.earliest.take().into_iter().chain(self.latest.take()) {
            if time >= started - slack && time <= started + duration + slack {
                continue;
            }
            let message = format!("{} is not within the run", self.rule.at.text());
            sink.push(Evidence { message, expected: Some(run.clone()), ..evidence });
        }
    }
}
