//! The tests of the command line, in one program: each file is a module about one subject.

mod check;
mod commands;
mod explain;
mod fetch;
mod injection;
mod json;
mod lines;
mod new_model;
mod one_program;
mod parser_args;
mod reading;
mod sarif;
mod serve;
mod specs_fresh;
mod support;
mod tokenizer;
