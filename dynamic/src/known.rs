//! The supported models: their specs and overlays as `unjinja-generated` holds them, as text. Nothing is read before it is
//! needed, because most programs need one spec of many.

use std::borrow::Cow;
use std::sync::OnceLock;

use unjinja_analyzer::sha256;
use unjinja_generated::{LookupError, Names, find_among};
use unjinja_spec::{FormatSpec, Overlay};

use crate::error::ModelError;
use crate::overlays::KnownOverlay;

/// The spec that was made from this template.
pub(crate) fn of_template(text: &str) -> Option<FormatSpec> {
    of_hash(&sha256(text))
}

fn of_hash(hash: &str) -> Option<FormatSpec> {
    // A hash has 64 digits, so a text that holds it somewhere is nearly always the right one.
    let candidates = unjinja_generated::specs().iter().filter(|(_, toml)| toml.contains(hash));
    candidates.filter_map(|(name, toml)| read(name, toml)).find(|spec| spec.template.sha256 == hash)
}

/// The overlays of all supported models.
pub(crate) fn overlays() -> &'static [KnownOverlay] {
    static OVERLAYS: OnceLock<Vec<KnownOverlay>> = OnceLock::new();
    OVERLAYS.get_or_init(|| {
        let known = |(name, toml): &(&str, &str)| {
            let spec = read(name, toml)?;
            let overlay = unjinja_generated::overlay(&spec.template.sha256)?;
            Some(KnownOverlay::new(&spec, Overlay::from_toml(overlay, name).ok()?))
        };
        unjinja_generated::specs().iter().filter_map(known).collect()
    })
}

/// The spec of a model. A spec's own name takes precedence over an id on the Hub, and an id over one without its owner.
pub(crate) fn named(name: &str) -> Result<FormatSpec, ModelError> {
    if let Some(spec) = unjinja_generated::spec(name).and_then(|toml| read(name, toml)) {
        return Ok(spec);
    }
    let specs: Vec<FormatSpec> =
        unjinja_generated::specs().iter().filter_map(|(name, toml)| read(name, toml)).collect();
    let hub_ids: Vec<Vec<&str>> =
        specs.iter().map(|spec| spec.template.models.iter().map(String::as_str).collect()).collect();
    let files = |spec: &FormatSpec| -> Vec<Cow<'static, str>> {
        std::iter::once(&spec.template.file).chain(&spec.template.also).cloned().map(Cow::Owned).collect()
    };
    let files: Vec<Vec<Cow<'_, str>>> = specs.iter().map(files).collect();
    let names = specs.iter().zip(hub_ids.iter().zip(&files)).map(|(spec, (hub_ids, files))| Names {
        spec: &spec.template.name,
        source: &spec.template.source,
        hub_ids,
        files,
    });
    match find_among(name, &names.collect::<Vec<_>>()) {
        Ok(index) => Ok(specs[index].clone()),
        Err(LookupError::Ambiguous { name, candidates }) => {
            Err(ModelError::Name { name, candidates, near: Vec::new() })
        }
        Err(LookupError::Unknown { name, near }) => Err(ModelError::Name { name, candidates: Vec::new(), near }),
        Err(_) => Err(ModelError::Name { name: name.to_owned(), candidates: Vec::new(), near: Vec::new() }),
    }
}

/// A spec of `unjinja-generated`; its tests make sure that each is valid.
fn read(name: &str, toml: &str) -> Option<FormatSpec> {
    FormatSpec::from_toml(toml, name).ok()
}
