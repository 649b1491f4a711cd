//! Rust types for tools that are known at build time: an enum with a variant for each tool, and a struct for the arguments
//! of each. `typify` writes the types. It panics at some schemas and ignores parts of others, so [`schema`] first writes
//! each schema in the simple forms that it reads reliably, and gives every type its name.

mod error;
mod names;
mod pointer;
mod print;
mod schema;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use unjinja_runtime::Tools;

pub use self::error::TypesError;
use self::error::TypesProblem;

/// The items for tools that are known at build time: the enum `ToolCall` and the module `arguments`. `runtime`
/// is the path of the runtime, with its feature `types`, in the code that will hold the
/// items.
///
/// ```
/// let tools = r#"[{"name": "now", "description": "The time.", "parameters": {"properties": {"zone": {"type": "string"}}}}]"#;
/// let tools = unjinja_runtime::Tools::from_json(tools)?;
/// let code = unjinja_build::type_items(&tools, &"::unjinja".parse()?)?.to_string();
/// assert!(code.contains("Now (arguments :: Now)"), "{code}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Two tools would get the same variant, or a schema makes no type. The error lists all such
/// places.
pub fn type_items(tools: &Tools, runtime: &TokenStream) -> Result<TokenStream, TypesError> {
    let relative = runtime.clone().into_iter().next().map(|first| first.to_string());
    if matches!(relative.as_deref(), Some("self" | "super")) {
        let next = "write it from the root of the crate: `crate::…`";
        return Err(TypesProblem::new("", "", "the path of the runtime is relative", next).alone());
    }
    let (variants, definitions) = schema::define(tools)?;
    let support = quote!(#runtime::abi::types);
    let types = print::types(&definitions, &support)?;
    let serde = format!("{}::serde", names::path(&support));
    let variants = variants.iter().map(|variant| {
        let (name, tool) = (format_ident!("{}", variant.name), &variant.tool);
        let doc = names::doc(&variant.description, || format!("A call of `{tool}`."));
        let doc = doc.lines();
        quote!(#(#[doc = #doc])* #[serde(rename = #tool)] #name(arguments::#name))
    });
    let lints = quote!(#[allow(
        missing_docs, rustdoc::all, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction
    )]);
    Ok(quote! {
        /// A call of one of the offered tools; see `Message::typed_calls`. Under serde it is
        /// `{"name": …, "arguments": {…}}`.
        #lints
        #[derive(Clone, Debug, PartialEq, #support::serde::Deserialize, #support::serde::Serialize)]
        #[serde(crate = #serde, tag = "name", content = "arguments")]
        pub enum ToolCall {
            #(#variants),*
        }

        /// The arguments of the offered tools, and the types of their members.
        #lints
        pub mod arguments {
            #types
        }
    })
}
