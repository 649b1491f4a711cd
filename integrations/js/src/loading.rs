//! Loading a model: from a template, the bytes of a file, a spec, or by its name.

use serde_json::{Value, json};
use unjinja_bindings::{FailureKind, loader, reasoning_markers, restored_model};
use unjinja_dynamic::{Input, Loader, Model, Source, SpecialTokens};
use unjinja_source::SourceErrorKind;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// A model, and how it was loaded.
pub(crate) struct ModelObject {
    pub(crate) model: Model,
    pub(crate) origin: ModelOrigin,
}

/// What a model is loaded from.
pub(crate) struct ModelOrigin {
    pub(crate) loader: Loader,
    pub(crate) input: Input,
    /// The overlay that was given, for another instance.
    overlay: Option<String>,
}

impl ModelOrigin {
    /// An input with the overlay and the name that were given.
    fn new(arguments: &mut Arguments, input: Input) -> Result<Self, Failure> {
        let overlay = arguments.text("overlay")?;
        let mut loader = loader(overlay.as_deref())?;
        if let Some(name) = arguments.text("name")? {
            loader = loader.name(&name);
        }
        Ok(Self { loader, input, overlay })
    }

    /// The text of a chat template.
    pub(crate) fn template(arguments: &mut Arguments, text: &str) -> Result<Self, Failure> {
        let (bos, eos) = (arguments.text("bosToken")?, arguments.text("eosToken")?);
        let mut origin = Self::new(arguments, Input::text(text))?;
        origin.loader = origin.loader.tokens(SpecialTokens { bos, eos, ..SpecialTokens::default() });
        Ok(origin)
    }

    /// The bytes of a file. Its name says of what kind it is.
    pub(crate) fn file(arguments: &mut Arguments, bytes: &[u8]) -> Result<Self, Failure> {
        let file = arguments.needed("$file")?;
        let variant = arguments.text("variant")?;
        let source = match arguments.text("template")? {
            // A template in a file of its own, next to the file with the tokens.
            Some(text) => {
                Source::from_text("chat_template.jinja", text).with_tokens_of(&String::from_utf8_lossy(bytes))
            }
            None => one_source(&file, bytes, variant.as_deref())?,
        };
        Self::new(arguments, Input::source(source))
    }

    fn load(self) -> Result<ModelObject, Failure> {
        let model = self.loader.load(self.input.clone())?.model()?;
        Ok(ModelObject { model, origin: self })
    }
}

/// From the text of a chat template.
pub(crate) fn template(mut arguments: Arguments, text: &[u8]) -> Result<ModelObject, Failure> {
    let origin = ModelOrigin::template(&mut arguments, &String::from_utf8_lossy(text))?;
    arguments.done()?;
    origin.load()
}

/// From the bytes of a file.
pub(crate) fn file(mut arguments: Arguments, bytes: &[u8]) -> Result<ModelObject, Failure> {
    let origin = ModelOrigin::file(&mut arguments, bytes)?;
    arguments.done()?;
    origin.load()
}

/// The one template of a file, or the one of this name.
pub(crate) fn one_source(file: &str, bytes: &[u8], variant: Option<&str>) -> Result<Source, Failure> {
    let mut sources = Source::from_bytes(file, bytes).map_err(|error| {
        let is_cut = error.kind() == SourceErrorKind::Invalid;
        let failure = Failure::from(unjinja_dynamic::LoadError::Source(error));
        if is_cut { failure.cut() } else { failure }
    })?;
    let names = || {
        let names = sources.iter().filter_map(|source| source.variant.as_deref()).map(|name| format!("{name:?}"));
        names.collect::<Vec<_>>().join(", ")
    };
    let at = match variant {
        Some(name) => sources.iter().position(|source| source.variant.as_deref() == Some(name)).ok_or_else(|| {
            let known = names();
            let next = if known.is_empty() {
                "leave `variant` out: the file has one template, without a name".to_owned()
            } else {
                format!("use one of {known}")
            };
            Failure::new(FailureKind::Load, format!("{file}: it has no template {name:?}\n  = next: {next}"))
        })?,
        None if sources.len() == 1 => 0,
        None => {
            let text = format!("{file}: it has several templates\n  = next: name one as `variant`: {}", names());
            return Err(Failure::new(FailureKind::Load, text));
        }
    };
    Ok(sources.swap_remove(at))
}

/// From the text of a spec.
pub(crate) fn spec(mut arguments: Arguments, text: &[u8]) -> Result<ModelObject, Failure> {
    let origin = ModelOrigin::new(&mut arguments, Input::spec_text(String::from_utf8_lossy(text)))?;
    arguments.done()?;
    origin.load()
}

/// A supported model.
pub(crate) fn known(mut arguments: Arguments) -> Result<ModelObject, Failure> {
    let input = Input::known(arguments.needed("name")?);
    ModelOrigin { loader: Loader::new(), input, overlay: None }.load()
}

/// The supported models: the names of their specs, and their ids.
#[cfg(feature = "full")]
pub(crate) fn known_models() -> Value {
    let specs = unjinja_dynamic::known_specs().into_iter();
    specs.map(|spec| json!({ "name": spec.template.name, "ids": spec.template.models })).collect()
}

/// What another instance needs to make the same model without an analysis.
pub(crate) fn state(loaded: &ModelObject) -> Value {
    let ModelObject { model, origin } = loaded;
    let tokens = model.parsed_template().ok().map(|template| template.tokens().clone()).unwrap_or_default();
    json!({
        "spec": model.spec().to_toml(),
        "template": model.template(),
        "tokens": { "bos": tokens.bos, "eos": tokens.eos, "others": tokens.others },
        "overlay": origin.overlay,
    })
}

/// A model from its state. The spec has the overlays in it, and nothing is analysed.
pub(crate) fn from_state(mut arguments: Arguments) -> Result<ModelObject, Failure> {
    let text = arguments.needed("spec")?;
    let Some(template) = arguments.text("template")? else {
        let input = Input::spec_text(text);
        return ModelOrigin { loader: Loader::new(), input, overlay: None }.load();
    };
    let tokens = arguments.value("tokens").unwrap_or_default();
    let token = |name: &str| tokens[name].as_str().map(str::to_owned);
    let others = tokens["others"].as_object().cloned().unwrap_or_default();
    let tokens = SpecialTokens { bos: token("bos"), eos: token("eos"), others };
    let model = restored_model(&text, &template, tokens.clone())?;
    let mut origin = ModelOrigin::new(&mut arguments, Input::text(template))?;
    // An explanation analyses the template anew, and then the overlay counts.
    origin.loader = origin.loader.name(model.name()).tokens(tokens);
    Ok(ModelObject { model, origin })
}

/// What JavaScript shows of a model.
pub(crate) fn facts(model: &Model) -> Value {
    let spec = model.spec();
    json!({
        "name": model.name(),
        "status": model.status().name(),
        "gaps": model.gaps(),
        "preservedTokens": spec.tokens.preserved,
        "reasoningMarkers": reasoning_markers(model),
    })
}
