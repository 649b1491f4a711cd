//! Renders chat templates exactly as Hugging Face's `apply_chat_template` does.
//!
//! A chat template is a Jinja template in a model's `tokenizer_config.json`, or in a file next to it, that turns messages
//! into the model's prompt. Its reference implementation is Python's Jinja2 with the settings of the `transformers`
//! library. This crate gives the same text, byte for byte, without Python.
//!
//! ```
//! use unjinja_render::Template;
//!
//! let source = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] | trim }}<|end|>{% endfor %}\
//!     {% if add_generation_prompt %}<|assistant|>{% endif %}";
//! let template = Template::parse("chat_template.jinja", source)?;
//! let text = template.render(&serde_json::json!({
//!     "messages": [{ "role": "user", "content": " Hi! " }],
//!     "add_generation_prompt": true,
//! }))?;
//! assert_eq!(text, "<|user|>Hi!<|end|><|assistant|>");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is the same as in Python
//!
//! - **The environment of `apply_chat_template`**: `trim_blocks`, `lstrip_blocks`, loop controls, `{% generation %}`,
//!   `raise_exception`, `strftime_now`, and the `tojson` of transformers. In addition, lists can be changed in place
//!   (`append`) and there is a filter `from_json`, because released templates use both.
//! - **Python's values and operators**: `str` and `repr` of every type, integers and floats, `%` and `str.format`, slices,
//!   the methods of `str`, `list` and `dict`, the order of dicts.
//! - **Jinja2's filters, tests and functions**, except `random` and `lipsum`, which would give another text each time.
//! - **Time**: `strftime_now` tells the time of a [`Clock`], by default a fixed one, so that a text does not depend on the
//!   day.
//!
//! There is only one template: `include`, `import` and `extends` are errors.
//!
//! # Templates of strangers
//!
//! A template may be hostile. [`Limits`] bound its steps, its output, the memory of its values and its depth; a render that
//! exceeds one ends in an error of the kind [`RenderErrorKind::Limit`]. No template makes this crate panic or overflow the
//! stack. An error carries the template's name, the line and an excerpt:
//!
//! ```
//! use unjinja_render::{RenderErrorKind, Template};
//!
//! let template = Template::parse("strict.jinja", "\n{{ raise_exception('no system prompt, please') }}")?;
//! let error = template.render(&serde_json::json!({})).unwrap_err();
//! assert_eq!((error.kind(), error.line()), (RenderErrorKind::Raised, 2));
//! assert_eq!(error.message(), "no system prompt, please");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a template reads
//!
//! [`Template::variables`] lists the variables that a template expects. [`Template::render_with`] records which parts of
//! the context a render looked at ([`Reads`]), whether they were there or not.
//!
//! # Where the text comes from
//!
//! A labelled render ([`RenderOptions::label`]) tells for each byte of its text whether it is template text or was written
//! from a field of the context, and how that field was encoded ([`Labels`]).
//!
//! # Where there are no threads
//!
//! Parsing and rendering recurse as deep as a template nests. A render first runs on the calling thread, where it may use
//! up to 96 KiB of stack (512 KiB in a debug build). That is enough for all templates of released models that we know.
//! Only a render that nests deeper is done again on a thread with a stack of 64 MiB; so is all parsing.
//!
//! Where no thread can be started, as on `wasm32-unknown-unknown`, or inside of [`without_threads`], everything runs on the
//! calling thread, within smaller bounds: 100 `elif`s in one `if`, 1,000 tokens in one tag, 40 open blocks and brackets,
//! 80 levels of the syntax tree and 80 levels of evaluation. A template that needs more ends in an error. The default
//! stack of WebAssembly, 1 MiB, holds all of that.
//!
//! # It switches on `serde_json/preserve_order`
//!
//! `tojson` writes the keys of an object in the order in which they were inserted, as Python does. So this crate enables
//! the feature `preserve_order` of `serde_json`. Cargo unites features: an application that links this crate has it on for
//! all its uses of `serde_json`. Objects then keep their order when they are parsed and written; reading and writing JSON
//! otherwise stays the same.

// The layers, lowest first; a file imports only from files below it:
// `error`, `limits`, `clock`, `reads`, `labels`, `stack`: small and independent. `follows`: messages as transformers hands them over.
// `marks`: what labels are during a render. `run`: the accounts of one render.
// `syntax`: source to syntax tree; `syntax/parser.rs` is the only file that knows minijinja.
// `value`: Python's values. `operators`: what Python's operators do with them. `builtins`: filters, tests, methods.
// `eval`: walks the syntax tree. `template`: the public interface.

mod builtins;
mod clock;
mod error;
mod eval;
mod follows;
mod labels;
mod limits;
mod marks;
mod operators;
mod reads;
mod run;
mod stack;
mod syntax;
mod template;
mod value;

pub use crate::clock::Clock;
pub use crate::error::{RenderError, RenderErrorKind, SourcePosition, TemplateError};
pub use crate::follows::Follows;
pub use crate::labels::{Encoding, Field, FieldPart, Labels, LoopItem, Origin, Span};
pub use crate::limits::Limits;
pub use crate::reads::Reads;
pub use crate::stack::{Panicked, with_big_stack, without_threads};
pub use crate::template::{RenderOptions, Rendered, SpecialTokens, Template};

/// The example of the README, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
