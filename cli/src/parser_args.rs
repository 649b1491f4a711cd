//! The flags `--model`, `--spec` and `--overlay`, which every command shares that takes a template, and the rules by which
//! they are applied.
//!
//! A spec comes from the first of these that is given: `--spec`, `--model`, the analysis of the template. Its overlay is
//! the first of these that exists: `--overlay`, the file beside the spec or the template, the built-in overlay of a
//! supported model. No command may decide this by itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};
use unjinja_build::{Source, SourceExt};
use unjinja_runtime::{ChatParser, Interpreter};
use unjinja_spec::{FormatSpec, Overlay};

use crate::failure::{Done, Failure};
use crate::{input, log, models};

/// The heading of these flags in `--help`.
const HEADING: &str = "Format";

/// The flags that say which spec is used, instead of an analysis of the template, and how it is corrected.
#[derive(Args, Default)]
pub(crate) struct ParserArgs {
    /// Use this supported model: the name of its spec, its Hub id, or the file name of its template; `unjinja list`
    /// shows them.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    model: Option<String>,
    /// Use this format spec; NAME.overlay.toml beside it is applied.
    #[arg(long, value_name = "FILE", help_heading = HEADING, conflicts_with = "model")]
    spec: Option<PathBuf>,
    /// Apply these corrections, instead of the overlay beside the template or the spec.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    overlay: Option<PathBuf>,
}

/// The flags of commands that read or constrain a model's output, and have no template as an argument.
#[derive(Args)]
pub(crate) struct ReaderArgs {
    /// Analyse this template; NAME.overlay.toml beside it is applied.
    #[arg(long, value_name = "FILE", help_heading = HEADING, conflicts_with_all = ["model", "spec"])]
    template: Option<PathBuf>,
    #[command(flatten)]
    parser: ParserArgs,
}

/// A spec before and after its overlay is applied.
pub(crate) struct Corrected {
    /// The spec as it was analysed or read.
    pub bare: FormatSpec,
    /// The spec with its overlay applied; the same as `bare` if there is none.
    pub spec: FormatSpec,
}

impl ParserArgs {
    /// The file that `--overlay` names.
    pub(crate) fn overlay(&self) -> Option<&Path> {
        self.overlay.as_deref()
    }

    /// The file that `--spec` names.
    pub(crate) fn spec(&self) -> Option<&Path> {
        self.spec.as_deref()
    }

    /// The committed spec of the model that `--model` names, without its overlay.
    pub(crate) fn model_spec(&self) -> Result<Option<FormatSpec>, Failure> {
        self.model.as_deref().map(|name| models::find(name).map_err(Failure::Input)).transpose()
    }

    /// Fails if one of the flags is given although the command has several templates: they are about one.
    pub(crate) fn for_templates(&self, count: usize) -> Done {
        let given =
            [("--model", self.model.is_some()), ("--spec", self.spec.is_some()), ("--overlay", self.overlay.is_some())];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) if count != 1 => {
                Err(Failure::Input(format!("{flag} is about one template, but there are {count}")))
            }
            _ => Ok(()),
        }
    }

    /// The spec that `--spec` or `--model` names; `None` without these flags.
    pub(crate) fn named(&self) -> Result<Option<Corrected>, Failure> {
        match (&self.spec, &self.model) {
            (Some(path), _) => read(path, self.overlay()).map(Some),
            (None, Some(name)) => {
                let bare = models::find(name).map_err(Failure::Input)?;
                match self.overlay() {
                    Some(path) => Ok(Some(Corrected { spec: apply_file(&bare, path)?, bare })),
                    None => with_built_in_overlay(bare).map(Some),
                }
            }
            (None, None) => Ok(None),
        }
    }

    /// The spec for a template: the named one, or else that of an analysis.
    pub(crate) fn spec_for(&self, source: &Source) -> Result<Corrected, Failure> {
        match self.named()? {
            Some(named) => Ok(named),
            None => {
                let spec = log::analyze(source, &source.naming("")).map_err(|e| Failure::Found(e.to_string()))?;
                corrected(spec, self.overlay(), source)
            }
        }
    }
}

impl ReaderArgs {
    /// The template that `--template` names.
    pub(crate) fn template(&self) -> Option<&Path> {
        self.template.as_deref()
    }

    /// The parser that the flags name.
    pub(crate) fn parser(&self) -> Result<Interpreter, Failure> {
        Ok(self.parser_and_spec()?.0)
    }

    /// The parser that the flags name, and the spec that it was made from.
    pub(crate) fn parser_and_spec(&self) -> Result<(Interpreter, FormatSpec), Failure> {
        let corrected = match (&self.template, self.parser.named()?) {
            (_, Some(named)) => named,
            (Some(path), None) => self.parser.spec_for(&input::template(path)?)?,
            (None, None) => {
                let message = "say which format the output has: --model NAME, --template FILE or --spec FILE";
                return Err(Failure::Input(message.to_owned()));
            }
        };
        Ok((interpreted(&corrected.spec)?, corrected.spec))
    }
}

