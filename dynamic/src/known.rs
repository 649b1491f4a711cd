//! The supported models: their specs and overlays as `unjinja-generated` holds them, as text. Nothing is read before it is
//! needed, because most programs need one spec of many.

use std::sync::OnceLock;

use unjinja_analyzer::sha256;
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
    let wanted = normal(name);
    let specs: Vec<FormatSpec> =
        unjinja_generated::specs().iter().filter_map(|(name, toml)| read(name, toml)).collect();
    let kinds: [&dyn Fn(&FormatSpec) -> bool; 3] = [
        &|spec| normal(&spec.template.name) == wanted,
        &|spec| normal(&spec.template.source) == wanted || spec.template.models.iter().any(|id| normal(id) == wanted),
        &|spec| spec.template.models.iter().any(|id| normal(id.rsplit('/').next().unwrap_or(id)) == wanted),
    ];
    let found = kinds.iter().map(|fits| specs.iter().filter(|spec| fits(spec)).collect::<Vec<_>>());
    match found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()[..] {
        [spec] => Ok(spec.clone()),
        ref several => {
            let candidates = several.iter().map(|spec| spec.template.name.clone()).collect();
            Err(ModelError::Name { name: name.to_owned(), candidates })
        }
    }
}

/// A spec of `unjinja-generated`; its tests make sure that each is valid.
fn read(name: &str, toml: &str) -> Option<FormatSpec> {
    FormatSpec::from_toml(toml, name).ok()
}

/// Upper and lower case are alike, and so are the separators.
fn normal(name: &str) -> String {
    name.chars().map(|c| if matches!(c, '/' | '-' | '.') { '_' } else { c.to_ascii_lowercase() }).collect()
}
