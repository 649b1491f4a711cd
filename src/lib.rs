//! A model application of unjinja: its build script compiles every template of `templates/` into a module of this
//! crate. `examples/parse.rs` is its main job; its tests run the whole house, and so do the benchmarks of `benches/`.
//!
//! ```
//! use unjinja::Options;
//! use unjinja_app::qwen3;
//!
//! let output = "<think>\nEasy.\n</think>\n\nParis.";
//! let message = qwen3::parse(output, &Options::new());
//! assert_eq!(message.reasoning_content, "Easy.");
//! assert_eq!(message.content, "Paris.");
//! ```

/// The folder of the specs that the build script derived from the templates.
pub const SPECS: &str = concat!(env!("OUT_DIR"), "/specs");

include!(concat!(env!("OUT_DIR"), "/unjinja.rs"));

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
