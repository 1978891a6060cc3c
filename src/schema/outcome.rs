//! `[outcome]` of a contract: where the end, the answer and the price of a run are, and which sign means which class.
//!
//! ```toml
//! [outcome]
//! session = { on = "started", at = "/thread_id" }      # `on` is a kind, a condition on the message, or a list of them
//! text = { on = "message", at = "/item/text" }
//! tokens = { on = "done", input = "/usage/input_tokens", output = "/usage/output_tokens" }
//! end = [{ on = "done" }, { on = "failed", failed = true, message = "/error/message" }]
//!
//! [[outcome.row]]
//! id = "status-429"
//! on = "failed"
//! when = { "/error/message" = { matches = 'last status: 429\b' } }
//! class = "rate_limit"
//! text = "The API refused the last attempt with status 429."
//! ```

use super::condition::{Condition, Scope, pointer};
use super::contract::Kinds;
use super::pattern::regex;
use super::rule::choice;
use crate::document::{FileError, Item, Table as Fields};
use crate::json::Pointer;
use crate::outcome::{Entry, Join, MessageTest, Row, Selector, Table, Take, Tokens};
use crate::text::did_you_mean;

/// The classes that a row can mean, in the order in which they are decided.
pub const CLASSES: [&str; 16] = [
    "timeout",
    "crash",
    "usage",
    "protocol",
    "truncated",
    "interrupted",
    "limit",
    "rate_limit",
    "auth",
    "api",
    "not_found",
    "error",
    "blocked",
    "interactive",
    "background-task",
    "permission",
];

const JOINS: [(&str, Join); 2] = [("last", Join::Last), ("deltas", Join::Deltas)];

/// The rows of a contract: the id and the class of each.
pub fn rows(contract: &super::Contract) -> Vec<(&str, &str)> {
    let rows = contract.outcome().into_iter().flat_map(|table| &table.rows);
    rows.map(|row| (row.id.as_str(), row.class.as_str())).collect()
}

/// Reads the section.
pub(super) fn load(node: &Item<'_>, kinds: &Kinds) -> Result<Table, FileError> {
    let fields = node.table()?;
    let mut loader = Loader { kinds, entries: Vec::new() };
    let at = |fields: &Fields<'_>| pointer(&fields.need("at")?);
    loader.places(&fields, "session", &|_, fields| Ok(Take::Session(at(fields)?)))?;
    loader.places(&fields, "model", &|_, fields| Ok(Take::Model(at(fields)?)))?;
    loader.places(&fields, "version", &|_, fields| Ok(Take::Version(at(fields)?)))?;
    loader.places(&fields, "cost", &|_, fields| Ok(Take::Cost(at(fields)?)))?;
    loader.places(&fields, "thinking", &|_, fields| Ok(Take::Thinking(at(fields)?)))?;
    loader.places(&fields, "text", &|_, fields| {
        let join = fields.get("join").map_or(Ok(Join::Last), |node| choice(&node, &JOINS))?;
        Ok(Take::Text { at: at(fields)?, join })
    })?;
    loader.places(&fields, "call", &|_, fields| {
        let input = fields.get("input").as_ref().map(pointer).transpose()?;
        Ok(Take::Call { id: pointer(&fields.need("id")?)?, name: pointer(&fields.need("name")?)?, input })
    })?;
    loader.places(&fields, "answer", &|loader, fields| {
        let failed = fields.get("failed").map(|node| loader.test(&node)).transpose()?;
        let at = |key| fields.get(key).as_ref().map(pointer).transpose();
        let (name, output) = (at("name")?, at("output")?);
        Ok(Take::Answer { id: pointer(&fields.need("id")?)?, name, failed, output })
    })?;
    loader.places(&fields, "tokens", &|_, fields| {
        let at = |key| fields.get(key).as_ref().map(pointer).transpose();
        let is = |key| fields.get(key).map_or(Ok(false), |node: Item<'_>| node.bool());
        Ok(Take::Tokens(Box::new(Tokens {
            input: at("input")?,
            output: at("output")?,
            cache_read: at("cache-read")?,
            cache_creation: at("cache-creation")?,
            input_has_cache: is("input-has-cache")?,
            sum: is("sum")?,
        })))
    })?;
    loader.places(&fields, "retry", &|_, _| Ok(Take::Retry))?;
    loader.places(&fields, "failure", &|_, fields| Ok(Take::Failure(at(fields)?)))?;
    let rows = loader.rows(&fields)?;
    // What a message says of itself is taken before what it means for others.
    loader.places(&fields, "recovery", &|_, _| Ok(Take::Recovery))?;
    loader.places(&fields, "end", &|loader, fields| {
        let failed = match fields.get("failed") {
            Some(node) if node.is_bool() => {
                let is_failed = node.bool()?;
                is_failed.then(|| MessageTest::new(|_| true))
            }
            node => node.map(|node| loader.test(&node)).transpose()?,
        };
        let message = match fields.get("message") {
            Some(node) if node.is_list() => node.list()?.iter().map(pointer).collect::<Result<_, _>>()?,
            node => node.as_ref().map(pointer).transpose()?.into_iter().collect(),
        };
        Ok(Take::End { failed, message })
    })?;
    fields.finish()?;
    let mut places = Vec::new();
    for (key, node) in node.table()?.into_entries() {
        if key != "row" {
            places.push((key, node.json()?));
        }
    }
    Ok(Table::new(loader.entries, rows, places))
}

struct Loader<'k> {
    kinds: &'k Kinds,
    entries: Vec<Entry>,
}

