//! A message and its signature.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oneact::fuzz::signature(bytes));
