//! Tests of both formats: what requests become, and what clients assemble from responses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper that fails is a test that fails")]

mod requests;
mod streams;
mod support;
mod templates;
