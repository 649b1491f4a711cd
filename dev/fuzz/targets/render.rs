//! See `unjinja_fuzz::render`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("render"), |input: &[u8]| unjinja_fuzz::render(input));
