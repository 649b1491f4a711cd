//! The flags `--model`, `--spec` and `--overlay`, which every command shares that takes a template. Here they become choices of
//! the loader, which decides which spec is used and which overlay is applied. No command may decide this by itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use unjinja_build::Source;
use unjinja_dynamic::{Input, Loaded, Loader};
use unjinja_runtime::{ChatParser, Interpreter};
use unjinja_spec::FormatSpec;

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
    /// Use this format spec; NAME.overlay.toml next to it is applied.
    #[arg(long, value_name = "FILE", help_heading = HEADING, conflicts_with = "model")]
    spec: Option<PathBuf>,
    /// Apply these corrections, instead of the overlay next to the template or the spec, or a known one.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    overlay: Option<PathBuf>,
    /// Use only the template itself: no reviewed spec of a supported model, and no overlay that was written for another
    /// template.
    #[arg(long, help_heading = HEADING, conflicts_with = "model")]
    without_known_formats: bool,
}

/// The flags of commands that read or constrain a model's output, and have no template as an argument.
#[derive(Args)]
pub(crate) struct ReaderArgs {
    /// Read outputs of this template, or of the model with this id; NAME.overlay.toml next to the template is applied.
    #[arg(long, value_name = "TEMPLATE", help_heading = HEADING, conflicts_with_all = ["model", "spec"])]
    template: Option<PathBuf>,
    #[command(flatten)]
    parser: ParserArgs,
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

    /// The supported model that `--model` names.
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The first of the flags that is given, of those that are about one template.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given =
            [("--model", self.model.is_some()), ("--spec", self.spec.is_some()), ("--overlay", self.overlay.is_some())];
        given.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag)
    }

    /// Fails if one of the flags is given although the command has several templates: they are about one.
    pub(crate) fn for_templates(&self, count: usize) -> Done {
        match self.given() {
            Some(flag) if count != 1 => {
                Err(Failure::Input(format!("{flag} is about one template, but there are {count}")))
            }
            _ => Ok(()),
        }
    }

    /// The loader with the overlay that `--overlay` names.
    pub(crate) fn loader(&self) -> Loader {
        let loader = Loader::new();
        let loader = if self.without_known_formats { loader.without_known_formats() } else { loader };
        match &self.overlay {
            Some(path) => loader.overlay_file(path),
            None => loader,
        }
    }

    /// The loader that uses the spec which `--spec` or `--model` names for templates; `None` without these flags.
    pub(crate) fn committed(&self) -> Option<Loader> {
        match (&self.spec, &self.model) {
            (Some(path), _) => Some(self.loader().committed_spec_file(path)),
            (None, Some(name)) => Some(self.loader().committed_model(name)),
            (None, None) => None,
        }
    }

    /// What `--spec` or `--model` names; `None` without these flags.
    pub(crate) fn named_input(&self) -> Option<Input> {
        match (&self.spec, &self.model) {
            (Some(path), _) => Some(Input::spec(path)),
            (None, Some(name)) => Some(Input::known(name)),
            (None, None) => None,
        }
    }

    /// The spec that `--spec` or `--model` names, whatever template it was made from; `None` without these flags.
    pub(crate) fn named(&self) -> Result<Option<Loaded>, Failure> {
        Ok(self.named_input().map(|input| self.loader().load(input)).transpose()?)
    }

    /// The spec for a template: the named one, or else the one that the loader finds.
    pub(crate) fn spec_for(&self, source: &Source) -> Result<Loaded, Failure> {
        self.spec_by(&self.loader(), source)
    }

    /// The spec for a template: the named one, or else that of an analysis, for commands that show or test the analysis.
    pub(crate) fn analysed(&self, source: &Source) -> Result<Loaded, Failure> {
        self.spec_by(&self.loader().analyse_anew(), source)
    }

    fn spec_by(&self, loader: &Loader, source: &Source) -> Result<Loaded, Failure> {
        match self.named()? {
            Some(named) => Ok(named),
            None => Ok(log::load(loader, Input::source(source.clone()))?),
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
        let loaded = self.loaded()?;
        Ok((interpreted(&loaded.spec)?, loaded.spec))
    }

    /// What the flags name.
    pub(crate) fn loaded(&self) -> Result<Loaded, Failure> {
        match (&self.template, self.parser.named()?) {
            (_, Some(named)) => Ok(named),
            (Some(path), None) => Ok(log::load(&self.parser.loader(), Input::file(path))?),
            (None, None) => {
                let message = "say which format the output has: --model NAME, --template TEMPLATE or --spec FILE";
                Err(Failure::Input(message.to_owned()))
            }
        }
    }
}

/// Answers each line of standard input; the line names a template in `folder`, which is analysed once.
pub(crate) fn lines_of_folder<T: Serialize>(
    folder: &Path,
    answer: impl FnMut(&Value, &dyn ChatParser) -> Result<T, String>,
) -> Done {
    input::folder(folder)?;
    let loader = Loader::new();
    lines(|name| spec(&loader, Input::template(input::in_folder(folder, name)?)), answer)
}

/// Answers each line of standard input; the line names the template file of a supported model.
pub(crate) fn lines_of_models<T: Serialize>(answer: impl FnMut(&Value, &dyn ChatParser) -> Result<T, String>) -> Done {
    let loader = Loader::new();
    let of_model = |file: &str| {
        let model =
            models::by_file(file).ok_or_else(|| format!("no supported model has a template file called {file:?}"))?;
        spec(&loader, Input::known(model.template.name))
    };
    lines(of_model, answer)
}

fn spec(loader: &Loader, input: Input) -> Result<FormatSpec, String> {
    Ok(log::load(loader, input).map_err(|error| error.to_string())?.spec)
}

/// Answers each line of standard input with the parser of the `template` that it names. `spec` is asked once for each name.
fn lines<T: Serialize>(
    spec: impl Fn(&str) -> Result<FormatSpec, String>,
    mut answer: impl FnMut(&Value, &dyn ChatParser) -> Result<T, String>,
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
