//! The main job: a chat template, the format spec that it was turned into, and a model's output that the compiled
//! parser reads while it arrives.
//!
//! ```text
//! cargo run --release --example parse
//! cargo run --release --example parse -- NAME FILE    # another template of templates/, an output of your own
//! ```

use std::error::Error;
use std::path::Path;

use unjinja::{ChatParser, Event, Message, Options, Tools};

const OUTPUT: &str = include_str!("output.txt");
const TOOLS: &str = include_str!("tools.json");

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "qwen3".to_owned());
    let output = match arguments.next() {
        Some(file) => std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?,
        None => OUTPUT.to_owned(),
    };
    // An editor ends files with a line break that the model did not write.
    let output = output.strip_suffix('\n').unwrap_or(&output);
    let parsers = unjinja_app::all();
    let names: Vec<&str> = parsers.iter().map(|parser| &*parser.info().name).collect();
    let parser = parsers.iter().find(|parser| parser.info().name == name);
    let parser = *parser.ok_or_else(|| format!("no parser is called {name:?}; there are {}", names.join(", ")))?;

    let file = parser.info().files.first().ok_or("the parser names no template")?;
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates").join(&**file);
    let spec = Path::new(unjinja_app::SPECS).join(format!("{name}.toml"));
    println!("{} templates of templates/ are compiled in; this is {name}.\n", parsers.len());
    heading("template");
    print!("{}", excerpt(&std::fs::read_to_string(template)?));
    heading("spec, derived from it alone");
    print!("{}", in_short(&std::fs::read_to_string(spec)?));
    heading("a model's output");
    println!("{output}");
    heading("as it arrives, 12 bytes at a time");
    let message = stream(parser, output)?;
    heading("message");
    println!("{}", serde_json::to_string_pretty(&message)?);
    Ok(())
}

fn heading(text: &str) {
    println!("── {text} {}", "─".repeat(60_usize.saturating_sub(text.chars().count())));
}

/// The part of a template that writes tool calls, as far as it is easily found.
fn excerpt(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.iter().rposition(|line| line.contains("tool_calls")).unwrap_or(0);
    let shown = lines.iter().skip(from).take(8).map(|line| format!("{line}\n"));
    shown.chain(["  …\n".to_owned()]).collect()
}

/// The tables of a spec that a reader of outputs cares about.
fn in_short(spec: &str) -> String {
    let mut shown = false;
    let kept = spec.lines().filter(|line| {
        if let Some(table) = line.strip_prefix('[') {
            shown = ["reasoning", "content", "tools"].iter().any(|wanted| table.starts_with(wanted));
        }
        shown && !line.is_empty()
    });
    kept.map(|line| format!("{line}\n")).collect()
}

fn stream(parser: &dyn ChatParser, output: &str) -> Result<Message, Box<dyn Error>> {
    let options = Options::new().tools(&Tools::from_json(TOOLS)?).thinking(true);
    let mut message = Message::default();
    let mut show = |event: Event<'_>| {
        match &event {
            Event::Reasoning(text) => println!("reasoning  {text:?}"),
            Event::Content(text) => println!("content    {text:?}"),
            Event::ToolCallStart { index, name, .. } => println!("call {index}     {name}"),
            Event::ToolCallArguments { index, json } => println!("call {index}       {json:?}"),
            Event::ToolCallEnd { index, complete } => {
                println!("call {index}     {}", if *complete { "complete" } else { "cut short" });
            }
            other => println!("{other:?}"),
        }
        message.apply(&event);
    };
    let mut parse = parser.stream(&options);
    for piece in output.as_bytes().chunks(12) {
        parse.push_bytes(piece, &mut show);
    }
    parse.finish(&mut show);
    Ok(message)
}
