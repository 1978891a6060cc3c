//! Texts: patterns with wildcards, the word that somebody meant, and cutting to a length.

mod clip;
#[cfg(feature = "contracts")]
mod glob;
#[cfg(feature = "contracts")]
mod nearest;

pub(crate) use clip::{clip, head, tail};
#[cfg(feature = "contracts")]
pub(crate) use glob::glob;
#[cfg(feature = "cli")]
pub(crate) use glob::path_glob;
#[cfg(feature = "contracts")]
pub(crate) use nearest::{did_you_mean, nearest, nearest_within};
