//! What an API says besides its answers, as data: `apis/<dialect>/api.toml`.

use crate::document::{Document, FileError, Item, Table};
use crate::harness::mock::request::Facts;

/// Every file below `apis/`, by its path there.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/apis.rs"));

/// The text of a file below `apis/`.
pub(crate) fn file(path: &str) -> &'static str {
    FILES.iter().find(|(known, _)| *known == path).map_or("", |(_, text)| text)
}

/// The data of one API.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApiData {
    /// The content type of what is no stream.
    pub(crate) json: String,
    /// The content type of a stream.
    pub(crate) stream: String,
    /// How the id of a request begins.
    pub(crate) request_id: String,
    /// The headers of every answer.
    pub(crate) headers: Vec<(String, String)>,
    /// The headers that steer a retry.
    pub(crate) retry: Vec<(String, String)>,
    /// The headers that tell of a limit.
    pub(crate) limit: Vec<(String, String)>,
    /// Why an answer stops: the script's word, and the API's.
    pub(crate) stops: Vec<(String, String)>,
    errors: Vec<ErrorRow>,
    /// The models that there are, with their names for people.
    pub(crate) models: Vec<(String, String)>,
    /// The requests on the side, in the order in which they are looked for.
    pub(crate) side: Vec<SideRequest>,
}

/// What the API says with a status.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorRow {
    pub(crate) status: u16,
    pub(crate) kind: String,
    /// A finer word than the type, where the API has one.
    pub(crate) code: Option<String>,
    pub(crate) message: String,
}

/// A kind of request that a client makes on the side (titles, warm-ups, summaries): recognised by what it says, and
/// answered by something sensible without using up a turn of the script.
#[derive(Debug, Clone, Default)]
pub(crate) struct SideRequest {
    /// Its name in scripts and in the journal.
    pub(crate) name: String,
    /// What it is answered.
    pub(crate) answer: String,
    /// It is one when all conditions of one of these hold.
    when: Vec<SideConditions>,
}

/// What a request on the side says; what is not named does not matter.
#[derive(Debug, Clone, Default)]
struct SideConditions {
    /// In the system text.
    system: Option<String>,
    /// In what the user said since the last answer.
    user: Option<String>,
    user_is: Option<String>,
    user_begins: Option<String>,
    /// How many tools are offered.
    tools: Option<u64>,
    /// How the type of the first tool begins.
    first_tool: Option<String>,
    max_tokens: Option<u64>,
}

impl ApiData {
    /// The data of the dialect of this name. It is part of the binary, and a test reads all of it.
    pub(super) fn of(dialect: &str) -> Self {
        // Without it nothing that is said would be right, and every test of the mock would say so.
        Self::read(dialect).unwrap_or_default()
    }

