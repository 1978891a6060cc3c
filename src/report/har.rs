//! The traffic of recordings as an HTTP archive (HAR 1.2), which browsers and many tools show.

use serde_json::{Value, json};

use crate::recording::Recording;
use crate::time;

/// The archive of some recordings; bodies that were not kept are left out.
pub(crate) fn har(recordings: &[&Recording]) -> Value {
    let entries: Vec<Value> = recordings.iter().flat_map(|recording| entries(recording)).collect();
    let creator = json!({"name": "clawgate", "version": env!("CARGO_PKG_VERSION")});
    json!({"log": {"version": "1.2", "creator": creator, "entries": entries}})
}

fn entries(recording: &Recording) -> Vec<Value> {
    let facts = &recording.facts.other;
    let list = |key: &str| facts.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let started = facts.get("started_at").and_then(Value::as_str).unwrap_or_default();
    let lead = facts.get("api_lead_ms").and_then(Value::as_f64).unwrap_or_default();
    let begun = time::parse(started).map_or(0, |(time, _)| time);
    let moment = |after: f64| time::rfc3339(begun + after as i64);
    let served = |at: usize| list("served").iter().find(|served| served["request"] == at);
    let entry = |(at, request): (usize, &Value)| {
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        let host = request["headers"]["host"].as_str().unwrap_or("127.0.0.1");
        let query = if text("query").is_empty() { String::new() } else { format!("?{}", text("query")) };
        let asked = recording.request_body(at).ok().flatten();
        let answer = served(at).unwrap_or(&Value::Null);
        let body = recording.answer_body(at).ok().flatten();
        // Of an answer of a script only what it said is known, not how.
        let is_told = body.is_none() && answer["content"].is_array();
        let content = match &body {
            Some(body) => Some(String::from_utf8_lossy(body).into_owned()),
            None => is_told.then(|| {
                json!({"content": answer["content"], "stop_reason": answer["stop_reason"]}).to_string()
            }),
        };
        let kind = answer["headers"]["content-type"].as_str().unwrap_or("application/json");
        let mut said = json!({"size": content.as_ref().map_or(0, String::len), "mimeType": kind});
        if let Some(content) = content {
            said["text"] = content.into();
        }
        if is_told {
            said["comment"] = "put together from what the scripted API said".into();
        }
        let (wait, whole) = (request["first_byte_ms"].as_f64(), request["duration_ms"].as_f64());
        let (wait, whole) = (wait.unwrap_or(0.0), whole.or(wait).unwrap_or(0.0));
        let mut entry = json!({
            "startedDateTime": moment(request["at_ms"].as_f64().unwrap_or_default() - lead),
            "time": whole,
            "request": {
                "method": text("method"),
                "url": format!("http://{host}{}{query}", text("path")),
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": headers(&request["headers"]),
                "queryString": query_string(text("query")),
                "headersSize": -1,
                "bodySize": request["body"]["bytes"].as_i64().unwrap_or(0),
            },
            "response": {
                "status": request["status"].as_u64().unwrap_or(0),
                "statusText": "",
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": headers(&answer["headers"]),
                "content": said,
                "redirectURL": "",
                "headersSize": -1,
                "bodySize": request["sent_bytes"].as_i64().unwrap_or(-1),
            },
            "cache": {},
            "timings": {"send": 0, "wait": wait, "receive": (whole - wait).max(0.0)},
            "comment": format!("{} of {}: {}", recording.facts.scenario, recording.facts.target, text("outcome")),
        });
        if let Some(asked) = asked {
            let kind = request["headers"]["content-type"].as_str().unwrap_or("application/json");
            entry["request"]["postData"] = json!({"mimeType": kind, "text": String::from_utf8_lossy(&asked)});
        }
        entry
    };
    list("requests").iter().enumerate().map(entry).collect()
}

fn headers(headers: &Value) -> Vec<Value> {
    let headers = headers.as_object().into_iter().flatten();
    headers.map(|(name, value)| json!({"name": name, "value": value.as_str().unwrap_or_default()})).collect()
}

fn query_string(query: &str) -> Vec<Value> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| json!({"name": name, "value": value})).collect()
}
