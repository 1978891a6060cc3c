//! The rules of the agentskills.io specification, and what Claude CLIs make of a skill.

use std::path::Path;

use serde::Serialize;

use super::frontmatter::{Frontmatter, Value};

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
const LONGEST_COMPATIBILITY: usize = 500;
const MOST_LINES: usize = 500;
/// Words that a skill of somebody else must not be called.
const RESERVED: [&str; 2] = ["anthropic", "claude"];

/// The keys of the specification.
const KEYS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
/// The keys that Claude CLIs know besides.
const CLAUDE_KEYS: [&str; 11] = [
    "argument-hint",
    "arguments",
    "disable-model-invocation",
    "user-invocable",
    "when_to_use",
    "model",
    "effort",
    "context",
    "agent",
    "hooks",
    "paths",
];

/// A rule that a skill breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The line of the file, when it is about one.
    pub line: Option<usize>,
    /// What is wrong and what was expected.
    pub message: String,
}

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    Error,
}

/// Every rule that the text of a skill breaks. `path` is where it stands; nothing is read from there.
///
/// ```
/// use std::path::Path;
///
/// use clawgate::internals::eval::skill::lint;
///
/// let path = Path::new(".claude/skills/greet/SKILL.md");
/// assert!(lint("---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n", path).is_empty());
/// let issues = lint("---\nname: Greet\ndescription: Greets people.\n---\nSay hello.\n", path);
/// assert!(issues.iter().any(|issue| issue.rule == "name-characters"), "{issues:?}");
/// ```
pub fn lint(text: &str, path: &Path) -> Vec<Issue> {
    let mut issues = Issues(Vec::new());
    let is_skill = path.file_name().is_some_and(|name| name == "SKILL.md");
    if !is_skill {
        issues.warn("layout", None, "a single file; the specification asks for <skill>/SKILL.md");
    }
    let Some(front) = Frontmatter::read(text, &mut issues) else { return issues.0 };
    issues.name(&front, if is_skill { path.parent() } else { None });
    issues.text(&front, "description", true, LONGEST_DESCRIPTION);
    if front.get("description").and_then(Value::as_str).is_some_and(|text| text.contains(['<', '>'])) {
        issues.warn(
            "description-markup",
            line_of(&front, "description"),
            "`description` contains `<` or `>`, which is refused where skills are uploaded",
        );
    }
    issues.text(&front, "license", false, usize::MAX);
    issues.text(&front, "compatibility", false, LONGEST_COMPATIBILITY);
    issues.metadata(&front);
    issues.tools(&front);
    for (key, _, line) in &front.entries {
        if !KEYS.contains(&key.as_str()) && !CLAUDE_KEYS.contains(&key.as_str()) {
            let known = KEYS.iter().chain(&CLAUDE_KEYS).copied();
            let hint = crate::text::nearest(key, known)
                .map_or(String::new(), |key| format!(", did you mean `{key}`?"));
            issues.warn("unknown-key", Some(*line), format!("unknown key `{key}`{hint}"));
        }
    }
    issues.body(&front.body);
    issues.links(&front.body);
    issues.0
}

fn line_of(front: &Frontmatter, key: &str) -> Option<usize> {
    front.entries.iter().find(|(name, ..)| name == key).map(|(.., line)| *line)
}

pub(super) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "a text",
        Value::Nothing => "nothing",
        Value::List(_) => "a list",
        Value::Map(_) => "a mapping",
        Value::Other(_) => "a number or boolean",
    }
}

pub(super) struct Issues(pub(super) Vec<Issue>);

impl Issues {
    pub(super) fn error(&mut self, rule: &'static str, line: Option<usize>, message: impl Into<String>) {
        self.0.push(Issue { rule, severity: Severity::Error, line, message: message.into() });
    }

    fn warn(&mut self, rule: &'static str, line: Option<usize>, message: impl Into<String>) {
        self.0.push(Issue { rule, severity: Severity::Warning, line, message: message.into() });
    }

    /// A key that holds a text of some length; whether it is there and right.
    fn text(&mut self, front: &Frontmatter, key: &'static str, required: bool, longest: usize) -> bool {
        let (missing, wrong, empty, long) = match key {
            "name" => ("name-missing", "name-not-text", "name-empty", "name-too-long"),
            "description" => {
                ("description-missing", "description-not-text", "description-empty", "description-too-long")
            }
            "license" => ("license-missing", "license-not-text", "license-empty", "license-too-long"),
            _ => (
                "compatibility-missing",
                "compatibility-not-text",
                "compatibility-empty",
                "compatibility-too-long",
            ),
        };
        let line = line_of(front, key);
        match front.get(key) {
            None if required => {
                self.error(missing, None, format!("`{key}` is missing; the specification requires it"));
            }
            None => {}
            Some(Value::Text(text)) => {
                let length = text.chars().count();
                if text.trim().is_empty() {
                    self.error(empty, line, format!("`{key}` is empty"));
                } else if length > longest {
                    self.error(
                        long,
                        line,
                        format!("`{key}` has {length} characters, at most {longest} are allowed"),
                    );
                } else {
                    return true;
                }
            }
            Some(value) if describe(value) == "nothing" => {
                self.error(empty, line, format!("`{key}` is empty"));
            }
            Some(value) => {
                self.error(wrong, line, format!("`{key}` is {}, expected a text", describe(value)));
            }
        }
        false
    }