/// Reads what an entry takes, besides `on`.
type TakeLoader<'l> = &'l dyn Fn(&Loader<'_>, &Fields<'_>) -> Result<Take, FileError>;

impl Loader<'_> {
    /// Reads a place, or a list of places.
    fn places(
        &mut self,
        fields: &Fields<'_>,
        key: &'static str,
        take: TakeLoader<'_>,
    ) -> Result<(), FileError> {
        let Some(node) = fields.get(key) else { return Ok(()) };
        let nodes = if node.is_list() { node.list()? } else { vec![node] };
        for node in nodes {
            let fields = node.table()?;
            let on = self.selector(&fields.need("on")?)?;
            let take = take(self, &fields)?;
            fields.finish()?;
            self.entries.push(Entry { on, take });
        }
        Ok(())
    }

    /// A kind, a condition on the message, or a list of which one has to hold.
    fn selector(&self, node: &Item<'_>) -> Result<Selector, FileError> {
        let conditions = self.conditions(node)?;
        let split = conditions.iter().map(|condition| condition.split_by("type"));
        let (kinds, mut rests): (Vec<_>, Vec<_>) =
            split.collect::<Option<Vec<_>>>().unwrap_or_default().into_iter().unzip();
        let rest = rests.pop().flatten().filter(|_| rests.is_empty());
        let test = rest.map_or_else(|| any(conditions), |rest| any(vec![rest]));
        Ok(Selector { kinds: kinds.concat(), test })
    }

    /// The same where any message may be asked.
    fn test(&self, node: &Item<'_>) -> Result<MessageTest, FileError> {
        Ok(any(self.conditions(node)?))
    }

    fn conditions(&self, node: &Item<'_>) -> Result<Vec<Condition>, FileError> {
        if node.is_list() {
            let nodes = node.list()?;
            let lists = nodes.iter().map(|node| self.conditions(node)).collect::<Result<Vec<_>, _>>()?;
            return Ok(lists.into_iter().flatten().collect());
        }
        if !node.is_string() {
            return Ok(vec![Condition::load(node, Scope::Message)?]);
        }
        let name = node.str()?;
        let known = self.kinds.names.iter().position(|known| known == name).ok_or_else(|| {
            let names: Vec<&str> = self.kinds.names.iter().map(String::as_str).collect();
            node.complain(format_args!("there is no kind `{name}`{}", did_you_mean(name, &names)))
        })?;
        Ok(vec![self.kinds.conditions[known].clone()])
    }

    fn rows(&mut self, fields: &Fields<'_>) -> Result<Vec<Row>, FileError> {
        let mut rows: Vec<Row> = Vec::new();
        let mut reached = 0;
        for node in fields.get("row").map_or(Ok(Vec::new()), |node| node.list())? {
            let fields = node.table()?;
            let id_node = fields.need("id")?;
            let id = id_node.text()?;
            if !super::load::is_word(&id) {
                return Err(id_node.complain("an id is lower-case letters, digits and `-`"));
            }
            if rows.iter().any(|row| row.id == id) {
                return Err(id_node.complain(format_args!("there is already a row `{id}`")));
            }
            let class_node = fields.need("class")?;
            let class = class_node.text()?;
            let place = CLASSES.iter().position(|known| *known == class).ok_or_else(|| {
                let hint = did_you_mean(&class, &CLASSES);
                class_node.complain(format_args!("`{class}` is no class that a row can mean{hint}"))
            })?;
            if place < reached {
                return Err(class_node.complain(format_args!(
                    "rows stand in the order in which classes are decided: `{class}` comes before `{}`",
                    CLASSES[reached]
                )));
            }
            reached = place;
            let row = row(&node, &fields, id, class)?;
            if row.needs_message {
                let on = self.row_selector(&fields)?;
                self.entries.push(Entry { on, take: Take::Row(rows.len()) });
            }
            fields.finish()?;
            rows.push(row);
        }
        Ok(rows)
    }

    /// The messages that show what a row asks for.
    fn row_selector(&self, fields: &Fields<'_>) -> Result<Selector, FileError> {
        let on = self.selector(&fields.need("on")?)?;
        let Some(when) = fields.get("when") else { return Ok(on) };
        let when = Condition::load(&when, Scope::Message)?;
        let Selector { kinds, test } = on;
        Ok(Selector {
            kinds,
            test: MessageTest::new(move |message| test.holds(message) && when.holds(message)),
        })
    }
}

