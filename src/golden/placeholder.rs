//! What stands in a normalised text for what differs from run to run.
//!
//! The same value is the same placeholder everywhere in a recording, so that relations stay visible: an answer that
//! names another request than the one before it is a change.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use regex::Regex;

use super::volatile::{Class, Volatile};
use crate::document::is_reserved;
use crate::time;

static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = [
        r"(?P<literal><[a-z][a-z-]*(?::[0-9a-z-]+)?>)",
        r"(?P<uuid>(?-u:\b)[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?-u:\b))",
        r"(?P<time>(?-u:\b)[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)",
        r"(?P<id>(?-u:\b)(?P<prefix>toolu|srvtoolu|msg|req)_[A-Za-z0-9_-]+)",
        r"(?P<loop>(?:https?://)?(?:127\.0\.0\.1|localhost|\[::1\]):[0-9]{2,5})",
        // Milliseconds since 1970, of this century.
        r"(?P<epoch>(?-u:\b)1[5-9][0-9]{11}(?-u:\b))",
        r"(?P<field>(?-u:\b)(?P<name>[A-Za-z_]*(?:_ms|Ms))(?P<sign>[\x22']?\s?[:=]\s?))(?P<number>[0-9]+(?:\.[0-9]+)?)(?-u:\b)",
    ];
    // A constant; the test below sees that it compiles.
    Regex::new(&pattern.join("|")).ok()
});

/// So many different ids of a recording are numbered; those beyond are all told as `<uuid:more>`.
const MOST_NUMBERED: usize = 900_000;
/// Ids that a rule declared are looked for in texts up to so many bytes of them all, and of each.
const MOST_IDS: usize = 1 << 20;
const LONGEST_ID: usize = 256;
/// A few ids are looked for one after the other.
const FEW_IDS: usize = 16;

/// The placeholders of one recording.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    /// Known texts, the longest first, and what stands for them.
    known: Vec<(String, String)>,
    /// Ids that a rule declared, the longest first, and their labels.
    ids: Vec<(String, String)>,
    /// Where in the list above an id is, and how long those are that begin alike.
    places: HashMap<String, usize>,
    lengths: HashMap<[u8; 3], Vec<usize>>,
    labels: HashSet<String>,
    id_bytes: usize,
    /// Names of fields that hold durations.
    durations: Vec<String>,
    /// What stands in texts: the group of an expression, and what it is.
    patterns: Vec<(Regex, Class)>,
    /// Host and port of the API, when they are known.
    api: Option<String>,
    /// The numbers of ids. By their hashes, as a long run has a million of them.
    given: HashMap<u64, u32>,
    hasher: RandomState,
    counts: BTreeMap<String, u32>,
    last_time: Option<i64>,
}

impl Placeholders {
    /// Has `placeholder` stand for this text.
    pub(super) fn know(&mut self, text: &str, placeholder: &str) {
        if text.len() > 1 && self.known.iter().all(|(known, _)| known != text) {
            self.known.push((text.to_owned(), placeholder.to_owned()));
            self.known.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
        }
    }

    /// Has `<label:n>` stand for this id, also inside of texts; see [`settle`](Self::settle).
    pub(super) fn know_id(&mut self, id: &str, label: &str) {
        // An id of a letter or two would be found in every text.
        let fits = (3..=LONGEST_ID).contains(&id.len()) && self.id_bytes + id.len() <= MOST_IDS;
        if fits && !self.places.contains_key(id) {
            self.id_bytes += id.len();
            self.labels.insert(label.to_owned());
            self.places.insert(id.to_owned(), self.ids.len());
            self.ids.push((id.to_owned(), label.to_owned()));
            if let Some(start) = id.as_bytes().first_chunk() {
                let lengths = self.lengths.entry(*start).or_default();
                if !lengths.contains(&id.len()) {
                    lengths.push(id.len());
                }
            }
        }
    }

