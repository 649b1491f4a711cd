//! The grammars of a model's module: for any tool, and for tools that are known at build time. Both are constants, so that an
//! application has them without linking the grammar crate.

use proc_macro2::TokenStream;
use quote::quote;
use unjinja_grammar::{Grammar, GrammarError, GrammarOptions, grammar};
use unjinja_runtime::Tools;
use unjinja_runtime::abi::{Program, Trigger};

/// The constants of the grammar for any tool.
pub(super) fn any_tool(program: &Program) -> TokenStream {
    // This cannot fail: only tools, their schemas and options can contradict each other.
    let any = grammar(program, None, &GrammarOptions::new()).unwrap_or_default();
    let text = multiline(&any.text);
    let lazy = any.lazy;
    let triggers = triggers(&any);
    quote! {
        /// The grammar for any tool with any arguments, as GBNF. Empty if the format has no calls.
        pub const GRAMMAR: &str = #text;

        /// Whether the grammar holds only from a trigger on.
        pub const LAZY: bool = #lazy;

        /// The triggers of the grammar, if it is lazy.
        pub const TRIGGERS: &[Trigger] = &[#(#triggers),*];
    }
}

/// The constants of the grammar for these tools.
///
/// # Errors
/// A schema contradicts itself.
pub(super) fn these_tools(program: &Program, tools: &Tools) -> Result<TokenStream, GrammarError> {
    let grammar = grammar(program, Some(tools), &GrammarOptions::new())?;
    let text = multiline(&grammar.text);
    let triggers = triggers(&grammar);
    Ok(quote! {
        /// The grammar for calls of the offered tools, with their schemas compiled in, as GBNF. It lets the model decide
        /// whether to call a tool; for other tool choices, make a grammar at run time.
        pub const TOOL_GRAMMAR: &str = #text;

        /// The triggers of this grammar. If there are none, the grammar holds for the whole turn.
        pub const TOOL_TRIGGERS: &[Trigger] = &[#(#triggers),*];
    })
}

fn triggers(grammar: &Grammar) -> impl Iterator<Item = TokenStream> + '_ {
    grammar.triggers.iter().map(|trigger| match trigger {
        Trigger::Word(word) => quote!(Trigger::of_word(#word)),
        Trigger::Pattern(pattern) => quote!(Trigger::of_pattern(#pattern)),
    })
}

/// A text as a raw literal, so that its lines stay readable.
fn multiline(text: &str) -> TokenStream {
    let raw = format!("r#\"{text}\"#");
    match raw.parse::<TokenStream>() {
        Ok(tokens) if !text.contains("\"#") && !text.contains('\r') => tokens,
        _ => quote!(#text),
    }
}
