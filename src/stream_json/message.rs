//! Typed views of the messages. A view is the message itself with named accessors: every field is optional, a field
//! of another type than expected reads as absent, and the raw node stays at hand.

use std::borrow::Cow;

use crate::json::{Key, Node};

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident { $($field:ident $(($key:literal))?: $kind:ident),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub struct $name<'a>(pub Node<'a>);

            impl<'a> $name<'a> {
                $(views!(@accessor $field $(($key))?: $kind);)*
            }
        )*
    };
    (@accessor $field:ident: $kind:ident) => { views!(@typed $field, stringify!($field), $kind); };
    (@accessor $field:ident($key:literal): $kind:ident) => { views!(@typed $field, $key, $kind); };
    (@typed $field:ident, $key:expr, text) => {
        #[doc = concat!("The string `", $key, "`.")]
        pub fn $field(self) -> Option<Cow<'a, str>> { self.0.get($key)?.text() }
    };
    (@typed $field:ident, $key:expr, boolean) => {
        #[doc = concat!("The boolean `", $key, "`.")]
        pub fn $field(self) -> Option<bool> { self.0.get($key)?.boolean() }
    };
    (@typed $field:ident, $key:expr, integer) => {
        #[doc = concat!("The integer `", $key, "`.")]
        pub fn $field(self) -> Option<i64> { self.0.get($key)?.whole() }
    };
    (@typed $field:ident, $key:expr, float) => {
        #[doc = concat!("The number `", $key, "`.")]
        pub fn $field(self) -> Option<f64> { self.0.get($key)?.float() }
    };
    (@typed $field:ident, $key:expr, texts) => {
        #[doc = concat!("The strings of the array `", $key, "`.")]
        pub fn $field(self) -> impl Iterator<Item = Cow<'a, str>> {
            self.0.get($key).into_iter().flat_map(Node::items).filter_map(Node::text)
        }
    };
    (@typed $field:ident, $key:expr, items) => {
        #[doc = concat!("The elements of the array `", $key, "`.")]
        pub fn $field(self) -> impl Iterator<Item = Node<'a>> {
            self.0.get($key).into_iter().flat_map(Node::items)
        }
    };
    (@typed $field:ident, $key:expr, node) => {
        #[doc = concat!("The value `", $key, "`, whatever its type.")]
        pub fn $field(self) -> Option<Node<'a>> { self.0.get($key) }
    };
}

