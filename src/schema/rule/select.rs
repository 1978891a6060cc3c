//! Which messages, and which values in them, a rule looks at.

use std::cell::RefCell;
use std::sync::Arc;

use super::super::condition::{Condition, Scope, Term, pointer};
use super::super::question::Question;
use super::{Message, Names, choice};
use crate::document::{FileError, Item, Table};
use crate::json::pointer::{Step, Trail};
use crate::json::{JsonView, Kind, Pointer};
use crate::text::did_you_mean;

/// Which messages a rule looks at.
#[derive(Debug, Clone)]
pub(crate) enum Selector {
    All,
    /// For each kind whether it is one of those.
    Kinds(Vec<bool>),
    When(Arc<When>),
}

/// The conditions by which clauses of a contract select, while it is loaded: many select by the same one.
#[derive(Debug, Default)]
pub(crate) struct Selectors(RefCell<Vec<Arc<When>>>);

impl Selectors {
    fn get(&self, condition: Condition, make: impl FnOnce(Condition) -> When) -> Arc<When> {
        if let Some(known) = self.0.borrow().iter().find(|known| known.condition == condition) {
            return Arc::clone(known);
        }
        let made = Arc::new(make(condition));
        self.0.borrow_mut().push(Arc::clone(&made));
        made
    }
}

/// A condition, prepared for the kinds of message that there are.
#[derive(Debug, Clone)]
pub(crate) struct When {
    condition: Condition,
    /// What can be left to ask, when the kind of a message has answered the rest: alternatives of which one has to hold.
    left: Vec<Vec<Vec<Question>>>,
    /// For each kind, and last for messages of no kind, which of these.
    by_kind: Vec<usize>,
}

impl Selector {
    /// Reads `on`; all messages when it is left out.
    pub(crate) fn load(fields: &Table<'_>, key: &'static str, names: &Names<'_>) -> Result<Self, FileError> {
        fields.get(key).map_or(Ok(Self::All), |node| Self::read(&node, names))
    }

    /// What its messages are called in a sentence: their kinds, or the type that it asks for.
    pub(crate) fn named(&self, names: &Names<'_>) -> Option<String> {
        match self {
            Self::All => None,
            Self::Kinds(kinds) => {
                let named = kinds.iter().zip(names.kinds).filter(|(takes, _)| **takes);
                let named: Vec<&str> = named.map(|(_, name)| name.as_str()).collect();
                // Nobody reads a longer list in the middle of a sentence.
                (named.len() <= 2).then(|| named.join(" or "))
            }
            Self::When(when) => when.condition.only_type(),
        }
    }

    /// Reads a selector that must be there.
    pub(crate) fn need(fields: &Table<'_>, key: &'static str, names: &Names<'_>) -> Result<Self, FileError> {
        Self::read(&fields.need(key)?, names)
    }

    fn read(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let is_condition = node.is_table() || (node.is_list() && node.list()?.iter().any(Item::is_table));
        if is_condition {
            let condition = Condition::load(node, Scope::Message)?;
            return Ok(Self::When(names.selectors.get(condition, |condition| When::new(condition, names))));
        }
        let mut kinds = vec![false; names.kinds.len()];
        for name in node.strings()? {
            let kind = names.kinds.iter().position(|known| *known == name).ok_or_else(|| {
                let known: Vec<_> = names.kinds.iter().map(String::as_str).collect();
                node.complain(format_args!("no kind `{name}`{}", did_you_mean(&name, &known)))
            })?;
            kinds[kind] = true;
        }
        Ok(Self::Kinds(kinds))
    }

    /// The same messages, but those of which the term does not hold.
    fn narrowed(&self, term: &Term, names: &Names<'_>) -> Self {
        let question = names.questions.ask(term);
        let mut left: Vec<Vec<Vec<Question>>> = Vec::new();
        let by_kind = (0..names.kinds.len()).map(Some).chain([None]).map(|kind| {
            let mut alternatives = match self {
                Self::When(when) => when.left(kind).to_vec(),
                _ if self.takes_all(kind) => vec![Vec::new()],
                _ => Vec::new(),
            };
            for questions in &mut alternatives {
                questions.push(question.clone());
            }
            left.iter().position(|known| *known == alternatives).unwrap_or_else(|| {
                left.push(alternatives);
                left.len() - 1
            })
        });
        let by_kind = by_kind.collect();
        Self::When(Arc::new(When { condition: Condition::always(), left, by_kind }))
    }

    pub(crate) fn takes(&self, message: &Message<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Kinds(kinds) => message.kind.is_some_and(|kind| kinds[kind]),
            Self::When(when) => {
                let holds = |question: &Question| question.holds(message.value, message.answers);
                when.left(message.kind).iter().any(|questions| questions.iter().all(holds))
            }
        }
    }

    /// Whether every message of this kind is taken.
    pub(crate) fn takes_all(&self, kind: Option<usize>) -> bool {
        match self {
            Self::All => true,
            Self::Kinds(kinds) => kind.is_some_and(|kind| kinds[kind]),
            Self::When(when) => when.left(kind).iter().any(Vec::is_empty),
        }
    }

    /// What is asked of a message of this kind: lists of questions, of which one has to be answered with yes alone. Nothing
    /// when every message is taken.
    pub(crate) fn asks(&self, kind: Option<usize>) -> Option<&[Vec<Question>]> {
        match self {
            Self::When(when) => Some(when.left(kind)),
            Self::All | Self::Kinds(_) => None,
        }
    }

    /// Whether a message of this kind could be taken.
    pub(crate) fn may_take(&self, kind: Option<usize>) -> bool {
        match self {
            Self::Kinds(kinds) => kind.is_some_and(|kind| kinds[kind]),
            Self::When(when) => !when.left(kind).is_empty(),
            Self::All => true,
        }
    }
}

