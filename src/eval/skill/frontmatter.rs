//! The frontmatter of a `SKILL.md`: the part of YAML that skills use. What it does not understand is an error with its
//! line, never a guess.

use std::collections::BTreeMap;

/// What stands between the two `---` lines, and what comes after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frontmatter<'t> {
    /// The entries in their order, each with its line.
    pub entries: Vec<(String, Value, usize)>,
    /// Lines on which a value without quotes contains `: `, which other readers take for a mapping.
    pub ambiguous: Vec<(String, usize)>,
    /// The rest of the file.
    pub body: &'t str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    /// A number, `true`, `false` or `null`, as it stands there.
    Other(String),
    /// A list of texts.
    List(Vec<String>),
    /// A mapping of texts.
    Map(BTreeMap<String, Value>),
}

/// Why there is no frontmatter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrontmatterError {
    /// The file does not begin with `---`.
    #[error("the file does not begin with a line `---`")]
    Missing,
    /// It is not closed, or not understood.
    #[error("line {line}: {reason}")]
    Invalid {
        /// The line, from 1.
        line: usize,
        reason: String,
    },
}

impl<'t> Frontmatter<'t> {
    /// Reads the text of a `SKILL.md`.
    pub(crate) fn parse(text: &'t str) -> Result<Self, FrontmatterError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.split_inclusive('\n');
        let (mut skipped, mut number) = (0, 0);
        let opening = loop {
            let line = lines.next().ok_or(FrontmatterError::Missing)?;
            skipped += line.len();
            number += 1;
            if !line.trim().is_empty() {
                break line;
            }
        };
        if opening.trim_end() != "---" {
            return Err(FrontmatterError::Missing);
        }
        let mut block = Vec::new();
        for line in lines {
            skipped += line.len();
            number += 1;
            if line.trim_end() == "---" {
                let mut reader = Reader { lines: block, at: 0, ambiguous: Vec::new() };
                let entries = reader.entries()?;
                return Ok(Self { entries, ambiguous: reader.ambiguous, body: &text[skipped..] });
            }
            block.push((number, line.trim_end()));
        }
        Err(FrontmatterError::Invalid {
            line: number,
            reason: "the frontmatter is not closed by `---`".into(),
        })
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, ..)| name == key).map(|(_, value, _)| value)
    }

    /// The text of a key.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

struct Reader<'t> {
    lines: Vec<(usize, &'t str)>,
    at: usize,
    ambiguous: Vec<(String, usize)>,
}

