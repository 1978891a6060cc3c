//! Makes recordings: what a target is driven by and what is observed of it. The only part of the library with an
//! asynchronous runtime.

pub mod document;
pub mod mock;
