//! Exports the spec of every supported model for every reader, and tries each export with the random conversations of its
//! template. The figures and all losses are compared with `exports.expected`, which `UPDATE_EXPECT=1` rewrites.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use unjinja_analyzer::{Naming, analyze, verified, verify};
use unjinja_export::response_template::{Dialect, Export, Loss, ResponseTemplate, came_back, completed, export};
use unjinja_render::Template;
use unjinja_spec::{FormatSpec, Overlay};

type Failure = Box<dyn Error>;

/// How many conversations are tried.
const CONVERSATIONS: u32 = 60;

#[test]
fn supported_models_are_exported() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let specs = specs()?;
    let mut rows =
        in_parallel(&specs, |spec| row(spec, &corpus).map_err(|error| format!("{}: {error}", spec.template.name)))?;
    rows.sort_by(|a, b| a.text.cmp(&b.text));
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exports.expected");
    let text: String = rows.iter().map(|row| row.text.as_str()).collect();
    unjinja_testkit::expect::file(&expected, &(text + &imports(&rows)?))?;
    let page = unjinja_testkit::root().join("docs/response-templates.md");
    unjinja_testkit::expect::part(&page, "figures", &figures(&rows)?)
}

/// The figures of one spec.
struct Row {
    text: String,
    /// For each reader: conversations that came back, conversations that were tried, and whether nothing is lost.
    figures: Vec<(Dialect, u32, u32, bool)>,
    imports: Vec<Imported>,
}

/// What became of an export that was turned into a spec again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Imported {
    /// The spec reads all conversations.
    Whole,
    /// It reads some.
    InPart,
    /// There is no spec, and the reason is reported.
    Refused,
}

/// How many exports became specs again.
fn imports(rows: &[Row]) -> Result<String, Failure> {
    let all: Vec<Imported> = rows.iter().flat_map(|row| row.imports.iter().copied()).collect();
    let count = |kind: Imported| all.iter().filter(|import| **import == kind).count();
    let (whole, part, none) = (count(Imported::Whole), count(Imported::InPart), count(Imported::Refused));
    let mut out = String::new();
    writeln!(out, "imported again, of {}: {whole} whole, {part} in part, {none} not, with a reason", all.len())?;
    Ok(out)
}

/// A table with a line for each reader.
fn figures(rows: &[Row]) -> Result<String, Failure> {
    let mut out = String::from("| reader | models without loss | conversations that came back |\n|---|---:|---:|\n");
    for dialect in Dialect::ALL {
        let of_reader = rows.iter().flat_map(|row| &row.figures).filter(|(reader, ..)| *reader == dialect);
        let sum = of_reader.fold((0, 0, 0, 0), |sum, (_, held, tried, is_whole)| {
            (sum.0 + u32::from(*is_whole), sum.1 + 1, sum.2 + held, sum.3 + tried)
        });
        let (whole, models, held, tried) = sum;
        writeln!(out, "| {} | {whole} of {models} | {held} of {tried} |", dialect.title())?;
    }
    Ok(out)
}

