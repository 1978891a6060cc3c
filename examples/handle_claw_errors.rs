//! One error handler for every command of claw, with a retry where one may help.
//!
//! `cargo run --example handle_claw_errors -- claw=/path/to/claw load-session nope`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use clawgate::testing::{Cli, Error, run_claw_command};

fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let target = words.next().unwrap_or_else(|| "claw".into());
    let command = Cli::target(&target)?.args(words);
    for attempt in 1..=3 {
        match run_claw_command(command.clone()) {
            Ok(envelope) => {
                println!("{envelope:#}");
                break;
            }
            Err(error) if error.kind == "timeout" && !error.safe_to_reuse_session => {
                println!("{error}\nThe session may be stuck: take a fresh one.");
                break;
            }
            Err(error) if error.retryable && attempt < 3 => println!("attempt {attempt}: {error}"),
            Err(error) => {
                println!("{error}");
                break;
            }
        }
    }
    Ok(())
}
