//! `unjinja render`: conversations through chat templates, as Hugging Face renders them.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};
use unjinja_build::SourceExt;
use unjinja_render::Template;

use crate::failure::{Done, Failure};
use crate::{Format, input, output};

/// The arguments of `render`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The template to render.
    #[arg(required_unless_present = "jsonl", conflicts_with = "jsonl")]
    template: Option<PathBuf>,
    /// The context, a JSON object with `messages` and so on; `-` is standard input.
    #[arg(default_value = "-", conflicts_with = "jsonl")]
    context: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value = "human", conflicts_with = "jsonl")]
    format: Format,
    /// Read lines `{"id", "template": FILE, "context": {…}}`, write lines `{"id", "text"}`.
    #[arg(long, requires = "templates")]
    jsonl: bool,
    /// The folder of the templates that the lines name.
    #[arg(long, value_name = "DIR", requires = "jsonl")]
    templates: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Done {
    if let (true, Some(folder)) = (arguments.jsonl, &arguments.templates) {
        let mut known: HashMap<String, Result<Template, String>> = HashMap::new();
        input::folder(folder)?;
        return input::lines(|line| {
            let name = input::string(line, "template")?;
            let path = input::in_folder(folder, name)?;
            let template = known.entry(name.to_owned()).or_insert_with(|| {
                let source = input::template(&path).map_err(|e| e.to_string())?;
                source.template().map_err(|e| e.to_string())
            });
            let template = template.as_ref().map_err(Clone::clone)?;
            let context = line.get("context").ok_or("`context` is missing")?;
            let text = template.render(context).map_err(|e| e.to_string())?;
            Ok(Map::from_iter([("text".to_owned(), Value::String(text))]))
        });
    }
    let Some(path) = &arguments.template else { return Ok(()) };
    input::one_stdin(Some(path), &arguments.context, "the context")?;
    let template = input::template(path)?.template().map_err(|e| Failure::Found(e.to_string()))?;
    let (context, place) = if input::is_stdin(&arguments.context) {
        let mut context = String::new();
        std::io::stdin().read_to_string(&mut context)?;
        (context, "standard input".to_owned())
    } else {
        (input::text(&arguments.context)?, arguments.context.display().to_string())
    };
    let context = input::parse_json(&place, &context)?;
    let text = template.render(&context).map_err(|e| Failure::Found(e.to_string()))?;
    if arguments.format == Format::Json {
        return output::json(&json!({"text": text}));
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
