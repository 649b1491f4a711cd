//! Loads models: decides where the spec of a template comes from, which overlays are applied to it, and what is kept for
//! the next time.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unjinja_analyzer::{Naming, SourceExt, analyze, sha256, verified};
use unjinja_render::SpecialTokens;
use unjinja_source::{MODEL_FILES, Source, name_of, split_variant};
use unjinja_spec::{FormatSpec, Overlay};

use crate::cache::{CacheUse, Slot};
use crate::error::ModelError;
#[cfg(feature = "generated")]
use crate::known;
use crate::model::Model;
use crate::overlays::{Correction, KnownOverlay, Origin, Reason, fitting};
use crate::renderer::Renderer;

/// The first bytes of a GGUF file.
const GGUF: [u8; 4] = *b"GGUF";

/// The file name that a template without a file and without a name has in messages.
const UNNAMED: &str = "template.jinja";

/// Loads [`Model`]s, with choices. `Model::from_…` does the same without any.
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
/// The first of these: the [committed spec](Self::committed_spec), the reviewed spec of a supported model with this template
/// (`known_formats`), the [cache](Self::cache), and an analysis, whose result is verified with random conversations.
///
/// # Which overlays are applied
///
/// The first of these, alone: those that [`overlay`](Self::overlay) names; the file `NAME.overlay.toml` next to the template
/// or spec, as on the command line; the [known overlay](Self::overlays) that fits. [`Model::corrections`] tells which.
#[derive(Clone, Debug, Default)]
pub struct Loader {
    name: Option<String>,
    cache: Option<PathBuf>,
    committed: Option<FormatSpec>,
    overlays: Vec<Overlay>,
    known: Vec<KnownOverlay>,
    tokens: SpecialTokens,
    #[cfg(feature = "generated")]
    known_formats: bool,
}

/// A spec without overlays, and where it comes from.
struct Made {
    spec: FormatSpec,
    origin: Origin,
    cache: CacheUse,
}

impl Made {
    fn reviewed(spec: FormatSpec) -> Self {
        Self { spec, origin: Origin::Reviewed, cache: CacheUse::Unused }
    }
}

