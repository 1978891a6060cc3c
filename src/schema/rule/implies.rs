//! `implies`: what meets one condition must meet another.

use super::super::condition::{Condition, Mask, Scope, Truth};
use super::super::finding::KEPT;
use super::{Evidence, Facts, Loaded, Message, Names, Pick, Rule, Selector, Sink, Table, Watch, excerpt};

#[derive(Debug)]
struct Implies {
    on: Selector,
    pick: Pick,
    premise: Condition,
    then: Condition,
    /// Nothing is said about messages, so the run is judged, once.
    of_run: bool,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let scope = if names.is_log { Scope::Message } else { Scope::Both };
    let premise = fields.get("if").map_or(Ok(Condition::always()), |node| Condition::load(&node, scope))?;
    let then = Condition::load(&fields.need("then")?, scope)?;
    let of_run = fields.get("on").is_none() && !premise.looks_at_messages() && !then.looks_at_messages();
    let on = Selector::load(fields, "on", names)?;
    Ok(Box::new(Implies { on, pick: Pick::load(fields)?, premise, then, of_run }))
}

impl Rule for Implies {
    fn speaks_at_end(&self) -> bool {
        self.of_run
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, open: Vec::new(), premises: Vec::new(), done: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        !self.of_run && self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

/// Messages that look alike to both conditions: what is left to decide depends on the facts alone.
struct Open {
    premise: Mask,
    then: Mask,
    /// Each with whether the message itself already fails, so that its evidence is complete.
    evidence: Vec<(Evidence, bool)>,
    more: u64,
}

struct Watching<'r> {
    rule: &'r Implies,
    open: Vec<Open>,
    /// How messages stood to the premise, each way once.
    premises: Vec<Mask>,
    done: bool,
}

impl Watching<'_> {
    fn remember(&mut self, premise: Mask, then: Mask, message: &Message<'_>) {
        let index = self.open.iter().position(|open| (open.premise, open.then) == (premise, then));
        let index = index.unwrap_or_else(|| {
            self.open.push(Open { premise, then, evidence: Vec::new(), more: 0 });
            self.open.len() - 1
        });
        let open = &mut self.open[index];
        if open.evidence.len() >= KEPT {
            open.more += 1;
            return;
        }
        let nothing = Facts::default();
        open.evidence.push(match self.rule.then.failure(Some(message.value), &nothing) {
            Some(failure) => {
                let pointer = failure.pointer.unwrap_or_default();
                let evidence = message.evidence_at(&pointer, failure.seen, failure.message);
                (Evidence { expected: Some(failure.expected), ..evidence }, true)
            }
            None => (message.evidence(String::new()), false),
        });
    }
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        if self.rule.of_run || self.done || !self.rule.on.takes(message) {
            return;
        }
        match self.rule.pick {
            Pick::Every => {}
            Pick::First => self.done = true,
            Pick::Last => self.open.clear(),
        }
        let premise = self.rule.premise.mask(message.value);
        if premise == 0 {
            return;
        }
        if !self.premises.contains(&premise) {
            self.premises.push(premise);
        }
        let then = self.rule.then.mask(message.value);
        if !self.rule.then.settled(then) {
            self.remember(premise, then, message);
        }
    }

    fn kept(&self) -> Option<u64> {
        let kept = self.open.iter().map(|open| open.evidence.len() as u64 + open.more).sum();
        (self.rule.pick == Pick::Every).then_some(kept)
    }

    fn looked(&self, facts: &Facts) -> bool {
        let premise = &self.rule.premise;
        if self.rule.of_run {
            return premise.of_run(facts) == Truth::Holds;
        }
        self.premises.iter().any(|mask| premise.decide(*mask, facts) == Truth::Holds)
    }

    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let rule = self.rule;
        if rule.of_run {
            if rule.premise.of_run(facts) == Truth::Holds
                && rule.then.of_run(facts) == Truth::Fails
                && let Some(evidence) = of_facts(&rule.then, facts)
            {
                sink.push(evidence);
            }
            return;
        }
        for open in self.open.drain(..) {
            let broken = rule.premise.decide(open.premise, facts) == Truth::Holds
                && rule.then.decide(open.then, facts) == Truth::Fails;
            if !broken {
                continue;
            }
            for (mut evidence, explained) in open.evidence {
                if !explained && let Some(fact) = of_facts(&rule.then, facts) {
                    evidence = Evidence { line: evidence.line, offset: evidence.offset, ..fact };
                }
                sink.push(evidence);
            }
            sink.count(open.more);
        }
    }
}

fn of_facts(then: &Condition, facts: &Facts) -> Option<Evidence> {
    let failure = then.failure(None, facts)?;
    Some(Evidence {
        message: failure.message,
        seen: failure.seen.map(excerpt),
        expected: Some(failure.expected),
        ..Evidence::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_table, findings};

    #[test]
    fn what_meets_one_condition_meets_the_other() {
        let of_message = r#"{ rule = "implies", on = "a", if = { "/n" = 1 }, then = { "/m" = 2 } }"#;
        check_table(&[
            (
                of_message,
                "{\"type\":\"a\",\"n\":1,\"m\":2}\n{\"type\":\"a\",\"n\":3}\n{\"type\":\"b\",\"n\":1}\n",
                "{\"type\":\"a\",\"n\":1,\"m\":3}\n",
                &["1/m: /m is 3, expected 2"],
            ),
            (
                r#"{ rule = "implies", pick = "last", if = { "/n" = 1 }, then = { exit = 1 } }"#,
                "{\"n\":1}\n{\"n\":2}\n",
                "{\"n\":1}\n",
                &["1: the exit code is 0, expected 1"],
            ),
            (
                r#"{ rule = "implies", if = { exit = 0 }, then = { kinds = { has = "a" } } }"#,
                "{\"type\":\"a\"}\n",
                "{\"type\":\"b\"}\n",
                &[": the list of kinds of message is [\"b\"], expected a list with \"a\""],
            ),
        ]);
        // A run that ended otherwise meets no premise.
        let of_run = r#"{ rule = "implies", if = { exit = 0 }, then = { messages = 0 } }"#;
        assert_eq!(findings(of_run, "{}\n", 0, ""), [": the number of messages is 1, expected 0"]);
        assert_eq!(findings(of_run, "{}\n", 1, ""), [""; 0]);
    }
}
