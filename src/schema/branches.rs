//! What the schemas of a contract describe: their fields, the values that they list, and their branches, which tell
//! which of several shapes a value had. A field that may be two things and was only ever one of them is half tested.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::contract::Contract;
use super::declared::Declared;
use super::instance::Validator;
use crate::json::JsonView;
use crate::json::pointer::{escape, join};

/// Deeper values than this are those of a recursive schema.
pub(super) const DEEPEST: usize = 10;

/// A branch: an alternative of `oneOf` or `anyOf`, or what `if` leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub(crate) struct Branch {
    /// The kind of message; `*` where a clause looks at every message.
    pub kind: String,
    /// The field; `*` stands for any element of an array.
    pub field: String,
    /// Which one, in words.
    pub label: String,
}

/// The branches of a contract, each with what tells whether a value takes it.
#[derive(Debug, Default)]
pub(super) struct Branches {
    all: BTreeMap<Branch, Test>,
    places: HashMap<(String, String), Vec<Branch>>,
    validators: HashMap<String, Validator>,
}

/// A value takes a branch when it is valid, or not, by this part of a schema.
#[derive(Debug, Clone)]
struct Test {
    schema: String,
    valid: bool,
}

/// Where in the schemas the walk is.
#[derive(Debug, Clone)]
struct At {
    file: String,
    pointer: String,
}

impl At {
    fn parse(reference: &str) -> Self {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        Self { file: file.to_owned(), pointer: pointer.to_owned() }
    }

    fn inside(&self, step: &str) -> Self {
        Self { file: self.file.clone(), pointer: format!("{}/{}", self.pointer, escape(step)) }
    }

    fn reference(&self) -> String {
        format!("{}#{}", self.file, self.pointer.replace('%', "%25"))
    }
}

impl Declared {
    /// Takes in the schemas of all kinds, and the branches of those that clauses hold messages against.
    pub(super) fn walk_schemas(&mut self, contract: &Contract) {
        let mut walk = Walk { contract, declared: self, been: BTreeSet::new(), is_clause: false };
        for (kind, schema) in contract.kinds.names.iter().zip(&contract.kinds.schemas) {
            if let Some(schema) = schema {
                walk.schema(kind, &At::parse(schema), "");
            }
        }
        walk.is_clause = true;
        for clause in contract.clauses() {
            let check = clause.check();
            let Some(schema) = check.get("schema").and_then(Value::as_str) else { continue };
            let base = check.get("at").and_then(Value::as_str).unwrap_or_default();
            for kind in kinds_of(check.get("on")) {
                walk.schema(kind, &At::parse(schema), base);
            }
        }
        let branches = &mut self.branches;
        let references: BTreeSet<String> = branches.all.values().map(|test| test.schema.clone()).collect();
        let references: Vec<String> = references.into_iter().collect();
        // Their files were compiled when the contract was loaded, so this cannot fail; if it did, none would count.
        match contract.schemas.compile(&references) {
            Ok(validators) => branches.validators = validators,
            Err(_) => branches.all.clear(),
        }
        for branch in branches.all.keys() {
            let place = (branch.kind.clone(), branch.field.clone());
            branches.places.entry(place).or_default().push(branch.clone());
        }
    }
}

impl Branches {
    pub(super) fn all(&self) -> impl Iterator<Item = &Branch> {
        self.all.keys()
    }

    /// The branches that a value at this place takes.
    pub(super) fn taken(&self, kind: &str, field: &str, value: &Value) -> impl Iterator<Item = &Branch> {
        let here = |kind: &str| self.places.get(&(kind.to_owned(), field.to_owned()));
        let both = here(kind).into_iter().chain(here("*")).flatten();
        let takes = move |branch: &&Branch| {
            self.all.get(branch).is_some_and(|test| {
                let validator = self.validators.get(&test.schema);
                validator.is_some_and(|known| known.is_valid(JsonView::from(value)) == test.valid)
            })
        };
        both.filter(takes).collect::<Vec<_>>().into_iter()
    }
}

/// A walk over the schemas of a contract.
struct Walk<'w> {
    contract: &'w Contract,
    declared: &'w mut Declared,
    /// Kind, schema and field: a recursive schema leads to the same place with ever longer fields.
    been: BTreeSet<(String, String, String)>,
    /// What a clause asks is no declaration; only its branches count.
    is_clause: bool,
}

