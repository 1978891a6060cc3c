//! Addresses that an output names, asked over the network when somebody wants it.
//!
//! What was heard is kept beside the recording, so that grading again asks nobody.

use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

#[cfg(feature = "net")]
mod network;

const FILE: &str = "urls.json";

/// Which addresses are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckUrls {
    /// None: the network is not touched.
    #[default]
    None,
    /// Those of the public internet. An output must not decide what is asked of the machines around us.
    Public,
    Any,
}

/// Whether an address answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reach {
    Reachable,
    /// There is no such host or page, or nobody listens.
    Unreachable,
    /// Nobody can tell now: it takes too long, is overloaded, or must not be asked.
    Unknown,
}

/// An address and whether it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reached {
    pub url: String,
    pub reach: Reach,
    pub because: String,
}

/// What was heard in an attempt; none when nobody was asked.
pub(super) fn read(attempt: &Path) -> Option<Vec<Reached>> {
    serde_json::from_slice(&fs::read(attempt.join(FILE)).ok()?).ok()
}

/// Asks the addresses and keeps what was heard.
#[cfg(feature = "net")]
pub(super) fn ask(
    addresses: &[String],
    which: CheckUrls,
    attempt: &Path,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> io::Result<Vec<Reached>> {
    let reached = network::ask(addresses, which, is_stopped)?;
    fs::write(attempt.join(FILE), serde_json::to_vec(&reached)?)?;
    Ok(reached)
}

/// Nobody can be asked; `--check-urls` is refused before it comes to this.
#[cfg(not(feature = "net"))]
pub(super) fn ask(
    _: &[String],
    _: CheckUrls,
    _: &Path,
    _: &(dyn Fn() -> bool + Sync),
) -> io::Result<Vec<Reached>> {
    Err(io::ErrorKind::Unsupported.into())
}
