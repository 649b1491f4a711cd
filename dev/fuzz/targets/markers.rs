//! See `unjinja_fuzz::markers`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("markers"), |input: &[u8]| unjinja_fuzz::markers(input));
