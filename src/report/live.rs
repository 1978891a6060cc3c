//! A line for people while a stream arrives.

use std::borrow::Cow;

use crate::json::Node;
use crate::stream_json::{Block, Line, Message, RawMessage, User};

use crate::text::{clip, printable};

/// Longer texts are clipped.
const WIDTH: usize = 96;

/// What a line of the stream says, in a few words; `None` for what is not worth a line.
pub(crate) fn live_line(line: &Line<'_>) -> Option<String> {
    let said = match line {
        Line::Message(message) => describe(message)?,
        other => format!("! {}", other.problem().unwrap_or_default()),
    };
    Some(format!("{:>5}  {said}", line.number()))
}

fn describe(message: &RawMessage<'_>) -> Option<String> {
    Some(match message.view() {
        Message::Init(init) => {
            format!("session starts: {} {}", text(init.model()), text(init.claude_code_version()))
        }
        Message::Assistant(assistant) => {
            let who = if assistant.is_subagent() { "sub-agent" } else { "assistant" };
            let blocks = assistant.api_message()?.blocks().map(block).collect::<Vec<_>>();
            format!("{who}: {}", blocks.join(" "))
        }
        Message::User(user) => tool_results(user)?,
        Message::Result(result) => {
            let failed = if result.is_error() == Some(true) { " (error)" } else { "" };
            format!("result: {}{failed} {}", text(result.subtype()), text(result.result()))
        }
        Message::ApiRetry(retry) => {
            format!(
                "retry {} of {}: {}",
                retry.attempt().unwrap_or(0),
                retry.max_retries().unwrap_or(0),
                text(retry.error())
            )
        }
        Message::TaskStarted(task) => format!("task starts: {}", text(task.description())),
        Message::TaskNotification(task) => format!("task {}: {}", text(task.status()), text(task.summary())),
        Message::PermissionDenied(denied) => format!("denied: {}", text(denied.tool_name())),
        Message::RateLimitEvent(event) => {
            format!("rate limit: {}", text(event.rate_limit_info()?.get("status").and_then(Node::text)))
        }
        Message::Unknown(unknown) => format!("{} {}", text(unknown.kind()), text(unknown.subtype())),
        _ => return None,
    })
}

fn block(block: Block<'_>) -> String {
    let of = |node: Option<Node<'_>>| text(node.and_then(Node::text));
    if block.is("text") {
        of(block.text)
    } else if block.is("tool_use") {
        format!("[{} {}]", of(block.name), text(block.input.map(|input| Cow::Borrowed(input.raw()))))
    } else {
        format!("[{}]", of(block.kind))
    }
}

fn tool_results(user: User<'_>) -> Option<String> {
    let results = user.blocks().filter(|block| block.is("tool_result")).map(|block| {
        let outcome = if block.is_failed() { "tool failed" } else { "tool answered" };
        format!("{outcome}: {}", text(block.result_text()))
    });
    let results: Vec<_> = results.collect();
    (!results.is_empty()).then(|| results.join(" "))
}

fn text(text: Option<Cow<'_, str>>) -> String {
    let text = text.unwrap_or_default();
    printable(&clip(&text, WIDTH)).into_owned()
}
