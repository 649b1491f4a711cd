//! See `unjinja_fuzz::values`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("values"), |input: &[u8]| unjinja_fuzz::values(input));
