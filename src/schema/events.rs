//! Holding an event log against the contract of its protocol.

use std::io;

use super::contract::Clause;
use super::finding::{Evidence, Finding, Level, excerpt};
use super::library::ContractSet;
use crate::events::{Breach, Grade, Limits, LogJudge, Observer, Profile, Rule, Summary};
use crate::time::Millis;

/// How many findings of one clause are kept; the rest are counted.
const KEPT: usize = 20;

/// Judges an event log while it is read.
///
/// The rules decide what happened, the contract what it weighs under a profile. `watch` may listen in; see
/// [`Observer`].
pub struct EventJudge<'c> {
    log: LogJudge,
    court: EventCourt<'c>,
}

/// The clauses of a contract, and the findings against each.
struct EventCourt<'c> {
    /// For each rule the clause that uses it.
    clauses: Vec<Option<Docket<'c>>>,
}

struct Docket<'c> {
    contract: &'c str,
    clause: &'c Clause,
    level: Level,
    kept: Vec<Finding>,
    more: u64,
}

impl<'c> EventJudge<'c> {
    /// Starts to judge a log against a contract that speaks of event logs.
    pub fn new(set: &'c ContractSet, profile: Profile, limits: Limits) -> Self {
        let mut clauses: Vec<Option<Docket<'c>>> = Rule::ALL.iter().map(|_| None).collect();
        for contract in set.contracts() {
            for clause in contract.clauses() {
                let Some(rule) = event_rule(clause) else { continue };
                let Some(level) = clause.level_in(profile) else { continue };
                let docket = Docket { contract: contract.name(), clause, level, kept: Vec::new(), more: 0 };
                clauses[rule.index()] = Some(docket);
            }
        }
        Self { log: LogJudge::new(profile, limits), court: EventCourt { clauses } }
    }

    /// Reads the next bytes. `watch` hears of every finding and of everything that happens.
    pub fn push(&mut self, chunk: &[u8], watch: &mut impl EventWatch) {
        self.log.push(chunk, &mut Ears { court: &mut self.court, watch });
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
        self.log.next_line()
    }

    /// Ends a segment of the log; the next one starts on a new line.
    pub fn end_segment(&mut self, watch: &mut impl EventWatch) {
        self.log.end_segment(&mut Ears { court: &mut self.court, watch });
    }

    /// Lets time pass on the log's clock, so that timers fire on silence.
    pub fn tick(&mut self, now: Millis, watch: &mut impl EventWatch) {
        self.log.tick(now, &mut Ears { court: &mut self.court, watch });
    }

    /// The log's clock, and when the next timer fires on it.
    pub fn clock(&self) -> (Option<Millis>, Option<Millis>) {
        (self.log.clock(), self.log.next_deadline())
    }

    /// How the reading stands.
    pub fn summary(&self) -> Summary {
        self.log.summary()
    }

    /// Ends the log and answers with what was broken, the gravest first.
    pub fn finish(self, watch: &mut impl EventWatch) -> (Vec<Finding>, Summary) {
        let Self { log, mut court } = self;
        let summary = log.finish(&mut Ears { court: &mut court, watch });
        (court.findings(), summary)
    }
}

/// Who listens while a log is judged.
pub trait EventWatch {
    /// A clause is broken; `peer` and `time` say by whom and when.
    fn finding(&mut self, finding: &Finding, peer: Option<&str>, time: Option<Millis>) {
        let _ = (finding, peer, time);
    }

    /// Something happened.
    fn happening(&mut self, peer: &str, time: Option<Millis>, line: u64, what: crate::events::Happening<'_>) {
        let _ = (peer, time, line, what);
    }

    /// Whether happenings are wanted at all.
    fn listens(&self) -> bool {
        true
    }

    /// Whether findings are wanted one by one, also those that are only counted in the end.
    fn wants_all(&self) -> bool {
        false
    }
}

/// Nobody listens.
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

struct Ears<'e, 'c, W> {
    court: &'e mut EventCourt<'c>,
    watch: &'e mut W,
}

impl<W: EventWatch> Observer for Ears<'_, '_, W> {
    fn breach(&mut self, breach: Breach) {
        let (peer, time) = (breach.peer.clone(), breach.time);
        if let Some(finding) = self.court.breach(breach) {
            self.watch.finding(&finding, peer.as_deref(), time);
        }
    }

    fn is_full(&self, rule: Rule) -> bool {
        match &self.court.clauses[rule.index()] {
            // Nobody asked for this rule, so the breach need not be worked out.
            None => true,
            Some(docket) => docket.kept.len() >= KEPT && !self.watch.wants_all(),
        }
    }

    fn listens(&self) -> bool {
        self.watch.listens()
    }

    fn count(&mut self, rule: Rule) {
        if let Some(docket) = &mut self.court.clauses[rule.index()] {
            docket.more += 1;
        }
    }

    fn happening(&mut self, peer: &str, time: Option<Millis>, line: u64, what: crate::events::Happening<'_>) {
        self.watch.happening(peer, time, line, what);
    }
}

impl EventCourt<'_> {
    /// Files a breach under its clause.
    fn breach(&mut self, breach: Breach) -> Option<Finding> {
        let consequences = self.name_all(&breach.consequences);
        let docket = self.clauses[breach.rule.index()].as_mut()?;
        let level = match breach.grade {
            Grade::Note => docket.level.min(Level::Note),
            Grade::Indeterminate => docket.level.min(Level::Indeterminate),
            Grade::Should => docket.level.min(Level::Should),
            _ => docket.level,
        };
        let finding = Finding {
            clause: docket.id(),
            level,
            message: breach.message,
            line: Some(breach.line),
            offset: Some(breach.offset),
            pointer: breach.pointer,
            seen: breach.seen.as_ref().map(excerpt),
            expected: None,
            consequences,
            known: None,
        };
        if docket.kept.len() < KEPT {
            docket.kept.push(finding.clone());
        } else {
            docket.more += 1;
        }
        Some(finding)
    }

    /// The clauses that are broken only because another one is.
    fn name_all(&self, rules: &[(Rule, u64)]) -> Vec<String> {
        let name = |(rule, line): &(Rule, u64)| {
            let docket = self.clauses[rule.index()].as_ref()?;
            Some(format!("{} on line {line}", docket.id()))
        };
        rules.iter().filter_map(name).collect()
    }

    fn findings(self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for docket in self.clauses.into_iter().flatten() {
            let id = docket.id();
            if docket.more > 0 {
                let message = format!("and {} more of the same", docket.more);
                let rest = Evidence { message, ..Evidence::default() };
                findings.push(rest.finding(id, docket.level));
            }
            findings.extend(docket.kept);
        }
        findings
            .sort_by_key(|finding| (std::cmp::Reverse(finding.level), finding.line.is_none(), finding.line));
        findings
    }
}

impl Docket<'_> {
    fn id(&self) -> String {
        format!("{}/{}", self.contract, self.clause.id)
    }
}
