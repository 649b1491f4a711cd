//! Which overlays are applied to a model's spec, and why.
//!
//! An overlay itself names no template and no format: it is a file next to the spec that it corrects. So what it is for
//! follows from that spec.

use std::path::PathBuf;

use unjinja_analyzer::calls_otherwise;
use unjinja_render::Template;
use unjinja_spec::{FormatSpec, Overlay, OverlayKey, ToolFormat};

use crate::vocabulary::{Vocabulary, adds};

/// An overlay together with the spec that it was written for.
///
/// [`Loader::overlays`](crate::Loader::overlays) applies it to
/// - the template that the spec was made from (the same SHA-256), and
/// - any template that is analysed and has the same format with calls: the analysis found the same values for every key that
///   decides how an output is read ([`FormatSpec::format_hash`]), and both templates render calls, and
/// - any template that is analysed and has the same vocabulary: the same special tokens and words in the markers that open
///   something, at least one of the tokens beyond the header of a turn. Then the overlay must only add to what the analysis
///   found.
///
/// Without calls, formats say too little: models that share the markers of a turn write calls in many ways, so an overlay
/// that adds those of one model would be wrong for another. Such an overlay fits only its own template, and templates that have the
/// same special tokens around tools and whose prompt does not tell the model to call tools otherwise.
///
/// ```
/// use unjinja_dynamic::{KnownOverlay, Loader, Model, Overlay};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../templates/hermes.jinja");
/// # let template = std::fs::read_to_string(path)?;
/// let known = Model::from_template(&template)?; // renders calls in tags
/// let overlay = Overlay::from_toml("[alternatives]\n# The model card documents it.\n'turn.end' = ['<stop>']\n", "x.toml")?;
///
/// // Another template, of the same format.
/// let other = format!("{{# A comment. #}}{template}");
/// let model = Loader::new().overlays([KnownOverlay::new(known.spec(), overlay)]).from_template(&other)?;
/// assert_eq!(model.parse("Hello<stop>", &Default::default()).content, "Hello");
/// assert_eq!(model.corrections()[0].keys[0].line, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct KnownOverlay {
    /// The name of the spec that it was written for.
    pub(crate) name: String,
    sha256: String,
    /// The hash of the format; `None` if it has no calls.
    format: Option<String>,
    /// The vocabulary of the format, without the overlay and with it.
    base: Vocabulary,
    corrected: Vocabulary,
    pub(crate) overlay: Overlay,
}

/// Where the spec of a model comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Somebody wrote or reviewed it, and left it without an overlay if it has none.
    Reviewed,
    /// The template was analysed, now or when the cache was filled. Nobody has looked at the result.
    Analysed,
}

/// An overlay that was applied to a model's spec.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Correction {
    /// Why it was applied.
    pub reason: Reason,
    /// The file that it was read from, if it was read from one.
    pub file: Option<PathBuf>,
    /// The name of the spec that it was written for; `None` if the caller or a file gave it.
    pub model: Option<String>,
    /// The keys that it sets, each with the reason that the overlay gives.
    pub keys: Vec<OverlayKey>,
}

/// Why an overlay was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The caller named it: [`Loader::overlay`](crate::Loader::overlay), or `--overlay` of the command.
    Given,
    /// It is the file `NAME.overlay.toml` next to the template or spec.
    NextToSource,
    /// It was written for this template.
    SameTemplate,
    /// It was written for another template of the same format.
    SameFormat,
    /// It was written for another template whose markers have the same special tokens and words.
    SameVocabulary,
}

impl KnownOverlay {
    /// An overlay, and the spec next to it as the analysis made it, without the overlay.
    pub fn new(spec: &FormatSpec, overlay: Overlay) -> Self {
        let base = Vocabulary::of(spec);
        let corrected = overlay.apply(spec).map_or_else(|_| base.clone(), |spec| Vocabulary::of(&spec));
        let (name, sha256) = (spec.template.name.clone(), spec.template.sha256.clone());
        Self { name, sha256, format: format_with_calls(spec), base, corrected, overlay }
    }

    /// Whether the overlay fits a spec without overlays, and why. Where no calls are rendered, a [`Loader`](crate::Loader) also asks the
    /// template what its prompt says about calls.
    pub fn fits(&self, spec: &FormatSpec) -> Option<Reason> {
        if self.sha256 == spec.template.sha256 {
            return Some(Reason::SameTemplate);
        }
        if self.format.is_some() && self.format == format_with_calls(spec) {
            return Some(Reason::SameFormat);
        }
        let alike = Vocabulary::of(spec).is_like(&self.base, &self.corrected) && adds(&self.overlay, spec);
        alike.then_some(Reason::SameVocabulary)
    }

    /// Whether the prompt of a template contradicts an overlay that adds calls: it tells the model to write them otherwise.
    pub(crate) fn is_contradicted(&self, spec: &FormatSpec, template: &Template) -> bool {
        let adds_calls = spec.tools.format == ToolFormat::None && self.sha256 != spec.template.sha256;
        adds_calls && calls_otherwise(template, &self.corrected.beyond(&self.base))
    }
}

fn format_with_calls(spec: &FormatSpec) -> Option<String> {
    (spec.tools.format != ToolFormat::None).then(|| spec.format_hash())
}

impl Correction {
    pub(crate) fn new(reason: Reason, file: Option<PathBuf>, model: Option<String>, overlay: &Overlay) -> Self {
        Self { reason, file, model, keys: overlay.keys().cloned().collect() }
    }

    /// What a user should know about an overlay that was written for another template: whose it is, and why it is applied. `None`
    /// for all other overlays.
    pub fn remark(&self) -> Option<String> {
        let why = match self.reason {
            Reason::SameFormat => "both templates have the same format",
            Reason::SameVocabulary => "the markers of both templates have the same special tokens and words",
            Reason::Given | Reason::NextToSource | Reason::SameTemplate => return None,
        };
        let model = self.model.as_deref().unwrap_or("another model");
        Some(format!("the overlay of {model} is applied: {why}"))
    }
}

/// The known overlay for a spec: one that was written for its template, else one for its format, else one for its vocabulary, if
/// there is exactly one.
/// Overlays that contradict each other apply to nothing, because nobody could say which one is right. A reviewed spec gets
/// no overlay of another template.
pub(crate) fn fitting<'k>(
    spec: &FormatSpec,
    origin: Origin,
    known: &'k [KnownOverlay],
) -> Option<(Reason, &'k KnownOverlay)> {
    let fitting = |reason| known.iter().filter(move |one| one.fits(spec) == Some(reason));
    if let Some(one) = fitting(Reason::SameTemplate).next() {
        return Some((Reason::SameTemplate, one));
    }
    if origin == Origin::Reviewed {
        return None;
    }
    let reason =
        [Reason::SameFormat, Reason::SameVocabulary].into_iter().find(|&reason| fitting(reason).next().is_some())?;
    let mut alike = fitting(reason);
    let first = alike.next()?;
    let corrected = first.overlay.apply(spec).ok()?;
    let agrees = |other: &KnownOverlay| other.overlay.apply(spec).is_ok_and(|spec| spec == corrected);
    alike.all(agrees).then_some((reason, first))
}
