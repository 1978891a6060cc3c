//! What the benchmarks share: CPU time, peak memory, streams made from a seed, and contenders that race over a file.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this process so far. Wall time means little on a shared machine.
pub(crate) fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("a process has not used less than nothing")
}

/// The most memory that this process has ever held, in megabytes.
pub(crate) fn peak_megabytes() -> u64 {
    high_water(&fs::read_to_string("/proc/self/status").unwrap_or_default()) / 1024
}

/// Kilobytes.
fn high_water(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// User and system time, in hundredths of a second, of a process or of its children that have ended.
fn cpu_ticks(stat: &str, of_children: bool) -> u64 {
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
    let places = if of_children { [13, 14] } else { [11, 12] };
    places.iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum()
}

/// CPU time of all children of this process that have ended, in steps of ten milliseconds.
pub(crate) fn children_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(cpu_ticks(&stat, true) * 10)
}

/// What a command took. Its children count too, and hold little.
pub(crate) struct Taken {
    pub(crate) exit: Option<i32>,
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) peak_kilobytes: u64,
}

/// Runs a command and looks how much it takes; nobody reads what it prints.
pub(crate) fn run(command: &mut Command) -> Taken {
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the command starts");
    let [status, stat] = ["status", "stat"].map(|file| format!("/proc/{}/{file}", child.id()));
    let (mut peak_kilobytes, mut ticks) = (0, 0);
    loop {
        // The high-water mark only rises, so that of a look shortly before the end is that of the end.
        peak_kilobytes = high_water(&fs::read_to_string(&status).unwrap_or_default()).max(peak_kilobytes);
        ticks = cpu_ticks(&fs::read_to_string(&stat).unwrap_or_default(), false).max(ticks);
        if let Some(exit) = child.try_wait().expect("it is our child") {
            let (exit, wall, cpu) = (exit.code(), begun.elapsed(), Duration::from_millis(ticks * 10));
            return Taken { exit, wall, cpu, peak_kilobytes };
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The number that was given as an argument, or else this one.
pub(crate) fn asked<N: FromStr>(otherwise: N) -> N {
    std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(otherwise)
}

/// Lets the contenders read a file in turns: the megabytes per CPU second of each in its best round, and the peak of
/// memory after the first of them had its first round.
pub(crate) fn race<const N: usize>(
    contenders: [fn(&Path); N],
    rounds: usize,
    path: &Path,
    bytes: u64,
) -> ([f64; N], u64) {
    let mut best = [Duration::MAX; N];
    let mut peak = 0;
    for _ in 0..rounds {
        for (contender, best) in contenders.iter().zip(&mut best) {
            let before = cpu_time();
            contender(path);
            *best = (*best).min(cpu_time().saturating_sub(before));
            if peak == 0 {
                peak = peak_megabytes();
            }
        }
    }
    (best.map(|time| bytes as f64 / 1e6 / time.as_secs_f64().max(1e-6)), peak)
}

/// Reads a file as it comes from a pipe.
pub(crate) fn chunks(path: &Path, mut each: impl FnMut(&[u8])) {
    let mut file = File::open(path).expect("the file was written");
    let mut chunk = vec![0; 256 << 10];
    loop {
        match file.read(&mut chunk).expect("the file can be read") {
            0 => return,
            read => each(&chunk[..read]),
        }
    }
}

/// The contender that everybody has: each line as a value.
pub(crate) fn serde_value(path: &Path) {
    let mut reader = BufReader::with_capacity(256 << 10, File::open(path).expect("the file was written"));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).expect("the file can be read") > 0 {
        black_box(serde_json::from_slice::<serde_json::Value>(&line).expect("the file is JSON"));
        line.clear();
    }
}

/// The contender that nobody can beat: the lines are counted.
pub(crate) fn line_scan(path: &Path) {
    let mut lines = 0;
    chunks(path, |chunk| lines += memchr::memchr_iter(b'\n', chunk).count());
    black_box(lines);
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
    /// Answers as they come with `--include-partial-messages`, 290 bytes a line.
    Partial,
    /// Lines of about 80 bytes, each of which breaks the contract.
    Small,
    /// Lines of about 350 KB.
    Large,
}

impl Shape {
    pub(crate) const ALL: [Self; 4] = [Self::Mixed, Self::Partial, Self::Small, Self::Large];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Partial => "partial",
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    /// The next line, or a tool call with its result, as version 2.1.197 prints them.
    fn lines(self, number: u64, random: &mut Seeded) -> String {
        match self {
            Self::Small => format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"line {number}"}}]}}}}"#
            ),
            Self::Large => tool_call(number, &random.prose(120), &random.prose(350_000)),
            Self::Partial => partial(number, random),
            Self::Mixed => match random.below(100) {
                0..=39 => assistant(number, &format!(r#"{{"type":"text","text":"{}"}}"#, random.prose(600))),
                40..=74 => tool_call(number, &random.prose(120), &random.prose(2_000)),
                75..=97 => format!(
                    r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{}"}}}},{},"parent_tool_use_id":null}}"#,
                    random.prose(40),
                    ids(number)
                ),
                98 if random.below(4) == 0 => tool_call(number, &random.prose(120), &random.prose(100_000)),
                _ => tool_call(number, &random.prose(120), &random.prose(8_000)),
            },
        }
    }
}

