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
            // `true` asks for nothing, and `false` stands in no contract of ours.
            check.is_open = schema.is(&Value::Bool(false));
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
                "minimum" => {
                    check.not_negative = *value == 0;
                    check.not_negative
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
        // A number can be written in several ways, and a container can hold some.
        let is_plain = |value: &Value| matches!(value, Value::String(_) | Value::Bool(_) | Value::Null);
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
            Kind::String if self.some_text || self.uuid => {
                if self.some_text && value.is_empty_text() {
                    return Some(false);
                }
                // Who writes UUIDs in another way is judged by the validator.
                all.is_open |= self.uuid && !is_uuid(value);
            }
            Kind::Number if self.not_negative => match value.float() {
                Some(number) if number < 0.0 => return Some(false),
                number => all.is_open |= number.is_none(),
            },
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
            Kind::Object if !self.members.is_empty() && !self.members_hold(value, &mut all) => {
                return Some(false);
            }
            _ => {}
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
            let (before, after) = self.members.split_at(cursor);
            let mut places = after.iter().chain(before);
            if let Some(place) = places.position(|member| key.is_name(&member.name)) {
                let index = (cursor + place) % self.members.len();
                let member = &self.members[index];
                cursor = (index + 1) % self.members.len();
                missing = missing.saturating_sub(usize::from(member.is_required));
                if !holds(member, JsonView::Scanned(inner)) {
                    return false;
                }
            }
        }
        missing == 0
    }
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

/// Whether a value is an UUID in its usual form.
pub(super) fn is_uuid(value: JsonView<'_>) -> bool {
    let Some(text) = value.text() else { return false };
    let fits = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
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
            prop::sample::select(vec!["", "x", "y\n", "0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a"])
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
            let is_cleared = program.doubts(view) & program.bit(8) == 0;
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
        assert_eq!(answers(&json!({"pattern": "^x"}), &json!("x")), [(None, true); 2]);
    }
}
