//! Schemas in a form that tells at once whether a message is valid.
//!
//! Nearly all that contracts ask is the type of a value, which members it has, and which text stands in one of them.
//! That much is decided here, exactly as the validator would; wherever a schema asks for more, and the answer depends on
//! it, there is none, and the validator is asked.

use serde_json::Value;

use super::schemas::{SchemaNode, Schemas};
use crate::json::{JsonView, Kind, Name};

/// A schema, as far as it can be decided here.
#[derive(Debug)]
pub(crate) struct QuickSchema(Check);

/// What is asked of one value. Everything must hold.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is what one keyword asks")]
pub(super) struct Check {
    /// The schema asks for something that is not decided here.
    pub(super) is_open: bool,
    /// Only these types.
    pub(super) types: Option<Vec<Kind>>,
    /// Only these values; texts, booleans and null.
    pub(super) values: Option<Vec<Value>>,
    /// A text is not empty.
    pub(super) some_text: bool,
    /// A text is an UUID.
    pub(super) uuid: bool,
    /// A number is not negative.
    pub(super) not_negative: bool,
    /// A number is at least, at most and more than that.
    at_least: Option<f64>,
    at_most: Option<f64>,
    more_than: Option<f64>,
    /// What a text surely has the form of, or else the validator is asked.
    form: Option<Form>,
    /// What must not hold.
    not: Option<Box<Check>>,
    /// What is asked of members that `properties` does not name.
    others: Option<Box<Check>>,
    /// A list is not empty.
    pub(super) some_items: bool,
    pub(super) items: Option<Box<Check>>,
    pub(super) members: Vec<Member>,
    /// How many of the members must be there.
    required: usize,
    /// What other schemas ask of the same value.
    pub(super) also: Vec<Check>,
    pub(super) when: Option<Box<When>>,
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: Name,
    pub(super) is_required: bool,
    pub(super) check: Option<Check>,
}

#[derive(Debug, Clone)]
pub(super) struct When {
    pub(super) condition: Check,
    pub(super) then: Check,
    pub(super) otherwise: Check,
}

/// How deep schemas are followed and how large they may become; what is beyond is not decided here.
const MAX_DEPTH: usize = 16;
const MAX_SIZE: usize = 2_000;

/// Keywords that ask for nothing.
const SILENT: [&str; 8] =
    ["$schema", "$defs", "$comment", "title", "description", "default", "examples", "deprecated"];

impl QuickSchema {
    /// The schema that `reference` names.
    pub(crate) fn of(schemas: &Schemas, reference: &str) -> Self {
        let mut size = 0;
        // A schema with a name of its own changes where references lead to.
        let schema = schemas.node(reference).filter(|_| !schemas.name_themselves());
        let check = schema.map(|schema| Check::of(schema, MAX_DEPTH, &mut size));
        Self(check.unwrap_or_else(Check::open))
    }

    pub(super) fn check(&self) -> &Check {
        &self.0
    }

    /// Whether a value is valid; none when that is not decided here.
    pub(crate) fn is_valid(&self, value: JsonView<'_>) -> Option<bool> {
        self.0.holds(value)
    }
}

