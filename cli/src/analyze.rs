//! `unjinja analyze`: derives specs from templates and prints one line per template. The spec of a single template is printed
//! itself; standard output is then the spec alone, so that it can be written to a file. `check` makes its specs here too,
//! so that both say the same.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use unjinja_analyzer::{GapReport, Suggestion, verify};
use unjinja_build::{ROUND_TRIPS, Source, SourceExt};
use unjinja_dynamic::{Input, Loader, Origin};
use unjinja_spec::{FormatSpec, ReasoningMode, Status, TemplateInfo};

use clap::Args;

use crate::arguments::Format;
use crate::failure::{Done, Failure};
use crate::gaps::{OverlayHint, ReportDocument};
use crate::parser_args::ParserArgs;
use crate::ui::{NAME, Ui, paint};
use crate::visible;
use crate::{gaps, input, log, manifest, output};

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
    /// Fail if a format is partial or unsupported: exit code 1.
    #[arg(long)]
    strict: bool,
    /// Print a draft of an overlay for each template whose prompt describes calls or reasoning that it never renders. The
    /// draft quotes the passage that it is based on; it is not applied.
    #[arg(long, conflicts_with = "out")]
    suggest: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    #[command(flatten)]
    parser: ParserArgs,
}

/// Which specs are made, and how they are corrected.
pub(crate) struct SpecRequest<'r> {
    /// The templates: files, folders, `-`.
    pub paths: &'r [PathBuf],
    /// A manifest or table that says where templates come from.
    pub sources: Option<&'r Path>,
    /// The flags, which are about one template.
    pub parser: &'r ParserArgs,
    /// Makes the specs.
    pub loader: Loader,
    /// The folder of the finished specs. An overlay in there goes with the spec and is not applied here: whoever reads
    /// the spec applies it.
    pub target: Option<&'r Path>,
}

/// The results for a set of templates.
pub(crate) struct Analysed {
    /// The specs, one for each distinct template text.
    pub specs: Vec<FormatSpec>,
    /// Templates without a spec, each with the reason.
    pub problems: Vec<(String, String)>,
    /// Where each template file was found.
    pub paths: HashMap<String, PathBuf>,
    /// Overlays that were applied, each with the name of the spec and the spec before.
    pub overlays: Vec<(PathBuf, String, FormatSpec)>,
    /// The templates, by file name.
    pub sources: HashMap<String, Source>,
    /// Whether a file could not be read.
    pub unreadable: bool,
}

impl Analysed {
    /// Adds a spec. If a spec with the same template text is known, only the file name is added to that.
    fn add(&mut self, spec: FormatSpec) {
        let (name, file) = (&spec.template.name, &spec.template.file);
        // Special tokens that the template does not write do not matter to the format.
        let is_same = |known: &FormatSpec| {
            let mut copy = known.clone();
            (copy.template, copy.evidence) = (spec.template.clone(), spec.evidence.clone());
            (copy.tokens.bos, copy.tokens.eos) = (spec.tokens.bos.clone(), spec.tokens.eos.clone());
            known.template.sha256 == spec.template.sha256 && copy == spec
        };
        if let Some(known) = self.specs.iter_mut().find(|known| is_same(known)) {
            known.template.also.push(spec.template.file);
        } else if let Some(known) = self.specs.iter().find(|known| known.template.name == *name) {
            let other = &known.template.file;
            let problem =
                format!("{file}: its spec would be called `{name}`, like that of {other}: rename one of them");
            self.problems.push((file.clone(), problem));
        } else {
            self.specs.push(spec);
        }
    }
}

/// Makes the specs of the templates of a request.
pub(crate) fn all(request: &SpecRequest<'_>, ui: Ui) -> Result<Analysed, Failure> {
    let templates = input::templates(request.paths)?;
    request.parser.for_templates(templates.len())?;
    let sources = match request.sources {
        Some(path) => manifest::sources(path)?,
        None => HashMap::new(),
    };
    let progress = ui.progress(templates.len());
    let mut analysed = Analysed {
        specs: Vec::new(),
        problems: Vec::new(),
        paths: HashMap::new(),
        overlays: Vec::new(),
        sources: HashMap::new(),
        unreadable: false,
    };
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
        let listed = sources.get(&file).cloned().unwrap_or_default();
        // The template's own file takes precedence over the manifest.
        template.tokens.bos = template.tokens.bos.or(listed.tokens.bos);
        template.tokens.eos = template.tokens.eos.or(listed.tokens.eos);
        match one(&template, &listed.source, request) {
            Ok((spec, overlay)) => {
                let name = spec.template.name.clone();
                analysed.add(spec);
                analysed.overlays.extend(overlay.map(|(path, bare)| (path, name, bare)));
            }
            Err(Failure::Found(problem)) => analysed.problems.push((file, problem)),
            Err(failure) => return Err(failure),
        }
        analysed.sources.insert(template.file(), template);
    }
    progress.finish_and_clear();
    Ok(analysed)
}

