//! `integers`: counts that are written without a fraction. `2.0` equals `2`, and still breaks readers that are typed.

use super::{JsonView, Loaded, Message, Names, Pointer, Rule, Selector, Sink, Table, Watch, pointer};

#[derive(Debug)]
struct Integers {
    on: Selector,
    at: Vec<Pointer>,
}

pub(super) fn load(fields: &Table<'_>, names: &Names<'_>) -> Loaded {
    let at = fields.need("at")?.list()?.iter().map(pointer).collect::<Result<_, _>>()?;
    Ok(Box::new(Integers { on: Selector::load(fields, "on", names)?, at }))
}

impl Rule for Integers {
    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn wants(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    fn selectors(&self) -> Option<Vec<&Selector>> {
        Some(vec![&self.on])
    }
}

impl Watch for &Integers {
    fn message(&mut self, message: &Message<'_>, sink: &mut Sink) {
        if !self.on.takes(message) {
            return;
        }
        for pointer in &self.at {
            pointer.visit(message.value, &mut |value, path| {
                if value.tested(&(), |(), value| has_fraction(value)) {
                    sink.add(|| {
                        let place = path.render();
                        let text = format!("{place} is written with a fraction");
                        message.evidence_at(&place, Some(value), text)
                    });
                }
                true
            });
        }
    }

    fn kept(&self) -> Option<u64> {
        Some(0)
    }
}

fn has_fraction(value: JsonView<'_>) -> bool {
    match value {
        JsonView::Scanned(node) => value.float().is_some() && node.raw().contains(['.', 'e', 'E']),
        JsonView::Built(value) => value.is_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn a_count_has_no_fraction() {
        check_table(&[(
            r#"{ rule = "integers", on = "a", at = ["/n", "/l/*"] }"#,
            "{\"type\":\"a\",\"n\":2,\"l\":[1,\"1.5\"]}\n{\"n\":2.5}\n",
            "{\"type\":\"a\",\"n\":2.0,\"l\":[1,2e0]}\n",
            &["1/n: /n is written with a fraction", "1/l/1: /l/1 is written with a fraction"],
        )]);
    }
}
