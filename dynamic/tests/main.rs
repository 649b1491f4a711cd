//! The tests of models that are loaded at run time, in one program: each file is a module about one subject.

mod cache;
mod loading;
mod templates;
mod there_and_back;
