//! The stack of a run. A page of it that is touched first costs the kernel a visit of its own, and a call touches
//! some thirty of them: they are there at once.

const PAGE: usize = 4096;

/// Has as many pages below the caller's be there, as far as the kernel has set them aside: 128 KiB when a program
/// starts (`setup_arg_pages` in its `fs/exec.c`). Without them nothing is wrong.
#[expect(
    unsafe_code,
    reason = "the standard library knows nothing of the stack"
)]
pub fn have_stack(pages: usize) {
    let here = 0u8;
    let end = (&raw const here).addr() & !(PAGE - 1);
    let length = pages * PAGE;
    let begin = std::ptr::without_provenance_mut(end.saturating_sub(length));
    // SAFETY: what is there already stays as it is, and what is no memory of this process is refused.
    unsafe { libc::madvise(begin, length, libc::MADV_POPULATE_WRITE) };
}
