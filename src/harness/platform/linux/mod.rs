//! Linux: namespaces, the subreaper, pidfds and `/proc`.

mod descendants;
mod devices;
mod namespaces;
mod network;
mod outside;
mod protect;
mod surroundings;
mod system;

#[cfg(feature = "cli")]
pub(in crate::harness) use descendants::this_is_clawgate;
pub(in crate::harness) use descendants::{end_strays, forget_supervisor, is_stopped, remember_supervisor};
pub(in crate::harness) use surroundings::{Surroundings, ending};
#[cfg(feature = "cli")]
pub(crate) use system::end_with_us;
pub(in crate::harness) use system::{
    Means, OPEN_TERMINAL, RECEIVE, SEND, enlarge_pipe, make_mutable, memory, memory_limit, path_of,
};
