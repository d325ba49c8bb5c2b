//! Copying and comparing memory, in the place of musl's own: that one copies by an instruction which takes long
//! to begin, however short the block, and compares byte by byte. Most blocks of a run are shorter than a line of
//! text.

use std::{cmp::Ordering, ptr};

/// Copies a block.
///
/// # Safety
/// Both blocks are that long. They may overlap, if the copy begins before the block.
#[expect(unsafe_code, reason = "this is what copying is made of")]
#[inline]
unsafe fn copy(to: *mut u8, from: *const u8, length: usize) {
    /// As many as that at the beginning and at the end, which may overlap.
    macro_rules! ends {
        ($word:ty) => {{
            let last = length - size_of::<$word>();
            // SAFETY: the block is at least one word long.
            unsafe {
                let end = ptr::read_unaligned(from.add(last).cast::<$word>());
                let start = ptr::read_unaligned(from.cast::<$word>());
                ptr::write_unaligned(to.cast::<$word>(), start);
                ptr::write_unaligned(to.add(last).cast::<$word>(), end);
            }
        }};
    }
    match length {
        0 => {}
        1 => ends!(u8),
        2..=3 => ends!(u16),
        4..=7 => ends!(u32),
        8..=15 => ends!(u64),
        16..=32 => ends!([u64; 2]),
        33..=64 => ends!([u64; 4]),
        65..=128 => ends!([u64; 8]),
        // SAFETY: the words, of which each is read before it is written over; and a last one that may overlap them.
        _ => unsafe {
            let last = length - size_of::<u64>();
            let end = ptr::read_unaligned(from.add(last).cast::<u64>());
            in_words(to, from, length / size_of::<u64>());
            ptr::write_unaligned(to.add(last).cast::<u64>(), end);
        },
    }
}

/// Copies words by the instruction for it.
///
/// # Safety
/// Both blocks have as many words.
#[expect(unsafe_code, reason = "a loop would be taken for a copy")]
#[inline]
unsafe fn in_words(to: *mut u8, from: *const u8, words: usize) {
    // SAFETY: it reads and writes that many words, upwards, as the flag says that C and Rust leave clear.
    unsafe {
        std::arch::asm!(
            "rep movsq",
            inout("rcx") words => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Copies a block from its end.
///
/// # Safety
/// Both blocks are that long. They may overlap, if the copy begins behind the beginning of the block.
#[expect(unsafe_code, reason = "a loop would be taken for a copy")]
#[inline]
unsafe fn copy_back(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: it reads and writes that many bytes, downwards, and leaves the flag for that as it was.
    unsafe {
        std::arch::asm!(
            "std",
            "rep movsb",
            "cld",
            inout("rcx") length => _,
            inout("rdi") to.wrapping_add(length).wrapping_sub(1) => _,
            inout("rsi") from.wrapping_add(length).wrapping_sub(1) => _,
            options(nostack)
        );
    }
}

/// Copies a block, however both overlap.
///
/// # Safety
/// Both blocks are that long.
#[expect(unsafe_code, reason = "this is what copying is made of")]
#[inline]
unsafe fn copy_overlapping(to: *mut u8, from: *const u8, length: usize) {
    let ahead = to.addr().wrapping_sub(from.addr());
    // SAFETY: of up to two words of 64 bytes all is read before any is written; of more, the end that is not
    // written over first.
    unsafe {
        if ahead >= length || length <= 128 {
            copy(to, from, length);
        } else {
            copy_back(to, from, length);
        }
    }
}

/// Compares two blocks as texts of bytes.
///
/// # Safety
/// Both blocks are that long.
#[expect(unsafe_code, reason = "this is what comparing is made of")]
#[inline]
unsafe fn compare(a: *const u8, b: *const u8, length: usize) -> Ordering {
    let mut at = 0;
    // SAFETY: each read ends within the blocks.
    unsafe {
        while at + size_of::<u64>() <= length {
            let x = ptr::read_unaligned(a.add(at).cast::<u64>());
            let y = ptr::read_unaligned(b.add(at).cast::<u64>());
            if x != y {
                return u64::from_be(x).cmp(&u64::from_be(y));
            }
            at += size_of::<u64>();
        }
        while at < length {
            let (x, y) = (*a.add(at), *b.add(at));
            if x != y {
                return x.cmp(&y);
            }
            at += 1;
        }
    }
    Ordering::Equal
}

// Not optimised, they would call themselves.
#[cfg(not(any(test, debug_assertions)))]
#[expect(
    unsafe_code,
    reason = "the names by which the compiler and SQLite call them"
)]
mod functions {
    use std::ffi::c_int;

    use super::{compare, copy, copy_overlapping};

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { copy(to, from, length) };
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { copy_overlapping(to, from, length) };
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, length: usize) -> c_int {
        // SAFETY: the caller's.
        unsafe { compare(a, b, length) as c_int }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, length: usize) -> c_int {
        // SAFETY: the caller's.
        unsafe { compare(a, b, length) as c_int }
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "to call what is tested")]
mod tests {
    use super::*;

