//! Exports the spec of every supported model, and tries each export with the random conversations of its template. The figures and all losses are compared with `exports.expected`, which `UPDATE_EXPECT=1` rewrites.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use unjinja_analyzer::{AfterResult, Naming, Rendered, Verification, analyze, verified, verify_after_results};
use unjinja_dynamic::Model;
use unjinja_export::response_template::{Export, Loss, READER, Reading, ResponseTemplate, came_back, check, export};
use unjinja_render::{SpecialTokens, Template};
use unjinja_runtime::{Options, parse};
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
    unjinja_testkit::expect::file(&expected, &text)?;
    let page = unjinja_testkit::root().join("docs/response-templates.md");
    unjinja_testkit::expect::part(&page, "figures", &figures(&rows))
}

/// The figures of one spec.
struct Row {
    text: String,
    held: u32,
    tried: u32,
    is_whole: bool,
    fresh: Vec<Fresh>,
}

/// A table with one line.
fn figures(rows: &[Row]) -> String {
    let whole = rows.iter().filter(|row| row.is_whole).count();
    let sum = |of: fn(&Row) -> u32| rows.iter().map(of).sum::<u32>();
    let (held, tried) = (sum(|row| row.held), sum(|row| row.tried));
    let head = "| reader | models without loss | conversations that came back |\n|---|---:|---:|\n";
    format!("{head}| {READER} | {whole} of {} | {held} of {tried} |\n", rows.len())
}

