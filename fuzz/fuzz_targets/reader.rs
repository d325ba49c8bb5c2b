//! Bytes on stdin: no panic, and one valid envelope.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oneact::fuzz::reader(bytes));
