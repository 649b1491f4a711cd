//! Tokenizers and token ids that Python gives.

use std::path::{Path, PathBuf};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use unjinja_tokens::{TokensError, Vocabulary};

use crate::error::{LoadError, RequestError, tokens_error};

/// Where a tokenizer is.
enum Source {
    /// The text of a `tokenizer.json`.
    Json(String),
    /// The folder of a model.
    Folder(PathBuf),
    /// Another file in the form of `tokenizer.json`.
    File(PathBuf),
}

impl Source {
    fn of(tokenizer: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = tokenizer.cast::<PyString>()
            && text.to_str()?.trim_start().starts_with('{')
        {
            return Ok(Self::Json(text.to_str()?.to_owned()));
        }
        if let Ok(path) = tokenizer.extract::<PathBuf>() {
            return Ok(match path.parent() {
                Some(folder) if path.ends_with("tokenizer.json") && path.is_file() => Self::Folder(folder.to_owned()),
                _ if path.is_dir() => Self::Folder(path),
                _ => Self::File(path),
            });
        }
        // Of a processor: its tokenizer. Of a tokenizer of transformers: that of `tokenizers`.
        let inside = |object: &Bound<'_, PyAny>, name: &str| -> PyResult<Option<Py<PyAny>>> {
            Ok(object.getattr_opt(name)?.filter(|inner| !inner.is_none()).map(Bound::unbind))
        };
        let py = tokenizer.py();
        let owner = inside(tokenizer, "tokenizer")?.unwrap_or_else(|| tokenizer.clone().unbind());
        let backend = inside(owner.bind(py), "backend_tokenizer")?.unwrap_or(owner);
        match backend.bind(py).getattr_opt("to_str")? {
            Some(to_str) => Ok(Self::Json(to_str.call0()?.extract()?)),
            None => {
                let kind = tokenizer.get_type().name()?.to_string();
                Err(PyTypeError::new_err(format!(
                    "tokenizer: expected a path, the text of a tokenizer.json, or a fast tokenizer, found {kind}; a slow tokenizer \
                     has no tokenizer.json: load it with use_fast=True"
                )))
            }
        }
    }
}

/// The vocabulary of a tokenizer: a path, the text of a `tokenizer.json`, or an object of `tokenizers` or transformers.
pub(crate) fn vocabulary_of(tokenizer: &Bound<'_, PyAny>) -> PyResult<Vocabulary> {
    let source = Source::of(tokenizer)?;
    tokenizer.py().detach(|| match source {
        Source::Json(text) => Vocabulary::from_json(&text).map_err(tokens_error),
        Source::Folder(folder) => vocabulary_in(&folder).map_err(tokens_error),
        Source::File(path) => {
            let text = std::fs::read_to_string(&path).map_err(|error| {
                LoadError::new_err(format!("{}: {error}\n  = next: give the path of a tokenizer.json", path.display()))
            })?;
            Vocabulary::from_json(&text).map_err(|error| LoadError::new_err(format!("{}: {error}", path.display())))
        }
    })
}

/// The vocabulary in the folder of a model.
pub(crate) fn vocabulary_in(folder: &Path) -> Result<Vocabulary, TokensError> {
    Vocabulary::from_folder(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
}

/// Token ids: a sequence, or a tensor or an array, which have `tolist`.
pub(crate) fn ids_of(ids: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u32>> {
    let list = match ids.getattr_opt("tolist")? {
        Some(to_list) => to_list.call0()?,
        None => ids.clone(),
    };
    list.extract().map_err(|error| {
        RequestError::new_err(format!("{name}: expected a list of token ids, which are numbers from 0 on: {error}"))
    })
}