/// An overlay that was applied, and the spec before.
type Applied = (PathBuf, FormatSpec);

/// The spec of one template, and the overlay that was applied to it, if there is one.
fn one(template: &Source, origin: &str, request: &SpecRequest<'_>) -> Result<(FormatSpec, Option<Applied>), Failure> {
    let goes_with_target = request.target.is_some_and(|target| is_in(&template.overlay(), target));
    let loader = request.loader.clone().origin(origin);
    let loader = if goes_with_target { loader.only_given_overlays() } else { loader };
    let loaded = log::load(&loader, Input::source(template.clone()))?;
    if loaded.origin == Origin::Analysed && loaded.corrections.is_empty() {
        return Ok((loaded.spec, None));
    }
    let file = loaded.corrections.into_iter().find_map(|correction| correction.file);
    let applied = file.filter(|_| loaded.origin == Origin::Analysed).map(|path| (path, loaded.bare));
    Ok((verified(template, loaded.spec), applied))
}

/// Whether a file is in this folder itself.
fn is_in(file: &Path, folder: &Path) -> bool {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), folder.canonicalize()) {
        (Ok(parent), Ok(folder)) => parent == folder,
        _ => false,
    }
}

/// A corrected spec with round trips of its own: those of the analysis are about the spec before.
fn verified(source: &Source, mut spec: FormatSpec) -> FormatSpec {
    if spec.status.makes_parser()
        && let Ok(template) = source.template()
    {
        let verification = verify(&template, &spec, ROUND_TRIPS, 1);
        spec.evidence.round_trips = verification.round_trips();
        spec.evidence.covered = verification.covered();
    }
    spec
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let (out, as_json) = (arguments.out.as_deref(), arguments.format == Format::Json);
    if let Some(folder) = out {
        std::fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
    }
    // Specs are made to be committed, and a known overlay is not a part of them: it is offered.
    let loader = arguments.parser.committed();
    let loader = loader.unwrap_or_else(|| arguments.parser.loader().analyse_anew().without_known_formats());
    let request = SpecRequest {
        paths: &arguments.paths,
        sources: arguments.sources.as_deref(),
        parser: &arguments.parser,
        loader,
        target: out,
    };
    let analysed = all(&request, ui)?;
    // First of all: whoever reads what is printed may end early.
    if let Some(folder) = out {
        for spec in &analysed.specs {
            let path = folder.join(format!("{}.toml", spec.template.name));
            std::fs::write(&path, spec.to_toml()).map_err(|e| Failure::file(&path, e))?;
        }
    }
    if arguments.suggest && !as_json {
        suggestions(&analysed, ui)?;
    } else if !as_json {
        match (out, &*analysed.specs) {
            (None, [spec]) => {
                if !ui.quiet {
                    summary(&mut anstream::stderr().lock(), &analysed, spec)?;
                }
                std::io::stdout().write_all(spec.to_toml().as_bytes())?;
            }
            (_, specs) => {
                let mut stdout = anstream::stdout().lock();
                specs.iter().try_for_each(|spec| summary(&mut stdout, &analysed, spec))?;
                if let Some(counts) = analysed.counts() {
                    writeln!(stdout, "{counts}")?;
                }
            }
        }
    }
    if as_json {
        output::json(&Document::new(&analysed, arguments.suggest))?;
    }
    let Analysed { specs, problems, unreadable, .. } = analysed;
    let mut messages: Vec<String> = problems.into_iter().map(|(_, problem)| problem).collect();
    if arguments.strict {
        let incomplete = specs.iter().filter(|spec| spec.status != Status::Supported);
        messages.extend(incomplete.map(|spec| {
            let TemplateInfo { file, .. } = &spec.template;
            format!("{file}: the format is {}, and --strict demands that it is supported", spec.status.name())
        }));
    }
    match (messages.is_empty(), unreadable) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::InputAll(messages)),
        (false, false) => Err(Failure::FoundAll(messages)),
    }
}

impl Analysed {
    /// How many templates have which status, if there are several.
    fn counts(&self) -> Option<String> {
        let of = |status| self.specs.iter().filter(move |spec| spec.status == status);
        let count = |status: Status| (of(status).map(|spec| 1 + spec.template.also.len()).sum(), status.name());
        let [supported, partial, unsupported] = [Status::Supported, Status::Partial, Status::Unsupported].map(count);
        let counts = [supported, partial, unsupported, (self.problems.len(), "failed")];
        let shown = counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
        let all: usize = counts.iter().map(|(count, _)| count).sum();
        (all > 1).then(|| format!("{all} templates: {}", shown.collect::<Vec<_>>().join(", ")))
    }

    /// What is missing from a spec.
    fn report(&self, spec: &FormatSpec) -> Option<GapReport> {
        gaps::of(self.sources.get(&spec.template.file)?, spec)
    }

