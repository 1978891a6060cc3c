//! Reading the messages of one run by a table.

use serde_json::Value;

use super::table::{Join, Table, Take, Tokens};
use crate::json::{JsonView, Pointer};
use crate::recording::InTime;
use crate::stream_json::{Limits, Line, ResultFacts, Session, TokenUsage};
use crate::text::{clip, head, tail};
use crate::time;

/// Of a text this much is kept from its end.
const KEPT_TEXT: usize = 64 << 10;
/// Of what is told of a failure this much is kept.
const KEPT_WORDS: usize = 8 << 10;
/// Longer values are clipped in evidence.
const KEPT_VALUE: usize = 300;

/// A text with its place.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) line: u64,
    pub(crate) pointer: String,
}

/// A message that shows what a row asks for.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    /// The number of the row.
    pub(crate) row: usize,
    pub(crate) line: u64,
    pub(crate) pointer: String,
    pub(crate) value: Value,
    pub(crate) resets_at: Option<i64>,
}

/// The message that ended a run.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) line: u64,
    /// Where the message begins in the output.
    offset: u64,
    pub(crate) failed: bool,
    /// Why it failed, where it says so.
    pub(crate) message: Option<Words>,
}

/// What the messages of a run told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The answer, the tokens and all else that a session has.
    pub(crate) session: Session,
    /// The first end that is a failure, else the last end that came in time.
    pub(crate) end: Option<End>,
    /// What was last told of a failure, unless the run went on.
    pub(crate) failure: Option<Words>,
    /// What rows ask for, the first of each row.
    pub(crate) hits: Vec<Hit>,
    /// The failure and the hits as they were before the last success took them back.
    before_success: (Option<Words>, Vec<Hit>),
    /// Messages that the table knows.
    pub(crate) known: u64,
}

