//! `[[run.steps]]`: what the user does while the target runs.

use std::time::Duration;

use serde_json::Value;

use crate::document::{FileError, Item};
use crate::harness::user::{Action, Cue, Pattern, Step, places};
use crate::text::did_you_mean;

const SIGNALS: [(&str, i32); 6] =
    [("HUP", 1), ("INT", 2), ("QUIT", 3), ("KILL", 9), ("SEGV", 11), ("TERM", 15)];

/// Reads one step; `has_answered` says whether one before it answers a message.
pub(super) fn step(item: Item<'_>, has_answered: &mut bool) -> Result<Step, FileError> {
    let mut table = item.into_table()?;
    let mut cues = Vec::new();
    cues.extend(table.string("after")?.map(Cue::Printed));
    cues.extend(table.unsigned("asked")?.map(Cue::Asked));
    cues.extend(table.take("when").map(pattern).transpose()?.map(Cue::Message));
    let answers = matches!(cues.last(), Some(Cue::Message(_)));
    let can_fill = answers || *has_answered;
    let every = table.take("every");
    let late = table.take("late_ms");
    let mut actions = Vec::new();
    actions.extend(table.string("type")?.map(Action::Type));
    actions.extend(table.take("send").map(|item| send(&item, can_fill)).transpose()?);
    if let Some(item) = table.take("close") {
        let place = item.place();
        actions.push(match item.into_string()?.as_str() {
            "stdin" => Action::CloseStdin,
            "stdout" => Action::CloseStdout,
            other => return Err(place.complain(format!("expected \"stdin\" or \"stdout\", found {other:?}"))),
        });
    }
    if let Some(item) = table.take("signal") {
        let place = item.place();
        let name = item.into_string()?;
        let known = SIGNALS.iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let known: Vec<_> = SIGNALS.iter().map(|(name, _)| *name).collect();
            place.complain(format!("unknown signal `{name}`, expected one of: {}", known.join(", ")))
        })?;
        actions.push(Action::Signal(known.1));
    }
    table.finish()?;
    let is_every = every.as_ref().map_or(Ok(false), Item::bool)?;
    match &every {
        Some(every) if is_every && !answers => {
            return Err(every.complain("what is done each time answers a message: say which, with `when`"));
        }
        Some(every) if is_every && late.is_some() => {
            return Err(
                every.complain("what is done each time is never late: leave out `late_ms` or `every`")
            );
        }
        _ => {}
    }
    *has_answered |= answers && !is_every;
    if cues.len() > 1 {
        return Err(table.complain("a step waits for one thing: after, asked or when"));
    }
    match <[Action; 1]>::try_from(actions) {
        Ok([action]) => Ok(Step {
            cue: cues.pop().unwrap_or(Cue::Now),
            action,
            late: Duration::from_millis(late.as_ref().map_or(Ok(0), Item::unsigned)?),
            every: is_every,
        }),
        Err(_) => Err(table.complain("a step does exactly one thing: type, send, close or signal")),
    }
}

/// `{ message = "control_request/can_use_tool", "/request/tool_name" = "Bash" }`.
fn pattern(item: Item<'_>) -> Result<Pattern, FileError> {
    let mut table = item.into_table()?;
    let place =
        table.require("message", "the name of a message, such as \"control_request/can_use_tool\"")?;
    let name = place.str()?.to_owned();
    if name.is_empty() {
        return Err(place.complain("no message is called so; `*` stands for any"));
    }
    let mut values = Vec::new();
    for (at, item) in table.into_entries() {
        if !at.starts_with('/') {
            let meant = did_you_mean(&at, &["message"]);
            return Err(item.complain(format!(
                "expected `message` or a JSON pointer such as \"/request/tool_name\"{meant}"
            )));
        }
        values.push((at, item.json()?));
    }
    Ok(Pattern { name, values })
}

/// The message to be sent.
fn send(item: &Item<'_>, can_fill: bool) -> Result<Action, FileError> {
    let message = item.json()?;
    let Value::Object(members) = &message else {
        return Err(item.complain("expected a message, which is a table; `type` types a text as it is"));
    };
    if !members.contains_key("type") {
        return Err(item.complain("a message has a `type`, such as \"control_response\""));
    }
    match places(&message).first() {
        Some(place) if !can_fill => Err(item.complain(format!(
            "`{place}` is taken from the message that is answered: say which, with `when`"
        ))),
        _ => Ok(Action::Send(message)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;

    fn read(step: &str) -> Result<Scenario, String> {
        let text = format!(
            "[scenario]\nname = \"a\"\ndescription = \"A.\"\ncontract = \"claude-stream-json\"\n[[api.turns]]\ntext = \"x\"\n[run]\nsteps = [{step}]\n"
        );
        Scenario::parse("a.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_wrong_with_a_step_is_said_at_its_place() {
        let send = r#"send = { type = "user" }"#;
        for (step, complaint) in [
            (r#"{ when = { "/a" = 1 }, SEND }"#, "message"),
            (r#"{ when = { message = "" }, SEND }"#, "no message is called so"),
            (r#"{ when = { message = "a", mesage = 1 }, SEND }"#, "JSON pointer"),
            (r#"{ when = { message = "a" }, after = "x", SEND }"#, "a step waits for one thing"),
            (r#"{ when = { message = "a" }, close = "stdin", SEND }"#, "exactly one thing"),
            (r#"{ when = { message = "a" } }"#, "exactly one thing"),
            (r#"{ send = { type = "user", text = "{request_id}" } }"#, "/request_id"),
            (
                r#"{ when = { message = "a" }, every = true, SEND }, { send = { type = "b", id = "{id}" } }"#,
                "/id",
            ),
            (r#"{ send = { subtype = "user" } }"#, "has a `type`"),
            (r#"{ send = "text" }"#, "expected a message"),
            (r"{ every = true, SEND }", "answers a message"),
            (r#"{ every = true, late_ms = 1, when = { message = "a" }, SEND }"#, "never late"),
        ] {
            let error = read(&step.replace("SEND", send)).unwrap_err();
            assert!(error.contains(complaint) && error.contains("a.toml:8"), "{step}: {error}");
        }
        for step in [
            r#"{ when = { message = "a/*", "/b" = 1 }, late_ms = 5, send = { type = "user", text = "{b} {}" } }"#,
            r#"{ when = { message = "a" }, every = true, close = "stdin" }"#,
            // Without a cue of its own it speaks of the message that was answered before.
            r#"{ when = { message = "a" }, send = { type = "b", id = "{id}" } }, { send = { type = "b", id = "{id}" } }"#,
        ] {
            assert!(read(step).is_ok(), "{step}");
        }
    }
}
