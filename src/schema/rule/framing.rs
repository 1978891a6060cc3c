//! `framing`: rules about the bytes around and inside the JSON.

use super::super::frame::{FrameOddity, OddityName};
use super::{Evidence, Loaded, Names, Rule, Sink, Table, Watch};
use crate::text::did_you_mean;

#[derive(Debug)]
struct Framing(Vec<OddityName>);

pub(super) fn load(fields: &Table<'_>, _: &Names<'_>) -> Loaded {
    let node = fields.need("oddity")?;
    let wanted = node.strings()?;
    let named = wanted.iter().map(|name| {
        OddityName::from_name(name).ok_or_else(|| {
            let hint = did_you_mean(name, &OddityName::names());
            node.complain(format_args!("no oddity `{name}`{hint}"))
        })
    });
    Ok(Box::new(Framing(named.collect::<Result<_, _>>()?)))
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
    fn oddity(&mut self, oddity: &FrameOddity, sink: &mut Sink) {
        if self.0.contains(&oddity.name) {
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
