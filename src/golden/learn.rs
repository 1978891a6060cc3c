//! Finds what differs between runs of the same case and is not normalised yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::entry::Entry;
use super::parts::Normal;
use super::placeholder::whole_time;
use super::volatile::Class;
use crate::document::is_reserved;

/// Fields that should be normalised, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// By how each is to be normalised: the fields, and the values that were seen.
    pub rules: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Cases that differ in a way that no rule for a field can hide.
    pub unsteady: Vec<Unsteady>,
}

/// A case that differs in its messages, texts, requests or files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsteady {
    pub case: String,
    pub what: String,
}

impl Proposal {
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.unsteady.is_empty()
    }

    /// The entries for a target's file.
    pub(crate) fn to_toml(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let mut toml = String::new();
        for (class, fields) in &self.rules {
            let names: Vec<String> = fields.keys().map(|field| quoted(field)).collect();
            let seen = fields.values().next().map(|seen| seen.join(", ")).unwrap_or_default();
            // A comment ends with its line.
            let seen: String = seen.chars().filter(|c| !c.is_control()).take(80).collect();
            // Writing to a string cannot fail.
            _ = write!(
                toml,
                "\n# Seen: {seen}\n[[volatile]]\nas = {}\nfields = [{}]\n",
                quoted(class),
                names.join(", ")
            );
        }
        toml
    }
}

/// Compares the runs of each case with its first run.
pub(crate) fn learn(runs: &BTreeMap<String, Vec<Normal>>) -> Proposal {
    let mut learner = Learner::default();
    for (case, runs) in runs {
        let Some((first, others)) = runs.split_first() else { continue };
        for other in others {
            learner.case(case, first, other);
        }
    }
    learner.proposal()
}

#[derive(Default)]
struct Learner {
    /// Each place that differs, and the values that were seen there.
    places: BTreeMap<Vec<String>, Vec<Value>>,
    unsteady: BTreeSet<(String, String)>,
}

impl Learner {
    fn case(&mut self, case: &str, first: &Normal, other: &Normal) {
        if first.exit != other.exit {
            self.note(case, "how it ends");
        }
        for (name, a, b) in
            [("stdout", &first.stdout, &other.stdout), ("stderr", &first.stderr, &other.stderr)]
        {
            let kinds = |entries: &[Entry]| {
                entries.iter().map(|entry| entry.kind().map(str::to_owned)).collect::<Vec<_>>()
            };
            if kinds(a) != kinds(b) {
                self.note(
                    case,
                    &format!("the messages on {name}, or their order (see `interleave` in scenarios)"),
                );
                continue;
            }
            for pair in a.iter().zip(b) {
                match pair {
                    (Entry::Message { value: a, .. }, Entry::Message { value: b, .. })
                        if !self.value(a, b, &mut Vec::new()) =>
                    {
                        self.note(case, &format!("the shape of a message on {name}"));
                    }
                    (Entry::Text { text: a, .. }, Entry::Text { text: b, .. }) if a != b => {
                        self.note(case, &format!("a text on {name}"));
                    }
                    _ => {}
                }
            }
        }
        for (name, a, b) in
            [("requests", &first.requests, &other.requests), ("files", &first.files, &other.files)]
        {
            let (a, b) = (Value::from(a.clone()), Value::from(b.clone()));
            if let Some((place, a, b)) = first_difference(&a, &b, String::new()) {
                self.note(case, &format!("the {name}, at {place}: {a} and {b}"));
            }
        }
    }

    fn note(&mut self, case: &str, what: &str) {
        self.unsteady.insert((case.to_owned(), what.to_owned()));
    }

    /// Walks two values side by side; false when their shapes differ.
    fn value(&mut self, a: &Value, b: &Value, path: &mut Vec<String>) -> bool {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(key, a)| {
                        let Some(b) = b.get(key) else { return false };
                        path.push(key.clone());
                        let same = self.value(a, b, path);
                        path.pop();
                        same
                    })
            }
            (Value::Array(a), Value::Array(b)) => {
                path.push("*".into());
                let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.value(a, b, path));
                path.pop();
                same
            }
            (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_)) => {
                if a != b {
                    let seen = self.places.entry(path.clone()).or_default();
                    for value in [a, b] {
                        if seen.len() < 4 && !seen.contains(value) {
                            seen.push(value.clone());
                        }
                    }
                }
                true
            }
            _ => a == b,
        }
    }

    fn proposal(self) -> Proposal {
        let mut proposal = Proposal::default();
        for (path, seen) in self.places {
            let pointer = format!("/{}", path.join("/"));
            let name = path.last().filter(|name| *name != "*").unwrap_or(&pointer);
            let class = class(name, &seen);
            // Durations, times and ids are what they are wherever their name stands. A text or a number is pointed at: its
            // name may stand for what should not be hidden.
            let is_loose = matches!(class, Class::Text | Class::Number);
            let field = if is_loose { pointer.clone() } else { name.clone() };
            let class = class.name();
            let shown = seen.iter().map(|value| value.to_string().chars().take(30).collect()).collect();
            proposal.rules.entry(class).or_default().entry(field).or_insert(shown);
        }
        proposal.unsteady = self.unsteady.into_iter().map(|(case, what)| Unsteady { case, what }).collect();
        proposal
    }
}

