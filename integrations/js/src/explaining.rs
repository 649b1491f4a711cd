//! What `unjinja explain` shows, as data: of a model, and of a template of which none can be made.

use unjinja_dynamic::explain::ExplainOptions;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::loading::{ModelObject, ModelOrigin};
use crate::objects::Objects;
use crate::options;

/// Explains a model's template or spec, and an output.
pub(crate) fn of_model(
    loaded: &ModelObject,
    objects: &Objects,
    mut arguments: Arguments,
    bytes: &[u8],
) -> Result<String, Failure> {
    let turn = options::turn_of(&mut arguments, &loaded.model)?;
    explain(&loaded.origin, turn, objects, arguments, bytes)
}

/// Explains a template. One that cannot be analysed is explained too.
pub(crate) fn of_template(objects: &Objects, mut arguments: Arguments, bytes: &[u8]) -> Result<String, Failure> {
    let text = arguments.needed("$text")?;
    let origin = if arguments.has("$file") {
        ModelOrigin::file(&mut arguments, text.as_bytes())?
    } else {
        ModelOrigin::template(&mut arguments, &text)?
    };
    explain(&origin, None, objects, arguments, bytes)
}

/// `bytes` are the output, if the arguments say that there is one.
fn explain(
    origin: &ModelOrigin,
    turn: Option<String>,
    objects: &Objects,
    mut arguments: Arguments,
    bytes: &[u8],
) -> Result<String, Failure> {
    let tools = options::tools(&mut arguments, objects)?;
    let turn = arguments.text("generationPrompt")?.or(turn);
    let has_output = arguments.flag("output")?.unwrap_or(false);
    let mut options = ExplainOptions::new().over(arguments.flag("over")?.unwrap_or(true));
    arguments.done()?;
    if let Some(list) = &tools {
        options = options.tools(&list.tools);
    }
    if let Some(turn) = &turn {
        options = options.generation_prompt(turn);
    }
    if has_output {
        options = options.output(bytes);
    }
    let explanation = origin.loader.explain(origin.input.clone(), &options)?;
    serde_json::to_string(&explanation)
        .map_err(|error| Failure::request(format!("the explanation has no form in JSON: {error}")))
}
