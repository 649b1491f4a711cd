//! See `unjinja_fuzz::schemas`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::write_if_asked("schemas"), |input: &[u8]| unjinja_fuzz::schemas(input));
