//! Which model an upstream has, and where its template is.

use std::path::Path;

use unjinja_build::Source;
#[cfg(feature = "fetch")]
use unjinja_build::is_hub_id;
use unjinja_server::http::UpstreamFacts;

use crate::failure::Failure;

/// Where the template of an upstream's model is.
pub(super) enum TemplatePlace {
    Text(Source),
    /// A file, or the id of a model on the Hub.
    File(String),
}

/// The upstream's model, by its name, and where its template is.
pub(super) fn of_upstream(address: &str, facts: &UpstreamFacts) -> Result<(String, TemplatePlace), Failure> {
    let next = "name the model's template with --template";
    let Some(model) = facts.models.first() else {
        let problem = "it answers, but lists no model under /v1/models";
        return Err(Failure::Input(format!("{address}: {problem}; check that a model server runs there, or {next}")));
    };
    if let Some(template) = &facts.template {
        let name = Path::new(&model.name).file_name().map_or(&*model.name, |name| name.to_str().unwrap_or_default());
        let mut source = Source::from_text(format!("{name}.jinja"), template.text.clone());
        (source.tokens.bos, source.tokens.eos) = (template.bos.clone(), template.eos.clone());
        return Ok((model.name.clone(), TemplatePlace::Text(source)));
    }
    let roots = model.root.iter().chain([&model.name]);
    let place = roots.into_iter().find(|root| {
        #[cfg(feature = "fetch")]
        if is_hub_id(root) {
            return true;
        }
        Path::new(root).exists()
    });
    match place {
        Some(place) => Ok((model.name.clone(), TemplatePlace::File(place.clone()))),
        None => {
            let root = model.root.as_deref().unwrap_or(&model.name);
            Err(Failure::Input(format!(
                "{address}: it serves {root:?}, which is neither here nor a model's id; {next}"
            )))
        }
    }
}