impl When {
    fn new(condition: Condition, names: &Names<'_>) -> Self {
        let ask = |terms: &[Term]| terms.iter().map(|term| names.questions.ask(term)).collect::<Vec<_>>();
        let questions: Vec<Vec<Question>> = condition.alternatives().map(ask).collect();
        let mut left: Vec<Vec<Vec<Question>>> = Vec::new();
        let mut place = |alternatives: Vec<Vec<Question>>| {
            left.iter().position(|known| *known == alternatives).unwrap_or_else(|| {
                left.push(alternatives);
                left.len() - 1
            })
        };
        let asked = |places: &Vec<usize>, all: &[Question]| -> Vec<Question> {
            places.iter().map(|place| all[*place].clone()).collect()
        };
        let given = names.conditions.iter().map(|kind| {
            let given = condition.given(kind);
            given.iter().map(|(alternative, open)| asked(open, &questions[*alternative])).collect()
        });
        let by_kind = given.chain([questions.clone()]).map(&mut place).collect();
        Self { condition, left, by_kind }
    }

    fn left(&self, kind: Option<usize>) -> &[Vec<Question>] {
        &self.left[self.by_kind[kind.unwrap_or(self.by_kind.len() - 1)]]
    }
}

/// Which of the selected messages a rule judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    Every,
    First,
    Last,
}

impl Pick {
    pub(crate) fn load(fields: &Table<'_>) -> Result<Self, FileError> {
        let words = [("first", Self::First), ("last", Self::Last), ("every", Self::Every)];
        fields.get("pick").map_or(Ok(Self::Every), |node| choice(&node, &words))
    }
}

/// Sees an element with its name and its pointer.
pub(crate) type ShowElement<'s, 'm> = dyn FnMut(JsonView<'m>, Option<&str>, &dyn Fn() -> String) + 's;

/// The elements of a list or an object in a value, or the value itself.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    each: Option<Pointer>,
    filter: Condition,
}

impl Elements {
    /// The value itself.
    pub(crate) fn all() -> Self {
        Self { each: None, filter: Condition::always() }
    }

    /// Reads `each` and `where`.
    pub(crate) fn load(fields: &Table<'_>) -> Result<Self, FileError> {
        let each = fields.get("each").as_ref().map(pointer).transpose()?;
        let filter = match fields.get("where") {
            Some(node) if each.is_none() => {
                return Err(node.complain("`where` needs `each`: it looks at the elements"));
            }
            Some(node) => Condition::load(&node, Scope::Message)?,
            None => Condition::always(),
        };
        Ok(Self { each, filter })
    }

    /// Of the messages of a selector those that may have such an element; none when that cannot be told at once.
    pub(crate) fn gate(&self, on: &Selector, names: &Names<'_>) -> Option<Selector> {
        let term = self.filter.of_any_element(self.each.as_ref()?)?;
        Some(on.narrowed(&term, names))
    }

    /// Shows each element with its name, if it is a member, and its pointer as a function because most are never asked
    /// for.
    pub(crate) fn visit<'m>(&self, value: JsonView<'m>, show: &mut ShowElement<'_, 'm>) {
        let Some(each) = &self.each else { return show(value, None, &String::new) };
        each.visit(value, &mut |container, outer| {
            let mut element = |step: Step<'_>, element: JsonView<'m>| {
                if self.filter.holds(element) {
                    let name = match step {
                        Step::Key(name) => Some(name),
                        Step::Index(_) => None,
                    };
                    show(element, name, &|| outer.render() + &Trail::new(None, step).render());
                }
            };
            if container.kind() == Kind::Array {
                container.items().enumerate().for_each(|(i, value)| element(Step::Index(i), value));
            } else {
                container.members().for_each(|(key, value)| element(Step::Key(&key), value));
            }
            true
        });
    }
}

/// Values picked out of messages.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    on: Selector,
    /// Those of its messages that may have a value, where it is less than all of them.
    gate: Option<Selector>,
    elements: Elements,
    at: Pointer,
}

impl Source {
    pub(crate) fn load(fields: &Table<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let (elements, on) = (Elements::load(fields)?, Selector::load(fields, "on", names)?);
        let gate = elements.gate(&on, names);
        Ok(Self { on, gate, elements, at: pointer(&fields.need("at")?)? })
    }

    pub(crate) fn from_node(node: &Item<'_>, names: &Names<'_>) -> Result<Self, FileError> {
        let fields = node.table()?;
        let source = Self::load(&fields, names)?;
        fields.finish()?;
        Ok(source)
    }

    pub(crate) fn may_take(&self, kind: Option<usize>) -> bool {
        self.on.may_take(kind)
    }

    pub(crate) fn selector(&self) -> &Selector {
        &self.on
    }

    /// What takes every message that has a value, and few others.
    pub(crate) fn gate(&self) -> &Selector {
        self.gate.as_ref().unwrap_or(&self.on)
    }

    pub(crate) fn takes(&self, message: &Message<'_>) -> bool {
        self.on.takes(message)
    }

    /// The place of its value in every message, where there is only one.
    pub(crate) fn place(&self) -> Option<&str> {
        (self.elements.each.is_none() && !self.at.is_many()).then(|| self.at.text())
    }

    /// Shows each value of a message, with its pointer as a function because most are never asked for.
    pub(crate) fn visit<'m>(
        &self,
        message: &Message<'m>,
        show: &mut dyn FnMut(JsonView<'m>, &dyn Fn() -> String),
    ) {
        if !self.on.takes(message) {
            return;
        }
        self.elements.visit(message.value, &mut |element, _, outer| {
            self.at.visit(element, &mut |value, inner| {
                show(value, &|| outer() + &inner.render());
                true
            });
        });
    }
}
