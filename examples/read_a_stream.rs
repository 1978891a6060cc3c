//! The stream of a Claude CLI, read while it arrives, whatever it holds. Needs none of the features.
//!
//! `clawgate play RECORDING | cargo run --example read_a_stream --no-default-features`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::io::Read as _;

use clawgate::classify::{Process, claude};
use clawgate::recording::Exit;
use clawgate::stream_json::{Limits, Session, StreamReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut session = Session::new(Limits::default());
    let mut reader = StreamReader::default();
    let mut chunk = [0; 4096];
    let mut stdin = std::io::stdin().lock();
    loop {
        let read = stdin.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        reader.push(&chunk[..read], &mut |line| session.line(line));
    }
    let summary = reader.finish(&mut |line| session.line(line));
    session.finish();

    let exit = Exit::with_code(0);
    let verdict = claude::classify(&session, &Process::new(&exit, ""), summary.lines, true);
    println!("{} messages: {}", session.messages, verdict.class);
    println!("{}", session.final_text.as_deref().unwrap_or("nothing was said"));
    Ok(())
}
