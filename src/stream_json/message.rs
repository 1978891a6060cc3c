//! Typed views of the messages. A view is the message itself with named accessors: every field is optional, a field
//! of another type than expected reads as absent, and the raw node stays at hand.

use std::borrow::Cow;

use crate::json::{Node, members};

/// Declares the views, and from the `type` or the `subtype` of each the enum of all messages.
macro_rules! views {
    (
        system { $($(#[$system_doc:meta])* $System:ident $subtype:literal $system_fields:tt)* }
        others { $($(#[$other_doc:meta])* $Variant:ident($Other:ident) $type:literal $other_fields:tt)* }
    ) => {
        $(views!(@view $(#[$system_doc])* $System $system_fields);)*
        $(views!(@view $(#[$other_doc])* $Other $other_fields);)*

        /// A message by its `type` and `subtype`. Those that this version does not know pass through as [`Unknown`].
        #[derive(Debug, Clone, Copy)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "each variant is named after its view, which is documented")]
        pub enum Message<'a> {
            Assistant(Assistant<'a>),
            User(User<'a>),
            $($System($System<'a>),)*
            $($Variant($Other<'a>),)*
            Unknown(Unknown<'a>),
        }

        impl<'a> Message<'a> {
            /// The view of this object by its `type` and `subtype`.
            pub fn of(root: Node<'a>) -> Self {
                let members = Members::of(root);
                let Some(kind) = members.kind.and_then(Node::text) else { return Self::Unknown(Unknown(root)) };
                match &*kind {
                    "assistant" => Self::Assistant(Assistant { root, members }),
                    "user" => Self::User(User { root, members }),
                    "system" => match root.get("subtype").and_then(Node::text).as_deref() {
                        $(Some($subtype) => Self::$System($System(root)),)*
                        _ => Self::Unknown(Unknown(root)),
                    },
                    $($type => Self::$Variant($Other(root)),)*
                    _ => Self::Unknown(Unknown(root)),
                }
            }
        }
    };
    (@view $(#[$doc:meta])* $name:ident { $($field:ident $(($key:literal))?: $kind:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<'a>(pub Node<'a>);

        impl<'a> $name<'a> {
            $(views!(@accessor $field $(($key))?: $kind);)*
        }
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
    system {
        /// `system/init`: the session starts, or re-enters its main loop.
        Init "init" {
            cwd: text, session_id: text, tools: texts, mcp_servers: items, model: text,
            permission_mode("permissionMode"): text, slash_commands: texts, api_key_source("apiKeySource"): text,
            claude_code_version: text, output_style: text, agents: texts, skills: texts, plugins: items, uuid: text,
        }
        /// `system/api_retry`: a request failed and is sent again.
        ApiRetry "api_retry" { attempt: integer, max_retries: integer, retry_delay_ms: float, error_status: integer, error: text }
        /// `system/task_started`: a sub-agent, background command or workflow starts.
        TaskStarted "task_started" {
            task_id: text, tool_use_id: text, description: text, task_type: text, subagent_type: text,
            is_backgrounded: boolean, workflow_name: text,
        }
        /// `system/task_updated`: a task changes its state.
        TaskUpdated "task_updated" { task_id: text, patch: node }
        /// `system/task_notification`: a task ended.
        TaskNotification "task_notification" { task_id: text, tool_use_id: text, status: text, output_file: text, summary: text, usage: node }
        /// `system/task_progress`: a task works.
        TaskProgress "task_progress" { task_id: text, tool_use_id: text, description: text, usage: node, last_tool_name: text }
        /// `system/background_tasks_changed`: which tasks run now.
        BackgroundTasksChanged "background_tasks_changed" { tasks: items }
        /// `system/hook_started`: a hook starts.
        HookStarted "hook_started" { hook_id: text, hook_name: text, hook_event: text }
        /// `system/hook_response`: a hook ended.
        HookResponse "hook_response" {
            hook_id: text, hook_name: text, hook_event: text, output: text, stdout: text, stderr: text,
            exit_code: integer, outcome: text,
        }
        /// `system/status`: the main loop changes its state.
        Status "status" { status: text, compact_result: text, compact_error: text }
        /// `system/compact_boundary`: the conversation was compacted.
        CompactBoundary "compact_boundary" { compact_metadata: node }
        /// `system/thinking_tokens`: how much the model has thought so far.
        ThinkingTokens "thinking_tokens" { estimated_tokens: integer, estimated_tokens_delta: integer }
        /// `system/model_fallback`: another model takes over.
        ModelFallback "model_fallback" { trigger: text, original_model: text, fallback_model: text, content: text }
        /// `system/model_refusal_no_fallback`: the model refused, and no other takes over.
        ModelRefusal "model_refusal_no_fallback" { original_model: text, request_id: text, api_refusal_category: text, content: text }
        /// `system/informational`: a message for the user.
        Informational "informational" { content: text, level: text, prevent_continuation: boolean }
        /// `system/notification`: a notice for the user.
        Notification "notification" { key: text, text: text, priority: text }
        /// `system/session_state_changed`: the session runs or is idle.
        SessionStateChanged "session_state_changed" { state: text }
        /// `system/permission_denied`: a tool call was refused.
        PermissionDenied "permission_denied" { tool_name: text, tool_use_id: text, message: text }
    }
    others {
        /// `result`: the outcome of one pass of the main loop.
        Result(RunResult) "result" {
            subtype: text, is_error: boolean, duration_ms: float, duration_api_ms: float, num_turns: integer,
            result: text, stop_reason: text, session_id: text, total_cost_usd: float, usage: node,
            model_usage("modelUsage"): node, permission_denials: items, api_error_status: integer,
            api_error_type: text, terminal_reason: text, errors: texts, origin: node, structured_output: node, uuid: text,
        }
        /// `stream_event`: a raw event of the API's own stream.
        StreamEvent(StreamEvent) "stream_event" { event: node, parent_tool_use_id: text, session_id: text, uuid: text, ttft_ms: float }
        /// `rate_limit_event`: the state of a subscription's limits.
        RateLimitEvent(RateLimitEvent) "rate_limit_event" { rate_limit_info: node }
        /// `tool_use_summary`: a summary of tool calls.
        ToolUseSummary(ToolUseSummary) "tool_use_summary" { summary: text, preceding_tool_use_ids: texts }
        /// `conversation_reset`: the conversation was discarded, as by `/clear`; what follows is another session.
        ConversationReset(ConversationReset) "conversation_reset" { new_conversation_id: text, trigger: text, session_id: text }
        /// `control_request`: the CLI asks its host.
        ControlRequest(ControlRequest) "control_request" { request_id: text, request: node }
        /// `control_response`: the CLI answers its host.
        ControlResponse(ControlResponse) "control_response" { response: node }
    }
}

views!(@view
    /// A message of a kind that this version does not know.
    Unknown { kind("type"): text, subtype: text }
);

members! {
    /// The members of `assistant` and `user` lines, of which most of a stream consists, found in one pass.
    struct Members {
        kind "type",
        message "message",
        parent_tool_use_id "parent_tool_use_id",
        error "error",
        tool_use_result "tool_use_result",
    }
}

impl Members<'_> {
    fn is_subagent(self) -> bool {
        self.parent_tool_use_id.is_some_and(|node| !node.is_null())
    }
}

/// `assistant`: one content block of a model message, or a synthetic one.
#[derive(Debug, Clone, Copy)]
pub struct Assistant<'a> {
    /// The object that stands on the line.
    pub root: Node<'a>,
    members: Members<'a>,
}

impl<'a> Assistant<'a> {
    /// The API message, whatever its type.
    pub fn message(self) -> Option<Node<'a>> {
        self.members.message
    }

    /// The API message, if it is an object.
    pub fn api_message(self) -> Option<ApiMessage<'a>> {
        self.members.message.filter(|node| node.is_object()).map(ApiMessage::of)
    }

    /// The tool call of the sub-agent that said this.
    pub fn parent_tool_use_id(self) -> Option<Cow<'a, str>> {
        self.members.parent_tool_use_id?.text()
    }

    /// The error that the message stands for.
    pub fn error(self) -> Option<Cow<'a, str>> {
        self.members.error?.text()
    }

    /// Whether a sub-agent said this.
    pub fn is_subagent(self) -> bool {
        self.members.is_subagent()
    }

    /// Whether the CLI made this message up, to show an error or the output of a local command.
    pub fn is_synthetic(self) -> bool {
        self.api_message().is_some_and(ApiMessage::is_synthetic)
    }
}

members! {
    /// The API message inside an [`Assistant`] line.
    pub struct ApiMessage {
        id "id",
        model "model",
        content "content",
        /// Why the model stopped; null in current streams.
        pub stop_reason "stop_reason",
        /// Token usage, whatever its type.
        pub usage "usage",
    }
}

impl<'a> ApiMessage<'a> {
    /// The message's id, which its lines share.
    pub fn id(self) -> Option<Cow<'a, str>> {
        self.id?.text()
    }

    /// The name of the model that said it.
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

members! {
    /// A content block of an assistant or user message. The fields are the members of the same name, whatever their
    /// type.
    #[expect(missing_docs, reason = "the fields are the members of the same name")]
    pub struct Block {
        pub kind "type",
        pub text "text",
        pub id "id",
        pub name "name",
        pub input "input",
        pub tool_use_id "tool_use_id",
        pub content "content",
        pub is_error "is_error",
    }
}

impl<'a> Block<'a> {
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
    /// The object that stands on the line.
    pub root: Node<'a>,
    members: Members<'a>,
}

impl<'a> User<'a> {
    /// What the tool returned, in the tool's own form.
    pub fn tool_use_result(self) -> Option<Node<'a>> {
        self.members.tool_use_result
    }

    /// The content, if it is one text.
    pub fn text(self) -> Option<Cow<'a, str>> {
        self.members.message?.get("content")?.text()
    }

    /// The content blocks, if the content is an array.
    pub fn blocks(self) -> impl Iterator<Item = Block<'a>> {
        let content = self.members.message.and_then(|message| message.get("content"));
        content.into_iter().flat_map(Node::items).map(Block::of)
    }

    /// Whether this belongs to a sub-agent.
    pub fn is_subagent(self) -> bool {
        self.members.is_subagent()
    }
}
