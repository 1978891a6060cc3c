//! Assertions that hold whatever a target does. They measure nothing and look like a success, so they are refused when a
//! file is read.
//!
//! Whether a pattern holds for every text is tried, not proven: on texts of every kind, and on texts made of what its
//! negative lookarounds forbid. A pattern that holds for all of them would hold for anything that a target says.

use regex_syntax::Parser;
use regex_syntax::hir::{Class as Set, Hir, HirKind};
use serde_json::json;

use super::files::FileState;
use super::json::{JsonCheck, Wanted};
use super::text::TextCheck;
use super::tools::ToolCheck;
use super::{Answer, Assertion, Check, Pattern};
use crate::classify::Class;
use crate::eval::observed::{LONGEST_FILE, MOST_CALLS};

/// More tokens than a trial can use in any time that somebody waits.
const MOST_TOKENS: u64 = 1_000_000_000;
/// Longer than anybody waits for a trial.
const MOST_SECONDS: f64 = 1_000_000.0;
/// What a pattern that says nothing is told.
const EVERY_TEXT: &str = "the pattern matches every text, so it demands nothing";

/// Texts that have nothing in common.
const TEXTS: [&str; 16] = [
    "",
    "\n",
    "\n\n \n",
    " ",
    "a",
    "Z",
    "0",
    "_",
    "-",
    "é",
    "漢字",
    "\u{e000}",
    "\u{1}",
    "The quick brown fox jumps over 13 lazy dogs.",
    "line one\nline two\n\n",
    "{\"key\": [1, 2.5, null, \"text\"]} <b>&amp;</b> #!/bin/sh $HOME `code` 100 % https://example.com/a?b=c @ + = ~ ^ |",
];

impl Assertion {
    /// Why it holds whatever happens; none when it can fail.
    pub(crate) fn cannot_fail(&self) -> Option<String> {
        let why: &str = match &self.check {
            Check::Text(check) => return of_text(check),
            Check::Reach(check) if check.demands_nothing() => "`count` is 0, so it demands nothing",
            Check::Json(JsonCheck::Path { value, .. }) => match value {
                Wanted::Count(0) => "`count` is 0, so it demands nothing",
                Wanted::Matches(pattern) if matches_everything(pattern) => EVERY_TEXT,
                _ => return None,
            },
            Check::Json(JsonCheck::Schema(schema)) => {
                let values = [
                    json!(null),
                    json!(true),
                    json!(0),
                    json!(-1.5),
                    json!("x"),
                    json!([]),
                    json!([1, "a"]),
                    json!({}),
                    json!({"a": {"b": null}}),
                ];
                if !values.iter().all(|value| schema.holds(value)) {
                    return None;
                }
                "every JSON fits the schema; for JSON of any kind use type `json` with path \"$\""
            }
            Check::File(check) => match &check.state {
                FileState::Contains(needle) if needle.is_empty() => "every text contains nothing",
                FileState::Matches(pattern) if matches_everything(pattern) => EVERY_TEXT,
                _ => return None,
            },
            Check::Tool(ToolCheck::Calls { which, least, most }) => match (least, most) {
                _ if which.pattern.as_ref().is_some_and(matches_everything) => EVERY_TEXT,
                (0, None) => "`count` is 0, so it demands nothing",
                (0, Some(most)) if *most >= MOST_CALLS as u64 => {
                    return Some(format!(
                        "more than {MOST_CALLS} calls of a trial are not looked at, so `count` {most} is never exceeded"
                    ));
                }
                _ => return None,
            },
            Check::Verdict(allowed)
                if Class::ALL.iter().filter(|class| class.counts()).all(|class| allowed.contains(class)) =>
            {
                "every outcome that counts is allowed"
            }
            Check::Exec(exam) if is_constant(&exam.command) => "the command looks at nothing",
            Check::MaxTokens(most) if *most >= MOST_TOKENS => "no trial uses so many tokens",
            Check::MaxTurns(most) if *most >= MOST_TOKENS => "no trial takes so many turns",
            Check::MaxSeconds(most) if *most >= MOST_SECONDS => "no trial takes so long",
            _ => return None,
        };
        Some(why.to_owned())
    }
}

