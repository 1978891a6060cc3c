//! The frontmatter of a `SKILL.md`: YAML between two lines `---`.

use std::collections::HashSet;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError};

use super::lint::{Issues, describe};

const LARGEST: usize = 64 * 1024;
const DEEPEST: usize = 32;
const ALIAS: &str = "an alias, which is not read here: quote a text that begins with `*`";
/// How many texts without quotes are pointed out in one go.
const MOST_UNQUOTED: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Value {
    Nothing,
    Text(String),
    /// A number or boolean in one spelling, so that `1` and `0x1` are the same key.
    Other(String),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

impl Value {
    pub(super) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// What YAML's core schema makes of a text without quotes.
    fn plain(text: String) -> Self {
        let digits = |(prefix, radix)| i64::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
        let integer = || [("0x", 16), ("0o", 8), ("+", 10), ("", 10)].into_iter().find_map(digits);
        // Rust takes `inf` and `nan` for numbers, YAML does not.
        let float = || text.parse::<f64>().ok().filter(|_| text.contains(|c: char| c.is_ascii_digit()));
        Self::Other(match text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Nothing,
            "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => text.to_lowercase(),
            ".nan" | ".NaN" | ".NAN" => "NaN".to_owned(),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => "inf".to_owned(),
            "-.inf" | "-.Inf" | "-.INF" => "-inf".to_owned(),
            _ => match (integer(), float()) {
                (Some(integer), _) => integer.to_string(),
                // Zero has a sign, which is of no matter.
                (None, Some(float)) => format!("{:?}", float + 0.0),
                (None, None) => return Self::Text(text),
            },
        })
    }
}

struct Document {
    root: Value,
    line: usize,
    /// The lines of the root's keys, if it is a mapping.
    key_lines: Vec<usize>,
}

/// A list or mapping whose end has not come yet.
struct Open {
    value: Value,
    start: Marker,
    /// The key whose value is to come.
    key: Option<(Value, Marker)>,
    keys: HashSet<Value>,
}

#[derive(Debug)]
pub(super) struct Frontmatter {
    /// The entries in their order, each with its line.
    pub entries: Vec<(String, Value, usize)>,
    /// The rest of the file.
    pub body: String,
}

impl Frontmatter {
    /// Reads the text of a `SKILL.md`. What is wrong with its frontmatter becomes an issue.
    pub(super) fn read(text: &str, issues: &mut Issues) -> Option<Self> {
        let lines: Vec<&str> = text.strip_prefix('\u{feff}').unwrap_or(text).lines().collect();
        let opening = lines.iter().position(|line| !line.trim().is_empty());
        let Some(opening) = opening.filter(|at| lines[*at].trim_end() == "---") else {
            issues.error("frontmatter-missing", Some(1), "the file does not begin with a line `---`");
            issues.body(text);
            return None;
        };
        let (before, inside) = lines.split_at(opening + 1);
        let Some(closing) = inside.iter().position(|line| line.trim_end() == "---") else {
            let reason = "the frontmatter is not closed by `---`";
            issues.error("frontmatter-invalid", Some(lines.len()), reason);
            return None;
        };
        let yaml = inside[..closing].iter().map(|line| (*line).to_owned()).collect();
        let entries = entries(yaml, before.len(), issues)?;
        Some(Self { entries, body: inside[closing + 1..].join("\n") })
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, ..)| name == key).map(|(_, value, _)| value)
    }
}

/// The description that a skill has, if its frontmatter can be read.
pub(crate) fn described(text: &str) -> Option<String> {
    let front = Frontmatter::read(text, &mut Issues(Vec::new()))?;
    front.get("description").and_then(Value::as_str).map(str::to_owned)
}

/// Whether only models may call the skill, with `user-invocable: false`.
pub(super) fn is_for_models_alone(text: &str) -> bool {
    let front = Frontmatter::read(text, &mut Issues(Vec::new()));
    front.is_some_and(
        |front| matches!(front.get("user-invocable"), Some(Value::Other(value)) if value == "false"),
    )
}

