//! The one way from a chat template or a format spec to a compiled parser. The macros, build scripts and the command
//! line all go through here.
//!
//! In a build script:
//!
//! ```no_run
//! unjinja_build::compile_templates("templates")?;
//! # Ok::<(), unjinja_build::BuildError>(())
//! ```
//!
//! and in the application:
//!
//! ```ignore
//! include!(concat!(env!("OUT_DIR"), "/unjinja.rs"));
//! ```

use std::fmt;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;
use unjinja_analyzer::trace::Comparison;
use unjinja_analyzer::{Naming, analyze, analyze_traced, sha256, verify};
use unjinja_render::{SpecialTokens, Template, TemplateError};
use unjinja_spec::{FormatSpec, Overlay};

pub use unjinja_source::{MODEL_FILES, Source, SourceError, name_of, sources_in, split_variant};

/// How many random conversations a new spec is verified with.
pub const ROUND_TRIPS: u32 = 64;

/// What a parser is made from.
#[derive(Clone, Debug)]
pub struct Input {
    path: PathBuf,
    is_template: bool,
}

impl Input {
    /// A chat template, to be analysed: a `.jinja`, `tokenizer_config.json`, `chat_template.json` or GGUF file;
    /// `PATH#NAME` is the named template of a file that holds several.
    pub fn template(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_template: true }
    }

    /// A format spec.
    pub fn spec(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_template: false }
    }
}

/// Makes one parser.
#[derive(Clone, Debug)]
pub struct Build {
    input: Input,
    name: Option<String>,
    source: String,
    overlay: Option<PathBuf>,
    committed: Option<PathBuf>,
    tools: Option<PathBuf>,
    runtime: TokenStream,
}

impl Build {
    /// A parser from this input. The generated code names the runtime as `::unjinja`.
    pub fn new(input: Input) -> Self {
        Self {
            input,
            name: None,
            source: String::new(),
            overlay: None,
            committed: None,
            tools: None,
            runtime: quote!(::unjinja),
        }
    }

    /// Name of the spec; by default made from the file name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Where the template comes from, for people.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// A file of corrections, merged over what the analysis finds.
    pub fn overlay(mut self, path: impl Into<PathBuf>) -> Self {
        self.overlay = Some(path.into());
        self
    }

    /// The committed spec of the template: used instead of an analysis, as long as it describes this template.
    pub fn committed_spec(mut self, path: impl Into<PathBuf>) -> Self {
        self.committed = Some(path.into());
        self
    }

    /// A file of the tools offered, in OpenAI's form; the generated code gets a function `tools()`, and their grammar
    /// as constants: `TOOL_GRAMMAR` and `TOOL_TRIGGERS`.
    pub fn tools(mut self, path: impl Into<PathBuf>) -> Self {
        self.tools = Some(path.into());
        self
    }

    /// The path of the runtime in the crate that will hold the code.
    pub fn runtime(mut self, path: TokenStream) -> Self {
        self.runtime = path;
        self
    }

    /// The spec: analysed or read, with the overlay merged over it.
    ///
    /// # Errors
    /// Unreadable files, templates that cannot be analysed, specs that cannot be read, a committed spec that was made
    /// from another template.
    pub fn spec(&self) -> Result<FormatSpec, BuildError> {
        let path = &self.input.path;
        if !self.input.is_template {
            let spec = FormatSpec::from_toml(&read(path)?, &path.display().to_string()).map_err(BuildError::new)?;
            return self.with_overlay(spec);
        }
        let template = Source::read_one(path).map_err(BuildError::new)?;
        let spec = if let Some(committed) = &self.committed {
            self.committed_for(&template.text, committed).map_err(|error| error.in_file(committed))?
        } else {
            let naming = naming_of(&template, &self.source);
            let name = self.name.clone().unwrap_or(naming.name);
            analyze_source(&template, &Naming { name, ..naming })?
        };
        self.with_overlay(spec)
    }

    fn with_overlay(&self, spec: FormatSpec) -> Result<FormatSpec, BuildError> {
        match &self.overlay {
            Some(path) => corrected(&spec, path).map_err(|error| error.in_file(path)),
            None => Ok(spec),
        }
    }

    /// The committed spec, if it was made from this template.
    fn committed_for(&self, template: &str, committed: &Path) -> Result<FormatSpec, BuildError> {
        let shown = committed.display().to_string();
        let spec = FormatSpec::from_toml(&read(committed)?, &shown).map_err(BuildError::new)?;
        if spec.template.sha256 == sha256(template) {
            return Ok(spec);
        }
        let template = self.input.path.display();
        Err(BuildError::new(format!(
            "{shown} was made from another template than {template}: `unjinja check` shows what changed",
        )))
    }

