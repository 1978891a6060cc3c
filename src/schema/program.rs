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
#[derive(Debug, Default, Clone)]
struct Merged {
    /// All that ask for anything here or inside.
    all: Clauses,
    /// Those that ask for something that only a validator can tell.
    open: Clauses,
    types: Vec<(Types, Clauses)>,
    values: Vec<(Vec<Value>, Clauses)>,
    some_text: Clauses,
    uuid: Clauses,
    not_negative: Clauses,
    some_items: Clauses,
    items: Option<Box<Merged>>,
    members: Vec<Member>,
    /// Those that ask for any member at all, and the places of these members, as far as they have bits.
    required: Clauses,
    required_places: u128,
    /// What depends on the value of one member, by its name.
    cases: Vec<Cases>,
    /// All of the above for each text that one member can be, where cases depend on it: it is looked at instead.
    branches: Option<Box<Branches>>,
    when: Vec<When>,
    /// What is asked that cannot be put together.
    apart: Vec<(Check, Clauses)>,
}

/// The clauses that a message may break; it keeps all others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Doubts {
    pub(crate) maybe: Clauses,
    /// Those of them that it breaks for certain.
    pub(crate) broken: Clauses,
}

impl Doubts {
    /// These are broken.
    fn broken(&mut self, clauses: Clauses) {
        self.maybe |= clauses;
        self.broken |= clauses;
    }
}

#[derive(Debug, Clone)]
struct Member {
    name: Name,
    required: Clauses,
    inside: Merged,
}

/// Everything that is asked of a value, by the text that one of its members is.
#[derive(Debug, Clone)]
struct Branches {
    name: Name,
    texts: Vec<(String, Merged)>,
    /// The member is something else.
    other: Merged,
    /// An object does not have it.
    missing: Merged,
}

/// So many parts of a program are made of one that has branches; what is beyond is looked at case by case.
const MOST_PARTS: usize = 4_000;

/// Types of values, one bit each.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Types(u8);

impl Types {
    fn of(kinds: &[Kind]) -> Self {
        Self(kinds.iter().fold(0, |types, kind| types | 1 << *kind as u8))
    }

    #[inline]
    fn have(self, value: JsonView<'_>) -> bool {
        let kind = value.kind();
        self.0 >> kind as u8 & 1 == 1
            || (kind == Kind::Number && self.0 >> Kind::Integer as u8 & 1 == 1 && value.is_integer())
    }
}

/// What depends on the value of one member.
#[derive(Debug, Clone)]
struct Cases {
    name: Name,
    all: Vec<Case>,
}

/// What is asked when a member is one of some values, and what when it is not.
#[derive(Debug, Clone)]
struct Case {
    values: Vec<Value>,
    /// Where it is missing, it is not one of them.
    is_required: bool,
    then: Merged,
    otherwise: Merged,
}

