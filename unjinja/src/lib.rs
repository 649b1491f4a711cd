//! Parsers for the output of language models, compiled from their chat templates.
//!
//! A chat template turns messages into the text that a model reads. unjinja derives from the template, at compile time,
//! the parser that turns the model's text back into a message: content, reasoning and tool calls.
//!
//! ```
//! mod hermes {
//!     unjinja::include_template_parser!("../templates/hermes.jinja");
//! }
//!
//! let output = "One moment.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {\"zone\": \"UTC\"}}\n</tool_call>";
//! let message = hermes::parse(output, &unjinja::Options::new());
//! assert_eq!(message.content, "One moment.");
//! assert_eq!(message.tool_calls[0].name, "now");
//! assert_eq!(message.tool_calls[0].arguments, "{\"zone\": \"UTC\"}");
//! ```
//!
//! No input makes a parser fail, panic or lose text: what does not fit the format is returned as content, with a
//! diagnostic.
//!
//! # Streaming
//!
//! A model's text arrives in pieces. Push each piece as it comes, and handle the [`Event`]s. However the text is cut, the
//! events add up to the message that [`parse`] returns for the whole text.
//!
//! ```
//! # mod hermes { unjinja::include_template_parser!("../templates/hermes.jinja"); }
//! use unjinja::{Event, Message, Options, Tools};
//!
//! let tools = Tools::from_json(r#"[{"type": "function", "function": {"name": "now", "parameters": {}}}]"#)?;
//! let options = Options::new().tools(&tools);
//!
//! let mut message = Message::default();
//! let mut names = Vec::new();
//! let mut stream = hermes::stream(&options);
//! for piece in ["<tool_", "call>\n{\"name\": \"no", "w\", \"arguments\": {}}\n</tool", "_call>"] {
//!     stream.push(piece, |event| {
//!         if let Event::ToolCallStart { name, .. } = &event {
//!             names.push(name.to_string());
//!         }
//!         message.apply(&event);
//!     });
//! }
//! stream.finish(|event| message.apply(&event));
//! assert_eq!(names, ["now"]);
//! assert_eq!(message.tool_calls[0].arguments, "{}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Four ways to get a parser
//!
//! **1. The macro** compiles a template that is part of your crate, as above. The path is relative to the crate's root, or
//! else to its folder `templates/`. See [`include_template_parser!`]; [`include_spec_parser!`] does the same from a
//! committed format spec.
//!
//! **2. A build script** compiles a folder of templates: call `unjinja_build::compile_templates("templates")` in
//! `build.rs`, with the crate `unjinja-build`.
//!
//! **3. Ready-made parsers** for the supported models are in the crate `unjinja-generated`: a module and a cargo feature
//! for each, and a registry that finds a parser by the model's name or by the text of its template.
//!
//! ```
//! use unjinja::Options;
//!
//! let parser = unjinja_generated::by_name("Qwen/Qwen3-0.6B").ok_or("not compiled in")?;
//! let message = parser.parse("<think>\nHm.\n</think>\n\nHello!".into(), &Options::new());
//! assert_eq!(message.reasoning_content, "Hm.");
//! assert_eq!(message.content, "Hello!");
//! # Ok::<(), &str>(())
//! ```
//!
//! **4. The command line** (`cargo install unjinja-cli`) shows what was derived from a template, and parses an output
//! without any code: `unjinja parse --template qwen3.jinja output.txt`.
//!
//! # Grammars
//!
//! A sampler that is constrained by a grammar writes only calls that the parser reads. With the feature `grammar`, which is
//! on by default, every parser writes one in GBNF for llama.cpp, with the JSON schemas of the tools in it.
//!
//! ```
//! # mod hermes { unjinja::include_template_parser!("../templates/hermes.jinja"); }
//! use unjinja::{GrammarExt, GrammarOptions, ToolChoice, Tools};
//!
//! let tools = Tools::from_json(r#"[{"type": "function", "function": {"name": "now", "parameters": {}}}]"#)?;
//! let options = GrammarOptions::new().tool_choice(ToolChoice::Required);
//! let grammar = hermes::Parser.grammar(&tools, &options)?;
//! assert!(grammar.text.starts_with("root ::="));
//! assert_eq!(grammar.stops, ["<|im_end|>"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! - `grammar` (on by default): grammars, as above, and the constants `GRAMMAR` and `TOOL_GRAMMAR` of the macros. Without it
//!   nothing compiles the grammar crate.
//! - `macros` (on by default): the macros. Without it this crate is the runtime alone, which is all that code from a
//!   build script or from `unjinja-generated` needs.
//! - `types`: typed calls, the option `types = true` of the macros and `Message::typed_calls`, which reads calls as values of
//!   an enum with a variant for each tool. Without it nothing of this is compiled.
//! - `futures`: `EventStream`, the events of an output that arrives asynchronously, as a `futures_core::Stream`.
//! - `testing`: `testing::Case`, which checks a parser on an output that is cut at every place.

#[doc(hidden)]
pub use unjinja_runtime::abi;
#[cfg(feature = "testing")]
pub use unjinja_runtime::testing;
pub use unjinja_runtime::{
    BorrowedMessage, BorrowedToolCall, Channel, ChatParser, ChatStream, Chunk, CutCalls, Diagnostic, DiagnosticKind,
    Entry, Event, Interpreter, Message, ModelInfo, Options, OwnedEvent, Part, PartOrder, Program, Stream, Token,
    TokenCounts, Tool, ToolCall, Tools, ToolsError, ToolsProblem, Trigger, Types, Unparsed, close_json, parse,
    parse_borrowed, python_to_json,
};

#[cfg(feature = "futures")]
pub use unjinja_runtime::EventStream;
#[cfg(feature = "types")]
pub use unjinja_runtime::{TypedCallError, TypedCallProblem};

#[cfg(feature = "grammar")]
pub use unjinja_grammar::{
    Grammar, GrammarError, GrammarExt, GrammarOptions, Integers, SpecialToken, Target, ToolChoice,
};

#[cfg(feature = "macros")]
pub use unjinja_macros::{include_spec_parser, include_template_parser};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
