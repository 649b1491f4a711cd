//! The tests of the readers of template files, in one program: each file is a module about one subject.

mod files;
mod gguf;
