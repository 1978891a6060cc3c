//! Conditions: what a contract asks of a message and of the facts of a run.

use serde_json::Value;

use super::facts::{Fact, Facts};
use super::finding::excerpt;
use super::pattern::Pattern;
use crate::document::{FileError, Item};
use crate::json::{JsonView, Kind, Pointer};
use crate::text::did_you_mean;
use crate::version::VersionRange;

/// A list of alternatives, each a list of terms that must all hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    alternatives: Vec<Vec<Term>>,
}

/// One thing that is asked of a message or of the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Term {
    subject: Subject,
    test: Test,
}

/// What a test looks at: a place in the message, or a fact of the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Subject {
    Message(Pointer),
    Fact(FactPath),
}

/// A fact of the run, or a place in it: `exit`, `flags/--model`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FactPath {
    /// As it stands in a sentence.
    words: String,
    pub(crate) fact: Fact,
    at: Pointer,
}

impl FactPath {
    fn parse(text: &str, node: &Item<'_>) -> Result<Self, FileError> {
        let split = text.find('/').unwrap_or(text.len());
        let (name, at) = text.split_at(split);
        let fact = Fact::from_name(name).ok_or_else(|| {
            let hint = did_you_mean(name, &Fact::names());
            node.complain(format_args!("`{text}` is neither a pointer nor a fact{hint}"))
        })?;
        let place = at.trim_start_matches('/');
        let words = match (fact, place) {
            (_, "") => fact.words().to_owned(),
            (Fact::Flags, flag) => flag.to_owned(),
            (_, place) => format!("{} at {place}", fact.words()),
        };
        let at = Pointer::parse(at).map_err(|reason| node.complain(reason))?;
        Ok(Self { words, fact, at })
    }

    /// Whether the fact itself is meant, not a place in it.
    fn is_whole(&self) -> bool {
        self.at.text().is_empty()
    }

    /// The value; none when the fact is not known, or has nothing at that place.
    pub(crate) fn get<'f>(&self, facts: &'f Facts) -> Option<JsonView<'f>> {
        self.at.get(facts.get(self.fact)?.into())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    Equal(Value),
    OneOf(Vec<Value>),
    Present(bool),
    Is(Vec<Kind>),
    Not(Box<Test>),
    Matches(Pattern),
    Range { min: Option<f64>, max: Option<f64> },
    Size(Box<Test>),
    Has(Box<Test>),
    All(Vec<Test>),
    Version(VersionRange),
}

/// Whether a condition holds, when some of what it asks for may not be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Truth {
    Holds,
    Fails,
    Unknown,
}

/// Where a condition may stand, and so what it may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Only pointers into the message can be used.
    Message,
    /// Pointers, and facts that are known at the start.
    Early,
    /// Pointers and all facts.
    Both,
    /// Only facts of the run can be used.
    Run,
}

/// The alternatives of a condition whose terms on the message hold, one bit each. With it the rest can be decided
/// later, without the message.
pub(crate) type Mask = u64;

impl Condition {
    /// A condition that always holds.
    pub(crate) fn always() -> Self {
        Self { alternatives: vec![Vec::new()] }
    }

