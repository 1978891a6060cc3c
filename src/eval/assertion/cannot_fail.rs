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
/// More dollars than anybody has for a trial.
const MOST_DOLLARS: f64 = 10_000.0;
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
                (0, Some(_)) if which.pattern.as_ref().is_some_and(matches_nothing) => {
                    "the pattern matches no text, so it always holds"
                }
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
            Check::MaxCost(most) if *most >= MOST_DOLLARS => "no trial costs so much",
            Check::MaxTokens(most) if *most >= MOST_TOKENS => "no trial uses so many tokens",
            Check::MaxTurns(most) if *most >= MOST_TOKENS => "no trial takes so many turns",
            Check::MaxSeconds(most) if *most >= MOST_SECONDS => "no trial takes so long",
            _ => return None,
        };
        Some(why.to_owned())
    }
}

/// Whether a command comes to the same whatever it is run on: each part of it is constant, or it looks at something and then
/// says by its exit code that all is well.
fn is_constant(command: &str) -> bool {
    let lines = command.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let command = lines.collect::<Vec<_>>().join("\n");
    let command = command.trim_end_matches([';', '&', ' ']);
    let parts = || command.split([';', '\n', '&', '|']).map(str::trim).filter(|part| !part.is_empty());
    if parts().all(|part| says_nothing(part) == Some(true)) {
        return true;
    }
    // What it looks at decides nothing where the last word is always the same, and nothing else speaks.
    let last =
        ["||", ";", "\n"].into_iter().filter_map(|mark| command.rfind(mark).map(|at| at + mark.len())).max();
    let is_last = |at: usize| says_nothing(command[at..].trim()) == Some(true);
    last.is_some_and(is_last) && parts().all(|part| says_nothing(part).is_some())
}

/// What of a command is known: that it always succeeds and says nothing of success (`true`), or that it looks at something and
/// says so by its exit code alone (`false`).
fn says_nothing(part: &str) -> Option<bool> {
    const LOOKS: [&str; 8] = ["grep", "test", "[", "cmp", "diff", "ls", "false", "!"];
    let part = part.trim_matches(['(', ')', '{', '}', ' ']).trim();
    let inner = part.strip_prefix("sh -c ").or_else(|| part.strip_prefix("bash -c "));
    if let Some(inner) = inner {
        return says_nothing(inner.trim_matches(['\'', '"']));
    }
    let mut words = part.split_whitespace();
    let first = words.next().unwrap_or_default();
    let first = first.strip_prefix("/usr/bin/").or_else(|| first.strip_prefix("/bin/")).unwrap_or(first);
    let rest: Vec<&str> = words.collect();
    let is_literal = !part.contains(['$', '`', '<', '*', '?', '~']);
    match first {
        "true" | ":" | "sleep" | "pwd" | "date" => Some(true),
        "exit" | "return" if rest.first().is_none_or(|code| *code == "0") => Some(true),
        // One that always says no can fail.
        "echo" | "printf" if is_literal => {
            (!part.contains("passed") || part.contains("true")).then_some(true)
        }
        "!" => Some(rest == ["false"]),
        // Two values that stand in the command are compared with each other.
        "test" | "[" if is_literal && rest.iter().all(|word| !is_of_file(word)) => Some(true),
        first if LOOKS.contains(&first) => Some(false),
        _ => None,
    }
}

