//! The JSON Schemas of a contract: read, checked and compiled once.
//!
//! A schema may come from a user, so nothing in it can hang or crash the tool or reach the network: references must
//! lead to files of the contract, patterns run in linear time, and a schema whose parts multiply beyond reason is
//! refused.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, PatternOptions, Registry, Retrieve, ValidationError, ValidationOptions};
use serde_json::{Map, Value, json};

use super::condition::{kind_of, listed};
use super::finding::{Evidence, excerpt};
use super::instance::{Messages, Validator};
use super::quick::QuickSchema;
use crate::document::{Document, FileError};
use crate::json::pointer::{join, keys};
use crate::json::{self, JsonView, Scanner};
use crate::text::did_you_mean;

/// The schemas of one contract.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    files: BTreeMap<String, SchemaFile>,
    /// A schema in them says what it is called.
    name_themselves: bool,
    /// The files as the compiler knows them, made ready when the first schema is compiled.
    registry: OnceLock<Registry<'static>>,
}

#[derive(Debug)]
struct SchemaFile {
    label: String,
    text: String,
    value: OnceLock<Value>,
}

impl SchemaFile {
    /// What it holds. That of a built-in contract is read when it is needed; our tests have read it.
    fn value(&self) -> &Value {
        self.value.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }
}

/// A schema in a contract's files, with the file that its references start from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaNode<'s> {
    schemas: &'s Schemas,
    file: &'s str,
    value: &'s Value,
}

impl<'s> SchemaNode<'s> {
    /// The value of a keyword.
    pub(crate) fn get(self, keyword: &str) -> Option<&'s Value> {
        self.value.get(keyword)
    }

    /// The schema as it is written; none when it is `true` or `false`.
    pub(crate) fn map(self) -> Option<&'s Map<String, Value>> {
        self.value.as_object()
    }

    /// Whether it is written as this value.
    pub(crate) fn is(self, value: &Value) -> bool {
        self.value == value
    }

    /// The schema that a keyword holds.
    pub(crate) fn inner(self, keyword: &str) -> Option<Self> {
        self.get(keyword).map(|value| Self { value, ..self })
    }

    /// The schemas in the list that a keyword holds.
    pub(crate) fn list(self, keyword: &str) -> impl Iterator<Item = Self> {
        let list = self.get(keyword).and_then(Value::as_array);
        list.into_iter().flatten().map(move |value| Self { value, ..self })
    }

    /// The schemas that it is put together from: the one that it refers to, and those in the lists of these keywords.
    pub(crate) fn parts(self, keywords: &[&str]) -> impl Iterator<Item = Self> {
        self.target().into_iter().chain(keywords.iter().flat_map(move |keyword| self.list(keyword)))
    }

    /// The fields that it describes.
    pub(crate) fn properties(self) -> impl Iterator<Item = (&'s str, Self)> {
        let fields = self.get("properties").and_then(Value::as_object);
        fields.into_iter().flatten().map(move |(name, value)| (name.as_str(), Self { value, ..self }))
    }

    /// The schema of a field.
    pub(crate) fn property(self, name: &str) -> Option<Self> {
        self.inner("properties")?.inner(name)
    }

    /// The texts in the list that a keyword holds.
    pub(crate) fn names(self, keyword: &str) -> impl Iterator<Item = &'s str> {
        self.get(keyword).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// The schema that it refers to.
    pub(crate) fn target(self) -> Option<Self> {
        self.schemas.follow(self.file, self.get("$ref")?.as_str()?)
    }

    /// The first schema on the way of references that refers to no other.
    #[cfg(feature = "cli")]
    pub(crate) fn resolved(self) -> Self {
        (0..16).try_fold(self, |node, _| node.target().ok_or(node)).unwrap_or_else(|last| last)
    }
}

/// The keywords whose schemas judge the same value again.
const IN_PLACE: [&str; 8] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// How many schemas one value may be checked against. Beyond it a schema of a few lines takes hours.
const MAX_COST: u64 = 10_000;

impl Schemas {
    /// Takes in the files of a built-in contract. Our tests take them in as those of a user, so that nothing has to be
    /// checked again.
    pub(crate) fn built_in(files: impl IntoIterator<Item = (String, String, String)>) -> Self {
        let file = |(name, label, text)| (name, SchemaFile { label, text, value: OnceLock::new() });
        Self { files: files.into_iter().map(file).collect(), ..Self::default() }
    }

