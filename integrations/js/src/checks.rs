//! Faults of templates, and response templates made of them.

use serde_json::{Value, json};
use unjinja_bindings::{Checked, FailureKind, find_response_template, overlay, verified_export};
use unjinja_dynamic::{Model, Source};
use unjinja_export::response_template::{Loss, LossDocument};
use unjinja_lint::FindingDocument;
use unjinja_lint::compare::{CompareOptions, compare as run_compare};

use crate::arguments::{Arguments, expected};
use crate::failure::Failure;
use crate::loading::one_source;
use crate::objects::Objects;

/// How many random conversations are tried.
const COUNT: u64 = 200;

fn count(arguments: &mut Arguments) -> Result<u32, Failure> {
    Ok(u32::try_from(arguments.number("count")?.unwrap_or(COUNT)).unwrap_or(u32::MAX))
}

/// Makes a response template of a model's template, and tries it.
pub(crate) fn export(model: &Model, mut arguments: Arguments) -> Result<Value, Failure> {
    let (count, seed) = (count(&mut arguments)?, arguments.number("seed")?.unwrap_or(1));
    arguments.done()?;
    let (made, _) = verified_export(model, count, seed)?;
    Ok(json!({
        "responseTemplate": made.json,
        "tried": made.tried,
        "held": made.held,
        "losses": made.losses.iter().map(loss).collect::<Vec<_>>(),
        "notes": made.notes,
    }))
}

/// The Rust of a model's parser.
pub(crate) fn rust(model: &Model) -> Result<Value, Failure> {
    let source = unjinja_codegen::rust::source(model.spec());
    source.map(Value::String).map_err(|error| Failure::new(FailureKind::Load, error.to_string()))
}

fn loss(loss: &Loss) -> Value {
    let mut value = json!(LossDocument::new(loss));
    // As JavaScript writes names.
    if let Some(example) = value["example"].as_object_mut() {
        let renamed = |name: String| if name == "in_pieces" { "inPieces".to_owned() } else { name };
        *example = std::mem::take(example).into_iter().map(|(name, value)| (renamed(name), value)).collect();
    }
    value
}

/// Finds faults of a template, which is a text or in a file of another kind.
pub(crate) fn lint(mut arguments: Arguments, bytes: &[u8]) -> Result<Value, Failure> {
    let variant = arguments.text("variant")?;
    let mut response = None;
    let source = match arguments.text("$file")? {
        Some(file) => {
            let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
            response = find_response_template(&document);
            one_source(&file, bytes, variant.as_deref())?
        }
        None => {
            let name = arguments.text("name")?.unwrap_or_else(|| "template".to_owned());
            let mut source = Source::from_text(format!("{name}.jinja"), String::from_utf8_lossy(bytes));
            (source.tokens.bos, source.tokens.eos) = (arguments.text("bosToken")?, arguments.text("eosToken")?);
            source.special_tokens = arguments.texts("specialTokens")?;
            source
        }
    };
    if let Some(document) = arguments.value("responseTemplate") {
        let found = find_response_template(&document);
        let what = "a response template, which has `fields`";
        response = Some(found.ok_or_else(|| expected("responseTemplate", what, &document))?);
    }
    let overlay = overlay(arguments.text("overlay")?.as_deref())?;
    let count = count(&mut arguments)?;
    arguments.done()?;
    let findings = Checked { source, overlay, response, count }.findings();
    Ok(json!(findings.iter().map(FindingDocument::new).collect::<Vec<_>>()))
}

/// Compares the templates of two models.
pub(crate) fn compare(objects: &Objects, mut arguments: Arguments) -> Result<Value, Failure> {
    let mut model = |name: &'static str| objects.model(arguments.object(name)?.unwrap_or_default());
    let (old, new) = (model("$old")?, model("$new")?);
    let turns = arguments.number("turns")?;
    arguments.done()?;
    let mut options = CompareOptions::new().specs(old.spec().clone(), new.spec().clone());
    if let Some(turns) = turns {
        options = options.turns(u32::try_from(turns).unwrap_or(u32::MAX));
    }
    Ok(json!(run_compare(old.parsed_template()?, new.parsed_template()?, &options)))
}
