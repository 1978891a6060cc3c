//! A command line against a scripted API: the body of a test of your own.
//!
//! `cargo run --example test_an_agent -- claude=/path/to/claude`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use clawgate::testing::{Cli, Script, Turn};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "claude".into());
    let run = Cli::target(&target)?
        .prompt("Which files are there?")
        .file("notes.txt", "Buy milk.\n")
        .api(
            Script::new()
                .turn(Turn::new().text("Let me look.").tool("Glob", json!({"pattern": "*"})))
                .text("There is notes.txt."),
        )
        .run()?;

    run.assert_verdict("ok").assert_no_findings().assert_tool("Glob").assert_requests(2);
    println!("{}", run.text().unwrap_or_default());
    Ok(())
}
