//! The command `unjinja`, as a function: the program of this package and the Python package call it. This file defines the
//! subcommands and maps their results to exit codes; each subcommand has a module of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

mod analyze;
mod arguments;
mod check;
mod codegen;
mod diff;
mod doubt;
mod explain;
mod export;
mod failure;
#[cfg(feature = "fetch")]
mod fetch;
mod findings;
mod gaps;
mod grammar;
#[cfg(feature = "fetch")]
mod hub;
mod input;
mod lint;
mod list;
mod log;
// Without `fetch`, only the sources of templates are read from a manifest.
#[cfg_attr(not(feature = "fetch"), allow(dead_code))]
mod manifest;
mod models;
mod output;
mod parse;
mod parser_args;
mod render;
mod report;
#[cfg(test)]
mod schemas;
#[cfg(feature = "serve")]
mod serve;
mod tool_choice;
mod ui;
mod verify;
mod visible;

use arguments::Format;
use failure::{Done, Failure};
use ui::{BAD, Ui, paint};

/// What is the same for all commands.
const HELP: &str = "\
Templates: a .jinja, tokenizer_config.json, chat_template.json or GGUF file; the folder of a model; or the id of a model in the Hub's \
cache, such as Qwen/Qwen3-8B, which `unjinja fetch` downloads. FILE#NAME is one of several named templates; - is standard input.

Spec: the one that --spec or --model names; else the reviewed spec of a supported model with exactly this template; else an analysis. \
analyze, check, verify, explain and lint always analyse.

Overlay: the one that --overlay names; else NAME.overlay.toml next to the spec or the template; else a known one that fits. \
analyze and check name known overlays, and do not apply them.

Exit codes: 0 fine; 1 a difference, a failure, or an unsupported template where support was requested; 2 wrong usage or unreadable \
input.";

/// The heading of the options that all commands have.
const GLOBAL: &str = "Global options";

/// Compiles parsers for the output of language models from their chat templates.
#[derive(Parser)]
#[command(
    name = "unjinja",
    version,
    arg_required_else_help = true,
    after_help = HELP
)]
struct Cli {
    #[command(flatten, next_help_heading = GLOBAL)]
    color: colorchoice_clap::Color,
    /// Print only results and errors.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    quiet: bool,
    /// Print what is done: each comparison of an analysis, or each request. `UNJINJA_LOG=1` does the same.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Derive format specs from chat templates.
    #[command(after_help = "\
Examples:
  unjinja analyze templates/qwen3.jinja               # print the spec
  unjinja analyze templates -o generated/specs        # write one spec per template
  unjinja analyze model.gguf 'tokenizer_config.json#tool_use' -o specs
  unjinja analyze templates --strict > /dev/null      # exit code 1 if something is not supported
  unjinja analyze new.jinja --suggest                 # a draft overlay, if the prompt describes what it does not show")]
    Analyze(analyze::Arguments),
    /// Make the specs again and compare them with the committed ones.
    #[command(after_help = "\
Examples:
  unjinja check templates --specs specs                    # what changed, and what breaks?
  unjinja check templates --specs specs --write            # accept the changes
  unjinja check templates --specs specs --fail-on breaking # fail if deployed parsers break
  unjinja check templates --specs specs --format github    # annotations in a workflow
  unjinja check templates --specs specs --format markdown >> \"$GITHUB_STEP_SUMMARY\"")]
    Check(check::Arguments),
    /// Show what changed between two specs or templates, and whether it breaks parsers.
    #[command(after_help = "\
Examples:
  unjinja diff old/qwen3.toml new/qwen3.toml --format markdown
  unjinja diff old/qwen3.jinja new/qwen3.jinja      # whether they render alike, too")]
    Diff(diff::Arguments),
    /// Render random conversations with each template and parse them back.
    #[command(after_help = "\
Example:
  unjinja verify templates --count 200 --seed 1,2,3")]
    Verify(verify::Arguments),
    /// Render conversations with chat templates.
    #[command(after_help = "\
Examples:
  unjinja render templates/qwen3.jinja context.json
  unjinja render model.gguf < context.json
  unjinja render --jsonl --templates templates < lines.jsonl")]
    Render(render::Arguments),
    /// Parse a model's output into a message.
    #[command(after_help = "\
