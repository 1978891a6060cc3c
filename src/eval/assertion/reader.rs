//! Reads assertions. Those of clauditor's files and those of our own share their names; ours know more.

use std::path::Path;
use std::time::Duration;

use super::files::{FileCheck, FileState};
use super::json::{JsonCheck, Schema, Wanted, pointer};
use super::reach::ReachCheck;
use super::text::{Noun, TextCheck};
use super::tools::{ToolCheck, Which};
use super::{About, Assertion, Check, Format, Pattern};
use crate::classify::Class;
use crate::document::{FileError, Item, Place, Table};
use crate::eval::examiner::Exam;
use crate::eval::spec::{Input, is_inside};
use crate::text::did_you_mean;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Own,
    /// clauditor's: every assertion has an id, and its own types only.
    Clauditor,
}

const CLAUDITOR: [&str; 10] = [
    "contains",
    "not_contains",
    "regex",
    "min_count",
    "min_length",
    "max_length",
    "has_urls",
    "has_entries",
    "urls_reachable",
    "has_format",
];
const OWN: [&str; 19] = [
    "exec",
    "not_regex",
    "max_count",
    "equals",
    "json",
    "json_schema",
    "file",
    "no_file",
    "exit",
    "verdict",
    "tool_used",
    "tool_not_used",
    "tool_at_most",
    "tool_order",
    "skill_used",
    "skill_not_used",
    "max_cost_usd",
    "max_tokens",
    "max_turns",
];
/// Besides those above; it has no room in a line.
const MAX_SECONDS: &str = "max_seconds";

/// What people write instead of the right key.
const SLIPS: [(&str, &[&str]); 6] = [
    ("needle", &["value", "pattern", "text"]),
    ("pattern", &["value", "regex"]),
    ("length", &["value", "min", "max"]),
    ("count", &["value", "minimum", "min_count", "threshold"]),
    ("format", &["name"]),
    ("tool", &["name"]),
];

/// Reads one assertion; `number` names it when it has no id.
pub(crate) fn read<'t>(
    item: Item<'t>,
    dialect: Dialect,
    number: usize,
    folder: Option<&'t Path>,
) -> Result<Assertion, FileError> {
    let mut table = item.into_table()?;
    let kind = table.require("type", "what has to hold, such as \"contains\"")?;
    let place = kind.place();
    let kind = kind.into_string()?;
    let own = OWN.into_iter().chain([MAX_SECONDS]).filter(|_| dialect == Dialect::Own);
    let known: Vec<&str> = CLAUDITOR.into_iter().chain(own).collect();
    if !known.contains(&kind.as_str()) {
        return Err(place.complain(format!("unknown type `{kind}`{}", did_you_mean(&kind, &known))));
    }
    let id = match dialect {
        Dialect::Clauditor => Some(table.require("id", "what identifies the assertion")?.into_string()?),
        Dialect::Own => table.string("id")?,
    };
    if dialect == Dialect::Clauditor {
        table.string("name")?;
    }
    let about = about(&mut table, dialect)?;
    let mut reader = Reader { table, place, dialect, folder };
    let check = reader.check(&kind)?;
    reader.finish()?;
    let id = id.unwrap_or_else(|| format!("{kind}-{number}"));
    Ok(Assertion { id, about, check })
}

fn about(table: &mut Table<'_>, dialect: Dialect) -> Result<About, FileError> {
    if dialect == Dialect::Clauditor {
        return Ok(About::Output);
    }
    let Some(item) = table.take("in") else { return Ok(About::Output) };
    let place = item.place();
    Ok(match item.into_string()?.as_str() {
        "output" => About::Output,
        "final" => About::Final,
        path if is_inside(path) => About::File(path.to_owned()),
        _ => return Err(place.complain(OUTSIDE)),
    })
}

/// Where no file can be: such an assertion would always hold, or never.
const OUTSIDE: &str = "expected the path of a file below the working directory";

/// The name of a tool. What none is called would never be called, and `tool_not_used` always hold.
fn tool(item: Item<'_>) -> Result<String, FileError> {
    let place = item.place();
    let name = item.into_string()?;
    match super::tools::no_tool(&name) {
        Some(why) => Err(place.complain(why)),
        None => Ok(name),
    }
}

struct Reader<'t> {
    table: Table<'t>,
    place: Place<'t>,
    dialect: Dialect,
    /// Where the evaluation file is, and the files that a grader needs.
    folder: Option<&'t Path>,
}

