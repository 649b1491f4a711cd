//! What tools that are known at build time add to generated code: their list and grammar, and their types.

use std::path::Path;

use proc_macro2::TokenStream;
#[cfg(feature = "types")]
use unjinja_runtime::Tools;

use crate::error::BuildError;
#[cfg(feature = "types")]
use crate::files::read;
#[cfg(feature = "types")]
use crate::types::type_items;

/// The types of the tools of a file.
pub(crate) fn types_of(tools: Option<&Path>, runtime: &TokenStream) -> Result<TokenStream, BuildError> {
    match tools {
        None => Err(BuildError::TypesWithoutTools),
        Some(path) => types_of_file(path, runtime),
    }
}

#[cfg(feature = "types")]
fn types_of_file(path: &Path, runtime: &TokenStream) -> Result<TokenStream, BuildError> {
    let tools = Tools::from_json(&read(path)?).map_err(|error| of_tools(path)(error.into()))?;
    type_items(&tools, runtime).map_err(|error| BuildError::Types { path: path.to_owned(), problem: error.to_string() })
}

#[cfg(not(feature = "types"))]
fn types_of_file(_: &Path, _: &TokenStream) -> Result<TokenStream, BuildError> {
    Err(BuildError::TypesNotCompiled)
}

/// Makes the error of a file of tools from what is wrong with it.
pub(crate) fn of_tools(path: &Path) -> impl FnOnce(Box<dyn std::error::Error + Send + Sync>) -> BuildError {
    let path = path.to_owned();
    move |error| BuildError::Tools { path, problem: error.to_string() }
}
