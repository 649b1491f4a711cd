//! The tests of the formats and the proxy, in one program: each file or folder is a module about one subject.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper that fails is a test that fails")]

mod clients;
mod formats;
#[cfg(feature = "http")]
mod proxy;
mod python;
mod support;
