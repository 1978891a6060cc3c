//! What a file held at some time, so that somebody who wrote to it meanwhile is noticed.
//!
//! A run takes the digest of each of its snapshots before its first target starts: a target may be able to write here, and
//! what it does to a snapshot must not decide what it is compared with. A decision is about what was shown, by its digest.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use hmac_sha256::Hash as Sha256;

use super::store::{StoreError, at};

/// What a file held at some time; none when there was no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(Option<[u8; 32]>);

impl Fingerprint {
    /// There was no file.
    pub(crate) const NONE: Self = Self(None);

    /// What a file holds now.
    pub(crate) fn at(path: &Path) -> Result<Self, StoreError> {
        match File::open(path).and_then(|file| Self::of(&file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::NONE),
            found => found.map_err(at(path)),
        }
    }

    /// What an open file holds.
    pub(super) fn of(mut file: &File) -> io::Result<Self> {
        file.rewind()?;
        let mut hash = Sha256::new();
        let mut bytes = [0; 16 << 10];
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(Self(Some(hash.finalize()))),
                read => hash.update(&bytes[..read]),
            }
        }
    }
}
