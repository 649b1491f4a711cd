//! Compiled parsers for the supported models: one module per model, each behind a cargo feature of its name, and a
//! registry.
//!
//! An application that needs one model names it, and links nothing else:
//!
//! ```toml
//! unjinja-generated = { version = "0.2", default-features = false, features = ["qwen_qwen3_0_6b"] }
//! ```
//!
//! The code under `models/` is written by `unjinja codegen --specs specs --out src/models` and checked in CI.
//!
//! ```
//! # #[cfg(feature = "all")] {
//! use unjinja_generated::by_name;
//! use unjinja_runtime::Options;
//!
//! let parser = by_name("qwen_qwen3_0_6b").expect("a supported model");
//! let message = parser.parse("<think>\nHm.\n</think>\n\nHello!".into(), &Options::new());
//! assert_eq!(message.reasoning_content, "Hm.");
//! assert_eq!(message.content, "Hello!");
//! # }
//! ```

// Written, and formatted, by the code generator.
#[rustfmt::skip]
mod models;

#[allow(unused_imports, reason = "there is nothing to export where no model is asked for")]
pub use models::*;
use unjinja_runtime::ChatParser;

/// All parsers that are compiled in, in order of their names.
pub fn all() -> &'static [&'static dyn ChatParser] {
    models::ALL
}

/// The parser of the spec with this name.
pub fn by_name(name: &str) -> Option<&'static dyn ChatParser> {
    all().iter().copied().find(|parser| parser.info().name == name)
}

/// The parser whose spec was made from a template file of this name, with or without folders before it.
pub fn by_file(file: &str) -> Option<&'static dyn ChatParser> {
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    all().iter().copied().find(|parser| parser.info().files.iter().any(|known| known == file))
}

/// The parser whose spec was made from exactly this template text.
#[cfg(feature = "by-template")]
pub fn by_template(text: &str) -> Option<&'static dyn ChatParser> {
    use sha2::{Digest, Sha256};
    use std::fmt::Write;

    let hash = Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hash, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    });
    all().iter().copied().find(|parser| parser.info().sha256 == hash)
}

/// The overlay, as TOML, that corrects what the analysis finds for the template with this SHA-256.
#[cfg(feature = "overlays")]
pub fn overlay(sha256: &str) -> Option<&'static str> {
    models::OVERLAYS.iter().find(|(template, _)| *template == sha256).map(|(_, overlay)| *overlay)
}
