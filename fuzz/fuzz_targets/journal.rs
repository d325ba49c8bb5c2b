//! The events of a journal.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oneact::fuzz::journal(bytes));