/// The ids of a line: one session, and no two lines alike.
fn ids(number: u64) -> String {
    format!(
        r#""session_id":"0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a","uuid":"{:08x}-{:04x}-4000-8000-{number:012x}""#,
        number >> 16,
        number & 0xffff
    )
}

fn assistant(number: u64, block: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"model":"claude-sonnet-4-6","id":"msg_{number:x}","type":"message","role":"assistant","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":{number},"cache_creation_input_tokens":120,"cache_read_input_tokens":4096,"output_tokens":1,"service_tier":"standard"}},"context_management":null}},"parent_tool_use_id":null,{}}}"#,
        ids(number * 2)
    )
}

/// One answer, told piece by piece and then whole.
fn partial(number: u64, random: &mut Seeded) -> String {
    let mut count = 0;
    let mut event = |event: &str| {
        count += 1;
        let ids = ids(1 << 40 | number << 8 | count);
        format!(r#"{{"type":"stream_event","event":{event},{ids},"parent_tool_use_id":null}}"#)
    };
    let mut lines = vec![
        event(&format!(
            r#"{{"type":"message_start","message":{{"model":"claude-sonnet-4-6","id":"msg_{number:x}","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":{number},"output_tokens":1}}}}}}"#
        )),
        event(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#),
    ];
    let mut whole = String::new();
    for _ in 0..40 {
        let piece = random.prose(24);
        lines.push(event(&format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{piece}"}}}}"#
        )));
        whole += &piece;
    }
    lines.push(assistant(number, &format!(r#"{{"type":"text","text":"{whole}"}}"#)));
    lines.push(event(r#"{"type":"content_block_stop","index":0}"#));
    lines.push(event(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}"#));
    lines.push(event(r#"{"type":"message_stop"}"#));
    lines.join("\n")
}

fn tool_call(number: u64, description: &str, result: &str) -> String {
    let call = assistant(
        number,
        &format!(
            r#"{{"type":"tool_use","id":"toolu_{number}","name":"Bash","input":{{"command":"cargo test","description":"{description}"}}}}"#
        ),
    );
    format!(
        "{call}\n{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":\"toolu_{number}\",\"type\":\"tool_result\",\"content\":\"{result}\",\"is_error\":false}}]}},\"parent_tool_use_id\":null,{},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"tool_use_result\":{{\"stdout\":\"ok\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false,\"noOutputExpected\":false}}}}",
        ids(number * 2 + 1)
    )
}

/// A real init line, which says that this is version 2.1.197.
const START: &str = include_str!("../../examples/streams/sub-agent.ndjson");

/// Writes a stream of at least this many bytes; returns its size and its lines.
pub(crate) fn write_stream(path: &Path, shape: Shape, bytes: u64) -> (u64, u64) {
    let mut out = BufWriter::new(File::create(path).expect("a temporary file can be made"));
    let mut random = Seeded::new(7);
    let init = START.lines().next().unwrap_or_default();
    let old_session = init.split("\"session_id\":\"").nth(1).map_or("", |rest| &rest[..36]);
    let mut next = init.replace(old_session, "0d9fe2c4-3c2d-4f1c-8a8e-6f6d5c1f2b3a");
    let (mut written, mut count, mut number) = (0, 0, 1);
    loop {
        writeln!(out, "{next}").expect("the disk has room");
        written += next.len() as u64 + 1;
        count += 1 + next.matches('\n').count() as u64;
        if written >= bytes {
            break;
        }
        next = shape.lines(number, &mut random);
        number += 1;
    }
    let last =
        [assistant(number, r#"{"type":"text","text":"done"}"#), END.replace("IDS", &ids(number * 2 + 1))];
    for line in last {
        writeln!(out, "{line}").expect("the disk has room");
        written += line.len() as u64 + 1;
        count += 1;
    }
    out.flush().expect("the disk has room");
    (written, count)
}

const END: &str = r#"{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"duration_ms":1,"duration_api_ms":1,"ttft_ms":1,"num_turns":1,"result":"done","stop_reason":"end_turn","total_cost_usd":0.1,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5},"modelUsage":{},"permission_denials":[],"terminal_reason":"completed","fast_mode_state":"off",IDS}"#;