fn invalid(line: usize, reason: impl Into<String>) -> FrontmatterError {
    FrontmatterError::Invalid { line, reason: reason.into() }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

impl<'t> Reader<'t> {
    fn entries(&mut self) -> Result<Vec<(String, Value, usize)>, FrontmatterError> {
        let mut entries: Vec<(String, Value, usize)> = Vec::new();
        while let Some((number, line)) = self.next_line() {
            if line.starts_with([' ', '\t']) {
                return Err(invalid(number, "an indented line that belongs to nothing"));
            }
            let (key, rest) = split(number, line)?;
            if entries.iter().any(|(known, ..)| *known == key) {
                return Err(invalid(number, format!("a second `{key}`")));
            }
            let value = self.value(&key, rest, number, 0)?;
            entries.push((key, value, number));
        }
        Ok(entries)
    }

    /// The next line that says something.
    fn next_line(&mut self) -> Option<(usize, &'t str)> {
        while let Some((number, line)) = self.lines.get(self.at).copied() {
            self.at += 1;
            if !is_blank(line) {
                return Some((number, line));
            }
        }
        None
    }

    /// Lines that are indented deeper than this, blank ones between them included.
    fn deeper(&mut self, than: usize) -> Vec<(usize, &'t str)> {
        let rest = &self.lines[self.at..];
        let mut count = 0;
        for (index, (_, line)) in rest.iter().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            if indent(line) <= than {
                break;
            }
            count = index + 1;
        }
        let taken = rest[..count].to_vec();
        self.at += count;
        taken
    }

    fn value(
        &mut self,
        key: &str,
        rest: &str,
        number: usize,
        depth: usize,
    ) -> Result<Value, FrontmatterError> {
        if let Some(style) = rest.strip_prefix(['|', '>']) {
            if !style.trim_matches(['+', '-']).chars().all(|c| c.is_ascii_digit()) {
                return Err(invalid(number, format!("{rest:?} is no kind of text block")));
            }
            let lines = self.deeper(depth);
            return Ok(Value::Text(block(&lines, rest.starts_with('>'), style.contains('-'))));
        }
        if rest.is_empty() || rest.starts_with('#') {
            return self.nested(number, depth);
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let inner = inner
                .strip_suffix(']')
                .ok_or_else(|| invalid(number, "a list that does not end with `]`"))?;
            let items = inner.split(',').map(str::trim).filter(|item| !item.is_empty());
            return Ok(Value::List(items.map(|item| item.trim_matches(['"', '\'']).to_owned()).collect()));
        }
        if rest.starts_with(['{', '&', '*', '!', '%', '@', '`']) {
            return Err(invalid(
                number,
                format!("a value that begins with `{}` has to be quoted", &rest[..1]),
            ));
        }
        let mut text = rest.to_owned();
        // A plain or quoted text may go on in lines that are indented.
        for (_, line) in self.deeper(depth) {
            text = format!("{text} {}", line.trim());
        }
        if let Some(quoted) = quoted(&text) {
            return quoted.map(Value::Text).map_err(|reason| invalid(number, reason));
        }
        let text = text.find(" #").map_or(text.as_str(), |comment| &text[..comment]).trim_end();
        if text.contains(": ") || text.ends_with(':') {
            self.ambiguous.push((key.to_owned(), number));
        }
        let is_other = matches!(text, "true" | "false" | "null" | "~") || text.parse::<f64>().is_ok();
        Ok(if is_other { Value::Other(text.to_owned()) } else { Value::Text(text.to_owned()) })
    }

    /// A mapping or a list below its key; nothing there is nothing.
    fn nested(&mut self, number: usize, depth: usize) -> Result<Value, FrontmatterError> {
        let next = self.lines[self.at..].iter().find(|(_, line)| !is_blank(line)).copied();
        let Some((_, first)) = next else { return Ok(Value::Other("null".into())) };
        let is_list = first.trim_start().starts_with("- ");
        if indent(first) <= depth && !is_list {
            return Ok(Value::Other("null".into()));
        }
        if depth > 0 {
            return Err(invalid(number, "nested deeper than a skill's frontmatter goes"));
        }
        let inner = indent(first);
        let (mut map, mut list) = (BTreeMap::new(), Vec::new());
        while let Some((number, line)) = self.lines.get(self.at).copied() {
            if is_blank(line) {
                self.at += 1;
                continue;
            }
            let is_item = line.trim_start().starts_with("- ");
            if indent(line) < inner || (inner == 0 && !is_item) {
                break;
            }
            if indent(line) != inner || is_item != is_list {
                return Err(invalid(number, "indented otherwise than the lines before it"));
            }
            self.at += 1;
            let content = line.trim_start();
            if let Some(item) = content.strip_prefix("- ") {
                list.push(item.trim().trim_matches(['"', '\'']).to_owned());
            } else {
                let (key, rest) = split(number, content)?;
                let value = self.value(&key, rest, number, inner)?;
                map.insert(key, value);
            }
        }
        Ok(if is_list { Value::List(list) } else { Value::Map(map) })
    }
}

fn split(number: usize, line: &str) -> Result<(String, &str), FrontmatterError> {
    let colon = line
        .match_indices(':')
        .map(|(at, _)| at)
        .find(|at| line[at + 1..].is_empty() || line[at + 1..].starts_with([' ', '\t']));
    let colon = colon.ok_or_else(|| invalid(number, format!("expected `key: value`, found {line:?}")))?;
    let key = line[..colon].trim().trim_matches(['"', '\'']);
    if key.is_empty() {
        return Err(invalid(number, "a value without a key"));
    }
    Ok((key.to_owned(), line[colon + 1..].trim()))
}

