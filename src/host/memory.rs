//! The allocator of a program that musl is linked into. musl's own gives memory back at every occasion, and
//! takes twice as long for a JSON document; dlmalloc is as quick as glibc's, for Rust and, through the four
//! functions of C, for SQLite. Large blocks are the kernel's: they grow without being copied, and are gone when
//! they are given back.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    ffi::c_void,
    hint, ptr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use dlmalloc::{Allocator, Dlmalloc};

/// From this size on, in bytes, a block is the kernel's.
const LARGE: usize = 1 << 20;

/// What the kernel's blocks are aligned to.
const PAGE: usize = 4096;

fn is_large(size: usize, align: usize) -> bool {
    size >= LARGE && align <= PAGE
}

/// dlmalloc, and whether somebody is at it. Whoever is has done before anybody could have slept for it: the lock is
/// waited for awake, and given back by a plain store.
struct Heap {
    taken: AtomicBool,
    heap: UnsafeCell<Dlmalloc<Kernel>>,
}

#[expect(unsafe_code, reason = "a lock of our own")]
// SAFETY: the heap is reached by way of `own` alone, by one thread at a time.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap {
    taken: AtomicBool::new(false),
    heap: UnsafeCell::new(Dlmalloc::new_with_allocator(Kernel)),
};

/// So often it is asked whether a heap is free before another thread is let go on.
const PATIENCE: u32 = 100;

impl Heap {
    /// Does something with the heap, of which nothing panics.
    #[expect(unsafe_code, reason = "a lock of our own")]
    fn own<T>(&self, work: impl FnOnce(&mut Dlmalloc<Kernel>) -> T) -> T {
        let mut asked = 0;
        while self.taken.swap(true, Ordering::Acquire) {
            asked += 1;
            if asked % PATIENCE == 0 {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
        // SAFETY: it was free, and is ours until it is given back.
        let done = work(unsafe { &mut *self.heap.get() });
        self.taken.store(false, Ordering::Release);
        done
    }
}

#[expect(unsafe_code, reason = "an allocator gives out memory")]
// SAFETY: small blocks are dlmalloc's, whose functions promise the same; large ones are mappings of their own.
// Which of both a block is, its size says, and whoever gives it back knows that.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            return mapped(layout.size());
        }
        // SAFETY: the caller's.
        self.own(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            return mapped(layout.size());
        }
        // SAFETY: the caller's.
        self.own(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_large(layout.size(), layout.align()) {
            // SAFETY: it is a mapping of that length.
            unsafe { libc::munmap(block.cast(), layout.size()) };
            return;
        }
        // SAFETY: the caller's.
        self.own(|heap| unsafe { heap.free(block, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (old, align) = (layout.size(), layout.align());
        match (is_large(old, align), is_large(size, align)) {
            // SAFETY: the caller's.
            (false, false) => self.own(|heap| unsafe { heap.realloc(block, old, align, size) }),
            (true, true) => {
                // SAFETY: it is a mapping of that length.
                let moved = unsafe { libc::mremap(block.cast(), old, size, libc::MREMAP_MAYMOVE) };
                block_at(moved)
            }
            // SAFETY: both blocks are as long as is copied; the caller answers for the new size.
            _ => unsafe {
                let new = self.alloc(Layout::from_size_align_unchecked(size, align));
                if !new.is_null() {
                    ptr::copy_nonoverlapping(block, new, old.min(size));
                    self.dealloc(block, layout);
                }
                new
            },
        }
    }
}

/// Where dlmalloc has its memory from: in pieces that are there at once. It fills them to their end, and a page
/// that comes only when it is touched costs the kernel a visit of its own.
struct Kernel;

/// What it takes at once, in bytes.
const PIECE: usize = 64 << 10;

#[expect(unsafe_code, reason = "an allocator takes memory from the kernel")]
// SAFETY: the pieces are mappings of their own, of the length that is said.
unsafe impl Allocator for Kernel {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        if size > PIECE {
            return (mapped(size), size, 0);
        }
        (mapped_with(PIECE, libc::MAP_POPULATE), PIECE, 0)
    }

    fn remap(&self, block: *mut u8, old: usize, new: usize, can_move: bool) -> *mut u8 {
        let flags = if can_move { libc::MREMAP_MAYMOVE } else { 0 };
        // SAFETY: it is a mapping of that length.
        block_at(unsafe { libc::mremap(block.cast(), old, new, flags) })
    }

    fn free_part(&self, block: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: it is a mapping of the old length, and the new one is shorter.
        unsafe { libc::munmap(block.add(new).cast(), old - new) == 0 }
    }

    fn free(&self, block: *mut u8, size: usize) -> bool {
        // SAFETY: it is a mapping of that length.
        unsafe { libc::munmap(block.cast(), size) == 0 }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

/// New memory, zeroed.
fn mapped(size: usize) -> *mut u8 {
    mapped_with(size, 0)
}

#[expect(unsafe_code, reason = "the standard library knows no mappings")]
fn mapped_with(size: usize, more: i32) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | more;
    // SAFETY: a new mapping touches no other.
    block_at(unsafe { libc::mmap(ptr::null_mut(), size, protection, flags, -1, 0) })
}

/// Null where the kernel had none.
fn block_at(mapping: *mut c_void) -> *mut u8 {
    if mapping == libc::MAP_FAILED {
        return ptr::null_mut();
    }
    mapping.cast()
}

/// Before each block of C stands its size: C gives blocks back without it. As long as the strictest
/// alignment that C may expect.
const HEADER: usize = 16;

/// What is asked of the allocator for a block of C.
fn whole(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(HEADER)?, HEADER).ok()
}

#[expect(
    unsafe_code,
    clippy::cast_ptr_alignment,
    reason = "the functions of C by which a program brings its own allocator (musl 1.2.2 and later); their \
              blocks are aligned for all that C knows"
)]
mod functions {
    use super::{GlobalAlloc as _, HEADER, HEAP, Layout, c_void, ptr, whole};

