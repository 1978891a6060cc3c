//! Texts: patterns with wildcards, the word that somebody meant, bytes in digits, what a terminal may show, what nobody may
//! see, cutting to a length, and what is wrong with a path.

mod clip;
#[cfg(feature = "testing")]
mod glob;
#[cfg(feature = "testing")]
mod hex;
#[cfg(feature = "testing")]
mod listed;
mod nearest;
#[cfg(feature = "testing")]
mod printable;
mod secrets;
mod trouble;

pub(crate) use clip::{clip, head, tail};
#[cfg(feature = "testing")]
pub(crate) use glob::glob;
#[cfg(feature = "cli")]
pub(crate) use glob::path_glob;
#[cfg(feature = "testing")]
pub(crate) use hex::hex;
#[cfg(feature = "testing")]
pub(crate) use listed::split_names;
#[cfg(feature = "testing")]
pub(crate) use nearest::nearest;
#[cfg(feature = "contracts")]
pub(crate) use nearest::{did_you_mean, nearest_within};
#[cfg(feature = "testing")]
pub(crate) use printable::{has_command, needs_escape, printable, visible};
#[cfg(feature = "cli")]
pub(crate) use printable::{line_of_ours, printable_json};
pub(crate) use secrets::{Masked, Masker};
pub(crate) use trouble::trouble;
