//! What can happen to a text.

use super::super::super::fixture::Sample;
use super::Harm;
use crate::text::head;

/// What an apology looks like: the answer that nobody gave.
const APOLOGY: &str = "I am sorry, something went wrong.";

/// Every way to change a text so that a reader is misled.
pub(super) fn changes(text: &str) -> Vec<(&'static str, String)> {
    let middle = head(text, text.len() / 2).len();
    let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
    let mut words: Vec<&str> = text.split(' ').collect();
    if let Some(word) = words.last_mut() {
        *word = "lobster";
    }
    let all = [
        ("replaced", APOLOGY.to_string()),
        ("cut in the middle", text[..middle].to_string()),
        ("without its last character", text[..last].to_string()),
        ("without its beginning", text[middle..].to_string()),
        ("twice", format!("{text}{text}")),
        ("with one word changed", words.join(" ")),
        ("in capitals", text.to_uppercase()),
        ("without its spaces", text.replace([' ', '\n'], "")),
        ("with a sentence more", format!("{text} All tests pass.")),
        ("empty", String::new()),
    ];
    all.into_iter().filter(|(_, changed)| changed != text).collect()
}

/// Changes to an output that is one text.
pub(super) fn of_output(base: &Sample) -> Vec<Harm> {
    let Ok(text) = std::str::from_utf8(&base.stdout) else { return Vec::new() };
    let body = text.trim_end();
    if body.is_empty() {
        return Vec::new();
    }
    let end = &text[body.len()..];
    let mut outputs = changes(body);
    outputs.push(("after a line that is not its own", format!("Debugger listening on 9229\n{body}")));
    outputs.push(("before a line that is not its own", format!("{body}\nDone in 3 s.")));
    let lines: Vec<&str> = body.lines().collect();
    if lines.len() > 1 {
        outputs.push(("without its last line", lines[..lines.len() - 1].join("\n")));
        outputs.push(("without its first line", lines[1..].join("\n")));
        let turned: Vec<&str> = lines.iter().rev().copied().collect();
        outputs.push(("with its lines in another order", turned.join("\n")));
    }
    outputs.retain(|(_, output)| output != body);
    let sample = |output: String| Sample { stdout: format!("{output}{end}").into_bytes(), ..base.clone() };
    outputs.into_iter().map(|(what, output)| Harm::printed("text", what, sample(output))).collect()
}
