//! Texts: patterns with wildcards, the word that somebody meant, bytes in digits, what a terminal may show, and cutting to a
//! length.

mod clip;
#[cfg(feature = "harness")]
mod glob;
#[cfg(feature = "harness")]
mod hex;
#[cfg(feature = "contracts")]
mod nearest;
#[cfg(feature = "harness")]
mod printable;

pub(crate) use clip::{clip, head, tail};
#[cfg(feature = "harness")]
pub(crate) use glob::glob;
#[cfg(feature = "cli")]
pub(crate) use glob::path_glob;
#[cfg(feature = "harness")]
pub(crate) use hex::hex;
#[cfg(feature = "harness")]
pub(crate) use nearest::nearest;
#[cfg(feature = "contracts")]
pub(crate) use nearest::{did_you_mean, nearest_within};
#[cfg(feature = "harness")]
pub(crate) use printable::{needs_escape, printable};
