//! The items of a model's module for its grammars: the grammar for any tool as constants, and the grammar for tools that
//! are known at build time.

use proc_macro2::TokenStream;
use quote::quote;
use unjinja_grammar::{Grammar, GrammarOptions, grammar};
use unjinja_runtime::Tools;
use unjinja_runtime::abi_3::{Program, Trigger};

/// The constants of the grammar for any tool.
pub(super) fn items(program: &Program) -> TokenStream {
    // This cannot fail: only tools, their schemas and options can contradict each other.
    let any = grammar(program, None, &GrammarOptions::new()).unwrap_or_default();
    let text = multiline(&any.text);
    let (lazy, stops) = (any.lazy, &any.stops);
    let preserved = &any.preserved_tokens;
    let triggers = triggers(&any);
    quote! {
        /// The grammar for any tool with any arguments, as GBNF. Empty if the format has no calls.
        pub const GRAMMAR: &str = #text;

        /// Whether the grammar holds only from a trigger on.
        pub const LAZY: bool = #lazy;

        /// The triggers of the grammar, if it is lazy.
        pub const TRIGGERS: &[Trigger] = &[#(#triggers),*];

        /// Special tokens that the detokenizer must keep as text.
        pub const PRESERVED_TOKENS: &[&str] = &[#(#preserved),*];

        /// Texts that end a turn.
        pub const STOPS: &[&str] = &[#(#stops),*];
    }
}

/// The items for tools that are known at build time: a function `tools()`, and their grammar as constants. `json` is the
/// list of tools in OpenAI's form.
///
/// # Errors
/// The text is no list of tools, or a schema contradicts itself.
pub fn tool_items(
    program: &Program,
    json: &str,
    runtime: &TokenStream,
) -> Result<TokenStream, Box<dyn std::error::Error + Send + Sync>> {
    let tools = Tools::from_json(json)?;
    let grammar = grammar(program, Some(&tools), &GrammarOptions::new())?;
    let text = multiline(&grammar.text);
    let triggers = triggers(&grammar);
    Ok(quote! {
        /// The offered tools; they were known at build time.
        pub fn tools() -> #runtime::Tools {
            const TOOLS: &str = #json;
            #runtime::Tools::from_json(TOOLS).unwrap_or_default()
        }

        /// The grammar for calls of the offered tools, with their schemas compiled in, as GBNF. It lets the model decide
        /// whether to call a tool; for other tool choices, make a grammar at run time.
        pub const TOOL_GRAMMAR: &str = #text;

        /// The triggers of this grammar. If there are none, the grammar holds for the whole turn.
        pub const TOOL_TRIGGERS: &[Trigger] = &[#(#triggers),*];
    })
}

/// The triggers of a grammar.
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
