//! Reads the corpus: templates, conversations, and Python's texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

pub type Failure = Box<dyn std::error::Error>;

/// One render, and its text in Python.
pub struct Job {
    /// An index into [`Jobs::templates`].
    pub template: usize,
    pub context: Arc<Value>,
    pub text: String,
}

pub struct Jobs {
    /// Their sources.
    pub templates: Vec<String>,
    pub jobs: Vec<Job>,
}

/// Reads everything that has a text in Python.
pub fn read(corpus: &Path) -> Result<Jobs, Failure> {
    let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    let conversations: Vec<Value> = serde_json::from_str(&fs::read_to_string(corpus.join("conversations.json"))?)?;
    let contexts: BTreeMap<String, Arc<Value>> = (conversations.iter())
        .filter_map(|conversation| Some((text(conversation, "name")?, Arc::new(conversation.get("context")?.clone()))))
        .collect();
    let mut all = Jobs { templates: Vec::new(), jobs: Vec::new() };
    for folder in ["", "wild", "wide"] {
        let folder = corpus.join(folder);
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for line in fs::read_to_string(folder.join("renders.jsonl"))?.lines() {
            let row: Value = serde_json::from_str(line)?;
            let name = text(&row, "template").ok_or("a row without a template")?;
            let template = match known.get(&name) {
                Some(index) => *index,
                None => {
                    let source = fs::read_to_string(folder.join("templates").join(&name))?;
                    all.templates.push(source);
                    known.insert(name, all.templates.len() - 1);
                    all.templates.len() - 1
                }
            };
            let (Some(conversation), Some(text)) = (text(&row, "conversation"), text(&row, "text")) else { continue };
            let context = contexts.get(&conversation).ok_or("a row with an unknown conversation")?.clone();
            all.jobs.push(Job { template, context, text });
        }
    }
    Ok(all)
}
