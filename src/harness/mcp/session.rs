//! What a server answers: one message in, what is to be sent out. It knows nothing of how it is reached.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::fault::{ServerFault, ToolFault};
use super::journal::Journal;
use super::script::{Server, Tool};

/// The versions of the protocol that are spoken, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// A version that nobody knows.
const NO_VERSION: &str = "1999-01-01";
/// What a line that is no JSON looks like.
pub(super) const GARBAGE: &str = "Listening for requests...";

/// A server that somebody talks to.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) server: Arc<Server>,
    pub(super) journal: Arc<Journal>,
    /// The tools that were called so far, on which others depend.
    called: Mutex<Vec<String>>,
}

/// What is to be done about a message.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) delay_ms: u64,
    pub(super) answer: Answer,
    /// What the journal says of it, once it is sent.
    pub(super) told: Option<Value>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) enum Answer {
    /// Nothing: it was no question.
    #[default]
    Silence,
    /// Nothing, although it was one.
    Never,
    /// Messages, one after the other.
    Say(Vec<Value>),
    /// A line that is no message.
    Garbage,
    /// Half of a message, and then the end.
    Cut(Value),
    /// The end, without a word.
    End,
}

impl Session {
    pub(super) fn new(server: Arc<Server>, journal: Arc<Journal>) -> Self {
        Self { server, journal, called: Mutex::default() }
    }

    /// Answers a message, or what was sent as one.
    pub(super) fn take(&self, bytes: &[u8]) -> Reply {
        let Ok(message @ Value::Object(_)) = serde_json::from_slice(bytes) else {
            let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
            self.journal.write(&self.server.name, json!({"event": "not-json", "bytes": head}));
            return Reply {
                answer: Answer::Say(vec![failure(&Value::Null, -32700, "Parse error")]),
                ..Reply::default()
            };
        };
        let Some(method) = message["method"].as_str() else {
            // An answer to what was never asked.
            self.journal.write(&self.server.name, json!({"event": "answer-unasked", "id": message["id"]}));
            return Reply::default();
        };
        let Some(id) = message.get("id") else {
            let mut told = json!({"event": "notified", "method": method});
            if method == "notifications/cancelled" {
                told["id"] = message["params"]["requestId"].clone();
            }
            self.journal.write(&self.server.name, told);
            return Reply::default();
        };
        if method == "tools/call" {
            return self.call(id, &message["params"]);
        }
        self.journal.write(&self.server.name, json!({"event": "asked", "method": method}));
        self.other(method, id, &message["params"])
    }

    fn other(&self, method: &str, id: &Value, params: &Value) -> Reply {
        let (fault, server) = (self.server.fault, &*self.server);
        if fault == Some(ServerFault::Silent) {
            return Reply { answer: Answer::Never, ..Reply::default() };
        }
        let answered = match method {
            "initialize" if fault == Some(ServerFault::InitializeError) => Err((-32603, "The scripted server does not initialize".to_owned())),
            "initialize" => Ok(self.initialized(params)),
            "ping" | "logging/setLevel" => Ok(json!({})),
            "tools/list" | "resources/list" | "prompts/list" | "resources/templates/list" if fault == Some(ServerFault::ListError) => {
                Err((-32603, "The scripted server has lost its list".to_owned()))
            }
            "tools/list" => Ok(json!({"tools": self.tools().map(described).collect::<Vec<_>>()})),
            "resources/list" => {
                let described = server.resources.iter().map(|one| json!({"uri": one.uri, "name": one.name, "mimeType": one.mime}));
                Ok(json!({"resources": described.collect::<Vec<_>>()}))
            }
            "resources/templates/list" => Ok(json!({"resourceTemplates": []})),
            "resources/read" => server.resources.iter().find(|one| params["uri"] == one.uri).map_or_else(
                || Err((-32002, "Resource not found".to_owned())),
                |one| Ok(json!({"contents": [{"uri": one.uri, "mimeType": one.mime, "text": one.text}]})),
            ),
            "prompts/list" => {
                let named = |name: &String| json!({"name": name, "required": true});
                let described = server.prompts.iter().map(|one| {
                    json!({"name": one.name, "description": one.description, "arguments": one.arguments.iter().map(named).collect::<Vec<_>>()})
                });
                Ok(json!({"prompts": described.collect::<Vec<_>>()}))
            }
            "prompts/get" => server.prompts.iter().find(|one| params["name"] == one.name).map_or_else(
                || Err((-32602, "Unknown prompt".to_owned())),
                |one| {
                    let fill = |text: String, name: &String| {
                        text.replace(&format!("{{{name}}}"), params["arguments"][name].as_str().unwrap_or_default())
                    };
                    let text = one.arguments.iter().fold(one.text.clone(), fill);
                    Ok(json!({"description": one.description, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))
                },
            ),
            _ => Err((-32601, format!("Method not found: {method}"))),
        };
        let mut told = json!({"event": "answered", "method": method});
        if method == "tools/list" && answered.is_ok() {
            told["tools"] = self.tools().map(|tool| tool.name.clone()).collect();
        }
        let message = match answered {
            Ok(result) => {
                // A version that the client knows is a handshake that can succeed.
                told["ok"] = (method != "initialize" || fault != Some(ServerFault::OtherVersion)).into();
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
            Err((code, message)) => {
                told["ok"] = false.into();
                failure(id, code, &message)
            }
        };
        Reply { answer: Answer::Say(vec![message]), told: Some(told), ..Reply::default() }
    }

    fn initialized(&self, params: &Value) -> Value {
        let wanted = params["protocolVersion"].as_str().unwrap_or_default();
        let version = match self.server.fault {
            Some(ServerFault::OtherVersion) => NO_VERSION,
            _ => VERSIONS.into_iter().find(|known| *known == wanted).unwrap_or(VERSIONS[0]),
        };
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": self.server.name, "version": env!("CARGO_PKG_VERSION")},
        });
        if !self.server.resources.is_empty() {
            result["capabilities"]["resources"] = json!({});
        }
        if !self.server.prompts.is_empty() {
            result["capabilities"]["prompts"] = json!({});
        }
        if let Some(text) = &self.server.instructions {
            result["instructions"] = text.clone().into();
        }
        result
    }