/// The text of a skill with another description.
pub(crate) fn with_description(text: &str, description: &str) -> String {
    // What JSON quotes, YAML reads.
    let line = format!("description: {}", serde_json::Value::from(description));
    let front = Frontmatter::read(text, &mut Issues(Vec::new()));
    let mut lines: Vec<&str> = text.lines().collect();
    let closing =
        lines.iter().enumerate().filter(|(_, line)| line.trim_end() == "---").nth(1).map(|(at, _)| at);
    let (Some(front), Some(closing)) = (front, closing) else { return text.to_owned() };
    let own = front.entries.iter().position(|(key, ..)| key == "description");
    let range = match own {
        None => closing..closing,
        Some(at) => {
            let start = front.entries[at].2 - 1;
            let end = front.entries.get(at + 1).map_or(closing, |(.., line)| line - 1);
            start..end.max(start)
        }
    };
    lines.splice(range, [line.as_str()]);
    lines.join("\n") + "\n"
}

/// The entries of a YAML mapping; none is an issue. So many lines of the file stand `before` it.
fn entries(mut yaml: Vec<String>, before: usize, issues: &mut Issues) -> Option<Vec<(String, Value, usize)>> {
    let mut unquoted = 0;
    let (line, reason) = loop {
        let error = match load(&yaml.join("\n")) {
            Ok(None) => return Some(Vec::new()),
            Ok(Some(Document { root: Value::Map(map), key_lines, .. })) => {
                let entries = map.into_iter().zip(key_lines).map(|((key, value), line)| {
                    let written = || yaml.get(line.wrapping_sub(1))?.split(':').next().map(str::trim);
                    let name = key.as_str().or_else(written).unwrap_or_default();
                    (name.to_owned(), value, before + line)
                });
                return Some(entries.collect());
            }
            Ok(Some(Document { root, line, .. })) => {
                break (line, format!("expected `key: value`, found {}", describe(&root)));
            }
            Err(error) => error,
        };
        let line = error.marker().line().min(yaml.len()).max(1);
        let is_colon = error.info().starts_with("mapping values are not allowed");
        let quoted = if is_colon && unquoted < MOST_UNQUOTED { quote(&mut yaml, line - 1) } else { None };
        if let Some((key, at)) = quoted {
            unquoted += 1;
            let message = format!(
                "`{key}` contains `: ` without quotes, which other readers take for a mapping: quote it"
            );
            issues.error("unquoted-colon", Some(before + 1 + at), message);
        } else if unquoted > 0 {
            // The quotes that we have put there may be the reason.
            return None;
        } else {
            let is_alias = error.info().ends_with("unknown anchor");
            break (line, if is_alias { ALIAS } else { error.info() }.to_owned());
        }
    };
    issues.error("frontmatter-invalid", Some(before + line), reason);
    None
}

/// The one document of a YAML text. Everything that could make a small text a large tree is refused first.
fn load(yaml: &str) -> Result<Option<Document>, ScanError> {
    let mut open: Vec<Open> = Vec::new();
    let (mut document, mut key_lines, mut documents) = (None, Vec::new(), 0);
    let mut twice = None;
    let letters: Vec<char> = yaml.chars().collect();
    for event in Parser::new_from_iter(letters.into_iter()) {
        let (event, span) = event?;
        let begins = match &event {
            Event::SequenceStart(..) => Some(Value::List(Vec::new())),
            Event::MappingStart(..) => Some(Value::Map(Vec::new())),
            _ => None,
        };
        documents += usize::from(matches!(event, Event::DocumentStart(_)));
        let refused = match &event {
            _ if yaml.len() > LARGEST => "the frontmatter is larger than 64 KB",
            _ if open.len() + usize::from(begins.is_some()) > DEEPEST => "nested too deeply",
            _ if documents > 1 => "a second document begins here",
            Event::Alias(_) => ALIAS,
            Event::Scalar(.., Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                "a tag, which is not read here: quote a text that begins with `!`"
            }
            _ => "",
        };
        if !refused.is_empty() {
            return Err(ScanError::new_str(span.start, refused));
        }
        if let Some(value) = begins {
            open.push(Open { value, start: span.start, key: None, keys: HashSet::new() });
            continue;
        }
        let (value, start) = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) => (Value::plain(text.into_owned()), span.start),
            Event::Scalar(text, ..) => (Value::Text(text.into_owned()), span.start),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(closed) => (closed.value, closed.start),
                None => continue,
            },
            _ => continue,
        };
        let is_in_root = open.len() == 1;
        match open.last_mut() {
            None => document = Some((value, start.line())),
            Some(Open { value: Value::Map(map), key, keys, .. }) => match key.take() {
                None => *key = Some((value, start)),
                Some((key, start)) => {
                    if is_in_root {
                        key_lines.push(start.line());
                    }
                    if !keys.insert(key.clone()) {
                        twice.get_or_insert(start);
                    }
                    map.push((key, value));
                }
            },
            Some(Open { value: Value::List(list), .. }) => list.push(value),
            Some(_) => {}
        }
    }
    if let Some(start) = twice {
        return Err(ScanError::new_str(start, "duplicated key in mapping"));
    }
    Ok(document.map(|(root, line)| Document { root, line, key_lines }))
}

