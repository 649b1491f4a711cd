//! Which overlays are applied to a model's spec, and why.
//!
//! An overlay itself names no template and no format: it is a file beside the spec that it corrects. So what it is for
//! follows from that spec.

use unjinja_spec::{Capabilities, FormatSpec, Overlay, OverlayKey};

/// An overlay together with the spec that it was written for.
///
/// [`Loader::overlays`](crate::Loader::overlays) applies it to
/// - the template that the spec was made from (the same SHA-256), and
/// - any template with the same format: the analysis found the same values for every key that decides how an output is read
///   ([`FormatSpec::format_hash`]), and the template offers tools, renders calls and reasons as far as the other does. An
///   overlay that adds calls thus never reaches a template that offers no tools.
///
/// ```
/// use unjinja_dynamic::{KnownOverlay, Loader, Model, Overlay};
///
/// let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let known = Model::from_template(template)?;
/// let overlay = Overlay::from_toml("[alternatives]\n# The model card documents it.\n'turn.end' = ['<stop>']\n", "x.toml")?;
///
/// // Another template, of the same format.
/// let other = format!("{{# A comment. #}}{template}");
/// let model = Loader::new().overlays([KnownOverlay::new(known.spec(), overlay)]).from_template(&other)?;
/// assert_eq!(model.parse("Hello<stop>", &Default::default()).content, "Hello");
/// assert_eq!(model.corrections()[0].keys[0].line, 3);
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct KnownOverlay {
    sha256: String,
    format: String,
    abilities: [bool; 3],
    overlay: Overlay,
}

/// An overlay that was applied to a model's spec.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Correction {
    /// Why it was applied.
    pub reason: Reason,
    /// The keys that it sets, each with the reason that the overlay gives.
    pub keys: Vec<OverlayKey>,
}

/// Why an overlay was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The caller named it: [`Loader::overlay`](crate::Loader::overlay).
    Given,
    /// It is the file `NAME.overlay.toml` beside the template or spec.
    Beside,
    /// It was written for this template.
    SameTemplate,
    /// It was written for another template of the same format.
    SameFormat,
}

impl KnownOverlay {
    /// An overlay and the spec beside which it stands, as the analysis made it, without the overlay.
    pub fn new(spec: &FormatSpec, overlay: Overlay) -> Self {
        Self {
            sha256: spec.template.sha256.clone(),
            format: spec.format_hash(),
            abilities: abilities(&spec.capabilities),
            overlay,
        }
    }
}

/// What a template can show of calls and reasoning. An overlay that adds these is for templates that lack the same ones.
fn abilities(of: &Capabilities) -> [bool; 3] {
    [of.tools, of.tool_calls, of.reasoning]
}

impl Correction {
    pub(crate) fn new(reason: Reason, overlay: &Overlay) -> Self {
        Self { reason, keys: overlay.keys().cloned().collect() }
    }
}

/// The known overlay for an analysed spec, if there is exactly one: those of the same template come first. Overlays that
/// contradict each other apply to nothing, because nobody could say which one is right.
pub(crate) fn fitting<'k>(spec: &FormatSpec, known: &'k [KnownOverlay]) -> Option<(Reason, &'k Overlay)> {
    if known.is_empty() {
        return None;
    }
    let of_template = known.iter().find(|one| one.sha256 == spec.template.sha256);
    if let Some(one) = of_template {
        return Some((Reason::SameTemplate, &one.overlay));
    }
    let (format, abilities) = (spec.format_hash(), abilities(&spec.capabilities));
    let mut alike = known.iter().filter(|one| one.format == format && one.abilities == abilities);
    let first = alike.next()?;
    let corrected = first.overlay.apply(spec).ok()?;
    let agrees = |other: &KnownOverlay| other.overlay.apply(spec).is_ok_and(|spec| spec == corrected);
    alike.all(agrees).then_some((Reason::SameFormat, &first.overlay))
}
