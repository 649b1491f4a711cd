//! Compiled parsers for the supported models: one module per model, each behind a cargo feature of the same name, and a
//! registry that finds a parser by name or by template.
//!
//! An application that needs one model enables its feature, and compiles nothing else:
//!
//! ```toml
//! unjinja-generated = { version = "0.1", default-features = false, features = ["qwen_qwen3_0_6b"] }
//! ```
//!
//! An application that lets its users choose a model keeps the default features, and looks the model up:
//!
//! ```
//! # #[cfg(feature = "all")] {
//! use unjinja_generated::by_name;
//! use unjinja_runtime::Options;
//!
//! let parser = by_name("Qwen/Qwen3-0.6B").expect("a supported model");
//! let message = parser.parse("<think>\nHm.\n</think>\n\nHello!".into(), &Options::new());
//! assert_eq!(message.reasoning_content, "Hm.");
//! assert_eq!(message.content, "Hello!");
//! # }
//! ```
//!
//! The build script makes the modules of the chosen models from `specs/`. `unjinja codegen --model NAME` prints one for people. This file and
//! `lookup.rs` contain no model's name.

mod lookup;

/// Made by the build script.
mod models {
    include!(concat!(env!("OUT_DIR"), "/models.rs"));
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
}

#[allow(unused_imports, reason = "without a model's feature there is nothing to export")]
pub use models::*;
use unjinja_runtime::ChatParser;

pub use lookup::{LookupError, Names, find_among};

/// All parsers that are compiled in, in the order of their specs' names.
///
/// ```
/// # #[cfg(feature = "all")] {
/// for parser in unjinja_generated::all() {
///     println!("{} is the format of {}", parser.info().name, parser.info().source);
/// }
/// # }
/// ```
pub fn all() -> &'static [&'static dyn ChatParser] {
    models::ALL
}

/// The parser of a model; `None` if the name fits no model, or several. [`find`] says which.
///
/// The name is that of a spec (`qwen_qwen3_0_6b`), an id on the Hugging Face Hub with or without its owner
/// (`Qwen/Qwen3-0.6B`, `Qwen3-0.6B`), or a template's file name (`Qwen-Qwen3-0.6B.jinja`). Upper and lower case are
/// alike, and so are `/`, `-`, `.` and `_`. Where the spec says that a family has one template in all sizes, any size finds it
/// (`Qwen/Qwen3-8B`); words at the end that say how numbers are stored are ignored (`Qwen/Qwen3-8B-FP8`).
///
/// ```
/// # #[cfg(feature = "all")] {
/// use unjinja_generated::by_name;
///
/// let names = ["qwen_qwen3_0_6b", "Qwen/Qwen3-0.6B", "qwen3-32b", "Qwen/Qwen3-8B-FP8", "Qwen-Qwen3-0.6B.jinja"];
/// for name in names {
///     assert_eq!(by_name(name).map(|parser| &*parser.info().name), Some("qwen_qwen3_0_6b"), "{name}");
/// }
/// assert!(by_name("qwen").is_none());
/// # }
/// ```
pub fn by_name(name: &str) -> Option<&'static dyn ChatParser> {
    find(name).ok()
}

/// The parser of a model, found as by [`by_name`].
///
/// ```
/// # #[cfg(feature = "all")] {
/// let error = unjinja_generated::find("qwen_qwenn3_0_6b").err().expect("there is no such model");
/// assert_eq!(error.to_string(), r#"no supported model is called "qwen_qwenn3_0_6b"; did you mean qwen_qwen3_0_6b?"#);
/// # }
/// ```
///
/// # Errors
/// If the name fits several models: the error lists them. If it fits none: the error says which was probably meant. It suggests no
/// model that only has a similar name: its format may be another.
pub fn find(name: &str) -> Result<&'static dyn ChatParser, LookupError> {
    find_among(name, &names()).map(|index| all()[index])
}

/// The names of each parser in [`all`], in the same order.
fn names() -> Vec<Names<'static>> {
    let names = |(parser, hub_ids): (&&'static dyn ChatParser, &&'static [&'static str])| {
        let facts = parser.info();
        Names { spec: &facts.name, source: &facts.source, hub_ids, files: &facts.files }
    };
    models::ALL.iter().zip(models::HUB_IDS).map(names).collect()
}

