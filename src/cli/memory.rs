//! What happens when there is no memory to be had: a sentence and an exit code, instead of an abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit_code;

/// The system's allocator, for the binary alone. Supervisors notice that it ended, and end what they hold.
#[derive(Debug)]
pub struct Allocator;

/// Several threads may notice at once.
static SAID: AtomicBool = AtomicBool::new(false);

/// How the standard library begins to say that a new thread found no memory for its second stack: it panics.
const NO_SECOND_STACK: [&str; 2] =
    ["failed to allocate an alternative stack", "failed to set up alternative stack guard page"];

/// From here on whatever else breaks off for want of memory ends the process in the same words as an allocation: a
/// thread that begins, by a panic, and the C library, by an abort.
pub(super) fn watch() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let said = info.payload().downcast_ref::<String>();
        if said.is_some_and(|said| NO_SECOND_STACK.iter().any(|words| said.starts_with(words))) {
            end();
        }
        usual(info);
    }));
    #[expect(unsafe_code, reason = "the C library's own aborts are heard in no other way")]
    // SAFETY: the handler does only what a handler may.
    unsafe {
        libc::signal(libc::SIGABRT, aborted as extern "C" fn(libc::c_int) as libc::sighandler_t);
    }
}

/// Has what is large given back to the system once nobody needs it. The C library keeps more and more otherwise: after each
/// large piece it takes pieces of that size for small ones.
pub(super) fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 256 << 10;
        #[expect(unsafe_code, reason = "the C library's settings are set in no other way")]
        // SAFETY: no other thread runs yet.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        }
    }
}

/// An abort with no memory left is for want of it. Any other goes on when this returns.
extern "C" fn aborted(_: libc::c_int) {
    const PROBE_BYTES: usize = 1 << 20;
    let (protection, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    #[expect(unsafe_code, reason = "a handler of signals may ask the system alone")]
    // SAFETY: a new mapping that nobody uses.
    unsafe {
        let probe = libc::mmap(std::ptr::null_mut(), PROBE_BYTES, protection, kind, -1, 0);
        if probe == libc::MAP_FAILED || SAID.load(Ordering::Relaxed) {
            end();
        }
    }
}

/// Ends the process where nothing was allocated.
fn had(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

/// Says it once, and ends the process at once: whoever found no memory may hold a lock that an orderly end waits for, and
/// a handler of signals may do no more.
fn end() -> ! {
    let said = b"error: there is not enough memory: run fewer cases at a time (--jobs 1), or raise the limit (ulimit -v)\n";
    if !SAID.swap(true, Ordering::Relaxed) {
        _ = rustix::io::write(rustix::stdio::stderr(), said);
    }
    #[expect(unsafe_code, reason = "an end without anything being tidied")]
    // SAFETY: nothing runs after it.
    unsafe {
        libc::_exit(i32::from(exit_code::ENVIRONMENT))
    }
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
