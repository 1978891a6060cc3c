//! How fast the scripted API starts and answers, and what it keeps; beside `@copilotkit/aimock` when it is there.
//!
//! ```text
//! npm install --prefix DIR --ignore-scripts @copilotkit/aimock@1.43.0
//! CLAWGATE_AIMOCK=DIR cargo bench --bench mock
//! ```
//!
//! Both serve the same text in the same number of events, each in a process of its own, to the same client with the
//! same number of connections. Ratios are what counts; absolute numbers are the machine's. Exits with 1 when a ratio is
//! below its target.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark: it prints, and a failure ends it"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clawgate::internals::harness::mock::{MockApi, Options};
use clawgate::internals::run::scenario::Scenario;

const AIMOCK_VERSION: &str = "1.43.0";
const TEXT: &str = "The quick brown fox jumps over the lazy dog, twice, and rests.";
const CONNECTIONS: usize = 8;

fn scenario(pace: &str) -> String {
    format!("[scenario]\nname = \"bench\"\n[api]\nchunk = 20\n{pace}\n[[api.turns]]\ntext = \"{TEXT}\"\n")
}

/// What both servers are asked.
fn request(filler: usize) -> Vec<u8> {
    let filler = "x".repeat(filler);
    let body = format!(
        r#"{{"model":"claude-sonnet-4-6","max_tokens":64,"stream":true,"system":"{filler}","messages":[{{"role":"user","content":"Hello"}}]}}"#
    );
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A keep-alive connection that counts what it gets.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { stream, buffer: Vec::with_capacity(1 << 16) }
    }

    /// Asks once; the bytes of the answer, up to the end of its last chunk.
    fn ask(&mut self, request: &[u8]) -> usize {
        const END: &[u8] = b"\r\n0\r\n\r\n";
        self.stream.write_all(request).unwrap();
        self.buffer.clear();
        let mut part = [0; 1 << 14];
        while !self.buffer.ends_with(END) {
            let count = self.stream.read(&mut part).unwrap();
            assert!(count > 0, "closed after {}", String::from_utf8_lossy(&self.buffer));
            self.buffer.extend_from_slice(&part[..count]);
        }
        self.buffer.len()
    }

    fn events(&self) -> usize {
        String::from_utf8_lossy(&self.buffer).matches("event: ").count()
    }
}

