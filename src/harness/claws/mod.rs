//! The claws event protocol, live: a server that keeps the document, and a visitor who finds out what a server keeps.
//!
//! ```text
//! worker ◄──socket──► server (broker decides) ──► log
//! probe  ◄──socket──► any server              ──► transcript: what was sent, answered and pushed, and when
//! ```
//!
//! Nothing is judged here. A log and a transcript are both event logs, and `events` judges them.

mod broker;
mod client;
mod conventions;
mod orders;
mod probe;
mod server;

pub(crate) use orders::{Orchestrator, Orders, read as read_orders};
pub use probe::PROBES;
pub(crate) use probe::{Bounds, ProbeError, Visit, probe};
pub(crate) use server::{ClawsServer, Served, ServerOptions};

/// The protocol that a hello names.
const PROTOCOL: &str = "claws/2";
/// The longest line that either side reads; the published server drops a connection that sends a longer one.
const LONGEST_LINE: usize = 1 << 20;

/// A random UUID of version 4.
fn uuid() -> String {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    // Each RandomState has keys of its own, drawn from the system's randomness.
    let draw = || RandomState::new().build_hasher().finish();
    let number = u128::from(draw()) << 64 | u128::from(draw());
    let number = number & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    let text = format!("{number:032x}");
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_uuid_is_random_and_of_version_4() {
        let (one, other) = (super::uuid(), super::uuid());
        assert_ne!(one, other);
        assert_eq!((one.len(), one.as_bytes()[14]), (36, b'4'));
        assert!(matches!(one.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{one}");
    }
}