impl Check {
    fn open() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    fn of(schema: SchemaNode<'_>, depth: usize, size: &mut usize) -> Self {
        *size += 1;
        if depth == 0 || *size > MAX_SIZE {
            return Self::open();
        }
        let mut check = Self::default();
        let Some(keywords) = schema.map() else {
            // `true` asks for nothing, and no type is good enough for `false`.
            check.types = schema.is(&Value::Bool(false)).then(Vec::new);
            return check;
        };
        let mut inner = |schema: SchemaNode<'_>| Self::of(schema, depth - 1, size);
        for (keyword, value) in keywords {
            let is_known = match keyword.as_str() {
                "type" => check.set_types(value),
                "const" => check.set_values(std::slice::from_ref(value)),
                "enum" => value.as_array().is_some_and(|values| check.set_values(values)),
                "minLength" => {
                    check.some_text = *value == 1;
                    check.some_text
                }
                "format" => {
                    check.uuid = value == "uuid";
                    check.uuid
                }
                "minimum" if *value == 0 => {
                    check.not_negative = true;
                    true
                }
                "minimum" => bound(value, &mut check.at_least),
                "maximum" => bound(value, &mut check.at_most),
                "exclusiveMinimum" => bound(value, &mut check.more_than),
                "pattern" => {
                    check.form = value.as_str().and_then(Form::of);
                    check.form.is_some()
                }
                "not" => {
                    check.not = schema.inner("not").map(|not| Box::new(inner(not)));
                    true
                }
                "additionalProperties" if schema.get("patternProperties").is_some() => false,
                "additionalProperties" => {
                    check.others = schema.inner("additionalProperties").map(|others| Box::new(inner(others)));
                    true
                }
                "minItems" => {
                    check.some_items = *value == 1;
                    check.some_items
                }
                // What comes after others is not what comes first.
                "items" if schema.get("prefixItems").is_some() => false,
                "items" => {
                    check.items = schema.inner("items").map(|items| Box::new(inner(items)));
                    true
                }
                "properties" => {
                    for (name, field) in schema.properties() {
                        let field = inner(field);
                        check.member(name).check = Some(field);
                    }
                    true
                }
                "required" => {
                    for name in schema.names("required") {
                        check.member(name).is_required = true;
                    }
                    true
                }
                "$ref" => schema.target().map(|target| check.also.push(inner(target))).is_some(),
                "allOf" => {
                    check.also.extend(schema.list("allOf").map(&mut inner));
                    true
                }
                "if" => {
                    let mut of = |keyword| schema.inner(keyword).map(&mut inner).unwrap_or_default();
                    let (condition, then, otherwise) = (of("if"), of("then"), of("else"));
                    check.when = Some(Box::new(When { condition, then, otherwise }));
                    true
                }
                "then" | "else" => true,
                silent => SILENT.contains(&silent) || silent.starts_with("x-"),
            };
            check.is_open |= !is_known;
        }
        check.required = check.members.iter().filter(|member| member.is_required).count();
        check
    }

