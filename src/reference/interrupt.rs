//! Ctrl-C in the middle of a conversation.

use tokio::signal::unix::{SignalKind, signal};

/// Ends the process with the code of `last`, which is run on Ctrl-C from now on. It listens on a thread of its own,
/// since the conversation waits for the network.
pub(super) fn on_interrupt(last: impl FnOnce() -> u8 + Send + 'static) {
    // Without the thread, or its signals, the process ends as any other does.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let listening = {
        let _inside = runtime.enter();
        signal(SignalKind::interrupt())
    };
    let Ok(mut interrupts) = listening else { return };
    _ = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        if runtime.block_on(interrupts.recv()).is_some() {
            std::process::exit(last().into());
        }
    });
}