/// Whether a command comes to the same whatever it is run on.
fn is_constant(command: &str) -> bool {
    let parts = command.split([';', '\n', '&', '|']).map(str::trim).filter(|part| !part.is_empty());
    let mut parts = parts.filter(|part| !part.starts_with('#'));
    parts.all(|part| {
        let says = part.starts_with("echo ") && !part.contains(['$', '`', '<', '*', '?']);
        // One that always says no can fail.
        let says = says && (!part.contains("passed") || part.contains("true"));
        says || matches!(part, "true" | "/bin/true" | ":" | "exit" | "exit 0")
    })
}

fn of_text(check: &TextCheck) -> Option<String> {
    let why = match check {
        TextCheck::MaxLength(most) | TextCheck::Count { least: 0, most: Some(most), .. }
            if *most >= LONGEST_FILE =>
        {
            return Some(format!(
                "no text that is looked at is longer than {LONGEST_FILE}, so it always holds"
            ));
        }
        TextCheck::NotRegex(pattern) | TextCheck::Count { pattern, least: 0, most: Some(_), .. } => {
            if !matches_nothing(pattern) {
                return None;
            }
            "the pattern matches no text, so it always holds"
        }
        TextCheck::Count { least: 0, most: None, .. } => "`count` is 0, so it demands nothing",
        TextCheck::MinLength(0) => "every text has at least 0 characters",
        TextCheck::Contains(needle) if needle.is_empty() => "every text contains nothing",
        TextCheck::Contains(_)
        | TextCheck::NotContains(_)
        | TextCheck::Equals(_)
        | TextCheck::MinLength(_)
        | TextCheck::MaxLength(_) => return None,
        TextCheck::Regex(pattern) => {
            if !matches_everything(pattern) {
                return None;
            }
            EVERY_TEXT
        }
        TextCheck::Count { pattern, .. } => {
            if !holds_for_all(pattern, &|text| check.find(text).status == Answer::Pass) {
                return None;
            }
            EVERY_TEXT
        }
    };
    Some(why.to_owned())
}

fn matches_everything(pattern: &Pattern) -> bool {
    holds_for_all(pattern, &|text| matches!(pattern.find(text), Ok(Some(_))))
}

/// Whether something that is asked of a pattern holds for all texts that are tried.
fn holds_for_all(pattern: &Pattern, holds: &dyn Fn(&str) -> bool) -> bool {
    if !TEXTS.iter().all(|text| holds(text)) {
        return false;
    }
    for forbidden in forbidden(pattern.rewritten()) {
        // What cannot be made may be what fails it.
        let Ok(hir) = Parser::new().parse(&forbidden) else { return false };
        for choice in 0..4 {
            let text = sample(&hir, choice);
            if ![text.clone(), format!("x {text} x"), text.repeat(3), text.to_uppercase()]
                .iter()
                .all(|text| holds(text))
            {
                return false;
            }
        }
    }
    // A pattern may bound the length.
    holds(&"word 0. ".repeat(20_000))
}

fn matches_nothing(pattern: &Pattern) -> bool {
    let Ok(hir) = Parser::new().parse(pattern.rewritten()) else { return false };
    if hir.properties().minimum_len().is_none() {
        return true;
    }
    // What is asked of a place, such as a beginning after a text, may hold nowhere.
    !hir.properties().look_set().is_empty()
        && (0..4).all(|choice| {
            let text = sample(&hir, choice);
            let between = |(before, after)| format!("{before}{text}{after}");
            let around =
                [("", ""), ("x ", " x"), ("x", "x"), ("x", " x"), ("x ", "x"), ("\n", "\n")].map(between);
            around.iter().all(|text| matches!(pattern.find(text), Ok(None)))
        })
}

