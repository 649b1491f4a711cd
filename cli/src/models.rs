//! The supported models, if they are linked. Code generation must work before their code exists, so without the feature
//! `models` every question about them is answered with "none".

#[cfg(feature = "models")]
mod linked {
    use unjinja_runtime::ChatParser;

    pub(crate) use unjinja_generated::{all, by_file, overlay, spec};

    /// The parsers of the models that write this format.
    pub(crate) fn by_format(hash: &str) -> Vec<&'static dyn ChatParser> {
        unjinja_generated::by_format(hash).collect()
    }

    /// The parser of the model with this name.
    pub(crate) fn find(name: &str) -> Result<&'static dyn ChatParser, String> {
        use unjinja_generated::LookupError;

        unjinja_generated::find(name).map_err(|error| match &error {
            LookupError::Unknown { near, .. } if !near.is_empty() => format!("{error} `unjinja list` shows all"),
            LookupError::Unknown { .. } => format!("{error}; `unjinja list` shows all"),
            _ => error.to_string(),
        })
    }
}

#[cfg(not(feature = "models"))]
mod linked {
    use unjinja_runtime::ChatParser;

    pub(crate) fn all() -> &'static [&'static dyn ChatParser] {
        &[]
    }

    pub(crate) fn by_file(_file: &str) -> Option<&'static dyn ChatParser> {
        None
    }

    pub(crate) fn by_format(_hash: &str) -> Vec<&'static dyn ChatParser> {
        Vec::new()
    }

    pub(crate) fn overlay(_sha256: &str) -> Option<&'static str> {
        None
    }

    pub(crate) fn spec(_name: &str) -> Option<&'static str> {
        None
    }

    pub(crate) fn find(_name: &str) -> Result<&'static dyn ChatParser, String> {
        Err("no models are built in: install unjinja-cli with its feature `models`".to_owned())
    }
}

pub(crate) use linked::{all, by_file, by_format, find, overlay, spec};
