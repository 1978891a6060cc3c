//! Holding an event log against the contract of its protocol.

use std::collections::BTreeMap;
use std::io;

use super::contract::Clause;
use super::finding::{Evidence, Finding, Level, excerpt};
use super::library::ContractSet;
use crate::events::{Grade, Limits, LogChecker, Observer, Occurrence, Profile, Rule, Summary, Violation};
use crate::time::Millis;

/// How many findings of one clause are kept; the rest are counted.
const KEPT: usize = 20;

/// Judges an event log while it is read.
///
/// The rules decide what happened, the contract what it weighs under a profile. `watch` may listen in; see
/// `EventWatch`.
pub struct EventJudge<'c> {
    checker: LogChecker,
    /// For each rule the clause that uses it.
    clauses: Vec<Option<ClauseState<'c>>>,
}

/// A clause of a contract, and the findings against it so far.
struct ClauseState<'c> {
    contract: &'c str,
    clause: &'c Clause,
    /// What the clause weighs at most under the profile.
    level: Level,
    found: BTreeMap<Level, Found>,
}

/// What was found against a clause that weighs the same. Levels are counted apart: many notes must neither hide nor
/// become the one must.
#[derive(Default)]
struct Found {
    kept: Vec<Finding>,
    more: u64,
}

impl<'c> EventJudge<'c> {
    /// Starts to judge a log against a contract that speaks of event logs.
    pub fn new(set: &'c ContractSet, profile: Profile, limits: Limits) -> Self {
        let mut clauses: Vec<Option<ClauseState<'c>>> = Rule::ALL.iter().map(|_| None).collect();
        for contract in set.contracts() {
            for clause in contract.clauses() {
                let Some(rule) = event_rule(clause) else { continue };
                let Some(level) = clause.level_in(profile) else { continue };
                let (contract, found) = (contract.name(), BTreeMap::new());
                clauses[rule.index()] = Some(ClauseState { contract, clause, level, found });
            }
        }
        Self { checker: LogChecker::new(profile, limits), clauses }
    }

    /// Reads the next bytes. `watch` hears of every finding and of everything that happens.
    pub fn push(&mut self, chunk: &[u8], watch: &mut impl EventWatch) {
        self.checker.push(chunk, &mut Weigher { clauses: &mut self.clauses, watch });
    }

