//! How much of a contract runs have put to the test: clauses, commands, kinds of message, fields, their values, and the
//! branches of schemas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::branches::{Branch, DEEPEST};
use super::contract::{Contract, Protocol};
use super::declared::Declared;
use super::events::{EventJudge, event_rule};
use super::facts::{End, Fact, Facts, Run};
use super::library::ContractSet;
use crate::envelope::Envelope;
use crate::events::{Limits, LogFeatures, Profile};
use crate::json::pointer::join;
use crate::stream_json::{Line, StreamReader};

/// What runs showed of one contract.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub(crate) struct Coverage {
    /// Clauses that applied to something that was seen.
    pub clauses: BTreeSet<String>,
    /// Commands that were run.
    pub commands: BTreeSet<String>,
    /// Kinds of message that were seen.
    pub kinds: BTreeSet<String>,
    /// Messages of no kind that the contract declares, by what they call themselves.
    pub undeclared_kinds: BTreeSet<String>,
    /// Branches of the schemas that a message took.
    pub(super) branches: BTreeSet<Branch>,
    /// For each kind, the fields that were seen; `*` stands for any element of an array.
    pub(super) fields: BTreeMap<String, BTreeSet<String>>,
    /// For each kind and field, the texts that were seen where the schema lists some.
    pub(super) values: BTreeMap<(String, String), BTreeSet<String>>,
}

/// Measures what runs show of a set of contracts.
#[derive(Debug)]
pub(crate) struct Survey {
    set: ContractSet,
    /// What each contract of the set declares, in its order.
    declared: Vec<Declared>,
}

impl Survey {
    /// A survey of these contracts.
    pub(crate) fn new(set: ContractSet) -> Self {
        let declared = set.contracts().iter().map(Declared::of).collect();
        Self { set, declared }
    }

    /// The contracts, each with what it declares.
    pub(crate) fn contracts(&self) -> impl Iterator<Item = (&Contract, &Declared)> {
        self.set.contracts().iter().zip(&self.declared)
    }

    /// Watches a run whose output is in memory, and adds what it shows to the coverage of each contract, by its name.
    pub(crate) fn cover(
        &self,
        run: &Run,
        stdout: &[u8],
        end: &End<'_>,
        coverage: &mut BTreeMap<String, Coverage>,
    ) {
        if self.set.protocol() == Protocol::Events {
            self.cover_log(stdout, coverage);
            return;
        }
        let mut judge = self.set.begin(run);
        let mut messages = Vec::new();
        match self.set.protocol() {
            Protocol::Document => {
                judge.document(&Envelope::read(stdout), stdout, end);
                messages.extend(serde_json::from_slice::<Value>(stdout).ok());
            }
            Protocol::Text => judge.text(stdout),
            Protocol::Stream | Protocol::Events => {
                let mut reader = StreamReader::default();
                let mut see = |line: &Line<'_>| {
                    judge.line(line);
                    if let Line::Message(message) = line {
                        messages.push(message.root().to_value());
                    }
                };
                reader.push(stdout, &mut see);
                let summary = reader.finish(&mut see);
                judge.end_of_stream(&summary);
            }
        }
        judge.finish_exercised(end, &mut |contract, clause| {
            coverage.entry(contract.to_owned()).or_default().clauses.insert(clause.to_owned());
        });
        for (contract, declared) in self.contracts() {
            let seen = coverage.entry(contract.name.clone()).or_default();
            let facts = Facts::at_start(run, &contract.invocation);
            seen.commands.extend(facts.get(Fact::Command).and_then(Value::as_str).map(str::to_owned));
            for message in &messages {
                match contract.kind(message, run, end.exit.as_ref()) {
                    Some(kind) => {
                        seen.kinds.insert(kind.to_owned());
                        seen.message(kind, message, "", declared);
                    }
                    None if !declared.kinds.is_empty() => {
                        seen.undeclared_kinds.insert(own_name(message));
                    }
                    None => {}
                }
            }
        }
    }

    /// What a log of events shows.
    fn cover_log(&self, log: &[u8], coverage: &mut BTreeMap<String, Coverage>) {
        let features = LogFeatures::of(log);
        let mut judge = EventJudge::new(&self.set, Profile::default(), Limits::default());
        judge.push(log, &mut ());
        judge.end_segment(&mut ());
        for (contract, clause) in judge.looked() {
            coverage.entry(contract.to_owned()).or_default().clauses.insert(clause.to_owned());
        }
        for contract in self.set.contracts() {
            let seen = coverage.entry(contract.name.clone()).or_default();
            let tested = contract
                .clauses()
                .iter()
                .filter(|clause| event_rule(clause).is_some_and(|r| features.tests(r)));
            seen.clauses.extend(tested.map(|clause| clause.id.clone()));
            seen.kinds.extend(features.kinds.iter().cloned());
            for (kind, field, value) in &features.values {
                let known = seen.values.entry(((*kind).to_owned(), (*field).to_owned())).or_default();
                known.insert((*value).to_owned());
            }
        }
    }
}

