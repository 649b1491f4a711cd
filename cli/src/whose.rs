//! Whose output it is: a parser that is compiled in, or one that is made here from a template or a spec.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};
use unjinja_build::Source;
use unjinja_codegen::interpreter;
use unjinja_runtime::{ChatParser, Interpreter};
use unjinja_spec::{FormatSpec, Overlay, nearest};

use crate::failure::{Done, Failure};
use crate::input;

/// The flags that say whose output it is.
#[derive(Args)]
pub(crate) struct Whose {
    /// Use the compiled parser of this name, model id or template file; `unjinja list` shows them.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Analyse this template and interpret its spec; NAME.overlay.toml beside it is merged over it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "spec"])]
    template: Option<PathBuf>,
    /// Interpret this spec; NAME.overlay.toml beside it is merged over it.
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    spec: Option<PathBuf>,
    /// Merge these corrections instead.
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    overlay: Option<PathBuf>,
}

impl Whose {
    /// The template that they name.
    pub(crate) fn template(&self) -> Option<&Path> {
        self.template.as_deref()
    }

    /// The parser that the flags name.
    pub(crate) fn parser(&self) -> Result<Box<dyn ChatParser>, Failure> {
        let spec = match (&self.model, &self.template, &self.spec) {
            (Some(name), _, _) => return compiled(name).map(ChatParser::to_boxed).map_err(Failure::Input),
            (_, Some(path), _) => analysed(path, self.overlay.as_deref())?,
            (_, _, Some(path)) => read(path, self.overlay.as_deref())?,
            (None, None, None) => {
                return Err(Failure::Input("say whose output this is: --model, --template or --spec".to_owned()));
            }
        };
        Ok(Box::new(interpreted(&spec)?))
    }
}

/// The compiled parser of this name, model id or template file.
fn compiled(name: &str) -> Result<&'static dyn ChatParser, String> {
    let by_source = || {
        let of_source = |parser: &&&dyn ChatParser| parser.info().source.eq_ignore_ascii_case(name);
        crate::models::all().iter().find(of_source).copied()
    };
    crate::models::by_name(name).or_else(by_source).or_else(|| crate::models::by_file(name)).ok_or_else(|| {
        let facts = || crate::models::all().iter().map(|parser| parser.info());
        let within = || {
            let wanted = plain(name);
            let near = facts().map(|f| &*f.name).filter(|known| wanted.len() > 2 && plain(known).contains(&wanted));
            let mut near: Vec<&str> = near.collect();
            near.sort_by_key(|known| known.len());
            near.truncate(4);
            (!near.is_empty()).then(|| near.join(", "))
        };
        let close = nearest(name, facts().flat_map(|f| [&*f.name, &*f.source])).map(str::to_owned);
        match close.or_else(within) {
            Some(near) => format!("no parser is called {name:?}; did you mean {near}? `unjinja list` shows all"),
            None => format!("no parser is called {name:?}; `unjinja list` shows those that there are"),
        }
    })
}

/// A name's letters and digits alone.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The compiled parser whose spec was made from a template of that file name.
pub(crate) fn of_file(file: &str) -> Result<&'static dyn ChatParser, String> {
    crate::models::by_file(file)
        .ok_or_else(|| format!("no parser is compiled in whose spec was made from a template file {file:?}"))
}

/// Answers lines of standard input with what is made of the template of a folder that each of them names.
pub(crate) fn lines_of_folder(
    folder: &Path,
    mut answer: impl FnMut(&Value, &dyn ChatParser) -> Result<Map<String, Value>, String>,
) -> Done {
    let mut known: HashMap<String, Result<Interpreter, String>> = HashMap::new();
    input::folder(folder)?;
    input::lines(|line| {
        let name = input::string(line, "template")?;
        let path = input::in_folder(folder, name)?;
        let make = || analysed(&path, None).and_then(|spec| interpreted(&spec)).map_err(|e| e.to_string());
        let parser = known.entry(name.to_owned()).or_insert_with(make).as_ref().map_err(Clone::clone)?;
        answer(line, parser)
    })
}

fn interpreted(spec: &FormatSpec) -> Result<Interpreter, Failure> {
    interpreter(spec).map_err(|e| Failure::Found(e.to_string()))
}

/// The spec of a template, with the overlay that is named, stands beside it or is known for this text.
pub(crate) fn analysed(path: &Path, overlay: Option<&Path>) -> Result<FormatSpec, Failure> {
    let source = input::template(path)?;
    let spec = crate::log::analyze(&source, &unjinja_build::naming_of(&source, ""))
        .map_err(|e| Failure::Found(e.to_string()))?;
    corrected(spec, overlay, &source)
}

/// The spec of a template with the overlay that is named, stands beside the template or is known for its text.
pub(crate) fn corrected(spec: FormatSpec, overlay: Option<&Path>, source: &Source) -> Result<FormatSpec, Failure> {
    let beside = source.overlay();
    match (overlay, crate::models::overlay(&spec.template.sha256)) {
        (None, Some(known)) if !beside.exists() => merged(&spec, known, "the overlay of this template"),
        _ => with_overlay(spec, overlay, &beside),
    }
}

/// A spec from its file, with the overlay that is named or stands beside it.
pub(crate) fn read(path: &Path, overlay: Option<&Path>) -> Result<FormatSpec, Failure> {
    with_overlay(read_bare(path)?, overlay, &path.with_extension("overlay.toml"))
}

/// A spec from its file, as it stands there.
pub(crate) fn read_bare(path: &Path) -> Result<FormatSpec, Failure> {
    let spec = FormatSpec::from_toml(&input::text(path)?, &path.display().to_string());
    spec.map_err(|e| Failure::Input(e.to_string()))
}

pub(crate) fn with_overlay(spec: FormatSpec, named: Option<&Path>, beside: &Path) -> Result<FormatSpec, Failure> {
    match named.or(beside.exists().then_some(beside)) {
        Some(path) => merged(&spec, &input::text(path)?, &path.display().to_string()),
        None => Ok(spec),
    }
}

fn merged(spec: &FormatSpec, overlay: &str, name: &str) -> Result<FormatSpec, Failure> {
    let overlay = Overlay::from_toml(overlay, name).map_err(|e| Failure::Input(e.to_string()))?;
    overlay.apply(spec).map_err(|e| Failure::Input(e.to_string()))
}