    /// All ids are known now.
    pub(super) fn settle(&mut self) {
        self.ids.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
        for (at, (id, _)) in self.ids.iter().enumerate() {
            self.places.insert(id.clone(), at);
        }
    }

    /// Whether an id is looked for in texts.
    pub(super) fn knows_id(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// Which of the known ids may stand in a text, in their order.
    fn ids_in(&self, text: &str) -> Vec<usize> {
        if self.ids.len() <= FEW_IDS {
            return (0..self.ids.len()).collect();
        }
        let mut found = HashSet::new();
        for start in text.as_bytes().windows(3).enumerate() {
            let (at, Ok(beginning)) = (start.0, <[u8; 3]>::try_from(start.1)) else { continue };
            for length in self.lengths.get(&beginning).into_iter().flatten() {
                found.extend(text.get(at..at + length).and_then(|part| self.places.get(part)));
            }
        }
        let mut found: Vec<usize> = found.into_iter().collect();
        found.sort_unstable();
        found
    }

    /// What is found inside of texts: fields that hold durations (`duration_ms: 125`), and what has a pattern of its own.
    pub(super) fn know_rules(&mut self, volatile: &Volatile) {
        self.durations = volatile.durations();
        self.patterns = volatile.patterns();
    }

    /// The address of the API.
    pub(super) fn know_api(&mut self, host: &str) {
        self.api = Some(host.to_owned());
    }

    /// The placeholder of an id.
    pub(super) fn id(&mut self, label: &str, id: &str) -> String {
        let key = self.hasher.hash_one((label, id));
        let number = self.given.get(&key).copied().or_else(|| {
            if self.given.len() >= MOST_NUMBERED {
                return None;
            }
            let count = self.counts.entry(label.to_owned()).or_default();
            *count += 1;
            self.given.insert(key, *count);
            Some(*count)
        });
        match number {
            Some(number) => format!("<{label}:{number}>"),
            None => format!("<{label}:more>"),
        }
    }

    /// The placeholder of a time: one that goes back is told from one that does not.
    pub(super) fn time(&mut self, millis: i64) -> &'static str {
        let went_back = self.last_time.is_some_and(|last| millis < last);
        self.last_time = Some(millis);
        if went_back { "<time:earlier>" } else { "<time>" }
    }

    /// The text with everything replaced.
    pub(super) fn text(&mut self, text: &str) -> String {
        if text.len() < 3 {
            return text.to_owned();
        }
        if let Some(millis) = whole_time(text) {
            return self.time(millis).to_owned();
        }
        let mut out = self.built_in(text);
        for at in 0..self.patterns.len() {
            out = self.pattern(at, &out);
        }
        for at in 0..self.known.len() {
            let (known, placeholder) = &self.known[at];
            if out.contains(known.as_str()) {
                let placeholder = placeholder.clone();
                out = replace(&out, known, &placeholder, |c| c.is_alphanumeric() || matches!(c, '_' | '-'));
            }
        }
        for at in self.ids_in(&out) {
            // It may have stood in a longer one only.
            if !out.contains(self.ids[at].0.as_str()) {
                continue;
            }
            let (id, label) = self.ids[at].clone();
            let placeholder = self.id(&label, &id);
            // `agent-ID.jsonl` holds the id.
            out = replace(&out, &id, &placeholder, char::is_alphanumeric);
        }
        out
    }

    /// The text with what a pattern finds replaced. An id is also known from now on wherever it stands.
    fn pattern(&mut self, at: usize, text: &str) -> String {
        let (pattern, class) = self.patterns[at].clone();
        let (mut out, mut end) = (String::new(), 0);
        for value in pattern.captures_iter(text).filter_map(|found| found.get(1)) {
            let placeholder = match &class {
                Class::Id(label) => {
                    self.know_id(value.as_str(), label);
                    self.id(label, value.as_str())
                }
                Class::Milliseconds => "<ms>".to_owned(),
                Class::Number => "<number>".to_owned(),
                Class::Text | Class::Time | Class::File => "<text>".to_owned(),
            };
            out.push_str(&text[end..value.start()]);
            out.push_str(&placeholder);
            end = value.end();
        }
        out.push_str(&text[end..]);
        out
    }