    /// Takes the files in; `label` is how the user knows the file, `name` how the contract does.
    pub(crate) fn read(files: impl IntoIterator<Item = (String, String, String)>) -> Result<Self, FileError> {
        let mut schemas = Self::default();
        for (name, label, text) in files {
            let value: Value = serde_json::from_str(&text).map_err(|error| {
                let reason = error.to_string();
                let reason = reason.split(" at line ").next().unwrap_or_default();
                let before = text.split_inclusive('\n').take(error.line().max(1) - 1).map(str::len);
                let at = before.sum::<usize>() + error.column().saturating_sub(1);
                Document::new(&label, &text).error(at..at, "", format_args!("not JSON: {reason}"))
            })?;
            schemas.name_themselves |= names_itself(&value);
            schemas.files.insert(name, SchemaFile { label, text, value: value.into() });
        }
        for (name, file) in &schemas.files {
            if let Some(draft) = file.value().get("$schema")
                && draft != "https://json-schema.org/draft/2020-12/schema"
            {
                return Err(file.error("/$schema", "the draft must be 2020-12"));
            }
            schemas.check_references(name, file)?;
        }
        let mut costs = HashMap::new();
        for (name, file) in &schemas.files {
            schemas.check_cost(name, file, "", file.value(), &mut costs)?;
        }
        Ok(schemas)
    }

