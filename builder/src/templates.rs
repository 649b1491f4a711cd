//! All parsers of a folder of templates, for build scripts: one module per template, and a list of them.

use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;
use unjinja_dynamic::{Input, Loader};
use unjinja_source::sources_in;
use unjinja_spec::FormatSpec;

use crate::error::{BuildError, FileAction};
use crate::files::{failed, read, write};
use crate::tools::{of_tools, types_of};
use crate::warning::partial_warning;

/// Compiles every template of a folder into `OUT_DIR/unjinja.rs`; call it from a build script.
///
/// [`sources_in`] says which files are templates, and [`Loader`] which spec and which overlay each of them gets: usually what the
/// analysis finds, with the file `NAME.overlay.toml` next to the template merged over it. The file has one module per template, and a function `all()` that lists their parsers.
/// A template whose format is supported only in part gives a warning, one whose format is not supported an error. The specs
/// of all templates are written to `OUT_DIR/specs/NAME.toml`.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), unjinja_build::BuildError> {
///     unjinja_build::compile_templates("templates")
/// }
/// ```
///
/// # Errors
/// Those of [`Build::tokens`](crate::Build::tokens), for all templates at once.
pub fn compile_templates(folder: impl AsRef<Path>) -> Result<(), BuildError> {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(BuildError::NotABuildScript)?;
    Templates::new(folder).write_specs(out.join("specs")).compile(out.join("unjinja.rs"))
}

/// What [`compile_templates`] does, with choices.
///
/// ```no_run
/// use unjinja_build::Templates;
///
/// let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
/// Templates::new("prompts").write_specs("specs").compile(out.join("parsers.rs"))?;
/// # Ok::<(), unjinja_build::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Templates {
    folder: PathBuf,
    loader: Loader,
    specs: Option<PathBuf>,
    tools: Option<PathBuf>,
    types: bool,
    runtime: TokenStream,
    leaves_out_unsupported: bool,
}

