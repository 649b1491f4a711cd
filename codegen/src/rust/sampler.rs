//! The items of a model's module for a sampler: what ends a turn, which special tokens it has, and the grammars, if the feature
//! `grammar` is on.

use proc_macro2::TokenStream;
use quote::quote;
use unjinja_runtime::Tools;
use unjinja_runtime::abi::Program;

#[cfg(feature = "grammar")]
use super::grammar;

pub(super) fn items(program: &Program) -> TokenStream {
    let grammar = grammar::any_tool(program);
    let preserved = program.info.preserved_tokens.iter().map(|token| &**token);
    let stops = program.stops();
    quote! {
        #grammar

        /// Special tokens that the detokenizer must keep as text.
        pub const PRESERVED_TOKENS: &[&str] = &[#(#preserved),*];

        /// Texts that end a turn.
        pub const STOPS: &[&str] = &[#(#stops),*];
    }
}

/// The items for tools that are known at build time: a function `tools()`, and with the feature `grammar` their grammar as
/// constants. `json` is the list of tools in OpenAI's form.
///
/// # Errors
/// The text is no list of tools. With the feature `grammar`: a schema contradicts itself.
pub fn tool_items(
    program: &Program,
    json: &str,
    runtime: &TokenStream,
) -> Result<TokenStream, Box<dyn std::error::Error + Send + Sync>> {
    let tools = Tools::from_json(json)?;
    let grammar = grammar::these_tools(program, &tools)?;
    Ok(quote! {
        /// The offered tools; they were known at build time.
        pub fn tools() -> #runtime::Tools {
            const TOOLS: &str = #json;
            #runtime::Tools::from_json(TOOLS).unwrap_or_default()
        }

        #grammar
    })
}

/// Without the feature there are no grammars.
#[cfg(not(feature = "grammar"))]
mod grammar {
    use std::convert::Infallible;

    use super::{Program, TokenStream, Tools};

    pub(super) fn any_tool(_: &Program) -> TokenStream {
        TokenStream::new()
    }

    pub(super) fn these_tools(_: &Program, _: &Tools) -> Result<TokenStream, Infallible> {
        Ok(TokenStream::new())
    }
}
