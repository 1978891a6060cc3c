//! The clauses of an event contract that are data: rules over the records of a log, as those over the messages of a stream.
//!
//! A record is shown to them in one form, whichever shape the log gave it; see [`Accepted`]. They are judged for each
//! session alone, because peers are numbered anew in the next, and with `for-each` for each peer or whatever else.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::contract::{Contract, Kinds};
use super::events::{ClauseState, EventWatch, event_rule};
use super::facts::Facts;
use super::finding::Sink;
use super::question::Answers;
use super::rule::{Message, OF_LOGS, Watch};
use crate::events::{Accepted, Grade, Profile, is_of_type};
use crate::json::{JsonView, Scanner};
use crate::time::Millis;

/// For how many peers, or whatever a clause is judged for each of, it is followed at once.
const FOLLOWED: usize = 1 << 18;
/// So many of the rules that logs know ask nothing of the order of messages.
const OF_ONE_MESSAGE: usize = 8;

/// The clauses of some contracts that are data.
#[derive(Default)]
pub(super) struct EventClauses<'c> {
    contracts: Vec<InContract<'c>>,
    scanner: Scanner,
    /// The record as clauses see it.
    view: String,
}

/// Those of one contract.
struct InContract<'c> {
    contract: &'c Contract,
    answers: Answers,
    /// By their place in the contract.
    clauses: HashMap<usize, Watched<'c>>,
    /// The types of record that clauses look at; none when they look at all.
    types: Option<Vec<&'c str>>,
}

/// A clause and what it has seen.
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct Watched<'c> {
    state: ClauseState<'c>,
    /// What it has seen of the whole session, or with `for-each` under each value.
    watches: HashMap<String, Box<dyn Watch + 'c>>,
    /// When a watch has to be told the time.
    due: BinaryHeap<Reverse<(Millis, String)>>,
    /// There was something that it could have found wrong.
    looked: bool,
    is_immediate: bool,
    asks_for_order: bool,
    overflowed: bool,
}

impl<'c> EventClauses<'c> {
    /// Takes up the clauses of a contract that weigh anything under a profile.
    pub(super) fn add(&mut self, contract: &'c Contract, profile: Profile) {
        let clauses = contract.clauses().iter().enumerate().filter_map(|(index, clause)| {
            let name = clause.check.name;
            let place = OF_LOGS.iter().position(|known| *known == name)?;
            if event_rule(clause).is_some() {
                return None;
            }
            let state = ClauseState::new(contract.name(), clause, profile)?;
            let picks_last = clause.check_value.get().get("pick").is_some_and(|pick| pick == "last");
            let looks_back = clause.check_value.get().get("left").or(clause.check_value.get().get("right"));
            let looks_back = looks_back.is_some_and(serde_json::Value::is_object);
            let watched = Watched {
                state,
                watches: HashMap::new(),
                due: BinaryHeap::new(),
                looked: false,
                is_immediate: matches!(name, "implies" | "equals") && !picks_last,
                asks_for_order: place >= OF_ONE_MESSAGE || picks_last || looks_back,
                overflowed: false,
            };
            Some((index, watched))
        });
        let clauses: HashMap<_, _> = clauses.collect();
        if clauses.is_empty() {
            return;
        }
        let types = types_of(&contract.kinds, &contract.by_kind);
        let answers = Answers::new(contract.questions);
        self.contracts.push(InContract { contract, answers, clauses, types });
    }

    /// Whether a clause looks at records of a topic.
    pub(super) fn wants(&self, topic: &str) -> bool {
        self.contracts.iter().any(|contract| match &contract.types {
            Some(types) => is_of_type(topic, types),
            None => true,
        })
    }

    /// Sees the next record.
    pub(super) fn record(&mut self, record: &Accepted<'_>, watch: &mut impl EventWatch) {
        let Self { contracts, scanner, view, .. } = self;
        record.write(view);
        let Ok(document) = scanner.scan(view) else { return };
        let repaired;
        let value = if document.odd_count() == 0 {
            JsonView::Scanned(document.root())
        } else {
            repaired = document.root().to_value();
            JsonView::Built(&repaired)
        };
        for contract in contracts {
            contract.record(record, value, watch);
        }
    }

    /// Lets time pass.
    pub(super) fn passed(&mut self, now: Millis, watch: &mut impl EventWatch) {
        for clause in self.all() {
            clause.passed(now, watch);
        }
    }

    /// When a clause has to be told the time.
    pub(super) fn deadline(&self) -> Option<Millis> {
        let clauses = self.contracts.iter().flat_map(|contract| contract.clauses.values());
        clauses.filter_map(|clause| clause.due.peek().map(|Reverse((due, _))| *due)).min()
    }

    /// Ends what was seen of a peer.
    pub(super) fn ended(&mut self, peer: &str, watch: &mut impl EventWatch) {
        for clause in self.all() {
            if clause.is_for_each() {
                clause.end(peer, Grade::Full, watch);
            }
        }
    }

    /// Ends what was seen of a session. The end of a log is no leave: what a peer that is still there has not done is
    /// noted, not blamed.
    pub(super) fn session_ended(&mut self, is_end_of_log: bool, watch: &mut impl EventWatch) {
        for clause in self.all() {
            let is_whole = is_end_of_log && !clause.is_for_each();
            let grade = if is_whole { Grade::Full } else { Grade::Note };
            if is_whole && clause.watches.is_empty() {
                // There was no record that the clause is about.
                clause.begin("");
            }
            let mut keys: Vec<_> = clause.watches.keys().cloned().collect();
            keys.sort_unstable();
            for key in keys {
                clause.end(&key, grade, watch);
            }
            clause.due.clear();
        }
    }

