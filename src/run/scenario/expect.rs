//! `[expect]`: what a run has to be like.

use crate::classify::Class;
use crate::document::{FileError, Table};
use crate::events::Profile;
use crate::text::nearest;

use super::run::strings;

/// What a run has to be like. What is not said is not asked for, but the verdict: it is `ok`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Expect {
    /// What became of the run.
    pub verdict: Class,
    pub detail: Option<String>,
    pub exit: Option<i32>,
    /// The reading that an event log is held to.
    pub profile: Profile,
    /// Must clauses that the run breaks; every other one has to hold, and these have to be broken.
    pub findings: Vec<String>,
    /// What else the verdict says.
    pub advisories: Vec<String>,
    /// How many requests for an answer the API gets.
    pub requests: Option<u64>,
    /// Files in the working directory.
    pub files: Vec<ExpectedFile>,
    /// Whether processes are left behind, which is otherwise a failure.
    pub leftovers: bool,
    /// Whether files are written outside the clean room, which is otherwise a failure.
    pub outside: bool,
    pub stdout_contains: Option<String>,
    /// In the standard error.
    pub stderr_contains: Option<String>,
}

impl Default for Expect {
    fn default() -> Self {
        Self {
            verdict: Class::Ok,
            detail: None,
            exit: None,
            profile: Profile::Strict,
            findings: Vec::new(),
            advisories: Vec::new(),
            requests: None,
            files: Vec::new(),
            leftovers: false,
            outside: false,
            stdout_contains: None,
            stderr_contains: None,
        }
    }
}

/// A file that a run leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedFile {
    /// Its path in the working directory.
    pub path: String,
    /// A text in it; none when the file must not exist.
    pub contains: Option<String>,
}

impl Expect {
    /// The class, and its detail in parentheses when it matters.
    pub fn outcome(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{} ({detail})", self.verdict),
            None => self.verdict.to_string(),
        }
    }

    /// Reads a table; what it does not say is as in `base`.
    pub(super) fn read(mut table: Table<'_>, base: &Self) -> Result<Self, FileError> {
        let mut expect = base.clone();
        if let Some(item) = table.take("verdict") {
            let place = item.place();
            let name = item.into_string()?;
            expect.verdict = name.parse().map_err(|_| {
                let known = Class::ALL.map(Class::name);
                let hint = nearest(&name, known).map_or_else(
                    || format!("expected one of: {}", known.join(", ")),
                    |known| format!("did you mean `{known}`?"),
                );
                place.complain(format!("unknown class `{name}`, {hint}"))
            })?;
            // A detail belongs to its class.
            expect.detail = None;
        }
        expect.detail = table.string("detail")?.or(expect.detail);
        if let Some(code) = table.unsigned("exit")? {
            expect.exit = i32::try_from(code).ok();
        }
        if let Some(item) = table.take("profile") {
            let place = item.place();
            expect.profile = Profile::from_name(&item.into_string()?)
                .ok_or_else(|| place.complain("expected \"strict\", \"lenient\" or \"origin\""))?;
        }
        if let Some(item) = table.take("findings") {
            expect.findings = strings(item)?;
        }
        if let Some(item) = table.take("advisories") {
            expect.advisories = strings(item)?;
        }
        expect.requests = table.unsigned("requests")?.or(expect.requests);
        if let Some(item) = table.take("files") {
            for (path, item) in item.into_table()?.into_entries() {
                let place = item.place();
                let contains = if item.is_bool() {
                    if item.bool()? {
                        return Err(
                            place.complain("expected a text in the file, or false when there is none")
                        );
                    }
                    None
                } else {
                    Some(item.into_string()?)
                };
                expect.files.push(ExpectedFile { path, contains });
            }
        }
        expect.leftovers = table.boolean("leftovers")?.unwrap_or(expect.leftovers);
        expect.outside = table.boolean("outside")?.unwrap_or(expect.outside);
        expect.stdout_contains = table.string("stdout_contains")?.or(expect.stdout_contains);
        expect.stderr_contains = table.string("stderr_contains")?.or(expect.stderr_contains);
        table.finish()?;
        Ok(expect)
    }
}
