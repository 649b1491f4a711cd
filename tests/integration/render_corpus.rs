//! Compares every render of the corpus byte for byte with the recorded one, which Python's Jinja2 made as Hugging Face
//! configures it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::{Failure, corpus};
use serde_json::Value;
use unjinja_render::{RenderOptions, Template, TemplateError};

fn text<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key).and_then(Value::as_str)
}

/// The first difference of two texts, with some context of both.
fn difference(ours: &str, theirs: &str) -> String {
    let common: usize = ours.chars().zip(theirs.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
    let rest = |s: &str| s.get(common..).unwrap_or("").chars().take(60).collect::<String>();
    format!("at byte {common}: ours {:?}, expected {:?}", rest(ours), rest(theirs))
}

/// Renders all rows of `folder/renders.jsonl`; returns how many texts were compared.
fn check(corpus: &Path, folder: &Path) -> Result<usize, Failure> {
    let conversations: Vec<Value> = serde_json::from_str(&fs::read_to_string(corpus.join("conversations.json"))?)?;
    let contexts: BTreeMap<&str, &Value> =
        conversations.iter().filter_map(|c| Some((text(c, "name")?, c.get("context")?))).collect();
    let mut templates: BTreeMap<String, Result<Template, TemplateError>> = BTreeMap::new();
    let (mut texts, mut failures) = (0, Vec::new());
    for line in fs::read_to_string(folder.join("renders.jsonl"))?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let name = text(&row, "template").ok_or("a row without a template")?;
        if !templates.contains_key(name) {
            let source = fs::read_to_string(folder.join("templates").join(name))?;
            templates.insert(name.to_owned(), Template::parse(name, &source));
        }
        // A template that does not parse has one row, without a conversation.
        let Some(conversation) = text(&row, "conversation") else { continue };
        let context = contexts.get(conversation).ok_or_else(|| format!("no conversation {conversation}"))?;
        let rendered = match &templates[name] {
            Ok(template) => {
                // The recorded renders were made with the variables of the conversation only.
                let options = RenderOptions::new().only_context(true);
                let rendered = template.render_with(context, &options).result;
                let recorded = template.render_with(context, &options.record_reads(true));
                if rendered != recorded.result {
                    failures.push(format!("{name} / {conversation}: recording the reads changes the render"));
                }
                // The analysis hands over only these variables.
                let variables = template.variables();
                let roots = recorded.reads.paths().iter().map(|path| path.split(['.', '[']).next().unwrap_or_default());
                let missing = roots.filter(|root| !variables.contains(*root));
                failures
                    .extend(missing.map(|root| format!("{name} / {conversation}: `{root}` is read, and not listed")));
                rendered.map_err(|e| e.to_string())
            }
            Err(e) => Err(e.to_string()),
        };
        // Where Python reports an error, ours may render or fail; it must only return.
        let Some(expected) = text(&row, "text") else { continue };
        texts += 1;
        match rendered {
            Ok(ours) if ours == expected => {}
            Ok(ours) => failures.push(format!("{name} / {conversation}: {}", difference(&ours, expected))),
            Err(e) => failures.push(format!("{name} / {conversation}: {e}")),
        }
    }
    if failures.is_empty() {
        return Ok(texts);
    }
    let shown: Vec<String> = failures.iter().take(20).cloned().collect();
    Err(format!("{} of {texts} renders differ:\n{}", failures.len(), shown.join("\n")).into())
}

#[test]
fn released_templates_render_as_in_python() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let texts = check(&corpus, &corpus)?;
    assert!(texts > 0, "no row of renders.jsonl has a text");
    Ok(())
}

#[test]
fn wild_templates_render_as_in_python() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let texts = check(&corpus, &corpus.join("wild"))?;
    assert!(texts > 0, "no row of wild/renders.jsonl has a text");
    Ok(())
}

#[test]
fn community_templates_render_as_in_python() -> Result<(), Failure> {
    let Some(corpus) = corpus()? else { return Ok(()) };
    let texts = check(&corpus, &corpus.join("wide"))?;
    assert!(texts > 0, "no row of wide/renders.jsonl has a text");
    Ok(())
}