    /// Notes the size, and gives what comes after.
    ///
    /// # Safety
    /// `block` is null or begins `layout`.
    unsafe fn handed_out(block: *mut u8, layout: Layout) -> *mut c_void {
        if block.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the block begins with room for the size, and is aligned for it.
        unsafe {
            block.cast::<usize>().write(layout.size());
            block.add(HEADER).cast()
        }
    }

    /// What stands before a block that was handed out, and of which size that is.
    ///
    /// # Safety
    /// `block` was handed out here and not given back.
    unsafe fn taken_back(block: *mut c_void) -> (*mut u8, Layout) {
        // SAFETY: `handed_out` wrote the size there; it was a good one then.
        unsafe {
            let start = block.cast::<u8>().sub(HEADER);
            let size = start.cast::<usize>().read();
            (start, Layout::from_size_align_unchecked(size, HEADER))
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
        match whole(size) {
            // SAFETY: the layout is not empty.
            Some(layout) => unsafe { handed_out(HEAP.alloc(layout), layout) },
            None => ptr::null_mut(),
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
        match count.checked_mul(size).and_then(whole) {
            // SAFETY: the layout is not empty.
            Some(layout) => unsafe { handed_out(HEAP.alloc_zeroed(layout), layout) },
            None => ptr::null_mut(),
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        if block.is_null() {
            // SAFETY: as asked for.
            return unsafe { malloc(size) };
        }
        let Some(new) = whole(size) else {
            return ptr::null_mut();
        };
        // SAFETY: the caller gives a block that was handed out here.
        unsafe {
            let (start, old) = taken_back(block);
            handed_out(HEAP.realloc(start, old, new.size()), new)
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn free(block: *mut c_void) {
        if !block.is_null() {
            // SAFETY: the caller gives a block that was handed out here.
            unsafe {
                let (start, layout) = taken_back(block);
                HEAP.dealloc(start, layout);
            }
        }
    }
}