    /// The tools that are there now.
    fn tools(&self) -> impl Iterator<Item = &Tool> {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.server.tools.iter().filter(move |tool| {
            let was_called = |name: &String| called.contains(name);
            tool.after.as_ref().is_none_or(was_called) && !tool.until.as_ref().is_some_and(was_called)
        })
    }

    fn call(&self, id: &Value, params: &Value) -> Reply {
        let name = params["name"].as_str().unwrap_or_default();
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let mut told = json!({"event": "call", "id": id, "tool": name, "arguments": arguments});
        if let Some(tool_use) = params["_meta"]["claudecode/toolUseId"].as_str() {
            told["tool_use_id"] = tool_use.into();
        }
        let number = self.journal.write_call(&self.server.name, told);
        let Some(tool) = self.tools().find(|tool| tool.name == name) else {
            let message = failure(id, -32602, &format!("Unknown tool: {name}"));
            let told = json!({"event": "result", "call": number, "error": message["error"]});
            return Reply { answer: Answer::Say(vec![message]), told: Some(told), ..Reply::default() };
        };
        let before = self.tools().count();
        let is_first = {
            let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = !called.contains(&tool.name);
            called.extend(is_first.then(|| tool.name.clone()));
            is_first
        };
        let mut result = json!({"content": tool.content(&arguments), "isError": tool.is_error});
        if let Some(structured) = &tool.structured {
            result["structuredContent"] = structured.clone();
        }
        let mut told = json!({"event": "result", "call": number, "fault": tool.fault});
        let message = |result: &Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let answer = match tool.fault {
            Some(ToolFault::Hangs) => Answer::Never,
            Some(ToolFault::Dies) => Answer::End,
            Some(ToolFault::Cut) => Answer::Cut(message(&result)),
            Some(ToolFault::Garbage) => Answer::Garbage,
            Some(ToolFault::Error) => {
                let message = failure(id, -32603, "The scripted tool is broken");
                told["error"] = message["error"].clone();
                Answer::Say(vec![message])
            }
            Some(ToolFault::WrongId) => {
                Answer::Say(vec![json!({"jsonrpc": "2.0", "id": 999_999, "result": result})])
            }
            Some(ToolFault::NoContent) => {
                result = json!({});
                told["result"] = result.clone();
                Answer::Say(vec![message(&result)])
            }
            Some(ToolFault::Twice) => {
                told["result"] = result.clone();
                Answer::Say(vec![message(&result), message(&result)])
            }
            None => {
                told["result"] = result.clone();
                let mut said = vec![message(&result)];
                let changes =
                    |tool: &Tool| [&tool.after, &tool.until].into_iter().flatten().any(|on| on == name);
                if is_first && (self.tools().count() != before || self.server.tools.iter().any(changes)) {
                    said.push(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                }
                Answer::Say(said)
            }
        };
        Reply { delay_ms: tool.delay_ms.unwrap_or(0), answer, told: Some(told) }
    }
}

fn described(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input})
}

fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn server(text: &str) -> Server {
        let mut root = Document::parse("my.toml", text).unwrap();
        Server::read_all(root.take("mcp").unwrap().into_table().unwrap(), &[]).unwrap().remove(0)
    }

    fn session(server: Server) -> Session {
        Session::new(Arc::new(server), Arc::new(Journal::in_memory()))
    }

    fn ask(session: &Session, method: &str, params: &Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        session.take(message.to_string().as_bytes()).answer
    }

    fn said(answer: Answer) -> Vec<Value> {
        match answer {
            Answer::Say(messages) => messages,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tools_resources_and_prompts_are_what_the_script_says() {
        let server = server(
            "[[mcp.s.tools]]\nname = \"echo\"\ntext = \"got {arguments}\"\n[[mcp.s.resources]]\nuri = \"x://a\"\ntext = \"A\"\n[[mcp.s.prompts]]\nname = \"p\"\ntext = \"Say {what}.\"\narguments = [\"what\"]\n",
        );
        let session = session(server);
        let one = |method: &str, params: Value| said(ask(&session, method, &params)).remove(0);
        assert_eq!(
            one("initialize", json!({"protocolVersion": "2025-03-26"}))["result"]["protocolVersion"],
            "2025-03-26"
        );
        assert_eq!(
            one("initialize", json!({"protocolVersion": "3000-01-01"}))["result"]["protocolVersion"],
            VERSIONS[0]
        );
        assert_eq!(one("tools/list", json!({}))["result"]["tools"][0]["name"], "echo");
        let called = one("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
        assert_eq!(called["result"]["content"][0]["text"], "got {\"a\":1}");
        assert_eq!(one("tools/call", json!({"name": "no"}))["error"]["code"], -32602);
        assert_eq!(one("resources/read", json!({"uri": "x://a"}))["result"]["contents"][0]["text"], "A");
        assert_eq!(one("resources/read", json!({"uri": "x://b"}))["error"]["code"], -32002);
        let prompt = one("prompts/get", json!({"name": "p", "arguments": {"what": "hi"}}));
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Say hi.");
        assert_eq!(one("no/such", json!({}))["error"]["code"], -32601);
        assert_eq!(
            session.take(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}").answer,
            Answer::Silence
        );
        assert_eq!(said(session.take(b"rubbish").answer)[0]["error"]["code"], -32700);
    }

    #[test]
    fn the_list_changes_when_a_tool_is_called_and_that_is_told_once() {
        let server =
            server("mcp.s.tools = [{ name = \"a\", until = \"a\" }, { name = \"b\", after = \"a\" }]");
        let session = session(server);
        let names = || said(ask(&session, "tools/list", &json!({})))[0]["result"]["tools"].clone();
        assert_eq!(names().as_array().unwrap().len(), 1);
        let first = said(ask(&session, "tools/call", &json!({"name": "a"})));
        assert_eq!(first[1]["method"], "notifications/tools/list_changed");
        assert_eq!(names()[0]["name"], "b");
        assert_eq!(said(ask(&session, "tools/call", &json!({"name": "b"}))).len(), 1);
    }

    #[test]
    fn each_fault_is_what_it_says() {
        let call = |fault: &str| {
            let server =
                server(&format!("mcp.s.tools = [{{ name = \"a\", text = \"x\", fault = \"{fault}\" }}]"));
            ask(&session(server), "tools/call", &json!({"name": "a"}))
        };
        assert_eq!(call("hangs"), Answer::Never);
        assert_eq!(call("dies"), Answer::End);
        assert_eq!(call("garbage"), Answer::Garbage);
        assert!(matches!(call("cut"), Answer::Cut(_)));
        assert_eq!(said(call("twice")).len(), 2);
        assert_ne!(said(call("wrong-id"))[0]["id"], 7);
        assert_eq!(said(call("error"))[0]["error"]["code"], -32603);
        assert_eq!(said(call("no-content"))[0]["result"], json!({}));
        let first = |fault: &str, method: &str| {
            let server = server(&format!("mcp.s.fault = \"{fault}\""));
            ask(&session(server), method, &json!({}))
        };
        assert_eq!(first("silent", "initialize"), Answer::Never);
        assert!(said(first("initialize-error", "initialize"))[0]["error"].is_object());
        assert!(said(first("list-error", "tools/list"))[0]["error"].is_object());
        assert_eq!(said(first("other-version", "initialize"))[0]["result"]["protocolVersion"], NO_VERSION);
    }
}
