//! What the messages of one kind have to be shown to in one run.
//!
//! Most clauses look at few of the messages of a kind: those that open a block, those of a sub-agent. What their selectors
//! ask is answered once for each message, each place in it looked up once, and a clause of which no selector takes the
//! message never hears of it.

use super::condition::Term;
use super::question::{Answers, Question};
use super::rule::{Rule, Selector};
use crate::json::JsonView;
use crate::json::pointer::Pointers;

/// Answers to questions, one bit each.
pub(super) type Bits = u128;

/// The clauses that look at messages of one kind, and what their selectors ask.
#[derive(Debug, Default)]
pub(super) struct Plan {
    places: Vec<Place>,
    /// The ways to these places, as far as each is one.
    ways: Pointers,
    pub(super) clauses: Vec<Planned>,
}

/// Questions about one place of a message.
#[derive(Debug)]
struct Place {
    questions: Vec<(Question, Bits)>,
}

/// One clause of a plan.
#[derive(Debug)]
pub(super) struct Planned {
    /// Its place in the contract.
    pub(super) clause: usize,
    /// Its bit in the program of the kind; none where the program does not decide it.
    pub(super) bit: u64,
    gate: Gate,
}

/// Whether a message concerns a clause.
#[derive(Debug)]
enum Gate {
    Always,
    /// When all of one of these are answered with yes.
    Any(Vec<Bits>),
}

impl Planned {
    /// Whether a message with these answers concerns the clause.
    #[inline]
    pub(super) fn concerns(&self, answers: Bits) -> bool {
        match &self.gate {
            Gate::Always => true,
            Gate::Any(all) => all.iter().any(|asked| answers & asked == *asked),
        }
    }
}

impl Plan {
    /// Adds a clause for messages of this kind.
    pub(super) fn add(&mut self, clause: usize, bit: u64, rule: &dyn Rule, kind: Option<usize>) {
        let gate = rule.selectors().and_then(|selectors| self.gate(&selectors, kind)).unwrap_or(Gate::Always);
        self.clauses.push(Planned { clause, bit, gate });
    }

    /// What the selectors ask; nothing when one of them takes every message, or when there is no bit left.
    fn gate(&mut self, selectors: &[&Selector], kind: Option<usize>) -> Option<Gate> {
        let mut all = Vec::new();
        for selector in selectors.iter().filter(|selector| selector.may_take(kind)) {
            for questions in selector.asks(kind)? {
                let mut asked = 0;
                for question in questions {
                    asked |= self.bit(question)?;
                }
                if asked == 0 {
                    return None;
                }
                all.push(asked);
            }
        }
        all.sort_unstable();
        all.dedup();
        Some(Gate::Any(all))
    }

    fn bit(&mut self, question: &Question) -> Option<Bits> {
        let known = self.places.iter().flat_map(|place| &place.questions);
        let mut next = 0;
        for (asked, bit) in known {
            if asked == question {
                return Some(*bit);
            }
            next += 1;
        }
        let bit = 1_u128.checked_shl(next)?;
        let same = |place: &&mut Place| place.questions[0].0.term().is_at(question.term());
        if let Some(place) = self.places.iter_mut().find(same) {
            place.questions.push((question.clone(), bit));
        } else {
            if let Some(way) = question.term().single() {
                self.ways.add(way, self.places.len());
            }
            self.places.push(Place { questions: vec![(question.clone(), bit)] });
        }
        Some(bit)
    }

    /// What is asked of a message, with what these answers say.
    pub(super) fn asked(&self, answers: Bits) -> impl Iterator<Item = (&Question, bool)> {
        let all = self.places.iter().flat_map(|place| &place.questions);
        all.map(move |(question, bit)| (question, answers & bit != 0))
    }

    /// Answers for a message what is asked of it.
    pub(super) fn answer(&self, message: JsonView<'_>, answers: &Answers) -> Bits {
        let (mut yes, mut met): (Bits, Bits) = (0, 0);
        self.ways.visit(message, &mut |place, found| {
            met |= 1 << place;
            for (question, bit) in &self.places[place].questions {
                let holds = question.term().of_found(Some(found));
                question.answered(holds, answers);
                yes |= if holds { *bit } else { 0 };
            }
        });
        // What was not met is not there, or several places.
        for (_, Place { questions }) in
            self.places.iter().enumerate().filter(|(place, _)| met >> place & 1 == 0)
        {
            for (question, bit) in questions {
                let term: &Term = question.term();
                let holds = match term.single() {
                    Some(_) => term.of_found(None),
                    None => term.of_message(message).unwrap_or(true),
                };
                question.answered(holds, answers);
                yes |= if holds { *bit } else { 0 };
            }
        }
        yes
    }
}