/// Where two values differ first, and what stands there.
fn first_difference(a: &Value, b: &Value, place: String) -> Option<(String, String, String)> {
    let below = |step: &dyn std::fmt::Display| format!("{place}/{step}");
    match (a, b) {
        _ if a == b => None,
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let at = |object: &serde_json::Map<String, Value>, key: &str| {
                object.get(key).cloned().unwrap_or_default()
            };
            keys.into_iter().find_map(|key| first_difference(&at(a, key), &at(b, key), below(key)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(at, (a, b))| first_difference(a, b, below(&at)))
        }
        (Value::Array(a), Value::Array(b)) => {
            Some((place, format!("{} of them", a.len()), b.len().to_string()))
        }
        (Value::String(a), Value::String(b)) => {
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count().saturating_sub(20);
            let part = |text: &str| format!("{:?}", text.chars().skip(same).take(60).collect::<String>());
            Some((place, part(a), part(b)))
        }
        (a, b) => {
            let part = |value: &Value| value.to_string().chars().take(60).collect::<String>();
            Some((place, part(a), part(b)))
        }
    }
}

/// What the values have in common.
fn class(field: &str, seen: &[Value]) -> Class {
    let numbers: Option<Vec<f64>> = seen.iter().map(Value::as_f64).collect();
    if let Some(numbers) = numbers {
        let name = field.to_lowercase();
        return if numbers.iter().all(|number| *number >= 1e9) {
            Class::Time
        } else if numbers.iter().all(|number| *number >= 0.0)
            && ["ms", "duration", "elapsed", "latency"].iter().any(|word| name.contains(word))
        {
            Class::Milliseconds
        } else {
            Class::Number
        };
    }
    let texts: Vec<&str> = seen.iter().filter_map(Value::as_str).collect();
    if texts.iter().all(|text| whole_time(text).is_some()) {
        return Class::Time;
    }
    let is_token =
        |text: &&str| text.len() >= 3 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let label: String = field
        .trim_end_matches("_id")
        .trim_end_matches("Id")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .filter(|c| c.is_ascii_lowercase() || *c == '-')
        .collect();
    let label = label.trim_matches('-').to_owned();
    if texts.iter().all(is_token) && !label.is_empty() && !is_reserved(&label) {
        Class::Id(label)
    } else {
        Class::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::VolatileEntry;
    use crate::golden::{Volatile, normalise_output};

    fn runs(outputs: &[&str]) -> BTreeMap<String, Vec<Normal>> {
        let normal = |output: &&str| normalise_output("c", output.as_bytes(), &Volatile::default());
        BTreeMap::from([("c".to_owned(), outputs.iter().map(normal).collect())])
    }

    #[test]
    fn what_differs_is_proposed_by_its_type() {
        let a = r#"{"took_ms":3,"job_id":"ab12","at":1794807428805,"n":-1,"note":"took 3 s","same":1,"l":["x1y"]}"#;
        let b = r#"{"took_ms":4,"job_id":"cd34","at":1794807428999,"n":2,"note":"took 4 s","same":1,"l":["z2y"]}"#;
        let proposal = learn(&runs(&[a, b]));
        let rules: Vec<_> = proposal
            .rules
            .iter()
            .map(|(class, fields)| (class.as_str(), fields.keys().cloned().collect::<Vec<_>>().join(" ")))
            .collect();
        let expected = [
            ("id:job", "job_id"),
            ("id:l", "/l/*"),
            ("ms", "took_ms"),
            ("number", "/n"),
            ("text", "/note"),
            ("time", "at"),
        ];
        assert_eq!(rules, expected.map(|(class, field)| (class, field.to_owned())));
        assert!(proposal.unsteady.is_empty());
        // What is proposed can be read, and hides what it was proposed for.
        let text = proposal.to_toml();
        let mut root = crate::document::Document::parse("t.toml", &text).unwrap();
        let volatile = Volatile::new(VolatileEntry::read_all(&root.list("volatile").unwrap()).unwrap());
        let normal = |output: &str| normalise_output("c", output.as_bytes(), &volatile).to_snapshot();
        assert_eq!(normal(a), normal(b));
    }

    #[test]
    fn what_no_rule_can_hide_is_told() {
        let told =
            |a: &str, b: &str| learn(&runs(&[a, b])).unsteady.first().map(|unsteady| unsteady.what.clone());
        assert!(told("{\"a\":1}", "{\"b\":1}").unwrap().starts_with("the shape"));
        assert!(told("{\"a\":1}", "{\"a\":1}\n{\"a\":1}").unwrap().starts_with("the messages on stdout"));
        assert!(learn(&runs(&["{\"a\":1}", "{\"a\":1.0}"])).is_empty());
        let mut asked = runs(&["{}", "{}"]);
        for (run, day) in asked.get_mut("c").unwrap().iter_mut().zip(["Monday", "Tuesday"]) {
            run.requests =
                vec![serde_json::json!({"body": {"system": format!("You are a model. Today is {day}.")}})];
        }
        let unsteady = &learn(&asked).unsteady[0].what;
        assert!(unsteady.starts_with("the requests, at /0/body/system: "), "{unsteady}");
        assert!(unsteady.contains("Monday") && unsteady.contains("Tuesday"), "{unsteady}");
    }
}