Examples:
  unjinja parse --model Qwen/Qwen3-0.6B < output.txt
  unjinja parse --template new.jinja --tools tools.json output.txt
  tail -f output.txt | unjinja parse --model qwen_qwen3_0_6b --stream --format openai
  unjinja parse --jsonl --models < cases.jsonl")]
    Parse(parse::Arguments),
    /// Print the grammar to which a sampler can constrain a model.
    #[command(after_help = "\
Examples:
  unjinja grammar --model qwen_qwen3_0_6b --tools tools.json --tool-choice required
  unjinja grammar --jsonl --models < cases.jsonl")]
    Grammar(grammar::Arguments),
    /// Print the Rust of a spec or a template.
    #[command(after_help = "\
Examples:
  unjinja codegen templates/qwen3.jinja
  unjinja codegen --model Qwen/Qwen3-0.6B")]
    Codegen(codegen::Arguments),
    /// Show what an analysis saw, what a spec means, and how each byte of an output is read.
    #[command(after_help = "\
Examples:
  unjinja explain templates/qwen3.jinja --color always | less -R
  unjinja explain templates/qwen3.jinja --output output.txt --show output
  unjinja explain templates/qwen3.jinja --output output.txt --tools tools.json --html page.html")]
    Explain(explain::Arguments),
    /// Find faults of chat templates, each with the smallest conversation that shows it.
    #[command(after_help = "\
Every finding has the smallest conversation that shows it, which `unjinja render --as jinja2` takes. docs/lint.md lists the rules. `{# unjinja-lint: allow RULE #}` in a template allows a rule.

Examples:
  unjinja lint chat_template.jinja
  unjinja lint --explain null-content
  unjinja lint chat_template.jinja --diff                   # what --fix would change
  unjinja lint model/ --level warning                       # without notes
  unjinja lint model.gguf --rule null-content --rule call-dropped
  unjinja lint tokenizer_config.json --allow system-role --strict --format github

Exit codes: 0 no errors; 1 errors, or warnings with --strict; 2 wrong usage or unreadable input.")]
    Lint(lint::Arguments),
    /// Make a response template, or a chat template for training.
    #[command(after_help = "\
A response template is a key of tokenizer_config.json. What its language cannot express is printed as a loss with an output that shows it; the exit code is then 1.

Examples:
  unjinja export tokenizer_config.json --for transformers > response_template.json
  unjinja export tokenizer_config.json --for transformers --store-in tokenizer_config.json
  unjinja export chat_template.jinja --for transformers --count 1000 --format json
  unjinja export chat_template.jinja --for training")]
    Export(export::Arguments),
    /// Download templates from the Hugging Face Hub: of models, or those of a manifest.
    #[cfg(feature = "fetch")]
    #[command(after_help = "\
A manifest lists templates:

  [[source]]
  name = \"command_r_plus_tool_use\"       # of the spec
  repo = \"CohereForAI/c4ai-command-r-plus\"
  revision = \"main\"                      # a branch, a tag or a commit; this is the default
  file = \"tokenizer_config.json\"         # by default the file in which models keep their template
  template = \"tool_use\"                  # one of several named templates
  save_as = \"command-r-plus.jinja\"       # by default NAME.jinja
  eos_token = \"<|END_OF_TURN_TOKEN|>\"    # and bos_token: for analyze and check; a .jinja file has none

Examples:
  unjinja fetch Qwen/Qwen3-8B                                        # to the Hub's cache; then `unjinja analyze Qwen/Qwen3-8B`
  unjinja fetch Qwen/Qwen3-8B --out templates                        # templates/Qwen-Qwen3-8B.jinja
  unjinja fetch --manifest generated/sources.toml --out hub          # all
  unjinja fetch --manifest generated/sources.toml --out hub qwen_qwen3_0_6b
  HF_TOKEN=hf_… unjinja fetch --out hub                              # models with a licence
  unjinja fetch --out hub && unjinja check hub --specs specs --sources sources.toml

HF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_CACHE work as for the Hub's other clients.")]
    Fetch(fetch::Arguments),
    /// Serve chat completions in front of a server that completes text.
    #[cfg(feature = "serve")]
    #[command(after_help = "\
