//! Tests of both formats: what requests become, and what clients assemble from responses.

mod blocks;
mod requests;
mod streams;
mod templates;
