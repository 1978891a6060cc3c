//! Judging one run: an observer that sees its messages once, in order, and answers with findings.
//!
//! Memory does not grow with the run: each rule keeps only what it still needs, and evidence is bounded.

use serde_json::Value;

use super::condition::Truth;
use super::contract::{Clause, Contract, Protocol};
use super::facts::{End, Fact, Facts, Run};
use super::finding::{Finding, Sink};
use super::frame::{self, FramingProblem};
use super::plan::Plan;
use super::question::Answers;
use super::rule::{Message, Watch};
use crate::envelope::Envelope;
use crate::json::{Form, Found, JsonView, Layouts, Node, Problem, Reads};
use crate::stream_json::{Line, Summary};

/// An observer of one run.
///
/// Call [`line`](Self::line) for each line of a stream (or [`document`](Self::document) with the whole stdout of
/// a document), then [`finish`](Self::finish).
pub struct Judge<'c> {
    contracts: Vec<ContractState<'c>>,
}

/// One contract and how it stands.
struct ContractState<'c> {
    contract: &'c Contract,
    facts: Facts,
    states: Vec<ClauseState<'c>>,
    /// For each kind, and last for messages of no kind, the clauses that look at them and can still apply; made when the
    /// first such message comes.
    plans: Vec<Option<Plan>>,
    answers: Answers,
    /// What was concluded of messages, for those that are like them.
    layouts: Layouts<Concluded>,
    concluded: Concluded,
    seen_kinds: Vec<bool>,
    messages: u64,
    /// What its bytes had, in the words of contracts.
    framing: Vec<&'static str>,
    wants_version: bool,
    /// What was served is known, or will be.
    is_recorded: bool,
    /// Each clause looks at each message, as if nothing were worked out for all of them together.
    #[cfg(test)]
    one_by_one: bool,
}

struct ClauseState<'c> {
    clause: &'c Clause,
    /// Begun when there is something to watch: of a hundred clauses a run concerns a few.
    watch: Option<Box<dyn Watch + 'c>>,
    sink: Sink,
    /// The clause can still apply.
    open: bool,
}

impl<'c> ClauseState<'c> {
    fn watch(&mut self) -> (&mut (dyn Watch + 'c), &mut Sink) {
        let watch = self.watch.get_or_insert_with(|| self.clause.check.rule.watch());
        (&mut **watch, &mut self.sink)
    }
}

impl<'c> Judge<'c> {
    /// Starts to judge a run against some contracts.
    pub fn begin(contracts: impl IntoIterator<Item = &'c Contract>, run: &Run) -> Self {
        Self { contracts: contracts.into_iter().map(|contract| ContractState::new(contract, run)).collect() }
    }

    /// Sees a message that is in memory: the one on a line, counted from 1, that starts at a byte of stdout.
    pub fn message(&mut self, line: u64, offset: u64, value: &Value) {
        self.view(line, offset, value.into());
    }

    pub(crate) fn view(&mut self, line: u64, offset: u64, value: JsonView<'_>) {
        for contract in &mut self.contracts {
            contract.message(line, offset, value);
        }
    }

    /// Sees the next line of a stream.
    pub fn line(&mut self, line: &Line<'_>) {
        match line {
            Line::Message(message) => {
                for oddity in frame::of_line(message.line, message.offset, message.document.oddities()) {
                    self.oddity(&oddity);
                }
                if let Some(offset) = message.invalid_utf8 {
                    self.flaw(
                        Problem::InvalidUtf8,
                        message.line,
                        offset,
                        format!("byte {offset} is not UTF-8"),
                    );
                }
                // Rules see what strict JSON can hold; where the text holds something else, it is repaired first.
                if message.document.odd_count() == 0 {
                    self.view(message.line, message.offset, JsonView::Scanned(message.root()));
                } else {
                    self.message(message.line, message.offset, &message.root().to_value());
                }
                if !message.terminated {
                    let (number, end) = (message.line, message.offset + message.text.len() as u64);
                    self.flaw(Problem::NoFinalNewline, number, end, format!("no newline ends line {number}"));
                }
            }
            Line::NotAnObject { number, offset } => {
                let message = format!("line {number} is JSON but no object");
                self.flaw(Problem::NotAnObject, *number, *offset, message);
            }
            Line::Malformed { number, offset, error, terminated } => {
                let problem = if *terminated { Problem::NotJson } else { Problem::Truncated };
                let message = format!("line {number} is not JSON: {error}");
                self.flaw(problem, *number, offset + error.offset as u64, message);
            }
            Line::Oversized { number, offset, length, .. } => {
                let message = format!("line {number} has {length} bytes, more than can be judged");
                self.flaw(Problem::LineTooLong, *number, *offset, message);
            }
        }
    }

