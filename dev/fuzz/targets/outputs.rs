//! See `unjinja_fuzz::outputs`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("outputs"), |input: &[u8]| unjinja_fuzz::outputs(input));
