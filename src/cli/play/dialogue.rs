//! The other half of a recorded conversation: what the program has to say before the recording goes on.

use std::collections::HashMap;
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::cli::output::note;
use crate::text::printable;

/// What was said when the recording was made, and what is said now.
pub(super) struct Dialogue {
    /// What is still to be said: after how much of the output, and what.
    expected: Vec<(usize, Value)>,
    said: Receiver<Value>,
    /// What came before it was waited for.
    early: Vec<Value>,
    /// The ids of requests: as recorded, and as they are now.
    ids: HashMap<String, Value>,
}

impl Dialogue {
    /// Listens to standard input, if something was sent when the recording was made.
    pub(super) fn new(sent: Option<&Value>) -> Option<Self> {
        let sent = sent?.as_array().filter(|sent| !sent.is_empty())?;
        let entry = |entry: &Value| {
            let offset = usize::try_from(entry["offset"].as_u64()?).ok()?;
            Some((offset, if entry["closed"] == true { Value::Null } else { entry["message"].clone() }))
        };
        let expected = sent.iter().filter_map(entry).collect();
        let (tell, said) = channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if tell.send(serde_json::from_str(&line).unwrap_or_default()).is_err() {
                    return;
                }
            }
        });
        Some(Self { expected, said, early: Vec::new(), ids: HashMap::new() })
    }

    /// How much may be printed before something has to be said.
    pub(super) fn next(&self) -> Option<usize> {
        self.expected.first().map(|(offset, _)| *offset)
    }

    /// Waits for what has to be said. The answer is where the recording goes on without it: standard input has ended.
    pub(super) fn wait(&mut self, answer: &mut dyn FnMut(&Value)) -> Result<(), String> {
        let (_, wanted) = self.expected.remove(0);
        if let Some(at) = self.early.iter().position(|said| is_like(&wanted, said)) {
            let said = self.early.remove(at);
            self.take(&wanted, &said);
            return Ok(());
        }
        loop {
            let Ok(said) = self.said.recv() else {
                if wanted.is_null() {
                    return Ok(());
                }
                return Err(format!(
                    "the recording goes on after {}, and standard input has ended",
                    name(&wanted)
                ));
            };
            if is_like(&wanted, &said) {
                self.take(&wanted, &said);
                return Ok(());
            }
            if self.expected.iter().any(|(_, later)| is_like(later, &said)) {
                self.early.push(said);
            } else if said["type"] == "control_request" {
                // Whoever waits for an answer that nobody recorded hears so at once.
                answer(&json!({"type": "control_response", "response": {
                    "subtype": "error", "request_id": said["request_id"], "error": "this request is not in the recording",
                }}));
            }
        }
    }

    fn take(&mut self, wanted: &Value, said: &Value) {
        if let (Some(recorded), "control_request") = (wanted["request_id"].as_str(), text(said, "type")) {
            self.ids.insert(recorded.to_owned(), said["request_id"].clone());
        }
        let behaviour = |message: &Value| message["response"]["response"]["behavior"].clone();
        if behaviour(wanted) != behaviour(said) {
            note(&format!(
                "the recording goes on as after {}, and {} was said",
                printable(&behaviour(wanted).to_string()),
                printable(&behaviour(said).to_string())
            ));
        }
    }

    /// A part of the output, with the ids of requests as they are now.
    pub(super) fn with_ids(&self, bytes: &[u8]) -> Vec<u8> {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let rewritten = lines.map(|line| {
            if self.ids.is_empty() || memchr::memmem::find(line, b"control_response").is_none() {
                return line.to_vec();
            }
            let Ok(mut message) = serde_json::from_slice::<Value>(line) else { return line.to_vec() };
            let recorded = message["response"]["request_id"].as_str().unwrap_or_default().to_owned();
            match self.ids.get(&recorded) {
                Some(id) => {
                    message["response"]["request_id"] = id.clone();
                    format!("{message}\n").into_bytes()
                }
                None => line.to_vec(),
            }
        });
        rewritten.collect::<Vec<_>>().concat()
    }
}

fn text<'v>(message: &'v Value, name: &str) -> &'v str {
    message[name].as_str().unwrap_or_default()
}

/// What a message is called for people.
fn name(message: &Value) -> String {
    let kind = text(message, "type");
    match message["request"]["subtype"].as_str() {
        Some(subtype) => printable(&format!("{kind}/{subtype}")).into_owned(),
        None => printable(kind).into_owned(),
    }
}

/// Whether what is said now is what was said then: a message of the user, the same request, the answer to the same
/// request.
fn is_like(wanted: &Value, said: &Value) -> bool {
    let same = |at: &str| wanted.pointer(at) == said.pointer(at);
    text(wanted, "type") == text(said, "type")
        && !wanted.is_null()
        && match text(wanted, "type") {
            "control_request" => same("/request/subtype"),
            "control_response" => same("/response/request_id"),
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialogue(expected: &[Value], said: &[Value]) -> Dialogue {
        let (tell, heard) = channel();
        for message in said {
            tell.send(message.clone()).unwrap();
        }
        let expected = expected.iter().map(|message| (0, message.clone())).collect();
        Dialogue { expected, said: heard, early: Vec::new(), ids: HashMap::new() }
    }

    #[test]
    fn a_request_has_its_own_id_in_the_answer_whatever_the_order() {
        let request = |id: &str, subtype: &str| json!({"type": "control_request", "request_id": id, "request": {"subtype": subtype}});
        let user = json!({"type": "user"});
        let mut dialogue = dialogue(
            &[request("r1", "initialize"), user.clone()],
            &[user, request("x", "mcp_status"), request("mine", "initialize")],
        );
        let mut answers = Vec::new();
        dialogue.wait(&mut |answer| answers.push(answer.clone())).unwrap();
        assert_eq!(answers[0]["response"]["request_id"], "x");
        let line = b"{\"type\":\"control_response\",\"response\":{\"request_id\":\"r1\"}}\n";
        assert!(String::from_utf8(dialogue.with_ids(line)).unwrap().contains("\"mine\""));
        assert_eq!(dialogue.with_ids(b"{\"type\":\"result\"}\n"), b"{\"type\":\"result\"}\n");
        dialogue.wait(&mut |_| panic!("nothing was asked")).unwrap();
        assert_eq!(dialogue.next(), None);
    }

    #[test]
    fn an_input_that_ends_too_early_is_said_and_an_end_is_waited_for() {
        let error = dialogue(&[json!({"type": "user"})], &[]).wait(&mut |_| {}).unwrap_err();
        assert!(error.contains("goes on after user"), "{error}");
        dialogue(&[Value::Null], &[json!({"type": "user"})]).wait(&mut |_| {}).unwrap();
    }
}
