//! Assertions about files that were written.

use super::{Answer, Found, Pattern, clip};
use crate::eval::grade::list;
use crate::eval::observed::Observed;
use crate::text::path_glob;

/// What has to hold for a file.
#[derive(Debug, Clone)]
pub(crate) struct FileCheck {
    pub(super) path: String,
    pub(super) state: FileState,
}

#[derive(Debug, Clone)]
pub(crate) enum FileState {
    Exists,
    Absent,
    Contains(String),
    Matches(Pattern),
}

impl FileCheck {
    /// A path with `*` or `?` stands for every file that was written and fits: one of them has to hold, or none be there.
    pub(super) fn find(&self, observed: &Observed) -> Found {
        let is_pattern = self.path.contains(['*', '?']);
        let is_absent = matches!(self.state, FileState::Absent);
        let literal = self.find_at(observed, &self.path);
        if !is_pattern || (literal.status == Answer::Pass) != is_absent {
            return literal;
        }
        let mut written = Vec::new();
        list(&observed.files, &observed.files, &mut written);
        written.sort();
        let mut last = literal;
        for path in written.iter().filter(|path| path_glob(&self.path, path)) {
            let found = self.find_at(observed, path);
            last = Found { message: format!("{path}: {}", found.message), ..found };
            if (last.status == Answer::Pass) != is_absent {
                break;
            }
        }
        last
    }

    fn find_at(&self, observed: &Observed, path: &str) -> Found {
        let text = match observed.file(path) {
            Ok(text) => text,
            Err(error) => return Found::unchecked(format!("{path}: {error}")),
        };
        match (&self.state, text) {
            (FileState::Absent, None) => Found::when(true, "not written"),
            (FileState::Absent, Some(text)) => Found::when(false, format!("written, {} bytes", text.len())),
            (_, None) => Found::when(false, "not written"),
            (FileState::Exists, Some(text)) => Found::when(true, format!("written, {} bytes", text.len())),
            (FileState::Contains(needle), Some(text)) => {
                let holds = text.contains(needle.as_str());
                Found::when(holds, format!("{} {}", if holds { "found" } else { "missing" }, clip(needle)))
            }
            (FileState::Matches(pattern), Some(text)) => match pattern.find(&text) {
                Ok(Some(found)) => Found::when(true, format!("found {}", clip(found))),
                Ok(None) => Found::when(false, "no match"),
                Err(undecided) => Found::unchecked(undecided.to_string()),
            },
        }
    }

    pub(super) fn describe(&self) -> String {
        let path = &self.path;
        match &self.state {
            FileState::Exists => format!("{path} is written"),
            FileState::Absent => format!("{path} is not written"),
            FileState::Contains(needle) => format!("{path} contains {}", clip(needle)),
            FileState::Matches(pattern) => format!("{path} matches /{}/", pattern.text()),
        }
    }
}