    /// The schema that `FILE` or `FILE#/pointer` names.
    pub(crate) fn node(&self, reference: &str) -> Option<SchemaNode<'_>> {
        let (file, _) = self.files.get_key_value(reference.split('#').next().unwrap_or_default())?;
        Some(SchemaNode { schemas: self, file, value: self.part(reference).ok()? })
    }

    /// Whether a schema in them says what it is called, so that references may lead elsewhere than into its file.
    pub(crate) fn name_themselves(&self) -> bool {
        self.name_themselves
    }

    /// The files by name, as values.
    #[cfg(feature = "cli")]
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file.value()))
    }

    /// The part of a file that `FILE` or `FILE#/pointer` names.
    pub(crate) fn part(&self, reference: &str) -> Result<&Value, String> {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let names: Vec<_> = self.files.keys().map(String::as_str).collect();
        let found =
            self.files.get(file).ok_or_else(|| format!("no file `{file}`{}", did_you_mean(file, &names)))?;
        found.value().pointer(pointer).ok_or_else(|| format!("`{file}` has nothing at `{pointer}`"))
    }

    /// The part that a `$ref` inside `file` leads to, with the name of its file.
    fn follow(&self, file: &str, reference: &str) -> Option<SchemaNode<'_>> {
        let (target, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let (file, found) = self.files.get_key_value(if target.is_empty() { file } else { target })?;
        Some(SchemaNode { schemas: self, file, value: found.value().pointer(&percent_decoded(pointer))? })
    }

    /// Compiles each of the references that the contract's clauses use, in one go.
    pub(crate) fn compile(&self, references: &[String]) -> Result<HashMap<String, Validator>, FileError> {
        let registry = self.registry()?;
        // Every file is compiled once for itself, so that the complaint names the right one.
        for file in self.files.values() {
            options(registry)
                .with_base_uri(uri(self.name_of(file)))
                .build(file.value())
                .map_err(|error| file.refuse(&error))?;
        }
        references.iter().map(|reference| Ok((reference.clone(), self.compile_one(reference)?))).collect()
    }

    /// Compiles what one reference names.
    fn compile_one(&self, reference: &str) -> Result<Validator, FileError> {
        let name = reference.split('#').next().unwrap_or_default();
        let label = self.files.get(name).map_or(name, |file| &file.label);
        options(self.registry()?)
            .build(&json!({"$ref": uri(reference)}))
            .map_err(|error| FileError::whole(label, format_args!("not a schema: {error}")))
    }

    fn registry(&self) -> Result<&Registry<'static>, FileError> {
        if let Some(registry) = self.registry.get() {
            return Ok(registry);
        }
        let mut registry = Registry::new().draft(Draft::Draft202012);
        for (name, file) in &self.files {
            registry = registry
                .add(uri(name), file.value().clone())
                .map_err(|error| FileError::whole(&file.label, format_args!("not a schema: {error}")))?;
        }
        let registry = registry.prepare().map_err(|error| match self.files.values().next() {
            Some(file) => FileError::whole(&file.label, format_args!("not a schema: {error}")),
            None => FileError::whole("contract", format_args!("not a schema: {error}")),
        })?;
        Ok(self.registry.get_or_init(|| registry))
    }

    /// A file as one document: what it refers to in other files is copied into it, for tools that read only one.
    #[cfg(feature = "cli")]
    pub(crate) fn bundled(&self, name: &str) -> Option<Value> {
        let mut whole = self.files.get(name)?.value().clone();
        rewrite(&mut whole, name);
        let others: Map<String, Value> = self
            .files
            .iter()
            .map(|(other, file)| {
                let mut part = file.value().clone();
                rewrite(&mut part, other);
                (other.clone(), part)
            })
            .collect();
        whole.as_object_mut()?.insert("$defs".into(), Value::Object(others));
        Some(whole)
    }

    fn name_of(&self, file: &SchemaFile) -> &str {
        self.files.iter().find(|(_, known)| std::ptr::eq(*known, file)).map_or("", |(name, _)| name)
    }

    fn check_references(&self, name: &str, file: &SchemaFile) -> Result<(), FileError> {
        match self.dangling(name, file.value(), "") {
            Some((pointer, reference)) => {
                Err(file.error(&pointer, format_args!("`{reference}` leads to nothing in this contract")))
            }
            None => Ok(()),
        }
    }

    /// The first reference inside a schema that leads to nothing, and where it stands. Files are at most 128 deep, so
    /// recursion is safe.
    fn dangling<'v>(&self, file: &str, value: &'v Value, pointer: &str) -> Option<(String, &'v str)> {
        match value {
            Value::Object(map) => map.iter().find_map(|(key, inner)| match (key.as_str(), inner) {
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    // Anchors are the compiler's business; it knows them.
                    let part = reference.split_once('#').map_or("", |(_, part)| part);
                    let is_pointer = part.is_empty() || part.starts_with('/');
                    (is_pointer && self.follow(file, reference).is_none())
                        .then(|| (join(pointer, key), reference.as_str()))
                }
                ("enum" | "const", _) => None,
                _ => self.dangling(file, inner, &join(pointer, key)),
            }),
            Value::Array(list) => list
                .iter()
                .enumerate()
                .find_map(|(index, inner)| self.dangling(file, inner, &format!("{pointer}/{index}"))),
            _ => None,
        }
    }

    /// How many schemas a value meets in `schema`, references followed. A cycle counts once: the compiler breaks it.
    fn check_cost(
        &self,
        name: &str,
        file: &SchemaFile,
        pointer: &str,
        schema: &Value,
        costs: &mut HashMap<(String, *const Value), u64>,
    ) -> Result<u64, FileError> {
        let key = (name.to_string(), std::ptr::from_ref(schema));
        if let Some(cost) = costs.get(&key) {
            return Ok(*cost);
        }
        costs.insert(key.clone(), 1);
        let mut cost = 1_u64;
        if let Value::Object(map) = schema {
            for (keyword, inner) in map {
                let pointer = format!("{pointer}/{keyword}");
                if keyword == "$ref" {
                    if let Some(target) = inner.as_str().and_then(|to| self.follow(name, to))
                        && let Some(file) = self.files.get(target.file)
                    {
                        let inner = self.check_cost(target.file, file, &pointer, target.value, costs)?;
                        cost = cost.saturating_add(inner);
                    }
                } else if keyword != "enum" && keyword != "const" {
                    let members: Vec<&Value> = match inner {
                        Value::Array(list) => list.iter().collect(),
                        Value::Object(map) if holds_schemas_by_name(keyword) => map.values().collect(),
                        other => vec![other],
                    };
                    for member in members {
                        let member = self.check_cost(name, file, &pointer, member, costs)?;
                        if IN_PLACE.contains(&keyword.as_str()) {
                            cost = cost.saturating_add(member);
                        }
                    }
                }
            }
        }
        if cost > MAX_COST {
            let reason = "checks one value against more than 10000 schemas; it would take forever";
            return Err(file.error(pointer, reason));
        }
        costs.insert(key, cost);
        Ok(cost)
    }
}

