//! The tests of the linter, in one program: each file is a module about one subject.

mod compare;
mod lint;
mod lint_corpus;
mod lint_fix;
mod lint_response;