/// Puts quotes around the text that goes through this line; returns its key and its first line.
fn quote(yaml: &mut [String], at: usize) -> Option<(String, usize)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let has_second = |text: &str| text.contains(": ") || text.trim_end().ends_with(':');
    let is_first = yaml.get(at)?.split_once(": ").is_some_and(|(_, text)| has_second(text));
    let above = || (0..at).rev().find(|above| indent(&yaml[*above]) < indent(&yaml[at]));
    let first = if is_first { at } else { above()? };
    let (head, text) = yaml[first].split_once(": ")?;
    let (head, mut text, margin) = (head.to_owned(), text.trim().to_owned(), indent(head));
    if text.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!']) {
        return None;
    }
    // Lines stay where they are, so that those after them keep their numbers.
    for more in yaml[first + 1..].iter_mut().take_while(|line| indent(line) > margin) {
        text = format!("{text} {}", more.trim());
        more.clear();
    }
    let text = text.split(" #").next().unwrap_or_default().trim_end();
    yaml[first] = format!("{head}: {}", serde_json::Value::from(text));
    let key = head.trim().trim_start_matches("- ").trim_matches(['"', '\'']);
    Some((key.to_owned(), first))
}

#[cfg(test)]
mod tests {
    use saphyr::{LoadableYamlNode as _, Scalar, Yaml};

    use super::*;

    fn read(text: &str) -> Result<Frontmatter, String> {
        let mut issues = Issues(Vec::new());
        let front = Frontmatter::read(text, &mut issues);
        let said: Vec<String> = issues
            .0
            .iter()
            .filter(|issue| issue.rule != "body-empty")
            .map(|issue| format!("{} {}: {}", issue.rule, issue.line.unwrap(), issue.message))
            .collect();
        front.filter(|_| said.is_empty()).ok_or_else(|| said.join("\n"))
    }

    fn texts(value: Option<&Value>) -> Vec<&str> {
        let Some(Value::List(list)) = value else { panic!("{value:?}") };
        list.iter().map(|item| item.as_str().unwrap()).collect()
    }

    #[test]
    fn a_description_takes_the_place_of_another_whatever_its_form() {
        let new = "Greets: \"loudly\".";
        for front in [
            "name: x\ndescription: Old.\nlicense: MIT",
            "description: >\n  Old\n  text.\n\nname: x",
            "name: x\ndescription: |\n  Old: text",
            "name: x",
        ] {
            let text = format!("---\n{front}\n---\nBody: description: stays.\n");
            let changed = with_description(&text, new);
            assert_eq!(described(&changed).as_deref(), Some(new), "{changed}");
            assert!(
                changed.ends_with("---\nBody: description: stays.\n") && changed.contains("name: x"),
                "{changed}"
            );
        }
        assert_eq!(with_description("no frontmatter", "x"), "no frontmatter");
    }

