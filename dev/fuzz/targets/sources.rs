//! See `unjinja_fuzz::sources`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("sources"), |input: &[u8]| unjinja_fuzz::sources(input));
