//! `unjinja check`: makes specs again and compares them with the committed ones. It answers: did a template change, and
//! does the change break parsers that were built before?

use std::path::{Path, PathBuf};

use clap::Args;
use unjinja_build::{Source, name_of};
use unjinja_dynamic::{Input, Loader, overlay_of_spec};
use unjinja_spec::{FormatSpec, Overlay, Status, TemplateInfo, diff};

use crate::analyze::SpecRequest;
use crate::failure::{Done, Failure};
use crate::gaps::OverlayHint;
use crate::parser_args::ParserArgs;
use crate::report::{Changed, FailOn, Idle, Outcome, Report, ReportFormat, Row};
use crate::ui::Ui;
use crate::{analyze, gaps, input, output};

#[derive(Args)]
#[command(
    mut_arg("spec", |arg| arg.help("Compare the template with this committed spec")),
    mut_arg("model", |arg| {
        arg.help("Compare the template with the built-in spec of this supported model: the name of its spec, its Hub id, or the file name of its template")
    }),
)]
pub(crate) struct Arguments {
    /// Templates: files, folders of them, or `-`. Specs without a template are reported only if a folder is named.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The folder of the committed specs.
    #[arg(
        long, value_name = "DIR", required_unless_present_any = ["spec", "model"], conflicts_with_all = ["spec", "model"]
    )]
    specs: Option<PathBuf>,
    /// Where templates come from: a manifest as `fetch` reads it, or a table of `file<TAB>source` lines.
    #[arg(long, value_name = "FILE")]
    sources: Option<PathBuf>,
    /// Write specs that are missing or different, and remove those without a template. Overlays are never written.
    #[arg(long, conflicts_with = "model")]
    write: bool,
    /// With which differences the exit code is 1.
    #[arg(long, value_enum, value_name = "EFFECT", default_value = "informational")]
    fail_on: FailOn,
    /// How to print.
    #[arg(long, value_enum, default_value = "human")]
    format: ReportFormat,
    #[command(flatten)]
    parser: ParserArgs,
}

/// What the new specs are compared with.
enum Committed<'a> {
    /// The specs of a folder.
    Folder(&'a Path),
    /// One spec, for one template.
    File(&'a Path),
    /// The built-in spec of a supported model, for one template.
    Model(Box<FormatSpec>),
}

impl<'a> Committed<'a> {
    fn new(arguments: &'a Arguments) -> Result<Self, Failure> {
        match (&arguments.specs, arguments.parser.spec(), arguments.parser.model()) {
            (_, Some(path), _) if !path.is_file() => Err(Failure::file(path, "there is no such spec")),
            (_, Some(path), _) => Ok(Self::File(path)),
            (_, None, Some(name)) => Ok(Self::Model(Box::new(Loader::new().load(Input::known(name))?.bare))),
            (Some(folder), None, None) if folder.is_dir() => Ok(Self::Folder(folder)),
            (Some(folder), None, None) => Err(Failure::file(folder, "there is no such folder of specs")),
            (None, None, None) => {
                Err(Failure::Input("name the committed specs: --specs, --spec or --model".to_owned()))
            }
        }
    }

    /// The folder in which overlays go with the committed specs.
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::File(path) => Some(path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))),
            Self::Model(_) => None,
        }
    }

    /// The file of the committed spec that has this name.
    fn file(&self, name: &str) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.join(format!("{name}.toml"))),
            Self::File(path) => Some((*path).to_owned()),
            Self::Model(_) => None,
        }
    }

    /// Gives a new spec what no analysis finds. The models that people listed in the committed spec are always kept. If
    /// the committed spec was named, its names are kept too: the user has said that both are the same model, so another
    /// file name is not a difference.
    fn identify(&self, spec: &mut FormatSpec) {
        // A file that cannot be read is reported when it is compared.
        let read = |path: &Path| {
            let text = std::fs::read_to_string(path).ok()?;
            Some(FormatSpec::from_toml(&text, &path.display().to_string()).ok()?.template)
        };
        match self {
            Self::Folder(folder) => {
                if let Some(committed) = read(&folder.join(format!("{}.toml", spec.template.name))) {
                    spec.template.models = committed.models;
                }
            }
            Self::File(path) => keep_names(spec, read(path)),
            Self::Model(committed) => keep_names(spec, Some(committed.template.clone())),
        }
    }
}

