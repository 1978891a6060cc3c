//! Checking the records of a session, one after the other: one file a family of rules.

mod boot;
mod broadcast;
mod command;
mod complaints;
mod complete;
mod deadlines;
mod end;
mod envelope;
mod event;
mod fields;
mod gate;
mod heartbeat;
mod lineage;
mod phase;
mod report;
mod session;
mod shape;
mod survivors;
mod system;
mod task;

pub(crate) use fields::nonblank;
pub(crate) use report::{has_room, whole_log};
pub(crate) use session::Session;
