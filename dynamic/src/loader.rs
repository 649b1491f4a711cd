//! The loader: the one place that decides which spec a template has, and which overlays correct it. Macros, build scripts, the
//! command, the proxy and the Python package all ask it, and print or compile what it returns. The policy is written down in
//! the README of this crate, under "Where a spec comes from" and "Overlays".
//!
//! `input` reads what is to be loaded, `folder` a folder of specs, `loaded` is the result, `error` says why there is none. Nothing here makes a parser.

mod error;
mod folder;
mod input;
mod loaded;

use std::path::{Path, PathBuf};

use unjinja_analyzer::trace::Comparison;
use unjinja_analyzer::{AnalyzeError, Naming, SourceExt, analyze, analyze_traced, sha256, verified};
use unjinja_render::{Limits, SpecialTokens, Template};
use unjinja_source::{Source, name_of};
use unjinja_spec::{FormatSpec, Overlay};

use crate::cache::{CacheUse, Slot};
#[cfg(feature = "generated")]
use crate::known;
use crate::overlays::{Correction, KnownOverlay, Origin, Reason, fitting};

pub use error::LoadError;
pub use folder::specs_in;
pub(crate) use input::Subject;
pub use input::{Input, overlay_of_spec};
pub use loaded::Loaded;

/// A function that is called with each comparison of an analysis, as soon as it is made.
pub type Observer<'o> = dyn FnMut(&Comparison) + Send + 'o;

/// Loads format specs and [`Model`](crate::Model)s, with choices. `Model::from_…` does the same without any.
///
/// ```no_run
/// use unjinja_dynamic::Loader;
///
/// let loader = Loader::new().cache("/var/cache/my-server/specs");
/// let model = loader.from_gguf("model.gguf")?;
/// # Ok::<(), unjinja_dynamic::ModelError>(())
/// ```
///
/// # Where the spec comes from
///
/// The first of these: the [committed spec](Self::committed_spec), the reviewed spec of a supported model with exactly this
/// template and the special tokens that it writes, the [cache](Self::cache), and an analysis, whose result is verified with random conversations.
/// [`Loaded::origin`] tells which.
///
/// # Which overlays are applied
///
/// The first of these, alone: those that are [given](Self::overlay); the file `NAME.overlay.toml` next to the spec or, without
/// the file of a spec, next to the template; the [known overlay](Self::overlays) that fits. [`Loaded::corrections`] tells which.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    name: Option<String>,
    origin: String,
    committed: Option<Committed>,
    given: Vec<Given>,
    known: Vec<KnownOverlay>,
    cache: Option<PathBuf>,
    tokens: SpecialTokens,
    limits: Limits,
    analyses_anew: bool,
    only_given_overlays: bool,
    without_known_formats: bool,
}

/// The spec that is used instead of an analysis.
#[derive(Clone, Debug)]
enum Committed {
    Spec(Box<FormatSpec>),
    File(PathBuf),
    #[cfg(feature = "generated")]
    Model(String),
}

/// An overlay that the caller names.
#[derive(Clone, Debug)]
enum Given {
    Overlay(Box<Overlay>),
    File(PathBuf),
}

/// An overlay that is to be applied.
struct Chosen {
    reason: Reason,
    file: Option<PathBuf>,
    /// The name of the spec that it was written for, if it is a known one.
    model: Option<String>,
    overlay: Overlay,
}

/// A spec without overlays.
struct Bare {
    spec: FormatSpec,
    origin: Origin,
    cache: CacheUse,
    /// Where an overlay of this spec would be.
    adjacent: Option<PathBuf>,
}

impl Bare {
    fn reviewed(spec: FormatSpec, adjacent: Option<PathBuf>) -> Self {
        Self { spec, origin: Origin::Reviewed, cache: CacheUse::Unused, adjacent }
    }
}

