//! The documented reader of stream-json, to the letter: its categories, its heuristics, its blind spots.
//!
//! People compare runs by what that reader reports, so [`Run`] must equal it on every stream. Improvements belong in
//! the verdict, never here. Where the documented reader would abort (text that is not a string, a message that is not
//! an object, an infinite token count, invalid UTF-8, extreme nesting), the offending value is left out and a warning
//! says so.

mod heuristics;
mod integer;
mod reader;

pub use reader::{Category, Reader, Run, Settings};