fn keep_names(spec: &mut FormatSpec, committed: Option<TemplateInfo>) {
    if let Some(committed) = committed {
        let sha256 = std::mem::take(&mut spec.template.sha256);
        spec.template = TemplateInfo { sha256, ..committed };
    }
}

pub(crate) fn run(arguments: &Arguments, ui: Ui) -> Done {
    let committed = Committed::new(arguments)?;
    let request = SpecRequest {
        paths: &arguments.paths,
        sources: arguments.sources.as_deref(),
        parser: &arguments.parser,
        loader: arguments.parser.loader().analyse_anew().without_known_formats(),
        target: committed.folder(),
    };
    let mut made = analyze::all(&request, ui)?;
    let template = |file: &str| made.paths.get(file).cloned();
    // A template that no longer works leaves its spec as it is.
    let broken: Vec<String> = made.problems.iter().map(|(file, _)| name_of(file)).collect();
    let (mut rows, mut hints) = (Vec::new(), Vec::new());
    for (overlay, name, bare) in &made.overlays {
        if let Some(outcome) = idle(overlay, bare)? {
            rows.push(Row { name: name.clone(), template: None, file: Some(overlay.clone()), outcome });
        }
    }
    for spec in &mut made.specs {
        let (template, source) = (template(&spec.template.file), made.sources.get(&spec.template.file));
        committed.identify(spec);
        let name = spec.template.name.clone();
        let file = committed.file(&name);
        let outcome = match (&committed, &file) {
            (Committed::Model(model), _) => compare(&model.to_toml(), "the built-in spec", spec),
            (_, Some(path)) => compare_file(path, spec),
            (_, None) => Outcome::New,
        };
        let overlay = file.as_deref().map(overlay_of_spec);
        let is_corrected = overlay.as_ref().is_some_and(|path| path.exists())
            || made.overlays.iter().any(|(_, known, _)| *known == name);
        let is_news = matches!(outcome, Outcome::New | Outcome::Changed(_)) || spec.status != Status::Supported;
        if let (Some(target), false, true) = (&overlay, is_corrected, is_news)
            && let Some(source) = source
            && let Some(known) = known_overlay(committed.folder(), source, spec, target)?
        {
            hints.push((name.clone(), known));
        }
        if let Some(overlay) =
            overlay.filter(|overlay| overlay.exists() && !made.overlays.iter().any(|(o, _, _)| o == overlay))
            && let Some(outcome) = idle(&overlay, spec)?
        {
            rows.push(Row { name: name.clone(), template: None, file: Some(overlay), outcome });
        }
        rows.push(Row { name, template, file, outcome });
    }
    for (file, problem) in &made.problems {
        let outcome = Outcome::Broken(problem.clone());
        rows.push(Row { name: file.clone(), template: template(file), file: None, outcome });
    }
    if let Committed::Folder(folder) = committed
        && arguments.paths.iter().any(|path| path.is_dir())
    {
        for (name, path) in spec_files(folder)? {
            if !broken.contains(&name) && !made.specs.iter().any(|spec| spec.template.name == name) {
                rows.push(Row { name, template: None, file: Some(path), outcome: Outcome::Gone });
            }
        }
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if arguments.write {
        write(&rows, &made.specs)?;
    }
    let is_left = |row: &&Row| match &row.outcome {
        Outcome::Unchanged => false,
        outcome => !(arguments.write && outcome.is_fixed_by_writing()),
    };
    let is_fixable = |row: &Row| row.file.is_some() && row.outcome.is_fixed_by_writing();
    let command = rows.iter().any(is_fixable).then(|| command(arguments));
    let report = Report { rows, hints, fix: command.filter(|_| !arguments.write) };
    report.print(None, arguments.format, ui)?;
    let left = report.rows.iter().filter(is_left).count();
    if left == 0 {
        return Ok(());
    }
    let counted = |what: &str| if left == 1 { format!("1 {what}") } else { format!("{left} {what}s") };
    let message = match (&report.fix, arguments.parser.model()) {
        (Some(command), _) => format!("{}; to accept: {command}", counted("difference")),
        (None, Some(_)) => format!("{} from the built-in spec", counted("difference")),
        (None, None) => format!("{} that `--write` cannot fix", counted("problem")),
    };
    if !report.rows.iter().filter(is_left).any(|row| arguments.fail_on.includes(&row.outcome)) {
        ui.remark(&message);
        return Ok(());
    }
    Err(if made.unreadable { Failure::Input(message) } else { Failure::Found(message) })
}

/// The overlay of another spec with the same format: of one in the folder, or else of a supported model.
fn known_overlay(
    folder: Option<&Path>,
    source: &Source,
    spec: &FormatSpec,
    target: &Path,
) -> Result<Option<OverlayHint>, Failure> {
    let hash = spec.format_hash();
    let files = folder.map_or_else(|| Ok(Vec::new()), spec_files)?;
    for (name, path) in files.iter().filter(|(name, path)| *name != spec.template.name && !is_overlay(path)) {
        // A file that cannot be read is reported in its own row.
        let Ok(other) = Loader::new().without_known_formats().load(Input::spec(path)) else { continue };
        let Some(overlay) = other.corrections.iter().find_map(|correction| correction.file.as_ref()) else { continue };
        if other.bare.format_hash() == hash && gaps::fits(source, spec, &other.spec) {
            let command = format!("cp {} {}", output::argument(overlay), output::argument(target));
            return Ok(Some(OverlayHint { name: name.clone(), command }));
        }
    }
    Ok(OverlayHint::built_in(source, spec, target))
}

fn is_overlay(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".overlay.toml")
}