/// The spec of a supported model, with its built-in overlay if it has one.
pub(crate) fn with_built_in_overlay(bare: FormatSpec) -> Result<Corrected, Failure> {
    let spec = match models::overlay(&bare.template.sha256) {
        Some(text) => apply_text(&bare, text, "the built-in overlay")?,
        None => bare.clone(),
    };
    Ok(Corrected { bare, spec })
}

/// Answers each line of standard input; the line names a template in `folder`, which is analysed once.
pub(crate) fn lines_of_folder(
    folder: &Path,
    answer: impl FnMut(&Value, &dyn ChatParser) -> Result<Map<String, Value>, String>,
) -> Done {
    input::folder(folder)?;
    lines(|name| analysed(&input::in_folder(folder, name)?, None).map_err(|e| e.to_string()), answer)
}

/// Answers each line of standard input; the line names the template file of a supported model.
pub(crate) fn lines_of_models(
    answer: impl FnMut(&Value, &dyn ChatParser) -> Result<Map<String, Value>, String>,
) -> Done {
    let spec = |file: &str| {
        let bare =
            models::by_file(file).ok_or_else(|| format!("no supported model has a template file called {file:?}"))?;
        with_built_in_overlay(bare).map(|corrected| corrected.spec).map_err(|e| e.to_string())
    };
    lines(spec, answer)
}

/// Answers each line of standard input with the parser of the `template` that it names. `spec` is asked once for each name.
fn lines(
    spec: impl Fn(&str) -> Result<FormatSpec, String>,
    mut answer: impl FnMut(&Value, &dyn ChatParser) -> Result<Map<String, Value>, String>,
) -> Done {
    let mut known: HashMap<String, Result<Interpreter, String>> = HashMap::new();
    input::lines(|line| {
        let name = input::string(line, "template")?;
        let make = || interpreted(&spec(name)?).map_err(|e| e.to_string());
        let parser = known.entry(name.to_owned()).or_insert_with(make).as_ref().map_err(Clone::clone)?;
        answer(line, parser)
    })
}

/// The parser of a spec.
fn interpreted(spec: &FormatSpec) -> Result<Interpreter, Failure> {
    unjinja_codegen::interpreter(spec).map_err(|e| Failure::Found(e.to_string()))
}

/// The spec of a template file, analysed and corrected.
pub(crate) fn analysed(path: &Path, overlay: Option<&Path>) -> Result<FormatSpec, Failure> {
    let source = input::template(path)?;
    let spec = log::analyze(&source, &source.naming("")).map_err(|e| Failure::Found(e.to_string()))?;
    Ok(corrected(spec, overlay, &source)?.spec)
}

/// Corrects the spec of a template with the overlay that is named, stands beside the template, or is built in for
/// exactly this template text.
pub(crate) fn corrected(bare: FormatSpec, overlay: Option<&Path>, source: &Source) -> Result<Corrected, Failure> {
    let beside = source.overlay();
    let spec = match (overlay, models::overlay(&bare.template.sha256)) {
        (Some(path), _) => apply_file(&bare, path)?,
        (None, _) if beside.exists() => apply_file(&bare, &beside)?,
        (None, Some(known)) => apply_text(&bare, known, "the built-in overlay")?,
        (None, None) => bare.clone(),
    };
    Ok(Corrected { bare, spec })
}

/// Reads a spec from its file, and applies the overlay that is named or stands beside it.
pub(crate) fn read(path: &Path, overlay: Option<&Path>) -> Result<Corrected, Failure> {
    let bare = read_bare(path)?;
    let beside = path.with_extension("overlay.toml");
    let spec = match overlay.or(beside.exists().then_some(&*beside)) {
        Some(path) => apply_file(&bare, path)?,
        None => bare.clone(),
    };
    Ok(Corrected { bare, spec })
}

/// Reads a spec from its file, without an overlay.
pub(crate) fn read_bare(path: &Path) -> Result<FormatSpec, Failure> {
    Ok(FormatSpec::from_toml(&input::text(path)?, &path.display().to_string())?)
}

/// Reads an overlay from its file.
pub(crate) fn read_overlay(path: &Path) -> Result<Overlay, Failure> {
    Ok(Overlay::from_toml(&input::text(path)?, &path.display().to_string())?)
}

fn apply_file(spec: &FormatSpec, path: &Path) -> Result<FormatSpec, Failure> {
    Ok(read_overlay(path)?.apply(spec)?)
}

fn apply_text(spec: &FormatSpec, overlay: &str, name: &str) -> Result<FormatSpec, Failure> {
    Ok(Overlay::from_toml(overlay, name)?.apply(spec)?)
}
