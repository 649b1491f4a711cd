//! Labelled renders of the corpus: labels change nothing of the text, they cover it, and what they say of a field is true.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{Failure, corpus};
use serde_json::Value;
use unjinja_render::{Encoding, Field, FieldPart, Origin, RenderOptions, SpecialTokens, Template};

/// The folders of templates in the corpus.
const FOLDERS: &[&str] = &["templates", "wild/templates", "wide/templates"];

/// All templates of the corpus that parse, with special tokens that no template contains.
fn templates(corpus: &Path) -> Result<Vec<Template>, Failure> {
    let tokens = SpecialTokens {
        bos: Some("<|bos-token|>".to_owned()),
        eos: Some("<|eos-token|>".to_owned()),
        ..SpecialTokens::default()
    };
    let mut templates = Vec::new();
    for folder in FOLDERS {
        let mut paths: Vec<_> =
            fs::read_dir(corpus.join(folder))?.map(|entry| Ok(entry?.path())).collect::<Result<_, Failure>>()?;
        paths.sort();
        for path in paths {
            let parsed = Template::parse(&path.display().to_string(), &fs::read_to_string(&path)?);
            templates.extend(parsed.map(|template| template.with_tokens(tokens.clone())));
        }
    }
    Ok(templates)
}

/// The contexts of the corpus' conversations, by name.
fn contexts(corpus: &Path) -> Result<Vec<(String, Value)>, Failure> {
    let conversations: Vec<Value> = serde_json::from_str(&fs::read_to_string(corpus.join("conversations.json"))?)?;
    let named = |c: &Value| Some((c.get("name")?.as_str()?.to_owned(), c.get("context")?.clone()));
    Ok(conversations.iter().filter_map(named).collect())
}

/// Each value of a context by its path, as labels write paths.
fn fields<'c>(value: &'c Value, path: &str, found: &mut BTreeMap<String, &'c Value>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                fields(value, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, found);
            }
        }
        Value::Array(items) => {
            for (i, value) in items.iter().enumerate() {
                fields(value, &format!("{path}[{i}]"), found);
            }
        }
        _ => {}
    }
    found.insert(path.to_owned(), value);
}

/// What is wrong with a span of `field`, whose value is `value`.
fn problem(span: &str, field: &Field, value: &Value) -> Option<String> {
    let key = field.path.rsplit_once('.').map_or(&*field.path, |(_, key)| key);
    let whole = match (field.part, value) {
        // What was encoded once more may be anything, such as `&#34;`.
        (FieldPart::Syntax, _) if field.encodings.len() > 1 => return None,
        (FieldPart::Syntax, _) if span.chars().all(|c| " \n{}[](),:'\"".contains(c)) => return None,
        (FieldPart::Syntax, _) => return Some("not punctuation".to_owned()),
        (FieldPart::Key, _) => key.to_owned(),
        (FieldPart::Value, Value::String(text)) => text.clone(),
        (FieldPart::Value, Value::Object(_) | Value::Array(_)) => {
            return Some("a container without punctuation".to_owned());
        }
        (FieldPart::Value, scalar) => return scalar_problem(span, field, scalar),
    };
    let mut encodings: Vec<Encoding> = field.encodings.to_vec();
    encodings.retain(|e| !matches!(e, Encoding::Slice | Encoding::Trim | Encoding::Replace));
    let (decoded, whole) = match *encodings.as_slice() {
        [] => (span.to_owned(), whole),
        [Encoding::Json] => match serde_json::from_str::<String>(&format!("\"{span}\"")) {
            Ok(decoded) => (decoded, whole),
            Err(e) => return Some(format!("no JSON string: {e}")),
        },
        [Encoding::Upper] => (span.to_owned(), whole.to_uppercase()),
        [Encoding::Lower] => (span.to_owned(), whole.to_lowercase()),
        [Encoding::Title | Encoding::Capitalize] => (span.to_lowercase(), whole.to_lowercase()),
        _ => return None,
    };
    (!whole.contains(&decoded)).then(|| format!("no part of {whole:?}"))
}

/// The same for the value of a number, a boolean or a null.
fn scalar_problem(span: &str, field: &Field, value: &Value) -> Option<String> {
    let python = match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        number => number.to_string(),
    };
    let expected = match *field.encodings {
        [Encoding::Json] => value.to_string(),
        [Encoding::Str | Encoding::PythonRepr] => python,
        [] => return Some("a scalar that was not encoded".to_owned()),
        _ => return None,
    };
    (span != expected).then(|| format!("not {expected}"))
}

