//! The reference target as the Claude CLI: `-p` with stream-json, json or text.

mod background;
mod commands;
mod conversation;
mod ending;
mod error_text;
mod flags;
mod hooks;
mod host;
mod interrupt;
mod lies;
mod mcp;
mod output;
mod permissions;
mod session;
mod skills;
mod tools;

use flags::{Flags, OutputFormat};
use mcp::Servers;
use output::Output;
use serde_json::{Value, json};
use session::Session;

use super::{World, complain};

/// Runs it; the exit code.
pub(super) fn main(world: &World) -> u8 {
    if let Some(code) = commands::main(world) {
        return code;
    }
    let mut flags = match Flags::parse(world) {
        Ok(flags) => flags,
        Err(message) => {
            complain(&format!("error: {message}"));
            return 1;
        }
    };
    if flags.version {
        super::print("2.1.197 (clawgate reference)\n");
        return 0;
    }
    if flags.format == OutputFormat::StreamJson && !flags.verbose {
        complain("Error: When using --print, --output-format=stream-json requires --verbose");
        return 1;
    }
    if flags.resume_last {
        flags.resume = session::latest(world);
        if flags.resume.is_none() {
            complain("No conversation found to continue");
            return 1;
        }
    }
    interrupt::listen(world, &flags);
    let servers = match Servers::start(world, &flags.mcp_configs) {
        Ok(servers) => servers,
        Err(reason) => {
            complain(&format!("Error: Invalid MCP configuration:\n{reason}"));
            return 1;
        }
    };
    let output = Output::new(world, &flags);
    let mut session = Session::new(world, flags, output);
    session.servers = servers;
    if let Some(code) = session.fail_to_resume() {
        return code;
    }
    let answered = if session.flags.stream_input {
        session.serve()
    } else {
        session.prompt().map(|prompt| prompt.map(|prompt| session.answer(&prompt, None)))
    };
    match answered {
        Ok(Some(code)) => {
            session.finish();
            code
        }
        Ok(None) => {
            complain(
                "Error: Input must be provided either through stdin or as a prompt argument when using --print",
            );
            1
        }
        Err(message) => {
            complain(&message);
            1
        }
    }
}

/// A message of the user with this text.
fn user_text(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}