    /// The clauses that had something to look at, broken or not: the contract of each, and its name.
    #[cfg(feature = "cli")]
    pub(super) fn looked(&self) -> impl Iterator<Item = (&'c str, &'c str)> {
        let clauses = self
            .contracts
            .iter()
            .flat_map(|contract| contract.clauses.values().map(|clause| (contract.contract.name(), clause)));
        clauses.filter(|(_, clause)| clause.looked).map(|(name, clause)| (name, &*clause.state.clause.id))
    }

    /// What was found, clause by clause.
    pub(super) fn into_states(self) -> impl Iterator<Item = ClauseState<'c>> {
        self.contracts.into_iter().flat_map(|contract| {
            let mut clauses: Vec<_> = contract.clauses.into_iter().collect();
            clauses.sort_by_key(|(place, _)| *place);
            clauses.into_iter().map(|(_, clause)| clause.state)
        })
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Watched<'c>> {
        self.contracts.iter_mut().flat_map(|contract| contract.clauses.values_mut())
    }
}

/// The types that the kinds ask for which clauses look at; none when a clause looks at more.
fn types_of<'c>(kinds: &'c Kinds, by_kind: &[Vec<usize>]) -> Option<Vec<&'c str>> {
    let (none, of_kinds) = by_kind.split_last()?;
    if !none.is_empty() {
        return None;
    }
    let wanted = of_kinds.iter().zip(&kinds.conditions).filter(|(clauses, _)| !clauses.is_empty());
    let mut types =
        wanted.map(|(_, condition)| condition.field_equals("type")).collect::<Option<Vec<_>>>()?;
    types.sort_unstable();
    types.dedup();
    Some(types)
}

impl InContract<'_> {
    fn record(&mut self, record: &Accepted<'_>, value: JsonView<'_>, watch: &mut impl EventWatch) {
        if let Some(types) = &self.types
            && !is_of_type(record.topic(), types)
        {
            return;
        }
        let kind = self.contract.kinds.of(value, &Facts::default());
        self.answers.next_message();
        let (line, offset, time) = record.place();
        let message = Message { line, offset, value, time, kind, answers: &self.answers };
        for index in &self.contract.by_kind[kind.unwrap_or(self.contract.kinds.names.len())] {
            if let Some(clause) = self.clauses.get_mut(index) {
                clause.message(record, &message, watch);
            }
        }
    }
}

impl<'c> Watched<'c> {
    fn is_for_each(&self) -> bool {
        self.state.clause.check.for_each.is_some()
    }

    fn begin(&mut self, key: &str) -> &mut (dyn Watch + 'c) {
        let rule = &self.state.clause.check.rule;
        &mut **self.watches.entry(key.to_owned()).or_insert_with(|| rule.watch())
    }

    fn message(&mut self, record: &Accepted<'_>, message: &Message<'_>, watch: &mut impl EventWatch) {
        let key = match &self.state.clause.check.for_each {
            None => String::new(),
            Some(place) => match place.get(message.value).and_then(JsonView::text) {
                Some(key) => key.into_owned(),
                None => return,
            },
        };
        let mut sink = Sink::default();
        if self.watches.len() >= FOLLOWED && !self.watches.contains_key(&key) {
            if !std::mem::replace(&mut self.overflowed, true) {
                sink.push(message.evidence("there are more at once than can be followed".into()));
                self.tell(sink, Grade::Full, Some(record), watch);
            }
            return;
        }
        let (is_immediate, had_looked) = (self.is_immediate, self.looked);
        let begun = self.begin(&key);
        begun.message(message, &mut sink);
        let looked = had_looked || begun.looked(&Facts::default());
        if is_immediate {
            // Nothing is left to know that would decide it.
            begun.finish(&Facts::default(), &mut sink);
        }
        if let Some(deadline) = begun.deadline()
            && self.due.peek().is_none_or(|Reverse((due, of))| *due != deadline || *of != key)
        {
            self.due.push(Reverse((deadline, key)));
        }
        self.looked = looked;
        let is_unsure = self.asks_for_order && record.is_unsure();
        self.tell(sink, if is_unsure { Grade::Indeterminate } else { Grade::Full }, Some(record), watch);
    }

    fn passed(&mut self, now: Millis, watch: &mut impl EventWatch) {
        while self.due.peek().is_some_and(|Reverse((due, _))| *due < now) {
            let Some(Reverse((_, key))) = self.due.pop() else { return };
            let Some(begun) = self.watches.get_mut(&key) else { continue };
            let mut sink = Sink::default();
            begun.passed(now, &mut sink);
            if let Some(deadline) = begun.deadline() {
                self.due.push(Reverse((deadline, key)));
            }
            self.tell(sink, Grade::Full, None, watch);
        }
    }

    fn end(&mut self, key: &str, grade: Grade, watch: &mut impl EventWatch) {
        let Some(mut begun) = self.watches.remove(key) else { return };
        let mut sink = Sink::default();
        begun.finish(&Facts::default(), &mut sink);
        self.tell(sink, grade, None, watch);
    }

    /// Tells what was found in the words of the log.
    fn tell(&mut self, sink: Sink, grade: Grade, record: Option<&Accepted<'_>>, watch: &mut impl EventWatch) {
        if sink.is_empty() {
            return;
        }
        let level = self.state.level_of(grade);
        for mut finding in sink.findings(&self.state.id(), level) {
            let here = record.filter(|record| finding.line == Some(record.place().0));
            finding.pointer = match (here, finding.pointer) {
                (Some(record), Some(pointer)) => Some(record.pointer(&pointer)),
                _ => None,
            };
            self.state.keep(finding, None, record.and_then(|record| record.place().2), watch);
        }
    }
}
