//! The supported models: their specs and overlays as `unjinja-generated` holds them, as text. Nothing is read before it is
//! needed, because most programs need one spec of many.

use std::borrow::Cow;
use std::sync::OnceLock;

use unjinja_analyzer::sha256;
use unjinja_generated::{LookupError, Names, find_among};
use unjinja_source::{SourceError, SourceErrorKind, is_hub_id};
use unjinja_spec::{FormatSpec, Overlay};

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
        let known = |(sha256, toml): &(&str, &str)| {
            let spec = of_hash(sha256)?;
            Some(KnownOverlay::new(&spec, Overlay::from_toml(toml, &spec.template.name).ok()?))
        };
        unjinja_generated::overlays().iter().filter_map(known).collect()
    })
}

/// The overlay of a supported model as TOML, if the template of this spec is its template.
///
/// ```
/// let spec = unjinja_dynamic::known_spec("openai/gpt-oss-120b")?;
/// assert!(unjinja_dynamic::known_overlay(&spec).is_some_and(|toml| toml.contains("[content.header]")));
/// # Ok::<(), unjinja_dynamic::LookupError>(())
/// ```
pub fn known_overlay(spec: &FormatSpec) -> Option<&'static str> {
    unjinja_generated::overlay(&spec.template.sha256)
}

/// The reviewed specs of all supported models, without their overlays, in the order of their names.
///
/// ```
/// let specs = unjinja_dynamic::known_specs();
/// assert!(specs.iter().any(|spec| spec.template.name == "qwen_qwen3_0_6b"));
/// ```
pub fn known_specs() -> Vec<FormatSpec> {
    unjinja_generated::specs().iter().filter_map(|(name, toml)| read(name, toml)).collect()
}

/// The reviewed spec of a supported model, without its overlay. [`Loader::known`](crate::Loader::known) makes a model of it, and
/// takes the same names. A spec's own name takes precedence over an id on the Hub, and an id over one without its owner.
///
/// ```
/// let spec = unjinja_dynamic::known_spec("Qwen/Qwen3-0.6B")?;
/// assert_eq!(spec.template.name, "qwen_qwen3_0_6b");
/// # Ok::<(), unjinja_dynamic::LookupError>(())
/// ```
///
/// # Errors
/// If the name fits no supported model, or several.
pub fn known_spec(name: &str) -> Result<FormatSpec, LookupError> {
    if let Some(spec) = unjinja_generated::spec(name).and_then(|toml| read(name, toml)) {
        return Ok(spec);
    }
    let mut specs = known_specs();
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
    let index = find_among(name, &names.collect::<Vec<_>>())?;
    Ok(specs.swap_remove(index))
}

/// The error about a name that is no path, with what is known of it: which supported model it is, whose template is not built in, or
/// which was probably meant. Other errors stay as they are.
pub fn with_names(error: SourceError) -> SourceError {
    if error.kind() != SourceErrorKind::Unknown {
        return error;
    }
    let name = error.path().to_string_lossy();
    let problem = match known_spec(&name) {
        Ok(spec) => {
            let id = match is_hub_id(&name) {
                true => &name,
                false => spec.template.models.first().map_or(spec.template.source.as_str(), String::as_str),
            };
            format!("the format of this model is built in, but not its template, which `unjinja fetch {id}` downloads")
        }
        Err(LookupError::Unknown { near, .. }) if near.is_empty() => return error,
        Err(other) => format!("there is no such path, and {other}"),
    };
    error.because(problem)
}

/// A spec of `unjinja-generated`; its tests make sure that each is valid.
fn read(name: &str, toml: &str) -> Option<FormatSpec> {
    FormatSpec::from_toml(toml, name).ok()
}
