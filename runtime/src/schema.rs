//! What JSON schemas say, for everything that reads them. The parser types arguments by it while it runs; grammars
//! and generated types use the same resolver, so that all of them agree on which schema a `$ref` names, which schemas speak
//! about a value, and how large and how deep a schema may be. `docs/schema.md` lists what is supported.
//!
//! Schemas are untrusted: references may go in circles, and alternatives may multiply. Every walk through a schema has a
//! limit. Not for applications: this module may change in any release.

mod arguments;
mod document;
mod limits;
mod members;
mod merge;
mod place;
mod pointer;
mod references;
mod types;
mod walk;

pub(crate) use arguments::Arguments;
pub use arguments::{declared, type_of};
pub use document::{Document, Reference, Role, Subschema, Subschemas, reference_keyword};
pub use limits::{MAX_DEPTH, MAX_SCHEMAS};
pub use members::{member, members};
pub use merge::{Unmerged, is_shaped_beyond_its_reference, merged};
pub(crate) use place::SchemaPlace;
pub use pointer::extend_pointer;
pub use references::References;
pub use types::Types;
pub use walk::Walk;
