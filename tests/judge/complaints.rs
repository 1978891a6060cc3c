//! What people complained about is noticed: each complaint is a healthy recording of a real run with a few edits, and
//! the clause that has to fail. Files are named after the issue (anthropics/claude-code, unless they say otherwise).

use std::fs;
use std::path::{Path, PathBuf};

use clawgate::judge::{self, Contracts, Judgement, Options};
use clawgate::recording::Recording;
use clawgate::schema::Level;
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::{ROOT, clawgate, said};
use crate::files::{read_json, write};

/// A complaint as its file tells it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Complaint {
    /// What went wrong, in a sentence.
    what: String,
    /// Further issues about the same.
    #[serde(default)]
    also: Vec<String>,
    /// The recording that it is made of.
    healthy: String,
    /// The clause that notices it in the recording.
    clause: String,
    /// The clause that notices it in the output alone; none where only the recording tells.
    alone: Option<String>,
    /// The level of these clauses.
    #[serde(default = "must")]
    level: String,
    edit: Vec<Edit>,
    /// What mends the recording, where real versions do what is complained about.
    #[serde(default)]
    mended: Vec<Edit>,
}

fn must() -> String {
    "must".into()
}

/// A change to a recording: a member of a line or of `recording.json` is set, lines are dropped, one is repeated, or a
/// text is replaced wherever it is printed. Lines are counted from 1, and from the end where they are negative.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Edit {
    line: i64,
    set: Option<String>,
    recorded: Option<String>,
    to: Value,
    drop: Vec<usize>,
    repeat: Option<usize>,
    replace: Option<String>,
    with: String,
}

/// A recording that is being changed.
struct Changed {
    lines: Vec<String>,
    facts: Value,
}

impl Changed {
    fn open(name: &str) -> Self {
        let folder = data().join("healthy").join(name);
        let stdout = fs::read_to_string(folder.join("stdout")).unwrap();
        Self {
            lines: stdout.lines().map(str::to_owned).collect(),
            facts: read_json(folder.join("recording.json")),
        }
    }

    fn apply(&mut self, edit: &Edit) {
        if let Some(at) = &edit.set {
            let index = if edit.line < 0 { self.lines.len() as i64 + edit.line } else { edit.line - 1 };
            let line = &mut self.lines[index as usize];
            let mut message: Value = serde_json::from_str(line).unwrap();
            put(&mut message, at, &edit.to);
            *line = message.to_string();
        }
        if let Some(at) = &edit.recorded {
            put(&mut self.facts, at, &edit.to);
        }
        let mut number = 0;
        self.lines.retain(|_| {
            number += 1;
            !edit.drop.contains(&number)
        });
        if let Some(number) = edit.repeat {
            let mut again: Value = serde_json::from_str(&self.lines[number - 1]).unwrap();
            put(&mut again, "/uuid", &"00000000-0000-4000-8000-00000000aaaa".into());
            self.lines.insert(number, again.to_string());
        }
        if let Some(old) = &edit.replace {
            assert!(self.lines.iter().any(|line| line.contains(old)), "no {old:?}");
            self.lines.iter_mut().for_each(|line| *line = line.replace(old, &edit.with));
        }
    }

    fn stdout(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// Judges it with everything that was recorded.
    fn judge(&self, contracts: &Contracts) -> Judgement {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("stdout"), self.stdout()).unwrap();
        fs::write(folder.path().join("recording.json"), self.facts.to_string()).unwrap();
        let recording = Recording::open(folder.path()).unwrap();
        judge::recording(&recording, contracts, &Options::default()).unwrap()
    }

    /// Judges what it printed, and nothing else is known.
    fn judge_alone(&self, contracts: &Contracts) -> Judgement {
        judge::output(self.stdout().as_bytes(), contracts, &Options::default()).unwrap()
    }
}

/// Sets a member that is there already, or a new one of an object.
fn put(document: &mut Value, at: &str, to: &Value) {
    if let Some(value) = document.pointer_mut(at) {
        value.clone_from(to);
        return;
    }
    let (parent, name) = at.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[name] = to.clone();
}

fn data() -> PathBuf {
    Path::new(ROOT).join("tests/data/complaints")
}

/// All complaints by their names.
fn complaints() -> Vec<(String, Complaint)> {
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<_> = fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let read = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let complaint = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (name(path), complaint)
    };
    files.iter().map(|path| read(path)).collect()
}

/// What is wrong with the level of a clause in a judgement; nothing when it was found at that level.
fn missing(judged: &Judgement, clause: &str, level: &str) -> Option<String> {
    let found = judged.findings.iter().find(|finding| finding.clause == clause);
    match found {
        Some(finding) if finding.level.name() == level => None,
        Some(finding) => Some(format!("{clause} is {}, not {level}", finding.level.name())),
        None => {
            let others: Vec<_> = judged.findings.iter().map(|finding| finding.clause.as_str()).collect();
            Some(format!("{clause} is quiet, found {others:?}"))
        }
    }
}

