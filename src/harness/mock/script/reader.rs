//! Reads the API's script from TOML; every complaint has its place in the file.

use serde_json::Value;

use crate::document::{FileError, Item, Table};
use crate::harness::mock::dialect;
use crate::harness::mock::fault::{Fault, FaultError, FaultKind};
use crate::harness::mock::matcher::{Agent, Position, ToolResultCondition, When};
use crate::harness::mock::pace::Pace;
use crate::harness::mock::script::{Block, Chunk, InvalidRequests, Script, ToolInput, Turn, Usage};

/// What `[api]` says for turns that do not say it themselves.
struct Defaults {
    chunk: Chunk,
    pace: Pace,
    model: Option<String>,
}

impl Script {
    /// Reads the table of the API's script.
    pub(crate) fn read(mut api: Table<'_>) -> Result<Self, FileError> {
        let seed = api.unsigned("seed")?.unwrap_or(0);
        let invalid_requests = match api.take("invalid_requests") {
            None => InvalidRequests::Report,
            Some(item) => {
                let place = item.place();
                match item.into_string()?.as_str() {
                    "report" => InvalidRequests::Report,
                    "refuse" => InvalidRequests::Refuse,
                    other => {
                        return Err(
                            place.complain(format!("expected \"report\" or \"refuse\", found {other:?}"))
                        );
                    }
                }
            }
        };
        let defaults = Defaults {
            chunk: read_chunk(&mut api)?.unwrap_or_default(),
            pace: read_pace(&mut api)?.unwrap_or_default(),
            model: api.string("model")?,
        };
        let mut server_faults = Vec::new();
        for item in api.list("faults")? {
            let place = item.place();
            let fault = read_fault(item)?;
            if !matches!(fault.kind, FaultKind::Refuse { .. }) {
                return Err(place.complain("only `refuse` is the server's; other faults stand in a turn"));
            }
            server_faults.push(fault);
        }
        let mut turns: Vec<Turn> = Vec::new();
        for (index, item) in api.list("turns")?.into_iter().enumerate() {
            let place = item.place();
            let turn = Turn::read(item.into_table()?, index, &turns, &defaults)?;
            if turns.iter().any(|other| other.name == turn.name) {
                return Err(place.complain(format!("a second turn named `{}`", turn.name)));
            }
            turns.push(turn);
        }
        if turns.is_empty() {
            return Err(api.complain("a script needs at least one [[api.turns]]"));
        }
        api.finish()?;
        Ok(Script { seed, invalid_requests, turns, server_faults, ..Script::new() })
    }
}

impl Turn {
    fn read(
        mut table: Table<'_>,
        index: usize,
        earlier: &[Turn],
        defaults: &Defaults,
    ) -> Result<Self, FileError> {
        let line = table.line();
        let name = table.string("name")?.unwrap_or_else(|| format!("turn-{}", index + 1));
        let mut when = match table.take("when") {
            Some(item) => read_when(item.into_table()?)?,
            None => When::default(),
        };
        if when.position == Position::Next {
            when.position = next_position(&when, earlier);
        }
        let blocks = read_blocks(&mut table)?;
        let usage = match table.take("usage") {
            Some(item) => read_usage(item.into_table()?)?,
            None => Usage::default(),
        };
        let mut headers = Vec::new();
        if let Some(item) = table.take("headers") {
            for (name, item) in item.into_table()?.into_entries() {
                let place = item.place();
                let value = item.into_string()?;
                check_header(&name, &value).map_err(|message| place.complain(message))?;
                headers.push((name.to_ascii_lowercase(), value));
            }
        }
        let turn = Turn {
            name,
            line,
            when,
            blocks,
            stop_reason: table.string("stop_reason")?,
            stop_sequence: table.string("stop_sequence")?,
            model: table.string("model")?.or_else(|| defaults.model.clone()),
            usage,
            chunk: read_chunk(&mut table)?.unwrap_or(defaults.chunk),
            pace: read_pace(&mut table)?.unwrap_or_else(|| defaults.pace.clone()),
            faults: read_faults(&mut table)?,
            headers,
            optional: table.boolean("optional")?.unwrap_or(false),
            is_checked: false,
        };
        table.finish()?;
        Ok(turn)
    }
}

/// A turn that names no position stands after the last one of its conversation; one with a condition that may hold
/// anywhere has none.
pub(in crate::harness::mock) fn next_position(when: &When, earlier: &[Turn]) -> Position {
    if !when.is_conversation() {
        return Position::Any;
    }
    let last = earlier
        .iter()
        .filter(|turn| turn.when.same_conversation(when))
        .filter_map(|turn| match turn.when.position {
            Position::At(position) => Some(position),
            Position::Any | Position::Next => None,
        })
        .next_back();
    Position::At(last.unwrap_or(0) + 1)
}

