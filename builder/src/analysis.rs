//! Analyses a text, for tests and tools that have no file. Everything else asks the loader itself.

use unjinja_analyzer::Naming;
use unjinja_dynamic::{Input, Loader, Source};
use unjinja_spec::FormatSpec;

use crate::error::BuildError;

/// Analyses and verifies a template that is given as text, without special tokens and without overlays: the spec records how many
/// random conversations came back, and is marked as unsupported if some did not.
///
/// ```
/// use unjinja_analyzer::Naming;
///
/// let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let spec = unjinja_build::analyze_text(text, &Naming::of_file("hello.jinja"))?;
/// assert_eq!(spec.turn.assistant_start, "<assistant>");
/// # Ok::<(), unjinja_build::BuildError>(())
/// ```
///
/// # Errors
/// If the template has a syntax error or cannot be analysed.
pub fn analyze_text(text: &str, naming: &Naming) -> Result<FormatSpec, BuildError> {
    let Naming { name, source, file } = naming;
    let loader = Loader::new().analyse_anew().only_given_overlays().origin(source);
    let loader = if name.is_empty() { loader } else { loader.name(name) };
    Ok(loader.load(Input::source(Source::from_text(file, text)))?.spec)
}