/// All templates of the corpus, without overlays. The losses are in `corpus.expected`, the sums on the page.
#[test]
#[ignore = "analyses 546 templates, which takes minutes: cargo nextest run -p unjinja-export --run-ignored only"]
fn the_whole_corpus_is_exported() -> Result<(), Failure> {
    let Some(corpus) = unjinja_testkit::corpus()? else { return Ok(()) };
    let mut files = Vec::new();
    for folder in ["templates", "wild/templates", "wide/templates", "late/templates"] {
        for entry in fs::read_dir(corpus.join(folder))? {
            files.push(entry?.path());
        }
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jinja"));
    let analysed = in_parallel(&files, |path| of_file(path).map_err(|error| format!("{}: {error}", path.display())))?;
    let mut rows: Vec<Row> = analysed.into_iter().flatten().collect();
    rows.sort_by(|a, b| a.text.cmp(&b.text));
    let lossy = rows.iter().filter(|row| !row.is_whole);
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus.expected");
    unjinja_testkit::expect::file(&expected, &lossy.map(|row| row.text.as_str()).collect::<String>())?;
    let page = unjinja_testkit::root().join("docs/response-templates.md");
    unjinja_testkit::expect::part(&page, "figures of the corpus", &figures(&rows))?;
    let fresh = rows.iter().flat_map(|row| &row.fresh);
    let (mut turns, mut read, mut told, mut by_parser) = (0, 0, 0, 0);
    for one in fresh {
        turns += 1;
        read += u32::from(one.is_read);
        told += u32::from(!one.is_read && one.has_losses);
        by_parser += u32::from(one.is_parsed);
    }
    let silent = turns - read - told;
    let table = format!(
        "| turns | templates | read by `Model.parse` | read by the response template | wrong, and the export names a loss | wrong in silence |\n\
         |---:|---:|---:|---:|---:|---:|\n| {turns} | {} | {by_parser} | {read} | {told} | {silent} |\n",
        rows.iter().filter(|row| !row.fresh.is_empty()).count()
    );
    unjinja_testkit::expect::part(&page, "figures after results", &table)
}

/// A turn after the result of a call with which no export was tried.
struct Fresh {
    is_read: bool,
    has_losses: bool,
    is_parsed: bool,
}

/// Twelve such turns of one template, read after their whole prompts.
fn fresh(spec: &FormatSpec, template: &Template, export: &Export) -> Result<Vec<Fresh>, Failure> {
    let response = ResponseTemplate::from_json(&export.json)?;
    let model = Model::from_spec(&spec.to_toml())?;
    let verification = verify_after_results(template, spec, 1, 2);
    let one = |after: &AfterResult| {
        let Rendered { body, message, tools } = &after.turn;
        let alone = Verification { after_results: vec![after.clone()], ..Verification::default() };
        let options = Options::new().tools(tools).generation_prompt(model.turn_of(&after.prompt));
        let parsed = parse(model.parser().clone(), body, &options);
        Fresh {
            is_read: came_back(&response, spec, &alone) == 1,
            has_losses: !export.is_whole(),
            is_parsed: Reading::from(&parsed).is_same(message),
        }
    };
    Ok(verification.after_results.iter().map(one).collect())
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
#[ignore = "exports all formats, which takes some seconds: .ci/full runs it"]
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
    let mut verification = verify_after_results(&template, &spec, 5, 1);
    verification.turns = verification.quoting.clone();
    verification.after_results.clear();
    let quoted = u32::try_from(verification.turns.len())?;
    assert!(quoted > 0, "no turn quotes a marker");
    let export = export(&spec, &verification)?;
    assert!(export.is_whole(), "{:?}", export.losses);
    let careless = export.json.to_string().replace(r"(?<=\\})", "");
    assert_ne!(careless, export.json.to_string());
    let careless = ResponseTemplate::from_json(&serde_json::from_str(&careless)?)?;
    assert!(came_back(&careless, &spec, &verification) < quoted);
    Ok(())
}

/// After a result, a prompt may go on without the start of a turn. With the anchor of that start alone, the call is read again.
#[test]
fn a_turn_after_a_result_is_read() -> Result<(), Failure> {
    let text = "{% for m in messages %}{% if m.role == 'tool' %}<result>{{ m.content }}</result>{% elif m.role == 'user' %}<user>\
        {{ m.content }}<end>{% else %}{% if loop.previtem.role != 'tool' %}<assistant>{% endif %}{{ m.content or '' }}\
        {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}\
        {% if not m.tool_calls %}<end>{% endif %}{% endif %}{% endfor %}\
        {% if add_generation_prompt and messages[-1].role != 'tool' %}<assistant>{% endif %}";
    let template = Template::parse("results.jinja", text)?;
    let spec = analyze(&template, &Naming::of_file("results.jinja"))?;
    let verification = verify_after_results(&template, &spec, 20, 1);
    let after = u32::try_from(verification.after_results.len())?;
    assert!(after > 8, "{after}");
    let export = export(&spec, &verification)?;
    assert!(export.is_whole() && export.held == 20 + after, "{:?}", export.losses);
    assert_eq!(export.json["start_anchor"], serde_json::json!(["<assistant>", "</result>"]));
    let mut careless = export.json.clone();
    careless["start_anchor"] = "<assistant>".into();
    let careless = ResponseTemplate::from_json(&careless)?;
    assert_eq!(came_back(&careless, &spec, &verification), 20);
    let found = check(&careless, &template, &spec, &verification);
    assert!(found.iter().any(|finding| finding.sentence.contains("after the result of a call")), "{found:?}");
    Ok(())
}

/// A bare template does not say which token ends its turns.
#[test]
fn an_end_that_is_not_known_is_told() -> Result<(), Failure> {
    let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let bare = Template::parse("bare.jinja", text)?;
    let known = bare.clone().with_tokens(SpecialTokens { eos: Some("</s>".to_owned()), ..SpecialTokens::default() });
    for (template, is_told) in [(bare, true), (known, false)] {
        let spec = analyze(&template, &Naming::of_file("bare.jinja"))?;
        let notes = export(&spec, &verify_after_results(&template, &spec, 5, 1))?.notes;
        assert_eq!(notes.iter().any(|note| note.contains("eos_token")), is_told, "{notes:?}");
    }
    Ok(())
}

/// The specs of the supported models, with their overlays.
pub fn specs() -> Result<Vec<FormatSpec>, Failure> {
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

/// What became of one spec: a line, and one for each loss.
fn row(spec: &FormatSpec, corpus: &Path) -> Result<Row, Failure> {
    let text = unjinja_testkit::released_template(corpus, &spec.template.sha256)?;
    tried(spec, &Template::parse(&spec.template.file, &text)?)
}

fn tried(spec: &FormatSpec, template: &Template) -> Result<Row, Failure> {
    let verification = verify_after_results(template, spec, CONVERSATIONS, 1);
    let (name, mut text) = (&spec.template.name, String::new());
    let export = match export(spec, &verification) {
        Ok(export) => export,
        Err(problems) => {
            writeln!(text, "{name}: refused: {problems}")?;
            return Ok(Row { text, held: 0, tried: verification.tried, is_whole: false, fresh: Vec::new() });
        }
    };
    writeln!(text, "{name}: {} of {} came back", export.held, export.tried)?;
    for Loss { kind, count, example } in &export.losses {
        let shown =
            example.as_ref().map(|example| format!(" such as {:?}", shortened(&example.output))).unwrap_or_default();
        writeln!(text, "  {}: {kind} ({count}{shown})", kind.name())?;
    }
    let fresh = fresh(spec, template, &export)?;
    Ok(Row { text, held: export.held, tried: export.tried, is_whole: export.is_whole(), fresh })
}

fn shortened(text: &str) -> String {
    text.chars().take(150).collect()
}