    /// Sees what only the whole stream shows: that it has no line at all, or how its lines end.
    pub fn end_of_stream(&mut self, summary: &Summary) {
        if summary.lines == 0 {
            self.flaw(Problem::Empty, 1, 0, "stdout is empty".into());
        }
        let returns = summary.tally.samples().iter().find(|sample| sample.kind == Problem::LoneReturn);
        if let Some(first) = returns {
            let message = format!("line {} ends in a carriage return alone", first.line);
            self.flaw(Problem::LoneReturn, first.line, first.offset, message);
        }
    }

    fn flaw(&mut self, problem: Problem, line: u64, offset: u64, message: String) {
        self.oddity(&FramingProblem { problem, line, offset, message, seen: None });
    }

    /// Sees the whole stdout of a run that prints one document, and what was read of it: where it is, and what is odd
    /// about its bytes. The document itself is judged where it stands.
    pub fn document(&mut self, document: &Envelope, stdout: &[u8], end: &End<'_>) {
        let mut heard = Vec::new();
        for contract in &mut self.contracts {
            contract.facts.at_end(end);
            let frame = frame::document(document, stdout, end.stderr, contract.contract.root);
            // In text mode stdout is for people; nothing about its bytes is promised.
            let text_mode = contract.facts.get(Fact::Mode).is_some_and(|mode| mode == "text");
            if text_mode {
                continue;
            }
            for oddity in &frame.oddities {
                contract.oddity(oddity);
            }
            heard.push((contract, frame.line, frame.offset));
        }
        frame::see_document(document, stdout, &mut |value| {
            for (contract, line, offset) in &mut heard {
                contract.message(*line, *offset, value);
            }
        });
    }

    /// Sees the whole stdout of a run that prints plain text: one message that is a string.
    pub fn text(&mut self, stdout: &[u8]) {
        if let Err(error) = std::str::from_utf8(stdout) {
            let at = error.valid_up_to() as u64;
            self.flaw(Problem::InvalidUtf8, 1, at, format!("byte {at} is not UTF-8"));
        }
        if stdout.is_empty() {
            self.flaw(Problem::Empty, 1, 0, "stdout is empty".into());
        }
        self.message(1, 0, &String::from_utf8_lossy(stdout).into());
    }

    /// Ends the run and answers with what was broken, the gravest first.
    pub fn finish(self, end: &End<'_>) -> Vec<Finding> {
        self.finish_exercised(end, &mut |_, _| {})
    }

    /// As [`finish`](Self::finish); `exercised` hears of every clause that had something to look at, broken or not, by
    /// its contract and its name.
    pub(crate) fn finish_exercised(
        self,
        end: &End<'_>,
        exercised: &mut dyn FnMut(&str, &str),
    ) -> Vec<Finding> {
        let mut findings: Vec<_> =
            self.contracts.into_iter().flat_map(|contract| contract.finish(end, exercised)).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
        findings
    }

