//! Loading a model: from a folder, a text, a file, a spec, or by its name.

use std::path::PathBuf;

use pyo3::prelude::*;
use unjinja_dynamic::{Loader, Model, ModelError, Overlay};

use crate::error::{LoadError, model_error};

/// How a model is loaded. Loading takes milliseconds, so it is done without the interpreter's lock.
pub(crate) fn load(
    py: Python<'_>,
    cache: Option<PathBuf>,
    overlay: Option<&str>,
    work: impl FnOnce(Loader) -> Result<Model, ModelError> + Send,
) -> PyResult<Model> {
    let mut loader = Loader::new();
    if let Some(folder) = cache {
        loader = loader.cache(folder);
    }
    if let Some(text) = overlay {
        let overlay = Overlay::from_toml(text, "overlay").map_err(|error| LoadError::new_err(error.to_string()))?;
        loader = loader.overlay(overlay);
    }
    py.detach(|| work(loader)).map_err(model_error)
}
