//! The stream of a Claude CLI, judged while it arrives, whatever it holds. Needs the feature `contracts`.
//!
//! `clawgate play RECORDING | cargo run --example read_a_stream --no-default-features --features contracts`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::io::Read as _;

use clawgate::judge::{Contracts, Ending, Judge, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let contracts = Contracts::built_in();
    let mut judge = Judge::of_output(None, &contracts, &Options::with_exit_code(0));
    let mut chunk = [0; 4096];
    let mut stdin = std::io::stdin().lock();
    loop {
        let read = stdin.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        judge.push(&chunk[..read], &mut |_| {});
    }
    let judgement = judge.finish(Ending::default(), &mut |_| {})?;
    let (verdict, session) =
        (judgement.verdict.ok_or("an event log")?, judgement.session.unwrap_or_default());
    println!("{} messages: {}", session.messages, verdict.class);
    println!("{}", session.final_text.as_deref().unwrap_or("nothing was said"));
    Ok(())
}