    fn oddity(&mut self, oddity: &FramingProblem) {
        for contract in &mut self.contracts {
            contract.oddity(oddity);
        }
    }
}

/// Whether a clause may still turn out to apply; if not, nothing need be worked out for it.
fn can_apply(clause: &Clause, facts: &Facts, is_recorded: bool) -> bool {
    let needs_recording = clause.check.rule.needs_recording() || clause.applies.needs_recording();
    (is_recorded || !needs_recording) && clause.applies.of_run(facts) != Truth::Fails
}

/// What is to be done with a message, and with every other like it.
#[derive(Debug, Default, Clone)]
struct Concluded {
    kind: Option<usize>,
    /// The clauses that have to see it, and whether it breaks them for certain.
    calls: Vec<(usize, bool)>,
    /// What was asked of it.
    answers: Vec<(usize, bool)>,
}

/// Shows a message to a clause, and answers whether it kept nothing of it.
fn tell_noting(state: &mut ClauseState<'_>, message: &Message<'_>, call: (usize, bool)) -> bool {
    let before = (state.watch().0.kept(), state.sink.amount());
    tell(std::slice::from_mut(state), message, &[(0, call.1)]);
    before.0.is_some() && before == (state.watch().0.kept(), state.sink.amount())
}

/// Shows a message to the clauses that it concerns.
fn tell(states: &mut [ClauseState<'_>], message: &Message<'_>, calls: &[(usize, bool)]) {
    for (clause, is_broken) in calls {
        let state = &mut states[*clause];
        if *is_broken && state.sink.is_full() {
            // That it is broken is known, and nobody will read why.
            state.sink.count(1);
            continue;
        }
        let (watch, sink) = state.watch();
        watch.message(message, sink);
    }
}

impl<'c> ContractState<'c> {
    fn new(contract: &'c Contract, run: &Run) -> Self {
        let mut facts = Facts::at_start(run, &contract.invocation);
        facts.unreleased = run.version.as_ref().is_some_and(|version| !contract.has_release(version));
        let state = |clause: &'c Clause| ClauseState {
            clause,
            watch: None,
            sink: Sink::default(),
            open: can_apply(clause, &facts, run.is_recorded),
        };
        Self {
            contract,
            states: contract.clauses.iter().map(state).collect(),
            plans: contract.by_kind.iter().map(|_| None).collect(),
            answers: Answers::new(contract.questions),
            layouts: Layouts::default(),
            concluded: Concluded::default(),
            seen_kinds: vec![false; contract.kinds.names.len()],
            messages: 0,
            framing: Vec::new(),
            wants_version: contract.version_at.is_some() && facts.get(Fact::Version).is_none(),
            is_recorded: run.is_recorded,
            #[cfg(test)]
            one_by_one: false,
            facts,
        }
    }

    fn message(&mut self, line: u64, offset: u64, value: JsonView<'_>) {
        if self.wants_version
            && let Some(at) = &self.contract.version_at
            && let Some(version) = at.get(value)
        {
            self.facts.set(Fact::Version, version.to_value().into_owned());
            self.facts.unreleased =
                !version.text().is_some_and(|version| self.contract.has_release(&version));
            self.wants_version = false;
            for state in &mut self.states {
                state.open = can_apply(state.clause, &self.facts, self.is_recorded);
            }
            self.plans.fill_with(|| None);
            self.layouts.clear();
        }
        if self.facts.get(Fact::Command).is_none()
            && let Some((command, known)) = self.contract.invocation.named_by(value)
        {
            self.facts.set(Fact::Command, command);
            self.facts.set(Fact::CommandKnown, known);
            self.layouts.clear();
        }
        self.messages += 1;
        self.answers.next_message();
        #[cfg(test)]
        if self.one_by_one {
            let kind = self.contract.kinds.of(value, &self.facts);
            if let Some(kind) = kind {
                self.seen_kinds[kind] = true;
            }
            let message = Message { line, offset, value, time: None, kind, answers: &self.answers };
            for state in self.states.iter_mut().filter(|state| state.open) {
                let (watch, sink) = state.watch();
                watch.message(&message, sink);
            }
            return;
        }
        let known = match value {
            JsonView::Scanned(root) => self.layouts.find(root),
            JsonView::Built(_) => Found::Unkept,
        };
        let form = match known {
            Found::Known(concluded, slots) => {
                self.answers.note_all(&concluded.answers);
                let (kind, answers) = (concluded.kind, &self.answers);
                let JsonView::Scanned(root) = value else { return };
                return root.knowing(slots, |root| {
                    let value = JsonView::Scanned(root);
                    let message = Message { line, offset, value, time: None, kind, answers };
                    tell(&mut self.states, &message, &concluded.calls);
                });
            }
            Found::New(form) => Some(form),
            Found::Unkept => None,
        };
        let mut concluded = std::mem::take(&mut self.concluded);
        if let (Some(form), JsonView::Scanned(root)) = (form, value) {
            self.tell_anew(line, offset, root, form, &mut concluded);
        } else {
            self.conclude(value, &mut concluded);
            let (kind, answers) = (concluded.kind, &self.answers);
            let message = Message { line, offset, value, time: None, kind, answers };
            tell(&mut self.states, &message, &concluded.calls);
        }
        self.concluded = concluded;
    }

    /// Tells of a message whose form is known, and keeps what it comes to for those that are like it.
    fn tell_anew(&mut self, line: u64, offset: u64, root: Node<'_>, form: Form, concluded: &mut Concluded) {
        let reads = Reads::default();
        root.noting(&reads, |root| self.conclude(JsonView::Scanned(root), concluded));
        let Concluded { kind, calls, answers: known } = &mut *concluded;
        let (kind, value) = (*kind, JsonView::Scanned(root));
        if form.is_plain {
            let answers = &self.answers;
            tell(&mut self.states, &Message { line, offset, value, time: None, kind, answers }, calls);
        } else {
            // Those that had nothing to say of it have nothing to say of any that is like it.
            calls.retain(|call| {
                // What another has asked, this one asks again, so that it is noted.
                self.answers.next_message();
                self.answers.note_all(known);
                let (answers, told) = (&self.answers, Reads::default());
                let is_done = root.noting(&told, |root| {
                    let value = JsonView::Scanned(root);
                    let message = Message { line, offset, value, time: None, kind, answers };
                    tell_noting(&mut self.states[call.0], &message, *call)
                });
                !is_done || !reads.add(told)
            });
        }
        self.layouts.keep(form, root, reads, concluded.clone());
    }

    /// Tells which clauses a message concerns. Of the message nothing else is looked at than what is read in here.
    fn conclude(&mut self, value: JsonView<'_>, concluded: &mut Concluded) {
        let kind = self.contract.kinds.of(value, &self.facts);
        if let Some(kind) = kind {
            self.seen_kinds[kind] = true;
        }
        let number = kind.unwrap_or(self.seen_kinds.len());
        let (all, states) = (&self.contract.by_kind[number], &mut self.states);
        let program = self.contract.program(number);
        let plan = self.plans[number].get_or_insert_with(|| {
            let mut plan = Plan::default();
            for index in all.iter().copied() {
                if !states[index].open {
                    continue;
                }
                // A watch begins also for a clause that no message concerns: it was looked at.
                states[index].watch();
                plan.add(index, program.bit(index), &*states[index].clause.check.rule, kind);
            }
            plan
        });
        let doubts = program.doubts(value);
        let answers = plan.answer(value, &self.answers);
        concluded.kind = kind;
        concluded.answers.clear();
        concluded.answers.extend(plan.asked(answers).map(|(question, holds)| (question.number(), holds)));
        concluded.calls.clear();
        for planned in &plan.clauses {
            let is_cleared = planned.bit != 0 && doubts.maybe & planned.bit == 0;
            if !is_cleared && planned.concerns(answers) {
                concluded.calls.push((planned.clause, doubts.broken & planned.bit != 0));
            }
        }
    }

    fn oddity(&mut self, oddity: &FramingProblem) {
        let Some(word) = frame::word(oddity.problem) else { return };
        if !self.framing.contains(&word) {
            self.framing.push(word);
        }
        for state in self.states.iter_mut().filter(|state| state.clause.check.rule.speaks_of_bytes()) {
            let (watch, sink) = state.watch();
            watch.oddity(oddity, sink);
        }
    }

    fn finish(mut self, end: &End<'_>, exercised: &mut dyn FnMut(&str, &str)) -> Vec<Finding> {
        self.facts.at_end(end);
        self.facts.set(Fact::Messages, self.messages);
        let kinds = self.contract.kinds.names.iter().zip(&self.seen_kinds);
        self.facts.set(
            Fact::Kinds,
            kinds.filter(|(_, seen)| **seen).map(|(name, _)| name.clone()).collect::<Vec<_>>(),
        );
        if self.contract.protocol == Protocol::Document {
            self.facts.set(Fact::Framing, std::mem::take(&mut self.framing));
        }
        let mut findings = Vec::new();
        for mut state in self.states {
            let applies = can_apply(state.clause, &self.facts, self.is_recorded);
            if !applies || state.clause.applies.of_run(&self.facts) != Truth::Holds {
                continue;
            }
            let rule = &state.clause.check.rule;
            let silent = state.watch.is_none() && !rule.speaks_at_end();
            // Bytes that were all as they should be say nothing, and were looked at.
            let bytes = rule.speaks_of_bytes() && self.messages > 0;
            if bytes || (!silent && state.watch().0.looked(&self.facts)) {
                exercised(&self.contract.name, &state.clause.id);
            }
            if silent {
                continue;
            }
            let (watch, sink) = state.watch();
            watch.finish(&self.facts, sink);
            if !state.sink.is_empty() {
                let id = format!("{}/{}", self.contract.name, state.clause.id);
                findings.extend(state.sink.findings(&id, state.clause.level));
            }
        }
        findings
    }
}

#[cfg(test)]
mod alike;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::*;
    use crate::recording::Recording;
    use crate::schema::ContractSet;
    use crate::stream_json::StreamReader;

