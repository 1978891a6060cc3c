//! Regular expressions as Python's `re` reads them, since that is what evaluation files are written for.
//!
//! They are rewritten for another engine where the two would disagree: `$` before a last newline, `\Z`, white space,
//! braces and brackets that stand for themselves, and flags that only Python has.

use std::fmt::Write as _;

use fancy_regex::{Regex, RegexBuilder};

/// More steps than any sensible pattern takes; one that would go on is undecided instead.
const MOST_STEPS: usize = 2_000_000;

#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    text: String,
    regex: Regex,
}

/// Why a pattern gives no answer.
#[derive(Debug, thiserror::Error)]
#[error("the pattern takes too long on this text")]
pub(crate) struct Undecided;

impl Pattern {
    /// Compiles a pattern; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &dyn std::fmt::Display| format!("not a regular expression: {why}");
        let rewritten = Rewriter::new(text).run().map_err(|why| wrong(&why))?;
        let regex = RegexBuilder::new(&rewritten)
            .backtrack_limit(MOST_STEPS)
            .build()
            .map_err(|error| wrong(&error))?;
        Ok(Self { text: text.to_owned(), regex })
    }

    /// The pattern as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The pattern as our engine reads it.
    pub(super) fn rewritten(&self) -> &str {
        self.regex.as_str()
    }

    pub(crate) fn find<'t>(&self, text: &'t str) -> Result<Option<&'t str>, Undecided> {
        let found = self.regex.find(text).map_err(|_| Undecided)?;
        Ok(found.map(|found| found.as_str()))
    }

    /// Every match as Python's `findall` counts them: an empty one may follow a match at once. `show` sees each.
    pub(crate) fn count(&self, text: &str, show: &mut dyn FnMut(&str)) -> Result<u64, Undecided> {
        let (mut count, mut from) = (0, 0);
        let mut empty_at = None;
        while from <= text.len() {
            let Some(found) = self.regex.find_from_pos(text, from).map_err(|_| Undecided)? else { break };
            let is_empty = found.start() == found.end();
            if is_empty && empty_at == Some(found.start()) {
                from = next_character(text, from);
                continue;
            }
            count += 1;
            show(found.as_str());
            from = found.end();
            empty_at = is_empty.then_some(found.start());
        }
        Ok(count)
    }

    /// Whether the whole text is a match.
    pub(crate) fn is_whole(&self, text: &str) -> Result<bool, Undecided> {
        // The engine has no such question; anchoring the pattern asks it.
        let whole = RegexBuilder::new(&format!(r"\A(?:{})\z", self.regex.as_str()))
            .backtrack_limit(MOST_STEPS)
            .build()
            .map_err(|_| Undecided)?;
        whole.is_match(text).map_err(|_| Undecided)
    }
}

fn next_character(text: &str, from: usize) -> usize {
    text[from..].chars().next().map_or(text.len() + 1, |c| from + c.len_utf8())
}

#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    ascii: bool,
    multi_line: bool,
    verbose: bool,
}

struct Rewriter<'p> {
    rest: std::iter::Peekable<std::str::Chars<'p>>,
    out: String,
    flags: Flags,
    /// The flags outside each open group.
    groups: Vec<Flags>,
}

impl<'p> Rewriter<'p> {
    fn new(text: &'p str) -> Self {
        let out = String::with_capacity(text.len());
        Self { rest: text.chars().peekable(), out, flags: Flags::default(), groups: Vec::new() }
    }

