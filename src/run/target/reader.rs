//! Reads targets from TOML; every complaint has its place in the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ABILITIES, EvalPart, Npm, Prices, Speaks, Target, Transform};
use crate::document::{Document, FileError, Item, Table, VolatileEntry};
use crate::golden::Volatile;
use crate::harness::room::RoomFile;
use crate::harness::timers::Limits;
use crate::run::scenario::room_file;
use crate::schema::{self, ContractSet};
use crate::text::{did_you_mean, nearest};

/// A target that prints more than this is stopped, unless its file says otherwise.
const MOST_STDOUT: u64 = 256 << 20;

impl Target {
    /// Reads a target; `file` names it in errors.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        let mut root = Document::parse(file, text)?;
        let mut head = root.require("target", "a table with the target's name and program")?.into_table()?;
        let name = head.require("name", "what the target is called")?;
        let place = name.place();
        let name = name.into_string()?;
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')) {
            return Err(place.complain("expected a name of letters, digits, `-`, `_` and `.`"));
        }
        let mut target = Self {
            name,
            description: head.string("description")?.unwrap_or_default(),
            program: head.require("program", "what is started")?.into_string()?,
            version: strings(&mut head, "version")?,
            install: head.string("install")?,
            npm: root.take("npm").map(Npm::read).transpose()?,
            env: pairs(&mut root, "env")?,
            secrets: pairs(&mut root, "secrets")?,
            files: files(&mut root)?,
            limits: Limits::default(),
            most_stdout: MOST_STDOUT,
            speaks: Vec::new(),
            volatile: Volatile::new(VolatileEntry::read_all(&root.list("volatile")?)?),
            transforms: root.list("transform")?.into_iter().map(Transform::read).collect::<Result<_, _>>()?,
            can: head.take("can").map(abilities).transpose()?,
            prices: root.take("prices").map(Prices::read).transpose()?,
            eval: root.take("eval").map(EvalPart::read).transpose()?.unwrap_or_default(),
        };
        head.finish()?;
        if let Some(item) = root.take("limits") {
            target.read_limits(item.into_table()?)?;
        }
        for item in root.list("speaks")? {
            target.speaks.push(speaks(file, item.into_table()?)?);
        }
        if target.speaks.is_empty() {
            return Err(root.complain("a target needs at least one [[speaks]] with the contract it promises"));
        }
        root.finish()?;
        Ok(target)
    }

    fn read_limits(&mut self, mut table: Table<'_>) -> Result<(), FileError> {
        let limits = &mut self.limits;
        for (limit, name) in [
            (&mut limits.wall, "wall_ms"),
            (&mut limits.first_event, "first_event_ms"),
            (&mut limits.idle, "idle_ms"),
            (&mut limits.after_result, "after_result_ms"),
        ] {
            if let Some(ms) = table.unsigned(name)? {
                *limit = Duration::from_millis(ms);
            }
        }
        self.most_stdout = table.unsigned("most_stdout")?.unwrap_or(self.most_stdout);
        table.finish()
    }
}

/// A built-in contract by its name, or one of the user's own by its path from the target's file.
fn contract(file: &str, item: Item<'_>) -> Result<(String, Option<PathBuf>), FileError> {
    let place = item.place();
    let named = item.into_string()?;
    if !named.contains('/') {
        if schema::built_in().any(|known| known == named) {
            return Ok((named, None));
        }
        let hint = nearest(&named, schema::built_in()).map_or_else(
            || "a contract of your own is named by its path, such as ./my-contract".to_owned(),
            |known| format!("did you mean `{known}`?"),
        );
        return Err(place.complain(format!("unknown contract `{named}`; {hint}")));
    }
    let path = Path::new(file).with_file_name(&named);
    let path = std::path::absolute(&path).unwrap_or(path);
    let set =
        ContractSet::open(&path.display().to_string()).map_err(|error| place.complain(error.to_string()))?;
    Ok((set.name().to_owned(), Some(path)))
}

