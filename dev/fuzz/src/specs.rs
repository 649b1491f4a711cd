//! Any text as a format spec. If it can be lowered, the generated Rust contains nothing but a parser, its grammars load, and the
//! interpreted parser keeps the promises.

use std::collections::HashSet;
use std::sync::LazyLock;

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use unjinja::Interpreter;
use unjinja::Options;
use unjinja::testing::{Cut, Transcript};
use unjinja::{GrammarExt, GrammarOptions};
use unjinja_codegen::interpreter;
use unjinja_gbnf::Grammar as Rules;
use unjinja_spec::{FormatSpec, REPEATED_NAME};

use crate::models;
use crate::output::calls_are_json;

/// Checks the property for this spec.
///
/// # Errors
/// The property that does not hold.
pub fn check(text: &str) -> Result<(), String> {
    let Ok(spec) = FormatSpec::from_toml(text, "s.toml") else { return Ok(()) };
    let written = spec.to_toml();
    match FormatSpec::from_toml(&written, "s.toml") {
        Ok(again) if again == spec && again.to_toml() == written => {}
        Ok(_) => return Err(format!("written, it is another spec:\n{written}")),
        Err(error) => return Err(format!("written, it cannot be read: {error}\n{written}")),
    }
    let Ok(lowered) = interpreter(&spec) else { return Ok(()) };
    let module = unjinja_codegen::rust::module(&spec, &quote!(::unjinja)).map_err(|error| error.to_string())?;
    is_rust(&module)?;
    let source = unjinja_codegen::rust::source(&spec).map_err(|error| error.to_string())?;
    source_is_plain(&source)?;
    if let Ok(grammar) = lowered.grammar_for_any(&GrammarOptions::new())
        && !grammar.text.is_empty()
    {
        Rules::parse(&grammar.text).map_err(|error| format!("{error}\n{}", grammar.text))?;
    }
    reads(&spec, &lowered)
}

/// Checks that generated tokens are valid Rust, stay the same when they are printed and parsed, and use no name that the parsers
/// of the committed specs do not use. So no text of a spec has escaped from its literal.
///
/// # Errors
/// The property that does not hold.
pub fn is_rust(tokens: &TokenStream) -> Result<(), String> {
    let source =
        unjinja_codegen::rust::format(tokens.clone()).map_err(|error| format!("no Rust: {error}\n{tokens}"))?;
    source_is_plain(&source)?;
    let mut names = HashSet::new();
    identifiers(source.parse().map_err(|error| format!("no tokens: {error}\n{source}"))?, &mut names);
    // The name of the module is the spec's own.
    let module = source.lines().find_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(" {"));
    let strange = |name: &&String| {
        !KNOWN.contains(*name)
            && Some(name.as_str()) != module
            && !name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    match names.iter().find(strange) {
        Some(name) => Err(format!("generated code names `{name}`:\n{source}")),
        None => Ok(()),
    }
}

/// Checks that a source is what it looks like: it stays the same when it is parsed and printed, and has no invisible characters.
fn source_is_plain(source: &str) -> Result<(), String> {
    let tokens: TokenStream = source.parse().map_err(|error| format!("no tokens: {error}\n{source}"))?;
    let again = unjinja_codegen::rust::format(tokens).map_err(|error| format!("no Rust: {error}\n{source}"))?;
    let code = match source.split_once("\n\n") {
        Some((preamble, code)) if preamble.starts_with("// @generated") => code,
        _ => source,
    };
    if again != code {
        return Err(format!("read again, the source is another:\n{source}\n-----\n{again}"));
    }
    match source.chars().find(|&c| is_hidden(c)) {
        Some(c) => Err(format!("{c:?} is in the source:\n{source}")),
        None => Ok(()),
    }
}

/// Characters that change how others are displayed: controls, and those that change the writing direction.
pub fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{61C}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}')
}

fn identifiers(tokens: TokenStream, names: &mut HashSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                names.insert(ident.to_string());
            }
            TokenTree::Group(group) => identifiers(group.stream(), names),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Prepares the data of the checks.
pub fn make_ready() {
    LazyLock::force(&KNOWN);
}

/// The names that generated code may use: those in the parsers of all models, in the grammars of tools, and in the generators
/// themselves.
static KNOWN: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut names = HashSet::new();
    for generator in [
        include_str!("../../../codegen/src/rust/mod.rs"),
        include_str!("../../../codegen/src/rust/actions.rs"),
        include_str!("../../../codegen/src/rust/grammar.rs"),
        include_str!("../../../codegen/src/rust/tables.rs"),
    ] {
        identifiers(generator.parse().unwrap_or_default(), &mut names);
    }
    let runtime = quote!(::unjinja);
    for model in models::all() {
        identifiers(unjinja_codegen::rust::items(model.interpreter.program(), &runtime), &mut names);
        if let Ok(tokens) =
            unjinja_codegen::rust::tool_items(model.interpreter.program(), r#"[{"name": "f"}]"#, &runtime)
        {
            identifiers(tokens, &mut names);
        }
    }
    names.extend(["doc", "mod", "pub", "true", "false", "None", "Some"].map(str::to_owned));
    names
});

/// Reads texts made of the spec's markers with its interpreted parser, in one piece and byte by byte.
fn reads(spec: &FormatSpec, lowered: &Interpreter) -> Result<(), String> {
    let markers = models::markers(spec);
    let ordered = [
        &spec.reasoning.start,
        "Hm.",
        &spec.reasoning.end,
        "Well.",
        &spec.tools.section_start,
        &spec.tools.per_call_start,
        &spec.tools.function.name_prefix,
        models::NAMES[0],
        &spec.tools.function.name_suffix,
        &spec.tools.arguments.start,
        "{\"city\": \"Paris\"}",
        &spec.tools.arguments.end,
        &spec.tools.function.close,
        &spec.tools.per_call_end,
        &spec.tools.section_end,
        &spec.turn.end,
    ]
    .concat()
    .replace(REPEATED_NAME, models::NAMES[0]);
    let parser = lowered.clone();
    let options = Options::new().tools(&models::TOOLS);
    for text in [ordered, markers.concat(), markers.join("x")] {
        let text = &text.as_bytes()[..text.len().min(2048)];
        let whole = Transcript::of(&parser, text, &Cut::Whole, &options);
        if let Some(problem) = whole.disorder() {
            return Err(format!("{problem}\n  text {:?}", text.escape_ascii().to_string()));
        }
        calls_are_json(&whole.message)?;
        for cut in [Cut::Chunks(1), Cut::Random { seed: text.len() as u64 }] {
            let other = Transcript::of(&parser, text, &cut, &options);
            if other != whole {
                let text = text.escape_ascii().to_string();
                return Err(format!("{cut}, {text:?} is read otherwise\n  whole    {whole:?}\n  other    {other:?}"));
            }
        }
    }
    Ok(())
}