/// Choices.
impl Loader {
    /// No cache, and no overlays other than known ones and those next to the files; names are made from the file names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The model's name. It is written in lower case, with `_` in place of other characters. The default is made from the
    /// file's name; a spec that is given keeps its own.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name_of(name));
        self
    }

    /// Where the template comes from, for people: usually the model's id on the Hub. The spec records it as `template.source`.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    /// A spec that was reviewed and committed. It is used instead of an analysis; it must have been made from the template
    /// that is loaded.
    pub fn committed_spec(mut self, spec: FormatSpec) -> Self {
        self.committed = Some(Committed::Spec(Box::new(spec)));
        self
    }

    /// The file of a [committed spec](Self::committed_spec). An overlay next to it is applied.
    pub fn committed_spec_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.committed = Some(Committed::File(path.into()));
        self
    }

    /// The supported model whose reviewed spec is the [committed spec](Self::committed_spec). The name is one that
    /// [`known`](Self::known) takes.
    #[cfg(feature = "generated")]
    pub fn committed_model(mut self, name: impl Into<String>) -> Self {
        self.committed = Some(Committed::Model(name.into()));
        self
    }

    /// Applies this overlay to whatever is loaded. Several are applied one after the other.
    pub fn overlay(mut self, overlay: Overlay) -> Self {
        self.given.push(Given::Overlay(Box::new(overlay)));
        self
    }

    /// Applies the overlay in this file, as [`overlay`](Self::overlay) does. The file is read when something is loaded.
    pub fn overlay_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.given.push(Given::File(path.into()));
        self
    }

    /// Overlays of other specs. The one that fits is applied: it was written for the same template, or else for another
    /// template of the same format ([`KnownOverlay`] says what that means). If several fit and disagree, none is applied. A
    /// spec that is given, and not analysed, only gets one that was written for its template.
    pub fn overlays(mut self, known: impl IntoIterator<Item = KnownOverlay>) -> Self {
        self.known.extend(known);
        self
    }

    /// Applies the overlays that are [given](Self::overlay), and no other: for those who commit a spec, whose readers apply its
    /// overlay.
    pub fn only_given_overlays(mut self) -> Self {
        self.only_given_overlays = true;
        self
    }

    /// Uses neither the reviewed specs nor the overlays of the supported models. They are there with the feature `generated`,
    /// which is on by default.
    pub fn without_known_formats(mut self) -> Self {
        self.without_known_formats = true;
        self
    }

    /// Analyses each template although there may be a reviewed spec or one in the cache: for those who show or test the
    /// analysis. A committed spec takes precedence.
    pub fn analyse_anew(mut self) -> Self {
        self.analyses_anew = true;
        self
    }

    /// Keeps the results of analyses in this folder, one file for each template, special tokens and version of this crate.
    /// The folder is made if it is missing. A file that is damaged or was made from another template is ignored and written
    /// anew. Nothing about the cache makes loading fail; see [`Model::cache`](crate::Model::cache).
    ///
    /// Whoever can write to the folder decides how outputs are read: use a folder that belongs to the application.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// The special tokens that the template may write, for files that do not give them: a `.jinja` file, or a text.
    pub fn tokens(mut self, tokens: SpecialTokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// How much the renders of the model may use. The analysis keeps the limits of [`RenderLimits::default`](crate::RenderLimits).
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// Loading.
impl Loader {
    /// The spec of a template, or a spec itself, with the overlays that correct it. [`Loaded::model`] makes a model of it.
    ///
    /// ```
    /// use unjinja_dynamic::{Input, Loader, Origin};
    ///
    /// let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
    ///     {% if add_generation_prompt %}<assistant>{% endif %}";
    /// let loaded = Loader::new().load(Input::text(template))?;
    /// assert_eq!((loaded.origin, &*loaded.spec.turn.end), (Origin::Analysed, "</>"));
    /// # Ok::<(), unjinja_dynamic::LoadError>(())
    /// ```
    ///
    /// # Errors
    /// If a file cannot be read, is damaged, holds no template or several; a template with a syntax error, or that cannot be
    /// analysed; an invalid spec or overlay; a committed spec of another template; a name of no supported model.
    pub fn load(&self, input: Input) -> Result<Loaded, LoadError> {
        self.load_subject(self.read(input)?, &mut analyze)
    }

    /// Like [`load`](Self::load). If a template is analysed, `observe` is called with each comparison.
    ///
    /// # Errors
    /// Those of [`load`](Self::load). `observe` has then been called with the comparisons before the error.
    pub fn load_observed(&self, input: Input, observe: &mut Observer<'_>) -> Result<Loaded, LoadError> {
        self.load_subject(self.read(input)?, &mut |template, naming| analyze_traced(template, naming, observe))
    }

    /// The overlays that files or the caller give for a template: all that apply to it but known ones. Nothing is analysed.
    ///
    /// # Errors
    /// If an overlay cannot be read, or is invalid.
    pub fn overlays_of(&self, source: &Source) -> Result<Vec<Overlay>, LoadError> {
        Ok(self.overlays_in_files(Some(&source.overlay()))?.into_iter().map(|chosen| chosen.overlay).collect())
    }

    /// Reads an input. Nothing is analysed.
    pub(crate) fn read(&self, input: Input) -> Result<Subject, LoadError> {
        input.read(self.name.as_deref())
    }

    /// Loads an input that was read; `analyse` derives a spec, if it takes an analysis.
    pub(crate) fn load_subject(&self, subject: Subject, analyse: &mut Analyse<'_>) -> Result<Loaded, LoadError> {
        match subject {
            Subject::Spec { spec, adjacent, .. } => self.corrected(Bare::reviewed(self.named(*spec), adjacent), None),
            Subject::Template { source, is_named } => {
                let source = self.with_tokens(*source);
                let bare = self.bare(&source, is_named, analyse)?;
                self.corrected(bare, Some(source))
            }
        }
    }

    /// A template with the loader's special tokens, as far as its file does not give them.
    fn with_tokens(&self, mut source: Source) -> Source {
        source.tokens.bos = source.tokens.bos.or_else(|| self.tokens.bos.clone());
        source.tokens.eos = source.tokens.eos.or_else(|| self.tokens.eos.clone());
        for (name, token) in &self.tokens.others {
            source.tokens.others.entry(name).or_insert_with(|| token.clone());
        }
        source
    }

    /// The spec of a template without overlays.
    fn bare(&self, source: &Source, is_named: bool, analyse: &mut Analyse<'_>) -> Result<Bare, LoadError> {
        // A text that nobody named has no file, and so nothing is next to it.
        let adjacent = is_named.then(|| source.overlay());
        if let Some(committed) = &self.committed {
            return self.committed_for(committed, source, adjacent);
        }
        let naming = self.naming(source);
        let reads = !self.analyses_anew;
        if let Some(mut spec) = self.reviewed(source).filter(|_| reads) {
            if is_named || self.name.is_some() {
                (spec.template.name, spec.template.file) = (naming.name, naming.file);
            }
            return Ok(Bare::reviewed(spec, adjacent));
        }
        let slot = self.cache.as_deref().filter(|_| reads).map(|folder| Slot::new(folder, source));
        if let Some((mut spec, cache)) = slot.as_ref().and_then(Slot::read) {
            (spec.template.name, spec.template.file, spec.template.source) = (naming.name, naming.file, naming.source);
            return Ok(Bare { spec, origin: Origin::Analysed, cache, adjacent });
        }
        let spec = analysed(source, &naming, analyse)?;
        let cache = slot.map_or(CacheUse::Unused, |slot| slot.write(&spec));
        Ok(Bare { spec, origin: Origin::Analysed, cache, adjacent })
    }

    /// The committed spec, if it was made from this template. An overlay goes with the file of the spec, if it has one.
    fn committed_for(
        &self,
        committed: &Committed,
        source: &Source,
        adjacent: Option<PathBuf>,
    ) -> Result<Bare, LoadError> {
        let (spec, place, adjacent) = match committed {
            Committed::File(path) => {
                let (spec, adjacent) = input::spec(path)?;
                (spec, path.clone(), Some(adjacent))
            }
            Committed::Spec(spec) => ((**spec).clone(), PathBuf::from(&spec.template.name), adjacent),
            #[cfg(feature = "generated")]
            Committed::Model(name) => (known::known_spec(name)?, PathBuf::from(name), adjacent),
        };
        let (seen, expected) = (sha256(&source.text), &spec.template.sha256);
        if *expected == seen {
            return Ok(Bare::reviewed(self.named(spec), adjacent));
        }
        let (template, expected) = (PathBuf::from(source.place()), expected.clone());
        Err(LoadError::OtherTemplate { spec: place, template, expected, seen })
    }

    /// The reviewed spec of the supported model that has this template. It was made with the special tokens that it records. A
    /// template that writes another one, which its own file gives, has another format.
    #[cfg(feature = "generated")]
    fn reviewed(&self, source: &Source) -> Option<FormatSpec> {
        if self.without_known_formats {
            return None;
        }
        let spec = known::of_template(&source.text)?;
        let (given, recorded) = (&source.tokens, &spec.tokens);
        let others = given.others.keys().map(|name| (name.as_str(), true));
        let of_file = [
            ("bos_token", given.bos.is_some() && given.bos != recorded.bos),
            ("eos_token", given.eos.is_some() && given.eos != recorded.eos),
        ];
        let mut differing = of_file.into_iter().chain(others).filter(|(_, differs)| *differs);
        let writes = |variable: &str| source.text.contains(variable);
        if differing.any(|(variable, _)| writes(variable)) { None } else { Some(spec) }
    }

    #[cfg(not(feature = "generated"))]
    fn reviewed(&self, _: &Source) -> Option<FormatSpec> {
        None
    }

    fn naming(&self, source: &Source) -> Naming {
        let naming = source.naming(&self.origin);
        Naming { name: self.name.clone().unwrap_or(naming.name), ..naming }
    }

    /// A spec that was given, with the loader's name if it has one.
    fn named(&self, mut spec: FormatSpec) -> FormatSpec {
        if let Some(name) = &self.name {
            spec.template.name.clone_from(name);
        }
        spec
    }

    /// Applies the overlays.
    fn corrected(&self, bare: Bare, source: Option<Source>) -> Result<Loaded, LoadError> {
        let chosen = self.overlays_for(&bare, source.as_ref())?;
        let Bare { spec: bare, origin, cache, .. } = bare;
        let (mut spec, mut corrections) = (bare.clone(), Vec::new());
        for Chosen { reason, file, model, overlay } in chosen {
            spec = overlay.apply(&spec)?;
            corrections.push(Correction::new(reason, file, model, &overlay));
        }
        let limits = self.limits.clone();
        Ok(Loaded { bare, spec, origin, corrections, source, cache, limits })
    }

    /// The overlays for a spec: those that are given, else the one next to the file, else a known one.
    fn overlays_for(&self, bare: &Bare, source: Option<&Source>) -> Result<Vec<Chosen>, LoadError> {
        let in_files = self.overlays_in_files(bare.adjacent.as_deref())?;
        if !in_files.is_empty() || self.only_given_overlays {
            return Ok(in_files);
        }
        let found = fitting(&bare.spec, bare.origin, &self.known);
        #[cfg(feature = "generated")]
        let found = found.or_else(|| {
            let known = if self.without_known_formats { &[] } else { known::overlays() };
            fitting(&bare.spec, bare.origin, known)
        });
        // One that was written for another template must not contradict this one.
        let template = source.filter(|_| found.is_some()).and_then(|source| source.template().ok());
        let is_contradicted = |known: &KnownOverlay| {
            template.as_ref().is_some_and(|template| known.is_contradicted(&bare.spec, template))
        };
        let found = found.filter(|(_, known)| !is_contradicted(known));
        let chosen = |(reason, known): (Reason, &KnownOverlay)| Chosen {
            reason,
            file: None,
            model: Some(known.name.clone()),
            overlay: known.overlay.clone(),
        };
        Ok(found.map(chosen).into_iter().collect())
    }

    fn overlays_in_files(&self, adjacent: Option<&Path>) -> Result<Vec<Chosen>, LoadError> {
        if !self.given.is_empty() {
            return self.given.iter().map(Given::chosen).collect();
        }
        match adjacent.filter(|path| !self.only_given_overlays && path.is_file()) {
            Some(path) => Ok(vec![Chosen::in_file(Reason::NextToSource, path)?]),
            None => Ok(Vec::new()),
        }
    }
}

impl Given {
    fn chosen(&self) -> Result<Chosen, LoadError> {
        match self {
            Self::File(path) => Chosen::in_file(Reason::Given, path),
            Self::Overlay(overlay) => {
                Ok(Chosen { reason: Reason::Given, file: None, model: None, overlay: (**overlay).clone() })
            }
        }
    }
}

impl Chosen {
    fn in_file(reason: Reason, path: &Path) -> Result<Self, LoadError> {
        let overlay = Overlay::from_toml(&input::text(path)?, &path.display().to_string())?;
        Ok(Self { reason, file: Some(path.to_owned()), model: None, overlay })
    }
}

/// Derives the spec of a template: with or without a record. A program that keeps none does not link it.
pub(crate) type Analyse<'a> = dyn FnMut(&Template, &Naming) -> Result<FormatSpec, AnalyzeError> + 'a;

/// Analyses a template, and verifies the spec that comes out.
fn analysed(source: &Source, naming: &Naming, analyse: &mut Analyse<'_>) -> Result<FormatSpec, LoadError> {
    let path = || source.path.clone();
    let template = source.template().map_err(|error| LoadError::Template { path: path(), error })?;
    let spec =
        analyse(&template, naming).map_err(|error| LoadError::Analysis { path: path(), error: Box::new(error) })?;
    Ok(verified(&template, spec))
}
