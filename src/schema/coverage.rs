//! How much of a contract runs have put to the test: clauses, commands, kinds of message, fields and their values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::contract::{Contract, Protocol};
use super::facts::{End, Fact, Facts, Run};
use super::library::ContractSet;
use crate::recording::Exit;
use crate::stream_json::{Line, StreamReader};

/// Deeper schemas than this are recursive.
const DEEPEST: usize = 10;

/// What runs showed of one contract.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Coverage {
    /// Clauses that applied to something that was seen.
    pub clauses: BTreeSet<String>,
    /// Commands that were run.
    pub commands: BTreeSet<String>,
    /// Kinds of message that were seen.
    pub kinds: BTreeSet<String>,
    /// For each kind, the fields that were seen; `*` stands for any element of an array.
    fields: BTreeMap<String, BTreeSet<String>>,
    /// For each kind and field, the texts that were seen where the schema lists some.
    values: BTreeMap<(String, String), BTreeSet<String>>,
}

/// What a contract declares.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Declared {
    /// The commands.
    pub commands: BTreeSet<String>,
    /// The kinds of message.
    pub kinds: BTreeSet<String>,
    /// For each kind, the fields of its schema.
    fields: BTreeMap<String, BTreeSet<String>>,
    /// For each kind, the objects whose fields are not listed.
    open: BTreeMap<String, BTreeSet<String>>,
    /// For each kind and field, the texts that its schema lists.
    values: BTreeMap<(String, String), BTreeSet<String>>,
}

/// What of a contract was not seen, and what was seen and is not of it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Gaps {
    /// How many fields are declared, and how many of them were seen.
    pub fields: (usize, usize),
    /// How many listed values are declared, and how many of them were seen.
    pub values: (usize, usize),
    /// Fields of kinds that were seen, never seen themselves: kind and field.
    pub unseen_fields: Vec<(String, String)>,
    /// Values never seen: kind, field and value.
    pub unseen_values: Vec<(String, String, String)>,
    /// Fields that were seen and are not declared: kind and field.
    pub undeclared: Vec<(String, String)>,
}

impl ContractSet {
    /// Watches a run whose output is in memory, and adds what it shows to the coverage of each contract, by its name.
    pub fn cover(
        &self,
        run: &Run,
        exit: Option<&Exit>,
        stdout: &[u8],
        stderr: Option<&[u8]>,
        coverage: &mut BTreeMap<String, Coverage>,
    ) {
        if self.protocol() == Protocol::Events {
            return;
        }
        let end = End::new(exit.cloned(), Some(stdout), stderr);
        let mut judge = self.begin(run);
        let mut messages = Vec::new();
        if self.protocol() == Protocol::Document {
            judge.document(stdout, &end);
            messages.extend(serde_json::from_slice::<Value>(stdout).ok());
        } else {
            let mut reader = StreamReader::default();
            let mut see = |line: &Line<'_>| {
                judge.line(line);
                if let Line::Message(message) = line {
                    messages.push(message.root().to_value());
                }
            };
            reader.push(stdout, &mut see);
            if reader.finish(&mut see).lines == 0 {
                judge.empty_stream();
            }
        }
        judge.finish_exercised(&end, &mut |contract, clause| {
            coverage.entry(contract.to_owned()).or_default().clauses.insert(clause.to_owned());
        });
        for contract in self.contracts() {
            let seen = coverage.entry(contract.name.clone()).or_default();
            let facts = Facts::at_start(run, &contract.invocation);
            seen.commands.extend(facts.get(Fact::Command).and_then(Value::as_str).map(str::to_owned));
            let declared = if messages.is_empty() { Declared::default() } else { Declared::of(contract) };
            for message in &messages {
                if let Some((kind, _)) = contract.kind_schema(message, run, exit) {
                    seen.kinds.insert(kind.to_owned());
                    seen.message(kind, message, "", &declared);
                }
            }
        }
    }
}

