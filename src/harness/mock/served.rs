//! What was answered to a request, as a recording tells it: read from the bytes that went out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::dialect::{self, Dialect};
use super::journal::{JournalEntry, Kind, Outcome, shown_headers};
use super::kept::{KeptAnswer, KeptExchange};
use super::message::Message;

/// One answer that was begun.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Served {
    /// Which request it answers, counted from 0.
    pub(crate) request: usize,
    /// The API in whose words it was given; all of this is in neutral ones.
    pub(crate) dialect: &'static str,
    /// The scripted turn, or the kind of work on the side.
    pub(crate) turn: Option<String>,
    pub(crate) kind: Kind,
    /// The sub-agent that asked.
    pub(crate) agent: Option<String>,
    /// Whether the run before this one asked.
    pub(crate) first: bool,
    /// The id of the message.
    pub(crate) id: Value,
    pub(crate) status: Option<u16>,
    pub(crate) model: Value,
    /// The blocks as far as they went out; none when it is no message, or there is no telling.
    pub(crate) content: Option<Vec<Value>>,
    pub(crate) stop_reason: Value,
    /// The tokens as they were told last.
    pub(crate) usage: Value,
    /// The type and the message of an error, also of one in a stream.
    pub(crate) error: Value,
    /// How long to wait: the seconds, or the header as it was sent.
    pub(crate) retry_after: Value,
    pub(crate) fault: Option<String>,
    /// Whether the client got the whole of a healthy answer.
    pub(crate) complete: bool,
    /// The file with the body of the request.
    pub(crate) body: Option<String>,
    /// Milliseconds from the start of the server to the whole request.
    pub(crate) at_ms: f64,
    /// Milliseconds from the start of the server to the end of the answer; none when it did not end.
    pub(crate) done_ms: Option<f64>,
    /// The headers of an answer that a real API gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) headers: Option<BTreeMap<String, String>>,
    /// Whether the answer was too large to be kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) content_cut: bool,
}

impl Served {
    pub(crate) fn new(request: usize, entry: &JournalEntry, kept: Option<&KeptExchange>) -> Self {
        let answer = kept.and_then(|kept| kept.answer.as_ref());
        let spoken = dialect::named(entry.dialect).unwrap_or(dialect::ALL[0]);
        let message = answer.map(|answer| message(spoken, answer)).unwrap_or_default();
        let is_over = matches!(entry.outcome, Outcome::Complete | Outcome::Closed);
        let is_whole = |answer: &KeptAnswer| {
            let is_ended = answer.is_cut || answer.reply.ends.is_empty() || message.is_ended;
            answer.sent == answer.length && !answer.is_spoiled && is_ended
        };
        let retry_after = answer.and_then(|answer| {
            let mut headers = answer.reply.headers.iter();
            headers
                .find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
                .map(|(_, value)| seconds(value))
        });
        Self {
            request,
            dialect: entry.dialect,
            turn: entry.entry.clone(),
            kind: entry.kind,
            agent: kept.and_then(|kept| kept.agent.clone()),
            first: false,
            complete: is_over && entry.status.is_some() && answer.is_some_and(is_whole),
            id: message.id,
            status: entry.status,
            model: message.model,
            content: message.content,
            stop_reason: message.stop_reason,
            usage: message.usage,
            error: message.error,
            retry_after: retry_after.unwrap_or_default(),
            fault: entry.fault.clone(),
            body: None,
            at_ms: entry.at_ms,
            done_ms: entry.duration_ms.map(|duration| ((entry.at_ms + duration) * 1000.0).round() / 1000.0),
            headers: kept.and_then(KeptExchange::relayed).map(|(headers, _)| shown_headers(headers)),
            content_cut: answer.is_some_and(|answer| answer.is_cut),
        }
    }
}

