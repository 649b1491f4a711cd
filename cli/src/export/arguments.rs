//! What `unjinja export` is asked for, and where the result is written.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use unjinja_spec::Problem;

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::input;
use crate::parser_args::ParserArgs;

/// What a template is exported for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Purpose {
    /// A response template for `tokenizer.parse_response` and `transformers serve`, of transformers 5.24.
    Transformers,
    /// The chat template with `{% generation %}` around what the model writes.
    Training,
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// The chat template.
    pub(super) template: PathBuf,
    /// What the template is for.
    #[arg(long = "for", value_enum, value_name = "PURPOSE")]
    pub(super) purpose: Purpose,
    /// Store the template in this tokenizer_config.json; everything else in it stays as it is.
    #[arg(long, value_name = "FILE")]
    pub(super) store_in: Option<PathBuf>,
    /// How many random conversations are tried with a response template [default: 200].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) count: Option<u32>,
    /// The seed of these conversations; the same seed gives the same ones [default: 1].
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// For training: first change the one condition that lets earlier turns stay as they were written, if there is one.
    #[arg(long)]
    pub(super) keep_prefix: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) parser: ParserArgs,
}

/// Changes a configuration.
pub(super) fn write(path: &Path, change: impl Fn(&str) -> Result<String, serde_json::Error>) -> Done {
    let config = input::text(path)?;
    let changed = change(&config).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let cause = "this is no JSON object, so nothing is written".to_owned();
        let name = path.display().to_string();
        Problem::at(&name, &config, (line, column), cause, "correct the marked place, or what comes before it")
    })?;
    std::fs::write(path, changed).map_err(|error| Failure::file(path, error))
}