/// Answers a second, over several connections at once.
fn throughput(address: SocketAddr, requests: usize) -> f64 {
    let request = request(0);
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| Client::new(address)).collect();
    for client in &mut clients {
        client.ask(&request);
    }
    let started = Instant::now();
    std::thread::scope(|scope| {
        for client in &mut clients {
            let request = &request;
            scope.spawn(move || {
                for _ in 0..requests / CONNECTIONS {
                    client.ask(request);
                }
            });
        }
    });
    requests as f64 / started.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A server in a process of its own, ended with it.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn start_clawgate(folder: &Path, pace: &str) -> (Process, SocketAddr, Duration) {
    let file = folder.join("bench.toml");
    fs::write(&file, scenario(pace)).unwrap();
    let started = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_clawgate"))
        .args(["mock", file.to_str().unwrap(), "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().parse().unwrap();
    TcpStream::connect(address).unwrap();
    (Process(child), address, started.elapsed())
}

fn start_aimock(install: &Path, folder: &Path) -> (Process, SocketAddr, Duration) {
    let fixtures = folder.join("aimock.json");
    let fixture = format!(
        r#"{{"fixtures":[{{"match":{{"userMessage":"Hello"}},"response":{{"content":"{TEXT}"}}}}]}}"#
    );
    fs::write(&fixtures, fixture).unwrap();
    // It takes no port 0; a port that was free a moment ago is the next best.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = Instant::now();
    let child = Command::new("node")
        .arg(install.join("node_modules/@copilotkit/aimock/dist/cli.js"))
        .args(["-p", &address.port().to_string(), "-f", fixtures.to_str().unwrap()])
        .args(["--log-level", "silent", "--chunk-size", "20", "--latency", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let process = Process(child);
    let deadline = started + Duration::from_secs(20);
    while TcpStream::connect(address).is_err() {
        assert!(Instant::now() < deadline, "aimock does not listen");
        std::thread::sleep(Duration::from_millis(1));
    }
    (process, address, started.elapsed())
}

fn resident_megabytes(process: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

struct Sizes {
    rounds: usize,
    requests: usize,
    cases: usize,
}

fn main() {
    // `cargo bench` says so; `cargo test --all-targets` only wants to know that it runs.
    let full = std::env::args().any(|argument| argument == "--bench");
    let sizes = if full {
        Sizes { rounds: 5, requests: 8000, cases: 60 }
    } else {
        Sizes { rounds: 1, requests: 80, cases: 6 }
    };
    let folder = tempfile::tempdir().unwrap();
    let mut failures = Vec::new();
    in_process(&sizes, full, &mut failures);
    side_by_side(&sizes, full, folder.path(), &mut failures);
    if !failures.is_empty() {
        println!("\nbelow target:\n  {}", failures.join("\n  "));
        std::process::exit(1);
    }
}

/// What the harness sees: servers in its own process, one a case.
fn in_process(sizes: &Sizes, full: bool, failures: &mut Vec<String>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let script = Scenario::parse("bench.toml", &scenario("")).unwrap().script;
    let start = || runtime.block_on(MockApi::start(script.clone(), Options::default())).unwrap();

    let first = Instant::now();
    runtime.block_on(start().stop());
    println!("first server of a process, with its schemas   {:8.2} ms", milliseconds(first.elapsed()));
    let mut starts = Vec::new();
    let mut stops = Vec::new();
    for _ in 0..sizes.rounds * 40 {
        let before = Instant::now();
        let api = start();
        starts.push(milliseconds(before.elapsed()));
        let before = Instant::now();
        runtime.block_on(api.stop());
        stops.push(milliseconds(before.elapsed()));
    }
    println!("start of one server, median                   {:8.2} ms", median(starts));
    println!("stop of one server, median                    {:8.2} ms", median(stops));

    let before = resident_megabytes("self");
    let started = Instant::now();
    let servers: Vec<MockApi> = (0..64).map(|_| start()).collect();
    for server in &servers {
        Client::new(server.address()).ask(&request(0));
    }
    println!(
        "64 servers at once, started and asked         {:8.2} ms, {:.2} MB each",
        milliseconds(started.elapsed()),
        (resident_megabytes("self") - before) / 64.0
    );
    for server in servers {
        assert_eq!(runtime.block_on(server.stop()).requests.len(), 1);
    }

    // Real requests of the Claude CLI have some 80 KB. wiremock alone would keep three times that of each.
    let large = request(80_000);
    let mut after = Vec::new();
    for _ in 0..sizes.cases {
        let api = start();
        let mut client = Client::new(api.address());
        for _ in 0..50 {
            client.ask(&large);
        }
        let during = resident_megabytes("self");
        runtime.block_on(api.stop());
        after.push((during, resident_megabytes("self")));
    }
    let settled = after[after.len() / 6].1;
    let last = after[after.len() - 1];
    println!(
        "memory, {} cases of 50 requests of 80 KB       {settled:8.2} MB after case {}, {:.2} MB after the last, {:.2} MB during it",
        sizes.cases,
        after.len() / 6 + 1,
        last.1,
        last.0
    );
    if full && last.1 - settled > 8.0 {
        failures.push(format!("memory grows from case to case: {settled:.1} to {:.1} MB", last.1));
    }
}

/// Both mocks, each in a process of its own.
fn side_by_side(sizes: &Sizes, full: bool, folder: &Path, failures: &mut Vec<String>) {
    let install = std::env::var_os("CLAWGATE_AIMOCK").map(PathBuf::from);
    if let Some(install) = &install {
        let manifest = install.join("node_modules/@copilotkit/aimock/package.json");
        let manifest: serde_json::Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
        assert_eq!(manifest["version"], AIMOCK_VERSION, "the pinned version of aimock");
    }
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    let mut plain = Vec::new();
    let mut paced = Vec::new();
    let mut aimock = Vec::new();
    let mut memory = (0.0, 0.0);
    // Interleaved, so that a busy moment of the machine hits all of them.
    for _ in 0..sizes.rounds {
        let (process, address, took) = start_clawgate(folder, "");
        ours.push(milliseconds(took));
        plain.push(throughput(address, sizes.requests));
        memory.0 = resident_megabytes(&process.0.id().to_string());
        drop(process);
        let (process, address, _) = start_clawgate(folder, "pace = { event_ms = 0 }");
        paced.push(throughput(address, sizes.requests));
        drop(process);
        if let Some(install) = &install {
            let (process, address, took) = start_aimock(install, folder);
            theirs.push(milliseconds(took));
            aimock.push(throughput(address, sizes.requests / 2));
            memory.1 = resident_megabytes(&process.0.id().to_string());
            let mut client = Client::new(address);
            let bytes = client.ask(&request(0));
            let (_process, address, _) = start_clawgate(folder, "");
            let mut own = Client::new(address);
            let own_bytes = own.ask(&request(0));
            // The same work, or the comparison is worth nothing: aimock sends no ping.
            assert_eq!(own.events(), client.events() + 1, "events: ours against theirs");
            assert!(own_bytes > bytes * 3 / 4, "{own_bytes} bytes against {bytes}");
        }
    }
    println!("process start to listening, median            {:8.2} ms", median(ours.clone()));
    println!("answers a second, one write                   {:8.0}", median(plain.clone()));
    println!("answers a second, a write for each event      {:8.0}", median(paced.clone()));
    println!("memory of the process after them              {:8.2} MB", memory.0);
    if install.is_none() {
        println!("aimock: not measured; install {AIMOCK_VERSION} and name its directory in CLAWGATE_AIMOCK");
        return;
    }
    println!("aimock {AIMOCK_VERSION}: start to listening, median       {:8.2} ms", median(theirs.clone()));
    println!("aimock {AIMOCK_VERSION}: answers a second, median         {:8.0}", median(aimock.clone()));
    println!("aimock {AIMOCK_VERSION}: memory of the process            {:8.2} MB", memory.1);
    let mut compare = |what: &str, ratio: f64, target: f64| {
        println!("ratio, {what:<38} {ratio:8.2}  (target {target})");
        if full && ratio < target {
            failures.push(format!("{what}: {ratio:.2}, target {target}"));
        }
    };
    compare("throughput, a write for each event", median(paced) / median(aimock.clone()), 2.0);
    compare("throughput, one write", median(plain) / median(aimock), 4.0);
    compare("their start-up time to ours", median(theirs) / median(ours), 10.0);
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
