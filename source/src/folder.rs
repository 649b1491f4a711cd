//! Lists the templates of a folder. It opens only files whose names say that they can hold a template, and of a model's
//! own files the one that `transformers` would use.

use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::file::read_file;
use crate::names::{ADDITIONAL, MODEL_FILES, is_jinja};
use crate::source::Source;

/// All templates of a folder, in the order of their paths.
///
/// They come from files called `*.jinja`, `*.gguf`, `*tokenizer_config.json` and `*chat_template.json`, and from folders
/// of models one level below. Files that can hold a template but hold none are skipped. A file that cannot be read
/// gives its error in its place.
///
/// A model's folder often holds its template several times. Then the file that `transformers` prefers is read:
/// `chat_template.jinja` with the named templates in `additional_chat_templates` next to it, whose `default.jinja` comes first; then
/// `chat_template.json`, then `tokenizer_config.json`. A named template hides what the JSON files have.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("unjinja-sources-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("one.jinja"), "{{ messages }}")?;
/// std::fs::write(folder.join("notes.txt"), "not a template")?;
///
/// let sources = unjinja_source::sources_in(&folder)?;
/// let names: Vec<String> = sources.into_iter().map(|source| Ok(source?.name())).collect::<Result<_, unjinja_source::SourceError>>()?;
/// assert_eq!(names, ["one"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder itself cannot be read.
pub fn sources_in(folder: impl AsRef<Path>) -> Result<Vec<Result<Source, SourceError>>, SourceError> {
    let folder = folder.as_ref();
    let mut sources = Vec::new();
    let mut model_files = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            // Models' folders one level below; nothing deeper.
            if path.file_name().is_some_and(|name| name != ADDITIONAL)
                && MODEL_FILES.iter().any(|own| path.join(own).is_file())
            {
                sources.extend(of_model(&path, &entries(&path)?));
            }
        } else if path.file_name().is_some_and(|name| MODEL_FILES.iter().any(|own| name == *own)) {
            model_files.push(path);
        } else if is_jinja(&path) || has_template_name(&path) {
            sources.extend(of_file(&path));
        }
    }
    sources.extend(of_model(folder, &model_files));
    sources.sort_unstable_by(|a, b| path_of(a).cmp(path_of(b)));
    Ok(sources)
}

/// The templates of one model: those of its own files, or else all of the folder.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<Source>, SourceError> {
    let mut found = of_model(folder, &entries(folder)?);
    if found.is_empty() {
        found = sources_in(folder)?;
    }
    if found.is_empty() {
        let problem =
            "the folder holds no template; looked for *.jinja, tokenizer_config.json, chat_template.json and *.gguf";
        return Err(SourceError::no_template(folder, problem));
    }
    found.into_iter().collect()
}

fn path_of(source: &Result<Source, SourceError>) -> &Path {
    match source {
        Ok(source) => &source.path,
        Err(error) => error.path(),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let fail = |error: std::io::Error| SourceError::unreadable(folder, error);
    let entries = std::fs::read_dir(folder).map_err(fail)?.map(|entry| Ok(entry.map_err(fail)?.path()));
    let mut paths = entries.collect::<Result<Vec<PathBuf>, SourceError>>()?;
    paths.sort_unstable();
    Ok(paths)
}

/// Names like `qwen3.tokenizer_config.json` and `qwen3.gguf`.
fn has_template_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".gguf") || MODEL_FILES.iter().any(|own| name.ends_with(own))
}

/// The templates of one model; `files` are the files in its folder.
fn of_model(folder: &Path, files: &[PathBuf]) -> Vec<Result<Source, SourceError>> {
    let additional = folder.join(ADDITIONAL);
    let named = if additional.is_dir() && !files.is_empty() { entries(&additional) } else { Ok(Vec::new()) };
    let mut named = match named {
        Ok(paths) => paths,
        Err(error) => return vec![Err(error)],
    };
    named.retain(|path| is_jinja(path));
    let has_default = named.iter().any(|path| path.ends_with("default.jinja"));
    let hidden = |own: &str| if is_jinja(Path::new(own)) { has_default } else { !named.is_empty() };
    let mut sources = Vec::new();
    for own in MODEL_FILES.into_iter().filter(|own| !hidden(own)) {
        let path = folder.join(own);
        if !files.contains(&path) {
            continue;
        }
        sources = of_file(&path);
        if !sources.is_empty() {
            break;
        }
    }
    sources.extend(named.iter().flat_map(|path| of_file(path)));
    sources
}

/// The templates of a file; an empty list if it holds none.
fn of_file(path: &Path) -> Vec<Result<Source, SourceError>> {
    match read_file(path) {
        Ok(sources) => sources.into_iter().map(Ok).collect(),
        Err(error) if error.is_without_template() => Vec::new(),
        Err(error) => vec![Err(error)],
    }
}
