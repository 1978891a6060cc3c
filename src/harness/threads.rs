//! Threads that may not be to be had.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// How many threads serve scripted APIs.
const WORKERS: usize = 2;

/// The runtime of scripted APIs.
pub(crate) fn runtime() -> io::Result<Runtime> {
    // Tokio panics where it does not get its threads, so others take their places first.
    let places = (0..WORKERS).map(|_| spawn("place", std::thread::park)).collect::<Vec<_>>();
    let mut refused = None;
    for place in places {
        match place {
            Ok(place) => {
                place.thread().unpark();
                _ = place.join();
            }
            Err(error) => refused = Some(error),
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }
    Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()
}

/// Starts a thread, or says why there can be none: the function of the standard library panics.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<std::thread::JoinHandle<T>> {
    std::thread::Builder::new().name(name.into()).spawn(work)
}
