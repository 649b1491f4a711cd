//! Turns a chat template or a format spec into a compiled parser. The macros, build scripts and the command line all use
//! this crate, so that all of them make the same parser from the same files.
//!
//! This crate asks the [`Loader`] for specs, and calls the code generator. Which spec a template has, and which overlays correct
//! it, the loader decides, as for [every other front end](https://docs.rs/unjinja-dynamic#where-a-spec-comes-from).
//!
//! # In a build script
//!
//! Compile every template of a folder:
//!
//! ```no_run
//! // build.rs
//! fn main() -> Result<(), unjinja_build::BuildError> {
//!     unjinja_build::compile_templates("templates")
//! }
//! ```
//!
//! and include the modules in the application. `templates/qwen3.jinja` becomes the module `qwen3`; `all()` lists all
//! parsers.
//!
//! ```ignore
//! mod parsers {
//!     include!(concat!(env!("OUT_DIR"), "/unjinja.rs"));
//! }
//! let message = parsers::qwen3::parse(output, &unjinja::Options::new());
//! ```
//!
//! # Step by step
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("unjinja-build-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("hello.jinja");
//! use unjinja_build::{Build, Input};
//!
//! std::fs::write(&path, "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
//!     {% if add_generation_prompt %}<assistant>{% endif %}")?;
//! let build = Build::new(Input::template(&path));
//! let spec = build.spec()?; // what the analysis found
//! assert_eq!(spec.turn.end, "</>");
//! let code = build.tokens()?.to_string(); // the Rust of its parser
//! assert!(code.contains("pub fn parse"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod analysis;
mod build;
mod error;
mod files;
mod templates;
mod tools;
#[cfg(feature = "types")]
mod types;
mod warning;

pub use unjinja_analyzer::{ROUND_TRIPS, SourceExt};
pub use unjinja_dynamic::{Input, LoadError, Loaded, Loader, known_spec, specs_in};
pub use unjinja_source::{
    MODEL_FILES, Source, SourceError, SourceErrorKind, hub_cache, hub_folder, hub_home, is_hub_id, name_of, sources_in,
    split_variant,
};

pub use self::analysis::analyze_text;
pub use self::build::Build;
pub use self::error::{BuildError, FileAction};
pub use self::templates::{Templates, compile_templates, templates_in};
#[cfg(feature = "types")]
pub use self::types::{TypesError, type_items};
pub use self::warning::partial_warning;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
