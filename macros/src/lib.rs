//! The macros [`include_template_parser!`] and [`include_spec_parser!`], which compile a parser into a module.
//!
//! This crate parses the macros' arguments, finds their files, and reports errors at the literal that names the file at
//! fault. Everything else is done by `unjinja-build`. Applications use the macros as `unjinja::include_template_parser!`
//! and `unjinja::include_spec_parser!`.

use std::path::{Path, PathBuf};

use proc_macro::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitBool, LitStr, Token};
use unjinja_build::{Build, Input, hub_folder, is_hub_id, known_spec, partial_warning, split_variant};

/// Bytes. Larger files are not watched, because the compiler would have to read them whole.
const LARGEST_WATCHED: u64 = 16 << 20;

/// Analyses a chat template and expands to its parser.
///
/// The expansion is a list of items, so it goes into a module of its own: the type `Parser`, the functions `parse`,
/// `parse_borrowed` and `stream`, the format as data (`PROGRAM`), and what a sampler needs: `PRESERVED_TOKENS`, `STOPS`, and
/// with the feature `grammar` of `unjinja` also `GRAMMAR`, `LAZY` and `TRIGGERS`.
///
/// ```
/// mod hermes {
///     unjinja::include_template_parser!("../templates/hermes.jinja");
/// }
///
/// let output = "Let me see.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
/// let message = hermes::parse(output, &unjinja::Options::new());
/// assert_eq!(message.content, "Let me see.");
/// assert_eq!(message.tool_calls[0].name, "now");
/// ```
///
/// # The file
///
/// A `.jinja`, `tokenizer_config.json`, `chat_template.json` or GGUF file, or a folder with a model's files. `"FILE#NAME"` is one of
/// several named templates in a file. The path is relative to the crate's root, or else to its folder `templates/`. Where there is no such
/// path, the id of a supported model (`"Qwen/Qwen3-8B"`) names its reviewed spec, and another id the template in the cache of the Hugging
/// Face Hub; `unjinja fetch ID` downloads one. Nothing is downloaded here. Cargo rebuilds the crate when the file changes, unless it is larger than 16 MiB, as model weights are. The same holds for the other files that
/// take part. Cargo cannot notice that an overlay is new: save the source file, or the template, after you add one.
///
/// # Options
///
/// They follow the path, in any order:
///
/// - `overlay = "x.overlay.toml"`: corrections to what the analysis finds. Without this option, the file
///   `NAME.overlay.toml` next to the template applies, if there is one; with `spec`, the one next to the spec. A supported
///   model's template has a reviewed spec, and its overlay. The rules are [the same everywhere][loading].
/// - `spec = "x.toml"`: the committed spec of this template, which is used instead of an analysis. It is an error if the
///   template has changed since the spec was made.
/// - `tools = "tools.json"`: tools in OpenAI's form that are known at compile time. The module gets a function
///   `tools()`, and with the feature `grammar` their grammar as the constants `TOOL_GRAMMAR` and `TOOL_TRIGGERS`.
/// - `types = true`: Rust types of these tools, see [below](#types-of-tools). Needs the feature `types` of `unjinja`.
/// - `runtime = path::to::runtime`: where the generated code finds the runtime; the default is `::unjinja`.
///
/// ```
/// mod qwen3 {
///     unjinja::include_template_parser!(
///         "../templates/qwen3.jinja",
///         tools = "../examples/tools.json",
///     );
/// }
///
/// let options = unjinja::Options::new().tools(&qwen3::tools()).thinking(false);
/// assert_eq!(qwen3::parse("Hello!", &options).content, "Hello!");
/// assert!(qwen3::TOOL_GRAMMAR.contains("root ::="));
/// ```
///
/// # Types of tools
///
/// With `types = true`, the module gets the enum `ToolCall`, with a variant for each tool, and the module `arguments`, with a
/// struct for the arguments of each tool. `Message::typed_calls` reads the calls of a message as such values, and
/// `ToolCall::typed` a single one.
///
/// ```
/// mod qwen3 {
///     unjinja::include_template_parser!(
///         "../templates/qwen3.jinja",
///         tools = "../examples/tools.json",
///         types = true,
///     );
/// }
///
/// let output = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";
/// let message = qwen3::parse(output, &unjinja::Options::new().tools(&qwen3::tools()).thinking(false));
/// for call in message.typed_calls::<qwen3::ToolCall>() {
///     match call? {
///         qwen3::ToolCall::GetWeather(weather) => assert_eq!(weather.city, "Paris"),
///     }
/// }
/// # Ok::<(), unjinja::TypedCallError>(())
/// ```
///
/// What the types check of a schema, and what they do not, is in [`docs/types.md`][types].
///
/// [types]: https://github.com/unjinja/unjinja/blob/main/docs/types.md
///
/// [loading]: https://docs.rs/unjinja-dynamic#where-a-spec-comes-from
///
/// # Errors
///
/// A compile error at the literal that names the file at fault: a file that does not exist, a template with a syntax
/// error or with a format that is not supported, an invalid spec, overlay or list of tools, a schema that makes no types, two
/// tools whose variants would have the same name.
///
/// # Warnings
///
/// If the format is supported only in part, the compiler warns and names what is missing. Procedural macros cannot warn by
/// themselves yet, so the module uses a deprecated constant whose note is the warning. `#[allow(deprecated)]` on the module
/// accepts the gaps.
#[proc_macro]
pub fn include_template_parser(input: TokenStream) -> TokenStream {
    expand(input, MacroKind::Template)
}