impl<'t> Reader<'t> {
    fn check(&mut self, kind: &str) -> Result<Check, FileError> {
        let text = |check| Ok(Check::Text(check));
        match kind {
            "contains" => text(TextCheck::Contains(self.needle()?)),
            "not_contains" => text(TextCheck::NotContains(self.needle()?)),
            "equals" => text(TextCheck::Equals(self.text("text")?)),
            "regex" => text(TextCheck::Regex(self.pattern()?)),
            "not_regex" => text(TextCheck::NotRegex(self.pattern()?)),
            "min_count" | "max_count" => {
                let (pattern, count) = (self.pattern()?, self.whole("count")?);
                let is_least = kind == "min_count";
                text(TextCheck::Count {
                    pattern,
                    least: if is_least { count } else { 0 },
                    most: (!is_least).then_some(count),
                    noun: Noun::Matches,
                })
            }
            "min_length" => text(TextCheck::MinLength(self.whole("length")?)),
            "max_length" => text(TextCheck::MaxLength(self.whole("length")?)),
            "has_urls" => {
                let count = self.count()?;
                self.placed(TextCheck::urls(count)).map(Check::Text)
            }
            "has_entries" => {
                let count = self.count()?;
                self.placed(TextCheck::entries(count)).map(Check::Text)
            }
            "urls_reachable" => {
                let least = self.count()?;
                self.placed(ReachCheck::new(least)).map(Check::Reach)
            }
            "has_format" => {
                let item = self.require("format")?;
                let place = item.place();
                let format = Format::named(&item.into_string()?).map_err(|why| place.complain(why))?;
                text(TextCheck::format(format, self.count()?))
            }
            "json" => self.json().map(Check::Json),
            "json_schema" => {
                let item = self.require("schema")?;
                let place = item.place();
                let schema = Schema::compile(&item.json()?).map_err(|why| place.complain(why))?;
                Ok(Check::Json(JsonCheck::Schema(schema)))
            }
            "file" | "no_file" => self.file(kind == "file").map(Check::File),
            "exit" => {
                let code = self.whole("code")?;
                i32::try_from(code).map(Check::Exit).map_err(|_| self.place.complain("no such exit code"))
            }
            "exec" => self.exec().map(Check::Exec),
            "verdict" => self.verdict().map(Check::Verdict),
            "skill_used" => Ok(Check::Skill(true)),
            "skill_not_used" => Ok(Check::Skill(false)),
            "max_cost_usd" => self.figure("usd").map(Check::MaxCost),
            "max_tokens" => self.whole("count").map(Check::MaxTokens),
            "max_turns" => self.whole("count").map(Check::MaxTurns),
            MAX_SECONDS => self.figure("seconds").map(Check::MaxSeconds),
            kind => self.tool(kind).map(Check::Tool),
        }
    }

    fn tool(&mut self, kind: &str) -> Result<ToolCheck, FileError> {
        if kind == "tool_order" {
            let items = self.table.list("tools")?;
            let tools = items.into_iter().map(tool).collect::<Result<Vec<_>, _>>()?;
            if tools.is_empty() {
                return Err(self.place.complain("missing key `tools`: the tools in their order"));
            }
            return Ok(ToolCheck::Order(tools));
        }
        let mut which = Which { tool: None, input: None, pattern: None };
        which.tool = match self.table.take("tool") {
            Some(item) => Some(tool(item)?),
            None if kind == "tool_at_most" => None,
            None => Some(self.text("tool")?),
        };
        which.input = self.table.take("input").map(|item| item.json()).transpose()?;
        if let Some(item) = self.table.take("input_pattern") {
            which.pattern = Some(pattern(item)?);
        }
        Ok(match kind {
            "tool_used" => ToolCheck::Calls { which, least: self.count()?, most: None },
            "tool_not_used" => ToolCheck::Calls { which, least: 0, most: Some(0) },
            _ => ToolCheck::Calls { which, least: 0, most: Some(self.whole("count")?) },
        })
    }

    fn json(&mut self) -> Result<JsonCheck, FileError> {
        let item = self.require("path")?;
        let place = item.place();
        let path = item.into_string()?;
        let pointer = pointer(&path).map_err(|why| place.complain(why))?;
        let equals = self.table.take("equals").map(|item| item.json()).transpose()?;
        let matches = self.table.take("pattern").map(pattern).transpose()?;
        let count = self.table.unsigned("count")?;
        let value = match (equals, matches, count) {
            (None, None, None) => Wanted::Present,
            (Some(value), None, None) => Wanted::Equals(value),
            (None, Some(pattern), None) => Wanted::Matches(pattern),
            (None, None, Some(count)) => Wanted::Count(count),
            _ => return Err(place.complain("either `equals`, `pattern` or `count`, not several")),
        };
        Ok(JsonCheck::Path { path, pointer, value })
    }

