//! Any bytes, split anywhere, are judged without a panic and with the same conclusions.
//!
//! `cargo fuzz run judge` (with a stable toolchain: `RUSTC_BOOTSTRAP=1 cargo fuzz run judge`).

#![no_main]

use std::cell::OnceCell;

use clawgate::judge::{Ending, Judge, Judgement, Protocol, Settings, Shelf};
use clawgate::internals::report::judgement_json;
use clawgate::schema::Run;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static SHELF: OnceCell<Shelf> = const { OnceCell::new() };
}

fn judge(protocol: Protocol, chunks: &[&[u8]], code: i32) -> Judgement {
    SHELF.with(|shelf| {
        let shelf = shelf.get_or_init(Shelf::built_in);
        let mut judge =
            Judge::new(protocol, Settings::default(), shelf, &Run::default()).expect("the contracts are sound");
        for chunk in chunks {
            judge.push(chunk, &mut |_| {});
        }
        judge.finish(&Ending::with_code(code), &mut |_| {}).expect("the contracts are sound")
    })
}

fuzz_target!(|data: &[u8]| {
    let [head, code, bytes @ ..] = data else { return };
    let cut = usize::from(*head).min(bytes.len());
    let code = i32::from(*code);
    let whole = judge(Protocol::ClaudeStream, &[bytes], code);
    let split = judge(Protocol::ClaudeStream, &[&bytes[..cut], &bytes[cut..]], code);
    let text = |judgement: &Judgement| judgement_json("x", judgement).expect("a judgement is serialisable");
    assert_eq!(text(&whole), text(&split));
    assert!(!whole.verdict.evidence.is_empty());
    for protocol in [Protocol::ClaudeJson, Protocol::ClaudeText, Protocol::ClawJson, Protocol::ClawText] {
        let judgement = judge(protocol, &[bytes], code);
        assert!(!judgement.verdict.evidence.is_empty());
        text(&judgement);
    }
});
