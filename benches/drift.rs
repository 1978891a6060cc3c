//! How long it takes to compare two sets of recordings, and how much memory that holds.
//!
//! `cargo bench --bench drift`; the number of recordings a side can be given as an argument. Half as many recordings take
//! half as long and hold the same memory: one case is in memory at a time.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints its table"
)]

#[expect(dead_code, reason = "the streams are for the other benchmarks")]
mod support;

use std::fs;
use std::path::Path;

use clawgate::internals::drift::{CaseSet, ComparePolicy, diff};
use clawgate::internals::golden::{Class, Volatile};
use serde_json::json;

use support::{Seeded, asked, cpu_time, peak_megabytes};

const MESSAGES: u64 = 50;

fn main() {
    let recordings = asked(500);
    println!(
        "{:>10} {:>10} {:>10} {:>10} {:>9} {:>8}",
        "recordings", "messages", "MB a side", "CPU s", "changes", "peak MB"
    );
    for count in [recordings / 10, recordings / 2, recordings] {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        let bytes = write_side(&old, count, 1);
        write_side(&new, count, 2);
        let before = cpu_time();
        let (old, new) = (CaseSet::open(&old).expect("recordings"), CaseSet::open(&new).expect("recordings"));
        let mut volatile = Volatile::default();
        volatile.add(Class::Milliseconds, vec!["duration_ms".into()]);
        volatile.add(Class::Id("task".into()), vec!["task_id".into()]);
        let policy = ComparePolicy::new(|_, _| volatile.clone()).expect("the built-in contracts can be read");
        let drift = diff(&old, &new, &policy).expect("both sides can be read");
        let took = cpu_time().saturating_sub(before);
        assert_eq!(drift.compared as u64, count);
        // The one field that the new side has more, and nothing that only differs from run to run.
        assert_eq!(drift.changes.len(), 1, "{:?}", drift.changes);
        println!(
            "{count:>10} {:>10} {:>10.1} {:>10.2} {:>9} {:>8}",
            count * MESSAGES,
            bytes as f64 / 1e6,
            took.as_secs_f64(),
            drift.changes.len(),
            peak_megabytes()
        );
    }
}

/// Recordings of the same conversations with other ids, times and durations.
fn write_side(folder: &Path, count: u64, side: u64) -> u64 {
    let mut ids = Seeded::new(side);
    let mut bytes = 0;
    for number in 0..count {
        let mut texts = Seeded::new(number);
        let recording = folder.join(format!("case-{number}"));
        fs::create_dir_all(&recording).expect("a directory");
        let session = uuid(&mut ids);
        let task = format!("task{:08x}", ids.below(u64::from(u32::MAX)));
        let mut stdout = String::new();
        for at in 0..MESSAGES {
            let mut message = match at {
                0 => {
                    json!({"type": "system", "subtype": "init", "cwd": format!("/tmp/room-{side}-{number}/work"),
                            "tools": ["Bash", "Read"], "model": "claude-x"})
                }
                _ if at + 1 == MESSAGES => json!({"type": "result", "subtype": "success", "is_error": false,
                            "duration_ms": ids.below(1000), "usage": {"input_tokens": 1, "output_tokens": 2}}),
                _ if at % 2 == 0 => json!({"type": "user", "message": {"role": "user", "content": [
                            {"type": "tool_result", "tool_use_id": format!("toolu_{at:04}"), "content": texts.prose(400)}]},
                            "timestamp": format!("2026-11-16T05:37:{:02}.{:03}Z", at, ids.below(1000))}),
                _ => {
                    json!({"type": "assistant", "message": {"id": format!("msg_{at:04}"), "role": "assistant",
                            "content": [{"type": "text", "text": format!("{} in {task}", texts.prose(500))}],
                            "usage": {"input_tokens": 10, "output_tokens": 1}}, "parent_tool_use_id": null, "task_id": task})
                }
            };
            message["session_id"] = session.clone().into();
            message["uuid"] = uuid(&mut ids).into();
            if side == 2 && at + 1 == MESSAGES {
                message["new_field"] = 1.into();
            }
            stdout += &message.to_string();
            stdout.push('\n');
        }
        let facts = json!({
            "schema_version": 1, "target": "claude", "target_version": "2.1.197", "scenario": format!("case-{number}"),
            "exit": {"code": 0}, "room": format!("/tmp/room-{side}-{number}"),
        });
        bytes += stdout.len() as u64;
        fs::write(recording.join("stdout"), stdout).expect("a file");
        fs::write(recording.join("recording.json"), facts.to_string()).expect("a file");
    }
    bytes
}

fn uuid(ids: &mut Seeded) -> String {
    let mut hex = |digits: usize| -> String {
        (0..digits).map(|_| char::from_digit(ids.below(16) as u32, 16).unwrap_or('0')).collect()
    };
    format!("{}-{}-4{}-8{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12))
}