    #[test]
    fn the_yaml_of_skills_is_understood() {
        let text = "---\nname: greet # the name\ndescription: >-\n  Greets people,\n  like pirates.\n\n  Use it often.\n\
                    license: 'It''s mine'\nmetadata:\n  author: \"A: B\"\n  version: 1.0\nallowed-tools: [\"a, b\", c]\n\
                    list:\n- a\n- b\nescaped: \"\\u00e9\"\nblock: |\n  a\n  ---\n  b\ntab: \tx\t\n\
                    hooks: {a: [{b: [{c: d}]}]}\n7: x\n---\nBody\n---\nmore\n";
        for text in [text.to_owned(), format!("\u{feff}\n\n{text}"), text.replace('\n', "\r\n")] {
            let front = read(&text).unwrap();
            let value = |key| front.get(key).and_then(|value| value.as_str());
            assert_eq!(value("name"), Some("greet"));
            assert_eq!(value("description"), Some("Greets people, like pirates.\nUse it often."));
            assert_eq!(value("license"), Some("It's mine"));
            assert_eq!(value("escaped"), Some("é"));
            assert_eq!(value("block"), Some("a\n---\nb\n"));
            assert_eq!(value("tab"), Some("x"));
            let string = |text: &str| Value::Text(text.to_owned());
            let author = (string("author"), string("A: B"));
            let version = (string("version"), Value::Other("1.0".to_owned()));
            assert_eq!(front.get("metadata"), Some(&Value::Map(vec![author, version])));
            assert_eq!(texts(front.get("allowed-tools")), ["a, b", "c"]);
            assert_eq!(texts(front.get("list")), ["a", "b"]);
            let seven = text.lines().position(|line| line.starts_with("7:")).unwrap() + 1;
            assert_eq!(front.entries.last().map(|(key, _, line)| (key.as_str(), *line)), Some(("7", seven)));
            assert_eq!(front.body, "Body\n---\nmore");
        }
        assert!(read("---\n# nothing\n---\n").unwrap().entries.is_empty());
    }

    #[test]
    fn what_is_not_understood_says_where() {
        let deep = |open: &str| format!("---\na: x\nb:\n  {}\n---\n", open.repeat(5000));
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c {? [*b, *b] : x}";
        for (text, said) in [
            ("# Title\n".to_owned(), "frontmatter-missing 1: "),
            (String::new(), "frontmatter-missing 1: "),
            ("---\nname: x\nmore\n".into(), "frontmatter-invalid 3: the frontmatter is not closed"),
            ("---\nnonsense\n---\n".into(), "frontmatter-invalid 2: expected `key: value`, found a text"),
            ("\n---\n- x\n---\n".into(), "frontmatter-invalid 3: expected `key: value`, found a list"),
            ("---\nname: x\nname: y\n---\n".into(), "frontmatter-invalid 3: duplicated key"),
            ("---\nname: \"x\n---\n".into(), "frontmatter-invalid 2: "),
            (
                "---\nname: x\n\tlicense: y\n---\n".into(),
                "frontmatter-invalid 2: while scanning a plain scalar, found a tab",
            ),
            (
                "---\nname:\tx\n---\n".into(),
                "frontmatter-invalid 2: ':' must be followed by a valid YAML whitespace",
            ),
            ("---\na:\n\tb: y\n---\n".into(), "frontmatter-invalid 3: "),
            ("---\na: [x\n---\n".into(), "frontmatter-invalid 2: "),
            ("---\na: x\n... \nb: y\n---\n".into(), "frontmatter-invalid 4: a second document"),
            ("---\na: x\n--- b\n---\n".into(), "frontmatter-invalid 3: a second document"),
            ("---\na: x\nb: y\0\nc: z\n---\n".into(), "frontmatter-invalid 3: "),
            (format!("---\n{bomb}\n---\n"), "frontmatter-invalid 3: an alias"),
            ("---\na: **/*.rs\n---\n".into(), "frontmatter-invalid 2: an alias"),
            ("---\na: !!int x\n---\n".into(), "frontmatter-invalid 2: a tag"),
            (
                format!("---\na: {}\n---\n", "x".repeat(LARGEST)),
                "frontmatter-invalid 2: the frontmatter is larger",
            ),
            (deep("- "), "frontmatter-invalid 4: nested too deeply"),
            (deep("["), "frontmatter-invalid 4: "),
            (deep("{a: "), "frontmatter-invalid 4: "),
            (deep("? "), "frontmatter-invalid 4: nested too deeply"),
        ] {
            let found = read(&text).err().unwrap_or_default();
            assert!(found.starts_with(said), "{text:.60}: {found}");
        }
    }

