//! The supported models: their specs and overlays. The command interprets the specs; it links no compiled parser, which would
//! take minutes to build, and which reads the same.

use unjinja_dynamic::{LookupError, known_spec, known_specs};
use unjinja_spec::FormatSpec;

pub(crate) use unjinja_generated::overlay;

/// The specs of all models, without their overlays.
pub(crate) fn all() -> Vec<FormatSpec> {
    known_specs()
}

/// The spec of the model with this name, without its overlay.
pub(crate) fn find(name: &str) -> Result<FormatSpec, String> {
    known_spec(name).map_err(|error| match &error {
        LookupError::Unknown { near, .. } if !near.is_empty() => format!("{error} `unjinja list` shows all"),
        LookupError::Unknown { .. } => format!("{error}; `unjinja list` shows all"),
        _ => error.to_string(),
    })
}

/// The spec that was made from a template file with exactly this name, without its overlay. Folders before the name are ignored.
pub(crate) fn by_file(file: &str) -> Option<FormatSpec> {
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    all().into_iter().find(|spec| spec.template.file == file || spec.template.also.iter().any(|also| also == file))
}

/// The specs that describe this format before their overlays are applied.
pub(crate) fn by_format(hash: &str) -> impl Iterator<Item = FormatSpec> {
    all().into_iter().filter(move |spec| spec.format_hash() == hash)
}