/// Whether one of the conditions holds.
fn any(conditions: Vec<Condition>) -> MessageTest {
    match <[Condition; 1]>::try_from(conditions) {
        Ok([one]) => MessageTest::new(move |message| one.holds(message)),
        Err(conditions) => MessageTest::new(move |message| conditions.iter().any(|one| one.holds(message))),
    }
}

/// Reads what a row asks for and means, besides the messages.
fn row(node: &Item<'_>, fields: &Fields<'_>, id: String, class: String) -> Result<Row, FileError> {
    let at = |key| fields.get(key).as_ref().map(pointer).transpose();
    let mut exit = Vec::new();
    if let Some(node) = fields.get("exit") {
        let nodes = if node.is_list() { node.list()? } else { vec![node] };
        for node in nodes {
            exit.push(i32::try_from(node.integer()?).map_err(|_| node.complain("no exit code"))?);
        }
    }
    let stderr = fields.get("stderr").as_ref().map(regex).transpose()?;
    let needs_message = fields.get("on").is_some();
    if !needs_message && exit.is_empty() && stderr.is_none() {
        return Err(node.complain("a row looks at a message (`on`), the exit code (`exit`) or `stderr`"));
    }
    if let Some(node) = fields.get("when").or(fields.get("at")).or(fields.get("resets-at"))
        && !needs_message
    {
        return Err(node.complain("is a place in a message: say with `on` in which"));
    }
    let mut condition = node.json()?;
    if let Some(condition) = condition.as_object_mut() {
        condition.retain(|key, _| matches!(key.as_str(), "on" | "when" | "exit" | "stderr"));
    }
    let when = fields.get("when").map(|node| node.json()).transpose()?;
    let by_words = stderr.is_some() || when.is_some_and(|when| when.to_string().contains("\"matches\""));
    // The first place that is asked about is what there is to show.
    let first = fields.get("when").and_then(|node| first_pointer(&node));
    Ok(Row {
        id,
        class,
        detail: fields.get("detail").map(|node| node.text()).transpose()?,
        text: fields.need("text")?.text()?,
        condition,
        needs_message,
        at: at("at")?.or(first),
        resets_at: at("resets-at")?,
        by_words,
        exit,
        stderr,
    })
}

fn first_pointer(node: &Item<'_>) -> Option<Pointer> {
    let table = if node.is_list() { node.list().ok()?.into_iter().next()? } else { node.clone() };
    let (key, _) = table.into_table().ok()?.into_entries().into_iter().next()?;
    Pointer::parse(&key).ok()
}