/// What stands in the negative lookarounds of a pattern.
fn forbidden(pattern: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let (mut is_escaped, mut in_set) = (false, false);
    for (at, c) in pattern.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match c {
            '\\' => is_escaped = true,
            '[' => in_set = true,
            ']' => in_set = false,
            '(' if !in_set => {
                let rest = &pattern[at..];
                let mark = ["(?!", "(?<!"].into_iter().find(|mark| rest.starts_with(mark));
                open.push(mark.map(|mark| at + mark.len()));
            }
            ')' if !in_set => {
                if let Some(Some(start)) = open.pop() {
                    // The end of a text, as it was rewritten, is no character of it.
                    found.push(pattern[start..at].replace(r"(?=\n?\z)", ""));
                }
            }
            _ => {}
        }
    }
    found
}

/// A text that matches; `choice` takes another alternative.
fn sample(hir: &Hir, choice: usize) -> String {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Set::Bytes(_)) => String::new(),
        HirKind::Literal(literal) => String::from_utf8_lossy(&literal.0).into_owned(),
        HirKind::Class(Set::Unicode(set)) => {
            let usual = "a0 Z_-.".chars();
            let has = |c: &char| set.iter().any(|range| range.start() <= *c && *c <= range.end());
            let first = set.iter().next().map(regex_syntax::hir::ClassUnicodeRange::start);
            usual.cycle().skip(choice).take(7).find(has).or(first).map(String::from).unwrap_or_default()
        }
        HirKind::Repetition(repetition) => {
            sample(&repetition.sub, choice).repeat(repetition.min.clamp(1, 1000) as usize)
        }
        HirKind::Capture(capture) => sample(&capture.sub, choice),
        HirKind::Concat(parts) => parts.iter().map(|part| sample(part, choice)).collect(),
        HirKind::Alternation(parts) => {
            parts.get(choice % parts.len().max(1)).map_or(String::new(), |part| sample(part, choice))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_match_every_text_are_told_from_those_that_do_not() {
        for every in [
            "",
            ".*",
            "a|",
            "|a",
            "a*",
            "(a|b)?",
            "^",
            "$",
            r"\A",
            r"\Z",
            r"(?s).*",
            r"[\s\S]*",
            "x{0,3}",
            "(?:)",
            "a??",
            r"\b|\B",
            r"^|foo",
            "(?i)(ok)?",
            "(?!error)",
            r"(?!\d{3}-\d{4})",
            r"(?m)^.*$",
            "(?=)",
            "(?<!x)",
            "()",
        ] {
            assert!(matches_everything(&Pattern::parse(every).unwrap()), "{every}");
        }
        for some in [
            ".",
            ".+",
            "a",
            r"\S",
            r"\w*x",
            "^$",
            r"\d|\D",
            r"^(?!.*error)",
            r"^(?!.*\d{3}-\d{4})",
            r"\b",
            r"(?s)^.{1,}$",
            r"\A[\s\S]{0,5000}\Z",
            r"^(?![\s\S]*(?:TODO|FIXME))",
            r"(?=ok)",
            "(?<=x)",
            r"^(?!Sorry)",
            r"(?s)^(?!.*secret)",
        ] {
            assert!(!matches_everything(&Pattern::parse(some).unwrap()), "{some}");
        }
        assert!(matches_nothing(&Pattern::parse(r"[^\s\S]").unwrap()));
        for (pattern, expected) in [
            ("a*", false),
            ("a^", true),
            (r"\bfoo\b", false),
            (r"^TODO", false),
            (r"x\Ay", true),
            (r"\Bed\b", false),
        ] {
            assert_eq!(matches_nothing(&Pattern::parse(pattern).unwrap()), expected, "{pattern}");
        }
        for (command, expected) in [
            ("true", true),
            ("# later\nexit 0", true),
            ("echo ok; true", true),
            (r#"echo '{"passed": true}'"#, true),
            (r#"echo '{"passed": false}'"#, false),
            ("test -s out.txt", false),
            ("python3 grade.py || true", false),
            ("echo $(wc -c < out.txt)", false),
        ] {
            assert_eq!(is_constant(command), expected, "{command}");
        }
    }
}
