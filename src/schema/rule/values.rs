//! Values picked out of what a run printed, or out of what was recorded of it, each under the key of what it belongs to.
//!
//! ```toml
//! { on = "assistant", each = "/message/content", where = { "/type" = "text" }, at = "/text", key = "/message/id" }
//! { from = "served", on = { "/status" = 200 }, each = "/content", where = { "/type" = "text" }, at = "/text", key = "/id" }
//! ```

use serde_json::Value;

use super::super::condition::{Condition, Scope, pointer};
use super::collector::entries;
use super::hash::hash_at;
use super::reading::Reading;
use super::select::{Elements, Selector};
use super::{Fact, Facts, FileError, Item, JsonView, Names, Pointer, Table, choice};
use crate::text::did_you_mean;

/// Which values: those of each part, one part after the other.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) parts: Vec<Part>,
    /// Whether whole texts are kept, because they are searched.
    pub(super) keeps_text: bool,
    /// Whether only totals matter: one for each part, key and, where it is picked by that, entry.
    pub(super) sums: bool,
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) origin: Origin,
    pub(super) elements: Elements,
    /// What takes every message that has a value, and few others; where every message counts, it takes all of them.
    gate: Option<Selector>,
    pub(super) at: Vec<At>,
    pub(super) key: Option<Key>,
    /// Texts with the same key and the same value here are one text.
    pub(super) join: Option<Pointer>,
    /// What ends such a text, so that the next one begins.
    pub(super) until: Option<Until>,
    pub(super) reading: Reading,
    /// Each value counts as one.
    pub(super) count: bool,
    /// Nobody knows what belongs to this key, so that anything may.
    pub(super) open: bool,
    pub(super) pick: Which,
}

/// Which of the messages or entries that are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Every,
    First,
    Last,
    ButLast,
}

/// Where values come from.
#[derive(Debug)]
pub(super) enum Origin {
    Printed(Selector),
    Recorded(Fact, Condition),
    /// The contract itself says them.
    Literal(Value),
}

/// What stands between two texts that are joined apart.
#[derive(Debug)]
pub(super) enum Until {
    /// A message.
    Printed(Selector),
    /// An element of a recorded list.
    Element(Condition),
}

#[derive(Debug)]
pub(super) enum At {
    Value(Pointer),
    /// The name of the member that the element is.
    Name,
}

/// What a value belongs to.
#[derive(Debug)]
pub(super) enum Key {
    Here(Pointer),
    /// A place in the element, not in the message or entry around it.
    Element(Pointer),
    /// What an earlier message named: the latest one with the same value at `per`.
    Latest {
        on: Selector,
        at: Pointer,
        per: Option<Pointer>,
    },
}

