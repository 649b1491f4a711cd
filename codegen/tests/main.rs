//! The tests of the compiler from spec to program and Rust, in one program: each file is a module about one subject.

mod refused;
