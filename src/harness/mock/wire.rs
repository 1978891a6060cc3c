//! HTTP/1.1 as it is read from a socket: heads by httparse, bodies by length or chunks, all of it bounded.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::reply::Reply;
use super::space::{Held, SMALL, Space};

/// The largest body the API takes.
pub(super) const LARGEST_BODY: usize = 32 * 1024 * 1024;
pub(super) const LARGEST_HEAD: usize = 64 * 1024;
pub(super) const MOST_HEADERS: usize = 128;

/// Why no request or reply could be read.
#[derive(Debug, thiserror::Error)]
pub(in crate::harness) enum WireError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the bytes are no HTTP/1 message: {0}")]
    Malformed(String),
    #[error("the body is larger than {LARGEST_BODY} bytes")]
    TooLarge,
    #[error("the peer left in the middle of a message")]
    Unfinished,
}

/// A request as it came.
#[derive(Debug)]
pub(in crate::harness) struct RawRequest {
    pub(in crate::harness) method: String,
    pub(in crate::harness) target: String,
    /// Names in lower case.
    pub(in crate::harness) headers: Vec<(String, String)>,
    pub(in crate::harness) body: Vec<u8>,
    pub(in crate::harness) keep_alive: bool,
    /// The space that its body takes up; given back when nothing of it is needed any more.
    pub(in crate::harness) held: Held,
}

/// A socket and the bytes that were read ahead of what was asked for.
#[derive(Debug)]
pub(in crate::harness) struct Connection {
    pub(in crate::harness) stream: TcpStream,
    buffer: Vec<u8>,
    space: Space,
}

impl Connection {
    pub(in crate::harness) fn new(stream: TcpStream) -> Self {
        Self::sharing(Space::default(), stream)
    }

    /// One whose requests share their space with those of others.
    pub(super) fn sharing(space: Space, stream: TcpStream) -> Self {
        Connection { stream, buffer: Vec::with_capacity(4096), space }
    }

    /// Reads more; whether there was more.
    async fn fill(&mut self) -> Result<bool, WireError> {
        self.buffer.reserve(4096);
        Ok(self.stream.read_buf(&mut self.buffer).await? > 0)
    }

    /// The next request; none when the client has left between two.
    pub(in crate::harness) async fn read_request(&mut self) -> Result<Option<RawRequest>, WireError> {
        let (method, target, version, headers) = loop {
            if !self.buffer.is_empty()
                && let Some((used, head)) = parse_request_head(&self.buffer)?
            {
                self.buffer.drain(..used);
                break head;
            }
            if self.buffer.len() > LARGEST_HEAD {
                return Err(WireError::Malformed("the head is too long".to_owned()));
            }
            if !self.fill().await? {
                return if self.buffer.is_empty() { Ok(None) } else { Err(WireError::Unfinished) };
            }
        };
        let value = |name: &str| find(&headers, name);
        let connection = value("connection").unwrap_or_default().to_ascii_lowercase();
        let keep_alive = if version == 0 { connection == "keep-alive" } else { connection != "close" };
        if value("expect").is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue")) {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let chunked =
            value("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
        let length = match value("content-length") {
            _ if chunked => 0,
            None => 0,
            Some(text) => text
                .trim()
                .parse::<usize>()
                .map_err(|_| WireError::Malformed(format!("content-length is {text:?}")))?,
        };
        let (body, held) =
            if chunked { self.read_chunked().await? } else { self.read_exactly(length).await? };
        Ok(Some(RawRequest { method, target, headers, body, keep_alive, held }))
    }

    /// Reads wiremock's reply without its framing: how the answer is framed for the client is the plan's affair.
    pub(super) async fn read_reply(&mut self, head_only: bool) -> Result<Reply, WireError> {
        let (mut reply, length) = loop {
            if let Some((used, head)) = parse_reply_head(&self.buffer)? {
                self.buffer.drain(..used);
                break head;
            }
            if !self.fill().await? {
                return Err(WireError::Unfinished);
            }
        };
        // The answer to HEAD has the length of a body that never comes.
        reply.body = if head_only { vec![0; length] } else { self.take(length).await? };
        Ok(reply)
    }

    async fn read_exactly(&mut self, length: usize) -> Result<(Vec<u8>, Held), WireError> {
        if length > LARGEST_BODY {
            return Err(WireError::TooLarge);
        }
        let held = self.space.for_body(length).await;
        Ok((self.take(length).await?, held))
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, WireError> {
        while self.buffer.len() < length {
            // Growing by what is missing, not by what was announced: an announcement costs the peer nothing.
            self.buffer.reserve((length - self.buffer.len()).min(1 << 20));
            if !self.fill().await? {
                return Err(WireError::Unfinished);
            }
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn read_chunked(&mut self) -> Result<(Vec<u8>, Held), WireError> {
        let mut body = Vec::new();
        let mut held = None;
        loop {
            let line = self.read_line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16)
                .map_err(|_| WireError::Malformed(format!("a chunk has the size {size:?}")))?;
            if size == 0 {
                // Trailers, up to the empty line.
                while !self.read_line().await?.is_empty() {}
                return Ok((body, held));
            }
            if body.len().saturating_add(size) > LARGEST_BODY {
                return Err(WireError::TooLarge);
            }
            if held.is_none() && body.len() + size > SMALL {
                // Nobody knows how large it will be.
                held = self.space.for_body(LARGEST_BODY).await;
            }
            body.extend_from_slice(&self.take(size).await?);
            if !self.read_line().await?.is_empty() {
                return Err(WireError::Malformed("a chunk is longer than its size".to_owned()));
            }
        }
    }

    async fn read_line(&mut self) -> Result<String, WireError> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.buffer.len() > LARGEST_HEAD {
                return Err(WireError::Malformed("a line is too long".to_owned()));
            }
            if !self.fill().await? {
                return Err(WireError::Unfinished);
            }
        }
    }
}

fn find<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

type RequestHead = (String, String, u8, Vec<(String, String)>);
/// The reply without its body, and how long the body is.
type ReplyHead = (Reply, usize);

fn parse_request_head(bytes: &[u8]) -> Result<Option<(usize, RequestHead)>, WireError> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Err(error) => Err(WireError::Malformed(error.to_string())),
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(used)) => {
            let method = request.method.unwrap_or_default().to_owned();
            let target = request.path.unwrap_or_default().to_owned();
            let version = request.version.unwrap_or(1);
            Ok(Some((used, (method, target, version, owned(request.headers)))))
        }
    }
}

fn parse_reply_head(bytes: &[u8]) -> Result<Option<(usize, ReplyHead)>, WireError> {
    const FRAMING: [&str; 3] = ["content-length", "transfer-encoding", "connection"];
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let used = match response.parse(bytes) {
        Err(error) => return Err(WireError::Malformed(error.to_string())),
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(httparse::Status::Complete(used)) => used,
    };
    let mut reply = Reply { status: response.code.unwrap_or_default(), ..Reply::default() };
    let mut length = 0;
    for header in response.headers {
        let value = String::from_utf8_lossy(header.value);
        if header.name.eq_ignore_ascii_case("content-length") {
            length = value.parse().unwrap_or(0);
        }
        if !FRAMING.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
            reply.headers.push((header.name.to_owned().into(), value.into_owned().into()));
        }
    }
    Ok(Some((used, (reply, length))))
}

fn owned(headers: &[httparse::Header<'_>]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|header| {
            (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned())
        })
        .collect()
}