/// Expands to the parser of a committed format spec. No template is read and nothing is analysed.
///
/// ```
/// mod qwen3 {
///     unjinja::include_spec_parser!("../generated/specs/qwen_qwen3_0_6b.toml");
/// }
///
/// let message = qwen3::parse("<think>\nHm.\n</think>\n\nHello!", &unjinja::Options::new());
/// assert_eq!(message.reasoning_content, "Hm.");
/// assert_eq!(message.content, "Hello!");
/// ```
///
/// The path, the items and the options `overlay`, `tools`, `types` and `runtime` are those of [`include_template_parser!`]. The
/// overlay next to the spec, `NAME.overlay.toml`, applies if no other is given.
///
/// # Errors
///
/// A compile error at the literal that names the file at fault, and a warning about a format that is supported only in
/// part, as for [`include_template_parser!`].
#[proc_macro]
pub fn include_spec_parser(input: TokenStream) -> TokenStream {
    expand(input, MacroKind::Spec)
}

/// Which macro is expanded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MacroKind {
    Template,
    Spec,
}

/// The arguments of both macros: the path and the options.
struct Arguments {
    path: LitStr,
    overlay: Option<LitStr>,
    spec: Option<LitStr>,
    tools: Option<LitStr>,
    types: Option<LitBool>,
    runtime: Option<syn::Path>,
}

/// One option: its name and its value.
enum Given {
    File(Ident, LitStr),
    Types(Ident, LitBool),
    Runtime(Ident, syn::Path),
}

impl Parse for Given {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        if name == "runtime" {
            Ok(Given::Runtime(name, input.call(syn::Path::parse_mod_style)?))
        } else if name == "types" {
            let value = input.parse().map_err(|e| syn::Error::new(e.span(), "expected `true` or `false`"))?;
            Ok(Given::Types(name, value))
        } else {
            Ok(Given::File(name, input.parse()?))
        }
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path =
            input.parse().map_err(|e| syn::Error::new(e.span(), "expected the path of a file, as a string literal"))?;
        let mut arguments = Self { path, overlay: None, spec: None, tools: None, types: None, runtime: None };
        if input.parse::<Option<Token![,]>>()?.is_none() {
            return Ok(arguments);
        }
        let mut known: Vec<String> = Vec::new();
        for given in Punctuated::<Given, Token![,]>::parse_terminated(input)? {
            let (Given::File(name, _) | Given::Types(name, _) | Given::Runtime(name, _)) = &given;
            if known.contains(&name.to_string()) {
                return Err(syn::Error::new(name.span(), format!("`{name}` is given twice")));
            }
            known.push(name.to_string());
            match given {
                Given::Runtime(_, path) => arguments.runtime = Some(path),
                Given::Types(_, value) => arguments.types = Some(value),
                Given::File(name, file) if name == "overlay" => arguments.overlay = Some(file),
                Given::File(name, file) if name == "spec" => arguments.spec = Some(file),
                Given::File(name, file) if name == "tools" => arguments.tools = Some(file),
                Given::File(name, _) => {
                    let message = format!(
                        "unknown option `{name}`; the options are `overlay`, `spec`, `tools`, `types` and `runtime`"
                    );
                    return Err(syn::Error::new(name.span(), message));
                }
            }
        }
        Ok(arguments)
    }
}