    fn built_in(&mut self, text: &str) -> String {
        // Each pattern has one of these in it.
        let may_match = text.contains(['-', '_', ':', '<', '=']) || (text.len() >= 13 && text.contains('1'));
        let Some(pattern) = PATTERN.as_ref().filter(|_| may_match) else {
            return text.to_owned();
        };
        let (mut out, mut end) = (String::new(), 0);
        for found in pattern.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            let matched = whole.as_str();
            let is = |name: &str| found.name(name).is_some();
            let replacement = if is("literal") {
                let name = matched.trim_matches(['<', '>']);
                let word = name.split(':').next().unwrap_or_default();
                if !is_reserved(word) && !self.labels.contains(word) {
                    continue;
                }
                // Whoever prints our placeholder means something else by it.
                format!("<literal:{name}>")
            } else if is("uuid") {
                self.id("uuid", &matched.to_ascii_lowercase())
            } else if is("time") || is("epoch") {
                "<time>".to_owned()
            } else if let (Some(field), Some(name)) = (found.name("field"), found.name("name")) {
                if self.durations.iter().all(|known| known != name.as_str()) {
                    continue;
                }
                format!("{}<ms>", field.as_str())
            } else if let Some(prefix) = found.name("prefix") {
                // `msg_count` is a word.
                if !matched.bytes().any(|byte| byte.is_ascii_digit()) {
                    continue;
                }
                self.id(prefix.as_str(), matched)
            } else {
                let host = matched.rsplit('/').next().unwrap_or(matched);
                let is_api = self.api.as_deref().is_none_or(|api| api == host);
                if is_api { "<api>".to_owned() } else { "<loopback>".to_owned() }
            };
            out.push_str(&text[end..whole.start()]);
            out.push_str(&replacement);
            end = whole.end();
        }
        out.push_str(&text[end..]);
        out
    }
}

static DATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?P<before>\s)[0-9]{4}-[01][0-9]-[0-3][0-9](?P<after>[^-0-9A-Za-z]|$)").ok()
});

/// A text with `<date>` for the days in its sentences. What is a date alone, or part of a name, may be a version.
pub(super) fn without_dates(text: &str) -> std::borrow::Cow<'_, str> {
    match DATE.as_ref() {
        Some(date) => date.replace_all(text, "${before}<date>${after}"),
        None => text.into(),
    }
}

/// Milliseconds since 1970 when the whole text is a time.
pub(super) fn whole_time(text: &str) -> Option<i64> {
    let is_likely = (20..=40).contains(&text.len()) && text.as_bytes()[4] == b'-';
    is_likely.then(|| time::parse(text)).flatten().map(|(millis, _)| millis)
}