#[derive(Debug, Clone)]
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
        let mut left = MOST_PARTS;
        program.root.branch(&mut left);
        program
    }

    /// The bit of a clause; none of them when it is not part of this.
    pub(crate) fn bit(&self, clause: usize) -> Clauses {
        self.clauses.iter().position(|known| *known == clause).map_or(0, |bit| 1 << bit)
    }

    /// The clauses that a message may break. It keeps all others.
    pub(crate) fn doubts(&self, message: JsonView<'_>) -> Doubts {
        let mut doubts = Doubts::default();
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
        put(&mut self.types, check.types.as_deref().map(Types::of).as_ref(), clause);
        put(&mut self.values, check.values.as_ref(), clause);
        if let Some(items) = &check.items {
            self.items.get_or_insert_default().add(items, clause);
        }
        for asked in &check.members {
            let member = self.member(&asked.name);
            if let Some(check) = &asked.check {
                self.members[member].inside.add(check, clause);
            }
            self.require(member, if_asked(asked.is_required));
        }
        self.apart.extend(check.apart().map(|check| (check, clause)));
        for check in &check.also {
            self.add(check, clause);
        }
        if let Some(when) = &check.when {
            let (mut then, mut otherwise) = (Self::default(), Self::default());
            then.add(&when.then, clause);
            otherwise.add(&when.otherwise, clause);
            match when.condition.member_is() {
                Some((name, values, is_required)) => {
                    let case = Case { values: values.to_vec(), is_required, then, otherwise };
                    match self.cases.iter_mut().find(|cases| cases.name == *name) {
                        Some(cases) => cases.all.push(case),
                        None => self.cases.push(Cases { name: name.clone(), all: vec![case] }),
                    }
                }
                None => self.when.push(When { clause, condition: when.condition.clone(), then, otherwise }),
            }
        }
    }

    /// Adds all that others ask of the same value.
    fn absorb(&mut self, other: &Self) {
        self.all |= other.all;
        self.open |= other.open;
        self.some_text |= other.some_text;
        self.uuid |= other.uuid;
        self.not_negative |= other.not_negative;
        self.some_items |= other.some_items;
        other.types.iter().for_each(|(types, clauses)| put(&mut self.types, Some(types), *clauses));
        other.values.iter().for_each(|(values, clauses)| put(&mut self.values, Some(values), *clauses));
        if let Some(items) = &other.items {
            self.items.get_or_insert_default().absorb(items);
        }
        for Member { name, required, inside } in &other.members {
            let member = self.member(name);
            self.members[member].inside.absorb(inside);
            self.require(member, *required);
        }
        for cases in &other.cases {
            match self.cases.iter_mut().find(|known| known.name == cases.name) {
                Some(known) => known.all.extend_from_slice(&cases.all),
                None => self.cases.push(cases.clone()),
            }
        }
        self.when.extend_from_slice(&other.when);
        self.apart.extend_from_slice(&other.apart);
    }

    /// The place of a member, which is made if there is none.
    fn member(&mut self, name: &Name) -> usize {
        let known = self.members.iter().position(|known| known.name == *name);
        known.unwrap_or_else(|| {
            self.members.push(Member { name: name.clone(), required: 0, inside: Self::default() });
            self.members.len() - 1
        })
    }

    /// These clauses ask for a member.
    fn require(&mut self, member: usize, clauses: Clauses) {
        let required = &mut self.members[member].required;
        *required |= clauses;
        self.required |= *required;
        if *required != 0 {
            self.required_places |= 1_u128.checked_shl(member as u32).unwrap_or(0);
        }
    }

    /// Puts together what is asked for each text that decides it, here and inside.
    fn branch(&mut self, left: &mut usize) {
        let is_text = |case: &Case| case.values.iter().all(Value::is_string);
        // One member decides most; what depends on others stays as it is.
        let most = self.cases.iter().enumerate().filter(|(_, cases)| cases.all.iter().all(is_text));
        if let Some((place, _)) = most.max_by_key(|(_, cases)| cases.all.len())
            && *left > 0
        {
            let Cases { name, all } = self.cases.swap_remove(place);
            let made = |holds: &dyn Fn(&Case) -> bool, left: &mut usize| {
                *left = left.saturating_sub(1);
                let mut made = self.clone();
                for case in &all {
                    made.absorb(if holds(case) { &case.then } else { &case.otherwise });
                }
                made.branch(left);
                made
            };
            let mut texts: Vec<&str> =
                all.iter().flat_map(|case| &case.values).filter_map(Value::as_str).collect();
            texts.sort_unstable();
            texts.dedup();
            let is = |case: &Case, text: &str| case.values.iter().any(|value| value == text);
            let texts = texts.into_iter().map(|text| (text.to_owned(), made(&|case| is(case, text), left)));
            let branches = Branches {
                texts: texts.collect(),
                other: made(&|_| false, left),
                missing: made(&|case| !case.is_required, left),
                name: name.clone(),
            };
            // What is no object is looked at case by case.
            self.cases.push(Cases { name, all });
            self.branches = Some(Box::new(branches));
            return;
        }
        if let Some(items) = &mut self.items {
            items.branch(left);
        }
        self.members.iter_mut().for_each(|member| member.inside.branch(left));
    }

    /// Adds the clauses that a value may break.
    fn look(&self, value: JsonView<'_>, doubts: &mut Doubts) {
        if self.all & !doubts.maybe == 0 {
            return;
        }
        if let Some(branches) = &self.branches
            && value.kind() == Kind::Object
        {
            let Some(member) = value.member(&branches.name) else {
                return branches.missing.look(value, doubts);
            };
            let found = branches.texts.iter().find(|(text, _)| member.is_text(text));
            return found.map_or(&branches.other, |(_, branch)| branch).look(value, doubts);
        }
        doubts.maybe |= self.open;
        for (types, clauses) in &self.types {
            if !types.have(value) {
                doubts.broken(*clauses);
            }
        }
        for (values, clauses) in &self.values {
            if !values.iter().any(|known| value.same(known)) {
                doubts.broken(*clauses);
            }
        }
        match value.kind() {
            Kind::String => {
                if self.some_text != 0 && value.is_empty_text() {
                    doubts.broken(self.some_text);
                }
                if self.uuid != 0 && !super::quick::is_uuid(value) {
                    doubts.maybe |= self.uuid;
                }
            }
            Kind::Number if self.not_negative != 0 && !value.is_not_negative() => {
                doubts.maybe |= self.not_negative;
            }
            Kind::Array => {
                if self.some_items != 0 && value.items().next().is_none() {
                    doubts.broken(self.some_items);
                }
                if let Some(items) = &self.items {
                    value.items().for_each(|item| items.look(item, doubts));
                }
            }
            Kind::Object if !self.members.is_empty() => self.look_inside(value, doubts),
            _ => {}
        }
        for (check, clause) in &self.apart {
            match check.holds(value) {
                Some(true) => {}
                Some(false) => doubts.broken(*clause),
                None => doubts.maybe |= clause,
            }
        }
        for cases in &self.cases {
            // Of what is no object nothing is asked here, so that the condition holds.
            let member = value.member(&cases.name);
            let is_object = value.kind() == Kind::Object;
            for case in &cases.all {
                let holds = match member {
                    Some(member) => case.values.iter().any(|known| member.same(known)),
                    None => !(case.is_required && is_object),
                };
                let inside = if holds { &case.then } else { &case.otherwise };
                if inside.all & !doubts.maybe != 0 {
                    inside.look(value, doubts);
                }
            }
        }
        for when in &self.when {
            if when.clause & !doubts.broken == 0 {
                continue;
            }
            match when.condition.holds(value) {
                Some(true) => when.then.look(value, doubts),
                Some(false) => when.otherwise.look(value, doubts),
                None => doubts.maybe |= when.clause,
            }
        }
    }

    fn look_inside(&self, value: JsonView<'_>, doubts: &mut Doubts) {
        let JsonView::Scanned(node) = value else {
            for member in &self.members {
                match value.member(&member.name) {
                    Some(value) => member.inside.look(value, doubts),
                    None => doubts.broken(member.required),
                }
            }
            return;
        };
        // One walk for all members; their order is mostly that of the schemas. What it does not meet is missing.
        let (mut cursor, mut met) = (0, 0_u128);
        for (key, inner) in node.members() {
            let Some(index) = key.place_in(&self.members, cursor, |member| &member.name) else { continue };
            cursor = index + 1;
            met |= 1_u128.checked_shl(index as u32).unwrap_or(0);
            let inside = &self.members[index].inside;
            if inside.all & !doubts.maybe != 0 {
                inside.look(JsonView::Scanned(inner), doubts);
            }
        }
        let is_large = self.members.len() > u128::BITS as usize;
        if self.required & !doubts.broken != 0 && (self.required_places & !met != 0 || is_large) {
            for (index, member) in self.members.iter().enumerate() {
                let is_met = 1_u128.checked_shl(index as u32).is_some_and(|bit| met & bit != 0);
                if member.required != 0 && !is_met && (index < 128 || value.member(&member.name).is_none()) {
                    doubts.broken(member.required);
                }
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
