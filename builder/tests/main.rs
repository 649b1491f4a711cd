//! The tests of the builder, in one program: each file is a module about one subject.

mod errors;
mod hostile;
mod sources;
mod types;
