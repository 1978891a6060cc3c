//! `flushed`: what was said is printed when it was said, not when the run is over.
//!
//! The clock of the scripted API tells when a target went on to ask for the next answer. What it was given before that
//! has to have left it by then, but for the time that a loaded machine takes.

use std::collections::HashMap;

use serde_json::Value;

use super::super::condition::{Condition, Scope};
use super::hash::hash;
use super::{
    Evidence, Fact, Facts, JsonView, Loaded, Message, Names, Pointer, Rule, Selector, Sink, Table, Watch,
    pointer,
};

#[derive(Debug)]
struct Flushed {
    on: Selector,
    /// What a message belongs to, and what an answer is called.
    key: Pointer,
    id: Pointer,
    /// The answers that count.
    served: Condition,
    within_ms: f64,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    Ok(Box::new(Flushed {
        on: Selector::load(fields, "on", names)?,
        key: pointer(&fields.need("key")?)?,
        id: pointer(&fields.need("id")?)?,
        served: Condition::load(&fields.need("served")?, Scope::Message)?,
        within_ms: fields.need("within-ms")?.number()?,
    }))
}

impl Rule for Flushed {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, first: HashMap::new() })
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

struct Watching<'r> {
    rule: &'r Flushed,
    /// Where the first message of each answer begins.
    first: HashMap<u64, (u64, u64)>,
}

/// Answers whose first message is remembered.
const MOST: usize = 1 << 16;

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        if self.first.len() < MOST
            && self.rule.on.takes(message)
            && let Some(key) = self.rule.key.get(message.value)
        {
            self.first.entry(hash(key)).or_insert((message.line, message.offset));
        }
    }

    fn looked(&self, facts: &Facts) -> bool {
        !self.first.is_empty() && facts.get(Fact::Arrivals).is_some()
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let (Some(arrivals), Some(Value::Array(served))) =
            (facts.get(Fact::Arrivals), facts.get(Fact::Served))
        else {
            return;
        };
        let lead = arrivals["lead"].as_f64().unwrap_or_default();
        let times: Vec<(u64, f64)> = arrivals["times"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|pair| Some((pair[0].as_u64()?, pair[1].as_f64()?)))
            .collect();
        let answers: Vec<&Value> =
            served.iter().filter(|entry| self.rule.served.holds((*entry).into())).collect();
        for pair in answers.windows(2) {
            let [answer, next] = pair else { continue };
            let id = self.rule.id.get(JsonView::Built(answer)).map(hash);
            let Some((line, offset)) = id.and_then(|id| self.first.get(&id)) else { continue };
            let Some(asked) = next["at_ms"].as_f64() else { continue };
            // A chunk comes after every byte that stands before it.
            let chunk = times.iter().rev().find(|(start, _)| start <= offset);
            let Some(printed) = chunk.map(|(_, time)| time + lead) else { continue };
            let late = printed - asked;
            if late > self.rule.within_ms {
                sink.push(Evidence {
                    message: format!("printed {late:.0} ms after the next answer was asked for"),
                    line: Some(*line),
                    offset: Some(*offset),
                    expected: Some(format!("at most {} ms", self.rule.within_ms)),
                    ..Evidence::default()
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::recorded;

    /// Two answers of which the second was asked for after 100 ms, and output that came at these times.
    fn findings(arrivals: &Value, second: &Value) -> Vec<String> {
        let check = r#"{ rule = "flushed", on = "a", key = "/k", id = "/id", served = { "/ok" = true }, within-ms = 50 }"#;
        let stdout = "{\"type\":\"b\"}\n{\"type\":\"a\",\"k\":\"x\"}\n{\"type\":\"a\",\"k\":\"y\"}\n";
        let served = json!([{"id": "x", "ok": true, "at_ms": 10}, second]);
        recorded(check, &[], stdout, &json!({"served": served, "arrivals": arrivals, "api_lead_ms": 5}))
    }

    #[test]
    fn what_was_said_is_printed_before_the_next_answer_is_asked_for() {
        let second = json!({"id": "y", "ok": true, "at_ms": 100});
        // The second line begins at byte 13.
        assert_eq!(findings(&json!([[0, 5], [13, 40]]), &second), [""; 0]);
        assert_eq!(findings(&json!([[0, 5], [13, 145]]), &second), [""; 0], "as late as may be");
        let late = ["2: printed 105 ms after the next answer was asked for"];
        assert_eq!(findings(&json!([[0, 5], [13, 200]]), &second), late);
        assert_eq!(findings(&json!([[0, 200]]), &second), late, "in one chunk with the first line");
        assert_eq!(findings(&json!([[0, 5], [20, 200]]), &second), [""; 0], "its first byte came in time");
    }

    #[test]
    fn only_answers_that_count_are_waited_for() {
        let other = json!({"id": "y", "ok": false, "at_ms": 100});
        assert_eq!(findings(&json!([[0, 200]]), &other), [""; 0]);
        let untimed = json!({"id": "y", "ok": true});
        assert_eq!(findings(&json!([[0, 200]]), &untimed), [""; 0]);
        assert_eq!(findings(&Value::Null, &json!({"id": "y", "ok": true, "at_ms": 100})), [""; 0]);
    }
}
