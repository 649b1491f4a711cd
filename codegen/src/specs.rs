//! Folders of specs: reads them with their overlays, and makes the source files of a crate that commits its generated
//! code.
//!
//! This module handles files and the registry. The code of one model is written by the module `rust`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

#[cfg(feature = "rust")]
use quote::quote;
use unjinja_spec::{FormatSpec, Overlay, ReasoningMode, SpecError};

/// All problems with a folder of specs. [`Display`](fmt::Display) prints them one after the other.
#[derive(Debug)]
pub struct SpecsError {
    /// At least one problem.
    pub problems: Vec<SpecsProblem>,
}

/// One problem with a folder of specs.
#[derive(Debug)]
#[non_exhaustive]
pub enum SpecsProblem {
    /// A file or the folder cannot be read.
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The generated code cannot be written.
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A spec or an overlay is invalid. The error names the file and the place in it.
    Invalid(SpecError),
    /// No parser can be made from a valid spec.
    NoParser {
        /// The spec.
        path: PathBuf,
        /// Why.
        cause: Box<dyn Error + Send + Sync>,
    },
}

impl SpecsError {
    fn one(problem: SpecsProblem) -> Self {
        Self { problems: vec![problem] }
    }

    fn unreadable(path: &Path, cause: io::Error) -> Self {
        Self::one(SpecsProblem::Unreadable { path: path.to_owned(), cause })
    }
}

impl fmt::Display for SpecsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for SpecsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, cause } => write!(f, "{}: cannot be read: {cause}", path.display()),
            Self::Unwritable { path, cause } => write!(f, "{}: cannot be written: {cause}", path.display()),
            Self::Invalid(error) => error.fmt(f),
            Self::NoParser { path, cause } => write!(f, "{}: {cause}", path.display()),
        }
    }
}

impl Error for SpecsError {}

impl Error for SpecsProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(match self {
            Self::Unreadable { cause, .. } | Self::Unwritable { cause, .. } => cause,
            Self::Invalid(error) => error,
            Self::NoParser { cause, .. } => &**cause,
        })
    }
}

