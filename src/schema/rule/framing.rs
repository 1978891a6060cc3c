//! `framing`: rules about the bytes around and inside the JSON.

use super::super::frame::{FramingProblem, WORDS};
use super::{Evidence, Loaded, Names, Rule, Sink, Table, Watch};
use crate::json::Problem;
use crate::text::did_you_mean;

#[derive(Debug)]
struct Framing(Vec<Problem>);

pub(super) fn load(fields: &Table<'_>, _: &Names<'_>) -> Loaded {
    let node = fields.need("oddity")?;
    let mut problems = Vec::new();
    for name in node.strings()? {
        let Some((_, named)) = WORDS.iter().find(|(word, _)| *word == name) else {
            let hint = did_you_mean(&name, &WORDS.map(|(word, _)| word));
            return Err(node.complain(format_args!("no oddity `{name}`{hint}")));
        };
        problems.extend_from_slice(named);
    }
    Ok(Box::new(Framing(problems)))
}

impl Rule for Framing {
    fn speaks_of_bytes(&self) -> bool {
        true
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn wants(&self, _: Option<usize>) -> bool {
        false
    }
}

impl Watch for &Framing {
    fn oddity(&mut self, oddity: &FramingProblem, sink: &mut Sink) {
        if self.0.contains(&oddity.problem) {
            sink.push(Evidence {
                message: oddity.message.clone(),
                line: Some(oddity.line),
                offset: Some(oddity.offset),
                seen: oddity.seen.clone().map(Into::into),
                ..Evidence::default()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_table;

    #[test]
    fn only_the_named_oddities_are_told() {
        check_table(&[
            (
                r#"{ rule = "framing", oddity = "duplicate-key" }"#,
                "{\"a\":NaN}\n",
                "{\"a\":1,\"a\":2}\n",
                &["1: duplicate key at byte 7 of line 1"],
            ),
            (
                r#"{ rule = "framing", oddity = ["syntax", "no-newline"] }"#,
                "{}\n",
                "oh\n{}",
                &["1: line 1 is not JSON: expected a value at byte 0", "2: no newline ends line 2"],
            ),
        ]);
    }
}
