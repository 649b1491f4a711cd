//! One parser from one template or spec. Which spec and which overlay that is, the loader decides.

use std::path::PathBuf;

use proc_macro2::TokenStream;
use quote::quote;
use unjinja_dynamic::{Input, Loaded, Loader};
use unjinja_spec::FormatSpec;

use crate::error::BuildError;
use crate::files::read;
use crate::tools::{of_tools, types_of};

/// Makes one parser from one [`Input`].
///
/// ```no_run
/// use unjinja_build::{Build, Input};
///
/// let build = Build::new(Input::template("templates/qwen3.jinja"))
///     .committed_spec("specs/qwen3.toml")
///     .overlay("specs/qwen3.overlay.toml")
///     .tools("tools.json");
/// let items = build.tokens()?;
/// # Ok::<(), unjinja_build::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Build {
    input: Input,
    loader: Loader,
    tools: Option<PathBuf>,
    types: bool,
    runtime: TokenStream,
}

impl Build {
    /// A parser from this input. The generated code refers to the runtime as `::unjinja`.
    pub fn new(input: Input) -> Self {
        Self { input, loader: Loader::new(), tools: None, types: false, runtime: quote!(::unjinja) }
    }

    /// The name of the spec. The default is made from the file name.
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.loader = self.loader.name(name.as_ref());
        self
    }

    /// Where the template comes from, for people; usually the model's id on the Hub.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.loader = self.loader.origin(source);
        self
    }

    /// A file of corrections, which are merged over the spec. Without it, the overlay is the one that [`Loader`] finds: the
    /// file next to the spec or the template, or a known one that fits.
    pub fn overlay(mut self, path: impl Into<PathBuf>) -> Self {
        self.loader = self.loader.overlay_file(path);
        self
    }

    /// The committed spec of the template. It is used instead of an analysis; it must have been made from this template.
    pub fn committed_spec(mut self, path: impl Into<PathBuf>) -> Self {
        self.loader = self.loader.committed_spec_file(path);
        self
    }

    /// Uses neither the reviewed specs nor the overlays of the supported models.
    pub fn without_known_formats(mut self) -> Self {
        self.loader = self.loader.without_known_formats();
        self
    }

    /// A file of tools in OpenAI's form. The generated code gets a function `tools()` that returns them, and with the feature
    /// `grammar` their grammar as the constants `TOOL_GRAMMAR` and `TOOL_TRIGGERS`.
    pub fn tools(mut self, path: impl Into<PathBuf>) -> Self {
        self.tools = Some(path.into());
        self
    }

    /// Makes Rust types of the [`tools`](Self::tools): the enum `ToolCall`, which `Message::typed_calls` reads, and the module
    /// `arguments`. Needs the feature `types` here and in the runtime.
    pub fn types(mut self) -> Self {
        self.types = true;
        self
    }

    /// The path of the runtime in the crate that holds the generated code.
    pub fn runtime(mut self, path: TokenStream) -> Self {
        self.runtime = path;
        self
    }

    /// The spec: analysed or read, with the overlay merged over it.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    pub fn spec(&self) -> Result<FormatSpec, BuildError> {
        Ok(self.load()?.spec)
    }

    /// The [`spec`](Self::spec) with what it was made from. Its [`corrections`](Loaded::corrections) name the files of the
    /// overlays, for those who watch the files that a parser is made from.
    ///
    /// # Errors
    /// Unreadable files, templates that cannot be analysed, invalid specs, a committed spec that was made from another
    /// template.
    pub fn load(&self) -> Result<Loaded, BuildError> {
        Ok(self.loader.load(self.input.clone())?)
    }

    /// The items of the parser's module: `Parser`, `parse`, `stream` and so on.
    ///
    /// # Errors
    /// Those of [`spec`](Self::spec); specs that no parser can be made from; a file of tools that cannot be used; types
    /// without tools.
    pub fn tokens(&self) -> Result<TokenStream, BuildError> {
        self.tokens_of(&self.spec()?)
    }

    /// The items of the parser's module, for a spec that [`spec`](Self::spec) returned.
    ///
    /// # Errors
    /// Specs that no parser can be made from; a file of tools that cannot be used; types without tools.
    pub fn tokens_of(&self, spec: &FormatSpec) -> Result<TokenStream, BuildError> {
        let program = unjinja_codegen::program(spec)
            .map_err(|error| BuildError::Lower { path: self.input.place().to_owned(), error })?;
        let mut tokens = unjinja_codegen::rust::items(&program, &self.runtime);
        if let Some(path) = &self.tools {
            let with_tools = unjinja_codegen::rust::tool_items(&program, &read(path)?, &self.runtime);
            tokens.extend(with_tools.map_err(of_tools(path))?);
        }
        if self.types {
            tokens.extend(types_of(self.tools.as_deref(), &self.runtime)?);
        }
        Ok(tokens)
    }
}