    pub(crate) fn load(node: &Item<'_>, scope: Scope) -> Result<Self, FileError> {
        let tables = if node.is_list() { node.list()? } else { vec![node.clone()] };
        if tables.is_empty() || tables.len() > 64 {
            return Err(node.complain("a condition has 1 to 64 alternatives"));
        }
        let terms = |table: Item<'_>| {
            let entries = table.into_table()?.into_entries().into_iter();
            let terms = entries.map(|(key, value)| Term::load(&key, &value, scope));
            let mut terms = terms.collect::<Result<Vec<_>, _>>()?;
            // A text is read only where the others hold: it may be long.
            terms.sort_by_key(|term| term.test.reads_text());
            Ok(terms)
        };
        Ok(Self { alternatives: tables.into_iter().map(terms).collect::<Result<_, _>>()? })
    }

    /// Which alternatives the message leaves open.
    pub(crate) fn mask(&self, message: JsonView<'_>) -> Mask {
        let mut mask = 0;
        for (bit, terms) in self.alternatives.iter().enumerate() {
            if terms.iter().all(|term| term.of_message(message).unwrap_or(true)) {
                mask |= 1 << bit;
            }
        }
        mask
    }

    /// Decides the alternatives that are left in `mask`.
    pub(crate) fn decide(&self, mask: Mask, facts: &Facts) -> Truth {
        let mut truth = Truth::Fails;
        for (bit, terms) in self.alternatives.iter().enumerate() {
            if mask >> bit & 1 == 0 {
                continue;
            }
            match all(terms.iter().filter_map(|term| term.of_facts(facts))) {
                Truth::Holds => return Truth::Holds,
                Truth::Unknown => truth = Truth::Unknown,
                Truth::Fails => {}
            }
        }
        truth
    }

    /// Whether a condition on messages alone holds.
    pub(crate) fn holds(&self, message: JsonView<'_>) -> bool {
        self.mask(message) != 0
    }

    /// Whether a condition on facts alone holds.
    pub(crate) fn of_run(&self, facts: &Facts) -> Truth {
        self.decide(Mask::MAX, facts)
    }

    /// The message is all it takes to say that the condition holds.
    pub(crate) fn settled(&self, mask: Mask) -> bool {
        let fact_free =
            |terms: &Vec<Term>| terms.iter().all(|term| matches!(term.subject, Subject::Message(_)));
        self.alternatives.iter().enumerate().any(|(bit, terms)| mask >> bit & 1 == 1 && fact_free(terms))
    }

    /// Whether only a recording can tell that it holds.
    pub(crate) fn needs_recording(&self) -> bool {
        let asks = |term: &Term| matches!(&term.subject, Subject::Fact(path) if path.fact.is_recorded());
        self.alternatives.iter().all(|terms| terms.iter().any(asks))
    }

    pub(crate) fn looks_at_messages(&self) -> bool {
        self.alternatives.iter().flatten().any(|term| matches!(term.subject, Subject::Message(_)))
    }

    /// What is left to ask of a message that meets `other`: the alternatives that it can still meet, by their places, each
    /// with the places of its terms that do not follow. None of them is left when it cannot meet this; one without terms
    /// holds already.
    pub(crate) fn given(&self, other: &Self) -> Vec<(usize, Vec<usize>)> {
        let left = |(alternative, terms): (usize, &Vec<Term>)| {
            let mut open = Vec::new();
            for (place, term) in terms.iter().enumerate() {
                match term.given(other) {
                    Some(true) => {}
                    Some(false) => return None,
                    None => open.push(place),
                }
            }
            Some((alternative, open))
        };
        self.alternatives.iter().enumerate().filter_map(left).collect()
    }

    /// Its alternatives, each a list of terms that must all hold.
    pub(crate) fn alternatives(&self) -> impl Iterator<Item = &[Term]> {
        self.alternatives.iter().map(Vec::as_slice)
    }

    /// The string that a top-level field must equal, when every alternative says so and there is only one.
    pub(crate) fn field_equals(&self, field: &str) -> Option<&str> {
        let [terms] = self.alternatives.as_slice() else { return None };
        asked_of(field, terms)
    }

    /// The strings of which a top-level field must equal one, where every alternative names some; with it the condition on the
    /// rest, if that is the same for all of them.
    pub(crate) fn split_by(&self, field: &str) -> Option<(Vec<String>, Option<Self>)> {
        let named = |term: &Term| -> Option<Vec<String>> {
            let Subject::Message(pointer) = &term.subject else { return None };
            let is_meant = pointer.text().strip_prefix('/') == Some(field);
            let values = match &term.test {
                Test::Equal(value) => std::slice::from_ref(value),
                Test::OneOf(values) => values,
                _ => return None,
            };
            let text = |value: &Value| value.as_str().map(str::to_owned);
            values.iter().map(text).collect::<Option<Vec<_>>>().filter(|_| is_meant)
        };
        let of_all = self.alternatives.iter().map(|terms| terms.iter().find_map(named));
        let names = of_all.collect::<Option<Vec<_>>>()?.concat();
        let rest = match self.alternatives.as_slice() {
            [terms] => {
                let rest = terms.iter().filter(|term| named(term).is_none()).cloned();
                Some(Self { alternatives: vec![rest.collect()] })
            }
            _ => None,
        };
        Some((names, rest))
    }

    /// What holds of every message with an element that the condition holds of, where the elements are in this container:
    /// something that is quickly asked; none when there is nothing of that kind.
    pub(crate) fn of_any_element(&self, container: &Pointer) -> Option<Term> {
        let [terms] = self.alternatives.as_slice() else { return None };
        let asked = |term: &Term| match &term.subject {
            Subject::Message(pointer)
                if !matches!(term.test, Test::Present(_)) && !term.test.reads_text() =>
            {
                Pointer::parse(&format!("{}/*{}", container.text(), pointer.text())).ok()
            }
            _ => None,
        };
        let (pointer, test) = terms.iter().find_map(|term| Some((asked(term)?, term.test.clone())))?;
        Some(Term { subject: Subject::Message(pointer), test })
    }

    /// The type that it asks for, with the subtype, when it asks for nothing else.
    pub(crate) fn only_type(&self) -> Option<String> {
        let [terms] = self.alternatives.as_slice() else { return None };
        match (asked_of("type", terms), asked_of("subtype", terms), terms.len()) {
            (Some(kind), Some(subtype), 2) => Some(format!("{kind}/{subtype}")),
            (Some(kind), None, 1) => Some(kind.to_owned()),
            _ => None,
        }
    }

    /// The first term that does not hold: where it looked, what it saw and what it wanted.
    pub(crate) fn failure<'v>(&self, message: Option<JsonView<'v>>, facts: &'v Facts) -> Option<Failure<'v>> {
        let terms = self.alternatives.first()?;
        terms.iter().find_map(|term| {
            let failed = message.and_then(|message| term.of_message(message)) == Some(false)
                || term.of_facts(facts) == Some(Truth::Fails);
            failed.then(|| {
                let seen = match &term.subject {
                    Subject::Message(pointer) => message.and_then(|message| pointer.get(message)),
                    Subject::Fact(path) => path.get(facts),
                };
                let message = term.complaint(seen);
                Failure { pointer: term.subject.pointer(), message, seen, expected: term.test.describe() }
            })
        })
    }
}