    /// The overlay of another model with the same format, if no overlay was applied to this spec.
    fn known_overlay(&self, spec: &FormatSpec) -> Option<OverlayHint> {
        let name = &spec.template.name;
        let source = self.sources.get(&spec.template.file)?;
        let target = source.overlay();
        let is_corrected = self.overlays.iter().any(|(_, corrected, _)| corrected == name) || target.exists();
        if is_corrected { None } else { OverlayHint::built_in(source, spec, &target) }
    }

    /// The draft of an overlay for a spec.
    fn suggestion(&self, spec: &FormatSpec) -> Option<Suggestion> {
        let template = self.sources.get(&spec.template.file)?.template().ok()?;
        unjinja_analyzer::suggest(&template, spec)
    }
}

/// Prints a line about a spec, what is missing from it, and where help may be found.
fn summary(mut to: &mut impl Write, analysed: &Analysed, spec: &FormatSpec) -> Done {
    writeln!(to, "{}", line(spec))?;
    if let Some(report) = analysed.report(spec) {
        gaps::write(&mut to, &report)?;
    }
    if let Some(known) = analysed.known_overlay(spec) {
        known.write(&mut to)?;
    }
    Ok(())
}

/// Prints the drafts of overlays.
fn suggestions(analysed: &Analysed, ui: Ui) -> Done {
    let mut stdout = anstream::stdout().lock();
    for spec in &analysed.specs {
        let file = &spec.template.file;
        match analysed.suggestion(spec) {
            Some(draft) => writeln!(stdout, "{}", visible::lines(draft.overlay.trim_end()))?,
            None => ui.remark(&format!(
                "{file}: no suggestion: the prompt describes nothing that the template does not render"
            )),
        }
    }
    Ok(())
}

/// The specs of the templates that were named.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document<'a> {
    /// One spec for each distinct template text, in the order of the files.
    #[cfg_attr(test, schemars(schema_with = "crate::schemas::list_of_specs"))]
    specs: &'a [FormatSpec],
    /// Templates without a spec. If there are any, the exit code is 1, or 2 if a file could not be read.
    problems: Vec<Problem<'a>>,
    /// What is missing from each partial or unsupported spec. With `--strict`, the exit code is 1 if there are any.
    reports: Vec<ReportDocument>,
    /// Supported models with the same format whose overlays may correct these specs too. No overlay is applied.
    overlays: Vec<KnownOverlay>,
    /// Drafts of overlays; only with `--suggest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestions: Option<Vec<Draft>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Problem<'a> {
    /// File name of the template.
    file: &'a str,
    /// What is wrong, with its place and a next step; several lines.
    problem: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KnownOverlay {
    #[serde(flatten)]
    hint: OverlayHint,
    /// File name of the template.
    file: String,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Draft {
    /// File name of the template.
    file: String,
    /// The draft, as TOML.
    overlay: String,
    /// The passages of the prompt that it is based on.
    quotes: Vec<String>,
}

impl<'a> Document<'a> {
    fn new(analysed: &'a Analysed, suggest: bool) -> Self {
        let specs = || analysed.specs.iter().map(|spec| (spec, spec.template.file.clone()));
        let problems = analysed.problems.iter();
        let draft = |(spec, file)| {
            let Suggestion { overlay, quotes, .. } = analysed.suggestion(spec)?;
            Some(Draft { file, overlay, quotes })
        };
        Self {
            specs: &analysed.specs,
            problems: problems.map(|(file, problem)| Problem { file, problem }).collect(),
            reports: specs()
                .filter_map(|(spec, file)| Some(ReportDocument { file, report: analysed.report(spec)? }))
                .collect(),
            overlays: specs()
                .filter_map(|(spec, file)| Some(KnownOverlay { hint: analysed.known_overlay(spec)?, file }))
                .collect(),
            suggestions: suggest.then(|| specs().filter_map(draft).collect()),
        }
    }
}

/// A summary of a spec on one line.
fn line(spec: &FormatSpec) -> String {
    let name = &spec.template.name;
    let name = format!("{}{}", paint(NAME, name), " ".repeat(45_usize.saturating_sub(name.len())));
    if !spec.status.makes_parser() {
        return format!("{name} {}", gaps::status(spec));
    }
    let tools = spec.tools.format.name();
    let reasoning = match spec.reasoning.mode {
        ReasoningMode::None => "no reasoning".to_owned(),
        _ if spec.reasoning.start.trim().is_empty() => format!("reasoning up to {}", spec.reasoning.end.trim()),
        _ => format!("reasoning {}…{}", spec.reasoning.start.trim(), spec.reasoning.end.trim()),
    };
    let trips = spec.evidence.round_trips;
    let missing = match spec.status {
        Status::Partial => format!("; {}", gaps::status(spec)),
        Status::Supported | Status::Unsupported => String::new(),
    };
    let described = gaps::described(&spec.evidence.described).map_or_else(String::new, |text| format!("; {text}"));
    format!(
        "{name} {tools:16} {}; {} of {} round trips, {} renders{described}{missing}",
        visible::lines(&reasoning),
        trips.held,
        trips.tried,
        spec.evidence.renders
    )
}
