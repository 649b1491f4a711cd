//! `unjinja analyze`: specs from templates, one line a template.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unjinja_build::SourceExt;
use unjinja_spec::{FormatSpec, ReasoningMode};

use clap::Args;

use crate::failure::{Done, Failure};
use crate::ui::{NAME, Ui, WARNING, paint};
use crate::visible;
use crate::{Format, input, manifest, output};

/// The arguments of `analyze`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Templates: files, folders of them, or `-`.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Write each spec to NAME.toml in this folder.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where templates come from: a manifest as `fetch` reads it, or a table of `file<TAB>source` lines.
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// What became of a set of templates.
pub(crate) struct Analysed {
    /// The specs, one for each distinct template text.
    pub specs: Vec<FormatSpec>,
    /// Templates without a spec, each with the reason.
    pub problems: Vec<(String, String)>,
    /// Where each template file was found.
    pub paths: HashMap<String, PathBuf>,
    /// Whether a file could not be read.
    pub unreadable: bool,
}

impl Analysed {
    /// Adds a spec; the same template text again is only noted.
    fn add(&mut self, spec: FormatSpec) {
        let (name, file) = (&spec.template.name, &spec.template.file);
        // Tokens that the template does not write make no other format.
        let is_same = |known: &FormatSpec| {
            let mut copy = FormatSpec { template: spec.template.clone(), evidence: spec.evidence, ..known.clone() };
            (copy.tokens.bos, copy.tokens.eos) = (spec.tokens.bos.clone(), spec.tokens.eos.clone());
            known.template.sha256 == spec.template.sha256 && copy == spec
        };
        if let Some(known) = self.specs.iter_mut().find(|known| is_same(known)) {
            known.template.also.push(spec.template.file);
        } else if let Some(known) = self.specs.iter().find(|known| known.template.name == *name) {
            let other = &known.template.file;
            let problem = format!("{file}: its spec would be called `{name}`, as that of {other}; rename one of them");
            self.problems.push((file.clone(), problem));
        } else {
            self.specs.push(spec);
        }
    }
}

/// Analyses the templates that paths name.
pub(crate) fn all(paths: &[PathBuf], sources: Option<&Path>, ui: Ui) -> Result<Analysed, Failure> {
    let templates = input::templates(paths)?;
    let sources = match sources {
        Some(path) => manifest::sources(path)?,
        None => HashMap::new(),
    };
    let progress = ui.progress(templates.len());
    let mut analysed = Analysed { specs: Vec::new(), problems: Vec::new(), paths: HashMap::new(), unreadable: false };
    for template in templates {
        progress.inc(1);
        let mut template = match template {
            Ok(template) => template,
            Err(error) => {
                analysed.unreadable = true;
                let file = error.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
                analysed.paths.insert(file.clone(), error.path().to_owned());
                analysed.problems.push((file, error.to_string()));
                continue;
            }
        };
        let file = template.file();
        progress.set_message(file.clone());
        analysed.paths.insert(file.clone(), template.path.clone());
        let said = sources.get(&file).cloned().unwrap_or_default();
        // What the template's own file says counts more.
        template.tokens.bos = template.tokens.bos.or(said.tokens.bos);
        template.tokens.eos = template.tokens.eos.or(said.tokens.eos);
        let naming = template.naming(&said.source);
        match crate::log::analyze(&template, &naming) {
            Ok(spec) => analysed.add(spec),
            Err(error) => analysed.problems.push((file, error.to_string())),
        }
    }
    progress.finish_and_clear();
    Ok(analysed)
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let (out, as_json) = (arguments.out.as_deref(), arguments.format == Format::Json);
    if let Some(folder) = out {
        std::fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
    }
    let Analysed { specs, problems, unreadable, .. } = all(&arguments.paths, arguments.sources.as_deref(), ui)?;
    let mut stdout = anstream::stdout().lock();
    for spec in &specs {
        if let Some(folder) = out {
            let path = folder.join(format!("{}.toml", spec.template.name));
            std::fs::write(&path, spec.to_toml()).map_err(|e| Failure::file(&path, e))?;
        }
        if !as_json {
            writeln!(stdout, "{}", line(spec))?;
            if out.is_none() && specs.len() == 1 {
                writeln!(stdout, "\n{}", spec.to_toml().trim_end())?;
            }
        }
    }
    if as_json {
        let specs = serde_json::to_value(&specs).map_err(std::io::Error::from)?;
        let problems: Vec<Value> =
            problems.iter().map(|(file, problem)| json!({"file": file, "problem": problem})).collect();
        drop(stdout);
        output::json(&json!({"specs": specs, "problems": problems}))?;
    }
    if problems.is_empty() {
        return Ok(());
    }
    let text: Vec<String> = problems.into_iter().map(|(_, problem)| problem).collect();
    let text = text.join("\nerror: ");
    Err(if unreadable { Failure::Input(text) } else { Failure::Found(text) })
}

/// What was found, on one line.
fn line(spec: &FormatSpec) -> String {
    let tools = spec.tools.format.name();
    let reasoning = match spec.reasoning.mode {
        ReasoningMode::None => "no reasoning".to_owned(),
        _ if spec.reasoning.start.trim().is_empty() => format!("reasoning up to {}", spec.reasoning.end.trim()),
        _ => format!("reasoning {}…{}", spec.reasoning.start.trim(), spec.reasoning.end.trim()),
    };
    let name = &spec.template.name;
    let name = format!("{}{}", paint(NAME, name), " ".repeat(45_usize.saturating_sub(name.len())));
    let trips = spec.evidence.round_trips;
    match &spec.unsupported {
        Some(reason) => format!("{name} {}: {}", paint(WARNING, "unsupported"), visible::lines(reason)),
        None => format!(
            "{name} {tools:16} {}; {} of {} round trips, {} renders",
            visible::lines(&reasoning),
            trips.held,
            trips.tried,
            spec.evidence.renders
        ),
    }
}
