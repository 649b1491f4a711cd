//! The `unjinja` command line: chat templates in; specs, parsers and messages out.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

mod analyze;
mod check;
mod codegen;
mod diagram;
mod diff;
mod explain;
mod failure;
#[cfg(feature = "fetch")]
mod fetch;
mod grammar;
#[cfg(feature = "fetch")]
mod hub;
mod input;
mod list;
mod log;
// Without `fetch` it only says whose templates are.
#[cfg_attr(not(feature = "fetch"), allow(dead_code))]
mod manifest;
mod models;
mod output;
mod parse;
mod render;
mod report;
mod ui;
mod verify;
mod visible;
mod whose;

use failure::{Done, Failure};
use ui::{BAD, Ui, paint};

/// Compiles parsers for the output of language models from their chat templates.
#[derive(Parser)]
#[command(
    name = "unjinja",
    version,
    arg_required_else_help = true,
    after_help = "A template is a .jinja, tokenizer_config.json, chat_template.json or GGUF file; FILE#NAME is one of several named templates in a file, - is standard input.\n\nExit codes: 0 fine; 1 a difference or a failure was found; 2 wrong usage or unreadable input."
)]
struct Cli {
    #[command(flatten)]
    color: colorchoice_clap::Color,
    /// Print results and errors alone.
    #[arg(short, long, global = true)]
    quiet: bool,
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

/// A switch.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Subcommand)]
enum Command {
    /// Derive format specs from chat templates.
    #[command(
        after_help = "Examples:\n  unjinja analyze templates/qwen3.jinja               # print the spec\n  unjinja analyze templates -o generated/specs        # write one spec a template\n  unjinja analyze model.gguf 'tokenizer_config.json#tool_use' -o specs"
    )]
    Analyze(analyze::Arguments),
    /// Make specs again and compare them with the committed ones.
    #[command(
        after_help = "Examples:\n  unjinja check templates --specs specs                    # what changed, and does it break?\n  unjinja check templates --specs specs --write            # take it over\n  unjinja check templates --specs specs --format github    # annotations in a workflow\n  unjinja check templates --specs specs --format markdown >> \"$GITHUB_STEP_SUMMARY\""
    )]
    Check(check::Arguments),
    /// Say what changed between two specs, and whether it breaks parsers.
    #[command(after_help = "Example:\n  unjinja diff old/qwen3.toml new/qwen3.toml --format markdown")]
    Diff(diff::Arguments),
    /// Render random conversations through each template and parse them back.
    #[command(after_help = "Example:\n  unjinja verify templates --count 200 --seed 1,2,3")]
    Verify(verify::Arguments),
    /// Render conversations through chat templates.
    #[command(
        after_help = "Examples:\n  unjinja render templates/qwen3.jinja context.json\n  unjinja render model.gguf < context.json\n  unjinja render --jsonl --templates templates < lines.jsonl"
    )]
    Render(render::Arguments),
    /// Parse a model's output.
    #[command(
        after_help = "Examples:\n  unjinja parse --model Qwen/Qwen3-0.6B < output.txt\n  unjinja parse --template new.jinja --tools tools.json output.txt\n  tail -f output.txt | unjinja parse --model qwen_qwen3_0_6b --stream --format openai\n  unjinja parse --jsonl --models < cases.jsonl"
    )]
    Parse(parse::Arguments),
    /// Print the grammar that a sampler can hold a model to.
    #[command(
        after_help = "Examples:\n  unjinja grammar --model qwen_qwen3_0_6b --tools tools.json --tool-choice required\n  unjinja grammar --template new.jinja --diagram grammar.svg\n  unjinja grammar --jsonl --models < cases.jsonl"
    )]
    Grammar(grammar::Arguments),
    /// Print the Rust of a spec or a template, or write the modules of a folder of specs.
    #[command(
        after_help = "Examples:\n  unjinja codegen templates/qwen3.jinja\n  unjinja codegen --specs generated/specs --out generated/src/models"
    )]
    Codegen(codegen::Arguments),
    /// Show what an analysis saw, and what each byte of an output is taken for.
    #[command(
        after_help = "Examples:\n  unjinja explain templates/qwen3.jinja --color always | less -R\n  unjinja explain templates/qwen3.jinja --output output.txt --show output\n  unjinja explain templates/qwen3.jinja --output output.txt --tools tools.json --html page.html"
    )]
    Explain(explain::Arguments),
    /// Get the templates of a manifest from the Hugging Face Hub.
    #[cfg(feature = "fetch")]
    #[command(
        after_help = "The manifest lists templates:\n\n  [[source]]\n  name = \"command_r_plus_tool_use\"       # of the spec\n  repo = \"CohereForAI/c4ai-command-r-plus\"\n  revision = \"main\"                      # a branch, a tag or a commit; this is the default\n  file = \"tokenizer_config.json\"         # by default the file that the model keeps its template in\n  template = \"tool_use\"                  # one of several named templates\n  save_as = \"command-r-plus.jinja\"       # by default NAME.jinja\n  eos_token = \"<|END_OF_TURN_TOKEN|>\"    # and bos_token: for analyze and check, as a .jinja file does not say them\n\nExamples:\n  unjinja fetch --manifest generated/sources.toml --out hub          # all\n  unjinja fetch --manifest generated/sources.toml --out hub qwen_qwen3_0_6b\n  HF_TOKEN=hf_… unjinja fetch --out hub                              # models that ask for a licence\n  unjinja fetch --out hub && unjinja check hub --specs specs --sources sources.toml\n\nHF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_CACHE mean what they mean to the Hub's other clients."
    )]
    Fetch(fetch::Arguments),
    /// List the models whose parsers are compiled in, or the specs of a folder.
    #[command(after_help = "Examples:\n  unjinja list\n  unjinja list --specs generated/specs   # a Markdown table")]
    List {
        /// The specs of this folder instead, as a Markdown table or as JSON.
        #[arg(long, value_name = "DIR")]
        specs: Option<PathBuf>,
        /// How to print.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
    },
    /// Print the completions for a shell.
    #[command(
        after_help = "Examples:\n  unjinja completions bash > ~/.local/share/bash-completion/completions/unjinja\n  unjinja completions zsh > ~/.zfunc/_unjinja\n  unjinja completions fish > ~/.config/fish/completions/unjinja.fish"
    )]
    Completions {
        /// The shell.
        shell: Shell,
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
    cli.color.write_global();
    match run(&cli.command, Ui { quiet: cli.quiet }) {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            // Some messages are framed excerpts, which begin in this way.
            let text = failure.to_string();
            let text = visible::lines(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
            anstream::eprintln!(
                "{} {}",
                paint(BAD, "error:"),
                text.replace("\nerror: ", &format!("\n{} ", paint(BAD, "error:")))
            );
            ExitCode::from(failure.code())
        }
    }
}

fn run(command: &Command, ui: Ui) -> Done {
    match command {
        Command::Analyze(arguments) => analyze::run(arguments, ui),
        Command::Check(arguments) => check::run(arguments, ui),
        Command::Diff(arguments) => diff::run(arguments, ui),
        Command::Verify(arguments) => verify::run(arguments, ui),
        Command::Render(arguments) => render::run(arguments),
        Command::Parse(arguments) => parse::run(arguments, ui),
        Command::Grammar(arguments) => grammar::run(arguments),
        Command::Codegen(arguments) => codegen::run(arguments, ui),
        Command::Explain(arguments) => explain::run(arguments),
        #[cfg(feature = "fetch")]
        Command::Fetch(arguments) => fetch::run(arguments, ui),
        Command::List { specs: Some(folder), format } => list::specs(folder, *format),
        Command::List { specs: None, format } => list::models(*format),
        Command::Completions { shell } => {
            // Written at once: a closed pipe is no reason to panic.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "unjinja", &mut script);
            std::io::Write::write_all(&mut std::io::stdout(), &script)?;
            Ok(())
        }
    }
}