    fn name(&mut self, front: &Frontmatter, folder: Option<&Path>) {
        if !self.text(front, "name", true, LONGEST_NAME) {
            return;
        }
        let (name, line) =
            (front.get("name").and_then(Value::as_str).unwrap_or_default(), line_of(front, "name"));
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            self.error(
                "name-hyphens",
                line,
                format!("`{name}` begins or ends with a hyphen, or has two in a row"),
            );
        } else if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            self.error(
                "name-characters",
                line,
                format!("`{name}`: only a-z, 0-9 and single hyphens are allowed"),
            );
        }
        if let Some(word) = RESERVED.iter().find(|word| name.split('-').any(|part| part == **word)) {
            self.warn(
                "name-reserved",
                line,
                format!("`{word}` in a name is reserved where skills are uploaded"),
            );
        }
        let folder =
            folder.and_then(|folder| folder.file_name()).map(|name| name.to_string_lossy().into_owned());
        if let Some(folder) = folder.filter(|folder| folder != name) {
            self.error("name-folder", line, format!("`{name}` is not the name of its directory, `{folder}`"));
        }
    }

    fn metadata(&mut self, front: &Frontmatter) {
        let line = line_of(front, "metadata");
        match front.get("metadata") {
            None => {}
            Some(Value::Map(map)) => {
                for (key, value) in map.iter().filter(|(_, value)| value.as_str().is_none()) {
                    let (key, found) = (key.as_str().unwrap_or("?"), describe(value));
                    self.warn(
                        "metadata-not-text",
                        line,
                        format!("`metadata.{key}` is {found}, expected a text: quote it"),
                    );
                }
            }
            Some(value) => {
                self.error(
                    "metadata-not-map",
                    line,
                    format!("`metadata` is {}, expected a mapping", describe(value)),
                );
            }
        }
    }

    fn tools(&mut self, front: &Frontmatter) {
        let line = line_of(front, "allowed-tools");
        match front.get("allowed-tools") {
            None => {}
            Some(Value::Text(_)) => {
                self.warn("allowed-tools-experimental", line, "`allowed-tools` is marked experimental");
            }
            Some(Value::List(_)) => {
                self.warn(
                    "allowed-tools-list",
                    line,
                    "`allowed-tools` is a list; the specification has one text",
                );
            }
            Some(value) => {
                let found = describe(value);
                self.error(
                    "allowed-tools-not-text",
                    line,
                    format!("`allowed-tools` is {found}, expected a text"),
                );
            }
        }
    }

    pub(super) fn body(&mut self, body: &str) {
        let lines = body.lines().count();
        if lines > MOST_LINES {
            self.warn("body-too-long", None, format!("{lines} lines, at most {MOST_LINES} are recommended"));
        }
        if body.trim().is_empty() {
            self.warn("body-empty", None, "there are no instructions after the frontmatter");
        }
    }

    /// Files that are further away than one directory, outside of code.
    fn links(&mut self, body: &str) {
        let mut seen: Vec<String> = Vec::new();
        let mut fence: Option<&str> = None;
        for line in body.lines() {
            let start = line.trim_start();
            let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
            match (fence, mark) {
                (Some(open), Some(mark)) if open == mark => fence = None,
                (None, Some(mark)) => fence = Some(mark),
                (None, None) => {
                    for target in targets(line) {
                        self.link(target, &mut seen);
                    }
                }
                _ => {}
            }
        }
    }

    fn link(&mut self, target: &str, seen: &mut Vec<String>) {
        let scheme = target.split_once(':').is_some_and(|(scheme, _)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
        });
        if target.is_empty() || scheme || target.starts_with(['#', '/']) {
            return;
        }
        let path = target.split(['#', '?']).next().unwrap_or_default();
        let path = path.trim_start_matches("./");
        let parts: Vec<&str> = path.split('/').collect();
        let leaves = parts.contains(&"..");
        if (!leaves && parts.len() <= 2) || seen.iter().any(|known| known == path) {
            return;
        }
        seen.push(path.to_owned());
        let how = if leaves { "leaves the skill's directory" } else { "is more than one directory deep" };
        self.warn("reference-depth", None, format!("`{target}` {how}; one level is recommended"));
    }
}

/// The targets of links in a line: `[text](target)` and `[label]: target`.
pub(super) fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.match_indices("](").map(|(at, mark)| line[at + mark.len()..].trim_start());
    let start = line.trim_start();
    let definition = start
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .filter(|(label, _)| line.len() - start.len() <= 3 && !label.is_empty() && !label.contains(']'))
        .map(|(_, target)| target.trim_start());
    inline.chain(definition).map(target)
}