    fn read(dialect: &str) -> Result<Self, FileError> {
        let path = format!("{dialect}/api.toml");
        let mut table = Document::parse(&path, file(&path))?;
        let mut data = match table.string("like")? {
            Some(other) => Self::read(&other)?,
            None => Self::default(),
        };
        for (key, value) in
            [("json", &mut data.json), ("stream", &mut data.stream), ("request_id", &mut data.request_id)]
        {
            if let Some(given) = table.string(key)? {
                *value = given;
            }
        }
        for (key, pairs) in [
            ("headers", &mut data.headers),
            ("retry", &mut data.retry),
            ("limit", &mut data.limit),
            ("stops", &mut data.stops),
            ("models", &mut data.models),
        ] {
            if let Some(given) = table.take(key) {
                let read = |(key, item): (String, Item<'_>)| Ok((key, item.into_string()?));
                *pairs = in_order(given)?.into_iter().map(read).collect::<Result<_, FileError>>()?;
            }
        }
        if let Some(given) = table.take("errors") {
            data.errors = in_order(given)?.into_iter().map(error_row).collect::<Result<_, FileError>>()?;
        }
        let side = table.list("side")?;
        if !side.is_empty() {
            data.side = side.into_iter().map(side_request).collect::<Result<_, FileError>>()?;
        }
        table.finish()?;
        Ok(data)
    }

    /// What the API says with a status: its own row, or the one that stands for all others.
    pub(crate) fn error(&self, status: u16) -> ErrorRow {
        let row = |wanted: u16| self.errors.iter().find(|row| row.status == wanted);
        let other = if status >= 500 { 500 } else { 400 };
        let row = row(status).or_else(|| row(other)).cloned().unwrap_or_default();
        ErrorRow { status, ..row }
    }

    /// The row of an error type or code.
    pub(crate) fn error_named(&self, name: &str) -> Option<&ErrorRow> {
        self.errors.iter().find(|row| row.kind == name || row.code.as_deref() == Some(name))
    }

    /// The API's word for why an answer stops; none when it has none.
    pub(crate) fn stop(&self, reason: &str) -> Option<&str> {
        self.stops.iter().find(|(known, _)| known == reason).map(|(_, word)| word.as_str())
    }

    /// The script's word for why an answer stopped: the first that is said so.
    pub(crate) fn reason(&self, word: &str) -> Option<&str> {
        self.stops.iter().find(|(_, known)| known == word).map(|(reason, _)| reason.as_str())
    }

    /// What kind of request this is, if it is one on the side.
    pub(crate) fn recognise(&self, facts: &Facts) -> Option<&SideRequest> {
        self.side.iter().find(|side| side.when.iter().any(|when| when.hold(facts)))
    }
}

/// The entries of a table in the order of the file.
fn in_order(item: Item<'_>) -> Result<Vec<(String, Item<'_>)>, FileError> {
    let mut entries = item.into_table()?.into_entries();
    entries.sort_by_key(|(_, item)| item.start());
    Ok(entries)
}

fn error_row((status, item): (String, Item<'_>)) -> Result<ErrorRow, FileError> {
    let status = status.parse().map_err(|_| item.complain("a row is named after its HTTP status"))?;
    let mut table = item.into_table()?;
    let row = ErrorRow {
        status,
        kind: table.require("type", "the API's word for it")?.into_string()?,
        code: table.string("code")?,
        message: table.require("message", "what the API says")?.into_string()?,
    };
    table.finish()?;
    Ok(row)
}

fn side_request(item: Item<'_>) -> Result<SideRequest, FileError> {
    let mut table = item.into_table()?;
    let mut side = SideRequest {
        name: table.require("name", "its name in scripts and in the journal")?.into_string()?,
        answer: table.require("answer", "what it is answered")?.into_string()?,
        when: Vec::new(),
    };
    for item in table.list("when")? {
        side.when.push(conditions(item.into_table()?)?);
    }
    table.finish()?;
    Ok(side)
}

fn conditions(mut table: Table<'_>) -> Result<SideConditions, FileError> {
    let conditions = SideConditions {
        system: table.string("system")?,
        user: table.string("user")?,
        user_is: table.string("user_is")?,
        user_begins: table.string("user_begins")?,
        tools: table.unsigned("tools")?,
        first_tool: table.string("first_tool")?,
        max_tokens: table.unsigned("max_tokens")?,
    };
    table.finish()?;
    Ok(conditions)
}

impl SideConditions {
    fn hold(&self, facts: &Facts) -> bool {
        let user = facts.user.trim();
        let holds = |wanted: &Option<String>, is: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(is);
        holds(&self.system, &|text| facts.system.contains(text))
            && holds(&self.user, &|text| user.contains(text))
            && holds(&self.user_is, &|text| user == text)
            && holds(&self.user_begins, &|text| user.starts_with(text))
            && holds(&self.first_tool, &|text| facts.first_tool.starts_with(text))
            && self.tools.is_none_or(|tools| facts.tools as u64 == tools)
            && (self.max_tokens.is_none() || self.max_tokens == facts.max_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::mock::dialect;

    #[test]
    fn the_data_of_every_dialect_can_be_read_and_is_whole() {
        for dialect in dialect::ALL {
            let data = ApiData::read(dialect.name()).unwrap_or_else(|error| panic!("{error}"));
            for reason in ["end_turn", "tool_use", "stop_sequence", "max_tokens", "refusal"] {
                assert!(data.stop(reason).is_some(), "{}: {reason}", dialect.name());
            }
            for status in 400..600 {
                let row = data.error(status);
                assert_eq!(row.status, status);
                assert!(!row.kind.is_empty() && !row.message.is_empty(), "{}: {status}", dialect.name());
            }
            assert!(!data.models.is_empty() && !data.headers.is_empty(), "{}", dialect.name());
            assert!(data.json.contains("json") && data.stream.contains("event-stream"), "{}", dialect.name());
        }
    }

    #[test]
    fn headers_stand_in_the_order_of_the_file() {
        let data = ApiData::of("anthropic");
        assert_eq!(data.headers[0].0, "request-id");
        assert_eq!(data.headers[6].0, "anthropic-ratelimit-tokens-reset");
    }
}