/// The command that accepts all differences.
fn command(arguments: &Arguments) -> String {
    let mut command = "unjinja check".to_owned();
    for path in &arguments.paths {
        command.push(' ');
        command.push_str(&output::argument(path));
    }
    let flags = [
        ("specs", arguments.specs.as_deref()),
        ("spec", arguments.parser.spec()),
        ("sources", arguments.sources.as_deref()),
        ("overlay", arguments.parser.overlay()),
    ];
    for (flag, path) in flags {
        if let Some(path) = path {
            command.push_str(&format!(" --{flag} {}", output::argument(path)));
        }
    }
    command + " --write"
}

/// Writes specs that are new or different, and removes those without a template.
fn write(rows: &[Row], specs: &[FormatSpec]) -> Done {
    for row in rows {
        let Some(path) = &row.file else { continue };
        if matches!(row.outcome, Outcome::Gone) {
            std::fs::remove_file(path).map_err(|e| Failure::file(path, e))?;
        } else if row.outcome.is_fixed_by_writing()
            && let Some(spec) = specs.iter().find(|spec| spec.template.name == row.name)
        {
            std::fs::write(path, spec.to_toml()).map_err(|e| Failure::file(path, e))?;
        }
    }
    Ok(())
}

fn compare_file(path: &Path, spec: &FormatSpec) -> Outcome {
    let old = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Outcome::New,
        Err(error) => return Outcome::Unreadable(format!("{}: {error}", path.display())),
    };
    compare(&old, &path.display().to_string(), spec)
}

/// Compares the text of a committed spec with a new spec.
fn compare(old: &str, name: &str, spec: &FormatSpec) -> Outcome {
    if old == spec.to_toml() {
        return Outcome::Unchanged;
    }
    match FormatSpec::from_toml(old, name) {
        Ok(before) => Outcome::Changed(Changed::new(diff(&before, spec), old)),
        Err(error) => Outcome::Unreadable(error.to_string()),
    }
}

/// What is wrong with an overlay of a spec: keys that change nothing, or that do not fit.
fn idle(path: &Path, spec: &FormatSpec) -> Result<Option<Outcome>, Failure> {
    let text = input::text(path)?;
    let overlay = match Overlay::from_toml(&text, &path.display().to_string()) {
        Ok(overlay) => overlay,
        Err(error) => return Ok(Some(Outcome::Broken(error.to_string()))),
    };
    let keys: Vec<Idle> = overlay.idle(spec).into_iter().map(|key| Idle { line: key.line, key: key.key }).collect();
    if !keys.is_empty() {
        return Ok(Some(Outcome::Idle(keys)));
    }
    Ok(overlay.apply(spec).err().map(|error| Outcome::Broken(error.to_string())))
}

/// The files of a folder that are specs or overlays, with the names of the specs.
fn spec_files(folder: &Path) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| Failure::file(folder, e))? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(stem) = file.strip_suffix(".toml") {
            let name = stem.strip_suffix(".overlay").unwrap_or(stem).to_owned();
            files.push((name, path));
        }
    }
    files.sort();
    Ok(files)
}