fn speaks(file: &str, mut table: Table<'_>) -> Result<Speaks, FileError> {
    let (contract, contract_at) =
        contract(file, table.require("contract", "the contract that it promises")?)?;
    let speaks = Speaks {
        part_of: part_of(contract_at.as_deref(), &contract)?,
        contract,
        contract_at,
        version: table.string("version")?,
        args: filled(&mut table, "args", &[])?,
        prompt: prompt(&mut table)?,
        prompt_on_stdin: table.take("prompt_on_stdin").map(words).transpose()?,
        flags: table.take("flags").map(flags).transpose()?,
        env: pairs(&mut table, "env")?,
    };
    table.finish()?;
    Ok(speaks)
}

/// The contract that another one is a part of.
fn part_of(own: Option<&Path>, named: &str) -> Result<Option<String>, FileError> {
    schema::part_of(&own.map_or_else(|| named.to_owned(), |path| path.display().to_string()))
}

/// What the target claims to do.
fn abilities(item: Item<'_>) -> Result<Vec<String>, FileError> {
    let ability = |item: Item<'_>| {
        let place = item.place();
        let word = item.into_string()?;
        if ABILITIES.contains(&word.as_str()) {
            return Ok(word);
        }
        let hint = did_you_mean(&word, &ABILITIES);
        Err(place.complain(format!("unknown ability `{word}`{hint}")))
    };
    item.into_list()?.into_iter().map(ability).collect()
}

/// What stands for the question in `prompt`.
const PROMPT: &str = "{prompt}";
/// What is filled in before the target is started.
const FILLED: [&str; 4] = ["{api}", "{home}", "{tmp}", "{work}"];

/// The arguments that ask a question; one of them holds it.
fn prompt(table: &mut Table<'_>) -> Result<Vec<String>, FileError> {
    let missing = table.take("prompt");
    let Some(item) = missing else { return Ok(Vec::new()) };
    let place = item.place();
    let items = item.into_list()?;
    let words = items.into_iter().map(|item| known_places(item, &[PROMPT])).collect::<Result<Vec<_>, _>>()?;
    if !words.is_empty() && !words.iter().any(|word| word.contains(PROMPT)) {
        return Err(place.complain("expected `{prompt}` in one of them, where the question goes"));
    }
    Ok(words)
}

/// A list of texts in which only these places are filled in.
fn filled(table: &mut Table<'_>, key: &'static str, known: &[&str]) -> Result<Vec<String>, FileError> {
    table.list(key)?.into_iter().map(|item| known_places(item, known)).collect()
}

/// A text; a place in it that nobody fills, such as `{url}`, is a mistake. Other braces are text.
fn known_places(item: Item<'_>, known: &[&str]) -> Result<String, FileError> {
    let place = item.place();
    let text = item.into_string()?;
    check_places(&text, known).map_err(|wrong| place.complain(wrong))?;
    Ok(text)
}

/// Whether all places in a text are known; the error says which is not.
fn check_places(text: &str, known: &[&str]) -> Result<(), String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        rest = after;
        let Some((name, _)) = after.split_once('}') else { break };
        let is_place = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let named = format!("{{{name}}}");
        if is_place && !known.contains(&named.as_str()) {
            let hint = match known {
                [] => "nothing is filled in here".to_owned(),
                known => format!("filled in are {}", known.join(", ")),
            };
            return Err(format!("unknown placeholder `{named}`; {hint}"));
        }
    }
    Ok(())
}

fn words(item: Item<'_>) -> Result<Vec<String>, FileError> {
    item.into_list()?.into_iter().map(Item::into_string).collect()
}

/// Flags as help writes them: `--compact`, or `--model MODEL` where one takes a value.
fn flags(item: Item<'_>) -> Result<Vec<String>, FileError> {
    let flag = |item: Item<'_>| {
        let place = item.place();
        let flag = item.into_string()?;
        let is_one = flag.starts_with('-') && matches!(flag.split_whitespace().count(), 1 | 2);
        is_one.then_some(flag).ok_or_else(|| {
            place.complain("expected a flag as help writes it, such as `--compact` or `--model MODEL`")
        })
    };
    item.into_list()?.into_iter().map(flag).collect()
}

