//! Mutants of a run that prints one document: its bytes, its channels and how it ends.

use super::super::fixture::Sample;
use super::Dice;
use crate::recording::{Exit, Timer};

/// Breaks the frame and the ending of a run. With `claw` white space around the document breaks it as well.
pub(super) fn mutants(base: &Sample, claw: bool, dice: &mut Dice) -> Vec<(String, Sample)> {
    let is_json = base.argv.as_ref().is_none_or(|argv| argv.iter().any(|word| word.contains("json")));
    let mut mutants = Vec::new();
    if !is_json {
        return mutants;
    }
    let text = String::from_utf8_lossy(&base.stdout).into_owned();
    if !text.starts_with(['{', '[']) {
        return mutants;
    }
    let mut add = |what: &str, stdout: Vec<u8>, stderr: Option<Vec<u8>>| {
        let mut sample = base.clone();
        sample.stdout = stdout;
        if stderr.is_some() {
            sample.stderr = stderr;
        }
        mutants.push((what.to_string(), sample));
    };
    add("stdout empty", Vec::new(), None);
    add("prose before the document", format!("Enter choice (1-2): {text}").into_bytes(), None);
    add("byte order mark", format!("\u{feff}{text}").into_bytes(), None);
    add("prose after the document", format!("{text}done in 3 ms\n").into_bytes(), None);
    if claw {
        add("white space before the document", format!("\n{text}").into_bytes(), None);
        add("two newlines at the end", format!("{text}\n").into_bytes(), None);
    }
    add("document twice", format!("{text}{text}").into_bytes(), None);
    add("wrapped in an array", format!("[{}]\n", text.trim_end()).into_bytes(), None);
    add("envelope on stderr, stdout empty", Vec::new(), Some(base.stdout.clone()));
    if text.starts_with('{') {
        add("a copy of the envelope on stderr", base.stdout.clone(), Some(base.stdout.clone()));
    }
    add("keys in single quotes", text.replace('"', "'").into_bytes(), None);
    let cut = 2 + dice.below(text.trim_end().len().saturating_sub(3));
    let cut = (cut..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(1);
    add("cut in the middle", text.as_bytes()[..cut].to_vec(), None);
    if let Some(open) = text.find('{') {
        let first = text[open + 1..].split(',').next().unwrap_or_default().trim_end_matches(['}', '\n']);
        let doubled = format!("{}{first},{}", &text[..=open], &text[open + 1..]);
        add("first member twice", doubled.into_bytes(), None);
        for (what, value) in [
            ("NaN", "NaN"),
            ("Infinity", "Infinity"),
            ("number beyond a double", "1e999"),
            ("lone surrogate", "\"\\ud800\""),
        ] {
            let with = format!("{}\"x\":{value},{}", &text[..=open], &text[open + 1..]);
            add(what, with.into_bytes(), None);
        }
        let (head, tail) = text.as_bytes().split_at(open + 1);
        add("byte that is not UTF-8", [head, b"\"x\":\"\xff\",", tail].concat(), None);
    }
    mutants
}

/// The run ends otherwise than it says. With `claw` the codes are those of its table, and a timer is a failure.
pub(super) fn endings(base: &Sample, claw: bool) -> Vec<(String, Sample)> {
    let Some(exit) = &base.exit else { return Vec::new() };
    let with = |what: String, exit: Exit| {
        let mut sample = base.clone();
        sample.exit = Some(exit);
        (what, sample)
    };
    let text_mode = base.argv.as_ref().is_some_and(|argv| !argv.iter().any(|word| word.contains("json")));
    if !claw {
        let flipped = i32::from(exit.code == Some(0));
        let speaks = !base.stdout.is_empty();
        return speaks
            .then(|| with(format!("exit code becomes {flipped}"), Exit::with_code(flipped)))
            .into_iter()
            .collect();
    }
    let mut mutants = vec![with("exit code 101".into(), Exit::with_code(101))];
    let killed = Exit { signal: Some(9), ..Exit::default() };
    mutants.push(with("killed by a signal".into(), killed));
    if text_mode {
        return mutants;
    }
    mutants.extend((0..3).filter(|code| Some(*code) != exit.code).map(|code| {
        let was = exit.code.map_or("none".into(), |was| was.to_string());
        with(format!("exit code {was} becomes {code}"), Exit::with_code(code))
    }));
    for timer in [Timer::Wall, Timer::FirstEvent, Timer::Idle] {
        let mut late = exit.clone();
        let what = format!("{} timer fired", timer.name());
        late.timed_out = Some(timer);
        mutants.push(with(what, late));
    }
    mutants
}
