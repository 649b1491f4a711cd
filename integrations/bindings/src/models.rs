//! Loading models, and what a binding asks of one.

use unjinja_dynamic::{
    Chunk, FormatSpec, Input, LoadError, Loader, Message, Model, Options, Overlay, Request, SpecialTokens,
};

use crate::failure::Failure;

/// The overlay that was given as text.
///
/// # Errors
///
/// It is no overlay.
pub fn overlay(text: Option<&str>) -> Result<Option<Overlay>, Failure> {
    text.map(|text| Overlay::from_toml(text, "overlay").map_err(|error| Failure::load(&error))).transpose()
}

/// A loader with the overlay that was given as text.
///
/// # Errors
///
/// It is no overlay.
pub fn loader(overlay: Option<&str>) -> Result<Loader, Failure> {
    let loader = Loader::new();
    Ok(match self::overlay(overlay)? {
        Some(overlay) => loader.overlay(overlay),
        None => loader,
    })
}

/// A model from its template, its tokens and its spec, which has the overlays in it. Nothing is analysed.
///
/// # Errors
///
/// The spec is invalid, or the template has a syntax error.
pub fn restored_model(spec: &str, template: &str, tokens: SpecialTokens) -> Result<Model, Failure> {
    let spec = FormatSpec::from_toml(spec, "spec.toml").map_err(LoadError::from)?;
    let loader = Loader::new().name(&spec.template.name).tokens(tokens);
    Ok(loader.committed_spec(spec).only_given_overlays().load(Input::text(template))?.model()?)
}

/// The markers around reasoning, of which the first is empty if only the end is marked. `None` if the model writes no reasoning.
pub fn reasoning_markers(model: &Model) -> Option<(&str, &str)> {
    let reasoning = &model.spec().reasoning;
    let marked = !(reasoning.start.is_empty() && reasoning.end.is_empty());
    marked.then_some((reasoning.start.as_str(), reasoning.end.as_str()))
}

/// Parses a whole output.
pub fn parse(model: &Model, output: Chunk<'_>, options: &Options) -> Message {
    let mut message = model.parse(output, options);
    message.note_missing(model.parser().program(), options);
    message
}

/// Parses the whole output of a request.
pub fn parse_request(model: &Model, request: &Request, output: Chunk<'_>) -> Message {
    let mut message = request.parse(output);
    message.note_missing(model.parser().program(), request.options());
    message
}
