//! The end-to-end tests of the project, over the parsers that this package's build script compiles, the committed specs,
//! and the corpus where it is available.
//!
//! They are one program, because linking a program takes as long as compiling one of these files. Each file is a module
//! with tests about one subject; `cargo test -p unjinja-app --test integration SUBJECT` runs it.

mod allocations;
mod api;
mod bytes;
mod complaints;
mod corpus_cases;
mod equal;
mod fast_path;
mod grammar;
mod grammar_corpus;
mod invented;
mod language;
mod limits;
mod model_table;
mod pairs;
mod programs;
mod promises;
mod renamed;
mod render_corpus;
mod render_labels;
mod round_trips;
mod rules;
mod skips;
mod support;
mod tag_sizes;
mod templates;
mod tokens;
mod triggers;
mod turns;
mod work;
mod workloads;
