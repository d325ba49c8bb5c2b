//! A server's stdout: no panic, and no secret in what is kept of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oneact::fuzz::message(bytes));
