//! The readers of response templates, by their names.

use pyo3::prelude::*;
use unjinja_export::response_template::Dialect;

use crate::error::RequestError;

/// The reader of a name.
pub(crate) fn dialect(name: &str) -> PyResult<Dialect> {
    name.parse().map_err(|_| {
        let known = Dialect::ALL.map(|dialect| format!("{:?}", dialect.name())).join(", ");
        RequestError::new_err(format!("reader: {name:?} is unknown; use one of {known}"))
    })
}
