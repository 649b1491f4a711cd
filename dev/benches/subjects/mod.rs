//! The subjects of the benchmarks: the compiled parsers of our own templates, used as an application uses them, and the reference
//! work that they are compared with, which is work on the same bytes that no parser can avoid.

#![allow(dead_code, reason = "each benchmark compiles this on its own")]

use memchr::memmem::Finder;
use serde::de::IgnoredAny;
use unjinja::abi::Machine;
use unjinja::{BorrowedMessage, Event, Message, Options, Program, Stream};

/// A compiled parser.
#[derive(Clone, Copy)]
pub struct Subject {
    /// Name of its template.
    pub name: &'static str,
    /// Parses a whole output.
    pub parse: fn(&str, &Options) -> Message,
    /// Parses a whole output into a message that borrows its texts where possible.
    pub borrow: for<'t> fn(&'t str, &Options) -> BorrowedMessage<'t>,
    /// Pushes an output in pieces of about this many bytes.
    pub stream: fn(&str, usize, &Options, &mut Sink),
    /// The program that it was compiled from.
    pub program: &'static Program,
}

macro_rules! subjects {
    ($($name:ident)*) => {
        /// The parser of each template, in order of their names.
        pub const SUBJECTS: &[Subject] = &[$(Subject {
            name: stringify!($name),
            parse: |output, options| unjinja_app::$name::parse(output, options),
            borrow: |output, options| unjinja_app::$name::parse_borrowed(output, options),
            stream: |output, size, options, sink| stream(unjinja_app::$name::Parser, output, size, options, sink),
            program: &unjinja_app::$name::PROGRAM,
        }),*];
    };
}

// By name and not by `unjinja_app::all()`: an application that knows its model calls its parser directly. A test compares the list
// with `templates/`.
subjects! {
    arg_key_value args_marker array_in_tag bare_json call_id_marker cdata channels closing_names counted_ids
    delimiter_reasoning empty_block fenced_json function_tag functools hermes id_in_array indexed_ids invoke
    labelled_answer lines_of_calls message_headers name_as_key name_tags named_ids nested_json no_tools open_sections
    prefixed_elements python_calls python_dict python_values quote_tokens qwen3 reasoning_only recipients role_messages
    section_tags self_addressed twice_named typed_arguments typed_parameters wrapped_with_calls xml_parameters
}

/// The parser of this name.
pub fn subject(name: &str) -> Option<Subject> {
    SUBJECTS.iter().copied().find(|subject| subject.name == name)
}

/// What an application does with a stream: it appends each delta to a text.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    pub reasoning: String,
    pub content: String,
    pub arguments: Vec<String>,
}

impl Sink {
    /// Appends one event.
    pub fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Reasoning(text) => self.reasoning.push_str(text),
            Event::Content(text) => self.content.push_str(text),
            Event::ToolCallStart { .. } => self.arguments.push(String::new()),
            Event::ToolCallArguments { index, json } => {
                if let Some(arguments) = self.arguments.get_mut(*index) {
                    arguments.push_str(json);
                }
            }
            _ => {}
        }
    }
}

/// Pushes an output in pieces of about this many bytes.
pub fn stream<M: Machine>(machine: M, output: &str, size: usize, options: &Options, sink: &mut Sink) {
    let mut stream = Stream::new(machine, options);
    for piece in pieces(output, size) {
        stream.push(piece, |event| sink.take(&event));
    }
    stream.finish(|event| sink.take(&event));
}

/// A text in pieces of at least `size` bytes, cut between characters, because `String::push_str` accepts only whole ones.
pub fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, more) = rest.split_at(end);
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Reference work for streams: appends the same pieces to one text.
pub fn push_str(output: &str, size: usize) -> String {
    let mut text = String::new();
    for piece in pieces(output, size) {
        text.push_str(piece);
    }
    text
}

/// Reference work for text: for each marker that the parser searches for, one pass over the same bytes.
pub struct Passes {
    finders: Vec<Finder<'static>>,
}

impl Passes {
    pub fn new(markers: &[String]) -> Self {
        Self { finders: markers.iter().map(|marker| Finder::new(marker).into_owned()).collect() }
    }

    pub fn run(&self, text: &str) -> usize {
        self.finders.iter().map(|finder| finder.find_iter(text.as_bytes()).count()).sum()
    }
}

/// Reference work for arguments: reads the same JSON once and keeps nothing.
pub fn ignored(arguments: &[String]) -> usize {
    arguments.iter().filter(|text| serde_json::from_str::<IgnoredAny>(text).is_ok()).count()
}
