//! What happened in a run, of which there is nothing but its output.
//!
//! `cargo run --example judge_output -- examples/streams/rate-limit.ndjson`

#![expect(clippy::print_stdout, reason = "an example shows something")]

use clawgate::judge::{self, Contracts, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "examples/streams/rate-limit.ndjson".into());
    let stdout = std::fs::read(&path)?;
    let judgement = judge::output(&stdout, &Contracts::built_in(), &Options::default())?;

    let verdict = judgement.verdict.ok_or("an event log has no verdict")?;
    println!("{path}: {} (blame: {}, retry: {})", verdict.class, verdict.blame, verdict.retryable);
    for evidence in &verdict.evidence {
        println!("  because {} {}", evidence.rule, evidence.value);
    }
    for finding in &judgement.findings {
        println!("  {} {}: {}", finding.level, finding.clause, finding.message);
    }
    Ok(())
}
