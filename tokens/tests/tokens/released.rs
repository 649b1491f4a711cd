//! The tokenizers of released models that `.ci/tokenizers` has fetched, and the templates that they belong to.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use unjinja_testkit::{root, skip};

use crate::Failure;
use crate::vocabulary::Vocabulary;

/// A tokenizer and the templates of the corpus that it belongs to, as `FOLDER/FILE`.
pub struct Released {
    pub name: String,
    pub vocabulary: Vocabulary,
    pub templates: Vec<String>,
}

/// The tokenizers that are available. A line on standard error names the others; with `UNJINJA_TOKENIZERS=required`
/// they are an error.
pub fn released() -> Result<Vec<Released>, Failure> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let list = fs::read_to_string(root().join("tokens/tests/tokens/released.tsv"))?;
    let mut found = Vec::new();
    for line in list.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, package, _, templates] = fields[..] else { return Err(format!("not four fields: {line}").into()) };
        let path = target.join("tokenizers").join(name).join(package).join("tokenizer.json");
        if !path.is_file() {
            let reason = format!("the tokenizer {name} is not at {}: run .ci/tokenizers", path.display());
            skip(reason, ("UNJINJA_TOKENIZERS", "required"))?;
            continue;
        }
        let vocabulary = Vocabulary::new(serde_json::from_str(&fs::read_to_string(path)?)?)?;
        let templates = templates.split(' ').map(str::to_owned).collect();
        found.push(Released { name: name.to_owned(), vocabulary, templates });
    }
    Ok(found)
}

/// The special tokens of these tokenizers, and of those in the folder of the oracles.
pub fn special_tokens() -> Result<BTreeSet<String>, Failure> {
    let mut tokens: BTreeSet<String> = BTreeSet::new();
    for tokenizer in released()? {
        tokens.extend(tokenizer.vocabulary.added(true).map(str::to_owned));
    }
    let folder = std::env::var_os("UNJINJA_TOKEN_ORACLES").map(|folder| PathBuf::from(folder).join("tokenizers"));
    for entry in folder.into_iter().flat_map(fs::read_dir).flatten() {
        let path = entry?.path().join("tokenizer.json");
        if !path.is_file() {
            continue;
        }
        let json: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        let special = json["added_tokens"].as_array().into_iter().flatten().filter(|token| token["special"] == true);
        tokens.extend(special.filter_map(|token| token["content"].as_str()).map(str::to_owned));
    }
    Ok(tokens)
}
