//! Bytes of a `catalog.toml`: no panic, and errors with a line.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oneact::fuzz::catalog(bytes));