fn read_when(mut table: Table<'_>) -> Result<When, FileError> {
    let mut when = When::default();
    if let Some(item) = table.take("turn") {
        let place = item.place();
        when.position = if item.is_string() {
            match item.into_string()?.as_str() {
                "any" => Position::Any,
                other => {
                    return Err(place.complain(format!("expected a number or \"any\", found {other:?}")));
                }
            }
        } else {
            match item.unsigned()? as usize {
                0 => return Err(place.complain("turns are counted from 1")),
                position => Position::At(position),
            }
        };
    }
    if let Some(item) = table.take("agent") {
        when.agent = if item.is_bool() {
            if item.bool()? { Agent::Sub } else { Agent::Main }
        } else {
            let place = item.place();
            match item.into_string() {
                Ok(text) if text == "any" => Agent::Any,
                Ok(text) => Agent::Id(text),
                Err(_) => return Err(place.complain("expected true, false, \"any\" or an agent's id")),
            }
        };
    }
    when.prompt = table.string("prompt")?;
    when.user = table.string("user")?;
    when.system = table.string("system")?;
    when.model = table.string("model")?;
    if let Some(item) = table.take("tool_result") {
        when.tool_result = Some(if item.is_string() {
            ToolResultCondition { contains: Some(item.into_string()?), ..ToolResultCondition::default() }
        } else {
            let mut table = item.into_table()?;
            let condition = ToolResultCondition {
                tool: table.string("tool")?,
                contains: table.string("contains")?,
                is_error: table.boolean("is_error")?,
            };
            table.finish()?;
            condition
        });
    }
    if let Some(item) = table.take("pointer") {
        for (pointer, item) in item.into_table()?.into_entries() {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return Err(item.complain("a JSON pointer begins with `/`, as in \"/messages/0/role\""));
            }
            when.pointer.push((pointer, item.json()?));
        }
    }
    if let Some(item) = table.take("auxiliary") {
        let place = item.place();
        let name = item.into_string()?;
        if !dialect::side_requests().any(|side| side.name == name) {
            let known: Vec<&str> = dialect::side_requests().map(|side| side.name.as_str()).collect();
            return Err(
                place.complain(format!("unknown kind `{name}`, expected one of: {}", known.join(", ")))
            );
        }
        when.auxiliary = Some(name);
    }
    table.finish()?;
    Ok(when)
}

fn read_blocks(table: &mut Table<'_>) -> Result<Vec<Block>, FileError> {
    let mut blocks: Vec<Block> = Vec::new();
    blocks.extend(table.string("thinking")?.map(Block::Thinking));
    blocks.extend(table.string("text")?.map(Block::Text));
    if let Some(item) = table.take("tool") {
        blocks.push(read_tool(item.into_table()?)?);
    }
    for item in table.list("tools")? {
        blocks.push(read_tool(item.into_table()?)?);
    }
    let simple = !blocks.is_empty();
    for item in table.list("blocks")? {
        let place = item.place();
        if simple {
            return Err(
                place.complain("`blocks` stands for all of the answer: not beside text, thinking or tool")
            );
        }
        let mut block = item.into_table()?;
        let mut found = Vec::new();
        found.extend(block.string("thinking")?.map(Block::Thinking));
        found.extend(block.string("text")?.map(Block::Text));
        if let Some(item) = block.take("tool") {
            found.push(read_tool(item.into_table()?)?);
        }
        if let Some(item) = block.take("raw") {
            let place = item.place();
            let raw = item.json()?;
            if !raw.get("type").is_some_and(Value::is_string) {
                return Err(place.complain("a content block needs a `type`"));
            }
            found.push(Block::Raw(raw));
        }
        block.finish()?;
        if found.len() != 1 {
            return Err(place.complain("expected exactly one of text, thinking, tool or raw"));
        }
        blocks.append(&mut found);
    }
    Ok(blocks)
}

fn read_tool(mut table: Table<'_>) -> Result<Block, FileError> {
    let name = table.require("name", "which tool is called")?.into_string()?;
    let id = table.string("id")?;
    let input = match (table.take("input"), table.string("input_json")?) {
        (Some(_), Some(_)) => {
            return Err(table.complain("either `input` or `input_json`, not both"));
        }
        (None, Some(text)) => ToolInput::Text(text),
        (Some(item), None) => {
            if !item.is_table() {
                return Err(item.complain("a tool's input is a table"));
            }
            ToolInput::Json(item.json()?)
        }
        (None, None) => ToolInput::Json(Value::Object(serde_json::Map::new())),
    };
    table.finish()?;
    Ok(Block::Tool { id, name, input })
}

