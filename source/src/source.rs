//! The [`Source`]: one chat template with what its file says about it, and the names that follow from its path. This
//! module reads no files: `file.rs` does.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::names;

/// The texts of a model's special tokens, as the model's files give them.
///
/// A template may write them, and a `.jinja` file does not contain them. To render with them, pass them to the
/// renderer; this crate does not depend on one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialTokens {
    /// `bos_token`, which begins a text.
    pub bos: Option<String>,
    /// `eos_token`, which ends a text.
    pub eos: Option<String>,
    /// All others that the file gives, under the names that templates know them by: `pad_token`, `sep_token`, `image_token`,
    /// …, each a text.
    pub others: Map<String, Value>,
}

/// A chat template, and what the file that holds it says about it.
///
/// ```
/// use unjinja_source::Source;
///
/// let json = br#"{"chat_template": "{{ messages[0].content }}", "bos_token": "<s>"}"#;
/// let sources = Source::from_bytes("Qwen3-0.6B/tokenizer_config.json", json)?;
/// assert_eq!(sources[0].text, "{{ messages[0].content }}");
/// assert_eq!(sources[0].tokens.bos.as_deref(), Some("<s>"));
/// assert_eq!(sources[0].name(), "qwen3_0_6b"); // the file's name says nothing, so the folder's does
/// # Ok::<(), unjinja_source::SourceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// The template's own name in a file with named templates (`default`, `tool_use`, `rag`); `None` if the file holds
    /// one template without a name.
    pub variant: Option<String>,
    /// The text of the template.
    pub text: String,
    /// The special tokens, if the file, or `tokenizer_config.json` next to it, gives them.
    pub tokens: SpecialTokens,
    /// The texts of all special tokens, which a tokenizer keeps apart from other text; `None` if neither the file nor
    /// `tokenizer_config.json` next to it lists them.
    pub special_tokens: Option<Vec<String>>,
}

impl Source {
    /// A template that was not read from a file, without special tokens. The path is only for names and messages.
    ///
    /// ```
    /// let source = unjinja_source::Source::from_text("qwen3.jinja", "{{ messages }}");
    /// assert_eq!((source.name(), source.file()), ("qwen3".to_owned(), "qwen3.jinja".to_owned()));
    /// ```
    pub fn from_text(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            variant: None,
            text: text.into(),
            tokens: SpecialTokens::default(),
            special_tokens: None,
        }
    }

    /// The file's name, with `#VARIANT` after it if the template has a name of its own. A spec records this as
    /// `template.file`.
    pub fn file(&self) -> String {
        names::file(&self.path, self.variant.as_deref())
    }

    /// A name for the template's spec: lower-case letters, digits and `_`. It is made from the file's name; from the
    /// folder's name if the file is called alike for every model; and from the template's own name.
    pub fn name(&self) -> String {
        names::name(&self.path, self.variant.as_deref())
    }

    /// The path, with `#VARIANT` after it if the template has a name of its own:
    /// [`read_one`](Self::read_one) accepts this.
    pub fn place(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}#{variant}", self.path.display()),
            None => self.path.display().to_string(),
        }
    }

    /// A file of the same model with this name, whether it exists or not.
    pub fn sibling(&self, name: &str) -> PathBuf {
        names::model_folder(&self.path).join(name)
    }

    /// Where corrections to the template's spec are looked for, whether the file exists or not: `FILE.overlay.toml` for
    /// `FILE.jinja`, and `NAME.overlay.toml` in the same folder for templates in other files.
    pub fn overlay(&self) -> PathBuf {
        if names::is_jinja(&self.path) && !names::is_of_model(&self.path) {
            self.path.with_extension("overlay.toml")
        } else {
            self.path.with_file_name(format!("{}.overlay.toml", self.name()))
        }
    }
}