    fn run(mut self) -> Result<String, String> {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' => {
                    self.flags = self.groups.pop().ok_or("unbalanced parenthesis")?;
                    self.out.push(')');
                }
                '$' if self.flags.multi_line => self.out.push_str("(?m:$)"),
                '$' => self.out.push_str(r"(?=\n?\z)"),
                '^' if self.flags.multi_line => self.out.push_str("(?m:^)"),
                '^' => self.out.push_str(r"\A"),
                '{' => self.brace(),
                '}' => self.out.push_str(r"\}"),
                '#' if self.flags.verbose => while self.rest.next().is_some_and(|c| c != '\n') {},
                c if self.flags.verbose && c.is_whitespace() => {}
                c => self.out.push(c),
            }
        }
        if self.groups.is_empty() { Ok(self.out) } else { Err("missing ), unterminated group".into()) }
    }

    /// What follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        let c = self.rest.next().ok_or("a backslash at the end")?;
        let ascii = self.flags.ascii;
        let class = |inside: &str, negated: bool| match (in_class, negated) {
            (true, false) => inside.to_owned(),
            (_, true) => format!("[^{inside}]"),
            (false, false) => format!("[{inside}]"),
        };
        match c {
            's' | 'S' => {
                let inside = if ascii { r" \t\n\r\x0b\x0c" } else { r"\s\x1c-\x1f" };
                self.out.push_str(&class(inside, c == 'S'));
            }
            'd' | 'D' if ascii => self.out.push_str(&class("0-9", c == 'D')),
            'w' | 'W' if ascii => self.out.push_str(&class("0-9A-Za-z_", c == 'W')),
            // Letters, numbers and the underscore; marks and other joiners are none.
            'w' | 'W' => self.out.push_str(&class(r"\p{L}\p{N}_", c == 'W')),
            'd' | 'D' | 'n' | 't' | 'r' | 'f' | 'v' | 'a' | 'x' | 'u' => {
                self.out.push('\\');
                self.out.push(c);
            }
            'U' => {
                let digits: String = self.rest.by_ref().take(8).collect();
                _ = write!(self.out, r"\x{{{digits}}}");
            }
            'b' if in_class => self.out.push_str(r"\x08"),
            'b' | 'B' if !in_class => {
                self.out.push('\\');
                self.out.push(c);
            }
            'A' if !in_class => self.out.push_str(r"\A"),
            'Z' if !in_class => self.out.push_str(r"\z"),
            '0' => self.octal(String::from("0")),
            '1'..='9' if in_class => self.octal(c.to_string()),
            '1'..='9' => {
                let mut digits = c.to_string();
                digits.extend(self.rest.next_if(char::is_ascii_digit));
                _ = write!(self.out, r"(?:\{digits})");
            }
            c if c.is_ascii_alphanumeric() => return Err(format!(r"bad escape \{c}")),
            c => self.literal(c),
        }
        Ok(())
    }

    fn octal(&mut self, mut digits: String) {
        while digits.len() < 3
            && let Some(digit) = self.rest.next_if(|c| ('0'..='7').contains(c))
        {
            digits.push(digit);
        }
        let value = u32::from_str_radix(&digits, 8).unwrap_or_default();
        _ = write!(self.out, r"\x{{{value:x}}}");
    }

    /// A character that stands for itself.
    fn literal(&mut self, c: char) {
        if c.is_ascii_punctuation() {
            self.out.push('\\');
            self.out.push(c);
        } else if c.is_ascii_whitespace() || c.is_control() {
            _ = write!(self.out, r"\x{{{:x}}}", u32::from(c));
        } else {
            self.out.push(c);
        }
    }

    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut is_first = true;
        loop {
            match self.rest.next().ok_or("unterminated character set")? {
                ']' if !is_first => break,
                '\\' => self.escape(true)?,
                '-' => self.out.push('-'),
                c => self.literal(c),
            }
            is_first = false;
        }
        self.out.push(']');
        Ok(())
    }

    /// A brace that is no repetition stands for itself; a missing minimum is none.
    fn brace(&mut self) {
        let ahead: String = self.rest.clone().take_while(|c| *c != '}').take(24).collect();
        let closed = self.rest.clone().nth(ahead.chars().count()) == Some('}');
        let (least, most) = ahead.split_once(',').unwrap_or((&ahead, "0"));
        let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
        if !closed || ahead.is_empty() || ahead == "," || !is_number(least) || !is_number(most) {
            self.out.push_str(r"\{");
            return;
        }
        self.out.push('{');
        if least.is_empty() {
            self.out.push('0');
        }
        self.out.push_str(&ahead);
        self.out.push('}');
        self.rest.nth(ahead.chars().count());
    }

    fn group(&mut self) -> Result<(), String> {
        if self.rest.next_if_eq(&'?').is_none() {
            self.groups.push(self.flags);
            self.out.push('(');
            return Ok(());
        }
        match self.rest.peek() {
            Some('#') => {
                while self.rest.next().ok_or("missing ), unterminated comment")? != ')' {}
                return Ok(());
            }
            Some('P') => {
                self.rest.next();
                if self.rest.next_if_eq(&'=').is_some() {
                    let name: String = self.rest.by_ref().take_while(|c| *c != ')').collect();
                    _ = write!(self.out, r"\k<{name}>");
                    return Ok(());
                }
                self.out.push_str("(?");
            }
            Some(c) if c.is_ascii_alphabetic() || *c == '-' => return self.set_flags(),
            _ => self.out.push_str("(?"),
        }
        self.groups.push(self.flags);
        // What decides the kind of the group, so that it is not taken for something else.
        while let Some(c) = self.rest.next_if(|c| matches!(c, ':' | '=' | '!' | '<' | '>' | '(')) {
            self.out.push(c);
            if c == '(' {
                let condition: String = self.rest.by_ref().take_while(|c| *c != ')').collect();
                _ = write!(self.out, "{condition})");
            }
        }
        Ok(())
    }

    /// `(?i)` at the start for everything, or `(?i:…)` for a group.
    fn set_flags(&mut self) -> Result<(), String> {
        let is_start = self.out.is_empty();
        let mut flags = self.flags;
        let (mut on, mut passed) = (true, String::new());
        loop {
            match self.rest.next().ok_or("missing ), unterminated flags")? {
                'a' => flags.ascii = on,
                'm' => flags.multi_line = on,
                'x' => flags.verbose = on,
                'u' | 'L' => {}
                c @ ('i' | 's') => passed.push(c),
                '-' => {
                    on = false;
                    passed.push('-');
                }
                ')' if is_start && on => {
                    self.flags = flags;
                    if !passed.is_empty() {
                        _ = write!(self.out, "(?{passed})");
                    }
                    return Ok(());
                }
                ')' => return Err("global flags not at the start of the expression".into()),
                ':' => {
                    self.groups.push(self.flags);
                    self.flags = flags;
                    _ = write!(self.out, "(?{}:", passed.trim_end_matches('-'));
                    return Ok(());
                }
                c => return Err(format!("unknown flag {c}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pattern: &str, text: &str) -> u64 {
        Pattern::parse(pattern).unwrap().count(text, &mut |_| {}).unwrap()
    }

    #[test]
    fn it_reads_patterns_as_python_does() {
        for (pattern, text, expected) in [
            (r"end$", "the end\n", 1),
            (r"end\Z", "the end\n", 0),
            (r"(?m)^\w+$", "one\ntwo\n", 2),
            (r"a*", "baac", 4),
            (r"a{,2}b", "aaab b", 2),
            (r"{name}", "x {name}", 1),
            (r"[[]\d]", "[3]", 1),
            (r"(\w)\1", "aabb", 2),
            (r"(?P<q>['x]).*?(?P=q)", "'a' 'b'", 2),
            (r"(?<=\$)\d+(?!\d)", "$12 $3", 2),
            (r"(?x) a b # comment", "ab ab", 2),
            (r"(?a)\d", "٣3", 1),
            (r"\d", "٣3", 2),
            (r"(?i:x)y", "Xy XY", 1),
            (r"x(?#no)y", "xy", 1),
        ] {
            assert_eq!(count(pattern, text), expected, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn what_python_refuses_is_refused() {
        for pattern in [r"(", r"a(?i)b", r"[a", r"\q", r"*a", ")"] {
            assert!(Pattern::parse(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_never_ends_is_undecided() {
        let pattern = Pattern::parse(r"(?=(a+)+$)\1b|(?:(a|aa)+)+\1c").unwrap();
        assert!(pattern.find(&"a".repeat(4000)).is_err());
    }
}
