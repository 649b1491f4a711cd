//! `unjinja parse`: parses a model's output and prints the message, whole or as it arrives.

use std::io::Read;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use unjinja_grammar::{GrammarError, ToolChoice};
use unjinja_runtime::{ChatParser, Event, Options, Unparsed};
use unjinja_server::CallIds;

use crate::arguments::{CutArgs, Switch};
use crate::failure::{Done, Failure};
use crate::input;
use crate::parser_args::ReaderArgs;
use crate::tool_choice::{self, ChoiceArgs};
use crate::ui::Ui;

mod lines;
mod show;

#[cfg(test)]
pub(crate) use show::ParsedDocument;
use show::{Answer, Show};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The model's output; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-", conflicts_with = "jsonl")]
    output: PathBuf,
    #[command(flatten)]
    reader: ReaderArgs,
    /// The tools that were offered to the model: a JSON file in OpenAI's form.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// The value of the template's thinking switch.
    #[arg(long, value_enum)]
    thinking: Option<Switch>,
    /// The part of the assistant's turn that the prompt already contains.
    #[arg(long, value_name = "TEXT")]
    generation_prompt: Option<String>,
    /// Leave the reasoning in the content, with its markers.
    #[arg(long)]
    keep_reasoning: bool,
    /// Take calls in reasoning that is still open for text. Without it, a call ends the reasoning.
    #[arg(long)]
    no_calls_in_reasoning: bool,
    /// Where broken markup goes: into the content, or into a part of its own. A call that the request does not allow is broken
    /// markup, with a diagnostic.
    #[arg(long, value_enum, default_value = "content", value_name = "WHERE")]
    unparsed: Where,
    #[command(flatten)]
    cut: CutArgs,
    #[command(flatten)]
    choice: ChoiceArgs,
    /// Print each piece as soon as it arrives.
    #[arg(long)]
    stream: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: ParseFormat,
    /// Read cases, one JSON object per line; write lines `{"id", "message", "diagnostics"}`.
    #[arg(long, conflicts_with_all = ["model", "template", "spec", "overlay", "tools", "thinking", "generation_prompt", "stream", "format", "keep_reasoning", "no_calls_in_reasoning", "unparsed", "cut_calls", "tool_choice", "no_parallel"])]
    jsonl: bool,
    /// With --jsonl: analyse the templates in this folder, with their overlays, and interpret the specs.
    #[arg(long, value_name = "DIR", requires = "jsonl", conflicts_with = "models")]
    templates: Option<PathBuf>,
    /// With --jsonl: use the supported model whose template has the file name that the line gives.
    #[arg(long, requires = "jsonl")]
    models: bool,
}

/// Where broken markup goes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Where {
    /// Into the content, as the model wrote it.
    Content,
    /// Into a part of its own.
    Separate,
}

/// How a message is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ParseFormat {
    /// For people.
    Human,
    /// JSON: one document, or with --stream one line for each event.
    Json,
    /// What an OpenAI-compatible server would answer: a chat.completion, or with --stream lines of chat.completion.chunk.
    Openai,
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    if arguments.jsonl {
        return match (&arguments.templates, arguments.models) {
            (Some(folder), _) => lines::of_folder(folder),
            (None, true) => lines::of_models(),
            (None, false) => Err(Failure::Input("--jsonl needs --templates DIR or --models".to_owned())),
        };
    }
    input::one_stdin(arguments.reader.template(), &arguments.output, "the model's output")?;
    let options = options(arguments)?;
    let (parser, mut show): (_, Box<dyn Show>) = match arguments.format {
        ParseFormat::Human => (arguments.reader.parser()?, Box::new(show::Human::new(arguments.stream, ui))),
        ParseFormat::Json if arguments.stream => (arguments.reader.parser()?, Box::new(show::Events)),
        ParseFormat::Json => (arguments.reader.parser()?, Box::new(show::Document::default())),
        ParseFormat::Openai => {
            let (parser, spec) = arguments.reader.parser_and_spec()?;
            let answer = Answer::new(&parser.info().name, CallIds::of(&spec));
            let show: Box<dyn Show> = match arguments.stream {
                true => Box::new(show::Chunks::new(answer)),
                false => Box::new(show::Completion::new(answer)),
            };
            (parser, show)
        }
    };
    feed(&parser, arguments, &options, show.as_mut())?;
    show.end()
}

fn options(arguments: &Arguments) -> Result<Options, Failure> {
    let mut options =
        Options::new().extract_reasoning(!arguments.keep_reasoning).parallel_tool_calls(arguments.choice.parallel());
    options = options.calls_end_reasoning(!arguments.no_calls_in_reasoning).cut_calls(arguments.cut.cut_calls());
    if arguments.unparsed == Where::Separate {
        options = options.unparsed(Unparsed::Separate);
    }
    let choice = arguments.choice.choice();
    if let Some(path) = &arguments.tools {
        let tools = input::tools(path)?;
        if let ToolChoice::Named(name) = &choice
            && tools.get(name).is_none()
        {
            return Err(Failure::Found(GrammarError::UnknownTool(name.clone()).to_string()));
        }
        options = options.tools(&tools);
    }
    options = tool_choice::kept(options, choice);
    if let Some(switch) = arguments.thinking {
        options = options.thinking(switch == Switch::On);
    }
    if let Some(prompt) = &arguments.generation_prompt {
        options = options.generation_prompt(prompt);
    }
    Ok(options)
}

/// Parses the output. With `--stream` each piece is shown before the next is awaited.
fn feed(parser: &dyn ChatParser, arguments: &Arguments, options: &Options, show: &mut dyn Show) -> Done {
    let mut input: Box<dyn Read> = if arguments.output.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(&arguments.output).map_err(|e| Failure::file(&arguments.output, e))?)
    };
    if !arguments.stream {
        let mut output = Vec::new();
        input.read_to_end(&mut output).map_err(|e| Failure::file(&arguments.output, e))?;
        let mut message = parser.parse(output.as_slice().into(), options);
        message.note_missing(parser.program(), options);
        return show.message(&message);
    }
    let mut done = Ok(());
    let mut sink = |event: Event<'_>| {
        if done.is_ok() {
            done = show.event(&event);
        }
    };
    let mut stream = parser.stream(options);
    let mut piece = vec![0; 4096];
    loop {
        match input.read(&mut piece).map_err(|e| Failure::file(&arguments.output, e))? {
            0 => break,
            read => stream.push_bytes(&piece[..read], &mut sink),
        }
    }
    stream.finish(&mut sink);
    done
}
