//! The tests of exports, in one program: each file is a module about one subject.

mod check;
mod exports;
mod readers;
mod training;