/// What is wrong with the labels of one render.
fn problems(template: &Template, context: &Value) -> Vec<String> {
    let plain = template.render_with(context, &RenderOptions::new());
    let labelled = template.render_with(context, &RenderOptions::new().label(true));
    if plain.result != labelled.result || plain.steps != labelled.steps {
        return vec!["labels change the render".to_owned()];
    }
    let (Ok(text), Some(labels)) = (&labelled.result, &labelled.labels) else { return Vec::new() };
    let (bos, eos) = (Value::from("<|bos-token|>"), Value::from("<|eos-token|>"));
    let mut known = BTreeMap::from([("bos_token".to_owned(), &bos), ("eos_token".to_owned(), &eos)]);
    fields(context, "", &mut known);
    let mut problems = Vec::new();
    let mut at = 0;
    for pair in labels.spans().windows(2) {
        let joined = match &pair[0].origin {
            Origin::Template => true,
            Origin::Field(field) => field.part == FieldPart::Syntax || field.encodings.last() == Some(&Encoding::Other),
        };
        if joined && pair[0].origin == pair[1].origin {
            problems.push(format!("{:?} are two spans of {:?}", pair[0].range, pair[0].origin));
        }
    }
    for span in labels.spans() {
        if span.range.start != at || span.range.is_empty() {
            problems.push(format!("{:?} follows byte {at}", span.range));
        }
        at = span.range.end;
        let Origin::Field(field) = &span.origin else { continue };
        let written = text.get(span.range.clone()).unwrap_or("(not a text)");
        let found = match known.get(&*field.path) {
            Some(value) => problem(written, field, value),
            None => Some("no such field".to_owned()),
        };
        problems.extend(found.map(|problem| format!("{written:?} of {field:?}: {problem}")));
    }
    if at != text.len() {
        problems.push(format!("labels end at {at} of {}", text.len()));
    }
    problems
}

#[test]
fn labels_of_the_corpus_are_true() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let (templates, contexts) = (templates(&corpus)?, contexts(&corpus)?);
    let mut failures = Vec::new();
    for template in &templates {
        for (name, context) in &contexts {
            failures.extend(problems(template, context).iter().map(|p| format!("{} / {name}: {p}", template.name())));
        }
    }
    assert!(!templates.is_empty(), "no templates");
    assert!(failures.is_empty(), "{} problems:\n{}", failures.len(), failures[..failures.len().min(20)].join("\n"));
    Ok(())
}

/// The times of plain and of labelled renders: the shortest of some runs of each, in turn.
fn times(template: &Template, contexts: &[(String, Value)]) -> (Duration, Duration) {
    let run = |label| {
        let options = RenderOptions::new().label(label);
        let start = Instant::now();
        for (_, context) in contexts {
            let _ = black_box(template.render_with(black_box(context), &options));
        }
        start.elapsed()
    };
    let runs: Vec<_> = (0..40).map(|_| (run(false), run(true))).collect();
    let shortest = |time: fn(&(Duration, Duration)) -> Duration| runs.iter().map(time).min().unwrap_or_default();
    (shortest(|run| run.0), shortest(|run| run.1))
}

/// Prints what labels cost: `cargo test --release --test integration -- --ignored --nocapture cost_of_labels`.
#[test]
#[ignore = "a measurement, for a quiet machine and a release build"]
fn cost_of_labels() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let (templates, contexts) = (templates(&corpus)?, contexts(&corpus)?);
    let mut ratios = Vec::new();
    let mut total = (Duration::ZERO, Duration::ZERO);
    for template in &templates {
        let (plain, labelled) = times(template, &contexts);
        ratios.push((labelled.as_secs_f64() / plain.as_secs_f64(), template.name()));
        total = (total.0 + plain, total.1 + labelled);
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median = ratios.get(ratios.len() / 2).ok_or("no templates")?;
    let worst = ratios.last().ok_or("no templates")?;
    println!("all renders: {:?} plain, {:?} labelled", total.0, total.1);
    println!("labelled / plain: median {:.2}, worst {:.2} ({})", median.0, worst.0, worst.1);
    Ok(())
}