impl Coverage {
    fn message(&mut self, kind: &str, value: &Value, path: &str, declared: &Declared) {
        self.branches.extend(declared.branches.taken(kind, path, value).cloned());
        match value {
            Value::Object(members) => {
                for (name, inner) in members {
                    let path = join(path, name);
                    if path.matches('/').count() <= DEEPEST {
                        self.fields.entry(kind.to_owned()).or_default().insert(path.clone());
                        self.message(kind, inner, &path, declared);
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.message(kind, item, &format!("{path}/*"), declared);
                }
            }
            Value::String(text) => {
                let key = (kind.to_owned(), path.to_owned());
                if declared.values.get(&key).is_some_and(|known| known.contains(text)) {
                    self.values.entry(key).or_default().insert(text.clone());
                }
            }
            _ => {}
        }
    }
}

/// What a message says that it is.
fn own_name(message: &Value) -> String {
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    match (text("type").or_else(|| text("kind")), text("subtype")) {
        (Some(kind), Some(subtype)) => format!("{kind}/{subtype}"),
        (Some(kind), None) => kind.to_owned(),
        _ => "a message without a type".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Exit;
    use crate::schema::Fixtures;

    fn covered(contract: &str, argv: &[&str], code: i32, stdout: &str) -> (Survey, Coverage) {
        let survey = Survey::new(ContractSet::open(contract).unwrap());
        let run = Run { argv: Some(argv.iter().map(|&arg| arg.to_owned()).collect()), ..Run::default() };
        let mut coverage = BTreeMap::new();
        let end = End::new(Some(Exit::with_code(code)), Some(stdout.as_bytes()), None);
        survey.cover(&run, stdout.as_bytes(), &end, &mut coverage);
        (survey, coverage.remove(contract).unwrap())
    }

    #[test]
    fn what_was_seen_and_what_was_not_are_told_apart() {
        let argv = ["claw", "-p", "hi", "--output-format", "json"];
        let stdout = r#"{"error":"no such file","kind":"filesystem","surprise":1}"#;
        let (survey, seen) = covered("claw-flat", &argv, 1, stdout);
        assert!(seen.clauses.contains("error-fields"), "{:?}", seen.clauses);
        assert!(!seen.clauses.contains("status-fields"));
        assert_eq!(seen.kinds.iter().collect::<Vec<_>>(), ["error"]);
        let (_, declared) = survey.contracts().find(|(contract, _)| contract.name() == "claw-flat").unwrap();
        let gaps = declared.gaps(&seen);
        assert!(gaps.undeclared.contains(&("error".into(), "/surprise".into())), "{gaps:?}");
        assert!(gaps.unseen_fields.iter().any(|(kind, _)| kind == "error"));
        assert!(gaps.fields.1 >= 2 && gaps.fields.1 < gaps.fields.0);
    }

    #[test]
    fn each_branch_of_a_schema_is_taken_by_itself() {
        let argv = ["claude", "-p", "hi", "--output-format", "stream-json", "--verbose"];
        let said = |block: &str| {
            format!(r#"{{"type":"assistant","message":{{"role":"assistant","content":[{block}]}}}}"#) + "\n"
        };
        let branches = |stdout: &str| {
            let (survey, seen) = covered("claude-stream-json", &argv, 0, stdout);
            let (_, declared) = survey.contracts().next().unwrap();
            let gaps = declared.gaps(&seen);
            assert_eq!(gaps.branches.0 - gaps.branches.1, {
                let all = declared.branches.all().filter(|branch| !seen.branches.contains(branch));
                all.count()
            });
            gaps.unseen_branches.iter().map(|branch| branch.label.clone()).collect::<BTreeSet<_>>()
        };
        let text = branches(&said(r#"{"type":"text","text":"hi"}"#));
        assert!(!text.contains(r#"if type is "text""#), "{text:?}");
        assert!(text.contains(r#"if type is "tool_use""#), "{text:?}");
        let call = branches(&said(r#"{"type":"tool_use","id":"x","name":"x","input":{}}"#));
        assert!(
            call.contains(r#"if type is "text""#) && !call.contains(r#"if type is "tool_use""#),
            "{call:?}"
        );
    }

    #[test]
    fn what_no_contract_declares_is_told() {
        let argv = ["claude", "-p", "hi", "--output-format", "stream-json", "--verbose"];
        let (_, seen) =
            covered("claude-stream-json", &argv, 0, "{\"type\":\"weather\",\"subtype\":\"rain\"}\n");
        assert_eq!(seen.undeclared_kinds.iter().collect::<Vec<_>>(), ["weather/rain"]);
        assert!(seen.kinds.is_empty());
    }

    /// Whoever breaks a clause was about it.
    #[test]
    fn a_clause_that_is_broken_was_put_to_the_test() {
        let mut wrong = Vec::new();
        for name in crate::schema::built_in() {
            let survey = Survey::new(ContractSet::open(name).unwrap());
            let bundle = crate::schema::bundle(name).unwrap();
            let fixtures = Fixtures::load(&bundle).unwrap();
            let contract = survey.set.contracts().iter().find(|known| known.name() == name).unwrap();
            for clause in contract.clauses().iter().filter(|clause| clause.is_judged()) {
                let samples = &fixtures.clauses[&clause.id];
                let tested = |sample: &crate::schema::Sample| {
                    let mut coverage = BTreeMap::new();
                    let recording = sample.recording("", "");
                    survey.cover(&sample.run(), &sample.stdout, &sample.end(&recording), &mut coverage);
                    coverage.get(name).is_some_and(|seen| seen.clauses.contains(&clause.id))
                };
                for bad in samples.bad.iter().filter(|bad| !tested(bad)) {
                    wrong.push(format!("{name}/{} is broken by `{}` and not tested", clause.id, bad.name));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
