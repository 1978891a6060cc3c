//! Any bytes, split anywhere, are judged without a panic and with the same conclusions.
//!
//! `cargo fuzz run judge` (with a stable toolchain: `RUSTC_BOOTSTRAP=1 cargo fuzz run judge`).

#![no_main]

use clawgate::judge::{Ending, Judge, Judgement, Protocol, Settings};
use clawgate::report::judgement_json;
use libfuzzer_sys::fuzz_target;

fn judge(protocol: Protocol, chunks: &[&[u8]], code: i32) -> Judgement {
    let mut judge = Judge::new(protocol, Settings::default());
    for chunk in chunks {
        judge.push(chunk, &mut |_| {});
    }
    judge.finish(&Ending::with_code(code), &mut |_| {})
}

fuzz_target!(|data: &[u8]| {
    let [head, code, bytes @ ..] = data else { return };
    let cut = usize::from(*head).min(bytes.len());
    let code = i32::from(*code);
    let whole = judge(Protocol::ClaudeStream, &[bytes], code);
    let split = judge(Protocol::ClaudeStream, &[&bytes[..cut], &bytes[cut..]], code);
    let text = |judgement: &Judgement| judgement_json("x", "c", judgement).expect("a judgement is serialisable");
    assert_eq!(text(&whole), text(&split));
    assert!(!whole.verdict.evidence.is_empty());
    for protocol in [Protocol::ClaudeJson, Protocol::ClaudeText, Protocol::ClawJson, Protocol::ClawText] {
        let judgement = judge(protocol, &[bytes], code);
        assert!(!judgement.verdict.evidence.is_empty());
        text(&judgement);
    }
});
