//! A model application of unjinja: its build script compiles every template of `templates/` into a module of this
//! crate. `examples/parse.rs` is its main job; its tests and benchmarks run the whole house.
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

include!(concat!(env!("OUT_DIR"), "/unjinja.rs"));
