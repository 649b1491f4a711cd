//! Loading a model: from a folder, a text, a file, a spec, or by its name.

use std::path::PathBuf;

use pyo3::prelude::*;
use unjinja_bindings::loader;
use unjinja_dynamic::{Loader, Model, ModelError};

use crate::error::{model_error, raised};

/// How a model is loaded. Loading takes milliseconds, so it is done without the interpreter's lock.
pub(crate) fn load(
    py: Python<'_>,
    cache: Option<PathBuf>,
    overlay: Option<&str>,
    work: impl FnOnce(Loader) -> Result<Model, ModelError> + Send,
) -> PyResult<Model> {
    let mut loader = loader(overlay).map_err(raised)?;
    if let Some(folder) = cache {
        loader = loader.cache(folder);
    }
    py.detach(|| work(loader)).map_err(model_error)
}
