//! Folders of specs: reads them with their overlays, and makes the source files of a crate that commits its generated
//! code.
//!
//! This module handles files and the registry. The code of one model is written by the module `rust`.

use std::fmt;
use std::path::{Path, PathBuf};

#[cfg(feature = "rust")]
use quote::quote;
use unjinja_spec::{FormatSpec, Overlay, ReasoningMode};

/// All problems with a folder of specs.
#[derive(Debug)]
pub struct SpecsError {
    /// One message per problem, with its file.
    pub problems: Vec<String>,
}

impl fmt::Display for SpecsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

impl std::error::Error for SpecsError {}

/// Reads every spec of a folder, in the order of the file names. If there is an overlay beside a spec, it is applied.
///
/// # Errors
/// Unreadable files and invalid specs, all at once.
pub fn read_specs(folder: &Path) -> Result<Vec<(PathBuf, FormatSpec)>, SpecsError> {
    let unreadable =
        |path: &Path, error: std::io::Error| SpecsError { problems: vec![format!("{}: {error}", path.display())] };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, e))? {
        let path = entry.map_err(|e| unreadable(folder, e))?.path();
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

fn read_spec(path: &Path) -> Result<FormatSpec, String> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let spec = FormatSpec::from_toml(&read(path)?, &path.display().to_string()).map_err(|e| e.to_string())?;
    let overlay = path.with_extension("overlay.toml");
    if !overlay.exists() {
        return Ok(spec);
    }
    let overlay = Overlay::from_toml(&read(&overlay)?, &overlay.display().to_string()).map_err(|e| e.to_string())?;
    overlay.apply(&spec).map_err(|e| e.to_string())
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
        if spec.unsupported.is_some() {
            continue;
        }
        match crate::rust::module(&spec, &quote!(unjinja_runtime)) {
            Ok(module) => {
                let feature = &spec.template.name;
                modules.push(quote!(#[cfg(feature = #feature)] #module));
                specs.push(spec);
            }
            Err(error) => problems.push(format!("{}: {error}", path.display())),
        }
    }
    if !problems.is_empty() {
        return Err(SpecsError { problems });
    }
    let source = crate::rust::format(quote!(#(#modules)*)).map_err(|e| SpecsError { problems: vec![e.to_string()] })?;
    std::fs::write(out, source).map_err(|e| SpecsError { problems: vec![format!("{}: {e}", out.display())] })?;
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
    let (mut hub_ids, mut texts, mut overlays) = (Vec::new(), Vec::new(), Vec::new());
    for (path, spec) in read_specs(folder)? {
        if spec.unsupported.is_some() {
            continue;
        }
        let name = spec.template.name.clone();
        if path.with_extension("overlay.toml").exists() {
            let (sha256, file) = (&spec.template.sha256, format!("../specs/{name}.overlay.toml"));
            overlays.push(quote!((#sha256, include_str!(#file))));
        }
        match crate::rust::source(&spec) {
            Ok(source) => modules.push((name.clone(), source)),
            Err(error) => problems.push(format!("{}: {error}", path.display())),
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

        /// The specs as TOML, with their names.
        #[cfg(feature = "specs")]
        pub(crate) static SPECS: &[(&str, &str)] = &[#(#texts),*];

        /// The overlays, each with the SHA-256 of its template.
        #[cfg(feature = "overlays")]
        pub(crate) static OVERLAYS: &[(&str, &str)] = &[#(#overlays),*];
    });
    let list = list.map_err(|e| SpecsError { problems: vec![e.to_string()] })?;
    let list = format!(
        "// @generated by unjinja from the format specs.\n// Do not edit. Change the specs and run `unjinja codegen`.\n\n{list}"
    );
    Ok(Sources { modules, list })
}

/// A Markdown table of a folder of specs: the source of each template, how the format writes calls and reasoning, and
/// how many random conversations survived the round trip.
///
/// # Errors
/// Unreadable files and invalid specs.
pub fn table(folder: &Path) -> Result<String, SpecsError> {
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    let mut out = "| spec | template of | calls | reasoning | round trips |\n|---|---|---|---|---|\n".to_owned();
    for (path, spec) in read_specs(folder)? {
        let overlay = if path.with_extension("overlay.toml").exists() { " (overlay)" } else { "" };
        let calls = match &spec.unsupported {
            Some(_) => "unsupported",
            None => spec.tools.format.name(),
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
        out.push_str(&format!("| `{name}`{overlay} | {source} | {calls} | {reasoning} | {held} of {tried} |\n"));
    }
    Ok(out)
}
