//! `framing`: rules about the bytes around and inside the JSON.

use super::super::finding::{Evidence, Sink};
use super::super::frame::{FrameOddity, OddityName};
use super::super::tree::{Fields, FileError, suggestion};
use super::{Names, Rule, Watch};

#[derive(Debug)]
struct Framing(Vec<OddityName>);

pub(super) fn load(fields: &Fields<'_>, _: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let node = fields.need("oddity")?;
    let wanted = node.strings()?;
    let named = wanted.iter().map(|name| {
        OddityName::from_name(name).ok_or_else(|| {
            let hint = suggestion(name, &OddityName::names());
            node.error(format_args!("no oddity `{name}`{hint}"))
        })
    });
    Ok(Box::new(Framing(named.collect::<Result<_, _>>()?)))
}

impl Rule for Framing {
    fn speaks_of_bytes(&self) -> bool {
        true
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching(self))
    }

    fn wants(&self, _: Option<usize>) -> bool {
        false
    }
}

struct Watching<'r>(&'r Framing);

impl Watch for Watching<'_> {
    fn oddity(&mut self, oddity: &FrameOddity, sink: &mut Sink) {
        if self.0.0.contains(&oddity.name) {
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
