//! The scripted API by itself, for a client that is no command line.

use serde_json::Value;

use super::cli::{Error, runtime};
use crate::harness::mock::{Fault, MockApi, Options, Script};

/// A scripted API on a loopback port of its own, for a client in the same test.
///
/// ```
/// use std::io::{Read as _, Write as _};
///
/// use clawgate::testing::{Script, ScriptedApi};
///
/// let api = ScriptedApi::start(Script::new().text("Hello."))?;
/// // Give `api.base_url()` to any client of the Messages API; this one is a socket.
/// let body = r#"{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}"#;
/// let mut socket = std::net::TcpStream::connect(api.base_url().trim_start_matches("http://"))?;
/// write!(
///     socket,
///     "POST /v1/messages HTTP/1.1\r\nhost: api\r\nx-api-key: none\r\nanthropic-version: 2023-06-01\r\n\
///      content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
///     body.len()
/// )?;
/// let mut answer = String::new();
/// socket.read_to_string(&mut answer)?;
/// assert!(answer.contains("Hello."));
///
/// let served = api.stop();
/// assert_eq!((served.requests.len(), served.unused.len()), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ScriptedApi {
    api: MockApi,
}

/// What a scripted API was asked for, and what of its script nobody asked for.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Served {
    /// The requests in their order, in the form that a recording has them.
    pub requests: Vec<Value>,
    /// Turns of the script that no request was answered with.
    pub unused: Vec<String>,
    /// Expectations of mounted mocks that were not met, each in words.
    pub unmet: Vec<String>,
}

impl ScriptedApi {
    /// Listens, and answers as the script says.
    pub fn start(script: Script) -> Result<Self, Error> {
        Self::start_with_faults(script, Vec::new())
    }

    /// The same with something going wrong.
    pub fn start_with_faults(script: Script, faults: Vec<Fault>) -> Result<Self, Error> {
        let options = Options { faults, ..Options::default() };
        let api = wait(MockApi::start(script, options))?.map_err(std::io::Error::other)?;
        Ok(Self { api })
    }

    /// What a client is given as the address of the API, such as `http://127.0.0.1:34567`.
    pub fn base_url(&self) -> String {
        self.api.base_url()
    }

    /// Stops listening and tells what was asked for.
    pub fn stop(self) -> Served {
        let Ok(journal) = wait(self.api.stop()) else { return Served::default() };
        let requests = journal.requests.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect();
        Served { requests, unused: journal.unused, unmet: journal.unmet }
    }
}

/// Waits on a thread of its own, since that of an async test belongs to its runtime.
fn wait<T: Send>(future: impl Future<Output = T> + Send) -> Result<T, Error> {
    let runtime = runtime()?;
    std::thread::scope(|scope| {
        let waits = std::thread::Builder::new().spawn_scoped(scope, || runtime.block_on(future))?;
        waits.join().map_err(|_| Error::GivenUp)
    })
}