    /// What is found in an output when all clauses of a kind are one program, and when each looks for itself.
    fn both_ways(set: &ContractSet, run: &Run, stdout: &[u8], end: &End<'_>) -> [Vec<Finding>; 2] {
        [false, true].map(|one_by_one| {
            let mut judge = set.begin(run);
            judge.contracts.iter_mut().for_each(|contract| contract.one_by_one = one_by_one);
            match set.protocol() {
                Protocol::Stream => {
                    let mut reader = StreamReader::default();
                    reader.push(stdout, &mut |line| judge.line(line));
                    let summary = reader.finish(&mut |line| judge.line(line));
                    judge.end_of_stream(&summary);
                }
                _ => judge.document(&Envelope::read(stdout), stdout, end),
            }
            judge.finish(end)
        })
    }

    fn recordings(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if Recording::is_at(&entry) {
                found.push(entry);
            } else if entry.is_dir() {
                recordings(&entry, found);
            }
        }
    }

    const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

    #[test]
    fn the_program_of_a_kind_finds_in_the_corpus_what_each_clause_finds_for_itself() {
        let names = [
            "claude-stream-json",
            "claude-json",
            "codex-exec-json",
            "gemini-stream-json",
            "gemini-json",
            "opencode-json",
            "copilot-json",
            "claw-flat",
            "claw-1.0",
            "claw-2.0",
            "claw-head",
        ];
        let sets = names.map(|name| ContractSet::open(name).unwrap());
        let (mut places, mut judged, mut broken) = (Vec::new(), 0, 0);
        recordings(Path::new(CORPUS), &mut places);
        for place in places {
            let recording = Recording::open(&place).unwrap();
            let stdout = fs::read(place.join("stdout")).unwrap_or_default();
            let stderr = recording.stderr_head().unwrap();
            let run = Run::of(&recording.facts);
            let exit = Some(recording.facts.exit.clone());
            let end = End::new(exit, Some(&stdout), Some(&stderr)).recorded(Some(&recording));
            let of_target = |set: &&ContractSet| set.name().starts_with(&recording.facts.target);
            for set in sets.iter().filter(of_target) {
                let [together, alone] = both_ways(set, &run, &stdout, &end);
                assert_eq!(together, alone, "{} by {}", place.display(), set.name());
                judged += 1;
                broken += usize::from(!alone.is_empty());
            }
        }
        assert!(judged > 1500 && broken > 500, "{judged} were judged, and {broken} broke something");
    }

    /// The messages of some recorded sessions.
    fn messages() -> Vec<Value> {
        let places = ["plain", "tools", "ask_then_question"]
            .map(|name| format!("{CORPUS}/claude-2.1.197/{name}/stdout"));
        let texts = places.iter().filter_map(|place| fs::read_to_string(place).ok());
        let text: String = texts.chain([fs::read_to_string(SUB_AGENT).unwrap()]).collect();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    const SUB_AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/streams/sub-agent.ndjson");

    /// Changes one value somewhere in a message: takes it away, or puts another there.
    fn change(value: &mut Value, way: &[u8], other: u8) {
        let (Some((step, rest)), false) = (way.split_first(), matches!(value, Value::Null)) else {
            *value = match other % 8 {
                0 => Value::Null,
                1 => "".into(),
                2 => "other".into(),
                3 => Value::from(-1),
                4 => true.into(),
                5 => serde_json::json!({}),
                6 => serde_json::json!([1.5]),
                _ => return,
            };
            return;
        };
        match value {
            Value::Object(members) if !members.is_empty() => {
                let place = usize::from(*step) % members.len();
                if rest.is_empty() && other.is_multiple_of(3) {
                    let name = members.keys().nth(place).cloned().unwrap_or_default();
                    members.remove(&name);
                } else if let Some(member) = members.values_mut().nth(place) {
                    change(member, rest, other);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let place = usize::from(*step) % items.len();
                change(&mut items[place], rest, other);
            }
            leaf => change(leaf, &[], other),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_stream_is_judged_the_same_by_the_program_and_by_each_clause(
            chosen in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..4), any::<u8>()), 0..40),
            version in prop::sample::select(vec!["2.1.197", "2.1.325", "1.0.0"]),
        ) {
            thread_local! {
                static SET: ContractSet = ContractSet::open("claude-stream-json").unwrap();
                static MESSAGES: Vec<Value> = messages();
            }
            let mut stream: Vec<Value> =
                MESSAGES.with(|known| chosen.iter().map(|index| index.get(known).clone()).collect());
            for (index, way, other) in changes {
                let place = index.index(stream.len());
                change(&mut stream[place], &way, other);
            }
            let stdout = stream.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
            let run = Run { version: Some(version.into()), ..Run::default() };
            let [together, alone] = SET.with(|set| both_ways(set, &run, stdout.as_bytes(), &End::new(None, None, None)));
            prop_assert_eq!(together, alone);
        }
    }
}
