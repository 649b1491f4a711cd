//! Which model an upstream has, and where its template is.

use std::path::{Path, PathBuf};

use unjinja_build::Source;
use unjinja_server::http::UpstreamFacts;

use crate::failure::Failure;

/// Where the template of an upstream's model is.
pub(super) enum TemplatePlace {
    Text(Source),
    /// A file, or the id of a model on the Hub.
    File(String),
}

/// What an upstream says of itself.
pub(super) struct Asked {
    pub address: String,
    pub facts: UpstreamFacts,
}

impl Asked {
    /// Whether another one is of the same kind, so that one proxy can ask both.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.facts.api, self.facts.server) == (other.facts.api, other.facts.server)
    }
}

/// The upstream's model, by its name, and where its template is.
pub(super) fn of_upstream(Asked { address, facts }: &Asked) -> Result<(String, TemplatePlace), Failure> {
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

/// The template in a folder with a model's files.
pub(super) fn in_folder(folder: &Path) -> Option<PathBuf> {
    let files = ["chat_template.jinja", "tokenizer_config.json"].map(|file| folder.join(file));
    files.into_iter().find(|file| file.exists()).or_else(|| only_gguf(folder))
}

/// The GGUF file of a folder that has one. A model may be split into several; the first one has the template.
fn only_gguf(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut models = files.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_later = name.contains("-of-") && !name.contains("-00001-of-");
        // A file for images next to the model has this name.
        name.ends_with(".gguf") && !is_later && !name.starts_with("mmproj")
    });
    let only = models.next()?;
    models.next().is_none().then_some(only)
}

/// Whether this is the id of a model on the Hub. A mistyped path is not one, so that the error is about the file.
#[cfg(feature = "fetch")]
pub(super) fn is_hub_id(text: &str) -> bool {
    let Some((owner, name)) = text.split_once('/') else { return false };
    let path = Path::new(text);
    let is_file = ["gguf", "jinja", "json"].iter().any(|known| path.extension().is_some_and(|found| found == *known));
    let names =
        [owner, name].iter().all(|part| !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '#']));
    names && !is_file && !path.exists() && !Path::new(owner).is_dir()
}
