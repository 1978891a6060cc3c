//! `exactly-one`, `at-least-one` and `at-most`: rules about how many messages there are.

use super::{Evidence, Facts, Loaded, Message, Names, Rule, Selector, Sink, Table, Watch};

#[derive(Debug)]
struct Count {
    on: Selector,
    what: String,
    only_one: bool,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>, only_one: bool) -> Loaded {
    let on = Selector::need(fields, "on", names)?;
    let what = on.named(names).unwrap_or_else(|| "such".into());
    Ok(Box::new(Count { on, what, only_one }))
}

impl Rule for Count {
    fn speaks_at_end(&self) -> bool {
        true
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching { rule: self, seen: false })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

struct Watching<'r> {
    rule: &'r Count,
    seen: bool,
}

impl Watch for Watching<'_> {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        if !self.rule.on.takes(message) {
            return;
        }
        if self.seen && self.rule.only_one {
            sink.add(|| message.evidence(format!("{} comes again", message.title())));
        }
        self.seen = true;
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        if !self.seen {
            let message = format!("there is no {} message", self.rule.what);
            sink.push(Evidence { message, ..Evidence::default() });
        }
    }
}

/// Messages of which there are no more than of others. Where there is none of the others, nothing is said.
#[derive(Debug)]
struct AtMost {
    on: Selector,
    per: Selector,
    what: String,
    per_what: String,
}

pub(super) fn load_at_most(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let [on, per] = [Selector::need(fields, "on", names)?, Selector::need(fields, "per", names)?];
    let [what, per_what] = [&on, &per].map(|messages| messages.named(names).unwrap_or_else(|| "such".into()));
    Ok(Box::new(AtMost { on, per, what, per_what }))
}

impl Rule for AtMost {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Counting { rule: self, seen: 0, others: 0, last: Evidence::default() })
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind) || self.per.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on, &self.per])
    }
}

struct Counting<'r> {
    rule: &'r AtMost,
    seen: u64,
    others: u64,
    /// Where the last of the counted ones is.
    last: Evidence,
}

impl Watch for Counting<'_> {
    fn message(&mut self, message: &Message<'_>, _: &mut Sink) {
        if self.rule.on.takes(message) {
            self.seen += 1;
            self.last = message.evidence(String::new());
        }
        self.others += u64::from(self.rule.per.takes(message));
    }

    fn finish(&mut self, _: &Facts, sink: &mut Sink) {
        let AtMost { what, per_what, .. } = self.rule;
        if self.others > 0 && self.seen > self.others {
            sink.push(Evidence {
                message: format!(
                    "there are {} {what} messages, but only {} {per_what}",
                    self.seen, self.others
                ),
                expected: Some(format!("at most {}", self.others)),
                ..std::mem::take(&mut self.last)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    const A: &str = "{\"type\":\"a\"}\n";
    const B: &str = "{\"type\":\"b\"}\n";

    #[test]
    fn messages_are_counted() {
        let joined = |parts: &[&str]| parts.concat();
        let exactly = r#"{ rule = "exactly-one", on = ["a"] }"#;
        check_table(&[
            (exactly, &joined(&[A, B]), &joined(&[A, B, A]), &["3: an a message comes again"]),
            (exactly, A, B, &[": there is no a message"]),
            (
                r#"{ rule = "at-least-one", on = ["a", "b"] }"#,
                &joined(&[A, A]),
                "{}\n",
                &[": there is no a or b message"],
            ),
            (
                r#"{ rule = "at-most", on = "a", per = "b" }"#,
                &joined(&[A, B]),
                &joined(&[A, B, A]),
                &["3: there are 2 a messages, but only 1 b"],
            ),
            // Without one of the others nothing is said.
            (
                r#"{ rule = "at-most", on = "a", per = "b" }"#,
                &joined(&[A, A]),
                &joined(&[A, A, B]),
                &["2: there are 2 a messages, but only 1 b"],
            ),
        ]);
    }
}
