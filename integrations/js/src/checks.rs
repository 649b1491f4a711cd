//! Faults of templates, and response templates made of them.

use serde_json::{Value, json};
use unjinja_analyzer::{SourceExt, verify};
use unjinja_dynamic::{Loader, Model, Overlay, Source};
use unjinja_export::response_template::{Example, Loss, Reading, export as run_export, find};
use unjinja_lint::compare::{CompareOptions, compare as run_compare};
use unjinja_lint::{Evidence, Finding, LintOptions, lint as run, lint_response_template, syntax_error};

use crate::arguments::{Arguments, expected};
use crate::failure::{Failure, FailureKind};
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
    if !model.status().makes_parser() {
        let text = format!("{} is not supported; its gaps say why: {}", model.name(), model.gaps().join(" "));
        return Err(Failure::request(text));
    }
    let verification = verify(model.parsed_template()?, model.spec(), count, seed);
    let made = run_export(model.spec(), &verification);
    let made = made.map_err(|problems| Failure::new(FailureKind::Load, problems.to_string()))?;
    Ok(json!({
        "responseTemplate": made.json,
        "tried": made.tried,
        "held": made.held,
        "losses": made.losses.into_iter().map(loss).collect::<Vec<_>>(),
        "notes": made.notes,
    }))
}

/// The Rust of a model's parser.
pub(crate) fn rust(model: &Model) -> Result<Value, Failure> {
    let source = unjinja_codegen::rust::source(model.spec());
    source.map(Value::String).map_err(|error| Failure::new(FailureKind::Load, error.to_string()))
}

fn loss(loss: Loss) -> Value {
    let example = loss.example.map(|example: Example| {
        json!({
            "output": example.output,
            "inPieces": example.in_pieces,
            "written": Reading::from(&example.expected).to_json(),
            "read": example.read.as_ref().ok().map(|reading| reading.to_json()),
            "error": example.read.as_ref().err().map(ToString::to_string),
        })
    });
    json!({
        "kind": loss.kind.name(),
        "sentence": loss.kind.sentence(),
        "conversations": loss.count,
        "example": example,
    })
}

/// Finds faults of a template, which is a text or in a file of another kind.
pub(crate) fn lint(mut arguments: Arguments, bytes: &[u8]) -> Result<Value, Failure> {
    let variant = arguments.text("variant")?;
    let mut response = None;
    let source = match arguments.text("$file")? {
        Some(file) => {
            let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
            response = find(&document).cloned();
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
        let found = find(&document).cloned();
        let what = "a response template, which has `fields`";
        response = Some(found.ok_or_else(|| expected("responseTemplate", what, &document))?);
    }
    let overlay = arguments.text("overlay")?.map(|text| Overlay::from_toml(&text, "overlay")).transpose();
    let overlay = overlay.map_err(|error| Failure::new(FailureKind::Load, error.to_string()))?;
    let count = count(&mut arguments)?;
    arguments.done()?;
    let template = match source.template() {
        Ok(template) => template,
        Err(error) => return Ok(json!([finding(syntax_error(&error))])),
    };
    let mut loader = Loader::new().analyse_anew();
    if let Some(overlay) = overlay {
        loader = loader.overlay(overlay);
    }
    let mut options = LintOptions::default();
    if let Some(tokens) = &source.special_tokens {
        options = options.special_tokens(tokens.clone());
    }
    // A template that cannot be analysed has its own finding.
    let model = loader.from_source(source).ok();
    if let Some(corrected) = model.as_ref().filter(|model| !model.corrections().is_empty()) {
        options = options.spec(corrected.spec().clone());
    }
    let mut findings = run(&template, &options);
    if let (Some(response), Some(model)) = (&response, &model) {
        let verification = verify(&template, model.spec(), count, 1);
        findings.extend(lint_response_template(response, &template, model.spec(), &verification));
    }
    Ok(findings.into_iter().map(finding).collect())
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

fn finding(finding: Finding) -> Value {
    let (conversation, output, expected, actual) = match finding.evidence {
        Some(Evidence::Conversation { conversation, expected, actual }) => {
            (Some(conversation), None, Some(expected), Some(actual))
        }
        Some(Evidence::Output { output, written, read }) => (None, Some(output), Some(written), Some(read)),
        _ => (None, None, None, None),
    };
    json!({
        "rule": finding.rule.id,
        "severity": finding.severity.name(),
        "target": finding.target.name(),
        "message": finding.message,
        "help": finding.help,
        "line": finding.line,
        "column": finding.column,
        "conversation": conversation,
        "output": output,
        "expected": expected,
        "actual": actual,
    })
}