    fn file(&mut self, exists: bool) -> Result<FileCheck, FileError> {
        let item = self.require("path")?;
        let place = item.place();
        let path = item.into_string()?;
        if !is_inside(&path) {
            return Err(place.complain(OUTSIDE));
        }
        if !exists {
            return Ok(FileCheck { path, state: FileState::Absent });
        }
        let contains = self.table.string("contains")?;
        let state = match (contains, self.table.take("pattern")) {
            (None, None) => FileState::Exists,
            (Some(needle), None) => FileState::Contains(needle),
            (None, Some(item)) => FileState::Matches(pattern(item)?),
            (Some(_), Some(item)) => {
                return Err(item.complain("either `contains` or `pattern`, not both"));
            }
        };
        Ok(FileCheck { path, state })
    }

    fn exec(&mut self) -> Result<Exam, FileError> {
        let item = self.require("command")?;
        let place = item.place();
        let command = item.into_string()?;
        if command.trim().is_empty() {
            return Err(place.complain("expected a command for sh, found none"));
        }
        let mut files = Vec::new();
        for item in self.table.list("files")? {
            let place = item.place();
            let name = item.into_string()?;
            if !is_inside(&name) {
                return Err(place.complain("expected the path of a file beside the evaluation"));
            }
            let from = self.folder.unwrap_or(Path::new(".")).join(&name);
            if !from.exists() {
                return Err(place.complain(format!("{} does not exist", from.display())));
            }
            files.push(Input::Copy { to: name, from });
        }
        let seconds = match self.table.take("timeout_seconds") {
            None => 60,
            Some(item) => {
                let place = item.place();
                match item.unsigned()? {
                    seconds @ 1..=3600 => seconds,
                    _ => return Err(place.complain("expected 1 to 3600 seconds")),
                }
            }
        };
        Ok(Exam { command, files, patience: Duration::from_secs(seconds) })
    }

    fn verdict(&mut self) -> Result<Vec<Class>, FileError> {
        let item = self.require("class")?;
        let items = if item.is_string() { vec![item] } else { item.into_list()? };
        items
            .into_iter()
            .map(|item| {
                let place = item.place();
                let name = item.into_string()?;
                name.parse().map_err(|_| {
                    let hint = did_you_mean(&name, &Class::ALL.map(Class::name));
                    place.complain(format!("unknown class `{name}`{hint}"))
                })
            })
            .collect()
    }

    /// A key that has to be there; a usual slip is pointed out before it is said to be missing.
    fn require(&mut self, key: &'static str) -> Result<Item<'t>, FileError> {
        if let Some(item) = self.table.take(key) {
            return Ok(item);
        }
        let slips = SLIPS.iter().find(|(known, _)| *known == key).map_or(&[][..], |(_, slips)| slips);
        for slip in slips {
            if let Some(item) = self.table.take(slip) {
                return Err(item.complain(format!("unknown key `{slip}`, did you mean `{key}`?")));
            }
        }
        Err(self.table.complain(format!("missing key `{key}`")))
    }

    fn text(&mut self, key: &'static str) -> Result<String, FileError> {
        self.require(key)?.into_string()
    }

    /// A text that is searched for. Nothing is in every text; clauditor's files may say so and agree with clauditor.
    fn needle(&mut self) -> Result<String, FileError> {
        let item = self.require("needle")?;
        let place = item.place();
        let needle = item.into_string()?;
        if needle.is_empty() && self.dialect == Dialect::Own {
            return Err(place.complain("expected a text, found none, which every text contains"));
        }
        Ok(needle)
    }

    fn whole(&mut self, key: &'static str) -> Result<u64, FileError> {
        self.require(key)?.unsigned()
    }

    fn figure(&mut self, key: &'static str) -> Result<f64, FileError> {
        self.require(key)?.number()
    }

    fn count(&mut self) -> Result<u64, FileError> {
        Ok(self.table.unsigned("count")?.unwrap_or(1))
    }

    fn pattern(&mut self) -> Result<Pattern, FileError> {
        let item = self.require("pattern")?;
        pattern(item)
    }

    fn placed<T>(&self, result: Result<T, String>) -> Result<T, FileError> {
        result.map_err(|why| self.place.complain(why))
    }

    /// Refuses the other keys; a usual slip for an optional one is pointed out.
    fn finish(mut self) -> Result<(), FileError> {
        for slip in ["minimum", "min_count", "threshold", "value"] {
            if let Some(item) = self.table.take(slip) {
                return Err(item.complain(format!("unknown key `{slip}`, did you mean `count`?")));
            }
        }
        self.table.finish()
    }
}

fn pattern(item: Item<'_>) -> Result<Pattern, FileError> {
    let place = item.place();
    Pattern::parse(&item.into_string()?).map_err(|why| place.complain(why))
}