impl Values {
    /// Reads one part, or a list of them.
    pub(super) fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let nodes = if node.is_list() { node.list()? } else { vec![node.clone()] };
        let parts = nodes.iter().map(|node| Part::load(node, names)).collect::<Result<Vec<_>, _>>()?;
        if parts.is_empty() {
            return Err(node.complain("names no values"));
        }
        Ok(Self { parts, keeps_text: false, sums: false })
    }

    /// Keeps whole texts, for a rule that searches them.
    pub(super) fn keeping_text(self) -> Self {
        Self { keeps_text: true, ..self }
    }

    /// Keeps totals instead of values, for a rule that adds them up.
    pub(super) fn summing(self) -> Self {
        Self { sums: true, ..self }
    }

    pub(super) fn may_take(&self, kind: Option<usize>) -> bool {
        self.parts.iter().any(|part| {
            let from = matches!(&part.origin, Origin::Printed(on) if on.may_take(kind));
            let ends = matches!(&part.until, Some(Until::Printed(on)) if on.may_take(kind));
            from || ends || matches!(&part.key, Some(Key::Latest { on, .. }) if on.may_take(kind))
        })
    }

    /// Whether all that is asked of one message is what that message says.
    pub(super) fn are_of_one_message(&self) -> bool {
        self.parts.iter().all(|part| {
            matches!(part.origin, Origin::Printed(_))
                && part.pick == Which::Every
                && part.until.is_none()
                && !matches!(part.key, Some(Key::Latest { .. }))
        })
    }

    /// What takes messages for them.
    pub(super) fn selectors(&self) -> impl Iterator<Item = &Selector> {
        self.parts.iter().flat_map(|part| {
            let printed = match &part.origin {
                Origin::Printed(on) => Some(part.gate.as_ref().unwrap_or(on)),
                Origin::Recorded(..) | Origin::Literal(_) => None,
            };
            let latest = match &part.key {
                Some(Key::Latest { on, .. }) => Some(on),
                _ => None,
            };
            let until = match &part.until {
                Some(Until::Printed(on)) => Some(on),
                Some(Until::Element(_)) | None => None,
            };
            printed.into_iter().chain(latest).chain(until)
        })
    }

    /// Whether a recording is needed to know them.
    pub(super) fn is_recorded(&self) -> bool {
        self.parts.iter().any(|part| matches!(&part.origin, Origin::Recorded(fact, _) if fact.is_recorded()))
    }

    /// Whether there are any among what is known of the run besides its messages.
    pub(super) fn are_told(&self, facts: &Facts) -> bool {
        self.parts.iter().any(|part| match &part.origin {
            Origin::Printed(_) => false,
            Origin::Literal(_) => true,
            // Bodies may be large, and every one of them asks for something.
            Origin::Recorded(fact @ Fact::Requests, _) => facts.get(*fact).is_some(),
            Origin::Recorded(fact, on) => {
                let mut found = false;
                for entry in facts.get(*fact).into_iter().flat_map(entries).filter(|entry| on.holds(*entry)) {
                    part.elements.visit(entry, &mut |element, name, _| {
                        part.visit(element, name, &mut |_, _| found = true);
                    });
                }
                found
            }
        })
    }

    /// The values in a sentence: what is true of them, and what is true of a value that is none of them.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        match self.parts.first().map(|part| &part.origin) {
            Some(Origin::Recorded(Fact::Served, _)) => ("was served", "was not served"),
            Some(Origin::Recorded(Fact::Requests, _)) => ("was sent to the API", "is in no request"),
            Some(Origin::Recorded(Fact::Sent, _)) => ("was sent", "was not sent"),
            Some(Origin::Recorded(Fact::Prompt, _)) => ("is the prompt", "is not the prompt"),
            Some(Origin::Recorded(Fact::Stdin, _)) => ("stood on standard input", "is not on standard input"),
            Some(Origin::Recorded(Fact::Flags, _)) => ("was given as a flag", "was given as no flag"),
            Some(Origin::Recorded(Fact::Mcp, _)) => {
                ("is known of an MCP server", "is known of no MCP server")
            }
            Some(Origin::Recorded(..)) => ("was recorded", "was not recorded"),
            Some(Origin::Literal(_)) => ("is promised", "that is not what is promised"),
            _ => ("is printed", "is not printed"),
        }
    }
}

impl Values {
    /// What one entry among them is called.
    pub(super) fn entry(&self) -> &'static str {
        match self.parts.first().map(|part| &part.origin) {
            Some(Origin::Recorded(Fact::Requests, _)) => "request",
            Some(Origin::Recorded(Fact::Served, _)) => "answer",
            _ => "number",
        }
    }
}