/// The text inside quotes; none when there are no quotes.
fn quoted(text: &str) -> Option<Result<String, String>> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut out = String::new();
    let mut rest = text[1..].chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if quote == '"' => out.push(match rest.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some(other) => other,
                None => break,
            }),
            c if c == quote => {
                if quote == '\'' && rest.next_if_eq(&'\'').is_some() {
                    out.push('\'');
                    continue;
                }
                let after: String = rest.collect();
                let is_comment = after.trim().is_empty() || after.trim_start().starts_with('#');
                return Some(if is_comment {
                    Ok(out)
                } else {
                    Err(format!("{after:?} after the closing quote"))
                });
            }
            c => out.push(c),
        }
    }
    Some(Err("a quote that does not end".into()))
}

fn block(lines: &[(usize, &str)], is_folded: bool, strips: bool) -> String {
    let margin = lines
        .iter()
        .map(|(_, line)| line)
        .find(|line| !line.trim().is_empty())
        .map_or(0, |line| indent(line));
    let texts: Vec<&str> = lines.iter().map(|(_, line)| line.get(margin..).unwrap_or_default()).collect();
    let mut text = if is_folded {
        // A blank line is a line end; other lines are joined.
        let paragraphs: Vec<String> = texts
            .split(|line| line.is_empty())
            .map(|lines| lines.join(" "))
            .filter(|text| !text.is_empty())
            .collect();
        paragraphs.join("\n")
    } else {
        texts.join("\n")
    };
    if !strips && !text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_yaml_of_skills_is_understood() {
        let text = "---\nname: greet # the name\ndescription: >-\n  Greets people,\n  like pirates.\n\n  Use it often.\n\
                    license: 'It''s mine'\nmetadata:\n  author: \"A: B\"\n  version: 1.0\nallowed-tools: [Bash, Read]\n\
                    list:\n- a\n- b\n---\nBody\n";
        let front = Frontmatter::parse(text).unwrap();
        assert_eq!(front.text("name"), Some("greet"));
        assert_eq!(front.text("description"), Some("Greets people, like pirates.\nUse it often."));
        assert_eq!(front.text("license"), Some("It's mine"));
        let Some(Value::Map(metadata)) = front.get("metadata") else { panic!() };
        assert_eq!(metadata["author"], Value::Text("A: B".into()));
        assert_eq!(metadata["version"], Value::Other("1.0".into()));
        assert_eq!(front.get("allowed-tools"), Some(&Value::List(vec!["Bash".into(), "Read".into()])));
        assert_eq!(front.get("list"), Some(&Value::List(vec!["a".into(), "b".into()])));
        assert_eq!((front.body, front.ambiguous.len()), ("Body\n", 0));
    }

    #[test]
    fn what_is_not_understood_says_where() {
        let reason = |text: &str| Frontmatter::parse(text).unwrap_err().to_string();
        assert_eq!(Frontmatter::parse("# Title\n"), Err(FrontmatterError::Missing));
        assert_eq!(Frontmatter::parse(""), Err(FrontmatterError::Missing));
        assert!(reason("---\nname: x\n").contains("not closed"));
        assert!(reason("---\nnonsense\n---\n").starts_with("line 2: expected `key: value`"));
        assert!(reason("---\nname: x\nname: y\n---\n").starts_with("line 3: a second `name`"));
        assert!(reason("---\nname: \"x\n---\n").contains("does not end"));
        assert!(reason("---\nname: &anchor x\n---\n").contains("quoted"));
        assert_eq!(Frontmatter::parse("---\na: b: c\n---\n").unwrap().ambiguous, [("a".to_owned(), 2)]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "(---\n)?([a-z:#'\" |>\\[\\]é-]{0,12}\n){0,8}(---\n)?") {
            _ = Frontmatter::parse(&text);
        }
    }
}
