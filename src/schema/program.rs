//! All schemas that the messages of one kind are held against, as one: a message is walked once for all of them.
//!
//! The walk only clears clauses: one that it has no doubt about is kept, and any other is judged for itself, with its
//! evidence.

use serde_json::Value;

use super::quick::{Check, QuickSchema};
use crate::json::{JsonView, Kind, Name};

/// A set of clauses, one bit each.
type Clauses = u64;

/// The schemas of one kind of message.
#[derive(Debug)]
pub(crate) struct Program {
    /// The clauses in the order of their bits, by their place in the contract.
    clauses: Vec<usize>,
    root: Merged,
}

/// What clauses ask of one value, each with the clauses that do.
#[derive(Debug, Default)]
struct Merged {
    /// All that ask for anything here or inside.
    all: Clauses,
    /// Those that ask for something that only a validator can tell.
    open: Clauses,
    types: Vec<(Vec<Kind>, Clauses)>,
    values: Vec<(Vec<Value>, Clauses)>,
    some_text: Clauses,
    uuid: Clauses,
    not_negative: Clauses,
    some_items: Clauses,
    items: Option<Box<Merged>>,
    members: Vec<Member>,
    /// Those that ask for any member at all.
    required: Clauses,
    when: Vec<When>,
}

#[derive(Debug)]
struct Member {
    name: Name,
    required: Clauses,
    inside: Merged,
}

#[derive(Debug)]
struct When {
    clause: Clauses,
    condition: Check,
    then: Merged,
    otherwise: Merged,
}

impl Program {
    /// The program of some clauses, each with its place in the contract; those that have no room are left out.
    pub(crate) fn new<'s>(schemas: impl Iterator<Item = (usize, &'s QuickSchema)>) -> Self {
        let mut program = Self { clauses: Vec::new(), root: Merged::default() };
        for (place, schema) in schemas.take(Clauses::BITS as usize) {
            program.root.add(schema.check(), 1 << program.clauses.len());
            program.clauses.push(place);
        }
        program
    }

    /// The bit of a clause; none of them when it is not part of this.
    pub(crate) fn bit(&self, clause: usize) -> Clauses {
        self.clauses.iter().position(|known| *known == clause).map_or(0, |bit| 1 << bit)
    }

    /// The clauses that a message may break. It keeps all others.
    pub(crate) fn doubts(&self, message: JsonView<'_>) -> Clauses {
        let mut doubts = 0;
        self.root.look(message, &mut doubts);
        doubts
    }
}

impl Merged {
    fn add(&mut self, check: &Check, clause: Clauses) {
        self.all |= clause;
        let if_asked = |asked: bool| if asked { clause } else { 0 };
        self.open |= if_asked(check.is_open);
        self.some_text |= if_asked(check.some_text);
        self.uuid |= if_asked(check.uuid);
        self.not_negative |= if_asked(check.not_negative);
        self.some_items |= if_asked(check.some_items);
        put(&mut self.types, check.types.as_ref(), clause);
        put(&mut self.values, check.values.as_ref(), clause);
        if let Some(items) = &check.items {
            self.items.get_or_insert_default().add(items, clause);
        }
        for asked in &check.members {
            let known = self.members.iter().position(|known| known.name == asked.name);
            let index = known.unwrap_or_else(|| {
                let name = asked.name.clone();
                self.members.push(Member { name, required: 0, inside: Self::default() });
                self.members.len() - 1
            });
            let member = &mut self.members[index];
            member.required |= if_asked(asked.is_required);
            self.required |= member.required;
            if let Some(check) = &asked.check {
                member.inside.add(check, clause);
            }
        }
        for check in &check.also {
            self.add(check, clause);
        }
        if let Some(when) = &check.when {
            let mut added = When {
                clause,
                condition: when.condition.clone(),
                then: Self::default(),
                otherwise: Self::default(),
            };
            added.then.add(&when.then, clause);
            added.otherwise.add(&when.otherwise, clause);
            self.when.push(added);
        }
    }

    /// Adds the clauses that a value may break.
    fn look(&self, value: JsonView<'_>, doubts: &mut Clauses) {
        if self.all & !*doubts == 0 {
            return;
        }
        *doubts |= self.open;
        for (types, clauses) in &self.types {
            if !types.iter().any(|wanted| value.is(*wanted)) {
                *doubts |= clauses;
            }
        }
        for (values, clauses) in &self.values {
            if !values.iter().any(|known| value.same(known)) {
                *doubts |= clauses;
            }
        }
        match value.kind() {
            Kind::String => {
                if self.some_text != 0 && value.is_empty_text() {
                    *doubts |= self.some_text;
                }
                if self.uuid != 0 && !super::quick::is_uuid(value) {
                    *doubts |= self.uuid;
                }
            }
            Kind::Number if self.not_negative != 0 && value.float().is_none_or(|number| number < 0.0) => {
                *doubts |= self.not_negative;
            }
            Kind::Array => {
                if self.some_items != 0 && value.items().next().is_none() {
                    *doubts |= self.some_items;
                }
                if let Some(items) = &self.items {
                    value.items().for_each(|item| items.look(item, doubts));
                }
            }
            Kind::Object if !self.members.is_empty() => self.look_inside(value, doubts),
            _ => {}
        }
        for when in &self.when {
            match when.condition.holds(value) {
                Some(true) => when.then.look(value, doubts),
                Some(false) => when.otherwise.look(value, doubts),
                None => *doubts |= when.clause,
            }
        }
    }

    fn look_inside(&self, value: JsonView<'_>, doubts: &mut Clauses) {
        let JsonView::Scanned(node) = value else {
            for member in &self.members {
                match value.member(&member.name) {
                    Some(value) => member.inside.look(value, doubts),
                    None => *doubts |= member.required,
                }
            }
            return;
        };
        // One walk for all members; their order is mostly that of the schemas. What it does not meet is missing.
        let (mut cursor, mut met) = (0, 0_u128);
        for (key, inner) in node.members() {
            let (before, after) = self.members.split_at(cursor);
            if let Some(place) = after.iter().chain(before).position(|member| key.is_name(&member.name)) {
                let index = (cursor + place) % self.members.len();
                cursor = (index + 1) % self.members.len();
                met |= 1_u128.checked_shl(index as u32).unwrap_or(0);
                self.members[index].inside.look(JsonView::Scanned(inner), doubts);
            }
        }
        if self.required & !*doubts != 0 {
            let missing = |index: usize| 1_u128.checked_shl(index as u32).is_none_or(|bit| met & bit == 0);
            let members = self.members.iter().enumerate().filter(|(_, member)| member.required != 0);
            for (_, member) in members.filter(|(index, _)| missing(*index)) {
                *doubts |= member.required;
            }
        }
    }
}

/// Adds a clause to those that ask for the same.
fn put<T: Clone + PartialEq>(all: &mut Vec<(T, Clauses)>, asked: Option<&T>, clause: Clauses) {
    let Some(asked) = asked else { return };
    match all.iter_mut().find(|(known, _)| known == asked) {
        Some((_, clauses)) => *clauses |= clause,
        None => all.push((asked.clone(), clause)),
    }
}