#[test]
fn every_complaint_is_noticed() {
    let contracts = Contracts::built_in();
    let mut wrong = Vec::new();
    for (name, complaint) in complaints() {
        let mut changed = Changed::open(&complaint.healthy);
        complaint.edit.iter().for_each(|edit| changed.apply(edit));
        let judged = changed.judge(&contracts);
        let mut say = |reason: String| wrong.push(format!("{name} ({}): {reason}", complaint.what));
        missing(&judged, &complaint.clause, &complaint.level).into_iter().for_each(&mut say);
        if let Some(clause) = &complaint.alone {
            let judged = changed.judge_alone(&contracts);
            let reason = missing(&judged, clause, &complaint.level);
            reason.map(|reason| format!("the output alone: {reason}")).into_iter().for_each(&mut say);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_healthy_twin_is_not_complained_about() {
    let contracts = Contracts::built_in();
    for (name, complaint) in complaints() {
        let mut healthy = Changed::open(&complaint.healthy);
        complaint.mended.iter().for_each(|edit| healthy.apply(edit));
        let alone = complaint.alone.as_ref().map(|_| healthy.judge_alone(&contracts));
        for judged in [Some(healthy.judge(&contracts)), alone].into_iter().flatten() {
            let about = judged.findings.iter().filter(|finding| {
                finding.level == Level::Must
                    || finding.clause == complaint.clause
                    || Some(&finding.clause) == complaint.alone.as_ref()
            });
            let about: Vec<_> = about.map(|finding| (&finding.clause, &finding.message)).collect();
            assert!(about.is_empty(), "{name}: {about:?}");
        }
    }
}

/// The issues that have to have a fixture, besides those that a scenario or another test is named after.
const NUMBERED: &[&str] = &[
    "38706",
    "38769",
    "39044",
    "38774",
    "38611",
    "38709",
    "40432",
    "94392",
    "52917",
    "85066",
    "87836",
    "82747",
    "92541",
    "19645",
    "22686",
    "ccusage 866",
    "39733",
    "58760",
    "1169",
    "58109",
    "86996",
    "20127",
    "25670",
    "94741",
    "36685",
    "63833",
    "67656",
    "43968",
    "42940",
    "40927",
    "42881",
    "1935",
];

#[test]
fn every_issue_has_its_fixture() {
    let complaints = complaints();
    let known = |number: &str| {
        complaints
            .iter()
            .any(|(name, complaint)| name == number || complaint.also.iter().any(|also| also == number))
    };
    let missing: Vec<_> = NUMBERED.iter().filter(|number| !known(number)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The changes that `diff` finds between two runs of the same case, and its exit code.
fn drift(old: &Changed, new: &Changed) -> (Option<i32>, Vec<Value>) {
    let folder = TempDir::new().unwrap();
    for (side, changed) in [("old", old), ("new", new)] {
        let mut facts = changed.facts.clone();
        put(&mut facts, "/scenario", &"claude/complaint".into());
        let files = [("stdout", changed.stdout()), ("recording.json", facts.to_string())];
        for (name, text) in files {
            write(folder.path(), &format!("{side}/{name}"), text);
        }
    }
    said(clawgate(&folder).args(["diff", "old", "new", "--consumer", "documented", "--format", "json"]))
}

/// A reader stops at the first result, and a task in the background makes a second one
/// (anthropics/claude-code-action 1533). What readers rely on is said in their manifests.
#[test]
fn issue_1533_a_reader_of_one_result_is_told_of_several() {
    let (code, changes) = drift(&Changed::open("at-once"), &Changed::open("background"));
    assert_eq!(code, Some(100));
    let broken =
        |change: &Value| change["kind"] == "message-repeated" && change["message"] == "result/success";
    assert!(changes.iter().any(|change| broken(change) && change["effect"] == "breaking"), "{changes:#?}");
}

/// Thoughts are no longer printed (anthropics/claude-code 20127): also seen between two versions.
#[test]
fn issue_20127_a_lost_kind_of_block_breaks_readers() {
    let mut lost = Changed::open("told");
    lost.apply(&Edit { drop: vec![14, 26], ..Edit::default() });
    let (code, changes) = drift(&Changed::open("told"), &lost);
    assert_eq!(code, Some(100));
    let broken = |change: &Value| change["kind"] == "element-removed" && change["effect"] == "breaking";
    assert!(changes.iter().any(broken), "{changes:#?}");
}
