//! Makes the parsers of the chosen models from `specs/`, and lists the specs and overlays.
//!
//! Without a model it compiles nothing and needs no dependency: it lists files.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A spec of the folder.
struct Spec {
    name: String,
    text: String,
    overlay: Option<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=specs");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: cargo runs this script")?);
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?).join("specs");
    let specs = specs(&folder)?;
    fs::write(out.join("texts.rs"), texts(&specs)?)?;
    fs::write(out.join("models.rs"), models(&specs)?)?;
    Ok(())
}

/// The specs in the order of their names.
fn specs(folder: &Path) -> Result<Vec<Spec>, Box<dyn Error>> {
    let mut specs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(name) = file.strip_suffix(".toml").filter(|name| !name.ends_with(".overlay")) else { continue };
        let overlay = path.with_extension("overlay.toml");
        let overlay = if overlay.exists() { Some(fs::read_to_string(&overlay)?) } else { None };
        specs.push(Spec { name: name.to_owned(), text: fs::read_to_string(&path)?, overlay });
    }
    specs.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(specs)
}

/// The list of specs, and of overlays with the SHA-256 of their templates.
fn texts(specs: &[Spec]) -> Result<String, Box<dyn Error>> {
    let (mut all, mut overlays) = (String::new(), String::new());
    for spec in specs {
        let file =
            |end: &str| format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/specs/{}{end}\"))", spec.name);
        writeln!(all, "({:?}, {}),", spec.name, file(".toml"))?;
        if spec.overlay.is_some() {
            let sha256 = spec.text.lines().find_map(|line| line.strip_prefix("sha256 = "));
            let sha256 = sha256.ok_or_else(|| format!("specs/{}.toml has no sha256", spec.name))?;
            writeln!(overlays, "({sha256}, {}),", file(".overlay.toml"))?;
        }
    }
    Ok(format!(
        "/// The specs as TOML, with their names.
        #[cfg(feature = \"specs\")]
        pub(crate) static SPECS: &[(&str, &str)] = &[{all}];
        /// The overlays, each with the SHA-256 of its template.
        #[cfg(feature = \"overlays\")]
        pub(crate) static OVERLAYS: &[(&str, &str)] = &[{overlays}];"
    ))
}

/// The modules of the chosen models, and lists of them.
#[cfg(feature = "models")]
fn models(specs: &[Spec]) -> Result<String, Box<dyn Error>> {
    use quote::{format_ident, quote};
    use unjinja_spec::{FormatSpec, Overlay};

    let (mut modules, mut parsers, mut hub_ids, mut formats) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Spec { name, text, overlay } in specs {
        let feature = format!("CARGO_FEATURE_{}", name.to_uppercase());
        if env::var_os("CARGO_FEATURE_ALL").is_none() && env::var_os(feature).is_none() {
            continue;
        }
        let bare = FormatSpec::from_toml(text, &format!("specs/{name}.toml"))?;
        // What an analysis of another template finds has no overlay yet.
        formats.push(bare.format_hash());
        let spec = match overlay {
            Some(overlay) => Overlay::from_toml(overlay, &format!("specs/{name}.overlay.toml"))?.apply(&bare)?,
            None => bare,
        };
        modules.push(unjinja_codegen::rust::module(&spec, &quote!(unjinja_runtime))?);
        let (ident, ids) = (format_ident!("{name}"), &spec.template.models);
        parsers.push(quote!(&#ident::Parser));
        hub_ids.push(quote!(&[#(#ids),*]));
    }
    let lists = quote! {
        #(#modules)*

        /// The parsers that are compiled in.
        pub(crate) static ALL: &[&dyn unjinja_runtime::ChatParser] = &[#(#parsers),*];

        /// For each parser, in the same order: the Hugging Face ids of the models that have its template.
        pub(crate) static HUB_IDS: &[&[&str]] = &[#(#hub_ids),*];

        /// For each parser, in the same order: the hash of its format before its overlay.
        pub(crate) static FORMATS: &[&str] = &[#(#formats),*];
    };
    Ok(unjinja_codegen::rust::lines(lists))
}

/// Without a model there is nothing to make.
#[cfg(not(feature = "models"))]
fn models(_: &[Spec]) -> Result<String, Box<dyn Error>> {
    Ok("pub(crate) static ALL: &[&dyn unjinja_runtime::ChatParser] = &[];
        pub(crate) static HUB_IDS: &[&[&str]] = &[];
        pub(crate) static FORMATS: &[&str] = &[];"
        .to_owned())
}
