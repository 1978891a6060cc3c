//! What the selectors of a contract ask of a message. Many clauses ask the same, so that each question is answered once
//! for a message, and only when somebody asks.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::condition::Term;
use crate::json::JsonView;

/// The questions of one contract, while it is loaded: the same one has the same number.
#[derive(Debug, Default)]
pub(crate) struct Questions(RefCell<Vec<Question>>);

/// A term with its number among those of its contract.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    number: usize,
    term: Arc<Term>,
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Questions {
    /// The question that a term asks.
    pub(crate) fn ask(&self, term: &Term) -> Question {
        let mut known = self.0.borrow_mut();
        if let Some(question) = known.iter().find(|question| *question.term == *term) {
            return question.clone();
        }
        let question = Question { number: known.len(), term: Arc::new(term.clone()) };
        known.push(question.clone());
        question
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.borrow().len()
    }
}

impl Question {
    /// What it asks.
    pub(crate) fn term(&self) -> &Term {
        &self.term
    }

    /// Notes the answer for a message.
    #[inline]
    pub(crate) fn answered(&self, holds: bool, answers: &Answers) {
        answers.note(self.number, holds);
    }

    /// Its number among those of its contract.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// The answer for a message.
    #[inline]
    pub(crate) fn holds(&self, message: JsonView<'_>, answers: &Answers) -> bool {
        answers.get(self.number, || self.term.of_message(message).unwrap_or(true))
    }
}

/// The answers for one message after the other.
#[derive(Debug)]
pub(crate) struct Answers {
    /// For each question the latest message that it was asked of, doubled, and one more if it held.
    latest: Vec<Cell<u64>>,
    /// The message that is asked, counted from 1.
    message: u64,
}

impl Answers {
    /// Room for the answers to so many questions.
    pub(crate) fn new(questions: usize) -> Self {
        Self { latest: vec![Cell::new(0); questions], message: 0 }
    }

    /// Forgets what was answered for the message before.
    pub(crate) fn next_message(&mut self) {
        self.message += 1;
    }

    /// Notes the answers to questions by their numbers.
    pub(crate) fn note_all(&self, answers: &[(usize, bool)]) {
        for (question, holds) in answers {
            self.note(*question, *holds);
        }
    }

    #[inline]
    fn note(&self, question: usize, holds: bool) {
        self.latest[question].set(self.message << 1 | u64::from(holds));
    }

    #[inline]
    fn get(&self, question: usize, answer: impl FnOnce() -> bool) -> bool {
        let latest = &self.latest[question];
        if latest.get() >> 1 != self.message {
            latest.set(self.message << 1 | u64::from(answer()));
        }
        latest.get() & 1 == 1
    }
}
