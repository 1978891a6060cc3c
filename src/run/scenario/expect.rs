//! `[expect]`: what a run has to be like.

use std::fmt;

use crate::classify::Class;
use crate::document::{FileError, Item, Table};
use crate::events::Profile;
use crate::text::nearest;

use super::run::strings;

/// What a run has to be like. What is not said is not asked for, but the verdict: it is `ok`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Expect {
    /// What became of the run.
    pub verdict: Class,
    /// What may become of it as well, where the documents leave it open.
    pub or_verdicts: Vec<Class>,
    pub detail: Option<String>,
    pub exit: Option<i32>,
    /// The reading that an event log is held to.
    pub profile: Profile,
    /// Must clauses that the run breaks; every other one has to hold, and these have to be broken.
    pub findings: Vec<String>,
    /// What else the verdict says.
    pub advisories: Vec<String>,
    /// How many requests for an answer the API gets.
    pub requests: Option<Requests>,
    /// Files in the working directory.
    pub files: Vec<ExpectedFile>,
    /// Whether processes are left behind, which is otherwise a failure; none where that is a matter of chance.
    pub leftovers: Option<bool>,
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
            or_verdicts: Vec::new(),
            detail: None,
            exit: None,
            profile: Profile::Strict,
            findings: Vec::new(),
            advisories: Vec::new(),
            requests: None,
            files: Vec::new(),
            leftovers: Some(false),
            outside: false,
            stdout_contains: None,
            stderr_contains: None,
        }
    }
}

/// How many requests for an answer the API gets: from `min` to `max`, however many without a `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requests {
    pub min: u64,
    pub max: Option<u64>,
}

impl Requests {
    /// The API is not asked at all.
    pub(crate) const NONE: Self = Self::exactly(0);

    /// This many, no more and no less.
    pub(crate) const fn exactly(count: u64) -> Self {
        Self { min: count, max: Some(count) }
    }

    /// Whether so many are as expected.
    pub(crate) fn holds(self, count: u64) -> bool {
        self.min <= count && self.max.is_none_or(|max| count <= max)
    }

    /// Reads a number, or a table with bounds.
    fn read(item: Item<'_>) -> Result<Self, FileError> {
        const FORMS: &str = "expected a number of requests, or bounds such as { min = 1, max = 5 }";
        let place = item.place();
        if !item.is_table() {
            return item.unsigned().map(Self::exactly).map_err(|_| place.complain(FORMS));
        }
        let mut table = item.into_table()?;
        let (min, max) = (table.unsigned("min")?, table.unsigned("max")?);
        table.finish()?;
        if min.is_none() && max.is_none() {
            return Err(place.complain(FORMS));
        }
        let bounds = Self { min: min.unwrap_or(0), max };
        if let Some(max) = max.filter(|max| *max < bounds.min) {
            return Err(place.complain(format!("no number is at least {} and at most {max}", bounds.min)));
        }
        Ok(bounds)
    }
}

/// As in "expected 3 requests for an answer".
impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, Some(max)) if min == max => write!(f, "{min}"),
            (0, Some(max)) => write!(f, "at most {max}"),
            (min, Some(max)) => write!(f, "{min} to {max}"),
            (min, None) => write!(f, "at least {min}"),
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

fn class(item: Item<'_>) -> Result<Class, FileError> {
    let place = item.place();
    let name = item.into_string()?;
    name.parse().map_err(|_| {
        let known = Class::ALL.map(Class::name);
        let hint = nearest(&name, known).map_or_else(
            || format!("expected one of: {}", known.join(", ")),
            |known| format!("did you mean `{known}`?"),
        );
        place.complain(format!("unknown class `{name}`, {hint}"))
    })
}

impl Expect {
    /// Whether this class is one of those that are expected.
    pub(crate) fn is_met_by(&self, class: Class) -> bool {
        class == self.verdict || self.or_verdicts.contains(&class)
    }

    /// The class, and its detail in parentheses when it matters.
    pub fn outcome(&self) -> String {
        let first = match &self.detail {
            Some(detail) => format!("{} ({detail})", self.verdict),
            None => self.verdict.to_string(),
        };
        let others = self.or_verdicts.iter().map(ToString::to_string);
        std::iter::once(first).chain(others).collect::<Vec<_>>().join(" or ")
    }

    /// Reads a table; what it does not say is as in `base`.
    pub(super) fn read(mut table: Table<'_>, base: &Self) -> Result<Self, FileError> {
        let mut expect = base.clone();
        if let Some(item) = table.take("verdict") {
            if item.is_string() {
                (expect.verdict, expect.or_verdicts) = (class(item)?, Vec::new());
            } else {
                let place = item.place();
                let mut classes = item.into_list()?.into_iter().map(class);
                let first = classes.next().ok_or_else(|| place.complain("expected at least one class"))?;
                (expect.verdict, expect.or_verdicts) = (first?, classes.collect::<Result<_, _>>()?);
            }
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
        if let Some(item) = table.take("requests") {
            expect.requests = Some(Requests::read(item)?);
        }
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
        if let Some(item) = table.take("leftovers") {
            let place = item.place();
            expect.leftovers = if item.is_string() {
                if item.str()? != "any" {
                    return Err(place.complain("expected true, false or \"any\""));
                }
                None
            } else {
                Some(item.bool()?)
            };
        }
        expect.outside = table.boolean("outside")?.unwrap_or(expect.outside);
        expect.stdout_contains = table.string("stdout_contains")?.or(expect.stdout_contains);
        expect.stderr_contains = table.string("stderr_contains")?.or(expect.stderr_contains);
        table.finish()?;
        Ok(expect)
    }
}
