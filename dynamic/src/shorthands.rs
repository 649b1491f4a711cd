//! Loads a model in one call: a [`Loader`] and the kind of its input. What is decided is decided by the loader.

use std::path::Path;

use unjinja_source::Source;

use crate::error::ModelError;
use crate::loader::{Input, Loader};
use crate::model::Model;

impl Loader {
    /// A model from the text of a chat template.
    ///
    /// # Errors
    /// Those of [`load`](Self::load), and if no parser can be made from the spec.
    pub fn from_template(&self, text: &str) -> Result<Model, ModelError> {
        self.load(Input::text(text))?.model()
    }

    /// A model from the metadata of a GGUF file. The weights are not read. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`from_file`](Self::from_file), and if the file is of another kind.
    pub fn from_gguf(&self, path: impl AsRef<Path>) -> Result<Model, ModelError> {
        self.load(Input::gguf(path.as_ref()))?.model()
    }

    /// A model from a `tokenizer_config.json`. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`from_file`](Self::from_file).
    pub fn from_tokenizer_config(&self, path: impl AsRef<Path>) -> Result<Model, ModelError> {
        self.load(Input::template(path.as_ref()))?.model()
    }

    /// A model from a format spec. It has no template, so it renders nothing. A spec that was reviewed for a template is
    /// better passed to [`committed_spec`](Self::committed_spec).
    ///
    /// # Errors
    /// If the spec is invalid, or no parser can be made from it, or an overlay does not fit.
    pub fn from_spec(&self, text: &str) -> Result<Model, ModelError> {
        self.load(Input::spec_text(text))?.model()
    }

    /// A model by any name: the path of a format spec (`.toml`), of a template (`.jinja`, `tokenizer_config.json`,
    /// `chat_template.json`, GGUF, `-` for standard input), or of a model's folder; else the id of a model in the Hub's cache; else a
    /// name that [`known`](Self::known) takes. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`load`](Self::load), and if no parser can be made from the spec.
    pub fn from_file(&self, path: impl AsRef<Path>) -> Result<Model, ModelError> {
        self.load(Input::file(path.as_ref()))?.model()
    }

    /// A model from a template that was read with [`Source`].
    ///
    /// # Errors
    /// Those of [`from_template`](Self::from_template).
    pub fn from_source(&self, source: Source) -> Result<Model, ModelError> {
        self.load(Input::source(source))?.model()
    }

    /// The reviewed spec of a supported model, with its overlay. The name is that of a spec (`qwen_qwen3_0_6b`) or an id on
    /// the Hugging Face Hub, with or without its owner (`Qwen/Qwen3-0.6B`). It has no template, so it renders nothing.
    ///
    /// # Errors
    /// If the name fits no supported model, or several.
    #[cfg(feature = "generated")]
    pub fn known(&self, name: &str) -> Result<Model, ModelError> {
        self.load(Input::known(name))?.model()
    }
}

/// Shorthands for a [`Loader`] without choices.
impl Model {
    /// A model from the text of a chat template.
    ///
    /// # Errors
    /// Those of [`Loader::from_template`].
    pub fn from_template(text: &str) -> Result<Self, ModelError> {
        Loader::new().from_template(text)
    }

    /// A model from the metadata of a GGUF file. The weights are not read. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`Loader::from_gguf`].
    pub fn from_gguf(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Loader::new().from_gguf(path)
    }

    /// A model from a `tokenizer_config.json`. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`Loader::from_tokenizer_config`].
    pub fn from_tokenizer_config(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Loader::new().from_tokenizer_config(path)
    }

    /// A model from a format spec as TOML. It renders nothing.
    ///
    /// # Errors
    /// Those of [`Loader::from_spec`].
    pub fn from_spec(text: &str) -> Result<Self, ModelError> {
        Loader::new().from_spec(text)
    }

    /// A model by the path of any file or folder, or by its id; see [`Loader::from_file`].
    ///
    /// # Errors
    /// Those of [`Loader::from_file`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Loader::new().from_file(path)
    }

    /// A supported model by its name; see [`Loader::known`].
    ///
    /// # Errors
    /// Those of [`Loader::known`].
    #[cfg(feature = "generated")]
    pub fn known(name: &str) -> Result<Self, ModelError> {
        Loader::new().known(name)
    }
}