/// A target at the beginning of a text: between angle brackets, or up to white space or the bracket that closes the link.
fn target(text: &str) -> &str {
    if let Some((inner, _)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        return inner;
    }
    let mut open = 0;
    let end = text.find(|c: char| {
        open += i32::from(c == '(') - i32::from(c == ')');
        c.is_whitespace() || open < 0
    });
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<&'static str> {
        lint(text, Path::new("greet/SKILL.md")).into_iter().map(|issue| issue.rule).collect()
    }

    #[test]
    fn each_rule_fires_on_its_own() {
        let skill = |front: &str| format!("---\n{front}\n---\nDo it.\n");
        let good = "name: greet\ndescription: Greets.";
        assert_eq!(rules(&skill(good)), [] as [&str; 0]);
        let long = "x".repeat(1025);
        for (front, rule) in [
            ("description: Greets.".to_owned(), "name-missing"),
            ("name: 7\ndescription: Greets.".into(), "name-not-text"),
            ("name: ''\ndescription: Greets.".into(), "name-empty"),
            ("name: greet".into(), "description-missing"),
            (format!("name: greet\ndescription: {long}"), "description-too-long"),
            ("name: greet\ndescription: a <b>".into(), "description-markup"),
            (format!("{good}\nlicense: ''"), "license-empty"),
            (format!("{good}\ncompatibility: {}", &long[..501]), "compatibility-too-long"),
            (format!("{good}\nmetadata: x"), "metadata-not-map"),
            (format!("{good}\nmetadata:\n  version: 1.0"), "metadata-not-text"),
            (format!("{good}\nallowed-tools: Bash"), "allowed-tools-experimental"),
            (format!("{good}\nallowed-tools: true"), "allowed-tools-not-text"),
            (format!("{good}\nlicence: MIT"), "unknown-key"),
            ("name: greet\ndescription: Use when: always".into(), "unquoted-colon"),
            ("name: other\ndescription: Greets.".into(), "name-folder"),
        ] {
            assert_eq!(rules(&skill(&front)), [rule], "{front}");
        }
        for (name, rule) in
            [("-greet", "name-hyphens"), ("gr--eet", "name-hyphens"), ("Greet", "name-characters")]
        {
            let found =
                lint(&skill(&format!("name: {name}\ndescription: x")), &Path::new(name).join("SKILL.md"));
            assert_eq!(found.iter().map(|issue| issue.rule).collect::<Vec<_>>(), [rule], "{name}");
        }
        // The limits themselves are allowed.
        let named = |name: &str, front: &str| {
            let text = skill(&format!("name: {name}\n{front}"));
            let found = lint(&text, &Path::new(name).join("SKILL.md"));
            found.into_iter().map(|issue| issue.rule).collect::<Vec<_>>()
        };
        let nothing = [] as [&str; 0];
        assert_eq!(named(&"x".repeat(64), "description: x"), nothing);
        assert_eq!(named(&"x".repeat(65), "description: x"), ["name-too-long"]);
        assert_eq!(named("greet-2-u", "description: x"), nothing);
        assert_eq!(named("greet-", "description: x"), ["name-hyphens"]);
        assert_eq!(named("größe", "description: x"), ["name-characters"]);
        assert_eq!(named("claude-helper", "description: x"), ["name-reserved"]);
        assert_eq!(named("claudette", "description: x"), nothing);
        assert_eq!(named("greet", &format!("description: {}", &long[..1024])), nothing);
        let other = format!("description: x\nlicense: MIT\ncompatibility: {}", &long[..500]);
        assert_eq!(named("greet", &other), nothing);
        assert_eq!(named("greet", "description: x\nmetadata:\n  version: \"1.0\""), nothing);
        assert_eq!(rules("# Title\n"), ["frontmatter-missing"]);
        assert_eq!(rules("---\nname: \"x\n---\n"), ["frontmatter-invalid"]);
        assert_eq!(rules("---\nname: greet\ndescription: x\n---\n"), ["body-empty"]);
        assert_eq!(rules(&(skill(good) + &"line\n".repeat(501))), ["body-too-long"]);
        let links = "See [a](a/b/c.md), [b](a.md), [c](https://x.y/a/b/c), `x`.\n```\n[d](a/b/d.md)\n```\n[e]: ../x.md\n";
        assert_eq!(rules(&(skill(good) + links)), ["reference-depth", "reference-depth"]);
    }

    #[test]
    fn a_command_file_has_no_directory_of_its_name() {
        let issues = lint("---\nname: greet\ndescription: x\n---\nDo it.\n", Path::new("commands/greet.md"));
        assert_eq!(issues.iter().map(|issue| issue.rule).collect::<Vec<_>>(), ["layout"]);
    }
}
