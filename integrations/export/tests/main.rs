//! The tests of exports and lint, in one program: each file is a module about one subject.

mod check;
mod compare;
mod exports;
mod lint;
mod lint_corpus;
mod lint_fix;
mod lint_response;
mod readers;
mod training;
