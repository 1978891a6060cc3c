//! JSON as agent command lines really print it: a scanner that reads everything Python's `json.loads` reads, never
//! recurses, never aborts, and reports each place where the text is not strict JSON.
//!
//! `serde_json` stops at the first deviation and hides others (duplicate keys, numbers beyond a double). A gate has
//! to go on reading *and* to say what was odd at which byte, so the scan is our own; it makes a flat [`Document`]
//! whose [`Node`]s are views into the text.
//!
//! ```
//! use clawgate::json::Scanner;
//!
//! let mut scanner = Scanner::default();
//! let document = scanner.scan(r#"{"type":"result","num_turns":NaN}"#).unwrap();
//! assert_eq!(document.root().get("type").unwrap().text().unwrap(), "result");
//! assert_eq!(document.oddities()[0].to_string(), "NaN or Infinity at byte 29");
//! ```

mod document;
#[cfg(feature = "contracts")]
mod kept;
mod kind;
#[cfg(feature = "contracts")]
mod layout;
mod lines;
mod members;
#[cfg(feature = "contracts")]
pub(crate) mod pointer;
mod problem;
mod scan;
#[cfg(feature = "cli")]
pub(crate) mod shape;
mod text;
#[cfg(feature = "contracts")]
pub(crate) mod view;

pub use document::{Document, Items, Key, Members, Name, Node};
#[cfg(feature = "contracts")]
pub(crate) use kept::{Documents, KeptDocument};
pub use kind::Kind;
#[cfg(feature = "contracts")]
pub(crate) use layout::{Form, Found, Layouts, Reads};
pub(crate) use lines::{RawLine, Splitter};
pub(crate) use members::members;
#[cfg(feature = "contracts")]
pub(crate) use pointer::Pointer;
pub use problem::{Malformed, Oddity, Problem};
pub use scan::{Limits, MAX_DEPTH, Scanner};
#[cfg(feature = "contracts")]
pub(crate) use view::JsonView;