/// All templates of the corpus, without overlays. The losses are in `corpus.expected`, the sums on the page.
#[test]
#[ignore = "analyses 346 templates, which takes minutes: cargo nextest run -p unjinja-export --run-ignored only"]
fn the_whole_corpus_is_exported() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let mut files = Vec::new();
    for folder in ["templates", "wild/templates", "wide/templates"] {
        for entry in fs::read_dir(corpus.join(folder))? {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jinja"));
    let analysed = in_parallel(&files, |path| of_file(path).map_err(|error| format!("{}: {error}", path.display())))?;
    let mut rows: Vec<Row> = analysed.into_iter().flatten().collect();
    rows.sort_by(|a, b| a.text.cmp(&b.text));
    let lossy = rows.iter().filter(|row| row.figures.iter().any(|(.., is_whole)| !is_whole));
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus.expected");
    unjinja_testkit::expect::file(&expected, &lossy.map(|row| row.text.as_str()).collect::<String>())?;
    let page = unjinja_testkit::root().join("docs/response-templates.md");
    unjinja_testkit::expect::part(&page, "figures of the corpus", &figures(&rows)?)
}

/// The row of a template that is analysed; nothing if no parser can be made.
fn of_file(path: &Path) -> Result<Option<Row>, Failure> {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(template) = Template::parse(&file, &fs::read_to_string(path)?) else { return Ok(None) };
    let Ok(spec) = analyze(&template, &Naming::of_file(&file)) else { return Ok(None) };
    let spec = verified(&template, spec);
    if !spec.status.makes_parser() {
        return Ok(None);
    }
    tried(&spec, &template).map(Some)
}

/// Does something with each item, on all processors.
fn in_parallel<I: Sync, O: Send + 'static>(
    items: &[I],
    each: impl Fn(&I) -> Result<O, String> + Sync,
) -> Result<Vec<O>, Failure> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = each(item);
            if let Ok(mut results) = results.lock() {
                results.push(result);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    Ok(results.into_inner()?.into_iter().collect::<Result<Vec<O>, String>>()?)
}

/// One template for each way to write calls, which are part of this repository.
#[test]
#[ignore = "exports all formats for three readers, which takes half a minute: .ci/full runs it"]
fn templates_of_every_format_are_exported() -> Result<(), Failure> {
    let folder = unjinja_testkit::root().join("templates");
    let mut rows = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !file.ends_with(".jinja") {
            continue;
        }
        let template = Template::parse(&file, &fs::read_to_string(&path)?)?;
        let spec = analyze(&template, &Naming::of_file(&file))?;
        rows.push(tried(&spec, &template)?.text);
    }
    assert!(rows.len() > 20, "{} templates", rows.len());
    rows.sort();
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats.expected");
    unjinja_testkit::expect::file(&expected, &rows.concat())
}

/// A closing marker that counts anywhere cuts an argument that quotes it. What is exported does not, and what does is found.
#[test]
fn arguments_that_quote_a_role_are_tried() -> Result<(), Failure> {
    let file = "args_marker.jinja";
    let template = Template::parse(file, &fs::read_to_string(unjinja_testkit::root().join("templates").join(file))?)?;
    let spec = analyze(&template, &Naming::of_file(file))?;
    let mut verification = verify(&template, &spec, 5, 1);
    verification.turns = verification.quoting.clone();
    let quoted = u32::try_from(verification.turns.len())?;
    assert!(quoted > 0, "no turn quotes a marker");
    for dialect in Dialect::ALL {
        let export = export(&spec, dialect, &verification)?;
        assert!(export.is_whole(), "{dialect}: {:?}", export.losses);
        let careless = export.json.to_string().replace(r"(?<=\\})", "");
        assert_ne!(careless, export.json.to_string());
        let careless = ResponseTemplate::from_json(&serde_json::from_str(&careless)?)?;
        assert!(came_back(&careless, dialect, &spec, &verification) < quoted, "{dialect}");
    }
    Ok(())
}

