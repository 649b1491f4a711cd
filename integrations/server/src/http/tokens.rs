//! The special tokens that a template reads. They are variables that no client sets: the model's tokenizer gives their texts, and a
//! template can come without it.
//!
//! Such a template gets a placeholder for each token that it reads, so that it writes and decides what it does with the token.
//! The placeholders are taken out of the prompt again. The upstream can add the one that begins the prompt (BOS); prompts lack the
//! others.

use std::collections::BTreeSet;

use serde_json::Value;
use unjinja_dynamic::{Clock, Conversation, LabelledPrompt, Model, ModelError, SpecialTokens, local_time};

use crate::prepare::Prepared;

/// The variable of the token that begins a text.
const BOS: &str = "bos_token";

/// The variables that transformers has for the special tokens of every tokenizer.
const NAMES: [&str; 7] = [BOS, "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// What is known of the special tokens that a template reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// The text of BOS; `None` if it is not known, or the tokenizer has none.
    bos: Option<String>,
    /// The tokens that the template reads, and whose texts are not known.
    unknown: Vec<&'static str>,
    /// Prompts begin with BOS.
    pub begins: bool,
    /// The unknown tokens that prompts are rendered without, and that the upstream cannot add.
    pub lost: Vec<String>,
}

impl Tokens {
    /// What the template of a model reads. [`tried`](Self::tried) says what it writes.
    pub(crate) fn of(model: &Model) -> Self {
        let (bos, absent) = match model.parsed_template() {
            Ok(template) => (template.tokens().bos.clone(), absent(&template.variables(), template.tokens())),
            Err(_) => (None, Vec::new()),
        };
        let unknown = if model.knows_tokens() { Vec::new() } else { absent };
        Self { bos: bos.filter(|text| !text.is_empty()), unknown, begins: false, lost: Vec::new() }
    }

    /// The same, with what the prompts of some conversations show.
    pub(crate) fn tried(mut self, prompts: &[String]) -> Self {
        let reads = self.unknown.contains(&BOS);
        let placeholder = placeholder(BOS);
        let bos = if reads { Some(&placeholder) } else { self.bos.as_ref() };
        let begins = |prompt: &String| bos.is_some_and(|bos| prompt.starts_with(bos.as_str()));
        // A template that refuses them all may write what it reads, and BOS comes first.
        self.begins = prompts.iter().any(begins) || (reads && prompts.is_empty());
        let is_elsewhere = prompts.iter().any(|prompt| prompt.rfind(&placeholder).is_some_and(|at| at > 0));
        let only_begins = self.begins && !is_elsewhere;
        let lost = self.unknown.iter().filter(|name| **name != BOS || !only_begins);
        self.lost = lost.map(|name| (*name).to_owned()).collect();
        self
    }

    /// Whether prompts begin with BOS, and its text is not known.
    pub(crate) fn lack_bos(&self) -> bool {
        self.begins && self.unknown.contains(&BOS)
    }

    /// Renders a template, with placeholders for the tokens that are not known and that the context does not give.
    pub(crate) fn render(&self, model: &Model, context: &Value) -> Result<String, ModelError> {
        self.render_at(model, context, local_time())
    }

    fn render_at(&self, model: &Model, context: &Value, now: Clock) -> Result<String, ModelError> {
        model.render(&self.conversation(context, now))
    }

    /// A conversation with placeholders for the tokens that are not known and that the context does not give.
    fn conversation(&self, context: &Value, now: Clock) -> Conversation {
        let unknown = self.unknown.iter().filter(|name| context.get(name).is_none());
        unknown.fold(Conversation::from_context(context).clock(now), |conversation, name| {
            conversation.variable(*name, placeholder(name))
        })
    }

    /// The prompt of a request with labels, as it is rendered: where the client began the answer, no turn is opened.
    pub(crate) fn labelled(&self, model: &Model, prepared: &Prepared) -> Result<LabelledPrompt, ModelError> {
        let mut conversation = self.conversation(&prepared.context, local_time());
        if prepared.begun.is_some() {
            conversation = conversation.generation_prompt(false);
        }
        let mut prompt = model.render_labelled(&conversation)?;
        prompt.written.clone_from(&prepared.written);
        Ok(prompt)
    }

    /// Renders the prompt of a request. Returns the prompt for the upstream, and whether the upstream is to put BOS before it.
    /// `adds_bos` says that the upstream does so anyway.
    pub(crate) fn prompt(
        &self,
        model: &Model,
        prepared: Prepared,
        adds_bos: bool,
    ) -> Result<(Prepared, String, bool), ModelError> {
        let mut lacks_bos = false;
        // The renders that a prompt is made of tell the same time.
        let now = local_time();
        let (prepared, prompt) = prepared.render(model.spec(), |context| {
            let text = self.render_at(model, context, now)?;
            lacks_bos |= text.starts_with(&placeholder(BOS));
            let text = self.unknown.iter().fold(text, |text, name| text.replace(&placeholder(name), ""));
            Ok::<_, ModelError>(text)
        })?;
        match self.bos.as_ref().and_then(|bos| prompt.strip_prefix(bos.as_str())) {
            _ if lacks_bos => Ok((prepared, prompt, true)),
            Some(rest) if adds_bos => Ok((prepared, rest.to_owned(), true)),
            _ => Ok((prepared, prompt, false)),
        }
    }
}

/// The special tokens that the tokenizer of a model does not have, and without which the template does not render one of these
/// conversations.
pub(crate) fn missing(model: &Model, conversations: &[Value]) -> Vec<String> {
    let Ok(template) = model.parsed_template() else { return Vec::new() };
    if !model.knows_tokens() {
        return Vec::new();
    }
    let absent = absent(&template.variables(), template.tokens());
    let renders = |context: &Value, tokens: &[&str]| {
        let conversation = Conversation::from_context(context);
        let with = tokens.iter().fold(conversation, |conversation, name| conversation.variable(*name, ""));
        model.render(&with).is_ok()
    };
    // A template that refuses a conversation for other reasons says nothing about tokens.
    let stuck: Vec<&Value> =
        conversations.iter().filter(|context| !renders(context, &[]) && renders(context, &absent)).collect();
    let missing = |token: &&&str| {
        let others: Vec<&str> = absent.iter().filter(|other| other != token).copied().collect();
        stuck.iter().any(|context| !renders(context, &others))
    };
    absent.iter().filter(missing).map(|name| (*name).to_owned()).collect()
}

/// The tokens among the variables of a template whose texts are not given.
fn absent(variables: &BTreeSet<String>, tokens: &SpecialTokens) -> Vec<&'static str> {
    let given = |name: &str| match name {
        BOS => tokens.bos.is_some(),
        "eos_token" => tokens.eos.is_some(),
        name => tokens.others.contains_key(name),
    };
    NAMES.into_iter().filter(|name| variables.contains(*name) && !given(name)).collect()
}

/// A text that no template and no message contains.
fn placeholder(name: &str) -> String {
    format!("\u{e000}{name}\u{e001}")
}