views! {
    /// `system/init`: the session starts, or re-enters its main loop.
    Init {
        cwd: text, session_id: text, tools: texts, mcp_servers: items, model: text,
        permission_mode("permissionMode"): text, slash_commands: texts, api_key_source("apiKeySource"): text,
        claude_code_version: text, output_style: text, agents: texts, skills: texts, plugins: items, uuid: text,
    }
    /// `result`: the outcome of one pass of the main loop.
    RunResult {
        subtype: text, is_error: boolean, duration_ms: float, duration_api_ms: float, num_turns: integer,
        result: text, stop_reason: text, session_id: text, total_cost_usd: float, usage: node,
        model_usage("modelUsage"): node, permission_denials: items, api_error_status: integer,
        api_error_type: text, terminal_reason: text, errors: texts, origin: node, structured_output: node, uuid: text,
    }
    /// `system/api_retry`: a request failed and is sent again.
    ApiRetry { attempt: integer, max_retries: integer, retry_delay_ms: float, error_status: integer, error: text }
    /// `system/task_started`: a sub-agent, background command or workflow starts.
    TaskStarted {
        task_id: text, tool_use_id: text, description: text, task_type: text, subagent_type: text,
        is_backgrounded: boolean, workflow_name: text,
    }
    /// `system/task_updated`: a task changes its state.
    TaskUpdated { task_id: text, patch: node }
    /// `system/task_notification`: a task ended.
    TaskNotification { task_id: text, tool_use_id: text, status: text, output_file: text, summary: text, usage: node }
    /// `system/task_progress`: a task works.
    TaskProgress { task_id: text, tool_use_id: text, description: text, usage: node, last_tool_name: text }
    /// `system/background_tasks_changed`: which tasks run now.
    BackgroundTasksChanged { tasks: items }
    /// `system/hook_started`: a hook starts.
    HookStarted { hook_id: text, hook_name: text, hook_event: text }
    /// `system/hook_response`: a hook ended.
    HookResponse {
        hook_id: text, hook_name: text, hook_event: text, output: text, stdout: text, stderr: text,
        exit_code: integer, outcome: text,
    }
    /// `system/status`: the main loop changes its state.
    Status { status: text, compact_result: text, compact_error: text }
    /// `system/compact_boundary`: the conversation was compacted.
    CompactBoundary { compact_metadata: node }
    /// `system/thinking_tokens`: how much the model has thought so far.
    ThinkingTokens { estimated_tokens: integer, estimated_tokens_delta: integer }
    /// `system/model_fallback`: another model takes over.
    ModelFallback { trigger: text, original_model: text, fallback_model: text, content: text }
    /// `system/model_refusal_no_fallback`: the model refused, and no other takes over.
    ModelRefusal { original_model: text, request_id: text, api_refusal_category: text, content: text }
    /// `system/informational`: a message for the user.
    Informational { content: text, level: text, prevent_continuation: boolean }
    /// `system/notification`: a notice for the user.
    Notification { key: text, text: text, priority: text }
    /// `system/session_state_changed`: the session runs or is idle.
    SessionStateChanged { state: text }
    /// `system/permission_denied`: a tool call was refused.
    PermissionDenied { tool_name: text, tool_use_id: text, message: text }
    /// `stream_event`: a raw event of the API's own stream.
    StreamEvent { event: node, parent_tool_use_id: text, session_id: text, uuid: text, ttft_ms: float }
    /// `rate_limit_event`: the state of a subscription's limits.
    RateLimitEvent { rate_limit_info: node }
    /// `tool_use_summary`: a summary of tool calls.
    ToolUseSummary { summary: text, preceding_tool_use_ids: texts }
    /// `control_request`: the CLI asks its host.
    ControlRequest { request_id: text, request: node }
    /// `control_response`: the CLI answers its host.
    ControlResponse { response: node }
    /// Any other message.
    Unknown { kind("type"): text, subtype: text }
}

