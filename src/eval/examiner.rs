//! Commands of the author: `setup`, which prepares what a trial begins with, and `exec` assertions, which look at what it
//! left. Both run in a room of their own, held, bounded and kept apart from the machine as a target is; where the
//! machine's files cannot be kept apart nothing runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::runner::locked;
use super::spec::{Case, Input};
use crate::harness::room::RoomFile;
use crate::harness::supervise::Demands;
use crate::harness::{Errand, Recorder, run_errand};
use crate::text::{Masker, head};

/// What was said, for whoever examines it.
pub(crate) const RESPONSE: &str = "response.txt";
const FILE: &str = "exec.json";
/// Of what a command prints, this much is read.
const MOST_BYTES: usize = 64 << 10;
/// How long a setup may take.
const SETUP_PATIENCE: Duration = Duration::from_secs(300);

/// An `exec` assertion: a command and what it needs.
#[derive(Debug, Clone)]
pub struct Exam {
    /// For `sh -c`, in a directory with what the case brought and what was written.
    pub command: String,
    /// Files beside the evaluation that the command needs. They come last, so that no target can replace them.
    pub files: Vec<Input>,
    pub patience: Duration,
}

/// What a command found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examined {
    /// The assertion.
    pub id: String,
    /// The exit code; none when it did not end by itself.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Why it could not be run.
    pub failure: Option<String>,
}

impl Examined {
    /// What it says: whether it holds, or nothing when that cannot be told, and why.
    pub(crate) fn answer(&self) -> (Option<bool>, String) {
        let said = |text: &str| head(text.trim(), 300).to_owned();
        if let Some(failure) = &self.failure {
            return (None, format!("the grader did not run: {failure}"));
        }
        let Some(code) = self.code else {
            return (None, format!("the grader was ended: {}", said(&self.stderr)));
        };
        // A shell that finds nothing to run says so by these.
        if code == 126 || code == 127 {
            return (None, format!("the grader cannot be run: {}", said(&self.stderr)));
        }
        let verdict: Option<Value> = serde_json::from_str(self.stdout.trim()).ok().filter(Value::is_object);
        if let Some(verdict) = &verdict
            && let Some(member) = verdict.get("passed")
        {
            let reason = ["reason", "evidence", "message"].iter().find_map(|key| verdict.get(key)?.as_str());
            let reason = reason.map_or_else(|| said(&self.stdout), said);
            return match (member.as_bool(), code) {
                (Some(true), 0) => (Some(true), reason),
                (Some(false), _) => (Some(false), reason),
                (Some(true), code) => (None, format!("it says `passed` and exits with {code}: {reason}")),
                (None, _) => (None, format!("`passed` is neither true nor false: {}", said(&self.stdout))),
            };
        }
        let text = if self.stdout.trim().is_empty() { &self.stderr } else { &self.stdout };
        let text = said(text);
        let reason =
            if text.is_empty() { format!("exit code {code}") } else { format!("exit code {code}: {text}") };
        (Some(code == 0), reason)
    }
}

/// What was found in an attempt; none when nobody looked.
pub(super) fn read(attempt: &Path) -> Option<Vec<Examined>> {
    serde_json::from_slice(&fs::read(attempt.join(FILE)).ok()?).ok()
}

/// Keeps what was found beside the recording, so that grading again runs nothing.
pub(super) fn keep(attempt: &Path, examined: &[Examined]) -> io::Result<()> {
    let mut value = serde_json::to_value(examined)?;
    Masker::default().mask_value(&mut value);
    fs::write(attempt.join(FILE), value.to_string())
}

pub(super) fn staged(input: &Input) -> RoomFile {
    match input {
        Input::Copy { to, from } => RoomFile::copy(to.clone(), from.clone()),
        Input::Text { to, text } => RoomFile::new(to.clone(), text.clone()),
    }
}

/// Kept apart from files and processes, and from every network.
fn demands() -> Demands {
    Demands { isolation: true, ..Demands::default() }
}