/// The string that some terms together ask a top-level field to equal.
fn asked_of<'t>(field: &str, terms: &'t [Term]) -> Option<&'t str> {
    terms.iter().find_map(|term| match (&term.subject, &term.test) {
        (Subject::Message(pointer), Test::Equal(Value::String(text))) if pointer.field() == Some(field) => {
            Some(text.as_str())
        }
        _ => None,
    })
}

/// A term that does not hold.
pub(crate) struct Failure<'v> {
    pub(crate) pointer: Option<String>,
    /// What is wrong, in a sentence.
    pub(crate) message: String,
    pub(crate) seen: Option<JsonView<'v>>,
    pub(crate) expected: String,
}

fn all(terms: impl Iterator<Item = Truth>) -> Truth {
    let mut truth = Truth::Holds;
    for term in terms {
        match term {
            Truth::Fails => return Truth::Fails,
            Truth::Unknown => truth = Truth::Unknown,
            Truth::Holds => {}
        }
    }
    truth
}

impl Subject {
    /// Reads what `text` names; `node` is where the contract says so.
    pub(crate) fn parse(text: &str, node: &Item<'_>) -> Result<Self, FileError> {
        if text.is_empty() || text.starts_with('/') {
            return Pointer::parse(text).map(Self::Message).map_err(|reason| node.complain(reason));
        }
        FactPath::parse(text, node).map(Self::Fact)
    }