    fn block(length: usize, seed: usize) -> Vec<u8> {
        let byte = |at: usize| u8::try_from((at * 7 + seed * 13) % 251).unwrap();
        (0..length).map(byte).collect()
    }

    #[test]
    fn a_block_of_any_length_and_place_is_copied_and_nothing_beside_it() {
        for length in 0..700 {
            for (from_at, to_at) in [(0, 0), (1, 3), (5, 2), (8, 16)] {
                let from = block(length + 20, length);
                let mut to = vec![0xEE; length + 40];
                // SAFETY: both are long enough.
                unsafe {
                    copy(
                        to.as_mut_ptr().add(to_at),
                        from.as_ptr().add(from_at),
                        length,
                    );
                }
                let mut wanted = vec![0xEE; length + 40];
                let copied = &from[from_at..from_at + length];
                wanted[to_at..to_at + length].copy_from_slice(copied);
                assert_eq!(to, wanted, "{length} bytes from {from_at} to {to_at}");
            }
        }
    }

    #[test]
    fn blocks_that_overlap_are_copied_whole() {
        for length in 0..700 {
            for distance in [0, 1, 3, 7, 8, 9, 31, 64, 200] {
                let before = block(length + 200, length);
                let mut forth = before.clone();
                let start = forth.as_mut_ptr();
                // SAFETY: it is long enough.
                unsafe { copy_overlapping(start, start.add(distance), length) };
                assert_eq!(forth[..length], before[distance..distance + length]);
                assert_eq!(forth[length..], before[length..], "{length} {distance}");
                let mut back = before.clone();
                let start = back.as_mut_ptr();
                // SAFETY: it is long enough.
                unsafe { copy_overlapping(start.add(distance), start, length) };
                assert_eq!(back[distance..distance + length], before[..length]);
                assert_eq!(back[..distance], before[..distance], "{length} {distance}");
            }
        }
    }

    #[test]
    fn blocks_compare_as_their_first_different_byte_does() {
        for length in 0..100 {
            let a = block(length, 1);
            // SAFETY: both are that long.
            let compared = |b: &[u8]| unsafe { compare(a.as_ptr(), b.as_ptr(), length) };
            assert_eq!(compared(&a), Ordering::Equal);
            for at in 0..length {
                for changed in [0, 1, 127, 128, 255] {
                    let mut b = a.clone();
                    b[at] = changed;
                    // What comes after it says nothing.
                    b[at + 1..].reverse();
                    let first = a.iter().zip(&b).find(|(x, y)| x != y);
                    let wanted = first.map_or(Ordering::Equal, |(x, y)| x.cmp(y));
                    assert_eq!(compared(&b), wanted, "{length} {at} {changed}");
                }
            }
        }
    }
}