fn expand(input: TokenStream, kind: MacroKind) -> TokenStream {
    let result = syn::parse::<Arguments>(input).and_then(|arguments| generate(&arguments, kind));
    result.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn generate(arguments: &Arguments, kind: MacroKind) -> syn::Result<proc_macro2::TokenStream> {
    let at = |literal: &LitStr, message: String| syn::Error::new(literal.span(), message);
    let (path, input) = match kind {
        MacroKind::Template => template(&arguments.path)?,
        MacroKind::Spec => {
            let path = find(&arguments.path)?;
            (path.clone(), Input::spec(path))
        }
    };
    let mut read = vec![(path.clone(), &arguments.path)];
    let mut build = Build::new(input);
    if let Some(literal) = &arguments.overlay {
        let overlay = find(literal)?;
        build = build.overlay(&overlay);
        read.push((overlay, literal));
    }
    if let Some(literal) = &arguments.spec {
        if kind == MacroKind::Spec {
            return Err(at(
                literal,
                "`spec` is an option of include_template_parser! only: here the path itself names the spec".into(),
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
    if let Some(types) = arguments.types.as_ref().filter(|types| types.value) {
        if !cfg!(feature = "types") {
            let message = "`types` needs the feature `types` of unjinja: write `features = [\"types\"]` in Cargo.toml";
            return Err(syn::Error::new(types.span(), message));
        }
        if arguments.tools.is_none() {
            let message = "`types` are made of tools: name their file too, with `tools = \"tools.json\"`";
            return Err(syn::Error::new(types.span(), message));
        }
        if let Some(runtime) = arguments.runtime.as_ref().filter(|path| is_relative(path)) {
            let message = "with `types`, write the path of the runtime from the root of the crate: `crate::…`";
            return Err(syn::Error::new_spanned(runtime, message));
        }
        build = build.types();
    }
    if let Some(runtime) = &arguments.runtime {
        build = build.runtime(quote!(#runtime));
    }
    let compiled = build.load().and_then(|loaded| {
        let tokens = build.tokens_of(&loaded.spec)?;
        Ok((tokens, partial_warning(&loaded.spec, &path), loaded))
    });
    let (tokens, warning, loaded) = compiled.map_err(|error| {
        let at_fault = read.iter().find(|(path, _)| error.path() == Some(path));
        at(at_fault.map_or(&arguments.path, |(_, literal)| literal), error.to_string())
    })?;
    // The compiler tracks included files, so cargo rebuilds the crate when one of them changes.
    let mut watched: Vec<PathBuf> = read.iter().map(|(path, _)| split_variant(path).0).collect();
    watched.extend(loaded.source.map(|source| source.path));
    watched.extend(loaded.corrections.into_iter().filter(|_| arguments.overlay.is_none()).filter_map(|one| one.file));
    let watched =
        watched.iter().filter(|path| path.metadata().is_ok_and(|file| file.is_file() && file.len() <= LARGEST_WATCHED));
    let watched = watched.map(|path| path.display().to_string());
    let warning = warning.map(|text| warning_at(&arguments.path, &text));
    Ok(quote! {
        #tokens
        #warning
        #(const _: &[u8] = include_bytes!(#watched);)*
    })
}

/// Whether a path depends on the module that it is in.
fn is_relative(path: &syn::Path) -> bool {
    path.segments.first().is_some_and(|first| first.ident == "self" || first.ident == "super")
}

/// Items that make the compiler warn at a literal.
fn warning_at(literal: &LitStr, text: &str) -> proc_macro2::TokenStream {
    quote_spanned! {literal.span()=>
        const _: () = {
            #[deprecated(note = #text)]
            const PARTIAL_PARSER: () = ();
            PARTIAL_PARSER
        };
    }
}

/// The root of the crate that is compiled.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default()
}

/// Where a file may be: below the crate's root, or else below its folder `templates/`.
fn places(given: &str) -> [PathBuf; 2] {
    [root().join(given), root().join("templates").join(given)]
}

/// What names a template, and where it is: a file or a folder, or else a supported model, or a model in the Hub's cache.
fn template(literal: &LitStr) -> syn::Result<(PathBuf, Input)> {
    let given = literal.value();
    if let Some(path) = places(&given).into_iter().find(|path| split_variant(path).0.exists()) {
        return Ok((path.clone(), Input::template(path)));
    }
    if known_spec(&given).is_ok() {
        return Ok((given.clone().into(), Input::known(given)));
    }
    let path = hub_folder(&given).map_or_else(|| find(literal), Ok)?;
    Ok((path.clone(), Input::template(path)))
}

/// Finds a file.
fn find(literal: &LitStr) -> syn::Result<PathBuf> {
    let given = literal.value();
    let candidates = places(&given);
    if let Some(path) = candidates.iter().find(|path| split_variant(path).0.is_file()) {
        return Ok(path.clone());
    }
    let tried: Vec<String> = candidates.iter().map(|path| format!("  {}", path.display())).collect();
    let mut message = format!("there is no file {given:?}; looked for\n{}", tried.join("\n"));
    if let Some(near) = nearest(&root().join("templates"), &given) {
        message.push_str(&format!("\ndid you mean {near:?}?"));
    }
    if is_hub_id(&given) {
        let next = format!("`unjinja fetch {given}` downloads its template");
        message.push_str(&format!("\nno supported model has this id, and it is not in the Hub's cache; {next}"));
    }
    Err(syn::Error::new(literal.span(), message))
}

/// The file in a folder whose name shares the longest beginning, of two characters at least, with `wanted`.
fn nearest(folder: &Path, wanted: &str) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let shared = |name: &str| name.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
    names.filter(|name| shared(name) >= 2).max_by_key(|name| shared(name))
}