fn options<'r>(registry: &'r Registry<'static>) -> ValidationOptions<'r, Arc<dyn Retrieve>, Messages> {
    jsonschema::options_for::<Messages>()
        .with_draft(Draft::Draft202012)
        .with_registry(registry)
        .with_pattern_options(PatternOptions::regex().size_limit(1 << 20).dfa_size_limit(1 << 20))
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .offline()
}

/// A schema of a contract that is compiled when somebody asks it: a run concerns few of them.
#[derive(Debug)]
pub(crate) struct LateValidator {
    schemas: Arc<Schemas>,
    reference: String,
    compiled: OnceLock<Result<Validator, FileError>>,
}

impl LateValidator {
    /// The schema that `reference` names, which has to be there.
    pub(crate) fn new(schemas: &Arc<Schemas>, reference: String) -> Self {
        Self { schemas: schemas.clone(), reference, compiled: OnceLock::new() }
    }

    /// The same schema, as far as it can be decided at once.
    pub(crate) fn quick(&self) -> QuickSchema {
        QuickSchema::of(&self.schemas, &self.reference)
    }

    fn get(&self) -> &Result<Validator, FileError> {
        self.compiled.get_or_init(|| self.schemas.compile_one(&self.reference))
    }

    /// Whether a value is valid. Nothing is, if the schema is none.
    pub(crate) fn is_valid(&self, value: JsonView<'_>) -> bool {
        self.get().as_ref().is_ok_and(|validator| validator.is_valid(value))
    }

    /// What is wrong with a value that is not valid.
    pub(crate) fn evidence(&self, value: JsonView<'_>, base: &str) -> Vec<Evidence> {
        match self.get() {
            Ok(validator) => evidence(validator, value, base),
            Err(error) => vec![Evidence { message: error.to_string(), ..Evidence::default() }],
        }
    }
}

/// Whether a schema or one inside it says what it is called.
fn names_itself(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, inner)| key == "$id" || names_itself(inner)),
        Value::Array(list) => list.iter().any(names_itself),
        _ => false,
    }
}