/// Reads every spec of a folder, in the order of the file names. If there is an overlay next to a spec, it is applied.
///
/// # Errors
/// Unreadable files and invalid specs, all at once.
pub fn read_specs(folder: &Path) -> Result<Vec<(PathBuf, FormatSpec)>, SpecsError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| SpecsError::unreadable(folder, e))? {
        let path = entry.map_err(|e| SpecsError::unreadable(folder, e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".toml") && !name.ends_with(".overlay.toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let (mut specs, mut problems) = (Vec::new(), Vec::new());
    for path in paths {
        match read_spec(&path) {
            Ok(spec) => specs.push((path, spec)),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(specs) } else { Err(SpecsError { problems }) }
}

fn read(path: &Path) -> Result<String, SpecsProblem> {
    fs::read_to_string(path).map_err(|cause| SpecsProblem::Unreadable { path: path.to_owned(), cause })
}

/// A spec without its overlay.
fn read_bare(path: &Path) -> Result<FormatSpec, SpecsProblem> {
    FormatSpec::from_toml(&read(path)?, &path.display().to_string()).map_err(SpecsProblem::Invalid)
}

fn read_spec(path: &Path) -> Result<FormatSpec, SpecsProblem> {
    let spec = read_bare(path)?;
    let overlay = path.with_extension("overlay.toml");
    if !overlay.exists() {
        return Ok(spec);
    }
    let name = overlay.display().to_string();
    let overlay = Overlay::from_toml(&read(&overlay)?, &name).map_err(SpecsProblem::Invalid)?;
    overlay.apply(&spec).map_err(SpecsProblem::Invalid)
}

/// For build scripts with specs only: compiles every `*.toml` of `folder`, with its overlay, into a module, and writes
/// the modules to `out`. Prints the files that cargo must watch.
///
/// # Errors
/// Unreadable files, and specs that cannot be read or lowered; all of them at once.
#[cfg(feature = "rust")]
pub fn compile_specs(folder: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<Vec<FormatSpec>, SpecsError> {
    let (folder, out) = (folder.as_ref(), out.as_ref());
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut modules, mut problems, mut specs) = (Vec::new(), Vec::new(), Vec::new());
    for (path, spec) in read_specs(folder)? {
        if !spec.status.makes_parser() {
            continue;
        }
        match crate::rust::module(&spec, &quote!(unjinja_runtime)) {
            Ok(module) => {
                let feature = &spec.template.name;
                modules.push(quote!(#[cfg(feature = #feature)] #module));
                specs.push(spec);
            }
            Err(error) => problems.push(SpecsProblem::NoParser { path, cause: error.into() }),
        }
    }
    if !problems.is_empty() {
        return Err(SpecsError { problems });
    }
    let no_parser = |e: syn::Error| SpecsProblem::NoParser { path: folder.to_owned(), cause: e.into() };
    let source = crate::rust::format(quote!(#(#modules)*)).map_err(|e| SpecsError::one(no_parser(e)))?;
    let unwritable = |cause| SpecsProblem::Unwritable { path: out.to_owned(), cause };
    fs::write(out, source).map_err(|cause| SpecsError::one(unwritable(cause)))?;
    Ok(specs)
}

/// The source files of a crate that commits its generated code.
#[cfg(feature = "rust")]
#[derive(Clone, Debug)]
pub struct Sources {
    /// One module per spec: its name and its Rust.
    pub modules: Vec<(String, String)>,
    /// The file that declares the modules. Each is compiled with the feature of its name, or with `all`.
    pub list: String,
}

/// The Rust of every supported spec of a folder.
///
/// # Errors
/// Unreadable files, and specs that are invalid or that no parser can be made from; all at once.
#[cfg(feature = "rust")]
pub fn sources(folder: &Path) -> Result<Sources, SpecsError> {
    let (mut modules, mut items, mut parsers, mut problems) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut hub_ids, mut texts, mut overlays, mut formats) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (path, spec) in read_specs(folder)? {
        if !spec.status.makes_parser() {
            continue;
        }
        let name = spec.template.name.clone();
        // What an analysis of another template finds has no overlay yet.
        let format = read_bare(&path).map_err(SpecsError::one)?.format_hash();
        if path.with_extension("overlay.toml").exists() {
            let (sha256, file) = (&spec.template.sha256, format!("../specs/{name}.overlay.toml"));
            overlays.push(quote!((#sha256, include_str!(#file))));
        }
        match crate::rust::source(&spec) {
            Ok(source) => modules.push((name.clone(), source)),
            Err(cause) => problems.push(SpecsProblem::NoParser { path, cause }),
        }
        let ident = quote::format_ident!("{name}");
        let doc = format!(" Parser for the format of {}.", crate::rust::described(&crate::info(&spec)));
        items.push(quote! {
            #[cfg(any(feature = "all", feature = #name))]
            #[doc = #doc]
            pub mod #ident;
        });
        let enabled = quote!(#[cfg(any(feature = "all", feature = #name))]);
        parsers.push(quote!(#enabled &#ident::Parser));
        let ids = &spec.template.models;
        hub_ids.push(quote!(#enabled &[#(#ids),*]));
        formats.push(quote!(#enabled #format));
        let file = format!("../specs/{name}.toml");
        texts.push(quote!((#name, include_str!(#file))));
    }
    if !problems.is_empty() {
        return Err(SpecsError { problems });
    }
    let list = crate::rust::format(quote! {
        use unjinja_runtime::ChatParser;

        #(#items)*

        /// The parsers that are compiled in.
        pub(crate) static ALL: &[&dyn ChatParser] = &[#(#parsers),*];

        /// For each parser, in the same order: the Hugging Face ids of the models that have its template.
        pub(crate) static HUB_IDS: &[&[&str]] = &[#(#hub_ids),*];

        /// For each parser, in the same order: the hash of its format before its overlay.
        pub(crate) static FORMATS: &[&str] = &[#(#formats),*];

        /// The specs as TOML, with their names.
        #[cfg(feature = "specs")]
        pub(crate) static SPECS: &[(&str, &str)] = &[#(#texts),*];

        /// The overlays, each with the SHA-256 of its template.
        #[cfg(feature = "overlays")]
        pub(crate) static OVERLAYS: &[(&str, &str)] = &[#(#overlays),*];
    });
    let no_parser = |e: syn::Error| SpecsProblem::NoParser { path: folder.to_owned(), cause: e.into() };
    let list = list.map_err(|e| SpecsError::one(no_parser(e)))?;
    let list = format!(
        "// @generated by unjinja from the format specs.\n// Do not edit. Change the specs and run `unjinja codegen`.\n\n{list}"
    );
    Ok(Sources { modules, list })
}

/// A Markdown table of a folder of specs: the source of each template, the status of its spec with the gaps, how the
/// format writes calls and reasoning, and how many random conversations survived the round trip.
///
/// # Errors
/// Unreadable files and invalid specs.
pub fn table(folder: &Path) -> Result<String, SpecsError> {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let mut out =
        "| spec | template of | status | calls | reasoning | round trips |\n|---|---|---|---|---|---|\n".to_owned();
    for (path, spec) in read_specs(folder)? {
        let overlay = if path.with_extension("overlay.toml").exists() { " (overlay)" } else { "" };
        let calls = spec.tools.format.name();
        let status = match spec.gaps.as_slice() {
            [] => spec.status.name().to_owned(),
            gaps => format!("{}: {}", spec.status.name(), cell(&gaps.join("; "))),
        };
        let (start, end) = (cell(spec.reasoning.start.trim()), cell(spec.reasoning.end.trim()));
        let reasoning = match spec.reasoning.mode {
            ReasoningMode::None => String::new(),
            _ if start.is_empty() => format!("… `{end}`"),
            _ => format!("`{start}` … `{end}`"),
        };
        let info = &spec.template;
        let source = cell(if info.source.is_empty() { &info.file } else { &info.source });
        let trips = spec.evidence.round_trips;
        let (name, held, tried) = (&info.name, trips.held, trips.tried);
        let row = format!("| `{name}`{overlay} | {source} | {status} | {calls} | {reasoning} | {held} of {tried} |\n");
        out.push_str(&row);
    }
    Ok(out)
}
