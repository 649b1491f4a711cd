//! The result of loading: plain data, of which a parser, a model or Rust can be made.

use unjinja_codegen::SpecEntry;
use unjinja_render::{Limits, SpecialTokens};
use unjinja_source::Source;
use unjinja_spec::FormatSpec;

use crate::cache::CacheUse;
use crate::error::ModelError;
use crate::model::Model;
use crate::overlays::{Correction, Origin};
use crate::renderer::Renderer;

/// A spec with its overlays, and where both come from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The spec as it was analysed or read.
    pub bare: FormatSpec,
    /// The spec with its overlays applied; the same as `bare` if there are none. Its `evidence` is that of the analysis.
    pub spec: FormatSpec,
    /// Where `bare` comes from.
    pub origin: Origin,
    /// The overlays that were applied, and why, in the order of their application.
    pub corrections: Vec<Correction>,
    /// The template; `None` if a spec was loaded.
    pub source: Option<Source>,
    /// What the cache folder did.
    pub cache: CacheUse,
    /// How much a render may use.
    pub limits: Limits,
}

impl Loaded {
    /// The spec as the code generator takes it for lists of specs.
    pub fn entry(&self) -> SpecEntry<'_> {
        SpecEntry { bare: &self.bare, spec: &self.spec, has_overlay: !self.corrections.is_empty() }
    }

    /// The model: the parser of the spec, with its template.
    ///
    /// # Errors
    /// If no parser can be made from the spec.
    pub fn model(self) -> Result<Model, ModelError> {
        let Self { spec, corrections, source, cache, limits, .. } = self;
        let renderer = source.map(|source| {
            let bos = source.tokens.bos.clone().or_else(|| spec.tokens.bos.clone());
            let eos = source.tokens.eos.clone().or_else(|| spec.tokens.eos.clone());
            let tokens = SpecialTokens { bos, eos, others: source.tokens.others.clone() };
            Renderer::new(source, tokens, limits)
        });
        Ok(Model::new(spec, renderer, corrections, cache)?)
    }
}