    /// The subject as it stands in a sentence.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Message(pointer) if pointer.text().is_empty() => "the message",
            Self::Message(pointer) => pointer.text(),
            Self::Fact(path) => &path.words,
        }
    }

    /// Where in a message it stands.
    pub(crate) fn pointer(&self) -> Option<String> {
        match self {
            Self::Message(pointer) => Some(pointer.text().to_string()),
            Self::Fact(_) => None,
        }
    }
}

impl Test {
    /// Whether a whole text has to be read to tell.
    fn reads_text(&self) -> bool {
        match self {
            Self::Matches(_) | Self::Size(_) => true,
            Self::Not(test) | Self::Has(test) => test.reads_text(),
            Self::All(tests) => tests.iter().any(Self::reads_text),
            _ => false,
        }
    }
}

impl Term {
    fn load(key: &str, node: &Item<'_>, scope: Scope) -> Result<Self, FileError> {
        let subject = Subject::parse(key, node)?;
        let reason = match &subject {
            Subject::Message(_) if scope == Scope::Run => {
                "is a pointer; only facts of the run can stand here"
            }
            Subject::Fact(path)
                if scope == Scope::Message || (scope == Scope::Early && path.fact.is_late()) =>
            {
                return Err(node.complain(format_args!(
                    "the fact `{key}` is not known here; only pointers can be used"
                )));
            }
            Subject::Fact(path) if path.fact == Fact::Version && scope == Scope::Run => {
                let range = VersionRange::parse(node.str()?).map_err(|reason| node.complain(reason))?;
                return Ok(Self { subject, test: Test::Version(range) });
            }
            Subject::Fact(path) if path.fact == Fact::Version => "can only stand in `applies`",
            _ => return Ok(Self { subject, test: Test::load(node)? }),
        };
        Err(node.complain(format_args!("`{key}` {reason}")))
    }

    /// What is wrong with a value that does not pass the test, as one would say it.
    fn complaint(&self, seen: Option<JsonView<'_>>) -> String {
        let name = self.subject.name();
        let is_fact = matches!(self.subject, Subject::Fact(_));
        let value = seen.map(excerpt);
        let is = match &value {
            None => "is missing".to_owned(),
            Some(Value::Null) if is_fact => "is missing".to_owned(),
            Some(Value::String(text)) if text.is_empty() => "is empty".to_owned(),
            Some(Value::Array(items)) if items.is_empty() => "is empty".to_owned(),
            Some(value) => format!("is {value}"),
        };
        match (&self.test, seen) {
            (Test::Present(true), _) => format!("{name} is missing"),
            (Test::Present(false), Some(_)) => format!("{name} {is}, and should not be there"),
            (Test::Is(kinds), Some(_)) if is_fact && kinds[..] == [Kind::Null] => {
                format!("{name} {is}, expected none")
            }
            (Test::Is(_), Some(seen)) => {
                format!("{name} is {}, expected {}", kind_of(seen).words(), self.test.describe())
            }
            (Test::Not(test), Some(_)) if matches!(**test, Test::Equal(_) | Test::OneOf(_)) => {
                format!("{name} {is}, expected another")
            }
            (Test::Equal(Value::Null), _) if is_fact => format!("{name} {is}, expected none"),
            _ => format!("{name} {is}, expected {}", self.test.describe()),
        }
    }

    /// Whether it holds of every message that meets a condition, or of none of them; else nothing.
    fn given(&self, condition: &Condition) -> Option<bool> {
        let Subject::Message(pointer) = &self.subject else { return None };
        let mut answer = None;
        for terms in &condition.alternatives {
            for value in terms.iter().find_map(|term| term.values_at(pointer))? {
                let holds = self.test.holds(value.into());
                if *answer.get_or_insert(holds) != holds {
                    return None;
                }
            }
        }
        answer
    }

    /// The values that can stand at a place where the term holds, when it names them.
    fn values_at(&self, place: &Pointer) -> Option<&[Value]> {
        let values = match (&self.subject, &self.test) {
            (Subject::Message(pointer), _) if pointer != place || pointer.is_many() => return None,
            (Subject::Message(_), Test::Equal(value)) => std::slice::from_ref(value),
            (Subject::Message(_), Test::OneOf(values)) => values,
            _ => return None,
        };
        // A number can be written in several ways, and a container can hold some.
        let is_plain = |value: &Value| matches!(value, Value::String(_) | Value::Bool(_) | Value::Null);
        values.iter().all(is_plain).then_some(values)
    }

