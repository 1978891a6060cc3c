//! Plays a sweep case over loopback with a raw client, and compares the wire with what the fault promises.

use std::io::{self, ErrorKind};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::mock::answer::AnswerSeed;
use crate::harness::mock::dialect::Dialect;
use crate::harness::mock::engine::{pace_of_attempt, reply_of_turn};
use crate::harness::mock::fault::Fault;
use crate::harness::mock::journal::Outcome;
use crate::harness::mock::plan::{Delivery, ResponseMode, Step, plan};
use crate::harness::mock::request::ApiRequest;
use crate::harness::mock::script::Script;
use crate::harness::mock::server::{MockApi, Options, StartError};
use crate::harness::mock::sweep::{SweepCase, probe};

/// How long a case may take before it counts as failed: far more than 50 MB need on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a client saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Played {
    pub bytes: usize,
    /// The HTTP status, if a head came.
    pub status: Option<u16>,
    pub end: WireEnd,
    /// What is not as the fault promises; none when all is.
    pub mismatch: Option<String>,
}

/// How a connection ended, as the client saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WireEnd {
    /// The response came in full and the connection stays open.
    Complete,
    Closed,
    Reset,
    Stalled,
    /// Pings, and no end.
    Pinging,
    Refused,
    /// None of these in time.
    Unknown,
}

/// Why a case could not be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlayError {
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// No request asks for that turn alone.
    #[error("no request can be made up that only turn `{0}` answers")]
    Unreachable(String),
    /// The client's side failed.
    #[error("the client's connection failed: {0}")]
    Client(#[from] io::Error),
}

/// Plays one case on a server of its own, with a client of this dialect.
pub(crate) async fn play(
    script: &Script,
    case: &SweepCase,
    dialect: &'static dyn Dialect,
) -> Result<Played, PlayError> {
    let options = Options { faults: vec![case.fault.clone()], ..Options::default() };
    let api = MockApi::start(script.clone(), options).await?;
    let played = match timeout(DEADLINE, observe(&api, script, case, dialect)).await {
        Ok(played) => played,
        Err(_) => Ok(Played {
            bytes: 0,
            status: None,
            end: WireEnd::Unknown,
            mismatch: Some(format!("nothing decisive within {} s", DEADLINE.as_secs())),
        }),
    };
    api.stop().await;
    played
}

async fn observe(
    api: &MockApi,
    script: &Script,
    case: &SweepCase,
    dialect: &dyn Dialect,
) -> Result<Played, PlayError> {
    let Some(name) = &case.turn else {
        let refused = TcpStream::connect(api.address()).await;
        let is_refused = refused.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused);
        return Ok(Played {
            bytes: 0,
            status: None,
            end: if is_refused { WireEnd::Refused } else { WireEnd::Unknown },
            mismatch: (!is_refused).then(|| "the connection was not refused".to_owned()),
        });
    };
    let unreachable = || PlayError::Unreachable(name.clone());
    let index = script.turns.iter().position(|turn| turn.name == *name).ok_or_else(unreachable)?;
    let (sample, asked) = probe(script, index, dialect).ok_or_else(unreachable)?;
    let (expected, expected_end) = promise(script, index, &case.fault, &asked);

    let mut stream = TcpStream::connect(api.address()).await?;
    let body = sample.body.to_string();
    let (target, length) = (&sample.target, body.len());
    let mut request = format!("POST {target} HTTP/1.1\r\nhost: clawgate\r\ncontent-length: {length}\r\n");
    for (name, value) in &sample.headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    request.extend(["\r\n", &body]);
    stream.write_all(request.as_bytes()).await?;

    let mut seen = Vec::with_capacity(expected.len());
    let mut end = None;
    // Whatever the promise, its bytes are waited for; then there must be its end, and nothing more.
    while seen.len() < expected.len() && end.is_none() {
        end = came(stream.read_buf(&mut seen).await)?;
    }
    if end.is_none() {
        end = match expected_end {
            WireEnd::Complete | WireEnd::Stalled => {
                let wanted =
                    if expected_end == WireEnd::Complete { Outcome::Complete } else { Outcome::Stalled };
                api.wait_until(|journal| journal.requests.iter().any(|entry| entry.outcome == wanted)).await;
                // Takes what is there without waiting.
                came(stream.try_read_buf(&mut seen))?.or(Some(expected_end))
            }
            WireEnd::Pinging => Some(WireEnd::Pinging),
            _ => came(stream.read_buf(&mut seen).await)?,
        };
    }
    let end = end.unwrap_or(WireEnd::Unknown);
    let same = if end == WireEnd::Pinging { seen.starts_with(&expected) } else { seen == expected };
    let mismatch = if !same {
        Some(format!("promised {} bytes, saw {} other ones", expected.len(), seen.len()))
    } else if end != expected_end {
        Some(format!("promised the end {expected_end:?}, saw {end:?}"))
    } else {
        None
    };
    Ok(Played { bytes: seen.len(), status: status(&seen), end, mismatch })
}

/// What a read brought: the end, if that is what came.
fn came(read: io::Result<usize>) -> io::Result<Option<WireEnd>> {
    match read {
        Ok(0) => Ok(Some(WireEnd::Closed)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(Some(WireEnd::Reset)),
        Err(error) => Err(error),
    }
}

/// The bytes and the end that a fault promises.
fn promise(script: &Script, index: usize, fault: &Fault, asked: &ApiRequest) -> (Vec<u8>, WireEnd) {
    let turn = &script.turns[index];
    let seed = AnswerSeed { seed: script.seed, entry: index as u64, earlier: 0 };
    let reply = reply_of_turn(turn, asked, Some(&fault.kind), seed);
    let pace = pace_of_attempt(std::slice::from_ref(fault), 0, &turn.pace);
    let mode = ResponseMode { head_only: false, keep_alive: true };
    let delivery = Delivery { fault: Some(&fault.kind), pace: &pace, ping: asked.dialect.ping(), mode };
    let steps = plan(&reply, delivery, &mut seed.random(4));
    let mut bytes = Vec::new();
    for step in steps {
        match step {
            Step::Send(part) => bytes.extend(part.bytes),
            Step::Pause(_) => {}
            Step::Repeat(sent, _) => {
                bytes.extend(sent.repeat(3));
                return (bytes, WireEnd::Pinging);
            }
            Step::Silence => return (bytes, WireEnd::Stalled),
            Step::Close | Step::Cut => return (bytes, WireEnd::Closed),
            Step::Reset => return (bytes, WireEnd::Reset),
        }
    }
    (bytes, WireEnd::Complete)
}

fn status(seen: &[u8]) -> Option<u16> {
    let line = seen.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.split(' ').nth(1)?.parse().ok()
}