impl Loader {
    /// No cache, and no overlays other than those next to the files; names are made from the file names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The model's name. It is written in lower case, with `_` in place of other characters. The default is made from the
    /// file's name.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name_of(name));
        self
    }

    /// Keeps the results of analyses in this folder, one file for each template, special tokens and version of this crate.
    /// The folder is made if it is missing. A file that is damaged or was made from another template is ignored and written
    /// anew. Nothing about the cache makes loading fail; see [`Model::cache`].
    ///
    /// Whoever can write to the folder decides how outputs are read: use a folder that belongs to the application.
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// A spec that was reviewed and committed. It is used instead of an analysis; it must have been made from the template
    /// that is loaded.
    pub fn committed_spec(mut self, spec: FormatSpec) -> Self {
        self.committed = Some(spec);
        self
    }

    /// Applies this overlay to whatever is loaded. Several are applied one after the other.
    pub fn overlay(mut self, overlay: Overlay) -> Self {
        self.overlays.push(overlay);
        self
    }

    /// Overlays of other specs. The one that fits is applied: it was written for the same template, or else for another
    /// template of the same format ([`KnownOverlay`] says what that means). If several fit and disagree, none is applied. A
    /// spec that is given, and not analysed, only gets one that was written for its template.
    pub fn overlays(mut self, known: impl IntoIterator<Item = KnownOverlay>) -> Self {
        self.known.extend(known);
        self
    }

    /// Uses what `unjinja-generated` knows: a template of a supported model gets its reviewed spec, which takes no
    /// analysis, and the overlays of supported models are applied where they fit, as [`overlays`](Self::overlays) says.
    #[cfg(feature = "generated")]
    pub fn known_formats(mut self) -> Self {
        self.known_formats = true;
        self
    }

    /// The special tokens that the template may write, for files that do not give them: a `.jinja` file, or a text.
    pub fn tokens(mut self, tokens: SpecialTokens) -> Self {
        self.tokens = tokens;
        self
    }

    /// A model from the text of a chat template.
    ///
    /// # Errors
    /// A syntax error; a template that cannot be analysed, or from whose spec no parser can be made; an overlay or a
    /// committed spec that does not fit.
    pub fn from_template(&self, text: &str) -> Result<Model, ModelError> {
        let file = self.name.as_ref().map_or_else(|| UNNAMED.to_owned(), |name| format!("{name}.jinja"));
        self.load(Source::from_text(file, text), None)
    }

    /// A model from the metadata of a GGUF file. The weights are not read. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`from_file`](Self::from_file), and if the file is of another kind.
    pub fn from_gguf(&self, path: impl AsRef<Path>) -> Result<Model, ModelError> {
        let (file, _) = split_variant(path.as_ref());
        let mut start = Vec::new();
        let opened = File::open(&file).and_then(|file| file.take(GGUF.len() as u64).read_to_end(&mut start));
        // What cannot be opened is the reader's error to report.
        if opened.is_ok() && start != GGUF {
            return Err(ModelError::NotGguf { path: file });
        }
        self.read_template(path.as_ref())
    }

    /// A model from a `tokenizer_config.json`. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`from_file`](Self::from_file).
    pub fn from_tokenizer_config(&self, path: impl AsRef<Path>) -> Result<Model, ModelError> {
        self.read_template(path.as_ref())
    }

    /// A model from the folder of a pretrained model, as the Hugging Face Hub has it, or from a file of any kind. In a folder, the
    /// first of [`MODEL_FILES`] that exists is read.
    ///
    /// # Errors
    /// Those of [`from_file`](Self::from_file), and if the folder has none of these files.
    pub fn from_pretrained(&self, path: impl AsRef<Path>) -> Result<Model, ModelError> {
        let path = path.as_ref();
        if !path.is_dir() {
            return self.from_file(path);
        }
        let own = MODEL_FILES.iter().map(|name| path.join(name)).find(|file| file.is_file());
        self.from_file(own.ok_or_else(|| ModelError::NoModelFile { folder: path.to_owned() })?)
    }

    /// A model from a format spec. It has no template, so it renders nothing. A spec that was reviewed for a template is
    /// better passed to [`committed_spec`](Self::committed_spec).
    ///
    /// # Errors
    /// If the spec is invalid, or no parser can be made from it, or an overlay does not fit.
    pub fn from_spec(&self, text: &str) -> Result<Model, ModelError> {
        let file = self.name.as_ref().map_or_else(|| "spec.toml".to_owned(), |name| format!("{name}.toml"));
        self.finish(Made::reviewed(self.named(FormatSpec::from_toml(text, &file)?)), None, None)
    }

    /// A model from a file: a format spec (`.toml`), or a template (`.jinja`, `tokenizer_config.json`,
    /// `chat_template.json`, GGUF, `-` for standard input). `PATH#NAME` is one of several named templates. The overlay next to
    /// the file is applied.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, holds no template or several; and those of
    /// [`from_template`](Self::from_template) and [`from_spec`](Self::from_spec).
    pub fn from_file(&self, path: impl AsRef<Path>) -> Result<Model, ModelError> {
        let path = path.as_ref();
        if path.extension().is_none_or(|extension| extension != "toml") {
            return self.read_template(path);
        }
        let spec = FormatSpec::from_toml(&read(path)?, &path.display().to_string())?;
        let beside = overlay_at(&path.with_extension("overlay.toml"))?;
        self.finish(Made::reviewed(self.named(spec)), beside, None)
    }

    /// A model from a template that was read with [`Source`]. The overlay next to its file is applied.
    ///
    /// # Errors
    /// Those of [`from_template`](Self::from_template).
    pub fn from_source(&self, source: Source) -> Result<Model, ModelError> {
        let beside = overlay_at(&source.overlay())?;
        self.load(source, beside)
    }

    /// The reviewed spec of a supported model, with its overlay. The name is that of a spec (`qwen_qwen3_0_6b`) or an id on
    /// the Hugging Face Hub, with or without its owner (`Qwen/Qwen3-0.6B`). It has no template, so it renders nothing.
    ///
    /// # Errors
    /// If the name fits no supported model, or several.
    #[cfg(feature = "generated")]
    pub fn known(&self, name: &str) -> Result<Model, ModelError> {
        let spec = known::known_spec(name).map_err(|error| known::no_model(name, error))?;
        let known = Self { known_formats: true, ..self.clone() };
        known.finish(Made::reviewed(self.named(spec)), None, None)
    }

    fn read_template(&self, path: &Path) -> Result<Model, ModelError> {
        self.from_source(Source::read_one(path)?)
    }

    fn load(&self, mut source: Source, beside: Option<Overlay>) -> Result<Model, ModelError> {
        source.tokens.bos = source.tokens.bos.or_else(|| self.tokens.bos.clone());
        source.tokens.eos = source.tokens.eos.or_else(|| self.tokens.eos.clone());
        for (name, token) in &self.tokens.others {
            source.tokens.others.entry(name).or_insert_with(|| token.clone());
        }
        let made = self.spec_of(&source)?;
        self.finish(made, beside, Some(source))
    }

    /// The spec of a template without overlays.
    fn spec_of(&self, source: &Source) -> Result<Made, ModelError> {
        if let Some(spec) = &self.committed {
            let seen = sha256(&source.text);
            if spec.template.sha256 == seen {
                return Ok(Made::reviewed(self.named(spec.clone())));
            }
            let (spec, expected) = (spec.template.name.clone(), spec.template.sha256.clone());
            return Err(ModelError::OtherTemplate { spec, template: source.place(), expected, seen });
        }
        #[cfg(feature = "generated")]
        if let (true, Some(spec)) = (self.known_formats, known::of_template(&source.text)) {
            return Ok(Made::reviewed(self.named(spec)));
        }
        let naming = self.naming(source);
        let slot = self.cache.as_deref().map(|folder| Slot::new(folder, source));
        if let Some((mut spec, cache)) = slot.as_ref().and_then(Slot::read) {
            (spec.template.name, spec.template.file) = (naming.name, naming.file);
            return Ok(Made { spec, origin: Origin::Analysed, cache });
        }
        let template = source.template()?;
        let spec = verified(&template, analyze(&template, &naming)?);
        let cache = slot.map_or(CacheUse::Unused, |slot| slot.write(&spec));
        Ok(Made { spec, origin: Origin::Analysed, cache })
    }

    fn naming(&self, source: &Source) -> Naming {
        let naming = source.naming("");
        Naming { name: self.name.clone().unwrap_or(naming.name), ..naming }
    }

    /// A spec that was given, with the loader's name if it has one.
    fn named(&self, mut spec: FormatSpec) -> FormatSpec {
        if let Some(name) = &self.name {
            spec.template.name.clone_from(name);
        }
        spec
    }

    /// Applies overlays and makes the model.
    fn finish(&self, made: Made, beside: Option<Overlay>, source: Option<Source>) -> Result<Model, ModelError> {
        let overlays = self.overlays_for(&made, beside.as_ref());
        let Made { mut spec, cache, .. } = made;
        let mut corrections = Vec::new();
        for (reason, overlay) in overlays {
            spec = overlay.apply(&spec)?;
            corrections.push(Correction::new(reason, overlay));
        }
        let renderer = source.map(|source| {
            let bos = source.tokens.bos.clone().or_else(|| spec.tokens.bos.clone());
            let eos = source.tokens.eos.clone().or_else(|| spec.tokens.eos.clone());
            let tokens = SpecialTokens { bos, eos, others: source.tokens.others.clone() };
            Renderer::new(source, tokens)
        });
        Ok(Model::new(spec, renderer, corrections, cache)?)
    }

    /// The overlays for a spec: those that are given, else the one next to the file, else a known one.
    fn overlays_for<'o>(&'o self, made: &Made, beside: Option<&'o Overlay>) -> Vec<(Reason, &'o Overlay)> {
        if !self.overlays.is_empty() {
            return self.overlays.iter().map(|overlay| (Reason::Given, overlay)).collect();
        }
        if let Some(overlay) = beside {
            return vec![(Reason::Beside, overlay)];
        }
        let found = fitting(&made.spec, made.origin, &self.known);
        #[cfg(feature = "generated")]
        let found = found.or_else(|| {
            let known = if self.known_formats { known::overlays() } else { &[] };
            fitting(&made.spec, made.origin, known)
        });
        found.into_iter().collect()
    }
}

