//! Tests of the proxy: what clients get of an upstream that replays outputs, and of one that fails.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper that fails is a test that fails")]

mod cases;
mod clients;
mod faults;
mod limits;
mod prompts;
mod replay;
mod setup;
mod wire;

#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "../formats/support.rs"]
mod support;

#[path = "../formats/python.rs"]
mod python;
