//! A raw client and a server for the tests of the mock: bytes in, bytes out, and how the connection ended.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use clawgate::internals::harness::mock::journal::JournalEntry;
use clawgate::internals::harness::mock::{Fault, Journal, MockApi, Options, Script};
use clawgate::internals::run::scenario::Scenario;
use serde_json::{Value, json};

/// Only how long a failing test may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// The answer that most tests ask for: characters of one to four bytes, nine events.
pub(crate) const SCRIPT: &str =
    "scenario.name = \"t\"\n[api]\nseed = 9\n[[api.turns]]\nchunk = 4\ntext = \"Größe 🦀 ok\"\n";

/// A server with a runtime of its own.
pub(crate) struct Server {
    runtime: tokio::runtime::Runtime,
    api: Option<MockApi>,
}

impl Server {
    pub(crate) fn new(script: &str, faults: &[&str]) -> Self {
        Server::of_script(Scenario::parse("test.toml", script).unwrap().script, faults)
    }

    pub(crate) fn of_script(script: Script, faults: &[&str]) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut options = Options::default();
        options.faults = faults.iter().map(|fault| fault.parse::<Fault>().unwrap()).collect();
        let api = runtime.block_on(MockApi::start(script, options)).unwrap();
        Server { runtime, api: Some(api) }
    }

    pub(crate) fn with_fault(fault: &str) -> Self {
        Server::new(SCRIPT, &[fault])
    }

    pub(crate) fn api(&self) -> &MockApi {
        self.api.as_ref().unwrap()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.api().address()
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(TcpStream::connect(self.address()).unwrap())
    }

    /// Waits for the journal, not for a time.
    pub(crate) fn wait_until(&self, wanted: impl FnMut(&Journal) -> bool) {
        let waiting = self.api().wait_until(wanted);
        let done = self.runtime.block_on(async { tokio::time::timeout(DEADLINE, waiting).await });
        assert!(done.is_ok(), "never came: {:#?}", self.api().journal());
    }

    /// The entry of that number once it has ended.
    pub(crate) fn ended(&self, number: u64) -> JournalEntry {
        self.wait_until(|journal| {
            journal.requests.get(number as usize - 1).is_some_and(|entry| entry.duration_ms.is_some())
        });
        self.api().entry(number).unwrap()
    }

    pub(crate) fn stop(mut self) -> Journal {
        self.runtime.block_on(self.api.take().unwrap().stop())
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Fin,
    Reset,
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    ahead: Vec<u8>,
}

impl Client {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, ahead: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> &mut Self {
        self.stream.write_all(bytes).unwrap();
        self
    }

    /// Everything until the connection ends, and how it ends.
    pub(crate) fn read_to_end(&mut self) -> (Vec<u8>, End) {
        let mut bytes = std::mem::take(&mut self.ahead);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return (bytes, End::Fin),
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return (bytes, End::Reset),
                Err(error) => panic!("{error} after {} bytes", bytes.len()),
            }
        }
    }

    pub(crate) fn read_exactly(&mut self, count: usize) -> Vec<u8> {
        while self.ahead.len() < count {
            self.fill();
        }
        let rest = self.ahead.split_off(count);
        std::mem::replace(&mut self.ahead, rest)
    }

    fn fill(&mut self) {
        let mut buffer = vec![0; 1 << 16];
        let count = self.stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the connection ended after {:?}", String::from_utf8_lossy(&self.ahead));
        self.ahead.extend_from_slice(&buffer[..count]);
    }

    /// Whether the connection is open and has nothing to say at this moment.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.stream.set_nonblocking(true).unwrap();
        let mut buffer = [0; 16];
        let outcome = self.stream.read(&mut buffer);
        self.stream.set_nonblocking(false).unwrap();
        self.ahead.is_empty() && outcome.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// One whole response of a connection that stays open.
    pub(crate) fn read_response(&mut self, has_body: bool) -> Response {
        let head_end = loop {
            if let Some(at) = find(&self.ahead, b"\r\n\r\n") {
                break at + 4;
            }
            self.fill();
        };
        let head = String::from_utf8(self.read_exactly(head_end)).unwrap();
        let mut response = Response { status: 0, head, chunks: Vec::new() };
        response.status = response.head.split(' ').nth(1).unwrap().parse().unwrap();
        if !has_body {
            return response;
        }
        if let Some(length) = response.header("content-length") {
            let length = length.parse().unwrap();
            response.chunks.push(self.read_exactly(length));
            return response;
        }
        loop {
            let line_end = loop {
                if let Some(at) = find(&self.ahead, b"\r\n") {
                    break at + 2;
                }
                self.fill();
            };
            let line = String::from_utf8(self.read_exactly(line_end)).unwrap();
            let size = usize::from_str_radix(line.trim(), 16).unwrap();
            let data = self.read_exactly(size + 2);
            assert!(data.ends_with(b"\r\n"));
            if size == 0 {
                return response;
            }
            response.chunks.push(data[..size].to_vec());
        }
    }
}

pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A response taken apart by hand, not by the code under test.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) chunks: Vec<Vec<u8>>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1);
        lines.find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")))
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body()).unwrap()
    }

    /// The data of each event.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = String::from_utf8(self.body()).unwrap();
        let events = text.split_terminator("\n\n");
        events.map(|event| serde_json::from_str(event.split_once("\ndata: ").unwrap().1).unwrap()).collect()
    }

    pub(crate) fn text(&self) -> String {
        let events = self.events();
        events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect()
    }
}

/// A healthy question.
pub(crate) fn question(stream: bool) -> Value {
    json!({
        "model": "claude-test", "max_tokens": 64, "stream": stream,
        "messages": [{"role": "user", "content": "Hello"}],
    })
}

/// A POST of that body with the headers that the API wants.
pub(crate) fn post(body: &Value) -> Vec<u8> {
    post_with(body, "")
}

pub(crate) fn post_with(body: &Value, headers: &str) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: dummy-key\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
