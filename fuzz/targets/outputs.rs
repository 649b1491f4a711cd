//! See `unjinja_fuzz::outputs`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::write_if_asked("outputs"), |input: &[u8]| unjinja_fuzz::outputs(input));
