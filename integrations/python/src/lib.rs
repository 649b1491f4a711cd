//! The Python module `unjinja._lib`. The classes that Python sees are in the files of their names; the folder `unjinja/` adds what
//! is better written in Python.
//!
//! There is no global state. A stream can move between threads, and long work is done without the interpreter's lock.

mod batch;
mod bridge;
mod conversation;
mod data;
mod encoded;
mod encoder;
mod error;
mod event;
mod export;
mod grammar;
mod json;
mod keywords;
mod label;
mod lint;
mod loading;
mod message;
mod model;
mod openai;
mod options;
mod prompt;
mod read_back;
mod request;
mod span;
mod stream;
mod token_stream;
mod tokenizer;
mod tools;
mod training;
mod turn;

/// What `import unjinja` is made of.
#[pyo3::pymodule(gil_used = false)]
mod _lib {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        bridge::Decoded,
        encoded::Encoded,
        encoder::Encoder,
        error::{
            BridgeError, EncodeError, GrammarError, LoadError, RenderError, RequestError, ToolsError, UnjinjaError,
        },
        event::Event,
        label::Label,
        lint::{lint, lint_template},
        message::{Message, closed, pickled_message, sentence},
        model::{Model, pickled_model},
        openai::OpenAIChunks,
        read_back::ConversationReader,
        request::Request,
        span::Span,
        stream::Stream,
        token_stream::TokenStream,
        tools::Tools,
    };

    /// Runs the command `unjinja` with these arguments, without the name of the program. Returns the exit code.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
        let name = std::iter::once(std::ffi::OsString::from("unjinja"));
        // Long work, which may also serve requests: other threads continue.
        py.detach(|| unjinja_cli::run(name.chain(arguments)))
    }

    #[pymodule_init]
    fn version(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
