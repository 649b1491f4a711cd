//! The WebAssembly module of the npm package `unjinja`. What an application calls is JavaScript, in `lib/`; this is what stands
//! behind it.
//!
//! The module imports nothing and has no state but its own memory. `exports` has the functions that JavaScript calls, with
//! texts and bytes in two buffers (`buffers`): no library of bindings is needed for so few. `operations` finds the operation of a
//! call by its name; `arguments` reads what it was given, `failure` says why it failed. A `turn` is a stream, and `chunks` write
//! what a stream reads in the forms of OpenAI and Anthropic. JavaScript holds objects by number (`objects`).
//!
//! Nothing here may panic on any input: a panic ends the instance, and with it all objects.

mod arguments;
#[cfg(feature = "full")]
mod checks;
mod chunks;
#[cfg(feature = "full")]
mod explaining;
mod exports;
mod failure;
#[cfg(feature = "full")]
mod grammars;
mod loading;
mod messages;
mod objects;
mod operations;
mod options;
mod prompts;
mod turn;
#[cfg(feature = "full")]
mod utf16;
