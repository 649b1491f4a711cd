//! See `unjinja_fuzz::specs`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::write_if_asked("specs"), |input: &[u8]| unjinja_fuzz::specs(input));