impl Walk<'_> {
    fn schema(&mut self, kind: &str, at: &At, field: &str) {
        let here = (kind.to_owned(), at.reference(), field.to_owned());
        if field.matches('/').count() > DEEPEST || !self.been.insert(here) {
            return;
        }
        let Ok(schema) = self.contract.schemas.part(&format!("{}#{}", at.file, at.pointer)) else { return };
        let Some(members) = schema.as_object() else { return };
        for (keyword, inner) in members {
            let inside = at.inside(keyword);
            match (keyword.as_str(), inner) {
                ("$ref", Value::String(to)) => {
                    let mut target = At::parse(&to.replace("%24", "$").replace("%25", "%"));
                    if target.file.is_empty() {
                        target.file.clone_from(&at.file);
                    }
                    self.schema(kind, &target, field);
                }
                ("properties", Value::Object(properties)) => {
                    for name in properties.keys() {
                        let field = join(field, name);
                        self.declare(|declared| &mut declared.fields, kind, &field);
                        self.schema(kind, &inside.inside(name), &field);
                    }
                }
                ("items", _) => self.schema(kind, &inside, &format!("{field}/*")),
                ("allOf", Value::Array(list)) => {
                    for index in 0..list.len() {
                        self.schema(kind, &inside.inside(&index.to_string()), field);
                    }
                }
                ("anyOf" | "oneOf", Value::Array(list)) => {
                    for (index, arm) in list.iter().enumerate() {
                        let inside = inside.inside(&index.to_string());
                        let label = match in_words(arm) {
                            words if words.is_empty() => format!("{keyword} {}", index + 1),
                            words => words,
                        };
                        self.add(kind, field, label, &inside, true);
                        self.schema(kind, &inside, field);
                    }
                }
                ("then" | "else", _) => {
                    if let Some(condition) = members.get("if") {
                        let taken = keyword == "then";
                        let word = if taken { "if" } else { "unless" };
                        let label = format!("{word} {}", in_words(condition));
                        self.add(kind, field, label, &at.inside("if"), taken);
                    }
                    self.schema(kind, &inside, field);
                }
                // Names of the data's own.
                ("additionalProperties" | "patternProperties", Value::Object(_)) => {
                    self.declare(|declared| &mut declared.open, kind, field);
                }
                ("enum" | "const", _) if !self.is_clause => {
                    let listed = inner.as_array().map_or(std::slice::from_ref(inner), Vec::as_slice);
                    let texts = listed.iter().filter_map(Value::as_str).map(str::to_owned);
                    let place = (kind.to_owned(), field.to_owned());
                    self.declared.values.entry(place).or_default().extend(texts);
                }
                _ => {}
            }
        }
    }

    fn declare(
        &mut self,
        list: fn(&mut Declared) -> &mut BTreeMap<String, BTreeSet<String>>,
        kind: &str,
        field: &str,
    ) {
        if !self.is_clause {
            list(self.declared).entry(kind.to_owned()).or_default().insert(field.to_owned());
        }
    }

    fn add(&mut self, kind: &str, field: &str, label: String, schema: &At, valid: bool) {
        let branch = Branch { kind: kind.to_owned(), field: field.to_owned(), label };
        self.declared.branches.all.insert(branch, Test { schema: schema.reference(), valid });
    }
}

/// The kinds that a clause names; every message where it names none.
fn kinds_of(on: Option<&Value>) -> Vec<&str> {
    match on {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec!["*"],
    }
}

/// What a value of this schema is, as short as it can be said; empty when there is no short way.
fn in_words(schema: &Value) -> String {
    let Some(members) = schema.as_object() else { return String::new() };
    let mut words = Vec::new();
    for (keyword, inner) in members {
        match (keyword.as_str(), inner) {
            ("$ref", Value::String(to)) => {
                words.push(to.rsplit(['/', '#']).next().unwrap_or_default().replace(".schema.json", ""));
            }
            ("const", value) => words.push(value.to_string()),
            ("enum", Value::Array(values)) => {
                words.push(values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or "));
            }
            ("type", Value::String(name)) if !members.contains_key("properties") => words.push(name.clone()),
            ("not", inner) => words.push(format!("not {}", in_words(inner))),
            ("properties", Value::Object(properties)) => {
                for (name, inner) in properties {
                    match in_words(inner) {
                        inner if inner.is_empty() => words.push(format!("has {name}")),
                        inner => words.push(format!("{name} is {inner}")),
                    }
                }
            }
            ("required", Value::Array(names)) if !members.contains_key("properties") => {
                words.extend(names.iter().filter_map(Value::as_str).map(|name| format!("has {name}")));
            }
            ("anyOf" | "oneOf", Value::Array(arms)) => {
                words.push(arms.iter().map(in_words).collect::<Vec<_>>().join(" or "));
            }
            _ => {}
        }
    }
    words.join(" and ")
}