/// Points every reference at the copy of its file under `$defs`.
#[cfg(feature = "cli")]
fn rewrite(schema: &mut Value, file: &str) {
    match schema {
        Value::Object(map) => {
            for (key, inner) in map {
                if key == "$ref"
                    && let Some(reference) = inner.as_str()
                {
                    let (target, pointer) = reference.split_once('#').unwrap_or((reference, ""));
                    let target = if target.is_empty() { file } else { target };
                    *inner = format!("#/$defs/{target}{pointer}").into();
                } else if key != "enum" && key != "const" {
                    rewrite(inner, file);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| rewrite(inner, file)),
        _ => {}
    }
}

fn holds_schemas_by_name(keyword: &str) -> bool {
    matches!(keyword, "properties" | "patternProperties" | "$defs" | "dependentSchemas")
}

impl SchemaFile {
    fn error(&self, pointer: &str, reason: impl std::fmt::Display) -> FileError {
        let document = Document::new(&self.label, &self.text);
        document.error(self.span(pointer).unwrap_or_default(), pointer, reason)
    }

    /// Where the value is that a pointer leads to, or the nearest value around it.
    fn span(&self, pointer: &str) -> Option<Range<usize>> {
        let mut scanner = Scanner::default();
        let document = scanner.scan(&self.text).ok()?;
        let mut node = document.root();
        for name in keys(pointer) {
            let next = match name.parse::<usize>() {
                Ok(index) => node.items().nth(index).or_else(|| node.get(&name)),
                Err(_) => node.get(&name),
            };
            let Some(next) = next else { break };
            node = next;
        }
        Some(node.offset()..node.offset() + node.raw().len())
    }

    /// The compiler's complaint, with the line it is about.
    fn refuse(&self, error: &ValidationError<'_>) -> FileError {
        // A schema that breaks the rules for schemas is itself the instance; other complaints name their keyword.
        let place = [error.instance_path().as_str(), error.schema_path().as_str()];
        let pointer = place.into_iter().find(|pointer| !pointer.is_empty()).unwrap_or_default();
        self.error(pointer, format_args!("not a schema: {}", first_line(&error.to_string())))
    }
}

fn first_line(text: &str) -> String {
    super::finding::shorten(text.lines().last().unwrap_or_default())
}

fn percent_decoded(pointer: &str) -> String {
    pointer.replace("%24", "$").replace("%25", "%")
}

fn uri(reference: &str) -> String {
    format!("contract:///{reference}")
}

/// The schema errors of a value as evidence. `base` is where the value stands in its message.
fn evidence(validator: &Validator, value: JsonView<'_>, base: &str) -> Vec<Evidence> {
    // Each error has its value. Of one in memory it is no copy; a large one is copied once and not with every error.
    let built = value.to_value();
    validator.iter_errors(JsonView::Built(&built)).take(20).map(|error| explain(&error, base)).collect()
}

fn explain(error: &ValidationError<'_>, base: &str) -> Evidence {
    use jsonschema::error::ValidationErrorKind as Kind;
    let error = deepest(error);
    let pointer = format!("{base}{}", error.instance_path().as_str());
    let place = if pointer.is_empty() { "the message" } else { &pointer };
    // Of what lacks a field nothing is shown, and it may be large.
    let seen = || excerpt(&**error.instance());
    let (message, expected) = match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            (format!("`{name}` is missing from {place}"), format!("a field `{name}`"))
        }
        Kind::Type { .. } => {
            let text = error.masked_with("the value").to_string();
            let wanted = text.split_once(" is not of ").map_or(text.as_str(), |(_, wanted)| wanted);
            let wanted = wanted.trim_start_matches("types ").trim_start_matches("type ").replace('"', "");
            let words = |name: &str| json::Kind::from_name(name).map_or("another type", json::Kind::words);
            let wanted = wanted.split(", ").map(words).collect::<Vec<_>>().join(" or ");
            let found = kind_of(JsonView::Built(error.instance())).words();
            (format!("{place} is {found}, expected {wanted}"), wanted)
        }
        Kind::Enum { options } => {
            let options = options.as_array().map_or(String::new(), |options| listed(options));
            (
                format!("{place} is {}, which is none of the allowed values", seen()),
                format!("one of {options}"),
            )
        }
        Kind::Constant { expected_value } => {
            (format!("{place} is {}, expected {expected_value}", seen()), expected_value.to_string())
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => (
            format!("{place} has fields the contract does not know: {}", unexpected.join(", ")),
            String::new(),
        ),
        Kind::Contains => (format!("no item of {place} is as the schema asks"), String::new()),
        Kind::Format { format } => {
            (format!("{place} is {}, which is not a {format}", seen()), format!("a {format}"))
        }
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => {
            (format!("{place} has none of the shapes that are allowed"), String::new())
        }
        Kind::OneOfMultipleValid { .. } => {
            (format!("{place} has more than one of the shapes that are allowed"), String::new())
        }
        Kind::Not { schema } => match schema.pointer("/required/0").and_then(Value::as_str) {
            Some(field) => (format!("{place} has `{field}`, which should not be there"), String::new()),
            None => (format!("{place} is as it should not be: {schema}"), String::new()),
        },
        _ => {
            let text = error.masked_with("the value").to_string();
            match text.strip_prefix("the value ") {
                Some(is) => (format!("{place} {is}"), String::new()),
                None => (format!("{place}: {text}"), String::new()),
            }
        }
    };
    let seen = match error.kind() {
        Kind::Required { .. } => None,
        _ => Some(seen()),
    };
    Evidence {
        message,
        pointer: Some(pointer),
        seen,
        expected: (!expected.is_empty()).then_some(expected),
        ..Evidence::default()
    }
}

/// Of a failed choice, the complaint of the branch that got furthest: it is the one that was meant.
fn deepest<'e, 'i>(error: &'e ValidationError<'i>) -> &'e ValidationError<'i>
where
    'i: 'e,
{
    use jsonschema::error::ValidationErrorKind as Kind;
    let (Kind::AnyOf { context } | Kind::OneOfNotValid { context }) = error.kind() else { return error };
    let depth = |error: &ValidationError<'_>| error.instance_path().as_str().matches('/').count();
    let best = context
        .iter()
        .filter_map(|branch| {
            branch.iter().min_by_key(|error| depth(error)).map(|error| (branch.len(), error))
        })
        .max_by_key(|(count, error)| (depth(error), std::cmp::Reverse(*count)));
    match best {
        Some((_, inner)) if depth(inner) > depth(error) => inner,
        _ => error,
    }
}
