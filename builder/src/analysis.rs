//! Analyses a template and verifies the spec that comes out: the spec records how many random conversations came back, and
//! is marked as unsupported if some did not.

use std::path::{Path, PathBuf};

use unjinja_analyzer::trace::Comparison;
use unjinja_analyzer::{Naming, SourceExt, analyze, analyze_traced, verified};
use unjinja_render::Template;
use unjinja_source::Source;
use unjinja_spec::FormatSpec;

use crate::error::BuildError;

/// A function that is called with each comparison of an analysis, as soon as it is made.
pub type Observer<'o> = dyn FnMut(&Comparison) + Send + 'o;

/// Analyses and verifies a template that is given as text, without special tokens.
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
    let path = Path::new(&naming.file);
    let template = Template::parse(&naming.file, text).map_err(|error| syntax(path, error))?;
    Ok(verified(&template, analyze(&template, naming).map_err(|error| analysis(path, error))?))
}

/// Analyses and verifies the template of a file, with the special tokens that the file gives.
///
/// # Errors
/// If the template has a syntax error or cannot be analysed.
pub fn analyze_source(source: &Source, naming: &Naming) -> Result<FormatSpec, BuildError> {
    let template = source.template().map_err(|error| syntax(&source.path, error))?;
    Ok(verified(&template, analyze(&template, naming).map_err(|error| analysis(&source.path, error))?))
}

/// Like [`analyze_source`], and calls `observe` with each comparison as soon as it is made.
///
/// # Errors
/// Those of [`analyze_source`]. `observe` has then been called with the comparisons before the error.
pub fn analyze_source_traced(
    source: &Source,
    naming: &Naming,
    observe: &mut Observer<'_>,
) -> Result<FormatSpec, BuildError> {
    let template = source.template().map_err(|error| syntax(&source.path, error))?;
    let spec = analyze_traced(&template, naming, observe).map_err(|error| analysis(&source.path, error))?;
    Ok(verified(&template, spec))
}

fn syntax(path: &Path, error: unjinja_render::TemplateError) -> BuildError {
    BuildError::Template { path: PathBuf::from(path), error }
}

fn analysis(path: &Path, error: unjinja_analyzer::AnalyzeError) -> BuildError {
    BuildError::Analysis { path: PathBuf::from(path), error: Box::new(error) }
}