/// Ids on the Hugging Face Hub of the models that have the template of this spec, where `{size}` stands for any size; empty for a
/// spec that is not compiled in.
///
/// ```
/// # #[cfg(feature = "all")] {
/// assert_eq!(unjinja_generated::hub_ids("qwen_qwen3_0_6b"), ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-{size}"]);
/// # }
/// ```
pub fn hub_ids(spec: &str) -> &'static [&'static str] {
    let index = all().iter().position(|parser| parser.info().name == spec);
    index.and_then(|index| models::HUB_IDS.get(index)).copied().unwrap_or_default()
}

/// The parser whose spec was made from a template file with exactly this name. Folders before the name are ignored.
///
/// ```
/// # #[cfg(feature = "all")] {
/// let parser = unjinja_generated::by_file("templates/Qwen-Qwen3-0.6B.jinja").expect("a supported model");
/// assert_eq!(parser.info().name, "qwen_qwen3_0_6b");
/// # }
/// ```
pub fn by_file(file: &str) -> Option<&'static dyn ChatParser> {
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    all().iter().copied().find(|parser| parser.info().files.iter().any(|known| known == file))
}

/// The parser whose spec was made from exactly this template text, for example the text in a GGUF file.
///
/// ```
/// # #[cfg(feature = "all")] {
/// // The text of the template, as a server reads it from a model's file.
/// let text = "{{ messages }}";
/// assert!(unjinja_generated::by_template(text).is_none());
/// # }
/// ```
#[cfg(feature = "by-template")]
pub fn by_template(text: &str) -> Option<&'static dyn ChatParser> {
    use sha2::{Digest, Sha256};
    use std::fmt::Write;

    let hash = Sha256::digest(text.as_bytes()).iter().fold(String::with_capacity(64), |mut hash, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    });
    all().iter().copied().find(|parser| parser.info().sha256 == hash)
}

/// The parsers whose specs describe this format before their overlays are applied. `hash` is what `FormatSpec::format_hash`
/// of `unjinja-spec` gives for the analysis of a template. If one of these specs has an overlay, see `overlay`, and the format
/// has calls, the overlay is likely to correct that analysis too. Formats without calls are too alike to tell.
///
/// ```
/// # #[cfg(feature = "all")] {
/// assert_eq!(unjinja_generated::by_format("another format").count(), 0);
/// # }
/// ```
pub fn by_format(hash: &str) -> impl Iterator<Item = &'static dyn ChatParser> {
    let with_format = models::ALL.iter().zip(models::FORMATS).filter(move |(_, format)| **format == hash);
    with_format.map(|(parser, _)| *parser)
}

/// The overlay, as TOML, that corrects what the analysis finds for the template with this SHA-256.
#[cfg(feature = "overlays")]
pub fn overlay(sha256: &str) -> Option<&'static str> {
    overlays().iter().find(|(template, _)| *template == sha256).map(|(_, overlay)| *overlay)
}

/// The overlays of all supported models as TOML, each with the SHA-256 of its template. They are there whichever models are
/// compiled in.
///
/// ```
/// # #[cfg(feature = "overlays")] {
/// for (sha256, toml) in unjinja_generated::overlays() {
///     assert_eq!(unjinja_generated::overlay(sha256), Some(*toml));
/// }
/// # }
/// ```
#[cfg(feature = "overlays")]
pub fn overlays() -> &'static [(&'static str, &'static str)] {
    models::OVERLAYS
}

/// The format spec with this name, as TOML, without its overlay.
///
/// ```
/// # #[cfg(all(feature = "all", feature = "specs"))] {
/// let toml = unjinja_generated::spec("qwen_qwen3_0_6b").expect("a supported model");
/// assert!(toml.contains("per_call_start"));
/// # }
/// ```
#[cfg(feature = "specs")]
pub fn spec(name: &str) -> Option<&'static str> {
    models::SPECS.iter().find(|(known, _)| *known == name).map(|(_, spec)| *spec)
}

/// The format specs of all supported models as TOML, without their overlays, each with its name. They are there whichever
/// models are compiled in.
///
/// ```
/// # #[cfg(feature = "specs")] {
/// let known = unjinja_generated::specs().iter().any(|(name, _)| *name == "qwen_qwen3_0_6b");
/// assert!(known);
/// # }
/// ```
#[cfg(feature = "specs")]
pub fn specs() -> &'static [(&'static str, &'static str)] {
    models::SPECS
}
