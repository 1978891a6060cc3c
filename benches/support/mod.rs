//! What the benchmarks share: CPU time, peak memory, and streams made from a seed.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// CPU time of this process so far. Wall time means little on a shared machine.
pub(crate) fn cpu_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("getrusage works on this process");
    let total = usage.user_time() + usage.system_time();
    Duration::from_micros(u64::try_from(total.tv_sec() * 1_000_000 + total.tv_usec()).unwrap_or(0))
}

/// The most memory that this process has ever held, in megabytes.
pub(crate) fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Prose with the escapes, quotes and accents of real output.
    pub(crate) fn prose(&mut self, length: usize) -> String {
        const WORDS: [&str; 16] = [
            "the",
            "parser",
            "returns",
            "\\n",
            "src/lib.rs",
            "fn main()",
            "{",
            "}",
            "\\\"quoted\\\"",
            "naïve",
            "—",
            "test",
            "passed",
            "0x1f",
            "config.toml",
            "\\t",
        ];
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            text.push_str(WORDS[self.below(16) as usize]);
            text.push(' ');
        }
        text
    }
}

/// The kinds of stream that are measured.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Real messages of a long session, 1.7 KB on average, with some tool results of 100 KB.
    Mixed,
    /// Lines of about 80 bytes.
    Small,
    /// Lines of about 350 KB.
    Large,
}

impl Shape {
    pub(crate) const ALL: [Self; 3] = [Self::Mixed, Self::Small, Self::Large];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    fn line(self, number: u64, random: &mut Seeded) -> String {
        match self {
            Self::Small => format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"line {number}"}}]}}}}"#
            ),
            Self::Large => tool_result(number, &random.prose(350_000)),
            Self::Mixed => match random.below(100) {
                0..=29 => assistant(number, &format!(r#"{{"type":"text","text":"{}"}}"#, random.prose(600))),
                30..=54 => assistant(
                    number,
                    &format!(
                        r#"{{"type":"tool_use","id":"toolu_{number}","name":"Bash","input":{{"command":"cargo test","description":"{}"}}}}"#,
                        random.prose(120)
                    ),
                ),
                55..=79 => tool_result(number, &random.prose(2_000)),
                80..=97 => format!(
                    r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{}"}}}},"session_id":"0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a","parent_tool_use_id":null,"uuid":"{number:032x}"}}"#,
                    random.prose(40)
                ),
                98 if random.below(4) == 0 => tool_result(number, &random.prose(100_000)),
                98 => tool_result(number, &random.prose(8_000)),
                _ => format!(
                    r#"{{"type":"system","subtype":"task_progress","task_id":"a{number}","tool_use_id":"toolu_{number}","description":"{}","usage":{{"total_tokens":1234,"tool_uses":3,"duration_ms":4567}},"last_tool_name":"Read"}}"#,
                    random.prose(60)
                ),
            },
        }
    }
}

fn assistant(number: u64, block: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"model":"claude-sonnet-4-6","id":"msg_{:x}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":{number},"cache_creation_input_tokens":120,"cache_read_input_tokens":4096,"output_tokens":1,"service_tier":"standard"}},"context_management":null}},"parent_tool_use_id":null,"session_id":"0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a","uuid":"{number:032x}"}}"#,
        number / 3
    )
}

fn tool_result(number: u64, text: &str) -> String {
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{number}","type":"tool_result","content":"{text}","is_error":false}}]}},"parent_tool_use_id":null,"session_id":"0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a","uuid":"{number:032x}","timestamp":"2026-01-01T00:00:00.000Z"}}"#
    )
}

/// Writes a stream of at least this many bytes; returns its size and its lines.
pub(crate) fn write_stream(path: &Path, shape: Shape, bytes: u64) -> (u64, u64) {
    let mut out = BufWriter::new(File::create(path).expect("a temporary file can be made"));
    let mut random = Seeded::new(7);
    let (mut written, mut lines) = (0, 0);
    while written < bytes {
        let line = shape.line(lines, &mut random);
        writeln!(out, "{line}").expect("the disk has room");
        written += line.len() as u64 + 1;
        lines += 1;
    }
    let end = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done","stop_reason":"end_turn"}"#;
    writeln!(out, "{end}").expect("the disk has room");
    out.flush().expect("the disk has room");
    (written + end.len() as u64 + 1, lines + 1)
}
