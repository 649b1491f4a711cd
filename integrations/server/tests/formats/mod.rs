//! Tests of both formats: what requests become, and what clients assemble from responses.

mod requests;
mod streams;
mod templates;
