//! What a path or an id names: the templates of a file, of a folder, or of a model in the Hub's cache.

use std::path::Path;

use crate::error::SourceError;
use crate::file::{read_file, read_stdin};
use crate::folder::of_folder;
use crate::hub::hub_folder;
use crate::names::{self, STDIN, is_file_name, split_variant};
use crate::source::Source;

impl Source {
    /// Reads all templates of a file; of a folder, those of the model in it; of a model's id (`Qwen/Qwen3-8B`), those in the Hub's
    /// cache. `PATH#NAME` reads the named one only; `-` is standard input.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("unjinja-source-read-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("tokenizer_config.json");
    /// std::fs::write(&path, r#"{
    ///     "chat_template": [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
    /// }"#)?;
    /// let sources = unjinja_source::Source::read(&path)?;
    /// assert_eq!(sources[1].text, "b");
    /// assert_eq!(sources[1].variant.as_deref(), Some("tool_use"));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or holds no template (the error then says what it holds).
    pub fn read(path: impl AsRef<Path>) -> Result<Vec<Source>, SourceError> {
        let (path, variant) = split_variant(path.as_ref());
        let sources = match path.to_str() {
            Some(STDIN) => read_stdin(),
            _ if path.is_dir() => of_folder(&path),
            _ if path.exists() || is_file_name(&path) => read_file(&path),
            id => id.and_then(hub_folder).map_or_else(|| Err(SourceError::unknown(&path)), |folder| of_folder(&folder)),
        }?;
        let Some(variant) = variant else { return Ok(sources) };
        match sources.iter().position(|source| source.variant.as_deref() == Some(&variant)) {
            Some(at) => Ok(sources.into_iter().skip(at).take(1).collect()),
            None => Err(SourceError::unknown_variant(&path, &variant, &variants(&sources))),
        }
    }

    /// Reads the one template of a file, a folder or a model's id, as [`read`](Self::read) does; `PATH#NAME` chooses one of several
    /// named templates. Of a model with templates in files of their own, it is the one in `chat_template.jinja`.
    ///
    /// # Errors
    /// Those of [`read`](Self::read), and if there are several templates: the error lists them.
    pub fn read_one(path: impl AsRef<Path>) -> Result<Source, SourceError> {
        let given = path.as_ref();
        let mut sources = Self::read(given)?;
        if sources.iter().filter(|source| names::variant_of_file(&source.path).is_none()).count() == 1 {
            sources.retain(|source| names::variant_of_file(&source.path).is_none());
        }
        let named = |source: &Source| names::variant_of_file(&source.path).filter(|name| name != names::DEFAULT);
        match (sources.pop(), sources.is_empty()) {
            // As in `transformers`, a template with a name of its own is no default.
            (Some(source), true)
                if split_variant(given).1.is_none() && given != source.path && named(&source).is_some() =>
            {
                Err(SourceError::no_default(given, &named(&source).unwrap_or_default()))
            }
            (Some(source), true) => Ok(source),
            (Some(last), false) => {
                let path = last.path.clone();
                sources.push(last);
                Err(match sources.iter().all(|source| source.path == path) {
                    true => SourceError::ambiguous(&path, &variants(&sources)),
                    false => {
                        let places: Vec<String> = sources.iter().map(Source::place).collect();
                        SourceError::ambiguous_folder(given, &places)
                    }
                })
            }
            // The readers return an error instead of an empty list.
            (None, _) => Err(SourceError::no_template(given, "the file holds no chat template")),
        }
    }
}

fn variants(sources: &[Source]) -> Vec<&str> {
    sources.iter().filter_map(|source| source.variant.as_deref()).collect()
}
