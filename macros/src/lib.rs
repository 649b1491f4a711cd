//! `include_template_parser!` and `include_spec_parser!`: a shell over `unjinja-build`.
//!
//! Both expand to items, so they are put into a module of their own:
//!
//! ```ignore
//! mod qwen3 { unjinja::include_template_parser!("qwen3.jinja"); }
//! ```

use std::path::{Path, PathBuf};

use proc_macro::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitStr, Token};
use unjinja_build::{Build, Input, split_variant};

/// Files larger than this are not handed to the compiler, which would read them whole.
const LARGEST_WATCHED: u64 = 16 << 20;

/// Analyses a chat template and expands to its parser: `Parser`, `parse`, `stream`, `FACTS`, and what a sampler needs:
/// `grammar`, `GRAMMAR`, `TRIGGERS` and more.
///
/// The file is a `.jinja`, a `tokenizer_config.json`, a `chat_template.json` or a GGUF; `"FILE#NAME"` is one of several
/// named templates in it. The path is relative to the crate's root, then to its `templates/` folder; the crate is rebuilt
/// when the file changes, unless it is larger than 16 MiB, as models are. Options follow the path:
///
/// - `overlay = "x.overlay.toml"`: a file of corrections to what the analysis finds.
/// - `spec = "x.toml"`: the committed spec of this template. It is used as it stands; that it still describes the
///   template is checked by its hash.
/// - `tools = "tools.json"`: the tools that are offered, in OpenAI's form; adds a function `tools()`, and their grammar
///   as constants: `TOOL_GRAMMAR` and `TOOL_TRIGGERS`.
/// - `runtime = path::to::runtime`: where the runtime is; `::unjinja` by default.
#[proc_macro]
pub fn include_template_parser(input: TokenStream) -> TokenStream {
    expand(input, Kind::Template)
}

/// Expands to the parser of a committed spec, with no analysis. The path and the options `overlay`, `tools` and
/// `runtime` are those of [`include_template_parser!`].
#[proc_macro]
pub fn include_spec_parser(input: TokenStream) -> TokenStream {
    expand(input, Kind::Spec)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Template,
    Spec,
}

/// A path literal and options.
struct Arguments {
    path: LitStr,
    overlay: Option<LitStr>,
    spec: Option<LitStr>,
    tools: Option<LitStr>,
    runtime: Option<syn::Path>,
}

enum Given {
    File(Ident, LitStr),
    Runtime(Ident, syn::Path),
}

impl Parse for Given {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        if name == "runtime" {
            Ok(Given::Runtime(name, input.call(syn::Path::parse_mod_style)?))
        } else {
            Ok(Given::File(name, input.parse()?))
        }
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path = input
            .parse()
            .map_err(|e| syn::Error::new(e.span(), "the path of a file is wanted here, as a string literal"))?;
        let mut arguments = Self { path, overlay: None, spec: None, tools: None, runtime: None };
        if input.parse::<Option<Token![,]>>()?.is_none() {
            return Ok(arguments);
        }
        let mut known: Vec<String> = Vec::new();
        for given in Punctuated::<Given, Token![,]>::parse_terminated(input)? {
            let (Given::File(name, _) | Given::Runtime(name, _)) = &given;
            if known.contains(&name.to_string()) {
                return Err(syn::Error::new(name.span(), format!("`{name}` is given twice")));
            }
            known.push(name.to_string());
            match given {
                Given::Runtime(_, path) => arguments.runtime = Some(path),
                Given::File(name, file) if name == "overlay" => arguments.overlay = Some(file),
                Given::File(name, file) if name == "spec" => arguments.spec = Some(file),
                Given::File(name, file) if name == "tools" => arguments.tools = Some(file),
                Given::File(name, _) => {
                    let message =
                        format!("unknown option `{name}`; there are `overlay`, `spec`, `tools` and `runtime`");
                    return Err(syn::Error::new(name.span(), message));
                }
            }
        }
        Ok(arguments)
    }
}

fn expand(input: TokenStream, kind: Kind) -> TokenStream {
    let result = syn::parse::<Arguments>(input).and_then(|arguments| generate(&arguments, kind));
    result.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn generate(arguments: &Arguments, kind: Kind) -> syn::Result<proc_macro2::TokenStream> {
    let at = |literal: &LitStr, message: String| syn::Error::new(literal.span(), message);
    let path = find(&arguments.path)?;
    let mut read = vec![(path.clone(), &arguments.path)];
    let input = match kind {
        Kind::Template => Input::template(&path),
        Kind::Spec => Input::spec(&path),
    };
    let mut build = Build::new(input);
    if let Some(literal) = &arguments.overlay {
        let overlay = find(literal)?;
        build = build.overlay(&overlay);
        read.push((overlay, literal));
    }
    if let Some(literal) = &arguments.spec {
        if kind == Kind::Spec {
            return Err(at(
                literal,
                "`spec` is an option of include_template_parser!; here the path itself is the spec".into(),
            ));
        }
        let spec = find(literal)?;
        build = build.committed_spec(&spec);
        read.push((spec, literal));
    }
    if let Some(literal) = &arguments.tools {
        let tools = find(literal)?;
        build = build.tools(&tools);
        read.push((tools, literal));
    }
    if let Some(runtime) = &arguments.runtime {
        build = build.runtime(quote!(#runtime));
    }
    let tokens = build.tokens().map_err(|error| {
        let to_blame = read.iter().find(|(path, _)| error.file() == Some(path));
        at(to_blame.map_or(&arguments.path, |(_, literal)| literal), error.to_string())
    })?;
    // So that cargo builds this again when a file changes.
    let watched = read.iter().map(|(path, _)| split_variant(path).0);
    let watched = watched.filter(|path| path.metadata().is_ok_and(|file| file.len() <= LARGEST_WATCHED));
    let watched = watched.map(|path| path.display().to_string());
    Ok(quote! {
        #tokens
        #(const _: &[u8] = include_bytes!(#watched);)*
    })
}

/// Finds a file relative to the crate's root, then to its `templates/` folder.
fn find(literal: &LitStr) -> syn::Result<PathBuf> {
    let given = literal.value();
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let candidates = [root.join(&given), root.join("templates").join(&given)];
    if let Some(path) = candidates.iter().find(|path| split_variant(path).0.is_file()) {
        return Ok(path.clone());
    }
    let tried: Vec<String> = candidates.iter().map(|path| format!("  {}", path.display())).collect();
    let mut message = format!("there is no file {given:?}; tried\n{}", tried.join("\n"));
    if let Some(near) = nearest(&root.join("templates"), &given) {
        message.push_str(&format!("\ndid you mean {near:?}?"));
    }
    Err(syn::Error::new(literal.span(), message))
}

/// The file in a folder whose name shares the longest beginning with `wanted`.
fn nearest(folder: &Path, wanted: &str) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let shared = |name: &str| name.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
    names.filter(|name| shared(name) >= 2).max_by_key(|name| shared(name))
}
