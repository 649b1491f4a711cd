//! The `unjinja` command line: chat templates in; specs, parsers and messages out.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

mod analyze;
mod check;
mod codegen;
mod diagram;
mod explain;
mod failure;
mod grammar;
mod input;
mod list;
mod log;
mod models;
mod parse;
mod render;
mod verify;

use failure::{Done, Failure};

/// Compiles parsers for the output of language models from their chat templates.
#[derive(Parser)]
#[command(name = "unjinja", version, about, arg_required_else_help = true)]
struct Cli {
    /// Tell of each comparison of an analysis as it is made; `UNJINJA_LOG=1` does the same.
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Human,
    /// JSON, one document.
    Json,
}

#[derive(Subcommand)]
enum Command {
    /// Derive format specs from chat templates.
    #[command(after_help = "Example:\n  unjinja analyze templates -o generated/specs")]
    Analyze {
        /// Template files, or folders of them.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Write each spec to NAME.toml in this folder.
        #[arg(short, long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// A table of `file<TAB>source` lines that says where templates come from.
        #[arg(long, value_name = "FILE")]
        sources: Option<PathBuf>,
        /// How to print.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
    },
    /// Parse a model's output.
    #[command(
        after_help = "Examples:\n  unjinja parse --template templates/qwen3.jinja < output.txt\n  unjinja parse --jsonl --models < cases.jsonl"
    )]
    Parse(parse::Arguments),
    /// Render conversations through chat templates.
    #[command(
        after_help = "Examples:\n  unjinja render templates/qwen3.jinja < context.json\n  unjinja render --jsonl --templates templates < lines.jsonl"
    )]
    Render(render::Arguments),
    /// Print the Rust of a spec or a template, or write the modules of a folder of specs.
    #[command(
        after_help = "Examples:\n  unjinja codegen templates/qwen3.jinja\n  unjinja codegen --specs generated/specs --out generated/src/models"
    )]
    Codegen(codegen::Arguments),
    /// Print the grammar that a sampler can hold a model to.
    #[command(
        after_help = "Examples:\n  unjinja grammar --model qwen_qwen3_0_6b --tools tools.json --tool-choice required\n  unjinja grammar --jsonl --models < cases.jsonl"
    )]
    Grammar(grammar::Arguments),
    /// Show what an analysis saw and concluded, what a spec means, and what each byte of an output is taken for.
    #[command(
        after_help = "Examples:\n  unjinja explain templates/qwen3.jinja | less -R\n  unjinja explain templates/qwen3.jinja --output output.txt --tools tools.json --html page.html"
    )]
    Explain(explain::Arguments),
    /// Render random conversations through each template and parse them back.
    #[command(after_help = "Example:\n  unjinja verify templates --count 200 --seed 1,2,3")]
    Verify(verify::Arguments),
    /// Make specs again and compare them with the committed ones; ends with 1 where something differs.
    #[command(after_help = "Example:\n  unjinja check templates --specs generated/specs")]
    Check(check::Arguments),
    /// List the models whose parsers are compiled in.
    #[command(after_help = "Examples:\n  unjinja list\n  unjinja list --specs generated/specs   # a Markdown table")]
    List {
        /// Print the Markdown table of this folder of specs instead.
        #[arg(long, value_name = "DIR")]
        specs: Option<PathBuf>,
        /// How to print.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
    },
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    log::begin(cli.verbose);
    let result: Done = match cli.command {
        Command::Analyze { paths, out, sources, format } => {
            analyze::run(&paths, out.as_deref(), sources.as_deref(), format == Format::Json)
        }
        Command::Parse(arguments) => parse::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Codegen(arguments) => codegen::run(&arguments),
        Command::Grammar(arguments) => grammar::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::List { specs: Some(folder), .. } => list::table(&folder),
        Command::List { specs: None, format } => list::run(format == Format::Json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            // Some messages are framed excerpts, which begin in this way.
            let text = failure.to_string();
            eprintln!("error: {}", text.strip_prefix("error: ").unwrap_or(&text).trim_end());
            ExitCode::from(failure.code())
        }
    }
}