    /// The one place that it looks at; none when it looks at several, or at the run.
    #[inline]
    pub(crate) fn single(&self) -> Option<&Pointer> {
        match &self.subject {
            Subject::Message(pointer) if !pointer.is_many() => Some(pointer),
            _ => None,
        }
    }

    /// Whether it looks at the same one place as another.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        match (&self.subject, &other.subject) {
            (Subject::Message(one), Subject::Message(other)) => one == other && !one.is_many(),
            _ => false,
        }
    }

    /// Whether it holds of what stands at its one place.
    #[inline]
    pub(crate) fn of_found(&self, found: Option<JsonView<'_>>) -> bool {
        match self.test {
            Test::Present(wanted) => found.is_some() == wanted,
            _ => found.is_some_and(|value| self.test.holds(value)),
        }
    }

    /// Whether the term holds of the message; none when it is about the run.
    pub(crate) fn of_message(&self, message: JsonView<'_>) -> Option<bool> {
        let Subject::Message(pointer) = &self.subject else { return None };
        if !pointer.is_many() || matches!(self.test, Test::Present(_)) {
            return Some(self.of_found(pointer.get(message)));
        }
        let mut held = false;
        pointer.visit(message, &mut |value, _| {
            held = self.test.holds(value);
            !held
        });
        Some(held)
    }

    /// Whether the term holds of the run; none when it is about the message.
    fn of_facts(&self, facts: &Facts) -> Option<Truth> {
        let Subject::Fact(path) = &self.subject else { return None };
        let holds = match (&self.test, facts.get(path.fact)) {
            (Test::Version(range), version) => {
                range.holds(version.and_then(Value::as_str).filter(|_| !facts.unreleased))
            }
            // Whether a fact is known at all can always be told; what it would hold cannot.
            (Test::Present(false), None) if path.is_whole() => true,
            (_, None) => return Some(Truth::Unknown),
            (Test::Present(wanted), Some(_)) => path.get(facts).is_some() == *wanted,
            (test, Some(_)) => path.get(facts).is_some_and(|value| test.holds(value)),
        };
        Some(if holds { Truth::Holds } else { Truth::Fails })
    }
}

impl Test {
    fn load(node: &Item<'_>) -> Result<Self, FileError> {
        if node.is_list() {
            return Ok(Self::OneOf(node.list()?.iter().map(Item::json).collect::<Result<_, _>>()?));
        }
        if !node.is_table() {
            return Ok(Self::Equal(node.json()?));
        }
        let fields = node.table()?;
        let mut tests = Vec::new();
        if let Some(node) = fields.get("present") {
            tests.push(Self::Present(node.bool()?));
        }
        if let Some(node) = fields.get("is") {
            let types = node.strings()?;
            let types = types.iter().map(|name| {
                Kind::from_name(name).ok_or_else(|| node.complain(format_args!("`{name}` is no JSON type")))
            });
            tests.push(Self::Is(types.collect::<Result<_, _>>()?));
        }
        let inner = |key| fields.get(key).map(|node| Self::load(&node).map(Box::new)).transpose();
        tests.extend(inner("not")?.map(Self::Not));
        tests.extend(fields.get("matches").as_ref().map(Pattern::load).transpose()?.map(Self::Matches));
        let number = |key| fields.get(key).map(|node| node.number()).transpose();
        let (min, max) = (number("min")?, number("max")?);
        if min.is_some() || max.is_some() {
            tests.push(Self::Range { min, max });
        }
        tests.extend(inner("size")?.map(Self::Size));
        tests.extend(inner("has")?.map(Self::Has));
        fields.finish()?;
        match tests.len() {
            0 => Err(node.complain("says nothing about the value")),
            1 => Ok(tests.remove(0)),
            _ if tests.iter().any(|test| matches!(test, Self::Present(_))) => {
                Err(node.complain("`present` stands alone: the other tests ask for a value anyway"))
            }
            _ => Ok(Self::All(tests)),
        }
    }

