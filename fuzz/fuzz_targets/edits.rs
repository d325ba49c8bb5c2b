//! An update of a JSON and a YAML document.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oneact::fuzz::edits(bytes));