    fn set_types(&mut self, value: &Value) -> bool {
        let names = match value {
            Value::Array(names) => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        self.types = names.iter().map(|name| Kind::from_name(name.as_str()?)).collect();
        self.types.is_some()
    }

    fn set_values(&mut self, values: &[Value]) -> bool {
        // A container can hold numbers, of which a large one can be written in several ways.
        let is_plain = |value: &Value| match value {
            Value::String(_) | Value::Bool(_) | Value::Null => true,
            Value::Number(number) => number.as_i64().is_some_and(|number| number.abs() < EXACT),
            Value::Array(_) | Value::Object(_) => false,
        };
        let is_known = self.values.is_none() && values.iter().all(is_plain);
        if is_known {
            self.values = Some(values.to_vec());
        }
        is_known
    }

    fn member(&mut self, name: &str) -> &mut Member {
        let known = self.members.iter().position(|member| member.name.as_str() == name);
        let index = known.unwrap_or_else(|| {
            self.members.push(Member { name: Name::new(name), is_required: false, check: None });
            self.members.len() - 1
        });
        &mut self.members[index]
    }

    /// Whether all of it holds; none when that is not decided here.
    pub(super) fn holds(&self, value: JsonView<'_>) -> Option<bool> {
        let kind = value.kind();
        if self.types.as_ref().is_some_and(|types| !types.iter().any(|wanted| value.is(*wanted)))
            || self.values.as_ref().is_some_and(|values| !values.iter().any(|known| value.same(known)))
        {
            // What is not decided here could only add to that.
            return Some(false);
        }
        let mut all = All { is_open: self.is_open };
        match kind {
            Kind::String if self.some_text || self.uuid || self.form.is_some() => {
                if self.some_text && value.is_empty_text() {
                    return Some(false);
                }
                let has_form = |form: &Form| {
                    value.tested(form, |form, value| value.text().is_some_and(|text| form.has(&text)))
                };
                all.is_open |= self.form.as_ref().is_some_and(|form| !has_form(form));
                // Who writes UUIDs in another way is judged by the validator.
                all.is_open |= self.uuid && !is_uuid(value);
            }
            Kind::Number if self.bounds_numbers() => {
                let bounds = self.bounds();
                if value
                    .tested(&bounds, |bounds, value| value.float().is_some_and(|number| !bounds.hold(number)))
                {
                    return Some(false);
                }
                all.is_open |= !value.tested(&(), |(), value| value.float().is_some());
            }
            Kind::Array => {
                if self.some_items && value.items().next().is_none() {
                    return Some(false);
                }
                if let Some(items) = &self.items
                    && !value.items().all(|item| all.and(items.holds(item)))
                {
                    return Some(false);
                }
            }
            Kind::Object => {
                if !self.members.is_empty() && !self.members_hold(value, &mut all) {
                    return Some(false);
                }
                if let Some(others) = &self.others
                    && !self.others_hold(others, value, &mut all)
                {
                    return Some(false);
                }
            }
            _ => {}
        }
        if let Some(not) = &self.not
            && !all.and(not.holds(value).map(|holds| !holds))
        {
            return Some(false);
        }
        if !self.also.iter().all(|check| all.and(check.holds(value))) {
            return Some(false);
        }
        if let Some(when) = &self.when {
            let branch = match when.condition.holds(value) {
                Some(true) => when.then.holds(value),
                Some(false) => when.otherwise.holds(value),
                None => None,
            };
            if !all.and(branch) {
                return Some(false);
            }
        }
        (!all.is_open).then_some(true)
    }

    fn bounds_numbers(&self) -> bool {
        self.not_negative || self.at_least.is_some() || self.at_most.is_some() || self.more_than.is_some()
    }

    fn bounds(&self) -> Bounds {
        let zero = self.not_negative.then_some(0.0);
        Bounds { zero, at_least: self.at_least, at_most: self.at_most, more_than: self.more_than }
    }

    /// Whether the members that `properties` does not name are as they have to be.
    fn others_hold(&self, others: &Self, value: JsonView<'_>, all: &mut All) -> bool {
        let is_named = |name: &str| {
            let named = self.members.iter().find(|member| member.name.as_str() == name);
            named.is_some_and(|member| member.check.is_some())
        };
        value.members().all(|(name, inner)| is_named(&name) || all.and(others.holds(inner)))
    }

    /// The member that has to be one of some values, when that is all that is asked, and whether it must be there.
    pub(super) fn member_is(&self) -> Option<(&Name, &[Value], bool)> {
        let [member] = self.members.as_slice() else { return None };
        let check = member.check.as_ref()?;
        let values = check.values.as_deref()?;
        (self.asks_members_only() && check.asks_values_only()).then_some((
            &member.name,
            values,
            member.is_required,
        ))
    }

    fn asks_members_only(&self) -> bool {
        self.types.is_none() && self.values.is_none() && self.asks_little()
    }

    fn asks_values_only(&self) -> bool {
        self.types.is_none() && self.members.is_empty() && self.asks_little()
    }

    /// Whether it asks for nothing but types, values and members.
    fn asks_little(&self) -> bool {
        let of_text = self.some_text || self.uuid || self.form.is_some();
        let of_list = self.some_items || self.items.is_some();
        let more =
            !self.also.is_empty() || self.when.is_some() || self.not.is_some() || self.others.is_some();
        !self.is_open && !of_text && !of_list && !more && !self.bounds_numbers()
    }

    /// The part of it that is not put together with that of other schemas; none when there is nothing of that kind.
    pub(super) fn apart(&self) -> Option<Self> {
        let has_bounds = self.at_least.is_some() || self.at_most.is_some() || self.more_than.is_some();
        if !has_bounds && self.form.is_none() && self.not.is_none() && self.others.is_none() {
            return None;
        }
        let named = |member: &Member| Member {
            is_required: false,
            check: member.check.as_ref().map(|_| Self::default()),
            ..member.clone()
        };
        Some(Self {
            at_least: self.at_least,
            at_most: self.at_most,
            more_than: self.more_than,
            form: self.form.clone(),
            not: self.not.clone(),
            others: self.others.clone(),
            members: self.others.iter().flat_map(|_| self.members.iter().map(named)).collect(),
            ..Self::default()
        })
    }

    fn members_hold(&self, value: JsonView<'_>, all: &mut All) -> bool {
        let mut holds =
            |member: &Member, value| member.check.as_ref().is_none_or(|check| all.and(check.holds(value)));
        let node = match value {
            // One walk for all of them; the order is mostly that of the schema.
            JsonView::Scanned(node) if self.members.len() > 2 => node,
            _ => {
                return self.members.iter().all(|member| match value.member(&member.name) {
                    Some(value) => holds(member, value),
                    None => !member.is_required,
                });
            }
        };
        let (mut missing, mut cursor) = (self.required, 0);
        for (key, inner) in node.members() {
            if let Some(index) = key.place_in(&self.members, cursor, |member| &member.name) {
                let member = &self.members[index];
                cursor = index + 1;
                missing = missing.saturating_sub(usize::from(member.is_required));
                if !holds(member, JsonView::Scanned(inner)) {
                    return false;
                }
            }
        }
        missing == 0
    }
}

/// Beyond this a double skips integers.
const EXACT: i64 = 1 << 53;

/// Takes a bound that a double holds exactly.
fn bound(value: &Value, into: &mut Option<f64>) -> bool {
    *into = value.as_i64().filter(|number| number.abs() < EXACT).map(|number| number as f64);
    into.is_some()
}

/// What bounds a number.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    zero: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    more_than: Option<f64>,
}

