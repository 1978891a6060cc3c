//! Outcomes as data: where a contract says that the end, the answer and the price of a run are, and reading them.
//!
//! A contract of any agent has a [`Table`] (`[outcome]` in its `contract.toml`, see `schemas/README.md`). A [`Reader`]
//! sees the messages of one run and answers with what they told; `classify` makes the verdict of that and of the process.
//! Neither knows a contract: `schema` makes the table, and `judge` hands it on.

mod reader;
#[cfg(feature = "testing")]
mod steps;
mod table;

pub(crate) use reader::{Hit, Reader, Signs, Told, Words};
#[cfg(feature = "testing")]
pub(crate) use steps::Step;
pub(crate) use table::{Entry, Join, MessageTest, Row, Selector, Table, Take, Tokens};
