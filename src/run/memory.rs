//! What the last run left behind: which cases failed, and how long each took.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::event::Status;
use crate::document;
use crate::text::trouble;

const FILE: &str = "last-run.json";

/// The cases of the last run.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastRun {
    cases: BTreeMap<(String, String), (String, f64)>,
}

impl LastRun {
    /// Reads what is in the output folder; nothing when there is none.
    pub(crate) fn read(out: &Path) -> Self {
        Self::parse(&fs::read(out.join(FILE)).unwrap_or_default())
    }

    fn parse(text: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        let case = |case: &Value| {
            let text = |key: &str| Some(case.get(key)?.as_str()?.to_owned());
            let key = (text("target")?, text("case")?);
            Some((key, (text("status")?, case.get("duration_ms")?.as_f64()?)))
        };
        let cases =
            value.get("cases").and_then(Value::as_array).into_iter().flatten().filter_map(case).collect();
        Self { cases }
    }

    /// Reads a file that [`save`](Self::save) wrote; an error when it holds no durations, since a part that is cut by
    /// none would not fit the others.
    pub(crate) fn read_file(path: &Path) -> Result<Self, String> {
        let text = document::read(path).map_err(|error| {
            let reason = trouble(path, &error);
            format!("{}: {reason}; every run leaves its durations in OUT/{FILE}", path.display())
        })?;
        let read = Self::parse(&text);
        if read.is_known() {
            Ok(read)
        } else {
            Err(format!(
                "{} holds no durations of cases; every run leaves them in OUT/{FILE}",
                path.display()
            ))
        }
    }

    /// Whether there was a run.
    pub(crate) fn is_known(&self) -> bool {
        !self.cases.is_empty()
    }

    /// Whether the case failed.
    pub(crate) fn failed(&self, key: &(String, String)) -> bool {
        self.cases.get(key).is_some_and(|(status, _)| status == "fail")
    }

    /// How long the case took.
    pub(crate) fn duration(&self, key: &(String, String)) -> Option<Duration> {
        let (_, ms) = self.cases.get(key)?;
        Duration::try_from_secs_f64(ms / 1000.0).ok()
    }

    /// Takes note of a case. What was not run stays as it was.
    pub(crate) fn note(&mut self, target: &str, case: &str, status: Status, duration_ms: f64) {
        if status != Status::Skipped {
            let key = (target.to_owned(), case.to_owned());
            self.cases.insert(key, (status.name().to_owned(), duration_ms));
        }
    }

    pub(crate) fn save(&self, out: &Path) -> io::Result<()> {
        let cases: Vec<Value> = self
            .cases
            .iter()
            .map(|((target, case), (status, ms))| {
                json!({"target": target, "case": case, "status": status, "duration_ms": ms})
            })
            .collect();
        fs::create_dir_all(out)?;
        // Renamed into place: whoever reads it meanwhile sees the old one or the new one.
        let new = out.join(format!(".{FILE}.new"));
        fs::write(&new, format!("{:#}\n", json!({"schema_version": 1, "cases": cases})))?;
        fs::rename(new, out.join(FILE))
    }
}