    /// The items of the parser's module.
    ///
    /// # Errors
    /// Those of [`spec`](Self::spec); specs that make no parser; a tools file that is none.
    pub fn tokens(&self) -> Result<TokenStream, BuildError> {
        let spec = self.spec()?;
        let program = unjinja_codegen::program(&spec).map_err(BuildError::new)?;
        let mut tokens = unjinja_codegen::rust::items(&program, &self.runtime);
        if let Some(path) = &self.tools {
            let text = read(path).map_err(|error| error.in_file(path))?;
            let with_tools = unjinja_codegen::rust::tool_items(&program, &text, &self.runtime);
            let problem = |error| BuildError::new(format!("{}: {error}", path.display())).in_file(path);
            tokens.extend(with_tools.map_err(problem)?);
        }
        Ok(tokens)
    }
}

/// A spec with the corrections of a file merged over it.
fn corrected(spec: &FormatSpec, path: &Path) -> Result<FormatSpec, BuildError> {
    let overlay = Overlay::from_toml(&read(path)?, &path.display().to_string()).map_err(BuildError::new)?;
    overlay.apply(spec).map_err(BuildError::new)
}

/// Analyses and verifies a template given as text.
///
/// # Errors
/// Where the template has a syntax error or cannot be analysed.
pub fn analyze_text(text: &str, naming: &Naming) -> Result<FormatSpec, BuildError> {
    let template = Template::parse(&naming.file, text).map_err(BuildError::new)?;
    Ok(judged(&template, analyze(&template, naming).map_err(BuildError::new)?))
}

/// Analyses and verifies the template of a file, with the special tokens that the file says.
///
/// # Errors
/// Where the template has a syntax error or cannot be analysed.
pub fn analyze_source(source: &Source, naming: &Naming) -> Result<FormatSpec, BuildError> {
    let template = template_of(source).map_err(BuildError::new)?;
    Ok(judged(&template, analyze(&template, naming).map_err(BuildError::new)?))
}

/// Who is told of the comparisons of an analysis.
pub type Observer<'o> = dyn FnMut(&Comparison) + Send + 'o;

/// The same as [`analyze_source`], and `observe` is told of each comparison as it is made.
///
/// # Errors
/// Those of [`analyze_source`]; what was compared until then was told.
pub fn analyze_source_traced(
    source: &Source,
    naming: &Naming,
    observe: &mut Observer<'_>,
) -> Result<FormatSpec, BuildError> {
    let template = template_of(source).map_err(BuildError::new)?;
    Ok(judged(&template, analyze_traced(&template, naming, observe).map_err(BuildError::new)?))
}

/// A new spec with what its round trips say of it.
fn judged(template: &Template, mut spec: FormatSpec) -> FormatSpec {
    if spec.unsupported.is_none() {
        // What the analysis found may not be enough to make a parser from.
        spec.unsupported = spec.check().err().map(|error| {
            let problems: Vec<&str> = error.problems.iter().map(|problem| problem.cause.as_str()).collect();
            problems.join("; ")
        });
    }
    if spec.unsupported.is_none() {
        match unjinja_codegen::program(&spec) {
            Ok(_) => {
                let verification = verify(template, &spec, ROUND_TRIPS, 1);
                spec.evidence.round_trips = verification.round_trips();
                spec.unsupported = verification.verdict();
            }
            Err(error) => spec.unsupported = Some(error.problems.join("; ")),
        }
    }
    spec
}

/// For a build script: compiles every template of a folder ([`sources_in`] says what it takes; `NAME.overlay.toml` beside
/// it is merged over what the analysis finds) into `OUT_DIR/unjinja.rs`: one module per template, and a function `all()`
/// that lists their parsers. Templates whose format is unsupported are left out, with a warning. The specs of all stand
/// in `OUT_DIR/specs/NAME.toml`.
///
/// # Errors
/// Those of [`Build::tokens`], for all templates at once.
pub fn compile_templates(folder: impl AsRef<Path>) -> Result<(), BuildError> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or_else(|| BuildError::new("OUT_DIR is not set: this function is for build scripts"))?;
    Templates::new(folder).write_specs(out.join("specs")).compile(out.join("unjinja.rs"))
}

/// What [`compile_templates`] does, step by step.
#[derive(Clone, Debug)]
pub struct Templates {
    folder: PathBuf,
    specs: Option<PathBuf>,
    runtime: TokenStream,
}

