//! `unjinja render`: renders conversations with chat templates, as Hugging Face does.
//!
//! A `.jinja` file does not say what its special tokens are. A spec can, so `--model`, `--spec` and an overlay supply them.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};
use unjinja_build::{Source, SourceExt};
use unjinja_render::{Follows, RenderOptions, Template};
use unjinja_spec::{Overlay, exact_json};

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::parser_args::ParserArgs;
use crate::ui::Ui;
use crate::{input, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The template to render.
    #[arg(required_unless_present = "jsonl", conflicts_with = "jsonl")]
    template: Option<PathBuf>,
    /// The context, a JSON object with `messages` and so on, or a list of messages; `-` is standard input.
    #[arg(default_value = "-", conflicts_with = "jsonl")]
    context: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value = "human", conflicts_with = "jsonl")]
    format: Format,
    /// Read lines `{"id", "template": FILE, "context": {…}}`, write lines `{"id", "text"}`. The context of a line is whole, as with
    /// `--only-context`.
    #[arg(long, requires = "templates", conflicts_with_all = ["model", "spec", "overlay"])]
    jsonl: bool,
    /// The folder of the templates that the lines name.
    #[arg(long, value_name = "DIR", requires = "jsonl")]
    templates: Option<PathBuf>,
    /// Render with the variables of the context and the special tokens alone. `tools` and `documents`, which transformers sets
    /// to None, are then undefined if the context has none.
    #[arg(long)]
    only_context: bool,
    /// Whose render this is. `transformers-5.24` changes messages as its `apply_chat_template` does: null keys go, and reasoning has
    /// each of its names. `jinja2` hands them over unchanged; it is the default with `--jsonl` and `--only-context`.
    #[arg(long = "as", value_name = "WHOSE", value_enum)]
    follows: Option<Whose>,
    /// Tell the template the local time. Else `strftime_now` tells noon of 15 January 2026, so that the output does not depend on the day.
    #[arg(long)]
    now: bool,
    #[command(flatten)]
    parser: ParserArgs,
}

/// Whose render is followed.
#[derive(Clone, Copy, ValueEnum)]
enum Whose {
    #[value(name = "transformers-5.24")]
    Transformers,
    Jinja2,
}

/// A rendered conversation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document {
    /// The prompt.
    text: String,
    /// Whose render this is: `transformers-5.24` or `jinja2`. Lines have no such field.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    follows: Option<&'static str>,
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let whole = arguments.only_context || arguments.jsonl;
    let follows = match arguments.follows {
        Some(Whose::Jinja2) => Follows::Jinja2,
        Some(Whose::Transformers) => Follows::Transformers5_24,
        None if whole => Follows::Jinja2,
        None => Follows::NEWEST,
    };
    let only_context = arguments.only_context || (arguments.jsonl && follows == Follows::Jinja2);
    let mut options = RenderOptions::new().only_context(only_context).follow(follows);
    if arguments.now {
        options = options.clock(unjinja_dynamic::local_time());
    }
    if let (true, Some(folder)) = (arguments.jsonl, &arguments.templates) {
        let mut known: HashMap<String, Result<Template, String>> = HashMap::new();
        input::folder(folder)?;
        return input::lines(|line| {
            let name = input::string(line, "template")?;
            let path = input::in_folder(folder, name)?;
            let template = known.entry(name.to_owned()).or_insert_with(|| {
                let source = input::template(&path).map_err(|e| e.to_string())?;
                let source = with_tokens(source, &ParserArgs::default()).map_err(|e| e.to_string())?;
                source.template().map_err(|e| e.to_string())
            });
            let template = template.as_ref().map_err(Clone::clone)?;
            let context = line.get("context").ok_or("`context` is missing")?;
            let text = template.render_with(context, &options).result.map_err(|e| e.to_string())?;
            Ok(Document { text, follows: None })
        });
    }
    let Some(path) = &arguments.template else { return Ok(()) };
    input::one_stdin(Some(path), &arguments.context, "the context")?;
    let mut found = candidates(path)?;
    let (context, place) = if input::is_stdin(&arguments.context) {
        let mut context = String::new();
        std::io::stdin().read_to_string(&mut context)?;
        (context, "standard input".to_owned())
    } else {
        (input::text(&arguments.context)?, arguments.context.display().to_string())
    };
    let plain = input::parse_json(&place, &context)?;
    let context = match exact_json(&context).unwrap_or(plain) {
        messages @ Value::Array(_) => json!({ "messages": messages }),
        context => context,
    };
    let source = match chosen(&found, !context["tools"].is_null()) {
        Some(at) => found.swap_remove(at),
        None => input::template(path)?,
    };
    let template = with_tokens(source, &arguments.parser)?.template().map_err(|e| Failure::Found(e.to_string()))?;
    let text = template.render_with(&context, &options).result.map_err(|e| Failure::Found(e.to_string()))?;
    if arguments.format == Format::Json {
        return output::json(&Document { text, follows: Some(follows.name()) });
    }
    std::io::stdout().write_all(text.as_bytes())?;
    if *follows.context(&context) != context {
        let name = follows.name();
        ui.remark(&format!("messages were handed over as {name} does; `--as jinja2` leaves them as they are"));
    }
    Ok(())
}

/// The templates that the path names.
fn candidates(path: &Path) -> Result<Vec<Source>, Failure> {
    if input::is_stdin(path) {
        return Ok(vec![input::template(path)?]);
    }
    Source::read(path).map_err(input::no_source)
}

/// The position of the template that transformers takes: of named ones `tool_use` where tools are given, even an empty list, else
/// `default`.
fn chosen(found: &[Source], has_tools: bool) -> Option<usize> {
    let named = |name: &str| found.iter().position(|source| source.variant.as_deref() == Some(name));
    if found.len() == 1 { Some(0) } else { has_tools.then(|| named("tool_use")).flatten().or_else(|| named("default")) }
}

/// The template with the special tokens of the spec that is named, or of the overlay that files give, as far as its own file
/// does not give them.
fn with_tokens(mut source: Source, parser: &ParserArgs) -> Result<Source, Failure> {
    let sets_tokens = |overlay: &Overlay| overlay.keys().any(|key| key.key.starts_with("tokens."));
    let tokens = match parser.named()? {
        Some(named) => Some(named.spec.tokens),
        // Rendering needs an analysis only where the overlay sets a token.
        None if parser.loader().overlays_of(&source)?.iter().any(sets_tokens) => {
            Some(parser.spec_for(&source)?.spec.tokens)
        }
        None => None,
    };
    let before = source.tokens.clone();
    if let Some(tokens) = tokens {
        source.tokens.bos = source.tokens.bos.or(tokens.bos);
        source.tokens.eos = source.tokens.eos.or(tokens.eos);
    }
    match parser.given() {
        Some(flag) if source.tokens == before => {
            let takes =
                "a render takes bos_token and eos_token from it, which the template's file has or the spec has not";
            Err(Failure::Input(format!("{flag} changes nothing here: {takes}")))
        }
        _ => Ok(source),
    }
}
