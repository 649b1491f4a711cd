//! The supported models by what is not their name. The command interprets their specs; it links no compiled parser, which would
//! take minutes to build, and which reads the same.

use unjinja_dynamic::known_specs;
use unjinja_spec::FormatSpec;

/// The spec that was made from a template file with exactly this name, without its overlay. Folders before the name are ignored.
pub(crate) fn by_file(file: &str) -> Option<FormatSpec> {
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    known_specs()
        .into_iter()
        .find(|spec| spec.template.file == file || spec.template.also.iter().any(|also| also == file))
}

/// The specs that describe this format before their overlays are applied.
pub(crate) fn by_format(hash: &str) -> impl Iterator<Item = FormatSpec> {
    known_specs().into_iter().filter(move |spec| spec.format_hash() == hash)
}