/// A pattern that only looks ahead is imported where it looks at the beginning of JSON, and refused elsewhere.
#[test]
fn only_json_is_announced_by_what_follows() -> Result<(), Failure> {
    for (open, is_read) in
        [(r#"(?=\{"name")"#, true), (r"(?=\[\s*\{)", true), ("(?=x)", false), (r"(?=call \{)", false)]
    {
        let template = ResponseTemplate::from_json(&serde_json::json!({"start_anchor": "<a>", "fields": {
            "content": {},
            "tool_calls": {
                "open_pattern": open, "content": "json", "repeats": true,
                "transform": {"type": "function", "function": "{content}"},
            },
        }}))?;
        let info = unjinja_spec::TemplateInfo {
            name: "t".to_owned(),
            file: "t.json".to_owned(),
            sha256: "0".repeat(64),
            ..unjinja_spec::TemplateInfo::default()
        };
        assert_eq!(template.to_spec(info).is_ok(), is_read, "{open}");
    }
    Ok(())
}

/// The specs of the supported models, with their overlays.
fn specs() -> Result<Vec<FormatSpec>, Failure> {
    let mut specs = Vec::new();
    for entry in fs::read_dir(unjinja_testkit::root().join("generated/specs"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".toml") || name.ends_with(".overlay.toml") {
            continue;
        }
        let spec = FormatSpec::from_toml(&fs::read_to_string(&path)?, &name)?;
        let overlay = path.with_extension("overlay.toml");
        specs.push(match overlay.exists() {
            true => Overlay::from_toml(&fs::read_to_string(&overlay)?, &name)?.apply(&spec)?,
            false => spec,
        });
    }
    Ok(specs)
}

/// What became of one spec: a line for each reader, and one for each loss.
fn row(spec: &FormatSpec, corpus: &Path) -> Result<Row, Failure> {
    let text = unjinja_testkit::released_template(corpus, &spec.template.sha256)?;
    tried(spec, &Template::parse(&spec.template.file, &text)?)
}

fn tried(spec: &FormatSpec, template: &Template) -> Result<Row, Failure> {
    let verification = verify(template, spec, CONVERSATIONS, 1);
    let (mut out, mut figures, mut imports) = (String::new(), Vec::new(), Vec::new());
    let mut newest: Option<Export> = None;
    for dialect in Dialect::ALL {
        let name = &spec.template.name;
        // An older version that reads as much with the same template is tried once.
        if let Some(newest) = newest.as_ref().filter(|newest| newest.is_whole() && newest.oldest == dialect) {
            writeln!(out, "{name} {dialect}: as {}", newest.dialect)?;
            figures.push((dialect, newest.held, newest.tried, true));
            continue;
        }
        match export(spec, dialect, &verification) {
            Err(problems) => {
                writeln!(out, "{name} {dialect}: refused: {problems}")?;
                figures.push((dialect, 0, verification.tried, false));
            }
            Ok(export) => {
                write_export(&mut out, name, &export)?;
                figures.push((dialect, export.held, export.tried, export.is_whole()));
                let (import, text) = imported(spec, template, &export.json)?;
                writeln!(out, "  {text}")?;
                imports.push(import);
                newest = Some(export).filter(|export| export.dialect.older().is_some());
            }
        }
    }
    Ok(Row { text: out, figures, imports })
}

/// What becomes of a response template that is turned into a spec again.
fn imported(spec: &FormatSpec, template: &Template, json: &serde_json::Value) -> Result<(Imported, String), Failure> {
    let imported = match ResponseTemplate::from_json(json)?.to_spec(spec.template.clone()) {
        Ok(imported) => completed(imported, spec.clone()),
        Err(problems) => {
            let first = problems.0.first().map(|problem| format!("{}: {}", problem.place, problem.cause));
            return Ok((Imported::Refused, format!("not imported: {}", first.unwrap_or_default())));
        }
    };
    let verification = verify(template, &imported, CONVERSATIONS, 1);
    let import = if verification.held == verification.tried { Imported::Whole } else { Imported::InPart };
    Ok((import, format!("imported: {} of {} came back", verification.held, verification.tried)))
}

fn write_export(out: &mut String, name: &str, export: &Export) -> Result<(), Failure> {
    writeln!(out, "{name} {}: {} of {} came back", export.dialect, export.held, export.tried)?;
    for Loss { kind, count, example } in &export.losses {
        let shown =
            example.as_ref().map(|example| format!(" such as {:?}", shortened(&example.output))).unwrap_or_default();
        writeln!(out, "  {}: {kind} ({count}{shown})", kind.name())?;
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    text.chars().take(150).collect()
}
