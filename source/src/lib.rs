//! Reads chat templates, and the special tokens that go with them, from `.jinja` files, `tokenizer_config.json`,
//! `chat_template.json`, GGUF files, folders of those, the cache of the Hugging Face Hub, and standard input.
//!
//! This crate decides which bytes of which file are a template. It does not parse or render the template. It never
//! reads a model's weights, never holds more of a file in memory than its templates need, and never guesses which of
//! several named templates is meant.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("unjinja-source-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("tokenizer_config.json");
//! use unjinja_source::Source;
//!
//! std::fs::write(&path, r#"{
//!     "eos_token": {"content": "</s>"},
//!     "chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
//! }"#)?;
//!
//! let source = Source::read_one(format!("{}#tool_use", path.display()))?;
//! assert_eq!(source.text, "b");
//! assert_eq!(source.tokens.eos.as_deref(), Some("</s>"));
//!
//! // Without a name the file's two templates are ambiguous, and the error lists them.
//! let error = Source::read_one(&path).unwrap_err();
//! assert!(error.to_string().contains("`default`, `tool_use`"));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod file;
mod folder;
mod gguf;
mod hub;
mod json;
mod names;
mod read;
mod source;
mod text;

pub use self::error::{SourceError, SourceErrorKind};
pub use self::folder::sources_in;
pub use self::hub::{hub_cache, hub_folder, hub_home, is_hub_id};
pub use self::names::{MODEL_FILES, name_of, split_variant};
pub use self::source::{Source, SpecialTokens};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