fn strings(table: &mut Table<'_>, key: &'static str) -> Result<Vec<String>, FileError> {
    table.list(key)?.into_iter().map(Item::into_string).collect()
}

fn pairs(table: &mut Table<'_>, key: &'static str) -> Result<Vec<(String, String)>, FileError> {
    let Some(item) = table.take(key) else { return Ok(Vec::new()) };
    item.into_table()?
        .into_entries()
        .into_iter()
        .map(|(name, item)| Ok((name, known_places(item, &FILLED)?)))
        .collect()
}

/// Files as a scenario has them, in whose text places are filled in.
fn files(table: &mut Table<'_>) -> Result<Vec<RoomFile>, FileError> {
    let Some(item) = table.take("files") else { return Ok(Vec::new()) };
    let read = |(path, item): (String, Item<'_>)| {
        let place = item.place();
        let file = room_file(path, item)?;
        check_places(&file.text, &FILLED).map_err(|wrong| place.complain(wrong))?;
        Ok(file)
    };
    item.into_table()?.into_entries().into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_say_where() {
        let complaint = |text: &str| Target::parse("t.toml", text).unwrap_err().headline();
        assert!(complaint("[target]\nname = \"x\"").contains("missing key `program`"));
        assert!(complaint("target = { name = \"x\", program = \"x\" }").contains("[[speaks]]"));
        assert_eq!(
            complaint("target = { name = \"x\", program = \"x\" }\n[limits]\nwal_ms = 1"),
            "t.toml:3:1: unknown key `wal_ms`, did you mean `wall_ms`? (at limits.wal_ms)"
        );
        let flags = "target = { name = \"x\", program = \"x\" }\n[[speaks]]\ncontract = \"claw-flat\"\nflags = [\"model\"]";
        assert_eq!(
            complaint(flags),
            "t.toml:4:10: expected a flag as help writes it, such as `--compact` or `--model MODEL` (at speaks[0].flags[0])"
        );
        assert!(complaint("target = { name = \"a b\", program = \"x\" }").starts_with("t.toml:1:19: "));
        let speaks = |line: &str| {
            let head = "target = { name = \"x\", program = \"x\" }\n[[speaks]]\ncontract = \"claw-flat\"\n";
            complaint(&format!("{head}{line}"))
        };
        assert_eq!(
            speaks("env = { URL = \"{url}/v1\" }"),
            "t.toml:4:15: unknown placeholder `{url}`; filled in are {api}, {home}, {tmp}, {work} (at speaks[0].env.URL)"
        );
        assert!(
            speaks("args = [\"--base={api}\"]").contains("unknown placeholder `{api}`; nothing is filled in")
        );
        assert!(speaks("prompt = [\"-p\", \"{promt}\"]").contains("filled in are {prompt}"));
        assert!(speaks("prompt = [\"-p\"]").contains("expected `{prompt}` in one of them"));
        let files = |line: &str| {
            complaint(&format!(
                "target = {{ name = \"x\", program = \"x\" }}\n[files]\n{line}\n[[speaks]]\ncontract = \"claw-flat\"\n"
            ))
        };
        assert_eq!(
            files("\"~/a.toml\" = \"url = '{url}'\""),
            "t.toml:3:14: unknown placeholder `{url}`; filled in are {api}, {home}, {tmp}, {work} (at files.~/a.toml)"
        );
        assert!(files("a = { text = \"{api}\", mod = 1 }").contains("unknown key `mod`"));
        // What is no place is text.
        let json = "target = { name = \"x\", program = \"x\" }\n[[speaks]]\ncontract = \"claw-flat\"\nargs = ['{\"a\":1}', '{}']";
        assert!(Target::parse("t.toml", json).is_ok());
    }
}
