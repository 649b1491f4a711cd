//! What tools that are known at build time add to generated code: their list and grammar, and their types.

use std::path::Path;

use proc_macro2::TokenStream;
#[cfg(feature = "types")]
use unjinja_codegen::rust::TypesError;

use crate::error::BuildError;
#[cfg(feature = "types")]
use crate::files::read;

/// The types of the tools of a file.
pub(crate) fn type_items(tools: Option<&Path>, runtime: &TokenStream) -> Result<TokenStream, BuildError> {
    match tools {
        None => Err(BuildError::TypesWithoutTools),
        Some(path) => types_of(path, runtime),
    }
}

#[cfg(feature = "types")]
fn types_of(path: &Path, runtime: &TokenStream) -> Result<TokenStream, BuildError> {
    unjinja_codegen::rust::type_items(&read(path)?, runtime).map_err(|error| match error.is::<TypesError>() {
        true => BuildError::Types { path: path.to_owned(), problem: error.to_string() },
        false => of_tools(path)(error),
    })
}

#[cfg(not(feature = "types"))]
fn types_of(_: &Path, _: &TokenStream) -> Result<TokenStream, BuildError> {
    Err(BuildError::TypesNotCompiled)
}

/// Makes the error of a file of tools from what is wrong with it.
pub(crate) fn of_tools(path: &Path) -> impl FnOnce(Box<dyn std::error::Error + Send + Sync>) -> BuildError {
    let path = path.to_owned();
    move |error| BuildError::Tools { path, problem: error.to_string() }
}
