//! What templates can name: filters, tests, methods, and the functions of the environment. All as in Jinja2 3.1, with
//! `tojson`, `raise_exception` and `strftime_now` as in Hugging Face's transformers.
//!
//! Nothing here evaluates an expression or runs a statement.

pub(crate) mod args;
pub(crate) mod builtin_tests;
pub(crate) mod filter_names;
pub(crate) mod filters;
pub(crate) mod globals;
pub(crate) mod methods;
mod number_filters;
mod str_format;
pub(crate) mod str_methods;
mod text_filters;
