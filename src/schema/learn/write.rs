//! A learned contract as files.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::contract::Protocol;
use super::super::fixture::Sample;
use super::super::library::family_of;
use super::{Group, Key, Learner, shape};
use crate::document::quoted;

/// The files of a learned contract, by their path in its directory.
pub(crate) type Learned = Vec<(String, String)>;

/// How the file of a learned contract begins.
pub(crate) const LEARNED: &str = "# Learned from ";

impl Learner {
    /// The learned contract. `source` says what it was learned from, `since` when, and `extends` what it builds on.
    pub(crate) fn contract(&self, source: &str, since: &str, extends: &[String]) -> Learned {
        let mut files = Vec::new();
        let protocol = self.protocol.name();
        // It speaks the dialect of what it builds on.
        let family = extends.iter().find_map(|name| family_of(name).ok().flatten());
        let family = family.map_or(String::new(), |family| format!("family = {}\n", quoted(family.name())));
        let mut toml = format!(
            "{LEARNED}{} runs by `clawgate contract learn`; learn it again rather than edit it.\n\n\
             [contract]\nname = {}\ntitle = {}\n{family}protocol = {}\nsources = [{}]\n",
            self.runs,
            quoted(&self.name),
            quoted(&format!("the shapes seen in {source}")),
            quoted(protocol),
            quoted(source),
        );
        if !extends.is_empty() {
            let names: Vec<_> = extends.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(toml, "extends = [{}]", names.join(", "));
        }
        if let Some(flag) = &self.json_flag {
            let _ = write!(toml, "\n[invocation]\njson-flag = {}\n", quoted(flag));
            if let Some(name) = &self.json_env {
                let _ = writeln!(toml, "json-env = {}", quoted(name));
            }
        }
        let mut clauses = String::new();
        let mut names: Vec<String> = Vec::new();
        for (key, group) in self.in_order() {
            let name = unique_name(key, &names);
            let condition = self.condition(key);
            let schema = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": format!("{name}, as seen in {source}"),
            });
            let mut schema = schema.as_object().cloned().unwrap_or_default();
            schema.extend(shape::schema(&group.shape));
            files.push((format!("{name}.schema.json"), format!("{:#}\n", Value::Object(schema))));
            let _ = write!(
                toml,
                "\n[[kind]]\nname = {0}\nwhen = {condition}\nschema = \"{name}.schema.json\"\n",
                quoted(&name)
            );
            let _ = write!(
                clauses,
                "\n[[clause]]\nid = {0}\nlevel = \"should\"\nsource = {1}\nsince = {2}\ncheck = {{ schema = \"{name}.schema.json\", on = {0} }}\n\
                 text = \"A message of kind {name} has the fields that it always had, each of a type it had before.\"\n\
                 why = \"Nobody promised the shape, but readers came to rely on it.\"\n\
                 fix = \"Keep the field, or learn the contract again and look at the difference.\"\n",
                quoted(&name),
                quoted(source),
                quoted(since),
            );
            files.push((format!("fixtures/base/{name}.toml"), run(&group.sample)));
            files.push((
                format!("fixtures/{name}.toml"),
                fixture(&name, key, group, self.own_field(key), self.line_of(key, group)),
            ));
            names.push(name);
        }
        let _ = write!(
            clauses,
            "\n[[clause]]\nid = \"known-kinds\"\nlevel = \"note\"\nsource = {0}\nsince = {1}\ncheck = {{ rule = \"known-kinds\" }}\n\
             text = \"Every message is of a kind that was seen before.\"\n\
             why = \"A new kind may be what a reader cannot read.\"\n\
             fix = \"Learn the contract again.\"\n",
            quoted(source),
            quoted(since),
        );
        let unknown = "[[good]]\nbase = FIRST\n\n[[bad]]\nstdout = '''\n{\"type\":\"never-seen-before\",\"kind\":\"never-seen-before\"}\n'''\n";
        let first = names.first().map_or("\"\"".into(), |name| quoted(name));
        files.push(("fixtures/known-kinds.toml".into(), unknown.replace("FIRST", &first)));
        toml.push_str(&clauses);
        files.push(("contract.toml".into(), toml));
        files
    }

    /// Kinds that ask for more come first; those that are told apart by their fields come last.
    fn in_order(&self) -> Vec<(&Key, &Group)> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by_key(|(key, _)| {
            let asked = key.named.iter().filter(|(_, value)| value.is_some()).count();
            (!key.fields.is_empty(), std::cmp::Reverse((asked, key.fields.len())))
        });
        groups
    }

    fn condition(&self, key: &Key) -> String {
        if key.fields.is_empty() {
            let terms: Vec<_> = key
                .named
                .iter()
                .map(|(field, value)| match value {
                    Some(value) => format!("\"/{field}\" = {}", quoted(value)),
                    None => format!("\"/{field}\" = {{ present = false }}"),
                })
                .chain(key.error.map(|is_there| format!("\"/error\" = {{ present = {is_there} }}")))
                .collect();
            return format!("{{ {} }}", terms.join(", "));
        }
        let wanted: Vec<&String> =
            self.own_field(key).map_or_else(|| key.fields.iter().collect(), |field| vec![field]);
        let mut terms: Vec<_> = wanted
            .iter()
            .map(|field| format!("{} = {{ present = true }}", quoted(&format!("/{field}"))))
            .collect();
        terms.extend(key.named.iter().map(|(field, _)| format!("\"/{field}\" = {{ present = false }}")));
        format!("{{ {} }}", terms.join(", "))
    }

    /// A field that the other nameless kinds do not have: it is enough to tell this one, and survives the loss of the
    /// others.
    fn own_field<'k>(&self, key: &'k Key) -> Option<&'k String> {
        let others: Vec<_> =
            self.groups.keys().filter(|other| *other != key && !other.fields.is_empty()).collect();
        key.fields.iter().find(|field| others.iter().all(|other| !other.fields.contains(field)))
    }

    /// The line of the group's sample that holds a message of its kind.
    fn line_of(&self, key: &Key, group: &Group) -> usize {
        if self.protocol == Protocol::Document {
            return 1;
        }
        let text = String::from_utf8_lossy(&group.sample.stdout).into_owned();
        let line = text.lines().position(|line| {
            serde_json::from_str::<Value>(line).is_ok_and(|message| self.key(&message) == *key)
        });
        line.unwrap_or(0) + 1
    }
}