/// Replaces a text wherever it does not go on as the same word.
fn replace(text: &str, wanted: &str, placeholder: &str, is_word: impl Fn(char) -> bool) -> String {
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for (start, _) in text.match_indices(wanted) {
        let after = text[start + wanted.len()..].chars().next();
        let before = text[..start].chars().next_back();
        let begins_as_word = wanted.chars().next().is_some_and(&is_word) && before.is_some_and(&is_word);
        if after.is_some_and(&is_word) || begins_as_word {
            continue;
        }
        out.push_str(&text[end..start]);
        out.push_str(placeholder);
        end = start + wanted.len();
    }
    out.push_str(&text[end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{By, VolatileEntry};

    #[test]
    fn days_in_sentences_are_no_versions() {
        assert_eq!(without_dates("Today's date is 2026-11-16.\n"), "Today's date is <date>.\n");
        for kept in
            ["2023-06-01", "x 2026-11-16-beta", "beta-2025-04-14", "id 2026-39-16", "at 2026-11-16T10"]
        {
            assert_eq!(without_dates(kept), kept);
        }
    }

    #[test]
    fn the_same_value_is_the_same_placeholder() {
        let mut places = Placeholders::default();
        let (a, b) = ("0000c1a0-0000-4000-8000-000000000001", "0000c1a0-0000-4000-8000-000000000002");
        assert_eq!(places.text(&format!("{a} and {b}")), "<uuid:1> and <uuid:2>");
        assert_eq!(places.text(&format!("again {}!", b.to_uppercase())), "again <uuid:2>!");
        assert_eq!(places.text("msg_01X toolu_9 req_7 msg_count"), "<msg:1> <toolu:1> <req:1> msg_count");
    }

    #[test]
    fn times_that_go_back_are_told() {
        let mut places = Placeholders::default();
        assert_eq!(places.text("2026-11-16T05:37:08.269Z"), "<time>");
        assert_eq!(places.text("2026-11-16T05:37:08.269Z"), "<time>");
        assert_eq!(places.text("2026-11-16T05:37:08.268Z"), "<time:earlier>");
        assert_eq!(places.text("at 2020-01-01 00:00:00"), "at <time>");
    }

    #[test]
    fn paths_and_ids_end_where_words_end() {
        let mut places = Placeholders::default();
        places.know("/tmp/x/work", "<cwd>");
        places.know("/tmp/x", "<room>");
        places.know_id("b1c2", "task");
        places.settle();
        places.know_api("127.0.0.1:8787");
        let text =
            "/tmp/x/work/a.txt /tmp/x/work2 (/tmp/x/work) b1c2. b1c2d http://127.0.0.1:8787/v1 localhost:99";
        let expected = "<cwd>/a.txt <room>/work2 (<cwd>) <task:1>. b1c2d <api>/v1 <loopback>";
        assert_eq!(places.text(text), expected);
    }

    #[test]
    fn what_is_told_in_texts_is_found_there() {
        let mut places = Placeholders::default();
        let mut rules = Volatile::default();
        rules.add(Class::Milliseconds, vec!["duration_ms".into()]);
        places.know_rules(&rules);
        places.know_id("a74b16", "task");
        places.settle();
        let text = "session: 12345678-0000-4000-8000-000000000001 at: 2026-11-16T05:37:08Z";
        assert_eq!(places.text(text), "session: <uuid:1> at: <time>");
        let text = "tool_uses: 3\nduration_ms: 125</usage> x.backup.1794812009844 agent-a74b16.jsonl a74b167";
        let expected = "tool_uses: 3\nduration_ms: <ms></usage> x.backup.<time> agent-<task:1>.jsonl a74b167";
        assert_eq!(places.text(text), expected);
    }

    #[test]
    fn what_has_a_pattern_is_found_in_texts_and_an_id_of_it_elsewhere() {
        let entry =
            |class, pattern: &str| VolatileEntry { class, by: By::Matches, places: vec![pattern.into()] };
        let entries = [
            entry(Class::Id("project".into()), "/sessions/([0-9a-f]{4})/"),
            entry(Class::Number, r"thread \((\d+)\)"),
        ];
        let mut places = Placeholders::default();
        places.know_rules(&Volatile::default().and(&entries));
        assert_eq!(
            places.text("in /sessions/12ab/x, thread (77) and (77)"),
            "in /sessions/<project:1>/x, thread (<number>) and (77)"
        );
        assert_eq!(places.text("12ab 34cd"), "<project:1> 34cd");
    }

    #[test]
    fn a_target_cannot_print_a_placeholder() {
        let mut places = Placeholders::default();
        assert_eq!(places.text("<uuid:1> <b> <ms>"), "<literal:uuid:1> <b> <literal:ms>");
    }

    #[test]
    fn of_many_ids_each_is_found() {
        let mut places = Placeholders::default();
        (0..1000).for_each(|number| places.know_id(&format!("task{number}"), "task"));
        places.settle();
        assert_eq!(places.text("task7 task77, xtask7"), "<task:2> <task:1>, xtask7");
        assert_eq!(places.text("(task999)/task7"), "(<task:3>)/<task:2>");
    }
}