/// A message by its `type` and `subtype`. Those that this version does not know pass through as [`Unknown`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is named after its view, which is documented")]
pub enum Message<'a> {
    Init(Init<'a>),
    Assistant(Assistant<'a>),
    User(User<'a>),
    Result(RunResult<'a>),
    ApiRetry(ApiRetry<'a>),
    TaskStarted(TaskStarted<'a>),
    TaskUpdated(TaskUpdated<'a>),
    TaskNotification(TaskNotification<'a>),
    TaskProgress(TaskProgress<'a>),
    BackgroundTasksChanged(BackgroundTasksChanged<'a>),
    HookStarted(HookStarted<'a>),
    HookResponse(HookResponse<'a>),
    Status(Status<'a>),
    CompactBoundary(CompactBoundary<'a>),
    ThinkingTokens(ThinkingTokens<'a>),
    ModelFallback(ModelFallback<'a>),
    ModelRefusal(ModelRefusal<'a>),
    Informational(Informational<'a>),
    Notification(Notification<'a>),
    SessionStateChanged(SessionStateChanged<'a>),
    PermissionDenied(PermissionDenied<'a>),
    StreamEvent(StreamEvent<'a>),
    RateLimitEvent(RateLimitEvent<'a>),
    ToolUseSummary(ToolUseSummary<'a>),
    ControlRequest(ControlRequest<'a>),
    ControlResponse(ControlResponse<'a>),
    Unknown(Unknown<'a>),
}

impl<'a> Message<'a> {
    /// The view of this object by its `type` and `subtype`.
    pub fn of(root: Node<'a>) -> Self {
        let [kind, message, parent_tool_use_id, error, tool_use_result] = root.pick(
            const {
                [
                    Key::new("type"),
                    Key::new("message"),
                    Key::new("parent_tool_use_id"),
                    Key::new("error"),
                    Key::new("tool_use_result"),
                ]
            },
        );
        let Some(kind) = kind.and_then(Node::text) else { return Self::Unknown(Unknown(root)) };
        match &*kind {
            "assistant" => Self::Assistant(Assistant { root, message, parent_tool_use_id, error }),
            "user" => Self::User(User { root, message, tool_use_result, parent_tool_use_id }),
            "result" => Self::Result(RunResult(root)),
            "stream_event" => Self::StreamEvent(StreamEvent(root)),
            "system" => Self::of_system(root),
            "rate_limit_event" => Self::RateLimitEvent(RateLimitEvent(root)),
            "tool_use_summary" => Self::ToolUseSummary(ToolUseSummary(root)),
            "control_request" => Self::ControlRequest(ControlRequest(root)),
            "control_response" => Self::ControlResponse(ControlResponse(root)),
            _ => Self::Unknown(Unknown(root)),
        }
    }

    fn of_system(root: Node<'a>) -> Self {
        let Some(subtype) = root.get("subtype").and_then(Node::text) else {
            return Self::Unknown(Unknown(root));
        };
        match &*subtype {
            "init" => Self::Init(Init(root)),
            "api_retry" => Self::ApiRetry(ApiRetry(root)),
            "task_started" => Self::TaskStarted(TaskStarted(root)),
            "task_updated" => Self::TaskUpdated(TaskUpdated(root)),
            "task_notification" => Self::TaskNotification(TaskNotification(root)),
            "task_progress" => Self::TaskProgress(TaskProgress(root)),
            "background_tasks_changed" => Self::BackgroundTasksChanged(BackgroundTasksChanged(root)),
            "hook_started" => Self::HookStarted(HookStarted(root)),
            "hook_response" => Self::HookResponse(HookResponse(root)),
            "status" => Self::Status(Status(root)),
            "compact_boundary" => Self::CompactBoundary(CompactBoundary(root)),
            "thinking_tokens" => Self::ThinkingTokens(ThinkingTokens(root)),
            "model_fallback" => Self::ModelFallback(ModelFallback(root)),
            "model_refusal_no_fallback" => Self::ModelRefusal(ModelRefusal(root)),
            "informational" => Self::Informational(Informational(root)),
            "notification" => Self::Notification(Notification(root)),
            "session_state_changed" => Self::SessionStateChanged(SessionStateChanged(root)),
            "permission_denied" => Self::PermissionDenied(PermissionDenied(root)),
            _ => Self::Unknown(Unknown(root)),
        }
    }
}

/// `assistant`: one content block of a model message, or a synthetic one.
///
/// Most lines of a stream are of this kind and the next, so their members are found in one pass.
#[derive(Debug, Clone, Copy)]
pub struct Assistant<'a> {
    /// The whole line.
    pub root: Node<'a>,
    /// The API message, whatever its type.
    pub message: Option<Node<'a>>,
    parent_tool_use_id: Option<Node<'a>>,
    error: Option<Node<'a>>,
}

impl<'a> Assistant<'a> {
    /// The API message, if it is an object.
    pub fn api_message(self) -> Option<ApiMessage<'a>> {
        self.message.filter(|node| node.is_object()).map(ApiMessage::of)
    }

    /// The tool call of the sub-agent that said this.
    pub fn parent_tool_use_id(self) -> Option<Cow<'a, str>> {
        self.parent_tool_use_id?.text()
    }

    /// The error that the message stands for.
    pub fn error(self) -> Option<Cow<'a, str>> {
        self.error?.text()
    }

    /// Whether a sub-agent said this.
    pub fn is_subagent(self) -> bool {
        self.parent_tool_use_id.is_some_and(|node| !node.is_null())
    }

    /// Whether the CLI made this message up, to show an error or the output of a local command.
    pub fn is_synthetic(self) -> bool {
        self.api_message().is_some_and(ApiMessage::is_synthetic)
    }
}

/// The API message inside an [`Assistant`] line.
#[derive(Debug, Clone, Copy)]
pub struct ApiMessage<'a> {
    /// The whole message.
    pub root: Node<'a>,
    id: Option<Node<'a>>,
    model: Option<Node<'a>>,
    content: Option<Node<'a>>,
    /// Why the model stopped; null in current streams.
    pub stop_reason: Option<Node<'a>>,
    /// Token usage, whatever its type.
    pub usage: Option<Node<'a>>,
}

impl<'a> ApiMessage<'a> {
    fn of(root: Node<'a>) -> Self {
        let [id, model, content, stop_reason, usage] = root.pick(
            const {
                [
                    Key::new("id"),
                    Key::new("model"),
                    Key::new("content"),
                    Key::new("stop_reason"),
                    Key::new("usage"),
                ]
            },
        );
        Self { root, id, model, content, stop_reason, usage }
    }

    /// The message's id, which its lines share.
    pub fn id(self) -> Option<Cow<'a, str>> {
        self.id?.text()
    }

    /// The model.
    pub fn model(self) -> Option<Cow<'a, str>> {
        self.model?.text()
    }

    /// Whether the CLI made this message up.
    pub fn is_synthetic(self) -> bool {
        self.model.is_some_and(|model| model.is_text("<synthetic>"))
    }

    /// The content blocks, if the content is an array.
    pub fn blocks(self) -> impl Iterator<Item = Block<'a>> {
        self.content.into_iter().flat_map(Node::items).map(Block::of)
    }
}

/// A content block of an assistant or user message.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the fields are the members of the same name, whatever their type")]
pub struct Block<'a> {
    pub kind: Option<Node<'a>>,
    pub text: Option<Node<'a>>,
    pub id: Option<Node<'a>>,
    pub name: Option<Node<'a>>,
    pub input: Option<Node<'a>>,
    pub tool_use_id: Option<Node<'a>>,
    pub content: Option<Node<'a>>,
    pub is_error: Option<Node<'a>>,
}

impl<'a> Block<'a> {
    fn of(root: Node<'a>) -> Self {
        let [kind, text, id, name, input, tool_use_id, content, is_error] = root.pick(
            const {
                [
                    Key::new("type"),
                    Key::new("text"),
                    Key::new("id"),
                    Key::new("name"),
                    Key::new("input"),
                    Key::new("tool_use_id"),
                    Key::new("content"),
                    Key::new("is_error"),
                ]
            },
        );
        Self { kind, text, id, name, input, tool_use_id, content, is_error }
    }

    /// Whether this is a block of that type.
    pub fn is(self, kind: &str) -> bool {
        self.kind.is_some_and(|node| node.is_text(kind))
    }

    /// Whether a tool result reports a failure.
    pub fn is_failed(self) -> bool {
        self.is_error.and_then(Node::boolean) == Some(true)
    }

    /// The text of a tool result: its content, or the first text block of it.
    pub fn result_text(self) -> Option<Cow<'a, str>> {
        let content = self.content?;
        content.text().or_else(|| content.items().find_map(|block| block.get("text")?.text()))
    }
}

/// `user`: tool results and injected messages.
#[derive(Debug, Clone, Copy)]
pub struct User<'a> {
    /// The whole line.
    pub root: Node<'a>,
    message: Option<Node<'a>>,
    /// What the tool returned, in the tool's own form.
    pub tool_use_result: Option<Node<'a>>,
    parent_tool_use_id: Option<Node<'a>>,
}

impl<'a> User<'a> {
    /// The content blocks, if the content is an array.
    pub fn blocks(self) -> impl Iterator<Item = Block<'a>> {
        let content = self.message.and_then(|message| message.get("content"));
        content.into_iter().flat_map(Node::items).map(Block::of)
    }

    /// Whether this belongs to a sub-agent.
    pub fn is_subagent(self) -> bool {
        self.parent_tool_use_id.is_some_and(|node| !node.is_null())
    }
}
