//! Any bytes, split anywhere, are judged without a panic and with the same conclusions.
//!
//! `cargo fuzz run judge` (with a stable toolchain: `RUSTC_BOOTSTRAP=1 cargo fuzz run judge`).

#![no_main]

use std::cell::OnceCell;

use clawgate::judge::{Contracts, Ending, Judge, Judgement, Options, Protocol};
use clawgate::internals::report::judgement_json;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static CONTRACTS: OnceCell<Contracts> = const { OnceCell::new() };
}

fn judge(protocol: Protocol, chunks: &[&[u8]], code: i32) -> Judgement {
    CONTRACTS.with(|contracts| {
        let contracts = contracts.get_or_init(Contracts::built_in);
        let mut options = Options::with_exit_code(code);
        options.protocol = Some(protocol);
        let mut judge = Judge::of_output(None, contracts, &options);
        for chunk in chunks {
            judge.push(chunk, &mut |_| {});
        }
        judge.finish(Ending::default(), &mut |_| {}).expect("the contracts are sound")
    })
}

fuzz_target!(|data: &[u8]| {
    let bytes = data;
    // Both follow from the bytes, so that every capture is a seed as it is.
    let sum: usize = bytes.iter().map(|byte| usize::from(*byte)).sum();
    let cut = sum % (bytes.len() + 1);
    let code = i32::from(sum % 3 == 1);
    let whole = judge(Protocol::ClaudeStream, &[bytes], code);
    let split = judge(Protocol::ClaudeStream, &[&bytes[..cut], &bytes[cut..]], code);
    let text = |judgement: &Judgement| judgement_json("x", judgement).expect("a judgement is serialisable");
    assert_eq!(text(&whole), text(&split));
    let has_evidence =
        |judgement: &Judgement| judgement.verdict.as_ref().is_some_and(|verdict| !verdict.evidence.is_empty());
    assert!(has_evidence(&whole));
    for protocol in [Protocol::ClaudeJson, Protocol::ClaudeText, Protocol::ClawJson, Protocol::ClawText] {
        let judgement = judge(protocol, &[bytes], code);
        assert!(has_evidence(&judgement));
        text(&judgement);
    }
});
