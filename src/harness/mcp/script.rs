//! What a scripted MCP server has and does. It is written as the JSON that it is read from, for the process that serves it.

use serde::Serialize;
use serde_json::{Value, json};

use super::fault::{ServerFault, ToolFault};

/// One scripted server.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Server {
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) transport: Transport,
    /// Milliseconds after which it begins to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) start_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<ServerFault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<String>,
    /// How a client starts or reaches a server of the user's own, of which nothing is scripted.
    #[serde(skip)]
    pub(super) own: Option<Value>,
    pub(super) tools: Vec<Tool>,
    pub(super) resources: Vec<Resource>,
    pub(super) prompts: Vec<Prompt>,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    #[default]
    Stdio,
    Http,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    /// The schema of its arguments.
    pub(super) input: Value,
    /// What it says; `{arguments}` are those of the call.
    pub(super) text: String,
    /// Blocks of content instead of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) structured: Option<Value>,
    pub(super) is_error: bool,
    /// The text is padded to so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<ToolFault>,
    /// It is there from the first call of this tool on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
    /// It is there up to the first call of this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) until: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Resource {
    pub(super) uri: String,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) mime: String,
}

#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Prompt {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) text: String,
    pub(super) arguments: Vec<String>,
}

impl Tool {
    /// The blocks that a call is answered with.
    pub(super) fn content(&self, arguments: &Value) -> Value {
        if let Some(content) = &self.content {
            return content.clone();
        }
        let mut text = self.text.replace("{arguments}", &arguments.to_string());
        if let Some(bytes) = self.text_bytes {
            let padding = " lorem ipsum".chars().cycle().take((bytes as usize).saturating_sub(text.len()));
            text.extend(padding);
        }
        json!([{"type": "text", "text": text}])
    }
}

impl Server {
    /// A scenario that holds nothing but this server.
    pub(super) fn to_scenario(&self) -> Value {
        json!({"scenario": {"name": "mcp"}, "mcp": {&self.name: self}})
    }

    /// Has it do something wrong that its scenario does not say.
    #[cfg(feature = "cli")]
    pub(crate) fn misbehave(&mut self, fault: Option<&str>, of_tools: Option<&str>) -> Result<(), String> {
        if let Some(name) = fault {
            let fault = ServerFault::named(name)?;
            fault.fits(self.transport)?;
            self.fault = Some(fault);
        }
        if let Some(name) = of_tools {
            let fault = ToolFault::named(name)?;
            self.tools.iter_mut().for_each(|tool| tool.fault = Some(fault));
        }
        Ok(())
    }

    /// Whether it is scripted and reached over HTTP.
    pub(crate) fn is_over_http(&self) -> bool {
        self.own.is_none() && self.transport == Transport::Http
    }

    /// Whether it is the user's own, which is only told to the client.
    #[cfg(feature = "cli")]
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Whether a client that waits long enough has to get on with it.
    pub(super) fn works(&self) -> bool {
        self.fault.is_none_or(ServerFault::is_harmless)
    }
}
