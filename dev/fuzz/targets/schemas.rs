//! See `unjinja_fuzz::schemas`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("schemas"), |input: &[u8]| unjinja_fuzz::schemas(input));