/// Runs a command on what an attempt left, over the files that it began with.
pub(super) fn examine(
    recorder: &Recorder<'_>,
    began_with: Vec<RoomFile>,
    exam: &Exam,
    outputs: &Path,
    said: &str,
) -> Result<Examined, String> {
    let mut files = began_with;
    for entry in fs::read_dir(outputs).into_iter().flatten().flatten() {
        files.push(RoomFile::copy(entry.file_name().to_string_lossy(), entry.path()));
    }
    files.push(RoomFile::new(format!("~/{RESPONSE}"), said));
    files.extend(exam.files.iter().map(staged));
    let args = ["-c".to_owned(), exam.command.clone()];
    let errand = Errand {
        program: Path::new("/bin/sh"),
        args: &args,
        files: &files,
        patience: exam.patience,
        most_bytes: MOST_BYTES,
        keep: None,
    };
    let answer = run_errand(&recorder.pool, demands(), &errand).map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Examined {
        id: String::new(),
        code: answer.code,
        stdout: text(&answer.stdout),
        stderr: answer.failure.filter(|_| answer.code.is_none()).unwrap_or_else(|| text(&answer.stderr)),
        failure: None,
    })
}

/// What the commands of `setup` left, each case once.
#[derive(Default)]
pub(super) struct Prepared(Mutex<BTreeMap<String, Result<PathBuf, String>>>);

impl Prepared {
    /// The files that a trial of the case begins with; the error says why they cannot be made.
    pub(super) fn files(&self, recorder: &Recorder<'_>, case: &Case) -> Result<Vec<RoomFile>, String> {
        if case.setup.is_empty() {
            return Ok(case.files.iter().map(staged).collect());
        }
        let mut known = locked(&self.0);
        let folder = known.entry(case.id.clone()).or_insert_with(|| set_up(recorder, case)).clone()?;
        let entries = fs::read_dir(&folder).map_err(|error| error.to_string())?;
        let file = |entry: fs::DirEntry| RoomFile::copy(entry.file_name().to_string_lossy(), entry.path());
        Ok(entries.flatten().map(file).collect())
    }
}

fn set_up(recorder: &Recorder<'_>, case: &Case) -> Result<PathBuf, String> {
    let folder = recorder.out.join(".setup").join(super::store::safe(&case.id));
    // Of a run that was interrupted.
    _ = fs::remove_dir_all(&folder);
    let files: Vec<RoomFile> = case.files.iter().map(staged).collect();
    let args = ["-e".to_owned(), "-c".to_owned(), case.setup.join("\n")];
    let errand = Errand {
        program: Path::new("/bin/sh"),
        args: &args,
        files: &files,
        patience: SETUP_PATIENCE,
        most_bytes: MOST_BYTES,
        keep: Some(&folder),
    };
    let answer = run_errand(&recorder.pool, demands(), &errand).map_err(|error| format!("setup: {error}"))?;
    match answer.failure {
        None => Ok(folder),
        Some(failure) => {
            let said = String::from_utf8_lossy(&answer.stderr).into_owned();
            Err(format!("setup of case `{}` ended with {failure}: {}", case.id, head(said.trim(), 300)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grader_says_it_by_its_exit_code_or_in_json_and_else_says_nothing() {
        let found = |code: Option<i32>, stdout: &str| {
            Examined { id: "x".into(), code, stdout: stdout.into(), stderr: "why".into(), failure: None }
                .answer()
                .0
        };
        assert_eq!(found(Some(0), ""), Some(true));
        assert_eq!(found(Some(1), "no"), Some(false));
        assert_eq!(found(Some(0), r#"{"passed": true, "reason": "ok"}"#), Some(true));
        assert_eq!(found(Some(0), r#"{"passed": false}"#), Some(false));
        assert_eq!(found(Some(3), r#"{"passed": false}"#), Some(false));
        for (code, stdout) in [
            (Some(1), r#"{"passed": true}"#),
            (Some(0), r#"{"passed": "yes"}"#),
            (Some(127), ""),
            (None, r#"{"passed": true}"#),
        ] {
            assert_eq!(found(code, stdout), None, "{code:?} {stdout}");
        }
        let failed = Examined {
            id: "x".into(),
            code: Some(0),
            stdout: String::new(),
            stderr: String::new(),
            failure: Some("x".into()),
        };
        assert_eq!(failed.answer().0, None);
    }
}
