//! See `unjinja_fuzz::analyze`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("analyze"), |input: &[u8]| unjinja_fuzz::analyze(input));
