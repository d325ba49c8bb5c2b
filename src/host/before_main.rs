//! What is so before `main`: the standard library opens `/dev/null` in the place of a standard
//! stream that is closed, and from then on nobody can tell.

use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether this process was started without a stdout.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn look() {
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    STDOUT_WAS_CLOSED.store(flags.is_err(), Ordering::Relaxed);
}

#[expect(
    unsafe_code,
    reason = "the only way to run before the standard library does"
)]
// SAFETY: the loader calls what stands in this section once, before `main`, on the only thread;
// `look` makes one system call and stores one bit.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