impl Coverage {
    fn message(&mut self, kind: &str, value: &Value, path: &str, declared: &Declared) {
        match value {
            Value::Object(members) => {
                for (name, inner) in members {
                    let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
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

impl Declared {
    /// What a contract declares.
    pub fn of(contract: &Contract) -> Self {
        let mut declared = Self {
            commands: contract.invocation.verbs().iter().cloned().collect(),
            kinds: contract.kinds().map(str::to_owned).collect(),
            ..Self::default()
        };
        for (kind, schema) in contract.kinds.names.iter().zip(&contract.kinds.schemas) {
            if let Some(schema) = schema {
                declared.schema(contract, kind, schema);
            }
        }
        declared
    }

    /// Takes in the schema of a kind.
    fn schema(&mut self, contract: &Contract, kind: &str, reference: &str) {
        if let Ok(schema) = contract.schemas.part(reference) {
            let file = reference.split('#').next().unwrap_or_default();
            self.walk(contract, kind, file, schema, "", 0);
        }
    }

    fn walk(
        &mut self,
        contract: &Contract,
        kind: &str,
        file: &str,
        schema: &Value,
        path: &str,
        depth: usize,
    ) {
        if depth > 3 * DEEPEST || path.matches('/').count() > DEEPEST {
            return;
        }
        let Some(members) = schema.as_object() else { return };
        for (keyword, inner) in members {
            match keyword.as_str() {
                "$ref" => {
                    if let Some((file, schema)) =
                        inner.as_str().and_then(|to| contract.schemas.follow(file, to))
                    {
                        self.walk(contract, kind, file, schema, path, depth + 1);
                    }
                }
                "properties" => {
                    for (name, inner) in inner.as_object().into_iter().flatten() {
                        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                        self.fields.entry(kind.to_owned()).or_default().insert(path.clone());
                        self.walk(contract, kind, file, inner, &path, depth + 1);
                    }
                }
                "items" => self.walk(contract, kind, file, inner, &format!("{path}/*"), depth + 1),
                "allOf" | "anyOf" | "oneOf" => {
                    for inner in inner.as_array().into_iter().flatten() {
                        self.walk(contract, kind, file, inner, path, depth + 1);
                    }
                }
                "then" | "else" => self.walk(contract, kind, file, inner, path, depth + 1),
                // Names of the data's own.
                "additionalProperties" | "patternProperties" if inner.is_object() => {
                    self.open.entry(kind.to_owned()).or_default().insert(path.to_owned());
                }
                "enum" | "const" => {
                    let listed = inner.as_array().cloned().unwrap_or_else(|| vec![inner.clone()]);
                    let texts = listed.iter().filter_map(Value::as_str).map(str::to_owned);
                    self.values.entry((kind.to_owned(), path.to_owned())).or_default().extend(texts);
                }
                _ => {}
            }
        }
    }

    /// What runs have not shown of it, and what they have shown beyond it.
    pub fn gaps(&self, seen: &Coverage) -> Gaps {
        let mut gaps = Gaps::default();
        let none = BTreeSet::new();
        for (kind, fields) in &self.fields {
            let here = seen.fields.get(kind).unwrap_or(&none);
            gaps.fields.0 += fields.len();
            gaps.fields.1 += fields.intersection(here).count();
            // Of a kind that was never seen it is enough to say so.
            if seen.kinds.contains(kind) {
                let missing = fields.difference(here).filter(|field| {
                    // Where the object around it is missing, that is said already.
                    parent(field).is_none_or(|around| around.is_empty() || here.contains(around))
                });
                gaps.unseen_fields.extend(missing.map(|field| (kind.clone(), field.clone())));
            }
            let open = self.open.get(kind).unwrap_or(&none);
            for field in here.difference(fields) {
                let around = parent(field).unwrap_or_default();
                let listed = fields.iter().any(|known| parent(known) == Some(around));
                if listed && !open.contains(around) {
                    gaps.undeclared.push((kind.clone(), field.clone()));
                }
            }
        }
        for ((kind, field), values) in &self.values {
            let here = seen.values.get(&(kind.clone(), field.clone())).unwrap_or(&none);
            gaps.values.0 += values.len();
            gaps.values.1 += values.intersection(here).count();
            if seen.kinds.contains(kind) {
                let missing =
                    values.difference(here).map(|value| (kind.clone(), field.clone(), value.clone()));
                gaps.unseen_values.extend(missing);
            }
        }
        gaps
    }
}

/// The object or array element that holds a field.
fn parent(field: &str) -> Option<&str> {
    field.rsplit_once('/').map(|(around, _)| around)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_and_what_was_not_are_told_apart() {
        let set = ContractSet::open("claw-flat").unwrap();
        let argv = ["claw", "-p", "hi", "--output-format", "json"].map(str::to_owned).to_vec();
        let run = Run { argv: Some(argv), ..Run::default() };
        let stdout = br#"{"error":"no such file","kind":"filesystem","surprise":1}"#;
        let mut coverage = BTreeMap::new();
        set.cover(&run, Some(&Exit::with_code(1)), stdout, None, &mut coverage);
        let seen = &coverage["claw-flat"];
        assert!(seen.clauses.contains("error-fields"), "{:?}", seen.clauses);
        assert!(!seen.clauses.contains("status-fields"));
        assert_eq!(seen.kinds.iter().collect::<Vec<_>>(), ["error"]);
        let contract = set.contracts().iter().find(|contract| contract.name() == "claw-flat").unwrap();
        let gaps = Declared::of(contract).gaps(seen);
        assert!(gaps.undeclared.contains(&("error".into(), "/surprise".into())), "{gaps:?}");
        assert!(gaps.unseen_fields.iter().any(|(kind, _)| kind == "error"));
        assert!(gaps.fields.1 >= 2 && gaps.fields.1 < gaps.fields.0);
    }
}
