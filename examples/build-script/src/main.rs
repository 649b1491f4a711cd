//! Reads a model's output with a parser that the build script compiled from `templates/wren.jinja`.
//!
//! ```text
//! cargo run -p example-build-script < examples/build-script/output.txt
//! ```
//!
//! The application links the parser and the runtime, and no template engine: only the build script has one.

use std::error::Error;
use std::io::Read;

use unjinja::{Event, Message, Options};

/// A module for each template, and `all()`, which lists their parsers.
mod parsers {
    include!(concat!(env!("OUT_DIR"), "/unjinja.rs"));
}

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<&str> = parsers::all().iter().map(|parser| &*parser.info().name).collect();
    println!("compiled: {}", names.join(", "));

    // As the output arrives: whatever is read is parsed at once.
    let mut stream = parsers::wren::stream(&Options::new());
    let mut message = Message::default();
    let mut show = |event: Event<'_>| {
        if let Event::ToolCallStart { name, .. } = &event {
            println!("a call of {name} begins");
        }
        message.apply(&event);
    };
    let (mut input, mut piece) = (std::io::stdin().lock(), [0; 16]);
    loop {
        match input.read(&mut piece)? {
            0 => break,
            read => stream.push(&piece[..read], &mut show),
        }
    }
    stream.finish(&mut show);

    println!("reasoning: {}", message.reasoning_content);
    println!("content: {}", message.content);
    for call in &message.tool_calls {
        println!("call: {} {}", call.name, call.arguments);
    }
    Ok(())
}
