//! Makes recordings: what a target is driven by and what is observed of it. The only part of the library with an
//! asynchronous runtime.

pub mod capture;
pub mod mock;
pub mod room;
pub mod scenario;
pub mod secrets;
pub mod supervise;
pub mod surroundings;
pub mod target;
pub mod terminal;
pub mod timers;
pub mod user;
