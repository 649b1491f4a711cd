//! The tests of the renderer, in one program: each file is a module about one subject.

mod labels;
mod limits;
mod rendering;
mod threadless;
