//! A format spec made of a response template, for repositories that have nothing else: it gives a streaming parser and a
//! grammar. It works where patterns match only a few texts with white space around them, and a name and an id in between. Everything
//! else is a reason why not, never a guess.
//!
//! `calls` imports the field of calls, `header` what announces them in headers, and `tag` the pattern of an argument; `completed` adds
//! what only a chat template says.

mod calls;
mod completed;
mod header;
mod tag;

use unjinja_spec::{ContentMode, FormatSpec, GenerationPrompt, MarkerKey, ReasoningMode, StartsIn, TemplateInfo};

use super::pattern::{Expansion, Node, expansions};
use super::problem::{Problem, Problems};
use super::schema::{Anchor, Content, Field, ResponseTemplate};

pub use completed::completed;

/// The fields from which reasoning is taken.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

impl ResponseTemplate {
    /// The format spec that this template describes.
    ///
    /// # Errors
    ///
    /// The parts of the template that no spec can express, each with its place.
    ///
    /// ```
    /// use unjinja_export::response_template::ResponseTemplate;
    /// use unjinja_spec::TemplateInfo;
    ///
    /// let template = ResponseTemplate::from_json(&serde_json::json!({
    ///     "start_anchor": "<assistant>",
    ///     "fields": {
    ///         "thinking": {"open": "<think>", "close_pattern": "\\s*</think>\\s*"},
    ///         "content": {"close": "<end>"}
    ///     }
    /// }))?;
    /// let info = TemplateInfo { name: "t".into(), file: "t.json".into(), sha256: "0".repeat(64), ..Default::default() };
    /// let spec = template.to_spec(info)?;
    /// assert_eq!((spec.reasoning.end.as_str(), spec.turn.end.as_str()), ("</think>", "<end>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_spec(&self, template: TemplateInfo) -> Result<FormatSpec, Problems> {
        let mut import = Import { problems: Vec::new(), spec: FormatSpec::new(template) };
        import.anchor(&self.start_anchor);
        for field in &self.fields {
            let place = format!("fields.{}", field.name);
            match field.name.as_str() {
                name if REASONING.contains(&name) => import.reasoning(&place, field),
                "content" => import.content(&place, field),
                "tool_calls" => import.calls(&place, field, self.field("content")),
                _ => import.wrong(&place, "messages have no such field", "remove it"),
            }
        }
        let Import { problems, mut spec } = import;
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        header::complete(&mut spec);
        spec.tokens.preserved = spec.preserved_tokens();
        match spec.check() {
            Ok(()) => Ok(spec),
            Err(error) => Err(Problems(error.problems.into_iter().map(of_spec).collect())),
        }
    }
}

/// A problem of the spec that was made.
fn of_spec(problem: unjinja_spec::Problem) -> Problem {
    let cause = format!("the spec would not be valid: {}", problem.cause);
    Problem { place: String::new(), cause, next_step: problem.next_step }
}

struct Import {
    problems: Vec<Problem>,
    spec: FormatSpec,
}

impl Import {
    fn wrong(&mut self, place: &str, cause: impl Into<String>, next_step: &str) {
        self.problems.push(Problem { place: place.to_owned(), cause: cause.into(), next_step: next_step.to_owned() });
    }

    /// The texts of a marker, or nothing after a problem.
    fn texts(&mut self, place: &str, key: &str, anchor: &Anchor) -> Vec<Expansion> {
        if let Some(literals) = &anchor.literals {
            return literals.iter().map(|text| Expansion::of_text(text)).collect();
        }
        match expansions(anchor.pattern.node()) {
            Ok(texts) => texts,
            Err(cause) => {
                let place = format!("{place}.{key}_pattern");
                self.wrong(&place, format!("the pattern is no marker: {cause}"), "write the marker as a text");
                Vec::new()
            }
        }
    }

    /// The texts of a marker without a name in it.
    fn plain(&mut self, place: &str, key: &str, anchor: &Anchor) -> Vec<String> {
        let texts = self.texts(place, key, anchor);
        if texts.iter().any(|text| !text.is_text()) {
            let cause = "there is a name in this marker, or a part of it may be repeated and is no white space";
            self.wrong(&format!("{place}.{key}_pattern"), cause, "write the marker as a text");
        }
        texts.into_iter().map(|text| text.text()).filter(|text| !text.is_empty()).collect()
    }

    /// Puts the first text of a marker into the spec, and the others among its alternatives.
    fn put(&mut self, key: MarkerKey, texts: Vec<String>, set: impl FnOnce(&mut FormatSpec, String)) {
        let mut texts = texts.into_iter();
        set(&mut self.spec, texts.next().unwrap_or_default());
        let others: Vec<String> = texts.collect();
        if !others.is_empty() {
            self.spec.alternatives.insert(key, others);
        }
    }

    fn anchor(&mut self, anchor: &Anchor) {
        // `$`: the output begins where the prompt ends.
        let texts: Vec<String> = match anchor.pattern.node() {
            Node::Assertion(_) | Node::Look { .. } => Vec::new(),
            _ => self.plain("", "start_anchor", anchor),
        };
        let start = texts.into_iter().next().unwrap_or_default();
        let prompt = GenerationPrompt { thinking: None, text: start.clone(), starts_in: StartsIn::Content };
        self.spec.generation_prompt = vec![prompt];
        self.spec.turn.assistant_start = start;
    }

    fn reasoning(&mut self, place: &str, field: &Field) {
        self.text_only(place, field);
        self.spec.reasoning.mode = ReasoningMode::TagBased;
        self.spec.capabilities.reasoning = true;
        match &field.open {
            // Reasoning that is open from the start, or as soon as its end is seen.
            None => {}
            Some(Anchor { pattern, .. })
                if matches!(pattern.node(), Node::Look { ahead: true, negative: false, .. }) => {}
            Some(open) => {
                let texts = self.plain(place, "open", open);
                self.put(MarkerKey::ReasoningStart, texts, |spec, text| spec.reasoning.start = text);
            }
        }
        match &field.close {
            Some(close) => {
                // What is only looked at is read by the next field: a call.
                let is_look = |part: &Node| matches!(part, Node::Look { ahead: true, negative: false, .. });
                self.spec.reasoning.ended_by_call =
                    matches!(close.pattern.node(), Node::Choice(parts) if parts.iter().any(is_look));
                let texts = self.plain(place, "close", close);
                self.put(MarkerKey::ReasoningEnd, texts, |spec, text| spec.reasoning.end = text);
            }
            None => self.wrong(place, "the reasoning has no end", "add `close`"),
        }
    }

    fn content(&mut self, place: &str, field: &Field) {
        self.text_only(place, field);
        let close = field.close.as_ref().map(|close| self.plain(place, "close", close)).unwrap_or_default();
        match &field.open {
            None => self.put(MarkerKey::TurnEnd, close, |spec, text| spec.turn.end = text),
            Some(open) => {
                let open = self.plain(place, "open", open);
                self.spec.content.mode = ContentMode::AlwaysWrapped;
                self.put(MarkerKey::ContentStart, open, |spec, text| spec.content.start = text);
                self.put(MarkerKey::ContentEnd, close, |spec, text| spec.content.end = text);
            }
        }
    }

    fn text_only(&mut self, place: &str, field: &Field) {
        if !matches!(field.content, Content::Text { .. }) || field.transform.is_some() {
            self.wrong(place, "this is no plain text", "use `text` without a transform");
        }
    }
}
