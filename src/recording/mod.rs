//! Everything observed in one run of a target, and nothing concluded.
//!
//! On disk a recording is a directory: `stdout` and `stderr` hold the raw bytes, `recording.json` the [`Facts`], and
//! where they were kept `requests/000.json` and so on the bodies of requests, and `stdin` the standard input.
//! Judging a recording from disk and judging a live run is the same code, because both start from here.

mod disk;
mod exit;
mod facts;
mod input;

pub use disk::{FACTS_FILE, Recording, RecordingError, STDERR_HEAD};
pub(crate) use exit::InTime;
pub use exit::{Exit, SpawnError, Timer};
pub use facts::{Facts, FactsError, SCHEMA_VERSION};
#[cfg(feature = "testing")]
pub(crate) use input::{MOST_INPUT, STDIN};
