//! A client of HTTP/1.1 that is as simple as the one server that it talks to: one request, one connection.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// More of a head is no head.
const MOST_HEAD: usize = 64 << 10;

/// An answer whose body is still to be read.
pub(super) struct Response {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: Body,
}

impl Response {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// A body, however it is framed.
pub(super) struct Body {
    stream: BufReader<TcpStream>,
    framing: Framing,
}

enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// So many bytes of a chunk are left; none before the first.
    Chunked {
        left: u64,
        begun: bool,
    },
    /// Until the connection is closed.
    Close,
    Done,
}

/// Sends a JSON body and reads the head of the answer. `base` is `http://host:port`; a silence longer than `patience`
/// is an error.
pub(super) fn post(
    base: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    patience: Option<Duration>,
) -> io::Result<Response> {
    let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason.to_owned());
    let host = base.strip_prefix("http://").ok_or_else(|| invalid("expected http://host:port"))?;
    let host = host.trim_end_matches('/');
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(patience)?;
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        _ = write!(head, "{name}: {value}\r\n");
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    stream.write_all(body)?;
    let mut stream = BufReader::new(stream);
    let head = read_head(&mut stream)?;
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut fields);
    match parsed.parse(&head) {
        Ok(httparse::Status::Complete(_)) => {}
        _ => return Err(invalid("not an HTTP response")),
    }
    let headers: Vec<(String, String)> = parsed
        .headers
        .iter()
        .map(|field| (field.name.to_owned(), String::from_utf8_lossy(field.value).into_owned()))
        .collect();
    let status = parsed.code.unwrap_or(0);
    let mut response = Response { status, headers, body: Body { stream, framing: Framing::Close } };
    let is_chunked = response.header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
    let length = response.header("content-length").and_then(|value| value.parse().ok());
    response.body.framing = match (is_chunked, length) {
        (true, _) => Framing::Chunked { left: 0, begun: false },
        (false, Some(length)) => Framing::Length(length),
        (false, None) => Framing::Close,
    };
    Ok(response)
}

fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        stream.by_ref().take(MOST_HEAD as u64).read_until(b'\n', &mut head)?;
        if head.len() == before {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if head.ends_with(b"\r\n\r\n") || head.len() > MOST_HEAD {
            return Ok(head);
        }
    }
}

impl Read for Body {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        loop {
            let left = match &mut self.framing {
                Framing::Done => return Ok(0),
                Framing::Close => return self.stream.read(out),
                Framing::Length(0) => {
                    self.framing = Framing::Done;
                    return Ok(0);
                }
                Framing::Chunked { left: 0, begun } => {
                    let mut line = String::new();
                    if std::mem::replace(begun, true) {
                        // The end of the chunk before.
                        self.stream.read_line(&mut line)?;
                        line.clear();
                    }
                    if self.stream.by_ref().take(64).read_line(&mut line)? == 0 {
                        return Err(cut());
                    }
                    let size = u64::from_str_radix(line.trim().split(';').next().unwrap_or(""), 16)
                        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a chunk"))?;
                    self.framing =
                        if size == 0 { Framing::Done } else { Framing::Chunked { left: size, begun: true } };
                    continue;
                }
                Framing::Length(left) | Framing::Chunked { left, .. } => left,
            };
            let most = out.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
            let read = self.stream.read(&mut out[..most])?;
            if read == 0 && most > 0 {
                return Err(cut());
            }
            *left -= read as u64;
            return Ok(read);
        }
    }
}