    pub(crate) fn holds(&self, value: JsonView<'_>) -> bool {
        // Of a long text, or of numbers that are never the same, what matters is what is said of them.
        let is_one = matches!(self, Self::Matches(_) | Self::Range { .. })
            || (matches!(self, Self::Size(_)) && !value.is_container());
        if is_one { value.tested(self, Self::holds_alone) } else { self.holds_alone(value) }
    }

    fn holds_alone(&self, value: JsonView<'_>) -> bool {
        match self {
            Self::Equal(wanted) => value.same(wanted),
            Self::OneOf(wanted) => wanted.iter().any(|wanted| value.same(wanted)),
            Self::Present(wanted) => *wanted,
            Self::Is(types) => types.iter().any(|kind| value.is(*kind)),
            Self::Not(test) => !test.holds(value),
            Self::Matches(regex) => value.text().is_some_and(|text| regex.is_match(&text)),
            Self::Range { min, max } => value.float().is_some_and(|number| {
                min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max)
            }),
            Self::Size(test) => value.size().is_some_and(|size| test.holds((&Value::from(size)).into())),
            Self::Has(test) => value.items().any(|value| test.holds(value)),
            Self::All(tests) => tests.iter().all(|test| test.holds(value)),
            Self::Version(_) => false,
        }
    }

    /// What the test asks for, in words.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Equal(wanted) => wanted.to_string(),
            Self::OneOf(wanted) => format!("one of {}", listed(wanted)),
            Self::Present(true) => "a value".into(),
            Self::Present(false) => "no value".into(),
            Self::Is(types) => types.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(" or "),
            Self::Not(test) => format!("anything but {}", test.describe()),
            Self::Matches(regex) => format!("a text that matches {regex}"),
            Self::Range { min, max } => match (min, max) {
                (Some(min), Some(max)) => format!("a number from {min} to {max}"),
                (Some(min), None) => format!("at least {min}"),
                (None, Some(max)) => format!("at most {max}"),
                (None, None) => "a number".into(),
            },
            Self::Size(test) => match &**test {
                Self::Equal(size) if *size == 0 => "nothing".into(),
                Self::Range { min: Some(1.0), max: None } => "something".into(),
                test => format!("a size of {}", test.describe()),
            },
            Self::Has(test) => format!("a list with {}", test.describe()),
            Self::All(tests) => tests.iter().map(Self::describe).collect::<Vec<_>>().join(" and "),
            Self::Version(range) => format!("version {}", range.text()),
        }
    }
}

/// The type of a value: a number without a fraction is an integer.
pub(crate) fn kind_of(value: JsonView<'_>) -> Kind {
    Kind::ALL.into_iter().find(|kind| value.is(*kind)).unwrap_or(Kind::Null)
}