impl Bounds {
    fn hold(self, number: f64) -> bool {
        self.zero.is_none_or(|zero| number >= zero)
            && self.at_least.is_none_or(|least| number >= least)
            && self.at_most.is_none_or(|most| number <= most)
            && self.more_than.is_none_or(|bound| number > bound)
    }
}

/// A pattern of plain parts. What it finds is found; what it does not find may be there all the same.
#[derive(Debug, Clone, PartialEq)]
struct Form {
    /// Which ASCII letters, at least how often, and at most.
    parts: Vec<(u128, usize, usize)>,
    is_whole: bool,
}

impl Form {
    fn of(pattern: &str) -> Option<Self> {
        let pattern = pattern.strip_prefix('^')?;
        let (mut rest, is_whole) = pattern.strip_suffix('$').map_or((pattern, false), |inner| (inner, true));
        let mut parts = Vec::new();
        while let Some(first) = rest.chars().next() {
            let letters;
            (letters, rest) = match first {
                '\\' => match rest.chars().nth(1)? {
                    'd' => (letters_of(b'0', b'9'), &rest[2..]),
                    '.' => (letters_of(b'.', b'.'), &rest[2..]),
                    _ => return None,
                },
                '[' => {
                    let (inside, after) = rest[1..].split_once(']')?;
                    (class(inside)?, after)
                }
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | ':' | ' ' => {
                    (letters_of(first as u8, first as u8), &rest[1..])
                }
                _ => return None,
            };
            let (least, most);
            (least, most, rest) = times(rest)?;
            parts.push((letters, least, most));
        }
        Some(Self { parts, is_whole })
    }

    fn has(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut at = 0;
        for (letters, least, most) in &self.parts {
            let fits = |byte: &&u8| byte.is_ascii() && letters >> **byte & 1 == 1;
            let count = bytes[at..].iter().take(*most).take_while(fits).count();
            if count < *least {
                return false;
            }
            at += count;
        }
        !self.is_whole || at == bytes.len()
    }
}

fn letters_of(first: u8, last: u8) -> u128 {
    (first..=last).fold(0, |letters, letter| letters | 1 << letter)
}

/// What stands between brackets: letters, and ranges of them.
fn class(inside: &str) -> Option<u128> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let bytes = Some(inside.as_bytes()).filter(|bytes| !bytes.is_empty() && bytes.iter().all(is_plain))?;
    let (mut letters, mut at) = (0, 0);
    while let Some(first) = bytes.get(at) {
        match bytes.get(at + 1..at + 3) {
            Some([b'-', last]) if first.is_ascii_alphanumeric() && last > first => {
                letters |= letters_of(*first, *last);
                at += 3;
            }
            _ if *first == b'-' => return None,
            _ => {
                letters |= letters_of(*first, *first);
                at += 1;
            }
        }
    }
    Some(letters)
}

