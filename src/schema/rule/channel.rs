//! `channel`: what may stand on standard error.

use serde_json::Value;

use super::super::facts::{Fact, Facts};
use super::super::finding::{Evidence, Sink, shorten};
use super::super::frame::json_object_in;
use super::super::tree::{Fields, FileError};
use super::{Names, Rule, Watch};

#[derive(Debug, Clone, Copy)]
enum Channel {
    Silent,
    NoJson,
}

pub(super) fn load(fields: &Fields<'_>, _: &Names<'_>) -> Result<Box<dyn Rule>, FileError> {
    let node = fields.need("stderr")?;
    Ok(Box::new(match node.str()? {
        "silent" => Channel::Silent,
        "no-json" => Channel::NoJson,
        other => return Err(node.error(format_args!("`{other}` is none of silent, no-json"))),
    }))
}

impl Rule for Channel {
    fn speaks_at_end(&self) -> bool {
        true
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(Watching(*self))
    }

    fn wants(&self, _: Option<usize>) -> bool {
        false
    }
}

struct Watching(Channel);

impl Watch for Watching {
    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let Some(stderr) = facts.get(Fact::Stderr).and_then(Value::as_str) else { return };
        let found = match self.0 {
            Channel::Silent if stderr.is_empty() => return,
            Channel::Silent => ("stderr is not silent", stderr),
            Channel::NoJson => match json_object_in(stderr) {
                Some(object) => ("stderr holds a JSON object", object),
                None => return,
            },
        };
        sink.push(Evidence {
            message: format!("{}: {}", found.0, shorten(found.1.lines().next().unwrap_or_default())),
            seen: Some(shorten(found.1).into()),
            expected: Some("nothing on stderr".into()),
            ..Evidence::default()
        });
    }
}
