//! See `unjinja_fuzz::render`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::write_if_asked("render"), |input: &[u8]| unjinja_fuzz::render(input));
