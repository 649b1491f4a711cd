//! Marks for training: small templates with what is put into them, and all templates of the corpus.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unjinja_dynamic::Model;
use unjinja_export::training::{MarkObstacle, TrainingTemplate, mark_generation};
use unjinja_lint::{LintOptions, contexts};
use unjinja_testkit::{corpus, expect, root, sample, whole};

type Failure = Box<dyn Error>;

/// Puts marks into a template, and tries them with the renders of the linter too.
fn marked(model: &Model) -> Result<TrainingTemplate, Box<MarkObstacle>> {
    let options = LintOptions::default().spec(model.spec().clone());
    let further = model.parsed_template().map_or_else(|_| Vec::new(), |template| contexts(template, &options));
    mark_generation(model, further)
}

/// Each file of the folder is a template; what becomes of it is next to it.
#[test]
fn marks_are_put_into_small_templates() -> Result<(), Failure> {
    let folder = root().join("integrations/export/tests/training");
    expect::folder(&folder, "jinja", |_, source| {
        let model = Model::from_template(source)?;
        Ok(match marked(&model) {
            Ok(marked) => marked.source,
            Err(obstacle) => format!("{obstacle}\n"),
        })
    })
}

/// The templates of the project and of the corpus, by their path.
fn templates(corpus: Option<&Path>) -> Result<Vec<(String, PathBuf)>, Failure> {
    let mut found = Vec::new();
    let own = root().join("templates");
    let mut folders = vec![("own".to_owned(), own)];
    for name in ["templates", "wild/templates", "wide/templates"] {
        folders.extend(corpus.map(|corpus| (name.to_owned(), corpus.join(name))));
    }
    for (name, folder) in folders {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jinja") {
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                found.push((format!("{name}/{file}"), path));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// `marked`, or the name of the obstacle, for each template. A sample in the gate is compared with the lines of the whole list.
#[test]
fn what_becomes_of_the_corpus() -> Result<(), Failure> {
    let expected = root().join("integrations/export/tests/training.expected");
    let corpus = corpus()?;
    let Some(corpus) = corpus else { return Ok(()) };
    let mut found = BTreeMap::new();
    // For dev/token-oracles/generation.py, which compares them with transformers.
    let mut lines = std::env::var_os("UNJINJA_GENERATION_LINES").map(fs::File::create).transpose()?;
    for (name, path) in sample(templates(Some(&corpus))?, 29) {
        let outcome = match Model::from_file(&path) {
            Ok(model) => match marked(&model) {
                Ok(marked) => {
                    if let Some(file) = &mut lines {
                        writeln!(file, "{}", line(&name, &path, &marked)?)?;
                    }
                    "marked".to_owned()
                }
                Err(obstacle) => obstacle.kind.name().to_owned(),
            },
            Err(_) => "no_model".to_owned(),
        };
        found.insert(name, outcome);
    }
    if whole() {
        let mut text = String::new();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, outcome) in &found {
            writeln!(text, "{outcome:<18} {name}")?;
            *counts.entry(outcome).or_default() += 1;
        }
        println!("{counts:?}");
        return expect::file(&expected, &text);
    }
    let known = fs::read_to_string(&expected)?;
    for (name, outcome) in &found {
        let line = format!("{outcome:<18} {name}");
        assert!(known.lines().any(|known| known == line), "{line}: not in {}", expected.display());
    }
    assert!(found.len() > 10, "{}", found.len());
    Ok(())
}

/// A template and its conversations, for `dev/token-oracles/generation.py`.
fn line(name: &str, path: &Path, marked: &TrainingTemplate) -> Result<Value, Failure> {
    let conversations: Vec<Value> = marked
        .conversations
        .iter()
        .map(|one| {
            let ranges: Vec<[usize; 2]> = one.by_model.iter().map(|range| [range.start, range.end]).collect();
            json!({"context": one.context, "text": one.text, "mask": ranges})
        })
        .collect();
    let original = fs::read_to_string(path)?;
    Ok(json!({"template": name, "original": original, "source": marked.source, "conversations": conversations}))
}
