//! See `unjinja_fuzz::specs`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("specs"), |input: &[u8]| unjinja_fuzz::specs(input));
