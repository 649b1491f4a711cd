//! The tests of the renderer, in one program: each file is a module about one subject.

mod labels;
mod rendering;
mod threadless;