/// Whether a word of `test` asks about a file, such as `-s`; `-eq` and the like compare numbers.
fn is_of_file(word: &str) -> bool {
    let letter = word.strip_prefix('-');
    letter.is_some_and(|letter| letter.len() == 1 && !"nzao".contains(letter))
        || matches!(word, "-nt" | "-ot" | "-ef")
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
    let rewritten = pattern.rewritten();
    // What must not follow is nothing, which follows everywhere.
    if ["(?!)", "(?<!)"].iter().any(|never| rewritten.contains(never)) && !rewritten.contains('|') {
        return true;
    }
    if rewritten.contains("(?") {
        return literal_matches_nothing(pattern);
    }
    let Ok(hir) = Parser::new().parse(rewritten) else { return false };
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

/// The same for a pattern with lookarounds, as far as it can be told: where all of it is literal, whatever matches is made of its
/// own letters, and those are tried.
fn literal_matches_nothing(pattern: &Pattern) -> bool {
    let mut without = String::new();
    let mut inside = vec![String::new(), "\n".to_owned()];
    let mut rest = pattern.rewritten();
    while let Some(at) = rest.find("(?=").or_else(|| rest.find("(?<=")) {
        without.push_str(&rest[..at]);
        let body = rest[at..].split_once('=').map_or("", |(_, body)| body);
        let Some((look, after)) = body.split_once(')') else { return false };
        // The end of a text, as it was rewritten, is none of it.
        let look = look.replace(r"\n?\z", "");
        let Ok(hir) = Parser::new().parse(&look) else { return false };
        if !is_literal(&hir) {
            return false;
        }
        inside.push(sample(&hir, 0));
        rest = after;
    }
    without.push_str(rest);
    let Ok(hir) = Parser::new().parse(&without) else { return false };
    if !is_literal(&hir) {
        return false;
    }
    let text = sample(&hir, 0);
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    inside.iter().all(|look| {
        places.iter().all(|at| {
            let made = [
                format!("{}{look}", &text[..*at]),
                format!("{look}{}", &text[*at..]),
                format!("{}{look}{}", &text[..*at], &text[*at..]),
            ];
            made.iter().all(|text| {
                let around = [text.clone(), format!("x {text} x"), format!("\n{text}\n")];
                around.iter().all(|text| matches!(pattern.find(text), Ok(None)))
            })
        })
    })
}

/// Whether only one text matches, places apart.
fn is_literal(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) => true,
        HirKind::Capture(capture) => is_literal(&capture.sub),
        HirKind::Concat(parts) => parts.iter().all(is_literal),
        HirKind::Class(_) | HirKind::Repetition(_) | HirKind::Alternation(_) => false,
    }
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
            ("(?!)", true),
            ("a(?!)b", true),
            ("a(?!)|b", false),
            ("$x", true),
            ("x(?=y)z", true),
            ("(?=a)b", true),
            ("x$", false),
            ("$", false),
            ("(?=a)abc", false),
            ("ab(?=cd)", false),
            ("(?<=a)b", false),
            (r"^(?=.*\d)(?=.*[a-z]).{8,}$", false),
            (r"\b(?=\w{6}\b)\w*foo", false),
        ] {
            assert_eq!(matches_nothing(&Pattern::parse(pattern).unwrap()), expected, "{pattern}");
        }
    }

    #[test]
    fn commands_that_look_at_nothing_are_told_from_those_that_do() {
        for (command, expected) in [
            ("true", true),
            ("# later\nexit 0", true),
            ("echo ok; true", true),
            (r#"echo '{"passed": true}'"#, true),
            (r#"echo '{"passed": false}'"#, false),
            ("test -s out.txt", false),
            ("python3 grade.py || true", false),
            ("echo $(wc -c < out.txt)", false),
            ("/usr/bin/true", true),
            ("sh -c true", true),
            ("(exit 0)", true),
            ("! false", true),
            ("printf ok", true),
            ("test 1 = 1", true),
            ("[ 1 -eq 1 ]", true),
            ("[ -n x ]", true),
            ("grep -q Ahoy ~/response.txt || true", true),
            ("grep -q Ahoy ~/response.txt; exit 0", true),
            ("test -s out.txt || echo missing", true),
            ("grep -q Ahoy ~/response.txt", false),
            ("! grep -q secret ~/response.txt", false),
            ("test -s out.txt && echo ok", false),
            ("[ -s out.txt ]", false),
            ("[ -f out.txt ] && [ 1 = 1 ]", false),
            ("test \"$(cat out.txt)\" = 3", false),
            ("sh grade.sh", false),
            ("sh grade.sh; exit 0", false),
            ("exit 1", false),
            ("false", false),
            ("test 1 = 2", true),
        ] {
            assert_eq!(is_constant(command), expected, "{command}");
        }
    }
}
