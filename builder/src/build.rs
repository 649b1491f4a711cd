//! One parser from one template or spec: which files take part, and in which order they are used.

use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;
use unjinja_analyzer::{Naming, SourceExt, sha256};
use unjinja_source::Source;
use unjinja_spec::FormatSpec;

use crate::analysis::analyze_source;
use crate::error::BuildError;
use crate::files::{corrected, overlay_of_spec, read, read_spec};
use crate::tools::{of_tools, type_items};

/// The file that a parser is made from.
#[derive(Clone, Debug)]
pub struct Input {
    path: PathBuf,
    is_template: bool,
}

impl Input {
    /// A chat template, which is analysed: a `.jinja`, `tokenizer_config.json`, `chat_template.json` or GGUF file.
    /// `PATH#NAME` is one of several named templates in a file.
    pub fn template(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_template: true }
    }

    /// A format spec, which is used as it is.
    pub fn spec(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_template: false }
    }
}

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
    name: Option<String>,
    source: String,
    overlay: Option<PathBuf>,
    committed: Option<PathBuf>,
    tools: Option<PathBuf>,
    types: bool,
    runtime: TokenStream,
}

impl Build {
    /// A parser from this input. The generated code refers to the runtime as `::unjinja`.
    pub fn new(input: Input) -> Self {
        Self {
            input,
            name: None,
            source: String::new(),
            overlay: None,
            committed: None,
            tools: None,
            types: false,
            runtime: quote!(::unjinja),
        }
    }

    /// The name of the spec. The default is made from the file name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where the template comes from, for people; usually the model's id on the Hub.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// A file of corrections, which are merged over the spec. The default is the file `NAME.overlay.toml` next to the spec that
    /// is used or, if the template is analysed, next to the template; it is used if it exists.
    pub fn overlay(mut self, path: impl Into<PathBuf>) -> Self {
        self.overlay = Some(path.into());
        self
    }

    /// The committed spec of the template. It is used instead of an analysis; it must have been made from this template.
    pub fn committed_spec(mut self, path: impl Into<PathBuf>) -> Self {
        self.committed = Some(path.into());
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
    /// Unreadable files, templates that cannot be analysed, invalid specs, a committed spec that was made from another
    /// template.
    pub fn spec(&self) -> Result<FormatSpec, BuildError> {
        Ok(self.spec_and_overlay()?.0)
    }

    /// The [`spec`](Self::spec), and the file of the overlay that was merged over it, for those who watch the files that a
    /// parser is made from.
    ///
    /// # Errors
    /// Those of [`spec`](Self::spec).
    pub fn spec_and_overlay(&self) -> Result<(FormatSpec, Option<PathBuf>), BuildError> {
        let path = &self.input.path;
        let (bare, default) = if !self.input.is_template {
            (read_spec(path)?, overlay_of_spec(path))
        } else {
            let source = Source::read_one(path)?;
            match &self.committed {
                Some(committed) => (self.committed_for(&source.text, committed)?, overlay_of_spec(committed)),
                None => {
                    let naming = source.naming(&self.source);
                    let name = self.name.clone().unwrap_or(naming.name);
                    (analyze_source(&source, &Naming { name, ..naming })?, source.overlay())
                }
            }
        };
        let overlay = self.overlay.clone().or_else(|| default.is_file().then_some(default));
        Ok((corrected(bare, overlay.as_deref())?, overlay))
    }

    /// The committed spec, if it was made from this template.
    fn committed_for(&self, template: &str, committed: &Path) -> Result<FormatSpec, BuildError> {
        let spec = read_spec(committed)?;
        let seen = sha256(template);
        if spec.template.sha256 == seen {
            return Ok(spec);
        }
        Err(BuildError::OtherTemplate {
            spec: committed.to_owned(),
            template: self.input.path.clone(),
            expected: spec.template.sha256,
            seen,
        })
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
            .map_err(|error| BuildError::Lower { path: self.input.path.clone(), error })?;
        let mut tokens = unjinja_codegen::rust::items(&program, &self.runtime);
        if let Some(path) = &self.tools {
            let with_tools = unjinja_codegen::rust::tool_items(&program, &read(path)?, &self.runtime);
            tokens.extend(with_tools.map_err(of_tools(path))?);
        }
        if self.types {
            tokens.extend(type_items(self.tools.as_deref(), &self.runtime)?);
        }
        Ok(tokens)
    }
}
