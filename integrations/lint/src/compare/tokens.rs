//! Special tokens of two templates. A file may say their texts or not: `tokenizer_config.json` does, a `.jinja` file does not.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use unjinja_render::{SpecialTokens, Template};

/// The tokens of which only one of two files says the text. Whoever loads the other template has to say it, so it is taken for both;
/// else the templates would differ in nearly every conversation, or would be alike by chance.
#[derive(Default)]
pub(super) struct Assumed(BTreeMap<String, Value>);

impl Assumed {
    pub(super) fn of(old: &Template, new: &Template) -> Self {
        let [of_old, of_new] = [old, new].map(|template| given(template.tokens()));
        let mut assumed = BTreeMap::new();
        for (mine, other, reader) in [(&of_old, &of_new, new), (&of_new, &of_old, old)] {
            let read = reader.variables();
            let lacking = mine.iter().filter(|(name, _)| !other.contains_key(*name) && read.contains(*name));
            assumed.extend(lacking.map(|(name, text)| (name.clone(), text.clone())));
        }
        Self(assumed)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The template with those that its file does not give.
    pub(super) fn fill(&self, template: &Template) -> Template {
        let mut tokens = template.tokens().clone();
        for (name, value) in &self.0 {
            let text = || value.as_str().map(str::to_owned);
            match name.as_str() {
                "bos_token" => tokens.bos = tokens.bos.take().or_else(text),
                "eos_token" => tokens.eos = tokens.eos.take().or_else(text),
                _ => {
                    tokens.others.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        template.clone().with_tokens(tokens)
    }

    /// The variables of a render with these tokens.
    pub(super) fn add_to(&self, mut context: Value) -> Value {
        if let Some(variables) = context.as_object_mut() {
            variables.extend(self.0.clone());
        }
        context
    }
}

/// The tokens that a file gives, by the names that templates know them by.
fn given(tokens: &SpecialTokens) -> Map<String, Value> {
    let mut given = tokens.others.clone();
    for (name, text) in [("bos_token", &tokens.bos), ("eos_token", &tokens.eos)] {
        given.extend(text.iter().map(|text| (name.to_owned(), Value::from(text.as_str()))));
    }
    given
}