pub(super) fn message(dialect: &dyn Dialect, answer: &KeptAnswer) -> Message {
    let sent = answer.sent.min(answer.reply.body.len());
    let (body, is_whole) = (&answer.reply.body[..sent], sent == answer.length);
    if !answer.reply.ends.is_empty() {
        return dialect.read_stream(body, is_whole);
    }
    serde_json::from_slice(body).map_or_else(|_| Message::default(), |body| dialect.read_body(body))
}

/// A number of seconds where it is one: the header may also name a date.
fn seconds(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Number(number)) => Value::Number(number),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use wiremock::matchers::path;
    use wiremock::{Mock, ResponseTemplate};

    use super::*;
    use crate::harness::mock::{MockApi, Options, Script};
    use crate::run::scenario::Scenario;

    fn script(turns: &str) -> Script {
        Scenario::parse("t.toml", &format!("scenario.name = \"t\"\n{turns}")).unwrap().script
    }

    fn question(stream: bool) -> Value {
        let messages = json!([{"role": "user", "content": "Hi"}]);
        json!({"model": "claude-x", "max_tokens": 9, "stream": stream, "messages": messages})
    }

    fn post(body: &Value, headers: &str) -> String {
        let body = body.to_string();
        format!(
            "POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    async fn start(script: Script, fault: &str) -> MockApi {
        let faults = Some(fault).filter(|fault| !fault.is_empty()).map(|fault| fault.parse().unwrap());
        let options =
            Options { keep_bodies: true, faults: faults.into_iter().collect(), ..Options::default() };
        MockApi::start(script, options).await.unwrap()
    }

    /// Sends a request and reads what comes until the connection ends, however it does.
    async fn ask(api: &MockApi, request: &str) {
        let mut client = TcpStream::connect(api.address()).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        _ = client.read_to_end(&mut Vec::new()).await;
    }

    async fn end(api: MockApi) -> Vec<Value> {
        let (journal, kept) = api.finish().await;
        assert_eq!(journal.requests.len(), kept.len());
        let served = journal.requests.iter().zip(&kept).enumerate();
        served.map(|(at, (entry, kept))| json!(Served::new(at, entry, Some(kept)))).collect()
    }

    /// What is said of the answers to these requests, one after the other.
    async fn served(turns: &str, fault: &str, requests: &[String]) -> Vec<Value> {
        let api = start(script(turns), fault).await;
        for request in requests {
            ask(&api, request).await;
        }
        end(api).await
    }

    const TOOL: &str = "[[api.turns]]\nthinking = \"Häh?\"\ntext = \"Let me look.\"\nmodel = \"claude-y\"\n\
                        tool = { id = \"toolu_1\", name = \"Bash\", input = { command = \"ls 'é🦀'\" } }\n\
                        usage = { input_tokens = 11, output_tokens = 7, cache_read_input_tokens = 3 }\n";
    const PLAIN: &str = "[[api.turns]]\nchunk = 4\ntext = \"Hello there.\"\n";

    #[tokio::test(flavor = "multi_thread")]
    async fn an_answer_is_told_whole_with_a_stream_and_without() {
        let [streamed, whole] = [true, false].map(|stream| post(&question(stream), ""));
        let found = served(TOOL, "", &[streamed, whole]).await;
        for (at, answer) in found.iter().enumerate() {
            assert_eq!(answer["content"][0]["thinking"], "Häh?");
            assert!(answer["content"][0]["signature"].as_str().unwrap().len() > 20);
            assert_eq!(answer["content"][1], json!({"type": "text", "text": "Let me look."}));
            let tool = json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls 'é🦀'"}});
            assert_eq!(answer["content"][2], tool);
            assert_eq!((&answer["stop_reason"], &answer["model"]), (&json!("tool_use"), &json!("claude-y")));
            let usage =
                ["input_tokens", "output_tokens", "cache_read_input_tokens"].map(|key| &answer["usage"][key]);
            assert_eq!(usage, [11, 7, 3].map(|count| json!(count)).each_ref());
            assert!(answer["id"].as_str().unwrap().starts_with("msg_01"));
            assert_eq!((&answer["request"], &answer["turn"]), (&json!(at), &json!("turn-1")));
            let rest = ["kind", "status", "complete", "fault", "error", "agent", "first", "retry_after"];
            let rest: Vec<&Value> = rest.iter().map(|key| &answer[key]).collect();
            assert_eq!(json!(rest), json!(["turn", 200, true, null, null, null, false, null]));
            assert!(answer["done_ms"].as_f64() >= answer["at_ms"].as_f64());
        }
        assert_ne!(found[0]["id"], found[1]["id"]);
        assert_eq!(found[0]["content"], found[1]["content"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_was_cut_is_told_as_far_as_it_went_out() {
        for fault in ["close:after-event=4", "rst:after-event=4", "end:after-event=4", "close:in-event=5"] {
            let found = served(PLAIN, fault, &[post(&question(true), "")]).await;
            assert_eq!(found[0]["content"], json!([{"type": "text", "text": "Hell"}]), "{fault}");
            let told = (&found[0]["complete"], &found[0]["stop_reason"], &found[0]["status"]);
            assert_eq!(told, (&json!(false), &Value::Null, &json!(200)), "{fault}");
            assert_eq!(found[0]["usage"]["output_tokens"], 1, "{fault}");
            assert!(found[0]["fault"].as_str().unwrap().contains("event"), "{fault}");
        }
        let hidden = served(PLAIN, "close:before-headers", &[post(&question(true), "")]).await;
        assert_eq!((&hidden[0]["status"], &hidden[0]["content"]), (&Value::Null, &Value::Null));
        let part = served(PLAIN, "end:after-byte=20", &[post(&question(false), "")]).await;
        assert_eq!((&part[0]["complete"], &part[0]["content"]), (&json!(false), &Value::Null));
        // All of it arrives, if late.
        let late = served(PLAIN, "stall:after-event=4,for-ms=1", &[post(&question(true), "")]).await;
        assert_eq!((&late[0]["complete"], &late[0]["stop_reason"]), (&json!(true), &json!("end_turn")));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_answer_that_is_still_open_at_the_end_is_told_too() {
        let api = start(script(PLAIN), "stall:after-event=4").await;
        let mut client = TcpStream::connect(api.address()).await.unwrap();
        client.write_all(post(&question(true), "").as_bytes()).await.unwrap();
        api.wait_until(|journal| journal.requests.iter().any(|entry| entry.outcome == Outcome::Stalled))
            .await;
        let found = end(api).await;
        assert_eq!(found[0]["content"], json!([{"type": "text", "text": "Hell"}]));
        assert_eq!((&found[0]["complete"], &found[0]["done_ms"]), (&json!(false), &Value::Null));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_attempt_has_its_own_answer() {
        let fault = "http:status=429,retry-after=3,times=1";
        let found = served(PLAIN, fault, &[post(&question(true), ""), post(&question(true), "")]).await;
        let (refused, answered) = (&found[0], &found[1]);
        assert_eq!(refused["error"]["type"], "rate_limit_error");
        assert!(refused["error"]["message"].as_str().unwrap().contains("rate limit"));
        assert_eq!((&refused["status"], &refused["retry_after"]), (&json!(429), &json!(3)));
        assert_eq!(json!([refused["content"], refused["id"], refused["usage"]]), json!([null, null, null]));
        assert_eq!((&refused["complete"], &refused["turn"]), (&json!(true), &json!("turn-1")));
        assert!(refused["fault"].as_str().unwrap().starts_with("http:status=429"));
        assert_eq!((&answered["fault"], &answered["status"]), (&Value::Null, &json!(200)));
        assert_eq!(answered["content"][0]["text"], "Hello there.");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn garbage_is_neither_told_nor_complete() {
        for fault in
            ["malformed-sse:event=4", "malformed-json:event=4", "invalid-utf8:event=4", "html", "empty"]
        {
            let found = served(PLAIN, fault, &[post(&question(true), "")]).await;
            assert_eq!(
                (&found[0]["content"], &found[0]["complete"]),
                (&Value::Null, &json!(false)),
                "{fault}"
            );
        }
        for fault in ["content-type:value=text/plain", "content-length:delta=5"] {
            let found = served(PLAIN, fault, &[post(&question(true), "")]).await;
            let told = (&found[0]["content"][0]["text"], &found[0]["complete"]);
            assert_eq!(told, (&json!("Hello there."), &json!(false)), "{fault}");
        }
        let found = served(PLAIN, "error-event:after-event=4", &[post(&question(true), "")]).await;
        assert_eq!(found[0]["content"], json!([{"type": "text", "text": "Hell"}]));
        assert!(found[0]["error"]["type"].is_string() && found[0]["complete"] == false);
        let found = served(PLAIN, "huge-text:megabytes=1", &[post(&question(true), "")]).await;
        assert_eq!(found[0]["content"][0]["text"].as_str().unwrap().len(), 1_000_000);
        assert_eq!(
            (&found[0]["content"][1]["text"], &found[0]["complete"]),
            (&json!("Hello there."), &json!(true))
        );
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn agents_that_ask_at_the_same_time_keep_their_answers_apart() {
        let turns = "[[api.turns]]\nwhen.agent = \"one\"\ntext = \"first\"\npace = { event_ms = 1 }\n\
                     [[api.turns]]\nwhen.agent = \"two\"\ntext = \"second\"\npace = { event_ms = 1 }\n";
        let api = start(script(turns), "").await;
        let request = |agent: &str| post(&question(true), &format!("x-claude-code-agent-id: {agent}\r\n"));
        let (one, two) = (request("one"), request("two"));
        tokio::join!(ask(&api, &one), ask(&api, &two));
        let found = end(api).await;
        for answer in &found {
            let wanted = if answer["agent"] == "one" { "first" } else { "second" };
            assert_eq!(answer["content"][0]["text"], wanted);
        }
        assert_ne!(found[0]["agent"], found[1]["agent"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_other_answer_has_its_kind() {
        let mounted = || {
            let body =
                json!({"type": "message", "id": "msg_own", "content": [{"type": "text", "text": "Mine."}]});
            Mock::given(path("/own/v1/messages")).respond_with(ResponseTemplate::new(200).set_body_json(body))
        };
        let plain =
            || Mock::given(path("/own")).respond_with(ResponseTemplate::new(200).set_body_string("hi"));
        let api = start(script(PLAIN).mount(mounted).mount(plain), "").await;
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let answered = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                              {"role": "user", "content": "c"}]);
        let second = json!({"model": "m", "max_tokens": 1, "messages": answered});
        let title = json!({"model": "m", "max_tokens": 1, "system": "a sentence-case title",
                           "messages": [{"role": "user", "content": "a"}]});
        let own = post(&question(false), "").replace("/v1/", "/own/v1/");
        let broken = post(&question(false), "").replace("{\"model\"", "[\"model\"");
        for request in [own, get("/own"), get("/v1/models"), post(&second, ""), post(&title, ""), broken] {
            ask(&api, &request).await;
        }
        let found = end(api).await;
        let kinds: Vec<&str> = found.iter().map(|answer| answer["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["mounted", "mounted", "built-in", "unmatched", "auxiliary", "refused"]);
        assert_eq!((&found[0]["id"], &found[0]["content"][0]["text"]), (&json!("msg_own"), &json!("Mine.")));
        for none in [1, 2, 3, 5] {
            assert_eq!(found[none]["content"], Value::Null, "{none}");
        }
        assert_eq!(found[3]["error"]["type"], "invalid_request_error");
        assert_eq!((&found[4]["turn"], &found[4]["complete"]), (&json!("title"), &json!(true)));
    }
}
