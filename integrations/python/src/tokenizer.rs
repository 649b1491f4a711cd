//! Tokenizers and token ids that Python gives.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PySequence, PyString};
use serde_json::Value;
use unjinja_tokens::Vocabulary;

use crate::error::{LoadError, RequestError, tokens_error};

/// The vocabulary of a tokenizer: a path, the text of a `tokenizer.json`, or an object of `tokenizers` or transformers.
pub(crate) fn vocabulary_of(tokenizer: &Bound<'_, PyAny>) -> PyResult<Vocabulary> {
    static SOURCE_OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let source_of = SOURCE_OF.import(tokenizer.py(), "unjinja._tokenizer", "source_of")?;
    let (kind, place): (String, Bound<'_, PyAny>) = source_of.call1((tokenizer,))?.extract()?;
    if kind == "json" {
        let text: String = place.extract()?;
        return tokenizer.py().detach(|| Vocabulary::from_live(&text).map_err(tokens_error));
    }
    let path: PathBuf = place.extract()?;
    tokenizer.py().detach(|| {
        if kind == "folder" {
            return vocabulary_in(&path);
        }
        let text = std::fs::read_to_string(&path).map_err(|error| {
            LoadError::new_err(format!("{}: {error}\n  = next: give the path of a tokenizer.json", path.display()))
        })?;
        Vocabulary::from_json(&text).map_err(|error| LoadError::new_err(format!("{}: {error}", path.display())))
    })
}

/// The vocabulary in the folder of a model.
pub(crate) fn vocabulary_in(folder: &Path) -> PyResult<Vocabulary> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    check_config(&folder.join("tokenizer_config.json"))?;
    Vocabulary::from_folder(folder).map_err(tokens_error)
}

/// Checks a `tokenizer_config.json`, if there is one: what it adds to a tokenizer would otherwise be missing in silence.
fn check_config(path: &Path) -> PyResult<()> {
    if !path.is_file() {
        return Ok(());
    }
    let wrong = |cause: String| {
        let next = "correct this file, or copy the model's own; without it the tokenizer has the tokens of tokenizer.json alone";
        Err(LoadError::new_err(format!("{}: {cause}\n  = next: {next}", path.display())))
    };
    let parsed = std::fs::read(path).map_err(|error| error.to_string()).and_then(|bytes| {
        serde_json::from_slice::<Value>(&bytes).map_err(|error| format!("this is not valid JSON: {error}"))
    });
    let config = match parsed {
        Ok(Value::Object(config)) => config,
        Ok(other) => return wrong(format!("expected an object, found {}", kind(&other))),
        Err(cause) => return wrong(cause),
    };
    match config.get("added_tokens_decoder") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(tokens)) => {
            let is_token = |(id, token): &(&String, &Value)| {
                id.parse::<u32>().is_ok() && token.get("content").is_some_and(Value::is_string)
            };
            match tokens.iter().find(|entry| !is_token(entry)) {
                None => Ok(()),
                Some((id, _)) => wrong(format!(
                    "`added_tokens_decoder`: expected ids, each with an object that has `content`, found something else at {id:?}"
                )),
            }
        }
        Some(other) => {
            wrong(format!("`added_tokens_decoder`: expected an object of ids and tokens, found {}", kind(other)))
        }
    }
}

/// The kind of a JSON value, for messages.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Token ids: a sequence, or a tensor or an array, which have `tolist`.
pub(crate) fn ids_of(ids: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u32>> {
    let list = match ids.getattr_opt("tolist")? {
        Some(to_list) => to_list.call0()?,
        None => ids.clone(),
    };
    list.extract().map_err(|_| {
        let found = wrong_id(&list).unwrap_or_else(|| shown(&list));
        RequestError::new_err(format!(
            "{name}: expected a list of token ids, which are numbers from 0 to {}, found {found}",
            u32::MAX
        ))
    })
}

/// The first element of a sequence that is no token id, with its position.
fn wrong_id(list: &Bound<'_, PyAny>) -> Option<String> {
    if list.is_instance_of::<PyString>() {
        return None;
    }
    let elements = list.cast::<PySequence>().ok()?.try_iter().ok()?;
    let mut elements = elements.enumerate().filter_map(|(at, element)| Some((at, element.ok()?)));
    let (at, element) = elements.find(|(_, element)| element.extract::<u32>().is_err())?;
    Some(format!("{} at position {at}", shown(&element)))
}

/// A number, or the type of another value.
fn shown(value: &Bound<'_, PyAny>) -> String {
    if value.is_instance_of::<PyInt>() {
        return value.to_string();
    }
    value.get_type().name().map_or_else(|_| "another value".to_owned(), |kind| format!("a value of type {kind}"))
}

/// Token ids that this vocabulary has. Others are those of another tokenizer.
pub(crate) fn known_ids_of(vocabulary: &Vocabulary, ids: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u32>> {
    let ids = ids_of(ids, name)?;
    let tokenizer = vocabulary.tokenizer();
    let is_unknown = |id: u32| vocabulary.bytes(id).is_none() && tokenizer.id_to_token(id).is_none();
    match ids.iter().enumerate().find(|(_, id)| is_unknown(**id)) {
        None => Ok(ids),
        Some((at, id)) => {
            let size = tokenizer.get_vocab_size(true);
            Err(RequestError::new_err(format!(
                "{name}: the tokenizer has {size} tokens, and none with the id {id}, which is at position {at}\n  = next: use the \
                 tokenizer of the model that these ids are of"
            )))
        }
    }
}
