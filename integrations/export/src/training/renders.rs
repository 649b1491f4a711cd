//! The conversations with which a template is tried: what it writes for each, and which bytes of it the model writes.

use std::ops::Range;

use serde_json::Value;
use unjinja_dynamic::authors::{LikelyTokens, PromptWriters};
use unjinja_dynamic::{Clock, Conversation, LabelledPrompt, Model, Template};
use unjinja_render::{RenderOptions, SourcePosition};

use super::tree::{Node, NodeKind};

/// A conversation, its text, and what the model writes of it.
#[derive(Clone, Debug)]
pub(super) struct MarkedRender {
    pub(super) context: Value,
    /// Nothing if the template refuses the conversation.
    pub(super) text: Option<String>,
    /// For each byte whether the model writes it.
    pub(super) mask: Vec<bool>,
}

/// Tries conversations with one model.
pub(super) struct Renders<'m> {
    model: &'m Model,
    pub(super) template: &'m Template,
    tokens: LikelyTokens,
}

impl<'m> Renders<'m> {
    pub(super) fn new(model: &'m Model, template: &'m Template) -> Self {
        let tokens = LikelyTokens::of(template, model.spec());
        Self { model, template, tokens }
    }

    /// A conversation, as it is handed over to the template.
    pub(super) fn of(&self, conversation: &Conversation) -> Option<MarkedRender> {
        // Renders are compared, so all of them tell the template the same time.
        let conversation = conversation.clone().clock(Clock::default());
        let Ok(prompt) = self.model.render_labelled(&conversation) else { return None };
        let mut mask = vec![false; prompt.text.len()];
        for range in self.written(&prompt).into_iter().flatten() {
            mask.get_mut(range)?.fill(true);
        }
        Some(MarkedRender { context: prompt.context, text: Some(prompt.text), mask })
    }

    /// These variables, as they are.
    pub(super) fn of_context(&self, context: Value) -> MarkedRender {
        let trial = self.of(&Conversation::from_context(&context));
        trial.unwrap_or(MarkedRender { context, text: None, mask: Vec::new() })
    }

    /// The ranges that the model writes.
    fn written(&self, prompt: &LabelledPrompt) -> Vec<Vec<Range<usize>>> {
        let parts = self.model.prompt_parts(prompt);
        let writers = PromptWriters::new(prompt, &|text| self.tokens.contains(text));
        self.model.written_by_model(prompt, &parts, &self.tokens.written(prompt, &writers))
    }

    /// Another source with the tokens and limits of the template.
    pub(super) fn template_of(&self, source: &str) -> Option<Template> {
        let parsed = Template::parse(self.template.name(), source).ok()?;
        Some(parsed.with_tokens(self.template.tokens().clone()).with_limits(self.template.limits().clone()))
    }
}

/// What a source writes for a conversation, and which of its statements writes each byte.
pub(super) struct Statements {
    pub(super) text: String,
    /// For each byte the offset in the source of the statement that writes it.
    pub(super) places: Vec<usize>,
}

/// The places of lines, to find offsets.
pub(super) struct Lines<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

impl<'s> Lines<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let starts = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { source, starts }
    }

    fn offset(&self, position: SourcePosition) -> Option<usize> {
        let line = usize::try_from(position.line).ok()?.checked_sub(1)?;
        let start = *self.starts.get(line)?;
        let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
        let rest = self.source.get(start..)?;
        Some(start + rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at))
    }
}

/// Renders a source with labels.
pub(super) fn statements(template: &Template, lines: &Lines<'_>, context: &Value) -> Option<Statements> {
    let rendered = template.render_with(context, &RenderOptions::new().label(true));
    let (text, labels) = (rendered.result.ok()?, rendered.labels?);
    let mut places = Vec::with_capacity(text.len());
    let mut last = None;
    for at in 0..text.len() {
        let position = labels.statement_at(at)?;
        let place = match last {
            Some((known, place)) if known == position => place,
            _ => lines.offset(position)?,
        };
        last = Some((position, place));
        places.push(place);
    }
    Some(Statements { text, places })
}

/// The byte ranges of a source that are in `{% generation %}`.
pub(super) fn marked(nodes: &[Node]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for node in nodes {
        match &node.kind {
            NodeKind::Block(block) if block.word == "generation" => found.push(node.range.clone()),
            NodeKind::Block(block) => block.bodies.iter().for_each(|body| found.extend(marked(body))),
            _ => {}
        }
    }
    found
}