fn read_usage(mut table: Table<'_>) -> Result<Usage, FileError> {
    let usage = Usage {
        input_tokens: table.unsigned("input_tokens")?,
        output_tokens: table.unsigned("output_tokens")?,
        cache_read_input_tokens: table.unsigned("cache_read_input_tokens")?.unwrap_or(0),
        cache_creation_input_tokens: table.unsigned("cache_creation_input_tokens")?.unwrap_or(0),
    };
    table.finish()?;
    Ok(usage)
}

fn read_chunk(table: &mut Table<'_>) -> Result<Option<Chunk>, FileError> {
    const EXPECTED: &str = "expected a number of characters, \"whole\", \"seeded\" or \"seeded:N\"";
    let Some(item) = table.take("chunk") else { return Ok(None) };
    let place = item.place();
    if !item.is_string() {
        return match item.unsigned()? as usize {
            0 => Err(place.complain(EXPECTED)),
            size => Ok(Some(Chunk::Characters(size))),
        };
    }
    let text = item.into_string()?;
    let chunk = match text.split_once(':') {
        None if text == "whole" => Some(Chunk::Whole),
        None if text == "seeded" => Some(Chunk::Seeded(16)),
        Some(("seeded", size)) => size.parse().ok().filter(|size| *size > 0).map(Chunk::Seeded),
        _ => None,
    };
    chunk.map(Some).ok_or_else(|| place.complain(EXPECTED))
}

fn read_pace(table: &mut Table<'_>) -> Result<Option<Pace>, FileError> {
    let Some(item) = table.take("pace") else { return Ok(None) };
    let mut table = item.into_table()?;
    let pace = Pace {
        first_byte_ms: table.unsigned("first_byte_ms")?.unwrap_or(0),
        event_ms: table.unsigned("event_ms")?,
        jitter_ms: table.unsigned("jitter_ms")?.unwrap_or(0),
        bytes_per_second: match table.take("bytes_per_second") {
            None => None,
            Some(item) => {
                let place = item.place();
                match item.unsigned()? {
                    0 => return Err(place.complain("expected 1 or more; `stall` is the fault that stops")),
                    rate => Some(rate),
                }
            }
        },
    };
    table.finish()?;
    Ok(Some(pace))
}

/// `fault` is one, `faults` are several in the order of the attempts.
fn read_faults(table: &mut Table<'_>) -> Result<Vec<Fault>, FileError> {
    let mut items: Vec<Item<'_>> = table.take("fault").into_iter().collect();
    items.extend(table.list("faults")?);
    let mut faults: Vec<Fault> = Vec::new();
    let mut endless = false;
    for item in items {
        let place = item.place();
        let fault = read_fault(item)?;
        if fault.turn.is_some() {
            return Err(place.complain("a fault in a turn is that turn's; `turn` is for the command line"));
        }
        match fault.kind {
            FaultKind::Refuse { .. } => {
                return Err(place.complain("`refuse` is the whole server's: it stands in [api] faults"));
            }
            FaultKind::Slow(_) => {}
            _ if endless => {
                return Err(place.complain("never reached: the fault before it has no `times`"));
            }
            _ => endless = fault.times.is_none(),
        }
        faults.push(fault);
    }
    Ok(faults)
}

fn read_fault(item: Item<'_>) -> Result<Fault, FileError> {
    let place = item.place();
    item.into_string()?.parse().map_err(|error: FaultError| place.complain(error.to_string()))
}

/// Framing belongs to the transport: a header that contradicts it would break every client in a way nobody scripted.
fn check_header(name: &str, value: &str) -> Result<(), String> {
    const TRANSPORT: [&str; 4] = ["content-length", "transfer-encoding", "connection", "keep-alive"];
    let name = name.to_ascii_lowercase();
    if TRANSPORT.contains(&name.as_str()) {
        return Err(format!("`{name}` is the transport's; use a fault such as `content-length:delta=5`"));
    }
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    {
        return Err("a header's name has letters, digits, `-` and `_`".to_owned());
    }
    if value.bytes().any(|byte| !(0x20..0x7f).contains(&byte)) {
        return Err("a header's value is printable ASCII".to_owned());
    }
    Ok(())
}
