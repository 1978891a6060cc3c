//! Asking whether fields are there and what they are.

use std::borrow::Cow;

use crate::json::{Kind, Node};

/// A string with something in it.
pub(crate) fn nonblank(node: Option<Node<'_>>) -> Option<Cow<'_, str>> {
    node.and_then(Node::text).filter(|text| !text.trim().is_empty())
}

/// Whether the value is a string with something in it, decoded only where its start does not tell.
pub(super) fn is_nonblank(node: Node<'_>) -> bool {
    let starts = node.raw().as_bytes().get(1);
    let plain = starts.is_some_and(u8::is_ascii_alphanumeric);
    node.kind() == Kind::String && (plain || nonblank(Some(node)).is_some())
}

/// A number that is not negative.
pub(super) fn amount(node: Option<Node<'_>>) -> Option<f64> {
    node.and_then(Node::float).filter(|number| *number >= 0.0)
}

/// Whether a list of artifacts is one of objects with `path` and `type`; the place of the first that is not.
pub(super) fn bad_artifact(artifacts: Node<'_>) -> Option<String> {
    if artifacts.kind() != Kind::Array {
        return Some("artifacts is no list".into());
    }
    artifacts.items().enumerate().find_map(|(at, artifact)| {
        let wrong = ["path", "type"].into_iter().find(|key| nonblank(artifact.get(key)).is_none());
        let size = artifact.get("size_bytes");
        let odd_size = size.is_some() && amount(size).is_none();
        match wrong {
            Some(key) => Some(format!("artifact {} has no {key}", at + 1)),
            None if odd_size => Some(format!("size_bytes of artifact {} is no number from 0 up", at + 1)),
            None => None,
        }
    })
}

/// `a is`, or `a, b and c are`.
pub(super) fn list_is(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("{one} is"),
        [most @ .., last] => format!("{} and {last} are", most.join(", ")),
    }
}
