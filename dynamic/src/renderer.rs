//! The template of a model. It is parsed when it is first rendered, because a model whose spec comes from a cache needs only
//! the parser in many programs.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use unjinja_render::{Limits, RenderOptions, Rendered, SpecialTokens, Template, TemplateError};
use unjinja_source::Source;
use unjinja_spec::{BIG_INTEGER, FormatSpec, WrittenTags};

use crate::conversation::Conversation;
use crate::error::ModelError;
use crate::prompt::LabelledPrompt;

pub(crate) struct Renderer {
    pub(crate) source: Source,
    tokens: SpecialTokens,
    limits: Limits,
    parsed: OnceLock<Result<Template, TemplateError>>,
}

impl Renderer {
    /// The renderer of this template. `tokens` are all special tokens that are known, from wherever.
    pub(crate) fn new(source: Source, tokens: SpecialTokens, limits: Limits) -> Self {
        Self { source, tokens, limits, parsed: OnceLock::new() }
    }

    pub(crate) fn template(&self) -> Result<&Template, ModelError> {
        let parse = || {
            let template = Template::parse(&self.source.file(), &self.source.text)?;
            let template = template.with_tokens(self.tokens.clone()).with_integer_key(BIG_INTEGER);
            Ok(template.with_limits(self.limits.clone()))
        };
        self.parsed.get_or_init(parse).as_ref().map_err(|error| error.clone().into())
    }

    /// Renders a conversation; the spec says how its messages are handed over, and which variable switches thinking.
    pub(crate) fn render(&self, conversation: &Conversation, spec: &FormatSpec) -> Result<String, ModelError> {
        let context = Value::Object(self.variables(conversation, spec).0);
        Ok(self.rendered(conversation, &context, RenderOptions::new())?.result?)
    }

    /// The same with labels, and with the variables that the template got.
    pub(crate) fn render_labelled(
        &self,
        conversation: &Conversation,
        spec: &FormatSpec,
    ) -> Result<LabelledPrompt, ModelError> {
        let (variables, written) = self.variables(conversation, spec);
        let given = Value::Object(variables);
        let changed = match conversation.follows.context(&given) {
            Cow::Owned(changed) => Some(changed),
            Cow::Borrowed(_) => None,
        };
        let context = changed.unwrap_or(given);
        let rendered = self.rendered(conversation, &context, RenderOptions::new().label(true))?;
        let labels = rendered.labels.unwrap_or_default();
        Ok(LabelledPrompt { text: rendered.result?, labels, context, written, clock: conversation.clock })
    }

    fn variables(&self, conversation: &Conversation, spec: &FormatSpec) -> (Map<String, Value>, Vec<WrittenTags>) {
        let (mut variables, written) = conversation.variables_for(spec);
        if !conversation.as_given {
            // A template that came without its tokenizer: some fail where a token is undefined, and others leave it out.
            let tokens = [("bos_token", &self.tokens.bos), ("eos_token", &self.tokens.eos)];
            for (name, _) in tokens.into_iter().filter(|(_, token)| token.is_none()) {
                variables.entry(name).or_insert_with(|| "".into());
            }
        }
        (variables, written)
    }

    fn rendered(
        &self,
        conversation: &Conversation,
        context: &Value,
        options: RenderOptions,
    ) -> Result<Rendered, ModelError> {
        Ok(self.template()?.render_with(context, &options.clock(conversation.clock).follow(conversation.follows)))
    }
}
