//! What happens when there is no memory to be had: a sentence and an exit code, instead of an abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit_code;

/// The system's allocator, for the binary alone. Supervisors notice that it ended, and end what they hold.
#[derive(Debug)]
pub struct Allocator;

/// Several threads may notice at once.
static SAID: AtomicBool = AtomicBool::new(false);

/// Ends the process where nothing was allocated.
fn had(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        // Nothing here allocates.
        let said = b"error: there is not enough memory: run fewer cases at a time (--jobs 1), or raise the limit (ulimit -v)\n";
        if !SAID.swap(true, Ordering::Relaxed) {
            _ = rustix::io::write(rustix::stdio::stderr(), said);
        }
        std::process::exit(i32::from(exit_code::ENVIRONMENT));
    }
    memory
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its nature; this one passes everything on")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps what the system's allocator asks for.
        had(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps what the system's allocator asks for.
        had(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps what the system's allocator asks for.
        had(unsafe { System.realloc(memory, layout, size) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps what the system's allocator asks for.
        unsafe { System.dealloc(memory, layout) }
    }
}