/// Sees the messages of one run.
pub(crate) struct Reader<'t> {
    table: &'t Table,
    limits: Limits,
    told: Told,
    usage: TokenUsage,
    has_usage: bool,
    cost: Option<f64>,
    /// The last text is one whose next piece may come.
    is_open: bool,
    /// Where the message that is read begins.
    offset: u64,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(table: &'t Table, limits: Limits) -> Self {
        let told = Told { session: Session::new(limits), ..Told::default() };
        Self {
            table,
            limits,
            told,
            usage: TokenUsage::default(),
            has_usage: false,
            cost: None,
            is_open: false,
            offset: 0,
        }
    }

    /// How many messages ended the run.
    #[cfg(feature = "testing")]
    pub(crate) fn ends(&self) -> u64 {
        self.told.session.result_count
    }

    /// Takes the next line of a stream.
    pub(crate) fn line(&mut self, line: &Line<'_>) {
        if let Some(message) = line.message() {
            self.message(JsonView::Scanned(message.root()), message.line, message.offset);
        } else if let Line::Malformed { error, terminated: false, .. } = line {
            self.told.session.cut |= error.breaks_off();
        }
    }

    /// Takes a message that begins at this offset of the output.
    pub(crate) fn message(&mut self, message: JsonView<'_>, line: u64, offset: u64) {
        self.told.session.messages += 1;
        self.offset = offset;
        let mut known = false;
        let table = self.table;
        for take in table.of(message) {
            known = true;
            self.take(take, message, line);
        }
        self.told.known += u64::from(known);
        if !known && let Some(kind) = message.member(&crate::json::Name::new("type")).and_then(JsonView::text)
        {
            let kinds = &mut self.told.session.unknown_kinds;
            if kinds.len() < self.limits.samples || kinds.contains_key(&*kind) {
                *kinds.entry(clip(&kind, KEPT_VALUE).into_owned()).or_default() += 1;
            }
        }
    }

    fn take(&mut self, take: &Take, message: JsonView<'_>, line: u64) {
        let table = self.table;
        let text = |at: &Pointer| at.get(message).and_then(JsonView::text).map(std::borrow::Cow::into_owned);
        let session = &mut self.told.session;
        match take {
            Take::End { failed, message: places } => {
                let failed = failed.as_ref().is_some_and(|failed| failed.holds(message));
                let words = places.iter().find_map(|at| words(at, message, line)).filter(|_| failed);
                self.end(End { line, offset: self.offset, failed, message: words });
            }
            Take::Failure(at) => {
                if let Some(words) = words(at, message, line) {
                    self.told.failure = Some(words);
                }
            }
            Take::Recovery => self.recovered(line),
            Take::Retry => session.retries.count += 1,
            Take::Text { at, join } => {
                if let Some(text) = text(at) {
                    self.text(&text, *join, line);
                }
            }
            Take::Thinking(at) => {
                if let Some(text) = text(at) {
                    session.thinking = Some(tail(&text, KEPT_TEXT).to_owned());
                }
            }
            Take::Call { id, name, .. } => {
                let name = text(name).unwrap_or_default();
                session.tools.called(text(id).as_deref(), &name, self.limits.open);
                self.is_open = false;
            }
            Take::Answer { id, name, failed, .. } => {
                let id = text(id).unwrap_or_default();
                let is_error = failed.as_ref().is_some_and(|failed| failed.holds(message));
                if let Some(name) = name.as_ref().and_then(text)
                    && !session.tools.is_open(&id)
                {
                    session.tools.called(Some(&id), &name, self.limits.open);
                }
                session.tools.answered(&id, is_error);
            }
            Take::Tokens(places) => self.tokens(places, message),
            Take::Cost(at) => self.cost = at.get(message).and_then(JsonView::float).or(self.cost),
            Take::Model(at) => session.model = session.model.take().or_else(|| text(at)),
            Take::Session(at) => session.session_id = session.session_id.take().or_else(|| text(at)),
            Take::Version(at) => session.cli_version = session.cli_version.take().or_else(|| text(at)),
            Take::Row(row) => note(&mut self.told.hits, table, *row, message, line),
        }
    }

    fn text(&mut self, text: &str, join: Join, line: u64) {
        let session = &mut self.told.session;
        let goes_on = join == Join::Deltas && self.is_open;
        if !goes_on && text.trim().is_empty() {
            return;
        }
        let kept = session.final_text.get_or_insert_default();
        if !goes_on {
            kept.clear();
            session.final_text_line = line;
        }
        kept.push_str(text);
        // Pieces are cut off in one go now and then, so that each is copied only a few times.
        if kept.len() > 2 * KEPT_TEXT || (!goes_on && kept.len() > KEPT_TEXT) {
            *kept = tail(kept, KEPT_TEXT).to_owned();
        }
        self.is_open = join == Join::Deltas;
    }

    fn tokens(&mut self, places: &Tokens, message: JsonView<'_>) {
        let count = |at: &Option<Pointer>| {
            let mut sum = 0_i64;
            if let Some(at) = at {
                at.visit(message, &mut |value, _| {
                    sum = sum.saturating_add(value.float().map_or(0, |count| count as i64));
                    true
                });
            }
            sum
        };
        let mut usage = TokenUsage {
            input: count(&places.input),
            output: count(&places.output),
            cache_creation: count(&places.cache_creation),
            cache_read: count(&places.cache_read),
        };
        if places.input_has_cache {
            usage.input = usage.input.saturating_sub(usage.cache_read);
        }
        if !places.sum {
            self.usage = TokenUsage::default();
        }
        self.usage.add(usage);
        self.has_usage = true;
    }

    /// Forgets what the provider's failures were before this line; what the task met with stays.
    fn recovered(&mut self, line: u64) {
        self.told.failure = None;
        let rows = &self.table.rows;
        self.told.hits.retain(|hit| hit.line == line || !passes(&rows[hit.row].class));
    }

    fn end(&mut self, end: End) {
        let keeps = self.told.end.as_ref().is_some_and(|known| known.failed);
        if !end.failed && !keeps {
            self.told.before_success = (self.told.failure.clone(), self.told.hits.clone());
            self.recovered(end.line);
        }
        self.is_open = false;
        self.told.session.result_count += 1;
        if !keeps {
            self.told.end = Some(end);
        }
    }

    /// Ends the run. `in_time` is how much of the output came before a timer ended it.
    pub(crate) fn finish(mut self, in_time: InTime) -> Told {
        let is_empty = self.told.session.final_text.is_none();
        let is_late = |end: &End| in_time.is_late(end.offset, is_empty && !end.failed);
        if let Some(end) = self.told.end.take_if(|end| is_late(end))
            && !end.failed
        {
            (self.told.failure, self.told.hits) = std::mem::take(&mut self.told.before_success);
        }
        let session = &mut self.told.session;
        session.typed = self.told.known;
        if let Some(text) = &mut session.final_text
            && text.len() > KEPT_TEXT
        {
            *text = tail(text, KEPT_TEXT).to_owned();
        }
        if self.has_usage {
            let model = session.model.clone().unwrap_or_else(|| "unknown".into());
            session.usage.insert(model, self.usage);
        }
        // A run that was cut off may have said what it used up all the same.
        if self.told.end.is_some() || self.has_usage {
            let end = self.told.end.as_ref();
            let text = session.final_text.clone();
            session.results.push(ResultFacts {
                line: end.map_or(0, |end| end.line),
                is_error: end.map(|end| end.failed),
                text: text.as_deref().map(|text| head(text, KEPT_WORDS).to_owned()),
                text_end: text.as_deref().map(|text| tail(text, KEPT_WORDS).to_owned()),
                usage: self.usage,
                cost_usd: self.cost,
                model_answered: text.is_some(),
                ..ResultFacts::default()
            });
        }
        self.told
    }
}

