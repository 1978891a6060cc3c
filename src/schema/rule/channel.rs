//! `channel`: what may stand on standard error.

use serde_json::Value;

use super::super::frame::json_object_in;
use super::{Evidence, Fact, Facts, Loaded, Names, Rule, Sink, Table, Watch, choice, shorten};

#[derive(Debug, Clone, Copy)]
enum Channel {
    Silent,
    NoJson,
}

pub(super) fn load(fields: &Table<'_>, _: &Names<'_>) -> Loaded {
    let words = [("silent", Channel::Silent), ("no-json", Channel::NoJson)];
    Ok(Box::new(choice(&fields.need("stderr")?, &words)?))
}

impl Rule for Channel {
    fn speaks_at_end(&self) -> bool {
        true
    }

    fn watch(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn wants(&self, _: Option<usize>) -> bool {
        false
    }
}

impl Watch for &Channel {
    fn finish(&mut self, facts: &Facts, sink: &mut Sink) {
        let Some(stderr) = facts.get(Fact::Stderr).and_then(Value::as_str) else { return };
        let (what, seen) = match self {
            Channel::Silent if stderr.is_empty() => return,
            Channel::Silent => ("stderr is not silent", stderr),
            Channel::NoJson => match json_object_in(stderr) {
                Some(object) => ("stderr holds a JSON object", object),
                None => return,
            },
        };
        sink.push(Evidence {
            message: format!("{what}: {}", shorten(seen.lines().next().unwrap_or_default())),
            seen: Some(shorten(seen).into()),
            expected: Some("nothing on stderr".into()),
            ..Evidence::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings;

    #[test]
    fn stderr_is_silent_or_for_people() {
        let said = |policy: &str, stderr: &str| {
            findings(&format!("{{ rule = \"channel\", stderr = \"{policy}\" }}"), "{}\n", 0, stderr)
        };
        assert_eq!(said("silent", ""), [""; 0]);
        assert_eq!(said("silent", "oh\nno"), [": stderr is not silent: oh"]);
        assert_eq!(said("no-json", "oh {no}"), [""; 0]);
        assert_eq!(said("no-json", "oh\n{\"a\":1}\n"), [": stderr holds a JSON object: {\"a\":1}"]);
    }
}
