//! Holding an event log against the contract of its protocol.

use std::collections::BTreeMap;
use std::io;

use super::contract::Clause;
use super::event_clauses::EventClauses;
use super::finding::{Evidence, Finding, Level, excerpt};
use super::library::ContractSet;
use crate::events::{
    Accepted, Grade, Limits, LogChecker, Observer, Occurrence, Profile, Role, Rule, Summary, Violation,
};
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
    /// The clauses that are data.
    data: EventClauses<'c>,
}

/// A clause of a contract, and the findings against it so far.
pub(super) struct ClauseState<'c> {
    contract: &'c str,
    pub(super) clause: &'c Clause,
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
        let mut data = EventClauses::default();
        for contract in set.contracts() {
            for clause in contract.clauses() {
                let Some(rule) = event_rule(clause) else { continue };
                let Some(state) = ClauseState::new(contract.name(), clause, profile) else { continue };
                clauses[rule.index()] = Some(state);
            }
            data.add(contract, profile);
        }
        Self { checker: LogChecker::new(profile, limits), clauses, data }
    }

    /// Says which role peers have that the log does not tell of.
    pub(crate) fn assign(&mut self, roles: &[(String, Role)]) {
        self.checker.assign(roles);
    }

    /// Reads the next bytes. `watch` hears of every finding and of everything that happens.
    pub fn push(&mut self, chunk: &[u8], watch: &mut impl EventWatch) {
        self.checker.push(chunk, &mut Weigher { clauses: &mut self.clauses, data: &mut self.data, watch });
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
        self.checker.end_segment(&mut Weigher { clauses: &mut self.clauses, data: &mut self.data, watch });
    }

    /// Lets time pass on the log's clock, so that timers fire on silence.
    pub fn tick(&mut self, now: Millis, watch: &mut impl EventWatch) {
        self.checker.tick(now, &mut Weigher { clauses: &mut self.clauses, data: &mut self.data, watch });
        self.data.passed(now, watch);
    }

    /// The log's clock, and when the next timer fires on it.
    pub fn clock(&self) -> (Option<Millis>, Option<Millis>) {
        let (now, due) = self.checker.clock();
        (now, due.into_iter().chain(self.data.deadline()).min())
    }

    /// The clauses that are data and had something to look at, each with the name of its contract.
    #[cfg(feature = "cli")]
    pub(super) fn looked(&self) -> impl Iterator<Item = (&'c str, &'c str)> {
        self.data.looked()
    }

    /// How the reading stands.
    pub fn summary(&self) -> Summary {
        self.checker.summary()
    }

    /// Ends the watching of a log that goes on: a last line that is not whole is still being written.
    #[cfg(feature = "cli")]
    pub(crate) fn finish_growing(mut self, watch: &mut impl EventWatch) {
        self.checker.may_grow();
        self.finish(watch);
    }

    /// Ends the log and answers with what was broken, the gravest first.
    pub fn finish(self, watch: &mut impl EventWatch) -> (Vec<Finding>, Summary) {
        let Self { checker, mut clauses, mut data } = self;
        let summary = checker.finish(&mut Weigher { clauses: &mut clauses, data: &mut data, watch });
        data.session_ended(true, watch);
        let mut findings = Vec::new();
        for state in clauses.into_iter().flatten().chain(data.into_states()) {
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
    let named = |key| clause.check().get(key).and_then(serde_json::Value::as_str);
    let probe = || Rule::from_name(&format!("probe-{}", named("probe")?));
    named("events").and_then(Rule::from_name).or_else(probe)
}

/// Weighs what the checker finds by the clauses of the contract.
struct Weigher<'e, 'c, W> {
    clauses: &'e mut [Option<ClauseState<'c>>],
    data: &'e mut EventClauses<'c>,
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
        state.keep(finding, violation.peer.as_deref(), violation.time, self.watch);
    }

    fn wants(&self, topic: &str) -> bool {
        self.data.wants(topic)
    }

    fn record(&mut self, record: &Accepted<'_>) {
        self.data.record(record, self.watch);
    }

    fn passed(&mut self, now: Millis) {
        self.data.passed(now, self.watch);
    }

    fn ended(&mut self, peer: &str) {
        self.data.ended(peer, self.watch);
    }

    fn session_ended(&mut self) {
        self.data.session_ended(false, self.watch);
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

impl<'c> ClauseState<'c> {
    /// A clause of the contract of this name; none when it is not judged under the profile.
    pub(super) fn new(contract: &'c str, clause: &'c Clause, profile: Profile) -> Option<Self> {
        let level = clause.level_in(profile)?;
        Some(Self { contract, clause, level, found: BTreeMap::new() })
    }

    /// Tells of a finding, and keeps it if there is room.
    pub(super) fn keep(
        &mut self,
        finding: Finding,
        peer: Option<&str>,
        time: Option<Millis>,
        watch: &mut impl EventWatch,
    ) {
        watch.finding(&finding, peer, time);
        let found = self.found.entry(finding.level).or_default();
        if found.kept.len() < KEPT {
            found.kept.push(finding);
        } else {
            found.more += 1;
        }
    }

    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.contract, self.clause.id)
    }

    /// What a violation of this grade weighs.
    pub(super) fn level_of(&self, grade: Grade) -> Level {
        match grade {
            Grade::Note => self.level.min(Level::Note),
            Grade::Indeterminate => self.level.min(Level::Indeterminate),
            Grade::Should => self.level.min(Level::Should),
            Grade::Full => self.level,
        }
    }
}
