//! Texts: patterns with wildcards, the word that somebody meant, bytes in digits, what a terminal may show, what nobody may
//! see, and cutting to a length.

mod clip;
#[cfg(feature = "testing")]
mod glob;
#[cfg(feature = "testing")]
mod hex;
#[cfg(feature = "contracts")]
mod nearest;
#[cfg(feature = "testing")]
mod printable;
mod secrets;

pub(crate) use clip::{clip, head, tail};
#[cfg(feature = "testing")]
pub(crate) use glob::glob;
#[cfg(feature = "cli")]
pub(crate) use glob::path_glob;
#[cfg(feature = "testing")]
pub(crate) use hex::hex;
#[cfg(feature = "testing")]
pub(crate) use nearest::nearest;
#[cfg(feature = "contracts")]
pub(crate) use nearest::{did_you_mean, nearest_within};
#[cfg(feature = "testing")]
pub(crate) use printable::{has_command, needs_escape, printable, visible};
#[cfg(feature = "cli")]
pub(crate) use printable::{line_of_ours, printable_json};
pub(crate) use secrets::{Masked, Masker};
