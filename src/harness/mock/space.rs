//! How much memory the clients of one server take up at a time, whatever they send and however many they are.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Clients that are served at a time; others wait until one of them has left.
const MOST_CLIENTS: usize = 256;
/// What the bodies of requests take up at a time; a larger one is alone.
const MOST_BYTES: usize = 8 << 20;
/// A body of so many bytes waits for nobody.
pub(super) const SMALL: usize = 32 << 10;

/// The space that the clients of one server share.
#[derive(Debug, Clone)]
pub(super) struct Space {
    clients: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

/// A part of it, until it is dropped.
pub(in crate::harness) type Held = Option<OwnedSemaphorePermit>;

impl Default for Space {
    fn default() -> Self {
        let of = |count| Arc::new(Semaphore::new(count));
        Self { clients: of(MOST_CLIENTS), bodies: of(MOST_BYTES) }
    }
}

impl Space {
    /// Waits until there is a place for another client.
    pub(super) async fn for_client(&self) -> Held {
        Arc::clone(&self.clients).acquire_owned().await.ok()
    }

    /// Waits until there is space for a body.
    pub(super) async fn for_body(&self, bytes: usize) -> Held {
        if bytes <= SMALL {
            return None;
        }
        Arc::clone(&self.bodies).acquire_many_owned(bytes.min(MOST_BYTES) as u32).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_large_body_is_alone_and_a_small_one_waits_for_nobody() {
        let space = Space::default();
        let large = space.for_body(usize::MAX).await;
        assert!(large.is_some() && space.for_body(SMALL).await.is_none());
        let free = || space.bodies.available_permits();
        assert_eq!(free(), 0);
        drop(large);
        let (_one, _other) = (space.for_body(3 << 20).await, space.for_body(2 << 20).await);
        assert_eq!(free(), 3 << 20);
    }
}
