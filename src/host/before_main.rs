//! The state of stdout before `main`. The standard library opens `/dev/null` for a closed standard stream, which
//! hides that it was closed.

use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::OFlags;

const USABLE: u8 = 0;
const CLOSED: u8 = 1;
const READ_ONLY: u8 = 2;

static STDOUT: AtomicU8 = AtomicU8::new(USABLE);

/// Why the stdout of this process cannot be written to; `None` if it can.
pub fn stdout_is_unusable() -> Option<&'static str> {
    match STDOUT.load(Ordering::Relaxed) {
        USABLE => None,
        CLOSED => Some("closed"),
        _ => Some("open for reading only"),
    }
}

extern "C" fn look() {
    let found = match rustix::fs::fcntl_getfl(rustix::stdio::stdout()) {
        Err(_) => CLOSED,
        Ok(flags) if flags.contains(OFlags::PATH) => READ_ONLY,
        Ok(flags) if flags & OFlags::RWMODE == OFlags::RDONLY => READ_ONLY,
        Ok(_) => USABLE,
    };
    STDOUT.store(found, Ordering::Relaxed);
}

#[expect(
    unsafe_code,
    reason = "the only way to run before the standard library does"
)]
// SAFETY: the loader calls the functions in this section once, before `main`, on the only thread. `look` makes one
// system call and stores one byte.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