impl Part {
    fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let fields = node.table()?;
        if let Some(literal) = fields.get("literal") {
            let part = Self::literal(literal.json()?);
            fields.finish()?;
            return Ok(part);
        }
        let origin = match fields.get("from") {
            None => Origin::Printed(Selector::load(&fields, "on", names)?),
            Some(from) => {
                let name = from.str()?;
                let fact = Fact::from_name(name).ok_or_else(|| {
                    from.complain(format_args!("no fact `{name}`{}", did_you_mean(name, &Fact::names())))
                })?;
                let on = fields.get("on");
                let on = on.map_or(Ok(Condition::always()), |node| Condition::load(&node, Scope::Message))?;
                Origin::Recorded(fact, on)
            }
        };
        let at = |node: &Item<'_>| match node.str()? {
            "name" => Ok(At::Name),
            _ => pointer(node).map(At::Value),
        };
        let place = fields.need("at")?;
        let switch = |key| fields.get(key).map_or(Ok(false), |node| node.bool());
        let elements = Elements::load(&fields)?;
        let pick = fields.get("pick").map_or(Ok(Which::Every), |node| choice(&node, &WHICH))?;
        // Which of the messages is the first or the last depends on those without a value as well.
        let gate = match &origin {
            Origin::Printed(on) if pick == Which::Every => elements.gate(on, names),
            _ => None,
        };
        let part = Self {
            elements,
            gate,
            at: if place.is_list() {
                place.list()?.iter().map(at).collect::<Result<_, _>>()?
            } else {
                vec![at(&place)?]
            },
            key: match fields.get("id") {
                Some(node) => Some(Key::Element(pointer(&node)?)),
                None => fields.get("key").map(|node| Key::load(&node, names)).transpose()?,
            },
            join: fields.get("join").as_ref().map(pointer).transpose()?,
            until: fields.get("until").map(|node| Until::load(&node, &origin, &fields, names)).transpose()?,
            reading: Reading::load(&fields)?,
            count: switch("count")?,
            open: switch("open")?,
            pick,
            origin,
        };
        fields.finish()?;
        Ok(part)
    }

    fn literal(values: Value) -> Self {
        Self {
            origin: Origin::Literal(values),
            elements: Elements::all(),
            gate: None,
            at: Vec::new(),
            key: None,
            join: None,
            until: None,
            reading: Reading::default(),
            count: false,
            open: false,
            pick: Which::Every,
        }
    }

    /// The key that the element itself has.
    pub(super) fn key_in(&self, element: JsonView<'_>) -> Option<u64> {
        match &self.key {
            Some(Key::Element(at)) => Some(hash_at(Some(at), element)),
            _ => None,
        }
    }

    /// The place of its values in an element, when they are compared as they stand there: neither put together, nor taken
    /// apart, nor read as something else.
    pub(super) fn plain_place(&self) -> Option<&Pointer> {
        match self.at.as_slice() {
            [At::Value(place)] if self.join.is_none() && self.reading.is_plain() => Some(place),
            _ => None,
        }
    }

    /// The one place of its values in an element, when they are texts that are only put together.
    pub(super) fn joined_place(&self) -> Option<&Pointer> {
        match self.at.as_slice() {
            [At::Value(place)] if !place.is_many() && self.reading.is_whole() => Some(place),
            _ => None,
        }
    }

    /// Shows the values at an element, each with its place in it.
    pub(super) fn visit(
        &self,
        element: JsonView<'_>,
        name: Option<&str>,
        show: &mut dyn FnMut(Value, String),
    ) {
        let one = |at: &At| match at {
            At::Name => name.map(Value::from),
            At::Value(pointer) => pointer.get(element).map(|value| value.to_value().into_owned()),
        };
        match self.at.as_slice() {
            [At::Value(pointer)] => {
                pointer.visit(element, &mut |value, place| {
                    let value = value.to_value().into_owned();
                    self.reading.take_apart(value, &mut |value| show(value, place.render()));
                    true
                });
            }
            [At::Name] => {
                if let Some(name) = name {
                    show(name.into(), String::new());
                }
            }
            several => {
                let all: Vec<_> = several.iter().map(|at| one(at).unwrap_or_default()).collect();
                if all.iter().any(|value| !value.is_null()) {
                    show(Value::Array(all), String::new());
                }
            }
        }
    }
}

const WHICH: [(&str, Which); 4] =
    [("every", Which::Every), ("first", Which::First), ("last", Which::Last), ("but-last", Which::ButLast)];

impl Until {
    fn load(
        node: &Item<'_>,
        origin: &Origin,
        fields: &Table<'_>,
        names: &Names<'_>,
    ) -> Result<Self, FileError> {
        if fields.get("join").is_none() {
            return Err(node.complain("`until` needs `join`: it ends a text that is put together"));
        }
        match origin {
            Origin::Printed(_) => Selector::need(fields, "until", names).map(Self::Printed),
            Origin::Recorded(..) | Origin::Literal(_) => {
                Condition::load(node, Scope::Message).map(Self::Element)
            }
        }
    }
}

impl Key {
    fn load(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        if !node.is_table() {
            return pointer(node).map(Self::Here);
        }
        let fields: Table<'_> = node.table()?;
        let on = Selector::need(&fields, "on", names)?;
        let at = pointer(&fields.need("at")?)?;
        let per = fields.get("per").as_ref().map(pointer).transpose()?;
        fields.finish()?;
        Ok(Self::Latest { on, at, per })
    }
}
