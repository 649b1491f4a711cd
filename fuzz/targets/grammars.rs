//! See `unjinja_fuzz::grammars`.

#![no_main]

libfuzzer_sys::fuzz_target!(init: unjinja_fuzz::seeds::write_if_asked("grammars"), |input: &[u8]| unjinja_fuzz::grammars(input));