impl Templates {
    /// The templates of a folder.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        Self {
            folder: folder.as_ref().to_owned(),
            loader: Loader::new(),
            specs: None,
            tools: None,
            types: false,
            runtime: quote!(::unjinja),
            leaves_out_unsupported: false,
        }
    }

    /// The path of the runtime in the crate that holds the generated code.
    pub fn runtime(mut self, path: TokenStream) -> Self {
        self.runtime = path;
        self
    }

    /// Uses neither the reviewed specs nor the overlays of the supported models.
    pub fn without_known_formats(mut self) -> Self {
        self.loader = self.loader.without_known_formats();
        self
    }

    /// A folder into which each spec is written as `NAME.toml`, for people to read.
    pub fn write_specs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.specs = Some(folder.into());
        self
    }

    /// A file of tools in OpenAI's form. Each module gets a function `tools()` that returns them, and with the feature `grammar`
    /// their grammar as the constants `TOOL_GRAMMAR` and `TOOL_TRIGGERS`.
    pub fn tools(mut self, path: impl Into<PathBuf>) -> Self {
        self.tools = Some(path.into());
        self
    }

    /// Makes Rust types of the [`tools`](Self::tools), next to the modules, once for all templates: the enum `ToolCall`, which
    /// `Message::typed_calls` reads, and the module `arguments`. Needs the feature `types` here and in the runtime.
    ///
    /// ```no_run
    /// use unjinja_build::Templates;
    ///
    /// let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    /// Templates::new("templates").tools("tools.json").types().compile(out.join("unjinja.rs"))?;
    /// # Ok::<(), unjinja_build::BuildError>(())
    /// ```
    pub fn types(mut self) -> Self {
        self.types = true;
        self
    }

    /// Leaves templates out whose format is not supported, with a warning instead of an error. For folders of templates
    /// that nobody has selected.
    pub fn leave_out_unsupported(mut self) -> Self {
        self.leaves_out_unsupported = true;
        self
    }

    /// The specs of all templates, with their overlays merged over them. Unsupported ones are included.
    ///
    /// # Errors
    /// Those of [`Build::spec`](crate::Build::spec), for all templates at once; two templates with the same name.
    pub fn specs(&self) -> Result<Vec<FormatSpec>, BuildError> {
        let (mut specs, mut errors) = (Vec::new(), Vec::new());
        for source in sources_in(&self.folder)? {
            match source.map_err(BuildError::from).and_then(|source| Ok(self.loader.load(Input::source(source))?)) {
                Ok(loaded) => specs.push(loaded.spec),
                Err(error) => errors.push(error),
            }
        }
        errors.extend(same_names(&specs));
        match BuildError::of_all(errors) {
            Some(error) => Err(error),
            None => Ok(specs),
        }
    }

    /// Writes one module per template and the function `all()` to `out`, and tells cargo what to watch.
    ///
    /// # Errors
    /// Those of [`specs`](Self::specs), and specs that no parser can be made from; for all templates at once. A file of tools
    /// that cannot be used; types without tools.
    pub fn compile(self, out: impl AsRef<Path>) -> Result<(), BuildError> {
        println!("cargo::rerun-if-changed={}", self.folder.display());
        let tools = match &self.tools {
            Some(path) => {
                println!("cargo::rerun-if-changed={}", path.display());
                Some((path, read(path)?))
            }
            None => None,
        };
        let types = self.types.then(|| types_of(self.tools.as_deref(), &self.runtime)).transpose()?;
        let (mut names, mut modules, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for spec in self.specs()? {
            let info = &spec.template;
            if let Some(folder) = &self.specs {
                write(&folder.join(format!("{}.toml", info.name)), &spec.to_toml())?;
            }
            let path = self.folder.join(&info.file);
            if let Some(warning) = partial_warning(&spec, &path) {
                println!("cargo::warning={warning}");
            }
            if !spec.status.makes_parser() && self.leaves_out_unsupported {
                println!("cargo::warning={}: no parser: {}", path.display(), spec.gaps.join("; ").replace('\n', " "));
                continue;
            }
            let program = match unjinja_codegen::program(&spec) {
                Ok(program) => program,
                Err(error) => {
                    errors.push(BuildError::Lower { path, error });
                    continue;
                }
            };
            let of_tools = tools.as_ref().map(|(path, json)| {
                unjinja_codegen::rust::tool_items(&program, json, &self.runtime).map_err(of_tools(path))
            });
            let of_tools = of_tools.transpose()?;
            names.push(quote::format_ident!("{}", info.name));
            modules.push(unjinja_codegen::rust::module_of(&program, &self.runtime, of_tools));
        }
        if let Some(error) = BuildError::of_all(errors) {
            return Err(error);
        }
        let (runtime, count) = (&self.runtime, names.len());
        // An application uses a part of each module. In a program, the compiler would warn about the rest.
        let source = unjinja_codegen::rust::lines(quote! {
            #types

            #(#[allow(dead_code)] #modules)*

            /// All parsers, in order of their names.
            #[allow(dead_code)]
            pub fn all() -> [&'static dyn #runtime::ChatParser; #count] {
                [#(&#names::Parser),*]
            }
        });
        write(out.as_ref(), &source)
    }
}

/// One error for each spec that has the name of an earlier one.
fn same_names(specs: &[FormatSpec]) -> impl Iterator<Item = BuildError> {
    specs.iter().enumerate().filter_map(|(index, spec)| {
        let info = &spec.template;
        let other = specs[..index].iter().find(|other| other.template.name == info.name)?;
        let files = [other.template.file.clone(), info.file.clone()];
        Some(BuildError::SameName { name: info.name.clone(), files })
    })
}

/// The `*.jinja` files of a folder, in the order of their names.
///
/// # Errors
/// If the folder cannot be read.
pub fn templates_in(folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let entries = std::fs::read_dir(folder).map_err(|error| failed(folder, FileAction::Read, error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "jinja"));
    paths.sort();
    Ok(paths)
}
