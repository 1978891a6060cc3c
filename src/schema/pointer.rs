//! JSON pointers (RFC 6901) with one addition: a segment `*` stands for every element of an array or object.

use serde_json::Value;

/// A compiled pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    text: String,
    segments: Vec<Segment>,
    many: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Any,
    Key { name: String, index: Option<usize> },
}

/// One step from a value to a value inside it; a list of them is where something was found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

/// Where a value was found. It is put into words only for evidence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'p, 'v> {
    /// Where the pointer says.
    Written(&'p str),
    /// Where `*` led to.
    Found(&'p [Step<'v>]),
}

impl Place<'_, '_> {
    /// The place as an RFC 6901 pointer.
    pub(crate) fn render(self) -> String {
        match self {
            Self::Written(text) => text.to_string(),
            Self::Found(path) => render(path),
        }
    }
}

impl Pointer {
    /// Compiles a pointer; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err(format!("the pointer `{text}` must start with `/`"));
        }
        let segments: Vec<_> = text
            .split('/')
            .skip(1)
            .map(|part| {
                let name = part.replace("~1", "/").replace("~0", "~");
                if part == "*" { Segment::Any } else { Segment::Key { index: name.parse().ok(), name } }
            })
            .collect();
        let many = segments.contains(&Segment::Any);
        Ok(Self { text: text.to_string(), segments, many })
    }

    /// Whether the pointer can lead to several values.
    pub(crate) fn is_many(&self) -> bool {
        self.many
    }

    /// The pointer as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The one value a pointer without `*` leads to, or the first that one with `*` leads to.
    pub(crate) fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        if !self.many {
            return self.segments.iter().try_fold(value, |value, segment| segment.of(value));
        }
        let mut found = None;
        self.visit(value, &mut |value, _| {
            found = Some(value);
            false
        });
        found
    }

    /// Shows each value the pointer leads to, with its place, until `show` answers false. Answers whether all were
    /// shown.
    pub(crate) fn visit<'v>(
        &self,
        value: &'v Value,
        show: &mut dyn FnMut(&'v Value, Place<'_, 'v>) -> bool,
    ) -> bool {
        if !self.many {
            return self.get(value).is_none_or(|found| show(found, Place::Written(&self.text)));
        }
        walk(&self.segments, value, &mut Vec::new(), &mut |value, path| show(value, Place::Found(path)))
    }

    /// The name of a top-level field, when the pointer is just that.
    pub(crate) fn field(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [Segment::Key { name, .. }] => Some(name),
            _ => None,
        }
    }
}

impl Segment {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Self::Key { name, .. }, Value::Object(map)) => map.get(name),
            (Self::Key { index: Some(index), .. }, Value::Array(list)) => list.get(*index),
            _ => None,
        }
    }
}

fn walk<'v>(
    segments: &[Segment],
    value: &'v Value,
    path: &mut Vec<Step<'v>>,
    show: &mut dyn FnMut(&'v Value, &[Step<'v>]) -> bool,
) -> bool {
    let Some((segment, rest)) = segments.split_first() else {
        return show(value, path);
    };
    let mut step = |step, inner, path: &mut Vec<_>| {
        path.push(step);
        let go_on = walk(rest, inner, path, show);
        path.pop();
        go_on
    };
    match (segment, value) {
        (Segment::Any, Value::Array(list)) => {
            list.iter().enumerate().all(|(index, inner)| step(Step::Index(index), inner, path))
        }
        (Segment::Any, Value::Object(map)) => {
            map.iter().all(|(key, inner)| step(Step::Key(key), inner, path))
        }
        (Segment::Key { .. }, Value::Object(map)) => {
            let Segment::Key { name, .. } = segment else { return true };
            map.get_key_value(name).is_none_or(|(key, inner)| step(Step::Key(key), inner, path))
        }
        (Segment::Key { index: Some(index), .. }, Value::Array(list)) => {
            list.get(*index).is_none_or(|inner| step(Step::Index(*index), inner, path))
        }
        _ => true,
    }
}

/// The place as an RFC 6901 pointer.
pub(crate) fn render(path: &[Step<'_>]) -> String {
    use std::fmt::Write;
    path.iter().fold(String::new(), |mut text, step| {
        let _ = match step {
            Step::Key(key) => write!(text, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => write!(text, "/{index}"),
        };
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(pointer: &str, value: &Value) -> Vec<(String, Value)> {
        let mut all = Vec::new();
        Pointer::parse(pointer).unwrap().visit(value, &mut |value, path| {
            all.push((path.render(), value.clone()));
            true
        });
        all
    }

    #[test]
    fn a_star_is_every_element() {
        let value = json!({"a": [{"id": 1}, {"x": 0}, {"id": 2}], "b~/": 3});
        assert_eq!(found("/a/*/id", &value), [("/a/0/id".into(), json!(1)), ("/a/2/id".into(), json!(2))]);
        assert_eq!(found("/b~0~1", &value), [("/b~0~1".into(), json!(3))]);
        assert_eq!(found("", &value).len(), 1);
        assert_eq!(found("/a/7", &value), []);
    }
}
