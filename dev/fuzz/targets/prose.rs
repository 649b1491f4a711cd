//! See `unjinja_fuzz::prose`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::begin("prose"), |input: &[u8]| unjinja_fuzz::prose(input));
