//! The APIs that one script is spoken in. A file a dialect: its paths, how it reads a request, how it words an answer, an
//! error and the endpoints beside them, and how a client puts an answer together again. What is only words stands in
//! `apis/<dialect>/`. Which turn answers, what goes wrong, how fast it is sent and what is written down knows no dialect.
//!
//! ```text
//! request ─► endpoint, read ─► Conversation ─► Facts ─► matching, journal
//! Turn ─► Answer ─► message | events ─► bytes ─► faults ─► wire ─► read_body | read_stream ─► served
//! ```

pub(crate) mod conversation;
pub(crate) mod data;

mod anthropic;
mod gemini;
mod openai;
mod openai_chat;
mod openai_responses;
mod schema;

use std::fmt;

use serde_json::{Map, Value};

use self::conversation::Conversation;
use self::data::{ApiData, ErrorRow, SideRequest};
use crate::harness::mock::answer::{Answer, AnswerSeed};
use crate::harness::mock::fault::HttpFault;
use crate::harness::mock::message::Message;
use crate::harness::mock::reply::Reply;
use crate::harness::mock::request::{ApiRequest, Endpoint};
use crate::harness::mock::sse::Events;
use crate::harness::mock::validate::RequestFinding;

/// One API, as the scripted server speaks it.
pub(crate) trait Dialect: Sync + fmt::Debug {
    /// Its name in recordings, on the command line and below `apis/`.
    fn name(&self) -> &'static str;

    /// What it says besides answers.
    fn data(&self) -> &'static ApiData;

    /// What a request means; none when it is not of this API.
    fn endpoint(&self, target: &Target<'_>) -> Option<Endpoint>;

    /// Reads the body of a request.
    fn read<'b>(&self, target: &Target<'b>, body: &'b Value) -> Conversation<'b>;

    /// What the API would refuse in a request to one of its endpoints.
    fn check_request(&self, request: &ApiRequest) -> Vec<RequestFinding>;

    /// The body of an answer that is no stream.
    fn message(&self, answer: &Answer, asked: Asked<'_>) -> Value;

    /// The events of an answer as a stream.
    fn events(&self, answer: &Answer, asked: Asked<'_>) -> Events;

    /// Why the API never sends such an answer, if it does not.
    fn check_answer(&self, answer: &Answer) -> Result<(), String> {
        match self.data().stop(&answer.stop_reason) {
            Some(_) => Ok(()),
            None => Err(format!("{} never stops for `{}`", self.name(), answer.stop_reason)),
        }
    }

    fn error_body(&self, error: &ApiError) -> Value;

    /// Adds the events by which an error in the middle of a stream is told.
    fn push_error(&self, events: &mut Events, answer: &Answer, asked: Asked<'_>, error: &ApiError);

    /// How often a text stands in a stream: a huge one is made smaller by that, so that what is sent is of the size asked for.
    fn repeats(&self) -> usize {
        1
    }

    /// What keeps a stream alive and says nothing.
    fn ping(&self) -> &'static [u8];

    /// The answer of the endpoints beside the one for answers; none when what is asked for is not there.
    fn built_in(&self, request: &ApiRequest) -> Option<Value>;

    /// What is wrong with a body that no turn wrote, if anything.
    fn check_built_in(&self, _request: &ApiRequest, _reply: &Reply, _is_answer: bool) -> Result<(), String> {
        Ok(())
    }

    /// Reads the body of an answer that is no stream, as a client does.
    fn read_body(&self, body: Map<String, Value>) -> Message;

    /// Reads a stream as far as it went. An event that is cut off at its end says nothing, unless it `is_whole`.
    fn read_stream(&self, body: &[u8], is_whole: bool) -> Message;

    /// A request that holds this conversation, as a streaming client sends it.
    #[cfg(feature = "cli")]
    fn request(&self, conversation: &Conversation<'_>) -> SampleRequest;
}

/// Every dialect. The first is spoken where a request is of none of them.
pub(crate) const ALL: [&dyn Dialect; 4] =
    [&anthropic::Anthropic, &openai_responses::OpenAiResponses, &openai_chat::OpenAiChat, &gemini::Gemini];

/// A request as one client would send it.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub(crate) struct SampleRequest {
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

/// Where a request goes and what stands above its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'r> {
    /// The path without the query.
    pub(crate) path: &'r str,
    pub(crate) query: &'r str,
    /// The headers, names in lower case.
    pub(crate) headers: &'r [(String, String)],
}

impl<'r> Target<'r> {
    pub(crate) fn header(&self, name: &str) -> Option<&'r str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The path without a slash at its end.
    pub(crate) fn trimmed(&self) -> &'r str {
        self.path.trim_end_matches('/')
    }

    /// The value of a parameter of the query, as it is written there.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'r str> {
        self.query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, v)| v)
    }
}

/// How an answer is asked for, beside what it is to say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'r> {
    /// The body of the request; null where there is none.
    pub(crate) body: &'r Value,
    pub(crate) query: &'r str,
}

