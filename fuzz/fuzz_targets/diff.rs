//! A diff.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oneact::fuzz::diff(bytes));