impl Templates {
    /// The templates of a folder.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        Self { folder: folder.as_ref().to_owned(), specs: None, runtime: quote!(::unjinja) }
    }

    /// The path of the runtime in the crate that will hold the code.
    pub fn runtime(mut self, path: TokenStream) -> Self {
        self.runtime = path;
        self
    }

    /// A folder into which each spec is written as `NAME.toml`, for people to look at.
    pub fn write_specs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.specs = Some(folder.into());
        self
    }

    /// The specs of the templates, each with its overlay merged over it; also those that are unsupported.
    ///
    /// # Errors
    /// Those of [`Build::spec`], for all templates at once.
    pub fn specs(&self) -> Result<Vec<FormatSpec>, BuildError> {
        let (mut specs, mut problems) = (Vec::new(), Vec::new());
        for source in sources_in(&self.folder).map_err(BuildError::new)? {
            let spec = source.map_err(BuildError::new).and_then(|source| {
                let spec = analyze_source(&source, &naming_of(&source, ""))?;
                let overlay = source.overlay();
                if overlay.exists() { corrected(&spec, &overlay) } else { Ok(spec) }
            });
            match spec {
                Ok(spec) => specs.push(spec),
                Err(error) => problems.push(error.to_string()),
            }
        }
        problems.extend(twins(&specs));
        if problems.is_empty() { Ok(specs) } else { Err(BuildError::new(problems.join("\n"))) }
    }

    /// Writes one module per template and a function `all()` to `out`, and tells cargo what to watch.
    ///
    /// # Errors
    /// Those of [`specs`](Self::specs), and specs that make no parser; for all templates at once.
    pub fn compile(self, out: impl AsRef<Path>) -> Result<(), BuildError> {
        println!("cargo::rerun-if-changed={}", self.folder.display());
        let (mut names, mut modules, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for spec in self.specs()? {
            let info = &spec.template;
            if let Some(folder) = &self.specs {
                write(&folder.join(format!("{}.toml", info.name)), &spec.to_toml())?;
            }
            if let Some(reason) = &spec.unsupported {
                println!("cargo::warning={}: no parser: {reason}", self.folder.join(&info.file).display());
                continue;
            }
            match unjinja_codegen::rust::module(&spec, &self.runtime) {
                Ok(module) => {
                    names.push(quote::format_ident!("{}", info.name));
                    modules.push(module);
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        if !problems.is_empty() {
            return Err(BuildError::new(problems.join("\n")));
        }
        let (runtime, count) = (&self.runtime, names.len());
        let source = unjinja_codegen::rust::format(quote! {
            #(#modules)*

            /// All parsers, in order of their names.
            pub fn all() -> [&'static dyn #runtime::ChatParser; #count] {
                [#(&#names::Parser),*]
            }
        });
        write(out.as_ref(), &source.map_err(BuildError::new)?)
    }
}

/// Names that several specs have.
fn twins(specs: &[FormatSpec]) -> impl Iterator<Item = String> {
    let twin = |(index, spec): (usize, &FormatSpec)| {
        let info = &spec.template;
        let other = specs[..index].iter().find(|other| other.template.name == info.name)?;
        Some(format!("{} and {} both make a parser named `{}`", other.template.file, info.file, info.name))
    };
    specs.iter().enumerate().filter_map(twin)
}

/// The `*.jinja` files of a folder, in order of their names.
///
/// # Errors
/// Where the folder cannot be read.
pub fn templates_in(folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let entries = std::fs::read_dir(folder).map_err(|e| BuildError::new(format!("{}: {e}", folder.display())))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "jinja"));
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String, BuildError> {
    std::fs::read_to_string(path).map_err(|e| BuildError::new(format!("{}: {e}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.map_err(|e| BuildError::new(format!("{}: {e}", path.display())))
}

/// Why no parser was made: a text with the place, the cause and what to do.
#[derive(Clone, Debug)]
pub struct BuildError {
    message: String,
    file: Option<PathBuf>,
}

impl BuildError {
    fn new(cause: impl fmt::Display) -> Self {
        Self { message: cause.to_string(), file: None }
    }

    /// That a file which was named beside the input (overlay, committed spec, tools) is to blame.
    fn in_file(mut self, path: &Path) -> Self {
        self.file = Some(path.to_owned());
        self
    }

    /// The file that is to blame, where it is another than the input itself.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BuildError {}

/// The parsed template of a source, which renders with the special tokens that its file names.
///
/// # Errors
/// Where it has a syntax error.
pub fn template_of(source: &Source) -> Result<Template, TemplateError> {
    let tokens = SpecialTokens { bos: source.tokens.bos.clone(), eos: source.tokens.eos.clone() };
    Ok(Template::parse(&source.file(), &source.text)?.with_tokens(tokens))
}

/// Names for the spec of a source; `origin` says where the template comes from.
pub fn naming_of(source: &Source, origin: &str) -> Naming {
    Naming { name: source.name(), source: origin.to_owned(), file: source.file() }
}