impl Asked<'static> {
    /// As a client asks that wants nothing special.
    pub(crate) const PLAINLY: Self = Asked { body: &Value::Null, query: "alt=sse" };
}

/// The dialect that a request speaks, and what it means there.
pub(crate) fn recognise(target: &Target<'_>) -> (&'static dyn Dialect, Endpoint) {
    let own = |dialect: &&'static dyn Dialect| Some((*dialect, dialect.endpoint(target)?));
    let [first, others @ ..] = &ALL;
    others.iter().find_map(own).or_else(|| own(first)).unwrap_or((*first, Endpoint::Other))
}

/// The dialect of this name.
pub(crate) fn named(name: &str) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.name() == name)
}

/// Every kind of request on the side that some client makes.
pub(crate) fn side_requests() -> impl Iterator<Item = &'static SideRequest> {
    ALL.into_iter().flat_map(|dialect| &dialect.data().side)
}

/// An error, in the words of one API.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    pub(crate) request_id: String,
    /// How long to wait, as the script says it.
    pub(crate) retry_after: Option<String>,
    /// The state of a limit over a longer time, and when it ends in seconds of the epoch.
    pub(crate) limit: Option<(String, u64)>,
}

impl ApiError {
    /// The error of a status.
    pub(crate) fn of_status(dialect: &dyn Dialect, status: u16, seed: AnswerSeed) -> Self {
        let row = dialect.data().error(status);
        ApiError {
            status,
            kind: row.kind,
            code: row.code,
            message: row.message,
            request_id: request_id(dialect, seed),
            ..ApiError::default()
        }
    }

    /// The error of a type: one of the Messages API, which is the script's, is told as this API tells that status; any
    /// other is sent as it is.
    pub(crate) fn of_type(dialect: &dyn Dialect, name: &str, seed: AnswerSeed) -> Self {
        let data = dialect.data();
        let told = |row: &ErrorRow| data.error(row.status);
        let neutral = || ALL[0].data().error_named(name).map(told);
        let row = data.error_named(name).cloned().or_else(neutral);
        // Of a status that this API does not have, the one at which it says the same.
        let own =
            |row: ErrorRow| data.error_named(row.code.as_deref().unwrap_or(&row.kind)).map(|row| row.status);
        let status = row.and_then(own).unwrap_or(500);
        let mut error = ApiError::of_status(dialect, status, seed);
        error.rename(dialect, name);
        error
    }

    /// The error of an `http` fault.
    pub(crate) fn of_fault(dialect: &dyn Dialect, fault: &HttpFault, seed: AnswerSeed) -> Self {
        let mut error = ApiError::of_status(dialect, fault.status, seed);
        if let Some(name) = &fault.error_type {
            error.rename(dialect, name);
        }
        if let Some(message) = &fault.message {
            error.message.clone_from(message);
        }
        error.retry_after.clone_from(&fault.retry_after);
        error.limit = fault.unified.clone().map(|limit| (limit, fault.resets_at.unwrap_or(UNIFIED_RESET)));
        error
    }

    fn rename(&mut self, dialect: &dyn Dialect, name: &str) {
        let own = dialect.data().error_named(name).cloned();
        let neutral = || ALL[0].data().error_named(name).map(|row| dialect.data().error(row.status));
        (self.kind, self.code) = own
            .or_else(neutral)
            .map_or_else(|| (name.to_owned(), Some(name.to_owned())), |row| (row.kind, row.code));
    }
}

/// A fixed time far ahead, so that recordings do not depend on the day.
const UNIFIED_RESET: u64 = 4_102_444_800;

/// The id of a request.
pub(crate) fn request_id(dialect: &dyn Dialect, seed: AnswerSeed) -> String {
    format!("{}{}", dialect.data().request_id, seed.random(1).token(22))
}

/// The headers of an `http` fault that steer a retry, in this API's words.
pub(crate) fn fault_headers(dialect: &dyn Dialect, fault: &HttpFault) -> Vec<(String, String)> {
    let should_retry = fault.should_retry.map(|should| should.to_string());
    let resets_at = fault.resets_at.unwrap_or(UNIFIED_RESET).to_string();
    let fill = |pairs: &[(String, String)], name: &str, value: Option<&str>| -> Vec<(String, String)> {
        let Some(value) = value else { return Vec::new() };
        let mine = pairs.iter().filter(|(_, template)| template.contains(name));
        mine.map(|(header, template)| (header.clone(), template.replace(name, value))).collect()
    };
    let data = dialect.data();
    let mut headers = fill(&data.retry, "{retry_after}", fault.retry_after.as_deref());
    headers.extend(fill(&data.retry, "{should_retry}", should_retry.as_deref()));
    if let Some(limit) = &fault.unified {
        headers.extend(data.limit.iter().map(|(name, template)| {
            (name.clone(), template.replace("{limit}", limit).replace("{resets_at}", &resets_at))
        }));
    }
    headers
}

#[cfg(test)]
mod tests;
