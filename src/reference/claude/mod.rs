//! The reference target as the Claude CLI: `-p` with stream-json, json or text.

mod background;
mod conversation;
mod ending;
mod error_text;
mod flags;
mod hooks;
mod interrupt;
mod lies;
mod output;
mod session;
mod skills;
mod tools;

use flags::{Flags, OutputFormat};
use output::Output;
use serde_json::{Value, json};
use session::Session;

use super::{World, complain};

/// Runs it; the exit code.
pub(super) fn main(world: &World) -> u8 {
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
    let output = Output::new(world, &flags);
    let mut session = Session::new(world, flags, output);
    if let Some(code) = session.fail_to_resume() {
        return code;
    }
    let prompts = match session.prompts() {
        Ok(prompts) if prompts.is_empty() => {
            complain(
                "Error: Input must be provided either through stdin or as a prompt argument when using --print",
            );
            return 1;
        }
        Ok(prompts) => prompts,
        Err(message) => {
            complain(&message);
            return 1;
        }
    };
    let mut code = 0;
    for prompt in prompts {
        code = session.answer(&prompt);
    }
    session.finish();
    code
}

/// A message of the user with this text.
fn user_text(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}