Examples:
  unjinja serve --upstream http://127.0.0.1:8000
  unjinja serve --upstream http://127.0.0.1:8000 --template tokenizer_config.json
  unjinja serve --upstream http://127.0.0.1:8081 --upstream-api llama.cpp --template model.gguf
  unjinja serve --upstream https://gpu.internal --template small=small.jinja --template large=large.jinja

Endpoints: /v1/chat/completions, /v1/responses, /v1/messages, /v1/messages/count_tokens, /v1/completions, /v1/embeddings, /tokenize, /v1/models, /health, /ready, /metrics.

Keys come from files or from the environment: UNJINJA_API_KEY for clients, UNJINJA_UPSTREAM_API_KEY for the upstream. -v or UNJINJA_LOG=1 logs every request; prompts, answers and keys are never logged.")]
    Serve(Box<serve::Arguments>),
    /// List the supported models, or the specs of a folder.
    #[command(after_help = "\
Examples:
  unjinja list
  unjinja list --specs generated/specs   # a Markdown table
  unjinja list --overlay-of openai/gpt-oss-120b > my-model.overlay.toml")]
    List {
        /// List the specs of this folder, as a Markdown table or as JSON.
        #[arg(long, value_name = "DIR")]
        specs: Option<PathBuf>,
        /// Print the overlay of this supported model, to be used for another template with the same format.
        #[arg(long, value_name = "NAME", conflicts_with = "specs")]
        overlay_of: Option<String>,
        /// How to print.
        #[arg(long, value_enum, default_value = "human")]
        format: Format,
    },
    /// Print the completions for a shell.
    #[command(after_help = "\
Examples:
  unjinja completions bash > ~/.local/share/bash-completion/completions/unjinja
  unjinja completions zsh > ~/.zfunc/_unjinja
  unjinja completions fish > ~/.config/fish/completions/unjinja.fish")]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Runs the command with these arguments, of which the first is the name of the program, and returns its exit code. It writes to
/// the standard streams of the process.
///
/// ```no_run
/// let code = unjinja_cli::run(std::env::args_os());
/// std::process::exit(code.into());
/// ```
pub fn run<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // `--help` and `--version` arrive here too; they go to standard output.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return code;
        }
    };
    log::begin(cli.verbose, cli.quiet);
    cli.color.write_global();
    match dispatch(&cli.command, Ui { quiet: cli.quiet }) {
        Ok(()) | Err(Failure::BrokenPipe) => 0,
        Err(failure) => {
            for (index, message) in failure.messages().iter().enumerate() {
                // A blank line keeps messages apart that have several lines.
                if index > 0 && message.ends_with('\n') {
                    anstream::eprintln!();
                }
                anstream::eprintln!("{} {}", paint(BAD, "error:"), visible::lines(message.trim_end()));
            }
            failure.code()
        }
    }
}

fn dispatch(command: &Command, ui: Ui) -> Done {
    match command {
        Command::Analyze(arguments) => analyze::run(arguments, ui),
        Command::Check(arguments) => check::run(arguments, ui),
        Command::Diff(arguments) => diff::run(arguments, ui),
        Command::Verify(arguments) => verify::run(arguments, ui),
        Command::Render(arguments) => render::run(arguments, ui),
        Command::Parse(arguments) => parse::run(arguments, ui),
        Command::Grammar(arguments) => grammar::run(arguments, ui),
        Command::Codegen(arguments) => codegen::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Lint(arguments) => lint::run(arguments, ui),
        Command::Export(arguments) => export::run(arguments, ui),
        #[cfg(feature = "fetch")]
        Command::Fetch(arguments) => fetch::run(arguments, ui),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(arguments, ui),
        Command::List { overlay_of: Some(name), .. } => list::overlay(name),
        Command::List { specs: Some(folder), format, .. } => list::specs(folder, *format),
        Command::List { format, .. } => list::models(*format),
        Command::Completions { shell } => {
            // Collected first, because the generator panics if its output is closed.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "unjinja", &mut script);
            std::io::Write::write_all(&mut std::io::stdout(), &script)?;
            Ok(())
        }
    }
}