    #[test]
    fn colons_in_texts_without_quotes_are_all_pointed_out() {
        for (yaml, said, value) in [
            ("a: b: c", "2 `a`", Some("b: c")),
            ("a: b:\nd: \"e: f\"\ng: h: \"i\" # j: k\n", "2 `a` 4 `g`", Some("b:")),
            ("a: x\nb:\n  c: d: e\n  f: g", "4 `c`", Some("x")),
            ("a: b\n  c: d\n  e\nf: g: h", "2 `a` 5 `f`", Some("b c: d e")),
            ("a: b: c\n  d\ne: [", "2 `a`", None),
        ] {
            let mut issues = Issues(Vec::new());
            let front = Frontmatter::read(&format!("---\n{yaml}\n---\nDo.\n"), &mut issues);
            let found: Vec<String> = issues
                .0
                .iter()
                .filter(|issue| issue.rule == "unquoted-colon")
                .map(|issue| format!("{} {}", issue.line.unwrap(), issue.message.split(' ').next().unwrap()))
                .collect();
            assert_eq!((found.join(" ").as_str(), issues.0.len()), (said, found.len()), "{yaml}");
            assert_eq!(front.as_ref().and_then(|front| front.get("a")?.as_str()), value, "{yaml}");
        }
        let many = "a: b: c\n".repeat(1000);
        assert!(read(&format!("---\n{many}---\n")).unwrap_err().lines().count() <= MOST_UNQUOTED);
    }

    /// A value as saphyr reads it.
    fn of_saphyr(node: &Yaml<'_>) -> Value {
        match node {
            Yaml::Value(Scalar::Null) => Value::Nothing,
            Yaml::Value(Scalar::Boolean(it)) => Value::Other(it.to_string()),
            Yaml::Value(Scalar::Integer(it)) => Value::Other(it.to_string()),
            Yaml::Value(Scalar::FloatingPoint(it)) => Value::Other(format!("{:?}", it.into_inner() + 0.0)),
            Yaml::Value(Scalar::String(it)) => Value::Text(it.to_string()),
            Yaml::Sequence(items) => Value::List(items.iter().map(of_saphyr).collect()),
            Yaml::Mapping(map) => {
                Value::Map(map.iter().map(|(key, value)| (of_saphyr(key), of_saphyr(value))).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    fn agrees_with_saphyr(yaml: &str) {
        let theirs = Yaml::load_from_str(yaml);
        match (load(yaml), theirs) {
            (Ok(ours), Ok(theirs)) => {
                let ours = ours.map(|document| document.root);
                assert_eq!(ours, theirs.first().map(of_saphyr), "{yaml}");
            }
            (Err(ours), Err(theirs)) => assert_eq!(ours.info(), theirs.info(), "{yaml}"),
            // Aliases, tags and second documents.
            (Err(_), Ok(_)) => {}
            (Ok(ours), Err(theirs)) => panic!("{theirs}: {:?}\n{yaml}", ours.map(|document| document.root)),
        }
    }

    #[test]
    fn numbers_and_booleans_are_told_from_texts_as_elsewhere() {
        let words = "~ null Null nULL NULL true TRUE tRUE False yes on 0 -0 -0.0 7 +7 -7 +-7 -+7 007 0x1F 0x 0x+1 0xg 0o17 \
                     0o8 1.0 1. .5 -.5e3 1e400 1_000 .inf +.Inf -.INF -.inf .nan -.nan +.nan .NaN .Nan inf nan infinity \
                     +-.inf .inf. 9223372036854775808 -9223372036854775808 1.0.0 2026-01-01 0b1 - ~~";
        for word in words.split_whitespace() {
            agrees_with_saphyr(word);
            agrees_with_saphyr(&format!("a: {word}"));
            agrees_with_saphyr(&format!("a: '{word}'"));
        }
        for (first, second) in [
            ("1", "0x1"),
            ("1", "1.0"),
            ("1", "'1'"),
            ("0.0", "-0.0"),
            (".inf", "1e400"),
            (".nan", ".NaN"),
            ("true", "True"),
            ("~", "null"),
            ("a", "'a'"),
            ("[a]", "[ 'a' ]"),
            ("{a: 1}", "{a: +1}"),
            ("{a: 1, b: 2}", "{b: 2, a: 1}"),
        ] {
            agrees_with_saphyr(&format!("? {first}\n: x\n? {second}\n: x"));
        }
        agrees_with_saphyr("a: {b: 1, b: 2}\na: x");
    }

    proptest::proptest! {
        #[test]
        fn every_text_is_read_as_saphyr_reads_it(text in "([a-b01~.:#'\" |>\\[\\]{}&?,\\\\-]{0,12}\n){0,6}") {
            agrees_with_saphyr(&text);
        }

        #[test]
        fn no_text_breaks_it(text in "(---\n)?([a-c:#'\" |>\\[\\]{}&*!%@`?,\t\r\0\\\\é\u{feff}-]{0,12}\n){0,8}(---\n)?") {
            _ = read(&text);
        }
    }
}