/// Values as they stand in a sentence.
pub(crate) fn listed(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Reads a pointer of a contract.
pub(crate) fn pointer(node: &Item<'_>) -> Result<Pointer, FileError> {
    Pointer::parse(node.str()?).map_err(|reason| node.complain(reason))
}

#[cfg(test)]
mod tests {
    use crate::document::Document;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn condition(text: &str) -> Condition {
        let text = format!("c = {text}");
        let tree = Document::parse("c.toml", &text).unwrap();
        Condition::load(&tree.need("c").unwrap(), Scope::Both).unwrap()
    }

    #[test]
    fn every_test_can_hold_and_fail() {
        for (text, good, bad) in [
            (r#"{ "/a" = 1 }"#, json!({"a": 1.0}), json!({"a": 2})),
            (r#"{ "/a" = ["x", true] }"#, json!({"a": true}), json!({"a": "y"})),
            (r#"{ "/a" = { present = false } }"#, json!({}), json!({"a": null})),
            (r#"{ "/a" = { is = ["integer", "null"] } }"#, json!({"a": null}), json!({"a": 1.5})),
            (r#"{ "/a" = { not = "x" } }"#, json!({"a": 1}), json!({})),
            (r#"{ "/a" = { matches = "^ab" } }"#, json!({"a": "abc"}), json!({"a": "cab"})),
            (r#"{ "/a" = { min = 0, max = 1.5 } }"#, json!({"a": 1}), json!({"a": -1})),
            (r#"{ "/a" = { size = { min = 1 } } }"#, json!({"a": [0]}), json!({"a": []})),
            (r#"{ "/a" = { has = "x" } }"#, json!({"a": ["x"]}), json!({"a": ["y"]})),
            (r#"{ "/a/*/b" = 1 }"#, json!({"a": [{"b": 0}, {"b": 1}]}), json!({"a": [{"b": 0}]})),
            (r#"[{ "/a" = 1 }, { "/b" = 1 }]"#, json!({"b": 1}), json!({"b": 2})),
            (r#"{ "" = { is = "object" } }"#, json!({}), json!([])),
        ] {
            assert!(condition(text).holds((&good).into()), "{text} should hold for {good}");
            assert!(!condition(text).holds((&bad).into()), "{text} should fail for {bad}");
        }
    }

    proptest! {
        #[test]
        fn a_message_of_a_kind_meets_what_is_left_of_a_condition_when_it_meets_the_whole(
            whole in any_condition(),
            kind in any_condition(),
            a in any_word(),
            b in any_word(),
        ) {
            let mut message = json!({});
            for (name, word) in [("a", a), ("b", b)] {
                if word != Value::Bool(false) {
                    message[name] = word;
                }
            }
            let (whole, kind) = (condition(&whole), condition(&kind));
            prop_assume!(kind.holds((&message).into()));
            let left = whole.given(&kind);
            let meets = left.iter().any(|(alternative, open)| {
                let holds = |place: &usize| whole.alternatives[*alternative][*place].of_message((&message).into());
                open.iter().all(|place| holds(place) == Some(true))
            });
            prop_assert_eq!(meets, whole.holds((&message).into()));
        }
    }

    fn any_word() -> impl Strategy<Value = Value> {
        prop::sample::select(vec![json!("x"), json!("y"), json!("z"), json!(null), json!(1), json!(false)])
    }

    /// A condition on the members `a` and `b`, as a contract writes it.
    fn any_condition() -> impl Strategy<Value = String> {
        let test = prop::sample::select(vec![
            r#""x""#,
            r#""y""#,
            r#"["x", "y"]"#,
            r#"["x", 1]"#,
            "1",
            r#"{ not = "x" }"#,
            r#"{ not = ["x", "y"] }"#,
            r#"{ is = "string" }"#,
            r#"{ is = "null" }"#,
            "{ present = true }",
            "{ present = false }",
            r#"{ matches = "^[xz]" }"#,
        ]);
        let term = (prop::sample::select(vec!["/a", "/b"]), test);
        let table = prop::collection::vec(term, 1..3).prop_map(|terms| {
            let mut terms: Vec<_> =
                terms.into_iter().map(|(at, test)| format!("\"{at}\" = {test}")).collect();
            terms.sort();
            terms.dedup_by_key(|term| term[..4].to_owned());
            format!("{{ {} }}", terms.join(", "))
        });
        prop::collection::vec(table, 1..4).prop_map(|tables| format!("[{}]", tables.join(", ")))
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        let asks_exit = condition("{ exit = 0 }");
        let mut facts = Facts::default();
        assert_eq!(asks_exit.of_run(&facts), Truth::Unknown);
        assert_eq!(condition("{ exit = { present = false } }").of_run(&facts), Truth::Holds);
        assert_eq!(condition(r#"{ "flags/--x" = { present = false } }"#).of_run(&facts), Truth::Unknown);
        facts.set(Fact::Exit, 0);
        assert_eq!(asks_exit.of_run(&facts), Truth::Holds);
        facts.set(Fact::Exit, 1);
        assert_eq!(asks_exit.of_run(&facts), Truth::Fails);
    }
}