/// Sees the messages of one run for what rows alone ask for.
pub(crate) struct Signs<'t> {
    table: &'t Table,
    hits: Vec<Hit>,
}

impl<'t> Signs<'t> {
    pub(crate) fn new(table: &'t Table) -> Self {
        Self { table, hits: Vec::new() }
    }

    /// Takes a message.
    pub(crate) fn message(&mut self, message: JsonView<'_>, line: u64) {
        for take in self.table.of(message) {
            if let Take::Row(row) = take {
                note(&mut self.hits, self.table, *row, message, line);
            }
        }
    }

    /// Forgets what was seen.
    pub(crate) fn clear(&mut self) {
        self.hits.clear();
    }

    /// The table, and what was seen of its rows: the first of each.
    pub(crate) fn finish(self) -> (&'t Table, Vec<Hit>) {
        (self.table, self.hits)
    }
}

/// Keeps the first message that shows what a row asks for.
fn note(hits: &mut Vec<Hit>, table: &Table, row: usize, message: JsonView<'_>, line: u64) {
    if hits.iter().any(|hit| hit.row == row) {
        return;
    }
    let asked = &table.rows[row];
    let seen = asked.at.as_ref().and_then(|at| Some((at, at.get(message)?)));
    let (pointer, value) = seen.map_or((String::new(), Value::Null), |(at, value)| {
        let value = match value.text() {
            Some(text) => clip(&text, KEPT_VALUE).into(),
            None => value.to_value().into_owned(),
        };
        (at.text().to_owned(), value)
    });
    let resets_at = asked.resets_at.as_ref().and_then(|at| seconds(at.get(message)?));
    hits.push(Hit { row, line, pointer, value, resets_at });
}

/// Whether a failure of this class passes when the run goes on.
fn passes(class: &str) -> bool {
    matches!(class, "timeout" | "truncated" | "rate_limit" | "auth" | "api")
}

fn words(at: &Pointer, message: JsonView<'_>, line: u64) -> Option<Words> {
    let value = at.get(message)?;
    let text = value.text().map_or_else(|| value.to_value().to_string(), std::borrow::Cow::into_owned);
    let pointer = at.text().to_owned();
    (!text.trim().is_empty()).then(|| Words { text: head(&text, KEPT_WORDS).to_owned(), line, pointer })
}

/// A time in seconds since 1970: a number of them or of milliseconds, or RFC 3339.
fn seconds(value: JsonView<'_>) -> Option<i64> {
    /// In seconds this is the year 5138, in milliseconds 1973.
    const MILLISECONDS: f64 = 1e11;
    match (value.float(), value.text()) {
        (Some(time), _) if time >= MILLISECONDS => Some((time / 1000.0) as i64),
        (Some(time), _) if time >= 0.0 => Some(time as i64),
        (_, Some(text)) => time::parse(&text).map(|(time, _)| time / 1000),
        _ => None,
    }
}
