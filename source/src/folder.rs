//! Folders of templates, and a model's folder, whose files speak of one another. Only names are looked at until it is
//! clear which files hold templates.

use std::path::{Path, PathBuf};

use super::names::{ADDITIONAL, MODEL_FILES, is_jinja, model_folder};
use super::{Source, SourceError, SpecialTokens, json, read_file, text};

/// The templates of a folder, in order of their paths: those in its files `*.jinja` and `*.gguf`, in a model's
/// `tokenizer_config.json` or `chat_template.json`, and in the models' folders that it holds. Files that can hold a
/// template and hold none are left out; a file that cannot be read gives its error in its place.
///
/// Of a model's files the one that counts most is read, as `transformers` does it: `chat_template.jinja` (with the
/// named templates in `additional_chat_templates` beside it), then `chat_template.json`, then `tokenizer_config.json`.
///
/// # Errors
/// Where the folder cannot be read.
pub fn sources_in(folder: impl AsRef<Path>) -> Result<Vec<Result<Source, SourceError>>, SourceError> {
    let folder = folder.as_ref();
    let entries = entries(folder)?;
    let mut sources = Vec::new();
    let mut model = Vec::new();
    for path in entries {
        if path.is_dir() {
            // One level of models, and nothing below.
            if path.file_name().is_some_and(|name| name != ADDITIONAL)
                && MODEL_FILES.iter().any(|own| path.join(own).is_file())
            {
                sources.extend(of_model(&path, &self::entries(&path)?));
            }
        } else if path.file_name().is_some_and(|name| MODEL_FILES.iter().any(|own| name == *own)) {
            model.push(path);
        } else if is_jinja(&path) || holds_template_by_name(&path) {
            sources.extend(found(&path));
        }
    }
    sources.extend(of_model(folder, &model));
    sources.sort_by(|a, b| place(a).cmp(place(b)));
    Ok(sources)
}

/// Where a source or an error is.
fn place(source: &Result<Source, SourceError>) -> &Path {
    match source {
        Ok(source) => &source.path,
        Err(error) => error.path(),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let fail = |error: std::io::Error| SourceError::new(folder, error);
    let entries = std::fs::read_dir(folder).map_err(fail)?.map(|entry| Ok(entry.map_err(fail)?.path()));
    let mut paths = entries.collect::<Result<Vec<PathBuf>, SourceError>>()?;
    paths.sort();
    Ok(paths)
}

/// Names like `qwen3.tokenizer_config.json` and `qwen3.gguf`.
fn holds_template_by_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".gguf") || MODEL_FILES.iter().any(|own| name.ends_with(own))
}

/// The templates of a model's folder, of whose files `files` are there.
fn of_model(folder: &Path, files: &[PathBuf]) -> Vec<Result<Source, SourceError>> {
    let mut sources = Vec::new();
    for own in MODEL_FILES {
        let path = folder.join(own);
        if !files.contains(&path) {
            continue;
        }
        sources = found(&path);
        if !sources.is_empty() {
            break;
        }
    }
    let additional = folder.join(ADDITIONAL);
    if !sources.is_empty() && additional.is_dir() {
        match entries(&additional) {
            Ok(paths) => sources.extend(paths.iter().filter(|path| is_jinja(path)).flat_map(|path| found(path))),
            Err(error) => sources.push(Err(error)),
        }
    }
    sources
}

/// The templates of a file of a folder, which may hold none.
fn found(path: &Path) -> Vec<Result<Source, SourceError>> {
    match read_file(path) {
        Ok(sources) => sources.into_iter().map(Ok).collect(),
        Err(error) if error.is_without_template() => Vec::new(),
        Err(error) => vec![Err(error)],
    }
}

/// The special tokens that the `tokenizer_config.json` of the same model says; where it says none or cannot be read,
/// none are known.
pub(super) fn tokens_beside(path: &Path) -> SpecialTokens {
    let config = model_folder(path).join("tokenizer_config.json");
    let Ok(file) = std::fs::File::open(&config) else { return SpecialTokens::default() };
    text(&config, file).ok().and_then(|text| json::tokens(&text)).unwrap_or_default()
}
