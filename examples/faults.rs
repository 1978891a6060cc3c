//! How a command line takes what can go wrong with an API.
//!
//! `cargo run --example faults -- claude=/path/to/claude`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use clawgate::testing::{Cli, Fault, Script, Turn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = std::env::args().nth(1).unwrap_or_else(|| "claude".into());
    for fault in ["http:status=401", "http:status=529,retry-after=0,times=1", "rst:after-event=3,times=1"] {
        let fault: Fault = fault.parse()?;
        let script = Script::new().turn(Turn::new().text("Hello.").fault(fault.clone()));
        let run = Cli::target(&target)?.prompt("Hello?").api(script).run()?;
        println!(
            "{:<45} {}",
            fault.to_string(),
            run.verdict().map_or("none", |verdict| verdict.class.name())
        );
    }
    Ok(())
}
