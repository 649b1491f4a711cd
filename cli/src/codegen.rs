//! `unjinja codegen`: prints the Rust of one parser.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use unjinja_dynamic::Input;

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::ParserArgs;
use crate::{log, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The template or spec whose Rust is printed.
    #[arg(required_unless_present_any = ["spec", "model"], conflicts_with_all = ["spec", "model"])]
    path: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    #[command(flatten)]
    parser: ParserArgs,
}

/// The Rust of one parser.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document {
    /// Name of the module.
    name: String,
    /// Its source.
    rust: String,
}

pub(crate) fn run(arguments: &Arguments) -> Done {
    let spec = match (arguments.parser.named()?, &arguments.path) {
        (Some(named), _) => named.spec,
        (None, Some(path)) => log::load(&arguments.parser.loader(), Input::file(path))?.spec,
        (None, None) => return Err(Failure::Input("name a template or a spec".to_owned())),
    };
    let source = unjinja_codegen::rust::source(&spec).map_err(|e| Failure::Found(e.to_string()))?;
    if arguments.format == Format::Json {
        return output::json(&Document { name: spec.template.name, rust: source });
    }
    std::io::stdout().write_all(source.as_bytes())?;
    Ok(())
}
