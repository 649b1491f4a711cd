//! Which tokenizer each model has: `--tokenizer`. Reading one needs the feature `tokens`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use unjinja_build::Source;
use unjinja_dynamic::{Loader, SpecialTokens};
use unjinja_server::http::ServedModel;

use crate::failure::Failure;
use crate::input;

/// The file of a tokenizer, and the one next to it that names its special tokens.
const FILE: &str = "tokenizer.json";
const CONFIG: &str = "tokenizer_config.json";

/// The tokenizers of the command line.
pub(super) struct Tokenizers {
    given: Vec<Given>,
    /// There is a single model.
    is_single: bool,
}

struct Given {
    /// The model's name; none for the single model.
    name: Option<String>,
    place: PathBuf,
    is_used: RefCell<bool>,
}

impl Tokenizers {
    /// Reads the command line. `count` is the number of models.
    pub(super) fn of(arguments: &[String], count: usize) -> Result<Self, Failure> {
        if cfg!(not(feature = "tokens")) && !arguments.is_empty() {
            let next = "install it with `cargo install unjinja-cli --features tokens`, or take the released command, the Python package \
                        or the container, which have them";
            return Err(Failure::Input(format!("--tokenizer: this command was built without tokenizers: {next}")));
        }
        let mut given = Vec::new();
        for text in arguments {
            let (name, place) = match text.split_once('=') {
                // A file may have this character in its name.
                Some((name, place)) if !Path::new(text).exists() => (Some(name.to_owned()), place),
                _ => (None, text.as_str()),
            };
            if name.is_none() && (count != 1 || arguments.len() != 1) {
                let next = "with several models, write it as NAME=FOLDER";
                return Err(Failure::Input(format!(
                    "--tokenizer {text}: this does not say of which model it is; {next}"
                )));
            }
            let place = Path::new(place);
            let place = if place.is_dir() { place.join(FILE) } else { place.to_owned() };
            if !place.is_file() {
                let next = format!("name the model's folder, or its {FILE}");
                return Err(Failure::Input(format!("{}: there is no such file; {next}", place.display())));
            }
            given.push(Given { name, place, is_used: RefCell::new(false) });
        }
        Ok(Self { given, is_single: count == 1 })
    }

    /// The tokenizer of a model, if it has one. A single model may have no name yet.
    pub(super) fn get(&self, name: Option<&str>) -> Option<Tokenizer<'_>> {
        let is_of = |one: &&Given| match (&one.name, name) {
            (None, _) => true,
            (Some(wanted), Some(name)) => wanted == name,
            (Some(_), None) => self.is_single,
        };
        let found = self.given.iter().find(is_of)?;
        found.is_used.replace(true);
        Some(Tokenizer { file: &found.place })
    }

    /// Checks that every tokenizer is that of a model.
    pub(super) fn all_used(&self) -> Result<(), Failure> {
        match self.given.iter().find(|one| !*one.is_used.borrow()) {
            Some(Given { name, place, .. }) => {
                let name = name.as_deref().unwrap_or_default();
                let next = "give it the name of a model: that of --template NAME=FILE, or of the upstream";
                Err(Failure::Input(format!(
                    "--tokenizer {name}={}: no model is called {name:?}; {next}",
                    place.display()
                )))
            }
            None => Ok(()),
        }
    }
}

/// A tokenizer of the command line.
#[derive(Clone, Copy)]
pub(super) struct Tokenizer<'a> {
    file: &'a Path,
}

impl Tokenizer<'_> {
    /// A loader that knows the texts of the tokenizer's special tokens, for templates that come without them.
    pub(super) fn loader(self, loader: &Loader) -> Result<Loader, Failure> {
        let config = self.file.with_file_name(CONFIG);
        if !config.is_file() {
            return Ok(loader.clone());
        }
        let text = input::text(&config).map_err(|error| Failure::Input(error.to_string()))?;
        let known = Source::from_text("tokens.jinja", "").with_tokens_of(&text).tokens;
        Ok(loader.clone().tokens(SpecialTokens { bos: known.bos, eos: known.eos, others: known.others }))
    }

    /// A model whose prompts go as ids.
    #[cfg(feature = "tokens")]
    pub(super) fn give(self, model: ServedModel) -> Result<ServedModel, Failure> {
        use unjinja_tokens::Vocabulary;

        let is_named = self.file.file_name().is_some_and(|name| name == FILE);
        let vocabulary = match self.file.parent().filter(|_| is_named) {
            Some(folder) => Vocabulary::from_folder(folder),
            None => {
                let text = input::text(self.file).map_err(|error| Failure::Input(error.to_string()))?;
                Vocabulary::from_json(&text)
            }
        };
        let vocabulary = vocabulary.map_err(|error| Failure::Input(error.to_string()))?;
        model.tokenizer(vocabulary).map_err(|error| Failure::Input(error.to_string()))
    }

    /// There are no tokenizers: [`Tokenizers::of`] has refused them.
    #[cfg(not(feature = "tokens"))]
    pub(super) fn give(self, model: ServedModel) -> Result<ServedModel, Failure> {
        Ok(model)
    }
}