    /// Reads everything that a reader gives.
    pub fn read(&mut self, mut reader: impl io::Read, watch: &mut impl EventWatch) -> io::Result<()> {
        let mut chunk = vec![0; 256 << 10];
        loop {
            match reader.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(read) => self.push(&chunk[..read], watch),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The number of the line that comes next.
    pub fn next_line(&self) -> u64 {
        self.checker.next_line()
    }

    /// Ends a segment of the log; the next one starts on a new line.
    pub fn end_segment(&mut self, watch: &mut impl EventWatch) {
        self.checker.end_segment(&mut Weigher { clauses: &mut self.clauses, watch });
    }

    /// Lets time pass on the log's clock, so that timers fire on silence.
    pub fn tick(&mut self, now: Millis, watch: &mut impl EventWatch) {
        self.checker.tick(now, &mut Weigher { clauses: &mut self.clauses, watch });
    }

    /// The log's clock, and when the next timer fires on it.
    pub fn clock(&self) -> (Option<Millis>, Option<Millis>) {
        self.checker.clock()
    }

    /// How the reading stands.
    pub fn summary(&self) -> Summary {
        self.checker.summary()
    }

    /// Ends the log and answers with what was broken, the gravest first.
    pub fn finish(self, watch: &mut impl EventWatch) -> (Vec<Finding>, Summary) {
        let Self { checker, mut clauses } = self;
        let summary = checker.finish(&mut Weigher { clauses: &mut clauses, watch });
        let mut findings = Vec::new();
        for state in clauses.into_iter().flatten() {
            let id = state.id();
            for (level, found) in state.found {
                if found.more > 0 {
                    let message = format!("and {} more of the same", found.more);
                    let rest = Evidence { message, ..Evidence::default() };
                    findings.push(rest.finding(id.clone(), level));
                }
                findings.extend(found.kept);
            }
        }
        findings
            .sort_by_key(|finding| (std::cmp::Reverse(finding.level), finding.line.is_none(), finding.line));
        (findings, summary)
    }
}

/// Who listens while a log is judged.
pub trait EventWatch {
    /// A clause is broken; `peer` and `time` say by whom and when.
    fn finding(&mut self, _finding: &Finding, _peer: Option<&str>, _time: Option<Millis>) {}

    /// Something happened to a peer, or with an empty name to the log.
    fn occurrence(&mut self, _peer: &str, _time: Option<Millis>, _line: u64, _what: Occurrence<'_>) {}

    /// Whether occurrences are wanted at all.
    fn listens(&self) -> bool {
        true
    }

    /// Whether findings are wanted one by one, also those that are only counted in the end.
    fn wants_all(&self) -> bool {
        false
    }
}

/// For logs that are judged with nobody listening.
impl EventWatch for () {
    fn listens(&self) -> bool {
        false
    }
}

/// Judges a log that is in memory.
pub fn judge_log(set: &ContractSet, profile: Profile, log: &[u8]) -> Vec<Finding> {
    let mut judge = EventJudge::new(set, profile, Limits::default());
    judge.push(log, &mut ());
    judge.finish(&mut ()).0
}

/// The rule of event logs that a clause uses.
pub(crate) fn event_rule(clause: &Clause) -> Option<Rule> {
    clause.check().get("events").and_then(serde_json::Value::as_str).and_then(Rule::from_name)
}

/// Weighs what the checker finds by the clauses of the contract.
struct Weigher<'e, 'c, W> {
    clauses: &'e mut [Option<ClauseState<'c>>],
    watch: &'e mut W,
}

impl<W: EventWatch> Observer for Weigher<'_, '_, W> {
    fn violation(&mut self, violation: Violation) {
        let consequence = |(rule, line): &(Rule, u64)| {
            let state = self.clauses[rule.index()].as_ref()?;
            Some(format!("{} on line {line}", state.id()))
        };
        let consequences = violation.consequences.iter().filter_map(consequence).collect();
        let Some(state) = &mut self.clauses[violation.rule.index()] else { return };
        let level = state.level_of(violation.grade);
        let finding = Finding {
            clause: state.id(),
            level,
            message: violation.message,
            line: Some(violation.line),
            offset: Some(violation.offset),
            pointer: violation.pointer,
            seen: violation.seen.as_ref().map(excerpt),
            expected: None,
            consequences,
            known: None,
        };
        self.watch.finding(&finding, violation.peer.as_deref(), violation.time);
        let found = state.found.entry(level).or_default();
        if found.kept.len() < KEPT {
            found.kept.push(finding);
        } else {
            found.more += 1;
        }
    }

    fn is_full(&self, rule: Rule, grade: Grade) -> bool {
        // Where nobody asked for the rule, the violation need not be worked out.
        self.clauses[rule.index()].as_ref().is_none_or(|state| {
            let found = state.found.get(&state.level_of(grade));
            found.is_some_and(|found| found.kept.len() >= KEPT) && !self.watch.wants_all()
        })
    }

    fn listens(&self) -> bool {
        self.watch.listens()
    }

    fn count(&mut self, rule: Rule, grade: Grade) {
        if let Some(state) = &mut self.clauses[rule.index()] {
            state.found.entry(state.level_of(grade)).or_default().more += 1;
        }
    }

    fn occurrence(&mut self, peer: &str, time: Option<Millis>, line: u64, what: Occurrence<'_>) {
        self.watch.occurrence(peer, time, line, what);
    }
}

impl ClauseState<'_> {
    fn id(&self) -> String {
        format!("{}/{}", self.contract, self.clause.id)
    }

    /// What a violation of this grade weighs.
    fn level_of(&self, grade: Grade) -> Level {
        match grade {
            Grade::Note => self.level.min(Level::Note),
            Grade::Indeterminate => self.level.min(Level::Indeterminate),
            Grade::Should => self.level.min(Level::Should),
            Grade::Full => self.level,
        }
    }
}