/// Shorthands for a [`Loader`] without choices.
impl Model {
    /// A model from the text of a chat template.
    ///
    /// # Errors
    /// Those of [`Loader::from_template`].
    pub fn from_template(text: &str) -> Result<Self, ModelError> {
        Loader::new().from_template(text)
    }

    /// A model from the metadata of a GGUF file. The weights are not read. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`Loader::from_gguf`].
    pub fn from_gguf(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Loader::new().from_gguf(path)
    }

    /// A model from a `tokenizer_config.json`. `PATH#NAME` is one of several named templates.
    ///
    /// # Errors
    /// Those of [`Loader::from_tokenizer_config`].
    pub fn from_tokenizer_config(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Loader::new().from_tokenizer_config(path)
    }

    /// A model from a format spec as TOML. It renders nothing.
    ///
    /// # Errors
    /// Those of [`Loader::from_spec`].
    pub fn from_spec(text: &str) -> Result<Self, ModelError> {
        Loader::new().from_spec(text)
    }

    /// A model from a file of any kind; see [`Loader::from_file`].
    ///
    /// # Errors
    /// Those of [`Loader::from_file`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Loader::new().from_file(path)
    }

    /// A supported model by its name; see [`Loader::known`].
    ///
    /// # Errors
    /// Those of [`Loader::known`].
    #[cfg(feature = "generated")]
    pub fn known(name: &str) -> Result<Self, ModelError> {
        Loader::new().known(name)
    }
}

fn read(path: &Path) -> Result<String, ModelError> {
    fs::read_to_string(path).map_err(|error| ModelError::File { path: path.to_owned(), error: Arc::new(error) })
}

/// The overlay in a file, if there is such a file.
fn overlay_at(path: &Path) -> Result<Option<Overlay>, ModelError> {
    if !path.is_file() {
        return Ok(None);
    }
    Ok(Some(Overlay::from_toml(&read(path)?, &path.display().to_string())?))
}