/// How often something comes, and what stands after that.
fn times(rest: &str) -> Option<(usize, usize, &str)> {
    Some(match rest.as_bytes().first() {
        Some(b'*') => (0, usize::MAX, &rest[1..]),
        Some(b'+') => (1, usize::MAX, &rest[1..]),
        Some(b'{') => {
            let (number, after) = rest[1..].split_once('}')?;
            let number = number.parse().ok()?;
            (number, number, after)
        }
        Some(b'?') => return None,
        _ => (1, 1, rest),
    })
}

/// Answers of which all must be yes.
struct All {
    is_open: bool,
}

impl All {
    /// Takes one more; whether all can still be yes.
    fn and(&mut self, answer: Option<bool>) -> bool {
        self.is_open |= answer.is_none();
        answer != Some(false)
    }
}

/// For each byte whether it is a digit of a hexadecimal number.
const HEX: [bool; 256] = {
    let mut hex = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        hex[byte] = (byte as u8).is_ascii_hexdigit();
        byte += 1;
    }
    hex
};

/// Whether a value is an UUID in its usual form.
pub(super) fn is_uuid(value: JsonView<'_>) -> bool {
    value.tested(&(), |(), value| is_written_as_uuid(value))
}

fn is_written_as_uuid(value: JsonView<'_>) -> bool {
    let raw = match value {
        JsonView::Scanned(node) => node.raw().as_bytes().get(1..).and_then(|raw| raw.strip_suffix(b"\"")),
        JsonView::Built(value) => value.as_str().map(str::as_bytes),
    };
    // One with escapes is longer, and judged by the validator.
    let Some(text) = raw.and_then(|text| <&[u8; 36]>::try_from(text).ok()) else { return false };
    let hex =
        |from: usize, to: usize| text[from..to].iter().fold(true, |all, byte| all & HEX[usize::from(*byte)]);
    let dashes = text[8] == b'-' && text[13] == b'-' && text[18] == b'-' && text[23] == b'-';
    dashes && hex(0, 8) && hex(9, 13) && hex(14, 18) && hex(19, 23) && hex(24, 36)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::super::program::Program;
    use super::*;
    use crate::json::Scanner;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            prop::sample::select(vec![json!(0), json!(-1), json!(1.0), json!(-0.5), json!(2.5)]),
            prop::sample::select(vec![
                "",
                "x",
                "y\n",
                "12-34",
                "٣٤-12",
                "0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a"
            ])
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let members = prop::collection::vec((prop::sample::select(NAMES.to_vec()), inner.clone()), 0..4);
            let object = members.prop_map(|members| {
                Value::Object(
                    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
                )
            });
            prop_oneof![prop::collection::vec(inner, 0..3).prop_map(Value::from), object]
        })
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let types = prop::sample::subsequence(
            vec!["null", "boolean", "integer", "number", "string", "array", "object"],
            1..4,
        );
        let texts = prop::sample::subsequence(vec![json!(""), json!("x"), json!(true), json!(null)], 1..3);
        let leaf = prop_oneof![
            types.prop_map(|types| json!({"type": types})),
            texts.prop_map(|values| json!({"enum": values})),
            prop::sample::select(vec![
                json!(true),
                json!(false),
                json!({"const": "x"}),
                json!({"const": 1}),
                json!({"type": "string", "minLength": 1}),
                json!({"minLength": 2}),
                json!({"minItems": 1}),
                json!({"minimum": 0, "x-more": 1}),
                json!({"minimum": 1}),
                json!({"maximum": 1}),
                json!({"exclusiveMinimum": 0}),
                json!({"enum": [1, 2]}),
                json!({"pattern": "^[a-z][a-z0-9_]*$"}),
                json!({"pattern": "^[0-9]+-\\d{2}"}),
                json!({"format": "uuid", "description": "an id"}),
                json!({"pattern": "^x"}),
                json!({"$ref": "#/$defs/shared"}),
            ]),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let names = || prop::sample::subsequence(NAMES.to_vec(), 0..4);
            let fields = prop::collection::vec(inner.clone(), 4);
            let object = (names(), names(), fields).prop_map(|(known, required, fields)| {
                let fields = known.into_iter().zip(fields).map(|(name, schema)| (name.to_owned(), schema));
                json!({"properties": fields.collect::<Map<_, _>>(), "required": required})
            });
            prop_oneof![
                4 => object,
                1 => inner.clone().prop_map(|items| json!({"items": items})),
                1 => inner.clone().prop_map(|items| json!({"items": items, "prefixItems": [true]})),
                1 => prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({"allOf": all})),
                1 => inner.clone().prop_map(|other| json!({"not": other, "type": ["object", "string"]})),
                1 => (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(field, others, required)| {
                    let required = if required { vec!["b"] } else { Vec::new() };
                    json!({"properties": {"a": field}, "additionalProperties": others, "required": required})
                }),
                2 => (inner.clone(), inner.clone(), inner)
                    .prop_map(|(this, then, other)| json!({"if": this, "then": then, "else": other})),
            ]
        })
    }

    /// Whether a value is valid, here and by the validator.
    fn answers(schema: &Value, value: &Value) -> [(Option<bool>, bool); 2] {
        let shared = json!({"properties": {"a": {"type": "string"}}, "required": ["b"]});
        let file = json!({"$defs": {"shared": shared, "asked": schema}}).to_string();
        let schemas = Schemas::read([("s.json".into(), "s.json".into(), file)]).unwrap();
        let reference = "s.json#/$defs/asked".to_owned();
        let quick = QuickSchema::of(&schemas, &reference);
        let shared = QuickSchema::of(&schemas, "s.json#/$defs/shared");
        let program = Program::new([(7, &shared), (8, &quick)].into_iter());
        let validators = schemas.compile(std::slice::from_ref(&reference)).unwrap();
        let text = value.to_string();
        let mut scanner = Scanner::default();
        let document = scanner.scan(&text).unwrap();
        [JsonView::Scanned(document.root()), value.into()].map(|view| {
            // A clause that the walk clears is kept, and one that is kept for certain is cleared.
            let (quick, is_valid) = (quick.is_valid(view), validators[&reference].is_valid(view));
            let doubts = program.doubts(view);
            let is_cleared = doubts.maybe & program.bit(8) == 0;
            assert!(doubts.broken & program.bit(8) == 0 || quick == Some(false), "{schema} {value}");
            assert!(!is_cleared || is_valid, "{schema} {value}");
            assert_eq!(is_cleared, quick == Some(true), "{schema} {value}");
            (quick, is_valid)
        })
    }

    proptest! {
        #[test]
        fn what_is_decided_here_is_what_the_validator_says(schema in any_schema(), value in any_value()) {
            for (quick, validator) in answers(&schema, &value) {
                prop_assert!(quick.is_none_or(|quick| quick == validator), "{quick:?} {validator}");
            }
        }
    }

    #[test]
    fn what_contracts_mostly_ask_is_decided() {
        let schema = json!({
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"const": "x"}, "b": {"items": {"minItems": 1}}, "c": {"minimum": 0}},
            "if": {"required": ["d"]},
            "then": {"properties": {"d": {"enum": ["x", null]}}},
        });
        for (value, answer) in [
            (json!({"a": "x", "b": [[1]], "c": 0, "d": null}), true),
            (json!({"b": [[1]]}), false),
            (json!({"a": "x", "b": [[]]}), false),
            (json!({"a": "x", "c": -1}), false),
            (json!({"a": "x", "d": 1}), false),
            (json!([]), false),
        ] {
            assert_eq!(answers(&schema, &value), [(Some(answer), answer); 2], "{value}");
        }
        assert_eq!(answers(&json!({"pattern": "x"}), &json!("x")), [(None, true); 2]);
        assert_eq!(answers(&json!({"pattern": "^x"}), &json!("x")), [(Some(true), true); 2]);
        // That a form is not there is for the validator to say.
        assert_eq!(answers(&json!({"pattern": "^x*xy$"}), &json!("xxy")), [(None, true); 2]);
    }
}