fn unique_name(key: &Key, taken: &[String]) -> String {
    let values: Vec<_> = key.named.iter().filter_map(|(_, value)| value.as_deref()).collect();
    let error = if key.error == Some(true) { "-error" } else { "" };
    let words = if values.is_empty() {
        format!("plain-{}-fields", key.fields.len())
    } else {
        values.join("-") + error
    };
    let mut name: String = words
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>()
        .trim_matches('-')
        .to_string();
    if name.is_empty() {
        name = "message".into();
    }
    let mut number = 2;
    let stem = name.clone();
    while taken.contains(&name) {
        name = format!("{stem}-{number}");
        number += 1;
    }
    name
}

fn run(sample: &Sample) -> String {
    let mut text = String::new();
    let list = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    if let Some(argv) = &sample.argv {
        let _ = writeln!(text, "argv = [{}]", list(argv));
    }
    if let Some(env) = &sample.env {
        let _ = writeln!(text, "env = [{}]", list(env));
    }
    if let Some(code) = sample.exit.as_ref().and_then(|exit| exit.code) {
        let _ = writeln!(text, "exit = {code}");
    }
    if let Some(version) = sample.version.as_ref().filter(|version| !version.is_empty()) {
        let _ = writeln!(text, "version = {}", quoted(version));
    }
    let stdout = String::from_utf8_lossy(&sample.stdout);
    // Edits count lines, so a document is written on one.
    let stdout = match serde_json::from_str::<Value>(&stdout) {
        Ok(document) => format!("{document}\n"),
        Err(_) => stdout.into_owned(),
    };
    let literal = !stdout.contains("'''") && !stdout.contains(|c: char| c.is_control() && c != '\n');
    if literal {
        let _ = writeln!(text, "stdout = '''\n{stdout}'''");
    } else {
        let _ = writeln!(text, "stdout = {}", quoted(&stdout));
    }
    text
}

fn fixture(name: &str, key: &Key, group: &Group, own: Option<&String>, line: usize) -> String {
    let required = shape::required(&group.shape);
    // The fields that name a kind are no use for a bad run: without them it is another kind.
    let names = ["type", "subtype", "kind", "action", "status"];
    let by_command = |field: &str| key.error.is_some() && ["command", "error"].contains(&field);
    let tells =
        |field: &str| names.contains(&field) || by_command(field) || own.is_some_and(|own| own == field);
    let lost = required.iter().find(|field| !tells(field) && !field.contains(['/', '~']));
    let edit = match lost {
        Some(field) => format!("{{ line = {line}, remove = \"/{field}\" }}"),
        None => {
            format!("{{ line = {line}, set = \"/{}\", json = \"[]\" }}", required.first().unwrap_or(&"x"))
        }
    };
    format!("[[good]]\nbase = {0}\n\n[[bad]]\nbase = {0}\nedit = [{edit}]\n", quoted(name))
}
